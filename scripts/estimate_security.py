#!/usr/bin/env python3
"""Runs the lattice estimator again on the rows of crates/lattice/data/security.csv. Optional: the table is checked in.

The estimator is malb/lattice-estimator at the commit that the table names; it is not on PyPI, so give its folder by --estimator.
It needs Sage, or a Python 3.11 environment with the packages passagemath-standard-no-symbolics and passagemath-symbolics.

    estimate_security.py --estimator DIR                           estimates each row, prints it beside the table
    estimate_security.py --estimator DIR --largest 4096 --bits 128   the largest log2(QP) with so many bits, uniform ternary
    estimate_security.py --list                                    prints the rows that would run, needs no estimator

Model: cost model MATZOV, error standard deviation 3.2, unlimited samples; the minimum over usvp, bdd and dual_hybrid, for fixed weights
also over the hybrids without and with meet in the middle. The large dimensions take minutes to hours each.
Exit status 1 where a row differs: a uniform row must keep its bits at its log2(QP) and lose them one bit above, a fixed-weight row
must agree to --tolerance bits.
"""

import argparse
import csv
import math
import pathlib
import sys

TABLE = pathlib.Path(__file__).resolve().parent.parent / "crates/lattice/data/security.csv"
ERROR_STANDARD_DEVIATION = 3.2


def read_rows():
    """The table as (dimension, weight or None, log2_qp, bits)."""
    with TABLE.open(newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [
        (int(row["dimension"]), int(row["weight"]) if row["weight"] else None, int(row["log2_qp"]), float(row["bits"]))
        for row in csv.DictReader(lines)
    ]


def load_estimator(folder):
    """A function (dimension, weight or None, log2_qp) -> bits."""
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        import estimator.lwe as lwe
        from estimator.nd import NoiseDistribution
        from estimator.reduction import RC
    except ImportError as error:
        sys.exit(f"the lattice estimator cannot be imported ({error}): see --help for what it needs")

    model = {"red_cost_model": RC.MATZOV}

    def bits(dimension, weight, log2_qp):
        if weight is None:
            secret = NoiseDistribution.Uniform(-1, 1)
        else:
            secret = NoiseDistribution.SparseTernary(n=dimension, p=weight // 2, m=weight - weight // 2)
        error = NoiseDistribution.DiscreteGaussian(ERROR_STANDARD_DEVIATION)
        parameters = lwe.Parameters(n=dimension, q=2**log2_qp, Xs=secret, Xe=error)
        costs = [lwe.primal_usvp(parameters, **model), lwe.primal_bdd(parameters, **model), lwe.dual_hybrid(parameters, **model)]
        if weight is not None:
            costs.append(lwe.primal_hybrid(parameters, mitm=False, babai=False, **model))
            costs.append(lwe.primal_hybrid(parameters, mitm=True, babai=True, **model))
        return min(math.log2(cost["rop"]) for cost in costs)

    return bits


def largest_log2_qp(bits, dimension, wanted):
    """The largest whole log2(QP) at which a uniform ternary secret has the bits wanted, by bisection."""
    low, high = 2, dimension // 8
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bits(dimension, None, middle) >= wanted else (low, middle)
    return low


def check_rows(bits, rows, tolerance):
    """Prints each row beside its estimate; the number of rows that differ."""
    wrong = 0
    for dimension, weight, log2_qp, listed in rows:
        found = bits(dimension, weight, log2_qp)
        if weight is None:
            above = bits(dimension, weight, log2_qp + 1)
            agrees, note = found >= listed > above, f"; one above: {above:.2f}"
        else:
            agrees, note = abs(found - listed) <= tolerance, ""
        wrong += not agrees
        name = "uniform ternary" if weight is None else f"weight {weight}"
        print(
            f"{'ok    ' if agrees else 'DIFFERS'} {dimension:7} {name:16} {log2_qp:5} listed {listed:6.1f}, found {found:.2f}{note}",
            flush=True,
        )
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--estimator", type=pathlib.Path, metavar="DIR", help="folder that holds the package `estimator`")
    parser.add_argument("--dimension", type=int, action="append", help="only rows of this dimension; may be repeated")
    parser.add_argument(
        "--tolerance", type=float, default=0.6, help="bits, for fixed-weight rows (default: %(default)s; some are listed whole)"
    )
    parser.add_argument("--largest", type=int, metavar="DIMENSION", help="search the largest log2(QP) of this dimension instead")
    parser.add_argument("--bits", type=float, default=128.0, help="level for --largest (default: %(default)s)")
    parser.add_argument("--list", action="store_true", help="print the rows that would run, and stop")
    arguments = parser.parse_args()
    rows = [row for row in read_rows() if not arguments.dimension or row[0] in arguments.dimension]
    if arguments.list:
        for row in rows:
            print(*row)
        return 0
    bits = load_estimator(arguments.estimator)
    if arguments.largest is not None:
        print(largest_log2_qp(bits, arguments.largest, arguments.bits))
        return 0
    return 1 if check_rows(bits, rows, arguments.tolerance) else 0


if __name__ == "__main__":
    sys.exit(main())
