"""Computed lines of the page of graphics processors."""

from __future__ import annotations

from collections.abc import Iterator

from report import Line, Results

KEYS = ("as_made", "planned", "planned_in_graphs")
WORKS = {"device_multiply": "multiply, relinearise, rescale", "device_rotate": "rotate", "device_bootstrap": "bootstrap"}


def facts(results: Results) -> Line:
    """Whether there are predictions, the devices that were measured, and 10^9 bytes a second of a copy."""
    devices = sorted({row["device"] for row in results.rows if not row["predicted"]})
    predicted = any(row["predicted"] for row in results.rows)
    return {"predicted": predicted, "devices": "; ".join(devices), "speed": results.speed("device_copy")}


def products(results: Results) -> Iterator[Line]:
    """The sets of the paper's Table 8: ours by kind of keys, then the paper's."""
    theirs = results.paper["dpad"]["gpu"]
    rlwe = {row["set"]: row["ms"] for row in theirs["rns_ckks"]}
    for row in theirs["rows"]:
        for keys in KEYS:
            if keys in KEYS[:2] or results.all("device_multiply", keys=keys):  # only devices have graphs
                sets = {"rlwe": (row["rns_ckks"], "RNS-CKKS"), "modhe": (row["set"], "ModHE"), "dpad": (row["set"], "DPad-HE")}
                times = {name: results.ms("device_multiply", set=own, scheme=scheme, keys=keys) for name, (own, scheme) in sets.items()}
                yield {"set": row["set"], "keys": keys.replace("_", " "), **times}
        yield {"set": row["set"], "keys": "the paper", "rlwe": rlwe[row["rns_ckks"]], "modhe": row["modhe_ms"], "dpad": row["dpad_ms"]}


def transforms(results: Results) -> Iterator[Line]:
    """Nanoseconds of a row against those that reading and writing it once takes at the speed of a copy."""
    bandwidth = results.speed("device_copy")
    for row in results.all("device_transform"):
        floor = 2 * row["row_bytes"] / bandwidth if bandwidth else None
        yield row | {"each": 1e6 * row["ms"] / row["rows"], "rate": row["butterflies"] / row["ms"] / 1e6, "floor": floor}


def others(results: Results) -> Iterator[Line]:
    """Ours of rank 1 and published times."""
    for work, name in WORKS.items():
        for row in results.all(work):
            if row.get("rank", 1) == 1:
                yield row | {"work": name, "whose": "ours", "at": row["params"]}
    for row in results.paper["gpu"]["rows"]:
        yield row | {"whose": row["who"], "at": row["device"], "degree": 1 << row["log_degree"]}
