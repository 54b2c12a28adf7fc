"""The softmax of encrypted arrays: an exponential, a sum, and the inverse of the sum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._approximation import above_zero, check_inside, fitted, largest, positive, real
from ._ciphertext import Ciphertext
from ._polynomial import Polynomial
from ._typing import of_one
from .errors import DataError, ShapeError


@of_one
def softmax(x: Any, *, error: float = 1e-3, bound: float | None = None) -> Any:
    """exp(x) / sum(exp(x)) along the last axis.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, of magnitude at most `bound`. A larger bound on encrypted numbers is refused, and so are larger plain numbers; of
        encrypted numbers without a bound nobody notices them, and the result is wrong.
    error : float, optional
        The largest difference from the function. The default is 1e-3.
    bound : float, optional
        The largest magnitude of the numbers. The default is 2.0, or the bound on the numbers where it is larger. The degree of the inverse
        of the sum grows with exp(bound).

    Returns
    -------
    Ciphertext or ndarray
        The values, of the shape of `x`.

    Raises
    ------
    DataError
        Where no degree up to 511 reaches the error for this bound: the message tells a bound and an error that work.
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> cl.softmax(np.array([0.0, 1.0, 1.0])).round(2)
    array([0.16, 0.42, 0.42])
    """
    x, error = real("softmax", x), positive("error", error)
    bound = largest(x, 2.0) if bound is None else positive("bound", bound)
    check_inside("softmax", x, -bound, bound)
    if not x.shape:
        raise ShapeError("softmax of a single number: give an array with at least one axis")
    if error >= 1.0:
        raise DataError(f"the error {error:g} is not below 1, and the values of softmax are at most 1: ask for less")
    count = int(x.shape[-1])
    exponential, inverted = _polynomials(bound, error, count)
    terms = exponential(x)
    total = terms.sum(axis=-1, keepdims=True)
    # A sum of terms of at most 1 / count is at most 1, which the bounds on single terms do not tell.
    if isinstance(total, Ciphertext) and total.bound is not None:
        total = total.with_bound(min(total.bound, inverted.domain[1]))
    return terms * inverted(total)


def _polynomials(bound: float, error: float, count: int) -> tuple[Polynomial, Polynomial]:
    """The exponential function, and the inverse of the sum."""
    try:
        return _fits(bound, error, count)
    except DataError as refused:
        # The largest bound for this error, to a hundredth, and the least of some errors for this bound.
        low, high = 0, math.ceil(100.0 * bound)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _works(middle / 100.0, error, count) else (low, middle)
        lower = f"lower `bound` to {low / 100.0:g}" if low else "no bound of 0.01 or more reaches this error"
        errors = (error * 2.0**step for step in range(1, 64))
        larger = next((value for value in errors if value >= 1.0 or _works(bound, value, count)), 1.0)
        # Rounded up to what is said.
        remedy = f"raise `error` to {1.05 * larger:.2g}" if larger < 1.0 else "no `error` below 1 is within reach of this bound"
        raise DataError(
            f"softmax of {count} numbers with `bound` {bound:g} and `error` {error:g}: the sum of exponentials that it divides by is up to "
            f"{math.exp(min(2.0 * bound, 700.0)):.2g} times its least, and no polynomials up to degree 511 reach this error: "
            f"{lower}; {remedy}"
        ) from refused


def _works(bound: float, error: float, count: int) -> bool:
    try:
        _fits(bound, error, count)
    except DataError:
        return False
    return True


def _fits(bound: float, error: float, count: int) -> tuple[Polynomial, Polynomial]:
    # With z = exp(x - bound) / count <= 1 / count, and s their sum, s >= least:
    # |z'/s' - z/s| <= e(z) (1 + count z / s) / s' + z' e(1/s).
    least = math.exp(-2.0 * bound)
    # The terms' own errors change the sum by no more than a quarter of this.
    slack = error * least
    domain = above_zero((least - slack / 2.0, 1.0 + slack))
    # The inverse first: it is what fails.
    inverted = fitted(np.reciprocal, count * error / 8.0, domain)
    return fitted(_Share(bound, count), error * least / (4.0 * count), (-bound, bound)), inverted


@dataclass(frozen=True)
class _Share:
    """exp(t - bound) / count: a term of a softmax, at most 1 / count."""

    bound: float
    count: int

    def __call__(self, t: Any) -> Any:
        return np.exp(t - self.bound) / self.count
