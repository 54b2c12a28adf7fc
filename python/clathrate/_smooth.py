"""Smooth functions of encrypted arrays, entry by entry, approximated by polynomials to an error that the caller states.

Every function takes ciphertexts in slots and plain numbers alike: of numbers it gives what the encrypted computation would give without
noise. The polynomials are Chebyshev series of the least degree (`Polynomial.fit` with `error`).
"""

from __future__ import annotations

from typing import Any

from . import _native as native
from ._approximation import encrypted_or_numbers
from ._typing import of_one
from ._wrapping import wrap


def _smooth(name: str, x: Any, error: float | None, domain: tuple[float, float] | None) -> Any:
    return wrap(native.smooth(name, encrypted_or_numbers(x), error, domain))


@of_one
def sigmoid(x: Any, *, error: float | None = None, domain: tuple[float, float] | None = None) -> Any:
    """The logistic function 1 / (1 + exp(-x)), entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain. A larger bound on encrypted numbers is refused, and so are plain numbers outside; of
        encrypted numbers without a bound nobody notices them, and the result is wrong.
    error : float, optional
        The largest difference from the function on the domain. The default is 1e-3; in a program it is chosen by the error of its results.
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
    >>> bool(np.abs(cl.functions.sigmoid(x) - 1 / (1 + np.exp(-x))).max() < 1e-3)
    True
    """
    return _smooth("sigmoid", x, error, domain)


@of_one
def tanh(x: Any, *, error: float | None = None, domain: tuple[float, float] | None = None) -> Any:
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
    >>> bool(abs(cl.functions.tanh(0.5) - np.tanh(0.5)) < 1e-3)
    True
    """
    return _smooth("tanh", x, error, domain)


@of_one
def silu(x: Any, *, error: float | None = None, domain: tuple[float, float] | None = None) -> Any:
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
    >>> bool(abs(cl.functions.silu(2.0) - 2 / (1 + np.exp(-2))) < 1e-3)
    True
    """
    return _smooth("silu", x, error, domain)


@of_one
def gelu(x: Any, *, error: float | None = None, domain: tuple[float, float] | None = None) -> Any:
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
    >>> bool(abs(cl.functions.gelu(1.0) - 0.841345) < 1e-3)
    True
    """
    return _smooth("gelu", x, error, domain)


@of_one
def exp(x: Any, *, error: float | None = None, domain: tuple[float, float] | None = None) -> Any:
    """The exponential function, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The numbers, all of them in the domain, as `sigmoid` takes them.
    error : float, optional
        The largest difference from the function on the domain: of the values, not relative to them. The default is as for `sigmoid`.
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
    >>> bool(abs(cl.functions.exp(1.0) - np.e) < 1e-3)
    True
    """
    return _smooth("exp", x, error, domain)


@of_one
def log(x: Any, *, domain: tuple[float, float], error: float | None = None) -> Any:
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
    >>> bool(abs(cl.functions.log(2.0, domain=(0.5, 4)) - np.log(2)) < 1e-3)
    True
    """
    return _smooth("log", x, error, domain)


@of_one
def inverse(x: Any, *, domain: tuple[float, float], error: float | None = None) -> Any:
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
    >>> bool(abs(cl.functions.inverse(2.0, domain=(0.5, 4)) - 0.5) < 1e-3)
    True
    """
    return _smooth("inverse", x, error, domain)


@of_one
def sqrt(x: Any, *, domain: tuple[float, float], error: float | None = None) -> Any:
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
    >>> bool(abs(cl.functions.sqrt(2.0, domain=(0.25, 4)) - np.sqrt(2)) < 1e-3)
    True
    """
    return _smooth("sqrt", x, error, domain)


@of_one
def inverse_sqrt(x: Any, *, domain: tuple[float, float], error: float | None = None) -> Any:
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
    >>> bool(abs(cl.functions.inverse_sqrt(2.0, domain=(0.5, 4)) - 2**-0.5) < 1e-3)
    True
    """
    return _smooth("inverse_sqrt", x, error, domain)
