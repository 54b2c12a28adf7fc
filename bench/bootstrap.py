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
    peak_bytes              of the process, keys included, since before the keys of this set were made; null where the system does not tell
    predicted_ms            of the dry run, by the machine profile in use
    threads                 of this row
    stages                  [{"stage", "median_ms", "predicted_ms", "transforms", "key_bytes"}], in order
    ranks                   predicted times at ranks 1, 2, 4 for as many numbers as rank 1 has slots, null for variants:
                            [{"rank", "degree", "to_slots_ms", "split_ms", "reduction_ms", "conversion_ms"}]

A variant of a set has fewer slots or more threads, and says so in its name, `params`. Rows of work "ntt_forward" and
"stream_read" give the floor of a stage: its transforms, and its keys read once from memory, at this machine's speed.

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


def is_variant(row: Row) -> bool:
    """Whether this is one of our sets with fewer slots or more threads."""
    return row["who"] == OURS and row["params"] != row["extra"]["preset"]


def floor_ms(stage: dict[str, Any], degree: int, rows: Sequence[Row]) -> float | None:
    """The time of a stage's transforms and of reading its keys once, in milliseconds; None without the rows that give the speeds."""
    times = {(row["work"], row["params"]): row["median_ms"] for row in rows if "absent" not in row and row["who"] == OURS}
    transform = times.get(("ntt_forward", f"2^{degree.bit_length() - 1}, 40-bit prime"))
    stream = times.get(("stream_read", "1024 MiB"))
    if transform is None or stream is None or stage.get("transforms") is None:
        return None
    return float(stage["transforms"] * transform + stage["key_bytes"] / GIB * stream)


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
        first = [row["who"], row["params"] if row["who"] == OURS else extra["preset"], str(extra["slots"]), cell(extra["log_qp"], 0)]
        lines.append([*first, *times, *numbers, cell(extra.get("security_bits"), 0), *sizes])
    return grid([*sizes_and_times, *qualities, "keys, GiB", "peak, GiB"], lines)


def comparison(rows: Sequence[Row]) -> list[str]:
    """One line for each pair of sets that may be compared."""
    ours = {row["extra"]["preset"]: row for row in rows if row["who"] == OURS and not is_variant(row)}
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


def split(row: Row, rows: Sequence[Row]) -> list[str]:
    """The stages of one parameter set."""
    whole = row["median_ms"]
    lines = []
    for stage in row["extra"]["stages"]:
        share = f"{100 * stage['median_ms'] / whole:.0f} %"
        floor = floor_ms(stage, row["extra"]["degree"], rows)
        of_floor = "-" if floor is None else f"{100 * floor / stage['median_ms']:.0f} %"
        lines.append([stage["stage"], cell(stage["median_ms"]), cell(stage["predicted_ms"]), share, cell(floor), of_floor])
    return grid(["stage", "ms", "predicted ms", "share", "floor ms", "floor / measured"], lines)


def at_ranks(rows: Sequence[Row]) -> list[str]:
    """Predicted times at other ranks, one line for each set and rank."""
    lines = []
    for row in rows:
        for at in row["extra"].get("ranks") or []:
            stages = [at["to_slots_ms"], at["split_ms"], at["reduction_ms"]]
            shape = [row["extra"]["preset"], str(at["rank"]), str(at["degree"])]
            lines.append([*shape, *map(cell, stages), cell(sum(stages)), cell(at["conversion_ms"])])
    head = ["preset", "rank", "degree", "coefficients to slots", "split", "modular reduction", "sum", "conversion to rank 1"]
    return grid(head, lines) if lines else []


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    every = list(rows)
    found = collect(every)
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
    ranks = at_ranks(measured)
    if ranks:
        lines += ["", "## At higher ranks", ""]
        lines += [
            "Predicted milliseconds for as many numbers as rank 1 has slots, by dry runs: a bootstrap at the rank of the array beside"
        ]
        lines += [
            "one at rank 1. The first map is not in the raise here. The conversion to rank 1 runs at the level where a bootstrap starts,"
        ]
        lines += ["the way back takes no time.", ""]
        lines += ranks
    for row in (row for row in measured if row["who"] == OURS):
        lines += ["", f"## {row['params']}", "", *split(row, every)]
    lines += ["", *(f"- {row['who']}, {row['params']}: not measured, {row['absent']}" for row in absent)]
    lines += [f"![{plot}]({plot})" for plot in plots]
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(tables_and_plots("bootstrap", __doc__, RESULTS, parse_rows, markdown, collect))
