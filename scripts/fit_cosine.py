#!/usr/bin/env python3
"""Fits the cosine polynomials of the modular reduction and writes crates/ckks/data/cosine.toml.

The modular reduction needs cos(2 pi (x - 1/4) / 2^r) where x = I + m / rho, with a whole number |I| < K and |m| <= 1: on 2 K - 1 short
intervals, not on the whole axis. Interpolation on the axis wastes accuracy between the intervals. This script fits an even polynomial in
t = (x - 1/4) / (K - 3/4) on five points of every interval, by iteratively reweighted least squares towards the smallest largest error. The
error of each point counts as the r double angles enlarge it, times Pr[I]^0.05: an integer part that is rare may have a larger error.

All arithmetic has 240 bits. Needs mpmath (pip install mpmath==1.3.0); about a minute for each polynomial.
"""

import math
from fractions import Fraction
from pathlib import Path

import mpmath as mp

mp.mp.prec = 240
TARGET = Path(__file__).resolve().parent.parent / "crates" / "ckks" / "data" / "cosine.toml"
# (weight of the sparse secret, range K, degree, double angles)
WANTED = [(32, 16, 30, 3), (32, 13, 30, 3), (32, 16, 30, 4), (48, 23, 30, 4), (64, 28, 30, 4)]
LOG2_RATIO = 12
WEIGHT_EXPONENT = mp.mpf("0.05")
ROUNDS = 60


def probability(weight: int, integer: int) -> float:
    """Pr[I = integer] for a sum of `weight` uniform numbers in [-1/2, 1/2], rounded: a difference of tails."""

    def tail(i: int) -> Fraction:
        x = Fraction(weight + 1, 2) - i
        terms = ((-1) ** k * math.comb(weight, k) * (x - k) ** weight for k in range(math.floor(x) + 1)) if x > 0 else ()
        return sum(terms, Fraction(0)) / math.factorial(weight)

    i = abs(integer)
    return float(1 - 2 * tail(1)) if i == 0 else float(tail(i) - tail(i + 1))


def chebyshev(degree: int, t: mp.mpf) -> list:
    values = [mp.mpf(1), t]
    for _ in range(degree - 1):
        values.append(2 * t * values[-1] - values[-2])
    return values


def fit(weight: int, bound: int, degree: int, doublings: int) -> tuple[list, dict]:
    """Coefficients of T_0, T_2, .., T_degree, and what they achieve."""
    epsilon = mp.mpf(2) ** -LOG2_RATIO
    radius = mp.mpf(bound) - mp.mpf(3) / 4
    angles = mp.mpf(2) ** doublings
    used = range(0, degree + 1, 2)
    points = [(i, i + m * epsilon) for i in range(1 - bound, bound) for m in (-1, mp.mpf(-1) / 2, 0, mp.mpf(1) / 2, 1)]
    rows, values, gains, weights = [], [], [], []
    for integer, x in points:
        powers = chebyshev(degree, (x - mp.mpf(1) / 4) / radius)
        angle = 2 * mp.pi * (x - mp.mpf(1) / 4) / angles
        rows.append([powers[k] for k in used])
        values.append(mp.cos(angle))
        # The derivative of D^r at cos(angle), in units of the message.
        gains.append(abs(angles * mp.sin(angles * angle) / mp.sin(angle)) / (2 * mp.pi) / epsilon)
        weights.append(mp.mpf(probability(weight, integer)) ** WEIGHT_EXPONENT)
    emphasis = [mp.mpf(1)] * len(points)
    count, best = len(rows[0]), None
    for _ in range(ROUNDS):
        matrix, right = mp.matrix(count, count), mp.matrix(count, 1)
        for row, value, gain, own, extra in zip(rows, values, gains, weights, emphasis, strict=True):
            factor = (gain * own) ** 2 * extra
            for i in range(count):
                right[i] += factor * row[i] * value
                for j in range(i, count):
                    matrix[i, j] += factor * row[i] * row[j]
        for i in range(count):
            for j in range(i):
                matrix[i, j] = matrix[j, i]
        solution = mp.lu_solve(matrix, right)
        errors = [
            abs(sum(solution[i] * row[i] for i in range(count)) - value) * gain
            for row, value, gain in zip(rows, values, gains, strict=True)
        ]
        weighted = [error * own for error, own in zip(errors, weights, strict=True)]
        largest = max(weighted)
        if best is None or largest < best[0]:
            best = (largest, errors, solution)
        emphasis = [extra * (error / largest + mp.mpf("1e-3")) for extra, error in zip(emphasis, weighted, strict=True)]
        total = sum(emphasis)
        emphasis = [extra * len(emphasis) / total for extra in emphasis]
    _, errors, solution = best
    mean = sum(probability(weight, integer) * error / 5 for (integer, _), error in zip(points, errors, strict=True))
    bits = {"mean_bits": float(-mp.log(mean, 2)), "worst_bits": float(-mp.log(max(errors), 2))}
    return [float(c) for c in solution], bits


def main() -> None:
    lines = [
        "# Written by scripts/fit_cosine.py: even Chebyshev coefficients (T_0, T_2, ..) of cos(2 pi R t / 2^doublings),",
        f"# R = range - 3/4, fitted near whole numbers of magnitude below `range`, at a ratio of 2^{LOG2_RATIO}. The bits are",
        "# of the message after the double angles: of the mean error for integer parts of a secret of weight `weight`, and",
        "# of the largest error.",
    ]
    for weight, bound, degree, doublings in WANTED:
        coefficients, bits = fit(weight, bound, degree, doublings)
        print(weight, bound, degree, doublings, bits, flush=True)
        lines += ["", "[[cosine]]", f"weight = {weight}", f"range = {bound}", f"degree = {degree}", f"doublings = {doublings}"]
        lines += [f"{name} = {value:.1f}" for name, value in bits.items()]
        lines.append("even = [" + ", ".join(repr(c) for c in coefficients) + "]")
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
