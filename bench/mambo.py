"""Tables of the benchmark of batch bootstrapping, beside the numbers of the paper on MaMBo.

Sits in bench/ above tables.py; reads bench/results/mambo.json, which bench/run.py writes, and replaces mambo.md. A row of work
"batch_bootstrap" is a batch of polynomials of real numbers; its `extra`:

    preset, degree, threads
    bodies, polys              polynomials that share a mask in the linear maps, and polynomials of the batch
    method                     "real": polynomials of real numbers; "pairs": two of them as real and imaginary parts of one
    mean_bits, worst_bits      minus log2 of the mean and largest absolute error of a number
    security_bits              of the keys, less a bit for each doubling of the bodies
    log2_failure               of the bootstrap of one polynomial
    key_bytes, peak_bytes      keys in memory; most memory of the process, null where the system does not tell
    predicted_ms               of the batch
    stages                     [{"stage", "median_ms"}] of the batch, in order
    alone_ms, alone_stages     the same of one polynomial of real numbers alone, timed before and after each run of the batch

    key_rows                   polynomials modulo one prime that are multiplied in the dry run, most of them with rows of keys
    curve                      [{"bodies", "predicted_ms_each", "key_bytes"}] of all numbers of bodies, in the row of one body

A row of work "one_reading" is the inner products of several ciphertexts with one key, ciphertext by ciphertext; its `extra`:

    preset, threads, ciphertexts, digits, primes, key_bytes
    rows                       products of polynomials modulo one prime
    together_ms                the same products prime by prime, so that the key is read once
    product_ms                 one product of ciphertexts with its relinearisation

A row of work "mambo" is a product inside bootstraps; its `extra`, beside those with the same names:

    rows, columns, lanes       of the square matrix; slots of a row of the encrypted one; rows that share a polynomial
    method, ring               of the product; degree of the ring that it is computed in
    whole                      whether the whole was timed; otherwise the time is that of the product and of bootstraps of some polynomials
    product_ms                 of the product alone
    bootstrap_ms               of one polynomial of complex numbers, bootstrapped without a product, in the same run
    alone_ms                   of one polynomial of real numbers and of one of complex ones with masks of their own, or null
    predicted_product_ms       of the product alone

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, grid, machine_line, number, paper_table, parse_rows, rows_of

BATCH, READING, PRODUCT = "batch_bootstrap", "one_reading", "mambo"
NEEDED_OF_BATCH = (
    "preset",
    "degree",
    "threads",
    "bodies",
    "polys",
    "method",
    "mean_bits",
    "worst_bits",
    "security_bits",
    "log2_failure",
    "key_bytes",
    "peak_bytes",
    "predicted_ms",
    "key_rows",
    "curve",
    "stages",
    "alone_ms",
    "alone_stages",
)
NEEDED_OF_READING = ("preset", "threads", "ciphertexts", "digits", "primes", "key_bytes", "rows", "together_ms", "product_ms")
NEEDED_OF_PRODUCT = (
    "preset",
    "threads",
    "rows",
    "columns",
    "polys",
    "bodies",
    "method",
    "ring",
    "whole",
    "product_ms",
    "bootstrap_ms",
    "alone_ms",
    "predicted_ms",
    "predicted_product_ms",
    "mean_bits",
    "worst_bits",
    "key_bytes",
    "peak_bytes",
)
NEEDED = {BATCH: NEEDED_OF_BATCH, READING: NEEDED_OF_READING, PRODUCT: NEEDED_OF_PRODUCT}
LINEAR = ("slots to coefficients", "modulus raise", "coefficients to slots")
GIB = float(1 << 30)


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of this benchmark. Errors: ValueError for a row that lacks a field."""
    return rows_of(rows, NEEDED)


def each(row: Row) -> float:
    """Milliseconds of one polynomial of real numbers."""
    return row["median_ms"] / row["extra"]["polys"]


def fills_one_mask(row: Row) -> bool:
    """Whether the polynomials of a batch share one mask, two of them in one where they are pairs; larger batches take several."""
    extra = row["extra"]
    return bool(extra["polys"] == extra["bodies"] * (2 if extra["method"] == "pairs" else 1))


def ratio(own: float, base: float | None) -> str:
    return "-" if base is None else f"{own / base:.2f}"


def linear_maps(stages: Sequence[dict[str, Any]]) -> float:
    """Milliseconds of the linear maps."""
    return float(sum(stage["median_ms"] for stage in stages if stage["stage"] in LINEAR))


