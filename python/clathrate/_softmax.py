"""The softmax of encrypted arrays: an exponential, a sum, and the inverse of the sum."""

from __future__ import annotations

from typing import Any

from . import _native as native
from ._approximation import encrypted_or_numbers
from ._typing import of_one
from ._wrapping import wrap


@of_one
def softmax(x: Any, *, error: float | None = None, bound: float | None = None) -> Any:
    """exp(x) / sum(exp(x)) along the last axis.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, of magnitude at most `bound`. A larger bound on encrypted numbers is refused, and so are larger plain numbers; of
        encrypted numbers without a bound nobody notices them, and the result is wrong.
    error : float, optional
        The largest difference from the function. The default is 1e-3; in a program it is chosen by the error of its results.
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
    >>> cl.functions.softmax(np.array([0.0, 1.0, 1.0])).round(2)
    array([0.16, 0.42, 0.42])
    """
    return wrap(native.softmax(encrypted_or_numbers(x), error, bound))
