"""Tables of the benchmark of products of a plain matrix with an encrypted one, beside the numbers of the paper on them.

Sits in bench/ above tables.py; reads bench/results/matrix.json, which bench/run.py writes, and replaces matrix.md. Works are
"matrix_plain", "matrix_apart" (without preparation) and "matrix_prepared". Rows have in `extra`:

    preset, degree, size               parameter set, its degree, the rows of the square matrices
    log_q, log_qp, security_bits       bits of the modulus, with special primes; of the keys
    mean_bits, worst_bits              minus log2 of the mean and largest error over the largest number of the product; null: plain
    rank                               matrix_apart: how many polynomials a mask has
    products                           matrix_prepared, as all that follow: how many floating-point products
    key_bytes, owner_key_bytes         keys that belong to the matrix; keys of the owner, from which they are made; in memory
    prepare_seconds                    time to make the keys of the matrix
    predicted_ms, predicted_bits       what the plan says

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import BENCH, RESULTS, Row, cell, grid, machine_line, missing, parse_rows, ratio, rows_of_works

PLAIN, APART, PREPARED = WORKS = ("matrix_plain", "matrix_apart", "matrix_prepared")
ONE, TWO = "one product", "two products"
METHODS = {1: ONE, 2: TWO}
ENCRYPTED = (APART, ONE, TWO)

SHAPE = ("preset", "degree", "size", "log_q", "log_qp", "security_bits")
ACCURACY = ("mean_bits", "worst_bits")
NEEDED = {
    PLAIN: SHAPE,
    APART: (*SHAPE, *ACCURACY),
    PREPARED: (*SHAPE, *ACCURACY, "products", "key_bytes", "owner_key_bytes", "prepare_seconds", "predicted_ms"),
}
MEGABYTE = 1e6

INTRODUCTION = """
W X for a plain matrix W and an encrypted matrix X, both square with d rows of numbers uniform in [-1, 1). One thread, medians. An
encrypted row is a mask, which is random, and a body, which has the numbers hidden by the mask.

- plain: two unencrypted matrices of doubles, by the same `gemm` code that all the other products use.
- without preparation: masks and bodies are multiplied by W, exactly modulo each prime (Algorithm 2 of the paper named below). It
  needs no keys. Splitting X into rows before is not timed, and the result is not packed back into ordinary ciphertexts.
- prepared: keys were combined for W beforehand (Algorithms 3 and 4 of the paper), which is not in these times. The rows of X are
  encrypted under masks that they share, so that only bodies are multiplied, in floating point: in one product, or in two for more
  precision. One switch with the combined keys takes the result back to ordinary ciphertexts, and the output is ready.
""".strip()

PRECISION = """
Accuracy is the error of the decrypted product over the largest number of the product, in bits: minus log2 of the mean error, and of
the largest one. Preparation combines the owner's keys, which do not depend on W, to the keys of the matrix. It is done once for each
W, before there is any X.
""".strip()

BESIDE = """
The machines differ, so the ratios compare machines as well as methods. Seconds; `ours / theirs` below 1 means that ours took less time;
`-`: there is no number. Their totals start from ordinary ciphertexts and end with them.
""".strip()

BESIDE_APART = """
Without preparation: ours has no conversions, so it stands first beside the products of their algorithm alone (both parts modulo the
modulus), then beside its total with conversions, then beside the LZ algorithm as they implemented it (Table 7),
which has one ciphertext for each row where d is below the degree.
""".strip()

BESIDE_PREPARED = """
Prepared: the paper gives no times of products with keys combined beforehand. Ours stand beside the total of their algorithm with one
modular and one floating-point product. The switch to shared masks is part of their Algorithms 3 and 4; ours needs none, because X is
encrypted under shared masks.
""".strip()

BESIDE_ACCURACY = """
Bits of accuracy: ours worst / mean of the numbers of one product, theirs worst / average as printed. The paper measures the largest
error of a product over its largest number, as our worst does; it does not say what the average is taken over.
""".strip()

Measured = Mapping[str, Row]


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of products, and those that say why there are none.

    Errors: ValueError for a row that lacks a field.
    """
    return rows_of_works(rows, NEEDED)


def by_size(rows: Iterable[Row]) -> dict[tuple[str, int], dict[str, Row]]:
    """The measured rows of each preset and size by method, in the order of first appearance."""
    sizes: dict[tuple[str, int], dict[str, Row]] = {}
    for row in rows:
        extra = row["extra"]
        method = METHODS[extra["products"]] if row["work"] == PREPARED else row["work"]
        sizes.setdefault((extra["preset"], extra["size"]), {})[method] = row
    return sizes


def milliseconds(measured: Measured, method: str) -> float | None:
    """The time of a method, if measured."""
    return measured[method]["median_ms"] if method in measured else None


def seconds(measured: Measured, method: str) -> float | None:
    """As `milliseconds`."""
    time = milliseconds(measured, method)
    return None if time is None else time / 1e3


def own(measured: Measured, name: str, methods: Sequence[str] = (ONE, TWO)) -> Any:
    """A field of the first of these methods that was measured; None without any."""
    return next((measured[method]["extra"][name] for method in methods if method in measured), None)


