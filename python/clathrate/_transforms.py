"""Linear transforms of encrypted rows: the map, its plan, and the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex, final, overload

from . import _native as native
from ._ciphertext import Ciphertext
from ._params import Params
from ._pickle import rebuild, rebuild_transform
from ._reading import numbers
from ._stored import Saved, pickled
from ._text import report_html
from ._wrapping import Plan, Wrapped, unwrap, wrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ._typing import AnyPath


@final
class LinearTransform(Wrapped, of=native.LinearTransform):
    """A matrix that multiplies encrypted rows in slots: `plan(ct)` is `matrix @ row` for each row.

    The matrix is cut into diagonals. Each diagonal multiplies a rotation of the row, so a product needs rotation keys: `plan.needs` lists
    them. A product with an encrypted array in coefficients, `matrix @ ct`, needs no keys; use that where no product of ciphertexts follows.

    Parameters
    ----------
    matrix : array_like
        A real or complex matrix (rows, columns).

    Raises
    ------
    DataError
        Where a number is not finite.
    ShapeError
        Where the matrix does not have two axes.

    Examples
    --------
    >>> swap = cl.plans.LinearTransform([[0.0, 1.0], [0.5, 0.0]])
    >>> swap
    LinearTransform(2 x 2, 1 diagonal)
    >>> swap(np.array([3.0, 4.0]))
    array([4. , 1.5])
    """

    __slots__ = ()
    _native: native.LinearTransform

    def __init__(self, matrix: ArrayLike) -> None:
        self._hold(native.LinearTransform(numbers(matrix)))

    @classmethod
    def from_diagonals(cls, diagonals: dict[SupportsIndex, ArrayLike], slots: SupportsIndex) -> LinearTransform:
        """The map with the given diagonals: entry j of the result is the sum of `diagonals[s][j] * row[(j + s) % slots]`.

        Parameters
        ----------
        diagonals : dict
            From the shift s, which may be negative, to one period of the diagonal: real or complex numbers, as many as a power of two.
        slots : int
            The length of rows, a power of two.

        Returns
        -------
        LinearTransform
            The map.

        Raises
        ------
        DataError
            Where `slots` or a length is not a power of two, a diagonal is longer than `slots`, or a number is not finite.

        Examples
        --------
        >>> cl.plans.LinearTransform.from_diagonals({0: [1.0], 1: [0.5]}, 4)(np.array([1.0, 2.0, 3.0, 4.0]))
        array([2. , 3.5, 5. , 4.5])
        """
        return cls._of(native.LinearTransform.from_diagonals({shift: numbers(diagonal) for shift, diagonal in diagonals.items()}, slots))

    @overload
    def __call__(self, row: Ciphertext, /) -> Ciphertext: ...
    @overload
    def __call__(self, row: ArrayLike, /) -> NDArray[np.float64] | NDArray[np.complex128]: ...
    def __call__(self, row: Any, /) -> Any:
        return wrap(self._native(row._native if isinstance(row, Ciphertext) else numbers(row)))

    def plan(
        self,
        params: Params,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        keys: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        on_the_fly: bool = False,
    ) -> LinearTransformPlan:
        """The circuit for encrypted rows of one level: which rotations are computed, and how they are shared.

        Parameters
        ----------
        params : Params
            The parameters.
        level : int, optional
            The level of the input; by default that of `SecretKey.encrypt`.
        scale : float, optional
            The scale of the input; by default the canonical scale of the level.
        keys : int, optional
            The most rotation keys to use; by default as many as the fastest plan needs. Every map can be had with three keys or less, by
            rotations that follow one another, which takes longer.
        key_bytes : int, optional
            The most bytes that the rotation keys may take in memory; by default as many as the fastest plan needs.
        on_the_fly : bool, optional
            Whether the diagonals are encoded anew for each use and not kept: less memory, more time. The default is False.

        Returns
        -------
        LinearTransformPlan
            The plan.

        Raises
        ------
        DataError
            Where the parameters have fewer slots than the map, or the map is zero, or every plan needs more keys or bytes.
        LevelError
            Where the level is 0 or not one of the parameters.

        Examples
        --------
        >>> plan = cl.plans.LinearTransform([[0.0, 1.0], [0.5, 0.0]]).plan(params)
        >>> keys = secret_key.evaluation_keys(plan.needs)
        >>> row = secret_key.encrypt([3.0, 4.0]).with_keys(keys)
        >>> secret_key.decrypt(plan(row)).round(4)
        array([4. , 1.5])
        """
        return LinearTransformPlan._of(self._native.plan(unwrap(params), level, scale, keys, key_bytes, on_the_fly))

    @property
    def shape(self) -> tuple[int, int]:
        """The matrix's shape, (rows, columns)."""
        return self._native.shape

    @property
    def slots(self) -> int:
        """The number of slots that rows must be encrypted with, a power of two."""
        return self._native.slots

    @property
    def shifts(self) -> list[int]:
        """The shifts of the diagonals that are not zero, ascending."""
        return self._native.shifts

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_transform, (self._native.diagonals(), self.slots, self.shape)


