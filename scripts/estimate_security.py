#!/usr/bin/env python3
"""Runs the estimators again on the rows of crates/lattice/data/security.csv. Optional: the table is checked in.

Two programs made the table; neither is on PyPI, so clone them and give their folders. Both need Sage, or a Python 3.11 environment with the
packages passagemath-standard-no-symbolics and passagemath-symbolics (--rotations also needs scipy).

    --estimator DIR   malb/lattice-estimator at commit 27a581bb. Runs rows of source `estimator` and `secret_size`.
    --rotations DIR   jdumezy/sparse-key-estimate at commit 44e1068 with its submodule. Runs rows of source `rotations` and `rotations_run`.

    estimate_security.py --list                                      prints each row and the option that runs it, needs no estimator
    estimate_security.py --small --estimator DIR                     estimates the rows that take seconds each (`make test-estimates`)
    estimate_security.py --estimator DIR --rotations DIR             estimates each row, prints it beside the table
    estimate_security.py --estimator DIR --largest 4096 --bits 128   the largest log2(QP) with so many bits, uniform ternary
    estimate_security.py --rotations DIR --largest 4096 --weight 64  the same for a fixed weight, with rotations

Model of all rows: cost model MATZOV, error standard deviation 3.2, unlimited samples.
`estimator` rows: minimum over usvp, bdd and dual_hybrid. A row must keep its bits at its log2(QP) and lose them one bit above.
`rotations` rows are the published tables of sparse-key-estimate (Ogilvie, ePrint 2026/279), but for one that its program does not confirm
(the table says which): minimum over the primal hybrid attack with
Babai without meet in the middle, and with it under two heuristics, guessing across the n rotations of a ring secret. A row must keep its
bits at its log2(QP) and lose them one bit above. No dual attack with rotations is in them, nor newer meet-in-the-middle claims.
`rotations_run` rows: one run of that program at the row's log2(QP). It must agree to --tolerance bits.
`secret_size` rows: the published figure is lowered to that of uniform ternary secrets less log2(2 n / (3 h)) / 2 bits, rounded up.
--estimator checks that usvp, bdd and dual_hybrid, without rotations, leave a row its bits; it does not find the row.

The large dimensions take minutes to hours each. Exit status 1 where a row differs.
"""

import argparse
import csv
import math
import pathlib
import sys
from typing import NamedTuple

TABLE = pathlib.Path(__file__).resolve().parent.parent / "crates/lattice/data/security.csv"
ERROR_STANDARD_DEVIATION = 3.2
# The largest dimension of a row that takes seconds.
SMALL_DIMENSION = 4096
# Which option runs a row, by its source.
OPTION = {"estimator": "estimator", "secret_size": "estimator", "rotations": "rotations", "rotations_run": "rotations"}


class Row(NamedTuple):
    """One row of the table; the weight is None for uniform ternary secrets."""

    dimension: int
    weight: int | None
    log2_qp: int
    bits: float
    source: str

    def describe(self):
        secret = "uniform ternary" if self.weight is None else f"weight {self.weight}"
        return f"{self.dimension:7} {secret:16} {self.log2_qp:5} {self.bits:6.1f}"


