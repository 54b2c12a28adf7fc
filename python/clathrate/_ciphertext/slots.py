"""Rows in slots: rotations, repeated columns, padding, and the parts of complex numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex

from .._wrapping import encrypted

if TYPE_CHECKING:
    from .. import _native as native
    from . import Ciphertext


class Slots:
    """Rotations, repeated columns, padding, and the parts of complex numbers."""

    __slots__ = ()
    _native: native.Ciphertext

    def rotate(self, steps: SupportsIndex) -> Ciphertext:
        """Every row rotated to the left within its room, with zeros behind its numbers.

        The room is `layout.capacity`: the length rounded up to a power of two, unless the array was encrypted with another one. A row that
        fills it is rotated as `numpy.roll(row, -steps)` does; of a shorter one zeros come in, and its numbers that leave it stay behind it:
        the padding is then dirty, and a further rotation is refused until `clear_padding`. `cl.functions.hstack([x[n:], x[:n]])` is
        `numpy.roll(x, -n)` of a vector of any length. Where there is no key
        for these steps, rotations by powers of two that there are keys for are used in turn.

        Parameters
        ----------
        steps : int
            How far; negative numbers rotate to the right.

        Returns
        -------
        Ciphertext
            The rotated rows.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this rotation.
        ShapeError
            Unless the array is encoded in slots in natural order, where rows take several polynomials, and where the padding is dirty.
        DataError
            For steps beyond 62 bits.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> secret_key.decrypt(x.rotate(1)).round(4)
        array([2., 3., 4., 1.])
        """
        return encrypted(self._native.rotate(steps))

    def rotate_many(self, steps: Sequence[SupportsIndex]) -> list[Ciphertext]:
        """Several rotations of one ciphertext, faster than one by one.

        They share the first half of their work: cutting the ciphertext into digits.

        Parameters
        ----------
        steps : sequence of int
            How far, one entry per rotation.

        Returns
        -------
        list of Ciphertext
            The rotated ciphertexts, in the order of `steps`.

        Raises
        ------
        ClathrateError
            As `rotate`.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> [secret_key.decrypt(y).round(4).tolist() for y in x.rotate_many([0, 1])]
        [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 1.0]]
        """
        return [encrypted(part) for part in self._native.rotate_many(steps)]

    def repeat_column(self, columns: SupportsIndex) -> Ciphertext:
        """An array of one column with its column repeated, as `numpy.broadcast_to(x, (..., columns))`. It needs no keys.

        Parameters
        ----------
        columns : int
            The length of the rows.

        Returns
        -------
        Ciphertext
            The repeated numbers; padding is dirty.

        Raises
        ------
        ShapeError
            Unless the array is encoded in slots and has one column.
        DataError
            For less than 1 column.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0], [2.0]], encoding="slots")
        >>> secret_key.decrypt(x.repeat_column(3)).round(4).tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
        """
        return encrypted(self._native.repeat_column(columns))

    def clear_padding(self) -> Ciphertext:
        """The same numbers with zeros in the slots that hold no number.

        A rotation moves entries of a row into the slots beyond its length, and further rotations of such a row are refused. Clearing is a
        product with ones and zeros: `rescale()` it as other products. Where the padding is zero already, the ciphertext comes back as it
        is.

        Returns
        -------
        Ciphertext
            The same numbers; not rescaled.

        Raises
        ------
        ShapeError
            Unless the array is encoded in slots.
        LevelError
            At level 0, where the product cannot be rescaled.

        Examples
        --------
        >>> x = ct.rotate(1)
        >>> x.layout.padding, x.clear_padding().rescale().layout.padding
        ('dirty', 'zero')
        """
        return encrypted(self._native.clear_padding())

    def conj(self) -> Ciphertext:
        """The complex conjugate of every entry.

        Returns
        -------
        Ciphertext
            The conjugates.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for conjugation.
        ShapeError
            Unless the array is encoded in slots.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> bool(np.allclose(secret_key.decrypt(z.conj()), [1 - 2j, 3 + 4j]))
        True
        """
        return encrypted(self._native.conj())

    def real_part(self) -> Ciphertext:
        """The real part of every entry, as an array of real numbers.

        Takes a level and a conjugation for complex numbers; real numbers are their own real parts. `np.real(x)` is the same.

        Returns
        -------
        Ciphertext
            The real parts.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for conjugation.
        ShapeError
            Unless the array is encoded in slots, or has the keys that convert it.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> secret_key.decrypt(z.real_part()).round(4)
        array([1., 3.])
        """
        return encrypted(self._native.real_part())

    def imaginary_part(self) -> Ciphertext:
        """The imaginary part of every entry, as an array of real numbers.

        Takes a level and a conjugation for complex numbers; that of real numbers is zero. `np.imag(x)` is the same.

        Returns
        -------
        Ciphertext
            The imaginary parts.

        Raises
        ------
        ClathrateError
            As `real_part`.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> secret_key.decrypt(z.imaginary_part()).round(4)
        array([ 2., -4.])
        """
        return encrypted(self._native.imaginary_part())
