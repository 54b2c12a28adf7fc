"""Norms and standard deviations of encrypted arrays: square roots of sums."""

from __future__ import annotations

from typing import Any

from ._approximation import above_zero, real
from ._ciphertext import Ciphertext
from ._smooth import sqrt
from ._typing import of_one


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


def _root(squares: Any, domain: tuple[float, float], error: float) -> Any:
    low, high = above_zero(domain)
    # That the results are in the domain is the caller's word, and says more than the bound on the numbers.
    if isinstance(squares, Ciphertext) and squares.bound is not None:
        squares = squares.with_bound(min(squares.bound, high * high))
    return sqrt(squares, domain=(low * low, high * high), error=error)
