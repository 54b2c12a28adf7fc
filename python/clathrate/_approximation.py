"""What approximated functions share: the numbers that they take, the domain, and the polynomial."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ._ciphertext import Ciphertext
from ._polynomial import Polynomial
from .errors import DataError


def real(name: str, x: Any) -> Any:
    """The numbers, which are real."""
    x = x if isinstance(x, Ciphertext) else np.asarray(x)
    if x.is_complex if isinstance(x, Ciphertext) else np.iscomplexobj(x):
        raise DataError(f"`{name}` of complex numbers: take it of `x.real_part()` and `x.imaginary_part()`")
    return x


def positive(name: str, value: float) -> float:
    """An option, which is a number above 0."""
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise DataError(f"`{name}` is {value}: use a number above 0")
    return number


def interval(domain: tuple[float, float]) -> tuple[float, float]:
    """The ends of a domain."""
    low, high = domain
    return float(low), float(high)


def above_zero(domain: tuple[float, float]) -> tuple[float, float]:
    """The ends of a domain, which is above 0."""
    low, high = interval(domain)
    if not 0.0 < low < high < math.inf:
        raise DataError(
            f"the domain ({low}, {high}) reaches zero, or ends before it begins: give an interval above 0 that all numbers are in"
        )
    return low, high


def largest(x: Any, usual: float) -> float:
    """The largest magnitude of numbers, by their bound where they are encrypted, but at least the usual one."""
    if isinstance(x, Ciphertext):
        return max(usual, x.bound or 0.0)
    return max(usual, float(np.abs(x).max(initial=0.0)))


def check_inside(name: str, x: Any, low: float, high: float) -> None:
    """Refuses plain numbers outside of an interval. Of encrypted ones the bound is compared with it when a polynomial is computed."""
    if isinstance(x, Ciphertext) or not np.size(x):
        return
    # The ends may be rounded.
    slack = 1e-9 * max(abs(low), abs(high))
    outside = (x < low - slack) | (x > high + slack) | ~np.isfinite(x)
    if outside.any():
        raise DataError(
            f"`{name}` is approximated for numbers from {low:g} to {high:g}, and {np.asarray(x)[outside].flat[0]:g} is outside, where the "
            f"approximation is far off: give an interval that holds all numbers"
        )


@lru_cache(maxsize=256)
def fitted(function: Callable[[Any], Any], error: float, domain: tuple[float, float]) -> Polynomial:
    """The polynomial of least degree, kept for further calls."""
    return Polynomial.fit(function, domain=domain, error=error)
