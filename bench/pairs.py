"""Tables of the benchmark of products of two encrypted matrices.

Sits in bench/ above tables.py; reads bench/results/pairs.json, which bench/run.py writes, and replaces pairs.md. Works are
"pair_plain" (gemm crate), "openblas" (NumPy), "pair_residues" (products of residue matrices and transpositions) and "pair_slots"
(JKLS18). Rows have in `extra`:

    size                               rows of the square matrices
    preset, degree                     of encrypted products, as all that follow: parameter set, its degree
    log_q, log_qp, security_bits       bits of the modulus, with special primes; of the keys
    mean_bits, worst_bits              minus log2 of the mean and largest error over the largest number of the product
    key_bytes                          keys of the owner, in memory
    rank                               pair_residues: polynomials of the mask of a row of the result
    predicted_ms                       pair_residues: what a dry run says

What was not measured has a row with "absent", which says why.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from command_line import tables_and_plots
from tables import RESULTS, Row, cell, grid, machine_line, missing, parse_rows, ratio, rows_of_works

PLAIN, OPENBLAS, RESIDUES, SLOTS = WORKS = ("pair_plain", "openblas", "pair_residues", "pair_slots")

SHAPE = ("preset", "degree", "size", "log_q", "log_qp", "security_bits")
ACCURACY = ("mean_bits", "worst_bits")
NEEDED = {
    PLAIN: ("size",),
    OPENBLAS: ("size",),
    RESIDUES: (*SHAPE, *ACCURACY, "key_bytes", "rank", "predicted_ms"),
    SLOTS: (*SHAPE, *ACCURACY, "key_bytes"),
}
MEGABYTE = 1e6

INTRODUCTION = """
A B for two encrypted matrices, both square with d rows of numbers uniform in [-1, 1). One thread, medians.

- plain: two unencrypted matrices of doubles, by the `gemm` crate that our products use, and by OpenBLAS (NumPy).
- by residues: `x.T @ y`. Four products of matrices of residues, exact in floating point, two transpositions of an encrypted matrix and a
  relinearisation for each row, then the rescale. A is encrypted by columns. Rows of both share polynomials (`lanes`); the rows of the
  result are not packed back.
- slot by slot: the algorithm of Jiang, Kim, Lauter, Song (CCS 2018) on this library: blocks that fill the slots, two blocks in a
  ciphertext, rotations of one ciphertext hoisted, all products of a block of the result under one relinearisation (above 1024
  rows two, to save memory). Its time grows with the third power of d: products of a minute and more are timed once, and the largest
  sizes are left out.
""".strip()

PRECISION = """
Accuracy is the error of the decrypted product over the largest number of the product, in bits: minus log2 of the mean error, and of the
largest one.
""".strip()

Measured = Mapping[str, Row]


def collect(rows: Iterable[Row]) -> list[Row]:
    """The rows of products, and those that say why there are none.

    Errors: ValueError for a row that lacks a field.
    """
    return rows_of_works(rows, NEEDED)


def by_size(rows: Iterable[Row]) -> dict[int, dict[str, Row]]:
    """The measured rows of each size by work, sizes ascending."""
    sizes: dict[int, dict[str, Row]] = {}
    for row in rows:
        sizes.setdefault(row["extra"]["size"], {})[row["work"]] = row
    return dict(sorted(sizes.items()))


def milliseconds(measured: Measured, work: str) -> float | None:
    """The time of a work, if measured."""
    return measured[work]["median_ms"] if work in measured else None


def sets(rows: Iterable[Row]) -> list[str]:
    """One line for each parameter set."""
    shapes = {row["extra"]["preset"]: row["extra"] for row in rows if row["work"] in (RESIDUES, SLOTS)}
    bits = ("log_q", "log_qp", "security_bits")
    lines = [[preset, str(extra["degree"]), *(f"{extra[name]:.0f}" for name in bits)] for preset, extra in shapes.items()]
    return grid(["preset", "degree", "log2 Q", "log2 QP", "bits of security"], lines)


def times(sizes: Mapping[int, Measured]) -> list[str]:
    """Milliseconds of each size, over those of the plain products."""
    lines = []
    for size, measured in sizes.items():
        plain, blas, ours, slots = (milliseconds(measured, work) for work in WORKS)
        predicted = measured[RESIDUES]["extra"]["predicted_ms"] if RESIDUES in measured else None
        line = [str(size), *map(cell, (plain, blas, ours, predicted)), ratio(ours, plain), ratio(ours, blas)]
        lines.append([*line, cell(slots), ratio(ours, slots)])
    heads = ["d", "gemm ms", "OpenBLAS ms", "by residues ms", "predicted ms", "/ gemm", "/ OpenBLAS"]
    return grid([*heads, "slot by slot ms", "by residues / slot by slot"], lines)


def precision(sizes: Mapping[int, Measured]) -> list[str]:
    """Accuracy and keys of each size."""
    lines = []
    for size, measured in sizes.items():
        line = [str(size)]
        for work in (RESIDUES, SLOTS):
            extra: Mapping[str, Any] = measured[work]["extra"] if work in measured else {}
            bits = " / ".join(f"{extra[name]:.1f}" for name in ACCURACY) if extra else "-"
            line += [bits, cell(extra["key_bytes"] / MEGABYTE if extra else None)]
        lines.append(line)
    heads = [f"{name}{what}" for name in ("by residues", "slot by slot") for what in (", mean / worst bits", ", MB of keys")]
    return grid(["d", *heads], lines)


def markdown(about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page."""
    found = collect(rows)
    measured = [row for row in found if "absent" not in row]
    sizes = by_size(measured)
    lines = ["# pairs", "", machine_line(about), "", INTRODUCTION, "", *sets(measured), "", *times(sizes)]
    lines += ["", "## Precision and keys", "", PRECISION, "", *precision(sizes)]
    absent = [f"- {missing(row)}: {row['absent']}" for row in found if "absent" in row]
    lines += ["", "## Absent", "", *absent] if absent else []
    return "\n".join([*lines, *[f"\n![{plot}]({plot})" for plot in plots], ""])


if __name__ == "__main__":
    sys.exit(tables_and_plots("pairs", __doc__, RESULTS, parse_rows, markdown, collect))
