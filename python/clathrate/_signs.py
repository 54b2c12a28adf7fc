"""Functions of encrypted arrays with a jump or a kink, approximated by polynomials to an error that the caller states.

They go through `sign`, a composition of odd polynomials, each the best one on the interval that the one before it leaves (Lee, Lee, Kim,
Kim, No: Minimax approximation of sign function by composite polynomial for homomorphic comparison, section 3). Plain numbers are mapped
as encrypted ones are, without noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.polynomial import Chebyshev

from ._approximation import check_inside, fitted, largest, positive, real
from ._polynomial import Polynomial
from ._typing import of_one, of_two
from .errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STAGE_DEGREES = (15, 31)
_LAST_DEGREES = (3, 5, 7, 11, 15, 23, 31)
_MOST_STAGES = 12
_EXCHANGES = 60
_CHECKS = 10_001
# More than a dry run overestimates the largest value of a polynomial by.
_ROOM = 0.1
# Relative to the bound on the numbers.
_NOISE = 2.0**-10


def _levels(degree: int, bound: float = 1.0) -> int:
    """The levels of a polynomial on (-bound, bound); numbers are mapped to (-1, 1) by a product unless 1 / bound is whole."""
    return math.ceil(math.log2(degree + 1)) + (0 if (1.0 / bound).is_integer() else 1)


def _odd_minimax(low: float, high: float, degree: int) -> tuple[NDArray[np.float64], float]:
    """The odd polynomial nearest to 1 on [low, high], as Chebyshev coefficients on (-high, high), and its distance: Remez's exchange.

    With n coefficients, the difference from 1 alternates at n + 1 points. Between them its derivative has n - 1 zeros, which with both ends
    are the next points.
    """
    count = (degree + 1) // 2
    orders, signs = 2 * np.arange(count) + 1, (-1.0) ** np.arange(count + 1)
    points = low + (high - low) * (1.0 - np.cos(np.linspace(0.0, math.pi, count + 1))) / 2.0
    full, distance = np.zeros(2 * count), math.inf
    for _ in range(_EXCHANGES):
        table = np.cos(np.outer(np.arccos(np.clip(points / high, -1.0, 1.0)), orders))
        solution = np.linalg.solve(np.column_stack([table, signs]), np.ones(count + 1))
        full[1::2] = solution[:count]
        series = Chebyshev(full, domain=[-high, high])
        zeros = series.deriv().roots()
        inside = np.sort(zeros.real[(np.abs(zeros.imag) < 1e-9 * high) & (zeros.real > low) & (zeros.real < high)])
        if len(inside) != count - 1:
            return full, math.inf
        points = np.concatenate([[low], inside, [high]])
        distance = float(np.abs(series(points) - 1.0).max())
        if distance <= abs(float(solution[count])) * (1.0 + 1e-9) + 1e-15:
            break
    return full, distance


# Chebyshev coefficients on (-bound, bound), and the bound.
_Stages: TypeAlias = list[tuple["NDArray[np.float64]", float]]


def _stages_of(degree: int, margin: float, error: float, bound: float) -> _Stages:
    """Stages of one degree, but the last, which may have less; empty where that leads nowhere.

    Every stage but the last is divided by its largest value, with room to spare, so that the next one is on (-1, 1): noise does not lead
    out of it, and no level is taken to map the numbers.
    """
    stages: _Stages = []
    # Numbers of the largest magnitude have noise, too.
    low, high, domain = margin, bound * (1.0 + _NOISE), bound
    for _ in range(_MOST_STAGES):
        for last in (d for d in _LAST_DEGREES if d <= degree):
            coefficients, distance = _odd_minimax(low, high, last)
            moved = Chebyshev(coefficients, domain=[-high, high]).convert(domain=[-domain, domain])
            coefficients = np.asarray(moved.coef, dtype=np.float64)
            if distance <= error:
                return [*stages, (coefficients, domain)]
        if not distance < 1.0:
            break
        largest = (1.0 + distance) * (1.0 + _ROOM)
        stages.append((coefficients / largest, domain))
        low, high, domain = (1.0 - distance) / largest, 1.0, 1.0
    return []


@lru_cache(maxsize=64)
def _sign_stages(margin: float, error: float, bound: float) -> tuple[Polynomial, ...]:
    """Polynomials that, one after the other, take [margin, bound] to within `error` of 1, and are odd."""
    plans = [plan for degree in _STAGE_DEGREES if (plan := _stages_of(degree, margin, error, bound))]
    best = min(plans, key=_depth, default=[])
    stages = tuple(Polynomial(coefficients, "chebyshev", (-high, high)) for coefficients, high in best)
    signs = np.concatenate([np.geomspace(margin, bound, _CHECKS), np.linspace(margin, bound, _CHECKS)])
    for polynomial in stages:
        signs = polynomial(signs)
    # Double precision ends where margins are tiny.
    if not stages or np.abs(signs - 1.0).max() > (1.0 + 1e-6) * error + 1e-14:
        raise DataError(
            f"no {_MOST_STAGES} polynomials tell the signs of numbers of magnitude {margin:g} to {bound:g} with an error of {error:g}: "
            "widen the margin, or allow a larger error"
        )
    return stages


def _depth(stages: _Stages) -> int:
    return sum(_levels(len(coefficients) - 1, bound) for coefficients, bound in stages)


@of_one
def sign(x: Any, *, margin: float, error: float = 1e-3, bound: float | None = None) -> Any:
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
        The largest difference from -1 and 1. The default is 1e-3.
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
    >>> cl.sign(np.array([-0.9, -0.1, 0.1, 0.5]), margin=0.1).round(2)
    array([-1., -1.,  1.,  1.])
    """
    x, margin, error = real("sign", x), positive("margin", margin), positive("error", error)
    bound = reach("sign", x, bound)
    if margin >= bound:
        raise DataError(f"the margin {margin:g} is not below the bound {bound:g}: no number would have a sign")
    for stage in _sign_stages(margin, error, bound):
        x = stage(x)
    return x


