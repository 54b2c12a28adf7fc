"""Smooth functions of encrypted arrays, approximated by polynomials to an error that the caller states.

Every function takes ciphertexts in slots and plain numbers alike: of numbers it gives what the encrypted computation would give without
noise. The polynomials are Chebyshev series of the least degree (`Polynomial.fit` with `error`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._ciphertext import Ciphertext
from ._polynomial import Polynomial
from ._typing import of_one
from .errors import DataError, ShapeError


def as_numbers(x: Any) -> Any:
    return x if isinstance(x, Ciphertext) else np.asarray(x)


def positive(name: str, value: float) -> float:
    number = float(value)
    if not (math.isfinite(number) and number > 0.0):
        raise DataError(f"`{name}` is {value}: use a number above 0")
    return number


def _interval(domain: tuple[float, float]) -> tuple[float, float]:
    low, high = domain
    return float(low), float(high)


@lru_cache(maxsize=256)
def fitted(function: Callable[[Any], Any], error: float, domain: tuple[float, float]) -> Polynomial:
    return Polynomial.fit(function, domain=domain, error=error)


def _of_smooth(function: Callable[[Any], Any], x: Any, error: float, domain: tuple[float, float] | None, usual: float = 0.0) -> Any:
    """The function on a domain, or without one on the usual interval around zero, or on that of the numbers where it is wider."""
    name = function.__name__.strip("_")
    x = real(name, x)
    reach = largest(x, usual)
    low, high = (-reach, reach) if domain is None else _interval(domain)
    check_inside(name, x, low, high)
    return fitted(function, float(error), (low, high))(x)


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


def _sigmoid(t: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-t))


def _silu(t: Any) -> Any:
    return t * _sigmoid(t)


def _gelu(t: Any) -> Any:
    return 0.5 * t * (1.0 + np.vectorize(math.erf)(t / math.sqrt(2.0)))


def _inverse(t: Any) -> Any:
    return 1.0 / t


def _inverse_sqrt(t: Any) -> Any:
    return 1.0 / np.sqrt(t)


@of_one
def sigmoid(x: Any, *, error: float = 1e-3, domain: tuple[float, float] | None = None) -> Any:
    """The logistic function 1 / (1 + exp(-x)), entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain. A larger bound on encrypted numbers is refused, and so are plain numbers outside; of
        encrypted numbers without a bound nobody notices them, and the result is wrong.
    error : float, optional
        The largest difference from the function on the domain. The default is 1e-3.
    domain : tuple of float, optional
        The interval (a, b). The default is (-8.0, 8.0), or that of the bound on the numbers where it is wider.

    Returns
    -------
    Ciphertext or ndarray
        The values.

    Raises
    ------
    DataError
        Where no degree up to 511 reaches the error on the domain, numbers may be outside, or the numbers are complex.
    MissingKeyError
        Where a ciphertext carries no keys: `SecretKey.keys_for` makes them.
    LevelError
        Where too few levels are left: `trace` tells how many it takes.
    ShapeError
        For a ciphertext in coefficients without the keys that convert it to slots.

    Examples
    --------
    >>> x = np.linspace(-8, 8, 100)
    >>> bool(np.abs(cl.sigmoid(x) - 1 / (1 + np.exp(-x))).max() < 1e-3)
    True
    """
    return _of_smooth(_sigmoid, x, error, domain, 8.0)


@of_one
def tanh(x: Any, *, error: float = 1e-3, domain: tuple[float, float] | None = None) -> Any:
    """The hyperbolic tangent, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.
    domain : tuple of float, optional
        The interval (a, b), as `sigmoid` takes it. The default is (-4.0, 4.0).

    Returns
    -------
    Ciphertext or ndarray
        The tangents.

    Raises
    ------
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(abs(cl.tanh(0.5) - np.tanh(0.5)) < 1e-3)
    True
    """
    return _of_smooth(np.tanh, x, error, domain, 4.0)


@of_one
def silu(x: Any, *, error: float = 1e-3, domain: tuple[float, float] | None = None) -> Any:
    """The sigmoid linear unit x / (1 + exp(-x)), entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.
    domain : tuple of float, optional
        The interval (a, b), as `sigmoid` takes it. The default is (-8.0, 8.0).

    Returns
    -------
    Ciphertext or ndarray
        The values.

    Raises
    ------
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(abs(cl.silu(2.0) - 2 / (1 + np.exp(-2))) < 1e-3)
    True
    """
    return _of_smooth(_silu, x, error, domain, 8.0)


@of_one
def gelu(x: Any, *, error: float = 1e-3, domain: tuple[float, float] | None = None) -> Any:
    """The Gaussian error linear unit x Phi(x), with the normal distribution's Phi, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.
    domain : tuple of float, optional
        The interval (a, b), as `sigmoid` takes it. The default is (-8.0, 8.0).

    Returns
    -------
    Ciphertext or ndarray
        The values.

    Raises
    ------
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(abs(cl.gelu(1.0) - 0.841345) < 1e-3)
    True
    """
    return _of_smooth(_gelu, x, error, domain, 8.0)


@of_one
def exp(x: Any, *, error: float = 1e-3, domain: tuple[float, float] | None = None) -> Any:
    """The exponential function, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    error : float, optional
        The largest difference from the function on the domain: of the values, not relative to them. The default is 1e-3.
    domain : tuple of float, optional
        The interval (a, b), as `sigmoid` takes it. The default is (-4.0, 4.0).

    Returns
    -------
    Ciphertext or ndarray
        The exponentials.

    Raises
    ------
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(abs(cl.exp(1.0) - np.e) < 1e-3)
    True
    """
    return _of_smooth(np.exp, x, error, domain, 4.0)


@of_one
def log(x: Any, *, domain: tuple[float, float], error: float = 1e-3) -> Any:
    """The natural logarithm, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    domain : tuple of float
        The interval (a, b), above 0. The degree grows with the square root of b / a.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The logarithms.

    Raises
    ------
    DataError
        Where the domain is not above 0.
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(abs(cl.log(2.0, domain=(0.5, 4)) - np.log(2)) < 1e-3)
    True
    """
    return _of_smooth(np.log, x, error, _above_zero(domain))


@of_one
def inverse(x: Any, *, domain: tuple[float, float], error: float = 1e-3) -> Any:
    """1 / x, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    domain : tuple of float
        The interval (a, b), above 0, as `log` takes it.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The inverses.

    Raises
    ------
    ClathrateError
        As `log`.

    Examples
    --------
    >>> bool(abs(cl.inverse(2.0, domain=(0.5, 4)) - 0.5) < 1e-3)
    True
    """
    return _of_smooth(_inverse, x, error, _above_zero(domain))


@of_one
def sqrt(x: Any, *, domain: tuple[float, float], error: float = 1e-3) -> Any:
    """The square root, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    domain : tuple of float
        The interval (a, b), above 0, as `log` takes it.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The roots.

    Raises
    ------
    ClathrateError
        As `log`.

    Examples
    --------
    >>> bool(abs(cl.sqrt(2.0, domain=(0.25, 4)) - np.sqrt(2)) < 1e-3)
    True
    """
    return _of_smooth(np.sqrt, x, error, _above_zero(domain))


@of_one
def inverse_sqrt(x: Any, *, domain: tuple[float, float], error: float = 1e-3) -> Any:
    """1 / sqrt(x), entry by entry: what a normalisation multiplies by.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    domain : tuple of float
        The interval (a, b), above 0, as `log` takes it.
    error : float, optional
        The largest difference from the function, as `sigmoid` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The inverses of the roots.

    Raises
    ------
    ClathrateError
        As `log`.

    Examples
    --------
    >>> bool(abs(cl.inverse_sqrt(2.0, domain=(0.5, 4)) - 2**-0.5) < 1e-3)
    True
    """
    return _of_smooth(_inverse_sqrt, x, error, _above_zero(domain))


def _above_zero(domain: tuple[float, float]) -> tuple[float, float]:
    low, high = _interval(domain)
    if not 0.0 < low < high < math.inf:
        raise DataError(
            f"the domain ({low}, {high}) reaches zero, or ends before it begins: give an interval above 0 that all numbers are in"
        )
    return low, high


@of_one
def std(
    x: Any,
    axis: int | None = None,
    *,
    domain: tuple[float, float],
    ddof: int = 0,
    keepdims: bool = False,
    error: float = 1e-3,
) -> Any:
    """The standard deviation of real numbers, of all of them or along an axis: the square root of the variance.

    The error has two sources: the polynomial for the square root, which `error` bounds, and the noise of the variance, of which the root
    makes up to 1 / (2 a) times as much, where a is the lower end of the domain.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers.
    axis : {0, 1}, optional
        The axis that the numbers are taken along. None, the default, takes all of them.
    domain : tuple of float
        The interval (a, b), above 0, that all deviations are in. Outside of it the result is wrong without notice. The degree grows with
        b / a.
    ddof : int, optional
        What is subtracted from the number of entries, as `numpy.std` has it. The default is 0.
    keepdims : bool, optional
        Whether the axis stays, with length 1. The default is False.
    error : float, optional
        The largest difference from the square root. The default is 1e-3.

    Returns
    -------
    Ciphertext or ndarray
        The deviations.

    Raises
    ------
    ClathrateError
        As `log`.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 4.0], [0.0, 3.0, 1.0]])
    >>> bool(np.abs(cl.std(x, axis=1, domain=(0.5, 2)) - x.std(axis=1)).max() < 1e-3)
    True
    """
    return _root(real("std", x).var(axis=axis, ddof=ddof, keepdims=keepdims), domain, error)


@of_one
def norm(x: Any, axis: int | None = None, *, domain: tuple[float, float], keepdims: bool = False, error: float = 1e-3) -> Any:
    """The Euclidean norm of real numbers, of all of them or along an axis: the square root of the sum of squares.

    The error has the two sources of that of `std`: the polynomial, and the noise of the sum of squares.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers.
    axis : {0, 1}, optional
        As `std` takes it. The norm of all numbers of a matrix is the Frobenius norm.
    domain : tuple of float
        The interval (a, b), above 0, that all norms are in, as `std` takes it.
    keepdims : bool, optional
        As `std` takes it.
    error : float, optional
        As `std` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The norms.

    Raises
    ------
    ClathrateError
        As `log`.

    Examples
    --------
    >>> bool(abs(cl.norm([3.0, 4.0], domain=(1, 10)) - 5.0) < 1e-3)
    True
    """
    x = real("norm", x)
    return _root((x * x).sum(axis=axis, keepdims=keepdims), domain, error)


def real(name: str, x: Any) -> Any:
    """The numbers, which are real."""
    x = as_numbers(x)
    if x.is_complex if isinstance(x, Ciphertext) else np.iscomplexobj(x):
        raise DataError(f"`{name}` of complex numbers: take it of `x.real_part()` and `x.imaginary_part()`")
    return x


def _root(squares: Any, domain: tuple[float, float], error: float) -> Any:
    low, high = _above_zero(domain)
    # That the results are in the domain is the caller's word, and says more than the bound on the numbers.
    if isinstance(squares, Ciphertext) and squares.bound is not None:
        squares = squares.with_bound(min(squares.bound, high * high))
    return sqrt(squares, domain=(low * low, high * high), error=error)


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
    exponential, inverted = _softmax_polynomials(bound, error, count)
    terms = exponential(x)
    total = terms.sum(axis=-1, keepdims=True)
    # A sum of terms of at most 1 / count is at most 1, which the bounds on single terms do not tell.
    if isinstance(total, Ciphertext) and total.bound is not None:
        total = total.with_bound(min(total.bound, inverted.domain[1]))
    return terms * inverted(total)


def _softmax_polynomials(bound: float, error: float, count: int) -> tuple[Polynomial, Polynomial]:
    """The exponential function, and the inverse of the sum."""
    try:
        return _softmax_fits(bound, error, count)
    except DataError as refused:
        # The largest bound for this error, to a hundredth, and the least of some errors for this bound.
        low, high = 0, math.ceil(100.0 * bound)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _softmax_works(middle / 100.0, error, count) else (low, middle)
        lower = f"lower `bound` to {low / 100.0:g}" if low else "no bound of 0.01 or more reaches this error"
        errors = (error * 2.0**step for step in range(1, 64))
        larger = next((value for value in errors if value >= 1.0 or _softmax_works(bound, value, count)), 1.0)
        # Rounded up to what is said.
        remedy = f"raise `error` to {1.05 * larger:.2g}" if larger < 1.0 else "no `error` below 1 is within reach of this bound"
        raise DataError(
            f"softmax of {count} numbers with `bound` {bound:g} and `error` {error:g}: the sum of exponentials that it divides by is up to "
            f"{math.exp(min(2.0 * bound, 700.0)):.2g} times its least, and no polynomials up to degree 511 reach this error: "
            f"{lower}; {remedy}"
        ) from refused


def _softmax_works(bound: float, error: float, count: int) -> bool:
    try:
        _softmax_fits(bound, error, count)
    except DataError:
        return False
    return True


def _softmax_fits(bound: float, error: float, count: int) -> tuple[Polynomial, Polynomial]:
    # With z = exp(x - bound) / count <= 1 / count, and s their sum, s >= least:
    # |z'/s' - z/s| <= e(z) (1 + count z / s) / s' + z' e(1/s).
    least = math.exp(-2.0 * bound)
    # The terms' own errors change the sum by no more than a quarter of this.
    slack = error * least
    domain = _above_zero((least - slack / 2.0, 1.0 + slack))
    # The inverse first: it is what fails.
    inverted = fitted(_inverse, count * error / 8.0, domain)
    return fitted(_Share(bound, count), error * least / (4.0 * count), (-bound, bound)), inverted


@dataclass(frozen=True)
class _Share:
    """exp(t - bound) / count: a term of a softmax, at most 1 / count."""

    bound: float
    count: int

    def __call__(self, t: Any) -> Any:
        return np.exp(t - self.bound) / self.count
