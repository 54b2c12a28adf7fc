"""Tables of the benchmark of products of a plain matrix with an encrypted one, beside the numbers of the paper on them.

Sits in bench/ above tables.py; reads bench/results/matrix.json, which bench/run.py writes, and replaces matrix.md. Works are
"matrix_plain" (gemm crate), "openblas" (NumPy), "matrix_apart" (exact, the product alone), "matrix_exact" (exact, whole),
"matrix_prepared" (prepared, rows under shared masks) and "matrix_own" (prepared, rows with masks of their own). Rows have in `extra`:

    size                               rows of the square matrices
    preset, degree                     but for openblas, as all that follow: parameter set, its degree
    log_q, log_qp, security_bits       bits of the modulus, with special primes; of the keys
    mean_bits, worst_bits              minus log2 of the mean and largest error over the largest number of the product; null: plain
    rank                               matrix_apart: how many polynomials a mask has
    owner_key_bytes                    exact and prepared products: keys of the owner, in memory
    predicted_ms, predicted_bits       of the same: what the plan says
    products                           prepared products, as all that follow: how many floating-point products
    key_bytes, prepare_seconds         keys that belong to the matrix, in memory; time to make them

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, cell, grid, machine_line, missing, parse_rows, ratio, rows_of_works

WORKS = ("matrix_plain", "openblas", "matrix_apart", "matrix_exact", "matrix_own", "matrix_prepared")
# A method is a work with its number of floating-point products; 0 for works that have none.
Method = tuple[str, int]
PLAIN, OPENBLAS, APART, EXACT = ((work, 0) for work in WORKS[:4])
OWN_ONE, OWN_TWO, PREPARED_ONE, PREPARED_TWO = ((work, products) for work in WORKS[4:] for products in (1, 2))
OWN, PREPARED = (OWN_ONE, OWN_TWO), (PREPARED_ONE, PREPARED_TWO)
# From ordinary ciphertexts to ordinary ciphertexts, and what spares a step.
WHOLE, PARTS = (EXACT, *OWN), (APART, *PREPARED)
NAMES: dict[Method, str] = {
    PLAIN: "plain, gemm",
    OPENBLAS: "plain, OpenBLAS",
    EXACT: "exact",
    OWN_ONE: "prepared, one product",
    OWN_TWO: "prepared, two products",
    APART: "exact, rows apart",
    PREPARED_ONE: "shared masks, one product",
    PREPARED_TWO: "shared masks, two products",
}

SHAPE = ("preset", "degree", "size", "log_q", "log_qp", "security_bits")
ACCURACY = ("mean_bits", "worst_bits")
PREPARATION = ("products", "key_bytes", "owner_key_bytes", "prepare_seconds", "predicted_ms")
NEEDED = {
    "matrix_plain": SHAPE,
    "openblas": ("size",),
    "matrix_apart": (*SHAPE, *ACCURACY),
    "matrix_exact": (*SHAPE, *ACCURACY, "owner_key_bytes", "predicted_ms"),
    "matrix_own": (*SHAPE, *ACCURACY, *PREPARATION),
    "matrix_prepared": (*SHAPE, *ACCURACY, *PREPARATION),
}
MEGABYTE = 1e6

INTRODUCTION = """
W X for a plain matrix W and an encrypted matrix X, both square with d rows of numbers uniform in [-1, 1). One thread, medians; what
takes more than half a minute is timed once. An encrypted row is a mask, which is random, and a body, which has the numbers hidden by
the mask. In an ordinary ciphertext each polynomial has a mask of its own, and rows that are shorter than a polynomial share it.

- plain: two unencrypted matrices of doubles, by the `gemm` crate, which all products below use, and by OpenBLAS (NumPy).
- exact: masks and bodies are multiplied by W modulo each prime (Algorithm 2 of the paper named below). Rows that share a polynomial
  are taken apart before and packed again after, with one small key.
- prepared: keys were combined for W beforehand (Algorithms 3 and 4 of the paper), which is not in these times. A few rounds of key
  switches bring the rows under shared masks; the bodies are multiplied in floating point, in one product, or in two for more precision;
  one switch with the combined keys replaces the product of W with the masks and gives ordinary ciphertexts.
""".strip()

PARTS_TEXT = """
Some applications can leave out steps, which saves time:

