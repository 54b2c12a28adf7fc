"""The numbers and formulas of the paper on DPad-HE: bench/paper/dpad.json.

Sits in bench/ above papers.py; standard library only; read by bench/dpad.py. Units as the field names say.
"""

from __future__ import annotations

from typing import Any

import papers

RNS_CKKS, MODHE, DPAD = "rns_ckks", "modhe", "dpad"
SCHEMES = (RNS_CKKS, MODHE, DPAD)
# Two names of one set: rows of either are rows of both.
SAME = {"III": "n13-r4"}
# What to compare a set of Table 3 with at the same dimension n r, where that is a power of two; n14-r1 is ours, not the paper's.
EQUAL_DIMENSION = {"n13-r2": "n14-r1", "n13-r4": "I", "n13-r8": "IV"}


def load() -> dict[str, Any]:
    """The data of the paper."""
    return papers.load("dpad")


def canonical(name: str) -> str:
    """The one name of a set that has two."""
    return SAME.get(name, name)


def sets() -> list[dict[str, Any]]:
    """The rows of Tables 3 and 5."""
    rows: list[dict[str, Any]] = load()["sets"]["rows"]
    return rows


def set_named(name: str) -> dict[str, Any]:
    """A row of Table 3 or 5."""
    return next(row for row in sets() if row["set"] == name)


def bits(pairs: list[list[int]] | None) -> int:
    """The sum of [bits, count] pairs."""
    return sum(size * count for size, count in pairs or [])


def primes(pairs: list[list[int]] | None) -> int:
    """How many primes [bits, count] pairs have."""
    return sum(count for _, count in pairs or [])


def wide_digits(row: dict[str, Any]) -> int:
    """mu of a set, if a wide digit has as many primes as P^."""
    return papers.digits(primes(row["q"]), primes(row["temporary_p"]))


def modhe_counts(rank: int, level_primes: int, special: int, digits: int) -> tuple[int, int]:
    """Transforms and Hadamard products of one product of ciphertexts. [dpad-he, Table 1]

    Of polynomials of degree n modulo one prime; rank 1 is RNS-CKKS.
    """
    extended = level_primes + special
    inputs = rank * (rank + 1) // 2
    transforms = inputs * (level_primes + digits * extended) + (rank + 1) * (level_primes + extended)
    conversions = 0 if special == 1 else inputs * level_primes**2 + (rank + 1) * special * level_primes
    products = (rank + 1) ** 2 * level_primes + inputs * (rank + 1) * digits * extended + (rank + 1) * level_primes
    return transforms, products + conversions


def dpad_counts(
    rank: int, temporary_rank: int, level_primes: int, special: int, temporary_special: int, digits: int, wide: int
) -> tuple[int, int]:
    """Transforms and Hadamard products of one product of ciphertexts by Algorithm 1. [dpad-he, sec. 3.3.1]

    The section leaves out the product itself and both mod-downs: those are Table 1's, and of the first one the columns r.. of r^ are not
    transformed back (Fig. 2).
    """
    extended, widened = level_primes + special, level_primes + temporary_special
    inputs, extra = rank * (rank + 1) // 2, temporary_rank - rank
    transforms = inputs * (level_primes + wide * widened) + extra * digits * extended
    transforms += (rank + 1) * (level_primes + widened) + extra * widened + (rank + 1) * (level_primes + extended)
    products = (rank + 1) ** 2 * level_primes + inputs * level_primes**2 + inputs * (temporary_rank + 1) * wide * widened
    products += (temporary_rank + 1) * (temporary_special + 1) * level_primes + (rank + 1) * extra * digits * extended
    products += (rank + 1) * level_primes if special == 1 else extra * level_primes**2 + (rank + 1) * (special + 1) * level_primes
    return transforms, products


def counts(scheme: str, extra: dict[str, Any]) -> tuple[int, int] | None:
    """The paper's counts with the primes and digits that a row of ours has, if it says them."""
    first = ("rank", "primes", "special_primes", "digits")
    wanted = (
        first if scheme != DPAD else ("rank", "temporary_rank", "primes", "special_primes", "temporary_primes", "digits", "wide_digits")
    )
    values = [extra.get(field) for field in wanted]
    if any(value is None for value in values):
        return None
    numbers = [int(value) for value in values if value is not None]
    return dpad_counts(*numbers) if scheme == DPAD else modhe_counts(*numbers)


def modhe_key_mib(row: dict[str, Any]) -> float:
    """The relinearisation key of ModHE, of RNS-CKKS at rank 1, in 2^20 bytes. [dpad-he, sec. 3.3.2]"""
    rank, log_pq = row["rank"], bits(row["q"]) + load()["sets"]["log_p"]
    return float(rank * (rank + 1) ** 2 / 2 * primes(row["q"]) * row["degree"] * log_pq / 8 / 2**20)


def dpad_key_mib(row: dict[str, Any]) -> float:
    """The cross-relinearisation and the rank-down key in 2^20 bytes. [dpad-he, sec. 3.3.2]"""
    rank, temporary = row["rank"], row["temporary_rank"]
    log_q, log_p = bits(row["q"]), load()["sets"]["log_p"]
    up = rank * (rank + 1) * (temporary + 1) / 2 * wide_digits(row) * (log_q + bits(row["temporary_p"]))
    down = (temporary - rank) * (rank + 1) * primes(row["q"]) * (log_q + log_p)
    return float((up + down) * row["degree"] / 8 / 2**20)
