"""Tables of the benchmark from samples to slots, beside the numbers of the paper on HERMES.

Sits in bench/ above tables.py; reads bench/results/hermes.json, which bench/run.py writes, and replaces hermes.md. Works are
"samples" (packing and half a bootstrap), "transcipher" (the same from a client's numbers, by phases) and "openfhe_switching" (another
library's way from samples to slots). Rows have in `extra`:

    preset, degree, log_qp             parameter set, its degree, bits of the modulus with special primes
    log_q_left                         bits of the modulus of the result
    sample_degree, dimension, count    the samples: numbers under a mask, dimension, how many numbers
    slots, method                      of each ciphertext; ranks between
    security_bits, sample_security_bits  of the keys; of the samples
    log2_failure                       of the bootstrap of one ciphertext
    mean_bits, worst_bits              minus log2 of the mean and largest absolute error of a number in [-1, 1]
    predicted_bits, predicted_ms, predicted_packing_ms  what the plan says
    key_bytes, packing_key_bytes       all keys in memory; those of packing
    packing_ms, half_ms                samples: the two parts, measured apart
    client_offline_ms, server_offline_ms, client_online_ms, server_online_ms  transcipher: the phases
    key_seconds, version               openfhe_switching: the making of its keys; the library's version
    bits_per_number, message_bytes, expansion  transcipher: of a number in a message; over the bits that the client keeps, with a sign

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, grid, machine_line, number, paper_table, parse_rows, rows_of

SAMPLES, TRANSCIPHER, SWITCHING = "samples", "transcipher", "openfhe_switching"
COMMON = ("preset", "degree", "dimension", "count", "method", "mean_bits", "worst_bits", "key_bytes", "packing_key_bytes", "predicted_ms")
NEEDED = {
    SAMPLES: (*COMMON, "packing_ms", "half_ms", "log_q_left", "log2_failure", "security_bits", "sample_security_bits"),
    SWITCHING: ("preset", "degree", "dimension", "count", "log_q_left", "mean_bits", "worst_bits", "key_seconds", "version"),
    TRANSCIPHER: (*COMMON, "client_offline_ms", "server_offline_ms", "client_online_ms", "server_online_ms", "expansion", "sample_degree"),
}
MEGABYTE = 1e6


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of this benchmark. Errors: ValueError for a row that lacks a field."""
    return rows_of(rows, NEEDED)


def bits(extra: dict[str, Any]) -> list[str]:
    return [f"{extra[name]:.1f}" for name in ("mean_bits", "worst_bits")]


def samples(rows: Sequence[Row]) -> list[str]:
    """One line for each count."""
    lines = []
    for row in rows:
        extra = row["extra"]
        keys = [number(extra[name] / MEGABYTE) for name in ("key_bytes", "packing_key_bytes")]
        times = [number(value) for value in (row["median_ms"], extra["packing_ms"], extra["half_ms"], extra["predicted_ms"])]
        overhead = f"{100 * extra['packing_ms'] / extra['half_ms']:.0f} %"
        each = number(row["median_ms"] / extra["count"])
        shape = [extra["preset"], str(extra["degree"]), f"{extra['log_q_left']:.0f}", str(extra["count"]), str(extra["dimension"])]
        security = f"{extra['security_bits']:.0f}, {extra['sample_security_bits']:.0f}"
        lines.append([*shape, extra["method"], *times, overhead, each, *keys, *bits(extra), f"{extra['log2_failure']:.0f}", security])
    head = ["preset", "degree", "log2 Q left", "samples", "dimension", "packing", "ms", "packing ms", "half bootstrap ms", "predicted ms"]
    head += ["overhead", "ms a number", "MB of keys", "of packing", "mean bits", "worst bits", "log2 failure", "security of keys, samples"]
    return grid(head, lines)


def transciphered(rows: Sequence[Row]) -> list[str]:
    """One line for each degree of samples."""
    lines = []
    for row in rows:
        extra = row["extra"]
        phases = ("client_offline_ms", "server_offline_ms", "client_online_ms", "server_online_ms")
        times = [number(value) for value in (row["median_ms"], *(extra[name] for name in phases))]
        shape = [extra["preset"], str(extra["degree"]), str(extra["sample_degree"]), str(extra["count"])]
        lines.append([*shape, *times, f"{extra['expansion']:.2f}", *bits(extra)])
    head = ["preset", "degree", "numbers in a sample", "numbers", "all ms", "client offline", "server offline", "client online"]
    return grid([*head, "server online", "expansion", "mean bits", "worst bits"], lines)


def switched(rows: Sequence[Row]) -> list[str]:
    """One line for each count, of the other library."""
    lines = []
    for row in rows:
        extra = row["extra"]
        shape = [
            f"OpenFHE {extra['version']}",
            str(extra["degree"]),
            f"{extra['log_q_left']:.0f}",
            str(extra["count"]),
            str(extra["dimension"]),
        ]
        lines.append(
            [*shape, number(row["median_ms"]), number(row["median_ms"] / extra["count"]), *bits(extra), number(extra["key_seconds"])]
        )
    return grid(
        ["library", "degree", "log2 Q left", "samples", "dimension", "ms", "ms a number", "mean bits", "worst bits", "keys, s"], lines
    )


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    paper = json.loads((BENCH / "paper" / "hermes.json").read_text())
    of = {work: [row for row in found if row["work"] == work and "absent" not in row] for work in NEEDED}
    lines = ["# hermes", "", machine_line(about), ""]
    if of[SAMPLES]:
        lines += [
            "LWE samples to numbers in slots at the level of a bootstrapped array; one thread, medians. A full ring has two numbers in"
        ]
        lines += ["each slot, as in the paper. The overhead is the time of packing over that of the half bootstrap.", ""]
        lines += samples(of[SAMPLES])
        lines += ["", f"The paper's Tables 6 and 8, {paper['machine']}:", "", *paper_table(paper["tables_6_and_8"])]
        lines += ["", "The paper's Table 9, methods of packing; ours are rows of the first table with another method for the same samples:"]
        lines += ["", *paper_table(paper["table_9"]), ""]
    if of[TRANSCIPHER]:
        lines += ["Transciphering: all numbers of a ring from the client's hands into slots, by phases, in ms.", ""]
        lines += transciphered(of[TRANSCIPHER])
        lines += ["", "The paper's Table 11:", "", *paper_table(paper["table_11"]), ""]
    if of[SWITCHING]:
        lines += [
            "LWE samples to slots by scheme switching from FHEW to CKKS, one thread. Messages are 0 to 255, and bits are those of messages"
        ]
        lines += ["divided by 256; samples are modulo 2^28.", "", *switched(of[SWITCHING]), ""]
    lines += [f"- {row['params']}: {row['absent']}" for row in found if "absent" in row]
    return "\n".join([*lines, *[f"\n![{plot}]({plot})" for plot in plots], ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("hermes", __doc__, RESULTS, parse_rows, markdown, collect))