- exact, rows apart: rows were taken apart before, which is not timed, and the result is not packed.
- shared masks: the prepared product of rows that the owner of the secret key encrypted under shared masks, so there are no rounds.
""".strip()

PRECISION = """
Accuracy is the error of the decrypted product over the largest number of the product, in bits: minus log2 of the mean error / of
the largest one. The keys of prepared products were combined for one rounding of W, which suits the number of products that the plan
takes by itself; with the other number, accuracy may be less than another rounding would give.
""".strip()

KEYS = """
Keys in MB. The owner makes keys that do not depend on W. Preparation combines them to the keys of the matrix, once for each W and
before there is any X. Rows with masks of their own need the keys of the rounds besides.
""".strip()

BESIDE = """
The machines differ, so the ratios compare machines as well as methods. Seconds; `ours / theirs` below 1 means that ours took less time;
`-`: there is no number. Totals, theirs and ours, start from ordinary ciphertexts and end with them. The paper gives no times of plain
products.
""".strip()

BESIDE_EXACT = """
Exact: ours beside the total of their algorithm with both products modulo the modulus, and beside the LZ algorithm as they implemented
it (Table 7), which has one ciphertext for each row where d is below the degree; then the products alone, without conversions.
""".strip()

BESIDE_PREPARED = """
Prepared: ours beside the total of their algorithm with one modular product (of the masks) and one floating-point product (of the
bodies). Ours has no product of the masks, because keys were combined for W; preparation is not in its time. The paper describes this
(Algorithms 3 and 4) and gives no times of it. Conversions before and after are in both totals; theirs has none at 8192.
""".strip()

BESIDE_ACCURACY = """
Bits of accuracy: ours worst / mean of the numbers of one product, theirs worst / average as printed. The paper measures the largest
error of a product over its largest number, as our worst does; it does not say what the average is taken over.
""".strip()

Measured = Mapping[Method, Row]
Sizes = Mapping[tuple[str, int], Measured]


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of products, and those that say why there are none.

    Errors: ValueError for a row that lacks a field.
    """
    return rows_of_works(rows, NEEDED)


def by_size(rows: Iterable[Row]) -> dict[tuple[str, int], dict[Method, Row]]:
    """The measured rows of each preset and size by method, in the order of first appearance; every preset has the rows of OpenBLAS."""
    sizes: dict[tuple[str, int], dict[Method, Row]] = {}
    measured = [row for row in rows if "absent" not in row]
    for row in measured:
        extra = row["extra"]
        if row["work"] != OPENBLAS[0]:
            sizes.setdefault((extra["preset"], extra["size"]), {})[row["work"], extra.get("products", 0)] = row
    blas = {row["extra"]["size"]: row for row in measured if row["work"] == OPENBLAS[0]}
    for (_, size), found in sizes.items():
        if size in blas:
            found[OPENBLAS] = blas[size]
    return sizes


def milliseconds(measured: Measured, method: Method) -> float | None:
    """The time of a method, if measured."""
    return measured[method]["median_ms"] if method in measured else None


def seconds(measured: Measured, method: Method) -> float | None:
    """As `milliseconds`."""
    time = milliseconds(measured, method)
    return None if time is None else time / 1e3


def field(measured: Measured, name: str, *methods: Method) -> Any:
    """A field of the first of these methods that was measured; None without any."""
    return next((measured[method]["extra"][name] for method in methods if method in measured), None)


def megabytes(measured: Measured, name: str, *methods: Method) -> str:
    """Bytes of the first of these methods that was measured, for a table."""
    value = field(measured, name, *methods)
    return cell(None if value is None else value / MEGABYTE)


def bits(values: Iterable[float | None]) -> str:
    """Numbers of bits for a table, separated by slashes."""
    return " / ".join("-" if value is None else f"{value:.1f}" for value in values)


def accuracy(measured: Measured, method: Method, names: Sequence[str] = ACCURACY) -> str:
    """The bits of accuracy of a method, if measured."""
    return bits(measured[method]["extra"][name] for name in names) if method in measured else "-"


def sets(sizes: Sizes) -> list[str]:
    """One line for each parameter set."""
    shapes = {preset: row["extra"] for (preset, _), measured in sizes.items() for method, row in measured.items() if method != OPENBLAS}
    lines = []
    for preset, extra in shapes.items():
        lines.append([preset, str(extra["degree"]), *(f"{extra[name]:.0f}" for name in ("log_q", "log_qp", "security_bits"))])
    return grid(["preset", "degree", "log2 Q", "log2 QP", "bits of security"], lines)


def plain_products(sizes: Sizes) -> list[str]:
    """A sentence on how the two plain products compare, where both were measured."""
    pairs = [(milliseconds(measured, OPENBLAS), milliseconds(measured, PLAIN)) for measured in sizes.values()]
    ratios = [blas / plain for blas, plain in pairs if blas is not None and plain]
    if not ratios:
        return []
    return ["", f"OpenBLAS took {min(ratios):.2f} to {max(ratios):.2f} times as long as the `gemm` crate. Ratios are to the latter."]


