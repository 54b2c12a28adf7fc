"""The numbers of the two papers on key switching, and of their programs on a machine of our kind: bench/paper/*.json.

Sits in bench/; standard library only; read by bench/keyswitch.py. `klss` and `level_aware` are what the papers print,
`measured` is what their programs and Lattigo took elsewhere than in our own runs. Units as the field names say.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "paper"


def load(name: str) -> dict[str, Any]:
    """The data of `klss`, `level_aware` or `measured`."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def klss_rows(log_degree: int) -> list[dict[str, Any]]:
    """The rows of klss Table 3 (log_degree 15) or 4 (16), in the paper's order."""
    return next(table["rows"] for table in load("klss")["switch"] if table["log_degree"] == log_degree)


def best_key_digit(row: dict[str, Any]) -> tuple[int, float]:
    """Key digit and seconds of the fastest new switch of a klss row, the shorter digit of equals."""
    seconds = min(row["ours_s"])
    return row["key_digit"][row["ours_s"].index(seconds)], seconds


def digits(primes: int, digit: int) -> int:
    """How many digits of `digit` primes cover `primes`: the last may be shorter."""
    return -(-primes // digit)


def auxiliary_primes(log_degree: int, primes: int, digit: int, key_digit: int, prime_bits: float, auxiliary_bits: float) -> int:
    """The least r' of [klss, Eq. (5)]: ceil(log2(2 d N B B~) / nu), with B and B~ half the largest digits."""
    log2_bound = 1 + math.log2(digits(primes, digit)) + log_degree + (digit * prime_bits - 1) + (key_digit * prime_bits - 1)
    return math.ceil(log2_bound / auxiliary_bits)


def counts(primes: int, special: int, digit: int, key_digit: int | None = None, auxiliary: int = 0) -> tuple[int, int]:
    """Transforms and Hadamard products of one switch by [klss, Table 1]; without a key digit the previous switch's."""
    d, all_primes = digits(primes, digit), primes + special
    if key_digit is None:
        return (d + 2) * all_primes, 2 * d * all_primes + (primes**2 if digit > 1 else 0)
    key_digits = digits(all_primes, key_digit)
    hadamard = 2 * (d * key_digits + all_primes) + (primes if digit > 1 else 0)
    return (d + 2 * key_digits) * auxiliary, hadamard * auxiliary


def measured_switch(log_degree: int, all_primes: int, digit: int) -> dict[str, Any] | None:
    """What the klss program and Lattigo took on a machine of our kind, milliseconds."""
    rows = load("measured")["switch"]
    key = (log_degree, all_primes, digit)
    return next((row for row in rows if (row["log_degree"], row["all_primes"], row["digit"]) == key), None)


def measured_level(primes: int) -> float | None:
    """What the level-aware program took at a level on a machine of our kind, milliseconds."""
    return next((row["ms"] for row in load("measured")["level_aware_switch"] if row["primes"] == primes), None)


def measured_expansion(digit: int) -> float | None:
    """What the level-aware program took to expand a key on a machine of our kind, milliseconds."""
    return next((row["time_ms"] for row in load("measured")["expansion"] if row["digit"] == digit), None)
