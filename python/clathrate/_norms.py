"""Norms and standard deviations of encrypted arrays: square roots of sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native as native
from ._ciphertext import Ciphertext
from ._reading import numbers
from ._typing import of_one
from ._wrapping import wrap
from .errors import DataError


@of_one
def std(
    x: Any,
    axis: int | None = None,
    *,
    domain: tuple[float, float],
    ddof: int = 0,
    keepdims: bool = False,
    error: float | None = None,
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
        The largest difference from the square root. The default is 1e-3; in a program it is chosen by the error of its results.

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
    >>> bool(np.abs(cl.functions.std(x, axis=1, domain=(0.5, 2)) - x.std(axis=1)).max() < 1e-3)
    True
    """
    if isinstance(x, Ciphertext):
        return wrap(native.std(x._native, axis, ddof, keepdims, error, domain))
    return native.root_of_squares(numbers(np.var(_real("std", x), axis=axis, ddof=ddof, keepdims=keepdims)), error, domain)


@of_one
def norm(x: Any, axis: int | None = None, *, domain: tuple[float, float], keepdims: bool = False, error: float | None = None) -> Any:
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
    >>> bool(abs(cl.functions.norm([3.0, 4.0], domain=(1, 10)) - 5.0) < 1e-3)
    True
    """
    if isinstance(x, Ciphertext):
        return wrap(native.norm(x._native, axis, keepdims, error, domain))
    return native.root_of_squares(numbers(np.sum(np.square(_real("norm", x)), axis=axis, keepdims=keepdims)), error, domain)


def _real(name: str, x: Any) -> Any:
    """Plain numbers, which are real."""
    x = numbers(x)
    if np.iscomplexobj(x):
        raise DataError(f"`{name}` of complex numbers: take it of `x.real_part()` and `x.imaginary_part()`")
    return x
