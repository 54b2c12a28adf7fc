#!/usr/bin/env python3
"""Derives the threshold table of the discrete Gaussian sampler (crates/lattice/src/sampling/gaussian.rs).

The ideal distribution is P(X = x) proportional to exp(-x^2 / (2 sigma^2)) over all integers, sigma = 3.2.
Row k = 1 .. tail holds round(2^126 * P(|X| >= k)) as two 63-bit halves. A uniform 126-bit number u has magnitude
#{k : u < threshold_k}; a separate fair bit is the sign. All the mass beyond the tail falls on the tail itself.

    gaussian_table.py           prints the Rust table and its statistical distance from the ideal distribution
    gaussian_table.py --check   compares the table in gaussian.rs with this derivation; exit status 1 where they differ

Standard library only; 80 decimal digits, of which about 38 matter.
"""

import argparse
import pathlib
import re
import sys
from decimal import Decimal, getcontext

SIGMA = Decimal("3.2")
TAIL = 32  # 10 sigma
HALF_BITS = 63
PRECISION_BITS = 2 * HALF_BITS
SUPPORT = 60  # summation range of the ideal distribution: exp(-60^2 / 20.48) is below 2^-253
SOURCE = pathlib.Path(__file__).resolve().parent.parent / "crates/lattice/src/sampling/gaussian.rs"


def ideal_magnitudes():
    """P(|X| = k) for k = 0 .. SUPPORT."""
    weights = [(-Decimal(k * k) / (2 * SIGMA * SIGMA)).exp() * (1 if k == 0 else 2) for k in range(SUPPORT + 1)]
    total = sum(weights)
    return [weight / total for weight in weights]


def thresholds(magnitudes):
    """round(2^126 * P(|X| >= k)) for k = 1 .. TAIL."""
    scale = Decimal(2) ** PRECISION_BITS
    return [int((sum(magnitudes[k:]) * scale).to_integral_value()) for k in range(1, TAIL + 1)]


def statistical_distance(magnitudes, table):
    """Half the sum of |P_table - P_ideal|: signs are symmetric on both sides, so magnitudes suffice."""
    scale = Decimal(2) ** PRECISION_BITS
    survival = [scale] + [Decimal(value) for value in table] + [Decimal(0)]
    actual = [(survival[k] - survival[k + 1]) / scale for k in range(TAIL + 1)] + [Decimal(0)] * (SUPPORT - TAIL)
    return sum(abs(a - b) for a, b in zip(actual, magnitudes, strict=False)) / 2


def rust_rows(table):
    """The table's rows as (high, low) halves."""
    mask = (1 << HALF_BITS) - 1
    return [(value >> HALF_BITS, value & mask) for value in table]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the table in gaussian.rs")
    arguments = parser.parse_args()
    getcontext().prec = 80
    magnitudes = ideal_magnitudes()
    table = thresholds(magnitudes)
    rows = rust_rows(table)
    if arguments.check:
        found = re.findall(r"^    \((0x[0-9a-f]{16}), (0x[0-9a-f]{16})\),", SOURCE.read_text(), re.MULTILINE)
        if [(int(high, 16), int(low, 16)) for high, low in found] != rows:
            print(f"{SOURCE.name}: the table differs from its derivation", file=sys.stderr)
            return 1
        print(f"{SOURCE.name}: {len(rows)} rows agree")
        return 0
    for high, low in rows:
        print(f"    (0x{high:016x}, 0x{low:016x}),")
    distance = statistical_distance(magnitudes, table)
    variance = sum(k * k * p for k, p in enumerate(magnitudes))
    print(f"// statistical distance 2^{float(distance.ln() / Decimal(2).ln()):.2f}; standard deviation {variance.sqrt():.12f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