def times(sizes: Sizes, methods: Sequence[Method], plain: Sequence[Method]) -> list[str]:
    """Milliseconds of each preset and size, with the predicted ones, over those of the plain product; `plain`: plain products to show."""
    lines = []
    for (preset, size), measured in sizes.items():
        line = [preset, str(size), *(cell(milliseconds(measured, method)) for method in plain)]
        for method in methods:
            time = milliseconds(measured, method)
            predicted = f" ({cell(measured[method]['extra']['predicted_ms'])})" if method in measured and method != APART else ""
            line += [cell(time) + predicted, ratio(time, milliseconds(measured, PLAIN))]
        lines.append(line)
    heads = [head for method in methods for head in (f"{NAMES[method]}, ms" + ("" if method == APART else " (predicted)"), "/ plain")]
    return grid(["preset", "d", *(f"{NAMES[method]}, ms" for method in plain), *heads], lines)


def precision(sizes: Sizes) -> list[str]:
    """The accuracy of each preset and size."""
    methods = (*WHOLE, *PARTS)
    lines = [[preset, str(size), *(accuracy(found, method) for method in methods)] for (preset, size), found in sizes.items()]
    return grid(["preset", "d", *(NAMES[method] for method in methods)], lines)


def keys(sizes: Sizes) -> list[str]:
    """Keys and preparation of each preset and size."""
    lines = []
    for (preset, size), measured in sizes.items():
        owner = [megabytes(measured, "owner_key_bytes", *methods) for methods in ([EXACT], OWN, PREPARED)]
        matrix = megabytes(measured, "key_bytes", *OWN, *PREPARED)
        lines.append([preset, str(size), *owner, matrix, cell(field(measured, "prepare_seconds", *OWN, *PREPARED))])
    owner = [f"owner's, {name}" for name in ("exact", "prepared", "shared masks")]
    return grid(["preset", "d", *owner, "of the matrix", "seconds of preparation"], lines)


def beside(sizes: Sizes, paper: dict[str, Any]) -> list[str]:
    """Ours beside the paper's Tables 3 and 7, at its parameters."""
    lz = {row["log_size"]: row["lz_s"] for row in paper["table_7"]}
    exact, prepared, accuracies = [], [], []
    for theirs in paper["table_3"]:
        size = 1 << theirs["log_size"]
        measured = sizes.get((paper["preset"], size), {})
        first = [str(size), theirs["algorithm"]]
        time, alone = seconds(measured, EXACT), seconds(measured, APART)
        products = theirs["a_part_s"] + theirs["modular_b_part_s"]
        compared = [text for other in (theirs["modular_total_s"], lz[theirs["log_size"]]) for text in (cell(other), ratio(time, other))]
        exact.append([*first, cell(time), *compared, cell(alone), cell(products), ratio(alone, products)])
        total = theirs["floating_total_s"]
        ours = [seconds(measured, method) for method in OWN]
        prepared.append([*first, cell(total), *(text for time in ours for text in (cell(time), ratio(time, total)))])
        our_bits = [accuracy(measured, method, ("worst_bits", "mean_bits")) for method in WHOLE]
        accuracies.append([str(size), *our_bits, bits(theirs["modular_bits"]), bits(theirs["floating_bits"])])
    over = "ours / theirs"
    heads = ["d", "their algorithm", "ours", "their total", over, "their LZ", over, "ours, products alone", "theirs, products alone", over]
    lines = [BESIDE_EXACT, "", *grid(heads, exact)]
    pairs = [head for name in ("one product", "two products") for head in (f"ours, {name}", over)]
    lines += ["", BESIDE_PREPARED, "", *grid(["d", "their algorithm", "their total", *pairs], prepared)]
    heads = ["d", *(NAMES[method] for method in WHOLE), "theirs, modular", "theirs, floating-point"]
    return [*lines, "", BESIDE_ACCURACY, "", *grid(heads, accuracies)]


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    paper = json.loads((BENCH / "paper" / "pcmm.json").read_text())
    sizes = by_size(found)
    lines = ["# matrix", "", machine_line(about), "", INTRODUCTION, "", *sets(sizes)]
    lines += ["", *times(sizes, WHOLE, (PLAIN, OPENBLAS)), *plain_products(sizes), "", PARTS_TEXT, "", *times(sizes, PARTS, ())]
    lines += [f"\n![{plot}]({plot})" for plot in plots]
    lines += ["", "## Precision", "", PRECISION, "", *precision(sizes), "", "## Keys and preparation", "", KEYS, "", *keys(sizes)]
    lines += ["", "## Beside the paper", "", f"{paper['source']}; {paper['machine']}. Ours is `{paper['preset']}`.", ""]
    lines += [BESIDE, "", *beside(sizes, paper)]
    absent = [f"- {missing(row)}: {row['absent']}" for row in found if "absent" in row]
    lines += ["", "## Absent", "", *absent] if absent else []
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("matrix", __doc__, RESULTS, parse_rows, markdown, collect))