def read_rows():
    """The rows of the table."""
    with TABLE.open(newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [
        Row(int(row["dimension"]), int(row["weight"]) if row["weight"] else None, int(row["log2_qp"]), float(row["bits"]), row["source"])
        for row in csv.DictReader(lines)
    ]


def load_estimator(folder):
    """A function (dimension, weight or None, log2_qp) -> bits by the lattice estimator, without rotations."""
    sys.path.insert(0, str(folder))
    try:
        from estimator import LWE, ND, RC
    except ImportError as error:
        sys.exit(f"the lattice estimator cannot be imported ({error}): see --help for what it needs")

    model = {"red_cost_model": RC.MATZOV}

    def bits(dimension, weight, log2_qp):
        secret = ND.Uniform(-1, 1) if weight is None else ND.SparseTernary(p=weight // 2, m=weight - weight // 2, n=dimension)
        parameters = LWE.Parameters(n=dimension, q=2**log2_qp, Xs=secret, Xe=ND.DiscreteGaussian(stddev=ERROR_STANDARD_DEVIATION))
        attacks = (LWE.primal_usvp, LWE.primal_bdd, LWE.dual_hybrid)
        return min(math.log2(attack(parameters, **model)["rop"]) for attack in attacks)

    return bits


def load_rotations(folder):
    """A function (dimension, weight, log2_qp) -> bits by sparse-key-estimate, with rotations."""
    sys.path.insert(0, str(folder / "PrimalHybrid"))
    try:
        from sparse_estimates import estimate_sparse_security
    except ImportError as error:
        sys.exit(f"sparse-key-estimate cannot be imported ({error}): see --help for what it needs")

    def bits(dimension, weight, log2_qp):
        logn = dimension.bit_length() - 1
        return float(estimate_sparse_security(logn=logn, logq=log2_qp, h=weight, sigma=ERROR_STANDARD_DEVIATION).best_security_bits)

    return bits


def largest_log2_qp(bits, dimension, weight, wanted):
    """The largest whole log2(QP) at which a secret has the bits wanted, by bisection; None where 2 bits are too many."""
    low, high = 2, dimension // 8
    if bits(dimension, weight, low) < wanted:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bits(dimension, weight, middle) >= wanted else (low, middle)
    return low


def check_rows(programs, rows, tolerance):
    """Prints each row beside its estimate; the number of rows that differ."""
    wrong = 0
    for row in rows:
        bits = programs[OPTION[row.source]]
        found = bits(row.dimension, row.weight, row.log2_qp)
        note = ""
        if row.source == "rotations_run":
            agrees = abs(found - row.bits) <= tolerance
        elif row.source == "secret_size":
            agrees, note = found >= row.bits, "; attacks without rotations"
        else:
            above = bits(row.dimension, row.weight, row.log2_qp + 1)
            agrees, note = found >= row.bits > above, f"; one above: {above:.2f}"
        wrong += not agrees
        print(f"{'ok    ' if agrees else 'DIFFERS'} {row.describe()} found {found:.2f}{note}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--estimator", type=pathlib.Path, metavar="DIR", help="folder that holds the package `estimator`")
    parser.add_argument("--rotations", type=pathlib.Path, metavar="DIR", help="folder of sparse-key-estimate, that holds `PrimalHybrid`")
    parser.add_argument("--dimension", type=int, action="append", help="only rows of this dimension; may be repeated")
    parser.add_argument("--small", action="store_true", help=f"only rows up to dimension {SMALL_DIMENSION}")
    parser.add_argument("--tolerance", type=float, default=0.6, help="bits, for `rotations_run` rows (default: %(default)s)")
    parser.add_argument("--largest", type=int, metavar="DIMENSION", help="search the largest log2(QP) of this dimension instead")
    parser.add_argument("--weight", type=int, help="weight of the secret for --largest (default: uniform ternary)")
    parser.add_argument("--bits", type=float, default=128.0, help="level for --largest (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the rows and the options that run them, and stop")
    arguments = parser.parse_args()
    rows = [row for row in read_rows() if not arguments.dimension or row.dimension in arguments.dimension]
    if arguments.small:
        rows = [row for row in rows if row.dimension <= SMALL_DIMENSION]
    if arguments.list:
        for row in rows:
            print(f"{row.describe()}  {row.source:14} --{OPTION[row.source]}")
        return 0
    if arguments.largest is not None:
        needed = {"estimator" if arguments.weight is None else "rotations"}
    else:
        needed = {option for option in OPTION.values() if getattr(arguments, option) is not None}
    missing = [option for option in needed if getattr(arguments, option) is None]
    if missing or not needed:
        parser.error(f"give {' and '.join(f'--{option}' for option in missing) or '--estimator or --rotations'}, or --list")
    loaders = {"estimator": load_estimator, "rotations": load_rotations}
    programs = {option: loaders[option](getattr(arguments, option)) for option in sorted(needed)}
    if arguments.largest is not None:
        (bits,) = programs.values()
        print(largest_log2_qp(bits, arguments.largest, arguments.weight, arguments.bits))
        return 0
    left_out = [row for row in rows if OPTION[row.source] not in programs]
    if left_out:
        print(f"{len(left_out)} rows are left out: see --list for the option that runs each", flush=True)
    return 1 if check_rows(programs, [row for row in rows if row not in left_out], arguments.tolerance) else 0


if __name__ == "__main__":
    sys.exit(main())
