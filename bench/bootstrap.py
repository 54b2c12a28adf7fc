"""Tables of the benchmark of bootstraps.

Sits in bench/ above tables.py; reads bench/results/bootstrap.json, which bench/run.py writes, and replaces bootstrap.md. A
row of work "bootstrap" is one parameter set, all slots complex and uniform in the unit square; its `extra`:

    preset, degree, slots, log_qp, security_bits
    log2_failure            binary logarithm of the probability that one bootstrap fails
    bits_left, levels_left  what the application has between two bootstraps
    mean_bits, worst_bits   -log2 of the mean and of the largest error of a real or imaginary part
    key_bytes, key_seconds  evaluation keys in memory, and the time to make them
    peak_bytes              of the process so far, null where the system does not tell
    predicted_ms            of the dry run, by the machine profile in use
    stages                  [{"stage", "median_ms", "predicted_ms"}], in order
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import RESULTS, Row, grid, machine_line, parse_rows

NEEDED = (
    "preset",
    "degree",
    "slots",
    "log_qp",
    "log2_failure",
    "bits_left",
    "mean_bits",
    "worst_bits",
    "key_bytes",
    "predicted_ms",
    "stages",
)
GIB = float(1 << 30)


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of bootstraps. Errors: ValueError for a row without its fields."""
    found = [row for row in rows if row["work"] == "bootstrap"]
    for row in found:
        missing = [] if "absent" in row else [field for field in NEEDED if field not in row["extra"]]
        if missing:
            raise ValueError(f"the row of {row['params']} lacks {', '.join(missing)}")
    return found


def gib(size: float | None) -> str:
    """Bytes for a table."""
    return "-" if size is None else f"{size / GIB:.2f}"


def summary(rows: Sequence[Row]) -> list[str]:
    """One line for each parameter set."""
    sizes_and_times = ["preset", "slots", "log2 QP", "seconds", "predicted"]
    head = [*sizes_and_times, "mean bits", "worst bits", "bits left", "log2 failure", "keys, GiB", "peak, GiB"]
    lines = []
    for row in rows:
        extra = row["extra"]
        seconds = f"{row['median_ms'] / 1e3:.2f}"
        numbers = [f"{extra[name]:.1f}" for name in ("mean_bits", "worst_bits", "bits_left", "log2_failure")]
        sizes = [gib(extra["key_bytes"]), gib(extra.get("peak_bytes"))]
        first = [extra["preset"], str(extra["slots"]), f"{extra['log_qp']:.0f}", seconds, f"{extra['predicted_ms'] / 1e3:.2f}"]
        lines.append([*first, *numbers, *sizes])
    return grid(head, lines)


def split(row: Row) -> list[str]:
    """The stages of one parameter set."""
    whole = row["median_ms"]
    lines = []
    for stage in row["extra"]["stages"]:
        predicted = stage["predicted_ms"]
        share = f"{100 * stage['median_ms'] / whole:.0f} %"
        lines.append([stage["stage"], f"{stage['median_ms']:.1f}", "-" if predicted is None else f"{predicted:.1f}", share])
    return grid(["stage", "ms", "predicted ms", "share"], lines)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    measured, absent = [row for row in found if "absent" not in row], [row for row in found if "absent" in row]
    lines = ["# bootstrap", "", machine_line(about), ""]
    lines += ["Complex slots, all of them, uniform in the unit square; medians of five bootstraps after one that is not timed.", ""]
    lines += summary(measured)
    for row in measured:
        lines += ["", f"## {row['extra']['preset']}", "", *split(row)]
    lines += ["", *(f"- {row['params']}: not measured, {row['absent']}" for row in absent)]
    lines += [f"![{plot}]({plot})" for plot in plots]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(tables_and_plots("bootstrap", __doc__, RESULTS, parse_rows, markdown, collect))
