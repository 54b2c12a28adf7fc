"""Tables of the benchmark of bootstraps.

Sits in bench/ above tables.py; reads bench/results/bootstrap.json, which bench/run.py writes, and replaces bootstrap.md. A
row of work "bootstrap" is one parameter set, all slots complex and uniform in the unit square; its `extra`:

    preset, degree, slots, log_qp, security_bits
    log2_failure            binary logarithm of the probability that one bootstrap fails
    bits_left, levels_left  what the application has between two bootstraps
    mean_bits, worst_bits   -log2 of the mean and of the largest error of a real or imaginary part
    rms_bits, predicted_bits
                            -log2 of the root mean square error, and the one that the plan predicts
    key_bytes, key_seconds  evaluation keys in memory, and the time to make them
    peak_bytes              of the process so far, null where the system does not tell
    predicted_ms            of the dry run, by the machine profile in use
    stages                  [{"stage", "median_ms", "predicted_ms"}], in order

Rows of other libraries have no predicted_ms and no stages, and may lack whatever the library does not tell: security_bits and
log2_failure are what it states itself, key_bytes what it tells or what follows from the shapes of its keys.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import OURS, RESULTS, Row, grid, machine_line, number, parse_rows

NEEDED = ("preset", "degree", "slots", "log_qp", "bits_left", "mean_bits", "worst_bits")
NEEDED_OF_OURS = (*NEEDED, "log2_failure", "key_bytes", "predicted_ms", "stages")

# Our sets that a library's are compared with, where degree and slots agree.
COMPARED = {"poulpy": ("boot_fast", "boot_n15"), "lattigo": ("boot_default", "boot_n15"), "openfhe": ("boot_default", "boot_n15")}
GIB = float(1 << 30)


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of bootstraps, and those that say why a library has none. Errors: ValueError for a row without its fields."""
    found = [row for row in rows if row["work"] == "bootstrap" or (row["work"] == "*" and "absent" in row)]
    for row in found:
        needed = NEEDED_OF_OURS if row["who"] == OURS else NEEDED
        missing = [] if "absent" in row else [field for field in needed if field not in row["extra"]]
        if missing:
            raise ValueError(f"the row of {row['params']} lacks {', '.join(missing)}")
    return found


def cell(value: float | None, decimals: int = 1, unit: float = 1.0) -> str:
    """A number for a table, in multiples of `unit`; "-" where there is none."""
    return "-" if value is None else f"{value / unit:.{decimals}f}"


def summary(rows: Sequence[Row]) -> list[str]:
    """One line for each parameter set."""
    sizes_and_times = ["who", "preset", "slots", "log2 QP", "seconds", "predicted"]
    qualities = ["mean bits", "worst bits", "rms bits", "predicted rms", "bits left", "log2 failure", "security"]
    lines = []
    for row in rows:
        extra = row["extra"]
        times = [cell(row["median_ms"], 2, 1e3), cell(extra.get("predicted_ms"), 2, 1e3)]
        numbers = [cell(extra.get(name)) for name in ("mean_bits", "worst_bits", "rms_bits", "predicted_bits", "bits_left", "log2_failure")]
        sizes = [cell(extra.get(name), 2, GIB) for name in ("key_bytes", "peak_bytes")]
        first = [row["who"], extra["preset"], str(extra["slots"]), cell(extra["log_qp"], 0)]
        lines.append([*first, *times, *numbers, cell(extra.get("security_bits"), 0), *sizes])
    return grid([*sizes_and_times, *qualities, "keys, GiB", "peak, GiB"], lines)


def comparison(rows: Sequence[Row]) -> list[str]:
    """One line for each pair of sets that may be compared."""
    ours = {row["extra"]["preset"]: row for row in rows if row["who"] == OURS}
    lines = []
    for theirs in rows:
        for mine in (ours[preset] for preset in COMPARED.get(theirs["who"], ()) if preset in ours):
            a, b = mine["extra"], theirs["extra"]
            if (a["degree"], a["slots"]) != (b["degree"], b["slots"]):
                continue
            ratio = mine["median_ms"] / theirs["median_ms"]
            seconds = [cell(row["median_ms"], 2, 1e3) for row in (mine, theirs)]
            pairs = [f"{cell(a[field])} / {cell(b[field])}" for field in ("bits_left", "mean_bits")]
            per_bit = number(ratio * b["bits_left"] / a["bits_left"])
            lines.append([a["preset"], f"{theirs['who']} {b['preset']}", *seconds, number(ratio), per_bit, *pairs])
    head = ["ours", "theirs", "our seconds", "their seconds", "ours / theirs", "the same per bit left", "bits left", "mean bits"]
    return grid(head, lines) if lines else []


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
    lines += ["Complex slots, all of them, uniform in the unit square; medians of five bootstraps, of other libraries three, after"]
    lines += ["one that is not timed. `-`: not told by the library.", ""]
    lines += summary(measured)
    compared = comparison(measured)
    if compared:
        lines += ["", "## Ours beside theirs", ""]
        lines += [
            "Below 1 means that ours is faster. Sets of the same degree and slots: `boot_fast` beside Poulpy's, `boot_default` beside"
        ]
        lines += ["Lattigo's and OpenFHE's, `boot_n15` beside those of degree 2^15. They differ in precision and in the bits left.", ""]
        lines += compared
    for row in (row for row in measured if row["who"] == OURS):
        lines += ["", f"## {row['extra']['preset']}", "", *split(row)]
    lines += ["", *(f"- {row['who']}, {row['params']}: not measured, {row['absent']}" for row in absent)]
    lines += [f"![{plot}]({plot})" for plot in plots]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(tables_and_plots("bootstrap", __doc__, RESULTS, parse_rows, markdown, collect))
