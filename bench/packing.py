"""Tables of the benchmark of packing, beside the numbers of the paper on HERMES.

Sits in bench/ above tables.py; reads bench/results/packing.json, which bench/run.py writes, and replaces packing.md. Rows have
in `extra`:

    preset, degree, dimension, count   parameter set, its degree, the dimension of the samples, how many samples are packed
    method                             rows, column, or midpoints with their ranks
    log_q, log_qp, log2_scale          bits of the modulus, with special primes, and of the scale
    security_bits                      of the keys
    key_bytes, stored_key_bytes        keys in memory; in a file, masks as seeds
    mean_bits, worst_bits              minus log2 of the mean and largest absolute error of a number in [-1, 1]
    predicted_ms                       what the plan says (row method)

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, grid, machine_line, number, parse_rows

WORK = "pack"
NEEDED = ("preset", "degree", "dimension", "count", "method", "log_q", "mean_bits", "worst_bits", "key_bytes", "stored_key_bytes")
MEGABYTE = 1e6


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of packing.

    Errors: ValueError for a row that lacks a field.
    """
    found = [row for row in rows if row["work"] == WORK]
    for row in found:
        if "absent" not in row and (lacking := [name for name in NEEDED if name not in row["extra"]]):
            raise ValueError(f"a row of {row['params']} lacks {', '.join(lacking)}")
    return found


def ours(rows: Sequence[Row]) -> list[str]:
    """One line for each way to pack."""
    lines = []
    for row in rows:
        extra = row["extra"]
        sizes = [number(extra[name] / MEGABYTE) for name in ("key_bytes", "stored_key_bytes")]
        bits = [f"{extra[name]:.1f}" for name in ("mean_bits", "worst_bits")]
        shape = [extra["preset"], f"{extra['log_q']:.0f}", str(extra["degree"]), str(extra["dimension"]), str(extra["count"])]
        lines.append([*shape, extra["method"], number(row["median_ms"]), *sizes, *bits])
    head = ["preset", "log2 Q", "degree", "dimension", "samples", "method", "ms", "MB of keys in memory", "in a file"]
    return grid([*head, "mean bits", "worst bits"], lines)


def theirs(paper: dict[str, Any]) -> list[str]:
    """The paper's Table 10."""
    lines = []
    for row in paper["table_10"]:
        bits = [str(row["mean_bits"]), str(row["worst_bits"])]
        lines.append([row["method"], str(row["degree"]), str(row["dimension"]), number(row["ms"]), number(row["key_mb"]), *bits])
    return grid(["method", "degree", "dimension", "ms", "MB of keys", "mean bits", "worst bits"], lines)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    paper = json.loads((BENCH / "paper" / "hermes.json").read_text())
    lines = ["# packing", "", machine_line(about), ""]
    lines += ["As many LWE samples as the degree, packed into one ciphertext; one thread, medians. A midpoint is the rank of samples in"]
    lines += ["between.", ""]
    lines += ours([row for row in found if "absent" not in row])
    lines += ["", f"The paper's, {paper['machine']}:", "", *theirs(paper)]
    lines += [f"- {row['params']}: {row['absent']}" for row in found if "absent" in row]
    return "\n".join([*lines, *[f"\n![{plot}]({plot})" for plot in plots], ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("packing", __doc__, RESULTS, parse_rows, markdown, collect))
