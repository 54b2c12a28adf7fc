"""Polynomials of encrypted numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast, final, overload

import numpy as np

from . import _native as native
from ._ciphertext import Ciphertext
from ._reading import numbers
from ._reports import Report
from ._wrapping import Plan, Valued, unwrap, wrap
from .errors import DataError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._params import Params


@final
class Polynomial(Valued, of=native.Polynomial):
    """A polynomial that can be evaluated on numbers and on encrypted arrays: `p(x)`.

    Every function of encrypted numbers is a polynomial near it; `Polynomial.fit` finds one. Coefficients and domains follow
    `numpy.polynomial`: coefficients are ordered from the lowest degree up, and the domain is mapped to [-1, 1] before the polynomial is
    evaluated. The default domain is not mapped.

    Encrypted numbers must lie in the domain. Outside of it the values grow fast and wrap around modulo the ciphertext's modulus, which
    nobody notices.

    Parameters
    ----------
    coefficients : array_like
        Real or complex numbers along one axis, at most 512.
    basis : {"power", "chebyshev"}, optional
        "power", the default, is the sum of c_i y**i, "chebyshev" the sum of c_i T_i(y) with the Chebyshev polynomials T_i. Approximations
        of high degree need the latter.
    domain : tuple of float, optional
        The interval (a, b) that y = (2 x - a - b) / (b - a) maps to [-1, 1]. The mapping takes one level more, except for the default (-1,
        1), for domains such as (-1 / k, 1 / k) and (0, 2 / k) with a whole number k, and at degree 1.

    Raises
    ------
    DataError
        Where there are no coefficients or too many, one is not finite, or the basis or the domain is not one.
    ShapeError
        Where the coefficients have more than one axis.

    Examples
    --------
    >>> p = cl.plans.Polynomial([1.0, 0.0, 2.0])
    >>> p(3.0)
    np.float64(19.0)
    >>> secret_key.decrypt(p(ct)).round(4)
    array([ 3.,  9., 19.])
    """

    __slots__ = ()
    _native: native.Polynomial

    def __init__(
        self, coefficients: ArrayLike, basis: Literal["power", "chebyshev"] = "power", domain: tuple[float, float] = (-1.0, 1.0)
    ) -> None:
        self._hold(native.Polynomial(numbers(coefficients), basis, domain))

    @classmethod
    def fit(
        cls,
        function: Callable[[Any], Any],
        degree: SupportsIndex | None = None,
        domain: tuple[float, float] = (-1.0, 1.0),
        *,
        error: float | None = None,
    ) -> Polynomial:
        """The polynomial that interpolates a function at Chebyshev points: close to the best approximation where the function is smooth.

        Parameters
        ----------
        function : callable
            The function, of an array of points or of one number at a time.
        degree : int, optional
            The degree, at most 511.
        domain : tuple of float, optional
            The interval (a, b). The default is (-1.0, 1.0).
        error : float, optional
            In place of a degree, the largest difference from the function that is allowed on the domain: the polynomial is the Chebyshev
            series of the least degree that differs by no more at 2049 points of the domain. Functions with a kink need high degrees, and
            those with a jump have none: `sign`, `relu` and `maximum` are for these.

        Returns
        -------
        Polynomial
            A polynomial in the basis "chebyshev".

        Raises
        ------
        DataError
            Where a value of the function is not finite, or the degree or the domain is out of range; where no degree up to 511 reaches the
            error.
        TypeError
            Unless either a degree or an error is given.
        ShapeError
            Where the function does not give one value for each point.

        Examples
        --------
        >>> p = cl.plans.Polynomial.fit(np.exp, 7)
        >>> p
        Polynomial(degree 7, chebyshev basis on [-1, 1])
        >>> bool(abs(p(0.5) - np.exp(0.5)) < 1e-6)
        True
        >>> cl.plans.Polynomial.fit(np.tanh, domain=(-4, 4), error=1e-3).degree
        19
        """
        if (degree is None) == (error is None):
            raise TypeError("a fit takes either a degree or an error: `fit(f, 15)` or `fit(f, error=1e-3)`")
        values = _values_at(function, native.Polynomial.fit_points(degree, domain))
        return cls._of(native.Polynomial.of_values(values, domain, error))

    @overload
    def __call__(self, x: Ciphertext, /) -> Ciphertext: ...
    @overload
    def __call__(self, x: ArrayLike, /) -> Any: ...
    def __call__(self, x: Any, /) -> Any:
        return wrap(self._native(x._native if isinstance(x, Ciphertext) else numbers(x)))

    def plan(
        self,
        params: Params,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        ranks: Literal["halves", "single"] | None = None,
    ) -> PolynomialPlan:
        """The circuit that evaluates the polynomial: its products, levels, keys and precision, before there is a ciphertext.

        Parameters
        ----------
        params : Params
            The parameters.
        level : int, optional
            The level of the input. None, the default, is that of `SecretKey.encrypt`.
        scale : float, optional
            The scale of the input. None, the default, is the canonical scale of that level.
        ranks : {"halves", "single"}, optional
            Lets the circuit reduce the rank where the modulus allows it and the rest of the circuit gains from it. "halves" reduces to
            halves of the rank; "single" takes other steps too, whose keys are a possible weakness. None, the default, keeps the rank.
            `PolynomialPlan.ranks` tells the result.

        Returns
        -------
        PolynomialPlan
            The circuit: `plan(ct)` carries it out.

        Raises
        ------
        LevelError
            Where the polynomial takes more levels than there are.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        DataError
            Where coefficients are too large, or `ranks` is something else.

        Examples
        --------
        >>> cl.plans.Polynomial.fit(np.exp, 7).plan(params).depth
        3
        """
        made = PolynomialPlan._of(self._native.plan(unwrap(params), level, scale, ranks))
        made._made_by = self.plan, {"params": params, "level": level, "scale": scale, "ranks": ranks}
        return made

    @property
    def is_complex(self) -> bool:
        """Whether a coefficient has an imaginary part."""
        return self._native.is_complex

    @property
    def coefficients(self) -> NDArray[np.float64] | NDArray[np.complex128]:
        """The coefficients, lowest degree first: float64, or complex128 for a polynomial with complex coefficients."""
        return cast("NDArray[np.float64] | NDArray[np.complex128]", self._native.coefficients)

    @property
    def degree(self) -> int:
        """The degree: the index of the last coefficient that is not zero; 0 for constants."""
        return self._native.degree

    @property
    def basis(self) -> Literal["power", "chebyshev"]:
        """The basis, "power" or "chebyshev"."""
        return cast('Literal["power", "chebyshev"]', self._native.basis)

    @property
    def domain(self) -> tuple[float, float]:
        """The interval that is mapped to [-1, 1]."""
        return self._native.domain

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial, (self.coefficients, self.basis, self.domain)


@final
class PolynomialPlan(Plan, of=native.PolynomialPlan):
    """The circuit of a polynomial for inputs of one level and scale: `plan(ct)` carries it out.

    `Polynomial.plan` makes it.

    Examples
    --------
    >>> plan = cl.plans.Polynomial([1.0, 0.0, 2.0]).plan(params)
    >>> plan
    PolynomialPlan(degree 2, levels 5 to 4, 1 product, 1 relinearisation)
    >>> secret_key.decrypt(plan(ct)).round(4)
    array([ 3.,  9., 19.])
    """

    __slots__ = ()
    _native: native.PolynomialPlan

    def __call__(self, ciphertext: Ciphertext, /) -> Ciphertext:
        return Ciphertext._of(self._native(unwrap(ciphertext)))

    def explain(self) -> PolynomialExplanation:
        """What the circuit does, step by step, with its counts and its precision.

        Returns
        -------
        PolynomialExplanation
            Print it, or read the figures from its `to_dict()`.

        Examples
        --------
        >>> cl.plans.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["degree"]
        2
        """
        return PolynomialExplanation._of(self._native.explain())

    @property
    def ranks(self) -> dict[int, int]:
        """The rank at each level, the level of the input first; empty where the rank stays that of the parameters."""
        return self._native.ranks

    @property
    def depth(self) -> int:
        """The number of levels that the circuit takes."""
        return self._native.depth

    @property
    def products(self) -> int:
        """The number of products of ciphertexts."""
        return self._native.products

    @property
    def relinearisations(self) -> int:
        """The number of relinearisations, the key switches that end products. Products that are summed share one relinearisation, which
        includes a rescale.
        """
        return self._native.relinearisations

    @property
    def rescales(self) -> int:
        """The number of rescales besides those of relinearisations."""
        return self._native.rescales

    @property
    def powers(self) -> list[int]:
        """The degrees of the powers, or Chebyshev polynomials, that are computed."""
        return self._native.powers

    @property
    def input_level(self) -> int:
        """The level of the input."""
        return self._native.input_level

    @property
    def output_scale(self) -> float:
        """The scale of the result: the canonical scale of its level, unless a single power leaves a segment of the chain on its way."""
        return self._native.output_scale

    @property
    def dropped(self) -> int:
        """The number of coefficients that are left out because they are below 2**-50 of the largest coefficient."""
        return self._native.dropped

    @property
    def degree(self) -> int:
        """The degree of the circuit: the index of the last coefficient that is not dropped."""
        return self._native.degree

    @property
    def output_level(self) -> int:
        """The level of the result, which has the canonical scale of that level."""
        return self._native.output_level

    @property
    def error(self) -> float:
        """A bound on the root mean square of the error, for a fresh input in the domain."""
        return self._native.error


@final
class PolynomialExplanation(Report):
    """What the circuit of a polynomial does, step by step, with its counts and its precision.

    `PolynomialPlan.explain()` makes it; print it, or read the figures from `to_dict()`.

    Examples
    --------
    >>> print(cl.plans.Polynomial([1.0, 0.0, 2.0]).plan(params).explain())  # doctest: +ELLIPSIS
    polynomial of degree 2...
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """The figures by name.

        Returns
        -------
        dict
            The figures; the dict can be written as JSON.

        Examples
        --------
        >>> cl.plans.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["depth"]
        1
        """
        return self._dict()


def _values_at(function: Callable[[Any], Any], points: NDArray[np.float64]) -> NDArray[Any]:
    """The values of a function of arrays or of numbers, one for each point."""
    try:
        found = function(points.copy())
    except (TypeError, ValueError) as error:
        # A function of numbers does not take arrays: `math.exp`, or one with an `if`.
        try:
            found = [_number(function(float(point))) for point in points]
        except Exception as second:
            raise second from error
    values = np.asarray(numbers(found))
    if values.ndim > 1:
        raise ShapeError(f"the function's values have shape {list(values.shape)}: give them along one axis")
    # A constant function may answer with one number.
    values = np.full(len(points), values.reshape(-1)[0]) if values.size == 1 else values
    if len(values) != len(points):
        raise ShapeError(f"the function gave {_counted(len(values), 'value')} for {_counted(len(points), 'point')}: give one for each")
    return values


def _number(value: Any) -> Any:
    """One number; an integer beyond double precision is infinite, which a fit refuses."""
    try:
        return numbers(value)
    except DataError:
        if not isinstance(value, int):
            raise
        return math.inf if value > 0 else -math.inf


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
