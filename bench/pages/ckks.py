"""Computed lines of the page of operations: ours beside those of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from report import Line, Results, number
from rows import OURS

CHAIN = ("log_qp", "log_q", "special_primes", "digits", "key_gib")


def names(results: Results, field: str) -> list[str]:
    """The values of a field in order of first appearance, of libraries ours first."""
    found = dict.fromkeys(row[field] for row in results.every if row[field] != "*" or field == "who")
    return sorted(found, key=lambda name: name != OURS)


def compared(results: Results) -> Iterator[Line]:
    """One line for each work of a parameter set that anybody has a number for: libraries across, then ratios of ours to theirs."""
    libraries = names(results, "who")
    times = {(row["params"], row["work"], row["who"]): row["ms"] for row in results.rows}
    for params in names(results, "params"):
        for work in names(results, "work"):
            found = {who: times.get((params, work, who)) for who in libraries}
            if any(found.values()):
                ours = found.get(OURS)
                ratios = {who: f"{ours / time:.3f}" if ours is not None and time else "-" for who, time in found.items() if who != OURS}
                yield {
                    "params": params,
                    "work": work,
                    **{who: number(time) if time else "-" for who, time in found.items()},
                    **{f"{OURS} / {who}": ratio for who, ratio in ratios.items()},
                }


def chains(results: Results) -> list[Line]:
    """What each library has for a parameter set, gathered from all its rows."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in results.every:
        extra = row.get("extra") or {}
        if row["params"] != "*" and any(field in extra for field in CHAIN):
            found.setdefault((row["params"], row["who"]), {"params": row["params"], "who": row["who"]}).update(extra)
    params, libraries = names(results, "params"), names(results, "who")
    return [found[key] for key in sorted(found, key=lambda key: (params.index(key[0]), libraries.index(key[1])))]


def notes(results: Results) -> list[Line]:
    """What rows say of themselves, once for each library and work."""
    return list({(row["who"], row["work"], row["note"]): row for row in results.rows if "note" in row}.values())