def lines(rows: Sequence[Row]) -> list[str]:
    """One line for each batch."""
    table = []
    for row in rows:
        extra = row["extra"]
        polys = extra["polys"]
        of = {stage["stage"]: stage["median_ms"] / polys for stage in extra["stages"]}
        peak = "-" if extra["peak_bytes"] is None else f"{extra['peak_bytes'] / GIB:.1f}"
        table.append(
            [
                extra["preset"],
                str(extra["threads"]),
                extra["method"],
                str(extra["bodies"]),
                str(polys),
                number(row["median_ms"]),
                number(each(row)),
                number(extra["predicted_ms"] / polys),
                number(extra["alone_ms"]),
                ratio(each(row), extra["alone_ms"]),
                ratio(linear_maps(extra["stages"]) / polys, linear_maps(extra["alone_stages"])),
                *[number(of.get(name, 0.0)) for name in (*LINEAR, "split", "modular reduction")],
                f"{extra['key_bytes'] / GIB:.2f}",
                peak,
                f"{extra['mean_bits']:.1f}",
                f"{extra['worst_bits']:.1f}",
                f"{extra['security_bits']:.0f}",
            ]
        )
    head = [
        "preset",
        "threads",
        "numbers",
        "bodies",
        "polynomials",
        "ms",
        "ms each",
        "predicted each",
        "one alone",
        "over one alone",
        "linear maps over one",
    ]
    head += ["to coefficients", "raise", "to slots", "split", "reduction", "keys, GiB", "peak, GiB", "mean bits", "worst bits", "security"]
    return grid(head, table)


def saved_of_row(readings: Sequence[Row], preset: str, threads: int) -> float | None:
    """Milliseconds that one reading of a key saves for each polynomial modulo one prime; None where it was not measured."""
    for row in readings:
        extra = row["extra"]
        if (extra["preset"], extra["threads"]) == (preset, threads):
            return (row["median_ms"] - extra["together_ms"]) / extra["rows"]
    return None


def readings(rows: Sequence[Row]) -> list[str]:
    """One line for each set and number of threads."""
    table = []
    for row in rows:
        extra = row["extra"]
        apart, together = row["median_ms"] / extra["ciphertexts"], extra["together_ms"] / extra["ciphertexts"]
        table.append(
            [
                extra["preset"],
                str(extra["threads"]),
                str(extra["ciphertexts"]),
                str(extra["digits"]),
                str(extra["primes"]),
                f"{extra['key_bytes'] / (1 << 20):.0f}",
                number(apart),
                number(together),
                f"{together / apart:.2f}" if extra["threads"] == 1 else "-",
                f"{100 * (apart - together) / extra['product_ms']:.1f} %" if extra["threads"] == 1 else "-",
            ]
        )
    head = ["preset", "threads", "ciphertexts", "digits", "primes", "key, MiB", "inner product, ms", "one reading, ms", "ratio"]
    return grid([*head, "saved of a relinearised product"], table)


def both(batches: Sequence[Row], found: Sequence[Row]) -> list[str]:
    """Batches with and without shared masks, each as measured and with what one reading of all keys would save at most."""
    table = []
    for row in batches:
        extra = row["extra"]
        saved = saved_of_row(found, extra["preset"], extra["threads"])
        if saved is None or extra["threads"] != 1:
            continue
        own = each(row)
        less = max(saved, 0.0) * extra["key_rows"] / extra["polys"]
        names = [extra["preset"], extra["method"], str(extra["bodies"]), str(extra["polys"]), number(own), number(own - less)]
        table.append([*names, ratio(own, extra["alone_ms"]), ratio(own - less, extra["alone_ms"])])
    head = ["preset", "numbers", "bodies", "polynomials", "ms each", "with one reading", "over one alone", "with one reading"]
    return grid(head, table)


def curves(rows: Sequence[Row]) -> list[str]:
    """What all numbers of polynomials under a mask are predicted to take."""
    table = []
    for row in rows:
        points = row["extra"]["curve"]
        for point in points:
            table.append(
                [
                    row["extra"]["preset"],
                    row["extra"]["method"],
                    str(point["bodies"]),
                    number(point["predicted_ms_each"]),
                    ratio(point["predicted_ms_each"], points[0]["predicted_ms_each"]),
                    f"{point['key_bytes'] / GIB:.1f}",
                ]
            )
    return grid(["preset", "numbers", "bodies", "predicted ms each", "over one body", "keys, GiB"], table)


