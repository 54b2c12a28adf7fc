"""Which number of an array is where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, cast, final

from . import _native as native
from ._pickle import rebuild_layout
from ._wrapping import Valued

if TYPE_CHECKING:
    from ._typing import BodyAxis, Encoding, Order


@final
class Layout(Valued, of=native.Layout):
    """Which number of an encrypted array sits where; `Ciphertext.layout` gives it.

    A row of the array, the last axis, is cut into *chunks* of `capacity` numbers, and each chunk fills a polynomial. A bundle is a mask and
    `bodies` polynomials under it. The bodies of a mask are consecutive chunks of one row or consecutive rows, as `axis` says. After a move
    of coefficients to a lower degree, the polynomial of a chunk is split into `components` polynomials, each in a bundle of its own. With
    `lanes`, as many consecutive rows share a polynomial: number t of lane r is coefficient t * stride + r, or slot
    (r * capacity + t) * copies and the `copies` - 1 slots behind it.

    Examples
    --------
    >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout
    8 real numbers in slots of degree 1024, 2 rows under one mask
    """

    __slots__ = ()
    _native: native.Layout

    @property
    def rows(self) -> int:
        """The number of rows: the product of all axes but the last, 1 for arrays of at most one axis."""
        return self._native.rows

    @property
    def columns(self) -> int:
        """The length of a row: the last axis, 1 for one number."""
        return self._native.columns

    @property
    def encoding(self) -> Encoding:
        """The encoding, "slots" or "coefficients"."""
        return cast("Encoding", self._native.encoding)

    @property
    def is_complex(self) -> bool:
        """Whether the numbers are complex. Among coefficients a complex number takes two."""
        return self._native.is_complex

    @property
    def degree(self) -> int:
        """The ring degree of the bundles."""
        return self._native.degree

    @property
    def capacity(self) -> int:
        """The most numbers of a chunk, a power of two."""
        return self._native.capacity

    @property
    def lanes(self) -> int:
        """The number of rows that share a polynomial: its lanes."""
        return self._native.lanes

    @property
    def copies(self) -> int:
        """The number of neighbouring slots that each hold the same number, as those of sums of rows with `lanes` do; otherwise 1."""
        return self._native.copies

    @property
    def chunks(self) -> int:
        """The number of chunks of a row."""
        return self._native.chunks

    @property
    def stride(self) -> int:
        """The distance of neighbouring numbers of a row in their polynomial, in coefficients or slots."""
        return self._native.stride

    @property
    def components(self) -> int:
        """The number of polynomials that the polynomial of a chunk is split into. It is 1 but after a move to a lower degree."""
        return self._native.components

    @property
    def bodies(self) -> int:
        """The number of bodies under one mask."""
        return self._native.bodies

    @property
    def axis(self) -> BodyAxis:
        """The axis that runs over the bodies of a mask: "rows", or "chunks" of one row. With one body it is "chunks"."""
        return cast("BodyAxis", self._native.axis)

    @property
    def order(self) -> Order:
        """The order of the numbers of a chunk, "natural" or "bit-reversed"."""
        return cast("Order", self._native.order)

    @property
    def padding(self) -> Literal["zero", "dirty"]:
        """What the places without a number hold: "zero" up to noise, or "dirty", any numbers.

        Rotations leave dirty padding and refuse it; `Ciphertext.clear_padding` clears it.
        """
        return cast('Literal["zero", "dirty"]', self._native.padding)

    @property
    def bundles(self) -> int:
        """The number of bundles."""
        return self._native.bundles

    def place(self, row: SupportsIndex, column: SupportsIndex) -> tuple[int, int, int]:
        """Where a number is; of a complex number among coefficients, the real part.

        Parameters
        ----------
        row : int
            The row, from 0.
        column : int
            The column, from 0.

        Returns
        -------
        tuple of int
            The bundle, the body, and the slot or the coefficient.

        Raises
        ------
        DataError
            Where the array has no such row or column.

        Examples
        --------
        >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout.place(3, 5)
        (1, 1, 5)
        """
        return self._native.place(row, column)

    def imaginary_place(self, row: SupportsIndex, column: SupportsIndex) -> tuple[int, int, int] | None:
        """Where the imaginary part of a number is, where it is a coefficient of its own.

        Parameters
        ----------
        row : int
            The row, from 0.
        column : int
            The column, from 0.

        Returns
        -------
        tuple of int or None
            The bundle, the body and the coefficient. None in slots and in arrays of real numbers.

        Raises
        ------
        DataError
            Where the array has no such row or column.

        Examples
        --------
        >>> secret_key.encrypt([1 + 2j, 3j], "coefficients").layout.imaginary_place(0, 1)
        (0, 0, 513)
        """
        return self._native.imaginary_place(row, column)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_layout, (self._native.to_json(),)