def bits(values: Iterable[float | None]) -> str:
    """Numbers of bits for a table, separated by slashes."""
    return " / ".join("-" if value is None else f"{value:.1f}" for value in values)


def accuracy(measured: Measured, method: str, names: Sequence[str] = ACCURACY) -> str:
    """The bits of accuracy of a method, if measured."""
    return bits(measured[method]["extra"][name] for name in names) if method in measured else "-"


def sets(sizes: Mapping[tuple[str, int], Measured]) -> list[str]:
    """One line for each parameter set."""
    shapes = {preset: next(iter(measured.values()))["extra"] for (preset, _), measured in sizes.items()}
    lines = []
    for preset, extra in shapes.items():
        lines.append([preset, str(extra["degree"]), *(f"{extra[name]:.0f}" for name in ("log_q", "log_qp", "security_bits"))])
    return grid(["preset", "degree", "log2 Q", "log2 QP", "bits of security"], lines)


def times(sizes: Mapping[tuple[str, int], Measured]) -> list[str]:
    """Milliseconds of each preset and size, over those of the plain product."""
    lines = []
    for (preset, size), measured in sizes.items():
        plain = milliseconds(measured, PLAIN)
        line = [preset, str(size), cell(plain)]
        for method in ENCRYPTED:
            time = milliseconds(measured, method)
            line += [cell(time), ratio(time, plain)]
            line += [cell(own(measured, "predicted_ms", [method]))] if method != APART else []
        lines.append(line)
    prepared = [head for name in (ONE, TWO) for head in (f"prepared, {name}, ms", "/ plain", "predicted ms")]
    return grid(["preset", "d", "plain ms", "without preparation ms", "/ plain", *prepared], lines)


def precision(sizes: Mapping[tuple[str, int], Measured]) -> list[str]:
    """Accuracy, keys and preparation of each preset and size."""
    lines = []
    for (preset, size), measured in sizes.items():
        line = [preset, str(size), *(accuracy(measured, method) for method in ENCRYPTED)]
        for name in ("key_bytes", "owner_key_bytes"):
            value = own(measured, name)
            line.append(cell(None if value is None else value / MEGABYTE))
        lines.append([*line, cell(own(measured, "prepare_seconds"))])
    methods = [f"{name}, mean / worst bits" for name in ("without preparation", f"prepared, {ONE}", TWO)]
    return grid(["preset", "d", *methods, "MB of keys of the matrix", "of the owner", "seconds of preparation"], lines)


def beside(sizes: Mapping[tuple[str, int], Measured], paper: dict[str, Any]) -> list[str]:
    """Ours beside the paper's Tables 3 and 7, at its parameters."""
    lz = {row["log_size"]: row["lz_s"] for row in paper["table_7"]}
    apart, prepared, accuracies = [], [], []
    for theirs in paper["table_3"]:
        size = 1 << theirs["log_size"]
        measured = sizes.get((paper["preset"], size), {})
        first = [str(size), theirs["algorithm"]]
        time = seconds(measured, APART)
        compared = [theirs["a_part_s"] + theirs["modular_b_part_s"], theirs["modular_total_s"], lz[theirs["log_size"]]]
        apart.append([*first, cell(time), *(text for other in compared for text in (cell(other), ratio(time, other)))])
        total = theirs["floating_total_s"]
        ours = [seconds(measured, method) for method in (ONE, TWO)]
        prepared.append([*first, cell(total), *(text for time in ours for text in (cell(time), ratio(time, total)))])
        our_bits = [accuracy(measured, method, ("worst_bits", "mean_bits")) for method in ENCRYPTED]
        accuracies.append([str(size), *our_bits, bits(theirs["modular_bits"]), bits(theirs["floating_bits"])])
    pairs = [head for name in ("their products", "their total", "their LZ") for head in (name, "ours / theirs")]
    lines = [BESIDE_APART, "", *grid(["d", "their algorithm", "ours", *pairs], apart)]
    pairs = [head for name in (ONE, TWO) for head in (f"ours, {name}", "ours / theirs")]
    lines += ["", BESIDE_PREPARED, "", *grid(["d", "their algorithm", "their total", *pairs], prepared)]
    heads = ["d", "without preparation", f"prepared, {ONE}", TWO, "theirs, modular", "theirs, floating-point"]
    return [*lines, "", BESIDE_ACCURACY, "", *grid(heads, accuracies)]


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    paper = json.loads((BENCH / "paper" / "pcmm.json").read_text())
    sizes = by_size(row for row in found if "absent" not in row)
    lines = ["# matrix", "", machine_line(about), "", INTRODUCTION, "", *sets(sizes), "", *times(sizes)]
    lines += ["", "## Precision, keys and preparation", "", PRECISION, "", *precision(sizes)]
    lines += ["", "## Beside the paper", "", f"{paper['source']}; {paper['machine']}. Ours is `{paper['preset']}`.", ""]
    lines += [BESIDE, "", *beside(sizes, paper)]
    absent = [f"- {missing(row)}: {row['absent']}" for row in found if "absent" in row]
    lines += ["", "## Absent", "", *absent] if absent else []
    return "\n".join([*lines, *[f"\n![{plot}]({plot})" for plot in plots], ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("matrix", __doc__, RESULTS, parse_rows, markdown, collect))
