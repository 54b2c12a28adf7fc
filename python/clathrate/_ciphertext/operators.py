"""Operators, indices and shapes of encrypted arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np

from .._indexing import item
from .._reading import refuse_matrix
from .._unreadable import axes_of, entry_by_entry, factor, operand, refuse_divisor, refuse_exponent
from .._wrapping import encrypted, wrap

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from .. import _native as native
    from .._transposed import TransposedCiphertext
    from .._typing import Plain
    from . import Ciphertext


class Operators:
    """Operators, indices and shapes."""

    __slots__ = ()
    _native: native.Ciphertext

    def _operated(self, operator: Callable[[Any], native.Ciphertext], other: Any) -> Ciphertext:
        """What an operator of the extension gives."""
        other = entry_by_entry(other)
        given = operand(other)
        if given is NotImplemented:
            return cast("Ciphertext", NotImplemented)
        refuse_matrix(other)
        return encrypted(operator(given))

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__add__, other)

    def __radd__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__add__, other)

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__sub__, other)

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__rsub__, other)

    def __mul__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__mul__, other)

    def __rmul__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__mul__, other)

    def __truediv__(self, other: Plain) -> Ciphertext:
        refuse_divisor(other)
        return self._operated(self._native.__truediv__, other)

    def __pow__(self, exponent: float, modulus: None = None) -> Ciphertext:
        refuse_exponent(exponent)
        # Complex numbers and spans of time of NumPy's turn into numbers without their other half.
        real = modulus is None and np.asarray(exponent).dtype.kind in "biufO"
        return encrypted(self._native.power(_as_float(exponent) if real else None))

    def __neg__(self) -> Ciphertext:
        return encrypted(self._native.__neg__())

    def __pos__(self) -> Self:
        return self

    @overload
    def __matmul__(self, other: Ciphertext | TransposedCiphertext) -> Ciphertext: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Ciphertext | Any: ...
    def __matmul__(self, other: Any) -> Any:
        if len(self._native.shape) > 2 or axes_of(other) > 2:
            from .._einsum import matmul

            return matmul(self, other)
        return wrap(self._native.__matmul__(factor(other)))

    def __rmatmul__(self, other: ArrayLike) -> Ciphertext:
        if len(self._native.shape) > 2 or axes_of(other) > 2:
            from .._einsum import matmul

            return cast("Ciphertext", matmul(other, self))
        left = factor(other)
        if np.ndim(left) == 1 and len(self._native.shape) == 2:
            return encrypted(self._native.__rmatmul__(np.asarray(left)[None, :]).reshape(-1))
        return encrypted(self._native.__rmatmul__(left))

    def __getitem__(self, index: Any) -> Ciphertext:
        return encrypted(item(self._native, index))

    def __len__(self) -> int:
        shape = self._native.shape
        if not shape:
            raise TypeError("an encrypted scalar has no length")
        return int(shape[0])

    @property
    def T(self) -> TransposedCiphertext | Any:
        """The matrix read by columns, without any computation; a vector is its own transpose. An array of more axes, in slots, has them in
        reversed order, by a level and rotations.
        """
        axes = len(self._native.shape)
        if axes > 2:
            return encrypted(self._native.permuted(list(reversed(range(axes)))))
        return self if axes < 2 else wrap(self._native.T)

    def transpose(self, *axes: Any) -> TransposedCiphertext | Any:
        """The array with its axes in another order, as `numpy.transpose`: by default reversed, as `x.T`.

        Parameters
        ----------
        *axes : int
            All axes in their new order, one by one or as a tuple.

        Returns
        -------
        Ciphertext or TransposedCiphertext
            The array; of a matrix, read by columns, the view `x.T`.

        Raises
        ------
        TypeError
            Unless each axis is named once.
        DataError
            For more than two axes in coefficients.
        LevelError
            If no level is left for the rotations that change the order of more than two axes.
        MissingKeyError
            Without the keys of these rotations.

        Examples
        --------
        >>> secret_key.encrypt(np.ones((2, 3, 4)), encoding="slots").transpose(0, 1, 2).shape
        (2, 3, 4)
        """
        if len(axes) == 1 and (axes[0] is None or np.ndim(axes[0]) == 1):
            axes = () if axes[0] is None else tuple(axes[0])
        return np.transpose(cast(Any, self), axes or None)

    def swapaxes(self, axis1: int, axis2: int) -> TransposedCiphertext | Any:
        """The array with two axes exchanged, as `numpy.swapaxes`.

        Parameters
        ----------
        axis1 : int
            One axis, counted from the last one if it is negative.
        axis2 : int
            The other one.

        Returns
        -------
        Ciphertext or TransposedCiphertext
            The array; of a matrix, read by columns, the view `x.T`.

        Raises
        ------
        DataError
            For more than two axes in coefficients.
        LevelError
            If no level is left for the rotations that change the order of more than two axes.
        MissingKeyError
            Without the keys of these rotations.

        Examples
        --------
        >>> secret_key.encrypt(np.ones((2, 3))).swapaxes(0, 1).shape
        (3, 2)
        """
        return np.swapaxes(cast(Any, self), axis1, axis2)

    def reshape(self, *shape: Any) -> Ciphertext:
        """The same numbers in another shape, as `numpy.reshape`.

        Where every row stays a row, no number moves: a vector is a matrix of one row, in slots of one column, too, and a single number a
        vector of length 1. Other shapes take a level and rotations, in slots.

        Parameters
        ----------
        *shape : int
            The new shape; one axis may be -1, for whatever is left.

        Returns
        -------
        Ciphertext
            The array in that shape.

        Raises
        ------
        ShapeError
            For another number of entries, and in coefficients for shapes with other rows.
        DataError
            Where numbers move by too many distances for one step, and for three.
        MissingKeyError
            Without the rotations that `trace` finds.

        Examples
        --------
        >>> secret_key.encrypt([1.0, 2.0, 6.0]).reshape(1, -1).shape
        (1, 3)
        """
        return encrypted(self._native.reshape(*shape))


def _as_float(exponent: Any) -> float | None:
    try:
        return float(exponent)
    except (TypeError, ValueError, OverflowError):
        return None
