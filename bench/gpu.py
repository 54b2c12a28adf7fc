"""Tables of the benchmark of devices, beside the numbers of the DPad-HE paper and published times.

Sits in bench/ above tables.py; reads bench/results/gpu.json, which bench/run.py writes, and replaces gpu.md. Rows have in `extra`:

    device, predicted        the device; whether the times are predictions of the cost model, not measurements
    predicted_ms             what the cost model says
    set, scheme, keys        products and rotations: the paper's set, RNS-CKKS, ModHE or DPad-HE, keys as made or as the planner chooses,
                             kernels one by one or in graphs
    degree, rank, primes     of that set
    butterflies, row_bytes   transforms: butterflies of all rows, bytes of one row
    bytes                    copies: read and written
    preset, key_bytes        bootstraps

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, grid, machine_line, number, parse_rows, rows_of

NEEDED = {
    "device_copy": ("bytes", "predicted_ms", "predicted"),
    "device_transform": ("degree", "rows", "bits", "butterflies", "row_bytes", "predicted_ms", "predicted"),
    "device_multiply": ("set", "scheme", "keys", "degree", "rank", "primes", "predicted_ms", "predicted"),
    "device_rotate": ("set", "scheme", "keys", "degree", "predicted_ms", "predicted"),
    "device_bootstrap": ("preset", "degree", "slots", "key_bytes", "predicted_ms", "predicted"),
}
GIGABYTE = 1e9


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of devices.

    Errors: ValueError for a row that lacks a field.
    """
    return rows_of(rows, NEEDED)


def of_work(rows: Sequence[Row], work: str) -> list[Row]:
    """The measured or predicted rows of one work."""
    return [row for row in rows if row["work"] == work and "absent" not in row]


def ratio(over: float | None, under: float | None) -> str:
    """A quotient, or a dash where a number is missing."""
    return number(over / under) if over and under else "-"


def products(rows: Sequence[Row], paper: dict[str, Any]) -> list[str]:
    """The paper's Table 8 with ours: times, and the quotients of RNS-CKKS and ModHE over DPad-HE."""
    times = {
        (row["extra"]["set"], row["extra"]["scheme"], row["extra"]["keys"]): row["median_ms"] for row in of_work(rows, "device_multiply")
    }
    rlwe = {row["set"]: row["ms"] for row in paper["rns_ckks"]}
    lines = []
    for row in paper["rows"]:
        for keys in ("as_made", "planned", "planned_in_graphs"):
            if keys == "planned_in_graphs" and not any(key[2] == keys for key in times):
                continue  # only devices have graphs
            own = [
                times.get((row["rns_ckks"], "RNS-CKKS", keys)),
                times.get((row["set"], "ModHE", keys)),
                times.get((row["set"], "DPad-HE", keys)),
            ]
            shown = [number(time) if time else "-" for time in own]
            lines.append([row["set"], keys.replace("_", " "), *shown, ratio(own[0], own[2]), ratio(own[1], own[2])])
        theirs = [rlwe[row["rns_ckks"]], row["modhe_ms"], row["dpad_ms"]]
        lines.append([row["set"], "the paper", *map(number, theirs), ratio(theirs[0], theirs[2]), ratio(theirs[1], theirs[2])])
    return grid(["set", "keys", "RNS-CKKS ms", "ModHE ms", "DPad-HE ms", "RNS-CKKS over DPad-HE", "ModHE over DPad-HE"], lines)


def roofline(rows: Sequence[Row]) -> list[str]:
    """Transforms against the time that reading and writing their rows once takes at the speed of a copy."""
    copies = of_work(rows, "device_copy")
    speed = copies[0]["extra"]["bytes"] / copies[0]["median_ms"] / 1e6 if copies else None
    lines = []
    for row in of_work(rows, "device_transform"):
        extra = row["extra"]
        moved = 2 * extra["rows"] * extra["row_bytes"]
        floor = moved / speed / 1e6 if speed else None
        each = 1e6 * row["median_ms"] / extra["rows"]
        lines.append(
            [
                str(extra["degree"]),
                str(extra["bits"]),
                number(each),
                number(extra["butterflies"] / row["median_ms"] / 1e6),
                number(floor * 1e6 / extra["rows"]) if floor else "-",
                ratio(row["median_ms"], floor),
            ]
        )
    head = ["degree", "bits of the prime", "ns a row", "butterflies a ns", "ns a row at the speed of a copy", "over it"]
    return ([f"A copy moves {number(speed)} GB/s, reads and writes counted.", ""] if speed else []) + grid(head, lines)


def others(rows: Sequence[Row], published: dict[str, Any]) -> list[str]:
    """Multiplications, rotations and bootstraps beside published times."""
    lines = []
    for work, name in (
        ("device_multiply", "multiply, relinearise, rescale"),
        ("device_rotate", "rotate"),
        ("device_bootstrap", "bootstrap"),
    ):
        for row in of_work(rows, work):
            extra = row["extra"]
            if extra.get("rank", 1) == 1:
                lines.append([name, "ours", row["params"], str(extra["degree"]), number(row["median_ms"])])
    for row in published["rows"]:
        lines.append([row["work"], row["who"], row["device"], str(1 << row["log_degree"]), number(row["ms"])])
    return grid(["work", "whose", "parameters or device", "degree", "ms"], lines)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    paper = json.loads((BENCH / "paper" / "dpad.json").read_text())
    published = json.loads((BENCH / "paper" / "gpu.json").read_text())
    present = [row for row in found if "absent" not in row]
    predicted = any(row["extra"]["predicted"] for row in present)
    devices = sorted({row["extra"]["device"] for row in present if not row["extra"]["predicted"]})
    lines = ["# gpu", "", machine_line(about), ""]
    if predicted:
        lines += [
            "**These times are predictions, not measurements**: counts of unit operations, times what a large graphics processor (132"
        ]
        lines += [
            "multiprocessors at 1.7 GHz, 3.3 TB/s) is computed to take for each at half of its rate. Starting kernels costs nothing in"
        ]
        lines += [
            "them, which real devices add: 2 to 4 microseconds a kernel. `make bench-gpu DEVICE=cuda` measures where there is a device.",
            "",
        ]
    if devices:
        lines += [f"Measured on {'; '.join(devices)}.", ""]
    lines += [f"Products, relinearised and rescaled, at the sets of Table 5, beside Table 8 of the paper, {paper['gpu_machine']}.", ""]
    lines += products(present, paper["gpu"])
    lines += ["", "Transforms of many rows at once.", "", *roofline(present)]
    lines += ["", f"{published['title']}.", "", *others(present, published), ""]
    lines += [f"- {row['params']}: {row['absent']}" for row in found if "absent" in row]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("gpu", __doc__, RESULTS, parse_rows, markdown, collect))