def reach(name: str, x: Any, bound: float | None) -> float:
    """The largest magnitude that a function is approximated for: as stated, or 1, or that of the numbers where it is larger."""
    if bound is None:
        return largest(x, 1.0)
    bound = positive("bound", bound)
    check_inside(name, x, -bound, bound)
    return bound


def _kinked(
    name: str, x: Any, function: Callable[[Any], Any], combine: Callable[[Any, Any], Any], error: float, bound: float | None, share: float
) -> Any:
    """A function with a kink at zero: a polynomial, or a product with the sign, whichever takes fewer levels."""
    x, error = real(name, x), positive("error", error)
    bound = reach(name, x, bound)
    try:
        polynomial: Polynomial | None = fitted(function, error, (-bound, bound))
    except DataError:
        polynomial = None
    margin = share * error
    if polynomial is not None and (margin >= bound or _levels(polynomial.degree, bound) <= _levels_of_sign(margin, bound) + 1):
        return polynomial(x)
    signs = x
    for stage in _sign_stages(margin, margin / bound, bound):
        signs = stage(signs)
    return combine(x, signs)


def _levels_of_sign(margin: float, bound: float) -> float:
    try:
        stages = _sign_stages(margin, margin / bound, bound)
    except DataError:
        return math.inf
    return sum(_levels(stage.degree, stage.domain[1]) for stage in stages)


def _relu(t: Any) -> Any:
    return np.maximum(t, 0.0)


@of_one
def absolute(x: Any, *, error: float = 1e-2, bound: float | None = None) -> Any:
    """The magnitude of real numbers, entry by entry.

    Parameters
    ----------
    x : Ciphertext or array_like
        The real numbers, of magnitude at most `bound`, as `sign` takes them.
    error : float, optional
        The largest difference from the function. The default is 1e-2.
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
    >>> bool(np.abs(cl.absolute(np.linspace(-1, 1, 99)) - np.abs(np.linspace(-1, 1, 99))).max() < 1e-2)
    True
    """
    return _kinked("absolute", x, np.abs, lambda x, signs: x * signs, error, bound, 1.0)


@of_one
def relu(x: Any, *, error: float = 1e-2, bound: float | None = None) -> Any:
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
    >>> bool(np.abs(cl.relu(np.array([-0.5, 0.0, 0.5])) - [0, 0, 0.5]).max() < 1e-2)
    True
    """
    return _kinked("relu", x, _relu, lambda x, signs: (x * 0.5) * (signs + 1.0), error, bound, 2.0)


@of_two
def maximum(x: Any, y: Any, *, error: float = 1e-2, bound: float | None = None) -> Any:
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
    >>> bool(abs(cl.maximum(0.25, -0.5) - 0.25) < 1e-2)
    True
    """
    x, y = real("maximum", x), real("maximum", y)
    return y + relu(x - y, error=error, bound=reach("maximum", x, bound) + reach("maximum", y, bound))


@of_two
def minimum(x: Any, y: Any, *, error: float = 1e-2, bound: float | None = None) -> Any:
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
    >>> bool(abs(cl.minimum(0.25, -0.5) + 0.5) < 1e-2)
    True
    """
    x, y = real("minimum", x), real("minimum", y)
    return x - relu(x - y, error=error, bound=reach("minimum", x, bound) + reach("minimum", y, bound))