def products(rows: Sequence[Row]) -> list[str]:
    """One line for each size."""
    table = []
    for row in rows:
        extra = row["extra"]
        polys, alone = extra["polys"], extra["alone_ms"]
        whole = row["median_ms"] / polys
        # The product for each polynomial of complex numbers, after a bootstrap of two real ones one by one.
        apart = None if alone is None else 2 * alone[0] + extra["product_ms"] / polys
        peak = "-" if extra["peak_bytes"] is None else f"{extra['peak_bytes'] / GIB:.1f}"
        table.append(
            [
                extra["preset"],
                str(extra["threads"]),
                str(extra["rows"]),
                str(polys),
                str(extra["bodies"]),
                f"{extra['method']}, degree {extra['ring']}",
                "whole" if extra["whole"] else "parts",
                number(row["median_ms"] / 1e3),
                number(whole / 2),
                number(extra["product_ms"] / polys / 2),
                ratio(whole, extra["bootstrap_ms"]),
                ratio(whole, apart),
                number(extra["predicted_ms"] / polys / 2),
                f"{extra['key_bytes'] / GIB:.2f}",
                peak,
                # Of parts, what was measured is the error of the product alone.
                f"{extra['mean_bits']:.1f}" if extra["whole"] else "-",
                f"{extra['worst_bits']:.1f}" if extra["whole"] else "-",
            ]
        )
    head = ["preset", "threads", "rows", "polynomials", "bodies", "product", "timed", "all, s", "ms each", "of it the product"]
    head += ["over the bootstraps", "over one by one", "predicted each", "keys, GiB", "peak, GiB", "mean bits", "worst bits"]
    return grid(head, table)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    measured = {work: [row for row in found if row["work"] == work and "absent" not in row] for work in NEEDED}
    paper = json.loads((BENCH / "paper" / "mambo.json").read_text())
    text = ["# mambo", "", machine_line(about), ""]
    if measured[BATCH]:
        text += [
            "Batch bootstrapping of real numbers; medians. Bodies are the polynomials that share a mask in the linear maps; a",
            "batch of more polynomials takes several masks, one after another. Two",
            'polynomials of real numbers are "pairs" as the real and imaginary part of one, which takes one bootstrap of complex',
            "numbers. Times of stages are for each polynomial of real numbers; ratios compare with one polynomial alone at the same",
            "set and threads, which is timed before and after each run of the batch, with its keys in memory beside the others.",
            "",
            *lines(measured[BATCH]),
            "",
            f"The paper's Table 5, {paper['machine']}:",
            "",
            *paper_table(paper["table_5"]),
            "",
        ]
    priced = [row for row in measured[BATCH] if row["extra"]["curve"]]
    if priced:
        text += [
            "All powers of two of polynomials under a mask that the keys' security allows, as planned: times of one thread for each",
            "polynomial of real numbers, and what all keys take in memory.",
            "",
            *curves(priced),
            "",
        ]
    if measured[READING]:
        text += [
            "One reading of a switching key for several ciphertexts: their inner products with a key of the modular reduction's highest",
            "level, ciphertext by ciphertext, and prime by prime, so that the rows of the key come from memory once. Times are for each",
            "ciphertext.",
            "",
            *readings(measured[READING]),
            "",
        ]
    together = both(measured[BATCH], measured[READING])
    if len(together) > 2:
        text += [
            "Shared masks, one reading of keys, and both. One reading is not built; its columns take away what it would save at most, if",
            "all products of the circuit with rows of keys and diagonals gained as the inner products above.",
            "",
            *together,
            "",
        ]
    if measured[PRODUCT]:
        text += [
            "Products of square matrices inside bootstraps (MaMBo): as many columns of real numbers as rows, two of them in one of complex",
            "numbers. Times are for each polynomial of real numbers. Where the product has more polynomials than are timed",
            "as a whole, the time is the sum of its parts: the whole product, and the bootstrap, with its level for a product, of as many",
            "polynomials as share a mask. Ratios are over the bootstraps of the same polynomials under shared masks without a product,",
            "and over bootstraps of real numbers one by one with the product apart, timed once at the start. Predicted times are those",
            "of the default profile, a faster processor.",
            "",
            *products(measured[PRODUCT]),
            "",
            "The paper's Table 6, an estimate from its parts, of a square matrix of as many columns, two real polynomials in one:",
            "",
            *paper_table(paper["table_6"]),
            "",
        ]
    text += [f"- {row['params']}: {row['absent']}" for row in found if "absent" in row]
    return "\n".join([*text, *[f"\n![{plot}]({plot})" for plot in plots], ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("mambo", __doc__, RESULTS, parse_rows, markdown, collect))
