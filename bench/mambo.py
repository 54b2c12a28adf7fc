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

A row of work "mambo" is a product inside bootstraps; its `extra`, beside those with the same names:

    rows, columns, lanes       of the square matrix; slots of a row of the encrypted one; rows that share a polynomial
    method                     of the product
    bootstrap_ms               the same polynomials bootstrapped without a product, in the same run
    predicted_product_ms       of the product alone
    preparation_seconds        of the combination of keys, once for a matrix

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, grid, machine_line, number, paper_table, parse_rows, rows_of

BATCH, PRODUCT = "batch_bootstrap", "mambo"
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
    "stages",
)
NEEDED_OF_PRODUCT = (
    "preset",
    "rows",
    "columns",
    "polys",
    "bodies",
    "method",
    "bootstrap_ms",
    "predicted_ms",
    "predicted_product_ms",
    "preparation_seconds",
    "mean_bits",
    "worst_bits",
    "key_bytes",
    "peak_bytes",
)
NEEDED = {BATCH: NEEDED_OF_BATCH, PRODUCT: NEEDED_OF_PRODUCT}
LINEAR = ("slots to coefficients", "modulus raise", "coefficients to slots")
GIB = float(1 << 30)


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of this benchmark. Errors: ValueError for a row that lacks a field."""
    return rows_of(rows, NEEDED)


def each(row: Row) -> float:
    """Milliseconds of one polynomial of real numbers."""
    return row["median_ms"] / row["extra"]["polys"]


def single(rows: Sequence[Row], row: Row) -> Row | None:
    """The row of one polynomial of real numbers at the same set and number of threads."""
    same = [
        other
        for other in rows
        if other["extra"]["preset"] == row["extra"]["preset"] and other["extra"]["threads"] == row["extra"]["threads"]
    ]
    return next((other for other in same if other["extra"]["bodies"] == 1 and other["extra"]["method"] == "real"), None)


def ratio(own: float, base: float | None) -> str:
    return "-" if base is None else f"{own / base:.2f}"


def lines(rows: Sequence[Row]) -> list[str]:
    """One line for each batch."""
    table = []
    for row in rows:
        extra, base = row["extra"], single(rows, row)
        polys = extra["polys"]
        of = {stage["stage"]: stage["median_ms"] / polys for stage in extra["stages"]}
        maps = sum(of.get(name, 0.0) for name in LINEAR)
        base_maps = sum(stage["median_ms"] for stage in base["extra"]["stages"] if stage["stage"] in LINEAR) if base else None
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
                ratio(each(row), each(base) if base else None),
                ratio(maps, base_maps),
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
        "over one alone",
        "linear maps over one",
    ]
    head += ["to coefficients", "raise", "to slots", "split", "reduction", "keys, GiB", "peak, GiB", "mean bits", "worst bits", "security"]
    return grid(head, table)


def products(rows: Sequence[Row]) -> list[str]:
    """One line for each size."""
    table = []
    for row in rows:
        extra = row["extra"]
        peak = "-" if extra["peak_bytes"] is None else f"{extra['peak_bytes'] / GIB:.1f}"
        table.append(
            [
                extra["preset"],
                str(extra["rows"]),
                str(extra["columns"]),
                str(extra["polys"]),
                extra["method"],
                number(row["median_ms"]),
                number(row["median_ms"] / extra["polys"]),
                number(extra["bootstrap_ms"] / extra["polys"]),
                ratio(row["median_ms"], extra["bootstrap_ms"]),
                number(extra["predicted_ms"] / extra["polys"]),
                number(extra["predicted_product_ms"] / extra["polys"]),
                number(extra["preparation_seconds"]),
                f"{extra['key_bytes'] / GIB:.2f}",
                peak,
                f"{extra['mean_bits']:.1f}",
                f"{extra['worst_bits']:.1f}",
            ]
        )
    head = [
        "preset",
        "rows",
        "slots of a row",
        "polynomials",
        "product",
        "ms",
        "ms each",
        "bootstrap alone each",
        "ratio",
        "predicted each",
    ]
    head += ["of it the product", "preparation, s", "keys, GiB", "peak, GiB", "mean bits", "worst bits"]
    return grid(head, table)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    measured = {work: [row for row in found if row["work"] == work and "absent" not in row] for work in NEEDED}
    paper = json.loads((BENCH / "paper" / "mambo.json").read_text())
    text = ["# mambo", "", machine_line(about), ""]
    if measured[BATCH]:
        text += [
            "Batch bootstrapping of real numbers; medians. Bodies are the polynomials that share a mask in the linear maps. Two",
            'polynomials of real numbers are "pairs" as the real and imaginary part of one, which takes one bootstrap of complex',
            "numbers. Times of stages are for each polynomial of real numbers; ratios compare with one polynomial alone at the same",
            "set and threads.",
            "",
            *lines(measured[BATCH]),
            "",
            f"The paper's Table 5, {paper['machine']}:",
            "",
            *paper_table(paper["table_5"]),
            "",
        ]
    if measured[PRODUCT]:
        text += [
            "Products of square matrices inside bootstraps (MaMBo), complex numbers, one thread. The ratio is over the bootstraps of the",
            "same polynomials without a product, in the same run. Times are for each polynomial where they say so.",
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