@final
class LinearTransformPlan(Plan, Saved, of=native.LinearTransformPlan):
    """The circuit of a linear transform for inputs of one level and scale: `plan(ct)` carries it out.

    `LinearTransform.plan` makes it. The encoded diagonals are kept with the plan, so later calls are faster than the first one; a file of
    the plan holds them, too.

    Examples
    --------
    >>> cl.plans.LinearTransform(np.eye(4)[::-1]).plan(params).rotations
    [1, 3]
    """

    __slots__ = ()
    _native: native.LinearTransformPlan

    def __call__(self, ciphertext: Ciphertext, /) -> Ciphertext:
        return Ciphertext._of(self._native(unwrap(ciphertext)))

    @property
    def rotations(self) -> list[int]:
        """The rotations that the plan needs keys for, ascending, modulo the parameters' slots."""
        return self._native.rotations

    @property
    def input_level(self) -> int:
        """The level of the input; the result is one level below."""
        return self._native.input_level

    @property
    def output_scale(self) -> float:
        """The scale of the result."""
        return self._native.output_scale

    @property
    def nbytes(self) -> int:
        """The bytes of the diagonals that were encoded so far."""
        return self._native.nbytes

    def encode(self) -> int:
        """Encodes the diagonals now, unless that has been done, so that the first call with keys made for this plan need not do it.

        Returns
        -------
        int
            The bytes of the encoded diagonals, as `nbytes`.

        Raises
        ------
        DataError
            Where the plan keeps no diagonals (`on_the_fly`).

        Examples
        --------
        >>> plan = cl.plans.LinearTransform(np.eye(4)[::-1]).plan(params)
        >>> plan.encode() == plan.nbytes > 0
        True
        """
        return self._native.encode()

    @classmethod
    def load(cls, path: AnyPath, params: Params, trusted_map: bool = False) -> LinearTransformPlan:
        """Reads a plan from a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the plan was made for.
        trusted_map : bool, optional
            Whether encoded diagonals stay in the file and are read from there when they are used. True is a promise that no program
            changes the file as long as the object lives, because that would change results or end this process. The default is False.

        Returns
        -------
        LinearTransformPlan
            The plan.

        Raises
        ------
        FileFormatError
            Where the file does not hold the plan of a linear transform, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the plan was made for other parameters.

        Examples
        --------
        >>> size = cl.plans.LinearTransform(np.eye(4)[::-1]).plan(params).save("flip.clt")
        >>> cl.plans.LinearTransformPlan.load("flip.clt", params, trusted_map=True)
        LinearTransformPlan(levels 5 to 4, 2 baby steps, 0 giant steps)
        """
        return cls._of(native.LinearTransformPlan.load(path, unwrap(params), trusted_map))

    def _repr_html_(self) -> str:
        return report_html(repr(self))

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return rebuild, (Params._of(self._native.params()), pickled(self._native, protocol))
