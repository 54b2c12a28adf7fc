"""Computed lines of the page of bootstraps."""

from __future__ import annotations

from collections.abc import Iterator

from report import Line, Results
from rows import OURS, Row

# Our sets that a library's are compared with, where degree and slots agree.
COMPARED = {"poulpy": ("boot_fast", "boot_n15"), "lattigo": ("boot_default", "boot_n15"), "openfhe": ("boot_default", "boot_n15")}


def sets(results: Results) -> list[Line]:
    """One line for each parameter set; ours with fewer slots or more threads say so in their name."""
    return [row | {"name": row["params"] if row["who"] == OURS else row["preset"]} for row in results.all("bootstrap")]


def compared(results: Results) -> Iterator[Line]:
    """One line for each pair of sets that may be compared."""
    whole = {row["preset"]: row for row in results.all("bootstrap", who=OURS) if row["params"] == row["preset"]}
    for theirs in results.all("bootstrap"):
        for ours in (whole[preset] for preset in COMPARED.get(theirs["who"], ()) if preset in whole):
            if (ours["degree"], ours["slots"]) == (theirs["degree"], theirs["slots"]):
                per_bit = ours["ms"] / theirs["ms"] * theirs["bits_left"] / ours["bits_left"]
                yield {"ours": ours, "theirs": theirs, "per_bit": per_bit}


def at_ranks(results: Results) -> list[Line]:
    """One line for each set and rank."""
    return [
        row | at | {"sum": at["to_slots_ms"] + at["split_ms"] + at["reduction_ms"]}
        for row in results.all("bootstrap")
        for at in row.get("ranks") or []
    ]


def floor(stage: Row, degree: int, results: Results) -> float | None:
    """Milliseconds of a stage's transforms and of reading its keys once; None without the rows that give the speeds."""
    transform = results.ms("ntt_forward", who=OURS, params=f"2^{degree.bit_length() - 1}, 40-bit prime")
    stream = results.ms("stream_read", who=OURS, params="1024 MiB")
    if transform is None or stream is None or stage.get("transforms") is None:
        return None
    return float(stage["transforms"] * transform + stage["key_bytes"] / (1 << 30) * stream)


def stages(results: Results) -> dict[str, list[Line]]:
    """The stages of each set of ours."""
    return {
        row["params"]: [stage | {"whole": row["ms"], "floor": floor(stage, row["degree"], results)} for stage in row["stages"]]
        for row in results.all("bootstrap", who=OURS)
    }
