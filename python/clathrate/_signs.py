"""Functions of encrypted arrays with a jump or a kink, approximated by polynomials to an error that the caller states.

They go through `sign`, a composition of odd polynomials, each the best one on the interval that the one before it leaves (Lee, Lee, No,
Kim: Minimax approximation of sign function by composite polynomial for homomorphic comparison, section 3). Plain numbers are mapped
as encrypted ones are, without noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _native as native
from ._approximation import encrypted_or_numbers
from ._typing import of_one, of_two
from ._wrapping import wrap


@of_one
def sign(x: Any, *, margin: float, error: float | None = None, bound: float | None = None) -> Any:
    """The sign, entry by entry: -1 below zero and 1 above, for numbers that are not too near to zero.

    A composition of odd polynomials. Nearer to zero than `margin`, the result is a number between -1 and 1 with the right sign. Noise of
    the ciphertext is best kept well below the margin.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`. A larger bound on encrypted numbers is refused, and so are larger plain numbers; of
        encrypted numbers without a bound nobody notices them, and the result is wrong.
    margin : float
        The least magnitude for which the error holds. Every factor of ten takes three to four levels.
    error : float, optional
        The largest difference from -1 and 1. The default is 1e-3; in a program it is chosen by the error of its results.
    bound : float, optional
        The largest magnitude of the numbers. The default is 1.0, or the bound on the numbers where it is larger.

    Returns
    -------
    Ciphertext or ndarray
        The signs.

    Raises
    ------
    DataError
        Where the margin is not between 0 and the bound, or too narrow for the error, or the numbers are complex.
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> cl.functions.sign(np.array([-0.9, -0.1, 0.1, 0.5]), margin=0.1).round(2)
    array([-1., -1.,  1.,  1.])
    """
    return wrap(native.sign(encrypted_or_numbers(x), margin, error, bound))


@of_one
def absolute(x: Any, *, error: float | None = None, bound: float | None = None) -> Any:
    """The magnitude of real numbers, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`, as `sign` takes them.
    error : float, optional
        The largest difference from the function. The default is 1e-2; in a program it is chosen by the error of its results.
    bound : float, optional
        The largest magnitude of the numbers, as `sign` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The magnitudes.

    Raises
    ------
    DataError
        Where no polynomials reach this error for numbers up to the bound: allow a larger error. For complex numbers.
    ClathrateError
        As `sigmoid`.

    Examples
    --------
    >>> bool(np.abs(cl.functions.absolute(np.linspace(-1, 1, 99)) - np.abs(np.linspace(-1, 1, 99))).max() < 1e-2)
    True
    """
    return wrap(native.absolute(encrypted_or_numbers(x), error, bound))


@of_one
def relu(x: Any, *, error: float | None = None, bound: float | None = None) -> Any:
    """The rectified linear unit max(x, 0), entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`, as `sign` takes them.
    error : float, optional
        The largest difference from the function, as `absolute` takes it.
    bound : float, optional
        The largest magnitude of the numbers, as `sign` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The values.

    Raises
    ------
    ClathrateError
        As `absolute`.

    Examples
    --------
    >>> bool(np.abs(cl.functions.relu(np.array([-0.5, 0.0, 0.5])) - [0, 0, 0.5]).max() < 1e-2)
    True
    """
    return wrap(native.relu(encrypted_or_numbers(x), error, bound))


@of_two
def maximum(x: Any, y: Any, *, error: float | None = None, bound: float | None = None) -> Any:
    """The larger one of two numbers, entry by entry: (x + y + |x - y|) / 2.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`, as `sign` takes them.
    y : Ciphertext or array_like
        The others, likewise.
    error : float, optional
        The largest difference from the function, as `absolute` takes it.
    bound : float, optional
        The largest magnitude of the numbers, as `sign` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The larger ones.

    Raises
    ------
    ClathrateError
        As `absolute`.

    Examples
    --------
    >>> bool(abs(cl.functions.maximum(0.25, -0.5) - 0.25) < 1e-2)
    True
    """
    return wrap(native.maximum(*_of_one_shape(x, y), error, bound))


@of_two
def minimum(x: Any, y: Any, *, error: float | None = None, bound: float | None = None) -> Any:
    """The smaller one of two numbers, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`, as `sign` takes them.
    y : Ciphertext or array_like
        The others, likewise.
    error : float, optional
        The largest difference from the function, as `absolute` takes it.
    bound : float, optional
        The largest magnitude of the numbers, as `sign` takes it.

    Returns
    -------
    Ciphertext or ndarray
        The smaller ones.

    Raises
    ------
    ClathrateError
        As `absolute`.

    Examples
    --------
    >>> bool(abs(cl.functions.minimum(0.25, -0.5) + 0.5) < 1e-2)
    True
    """
    return wrap(native.minimum(*_of_one_shape(x, y), error, bound))


def _of_one_shape(x: Any, y: Any) -> tuple[Any, Any]:
    """Two operands as the extension takes them: plain ones have the shape that they have together."""
    x, y = encrypted_or_numbers(x), encrypted_or_numbers(y)
    if isinstance(x, native.Ciphertext) or isinstance(y, native.Ciphertext) or np.shape(x) == np.shape(y):
        return x, y
    x, y = np.broadcast_arrays(x, y)
    return x, y
