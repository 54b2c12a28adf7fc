"""Levels, scales and declared bounds of encrypted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from .._wrapping import encrypted

if TYPE_CHECKING:
    from .. import _native as native
    from . import Ciphertext


class Levels:
    """Changes of the level, the scale and the declared bound."""

    __slots__ = ()
    _native: native.Ciphertext

    def rescale(self) -> Ciphertext:
        """Divides the encrypted numbers' scale by the last step of the modulus and drops that step: one level less.

        The numbers stay. After a product this restores the canonical scale of the new level. The next product, rotation or polynomial does
        so by itself, so there is rarely a need to call it. An array that has the canonical scale of its level already is returned as it
        is, unless the runtime says `rescale="explicit"`.

        Returns
        -------
        Ciphertext
            The same numbers, one level lower.

        Raises
        ------
        LevelError
            At level 0, where no step is left to divide by; with `rescale="explicit"` also where there is nothing to rescale.
        ScaleError
            Where the scale would fall below 1, so that nothing of the numbers were left.

        Examples
        --------
        >>> product = ct * ct
        >>> product.level, product.rescale().level
        (5, 4)
        """
        return encrypted(self._native.rescale())

    def drop_to_level(self, level: SupportsIndex) -> Ciphertext:
        """The same numbers at a lower level: smaller and faster.

        Parameters
        ----------
        level : int
            The level, at most the present one.

        Returns
        -------
        Ciphertext
            The same numbers at that level, with its canonical scale where the ciphertext had the canonical scale before.

        Raises
        ------
        LevelError
            For a higher level, or where there is no such level.
        ScaleError
            Where the scale leaves that level no room.

        Examples
        --------
        >>> ct.drop_to_level(2).level
        2
        """
        return encrypted(self._native.drop_to_level(level))

    def with_bound(self, bound: float | None) -> Ciphertext:
        """The same array with another declared bound: for numbers that are known to be smaller than what the steps before tell.

        Parameters
        ----------
        bound : float or None
            The largest magnitude of the numbers; None for no declared bound.

        Returns
        -------
        Ciphertext
            The same numbers and keys. Nobody can check the bound but who decrypts.

        Raises
        ------
        DataError
            For a bound that is not positive, or without room at the level and scale.

        Examples
        --------
        >>> x = secret_key.encrypt([0.5, -0.25], bound=1.0)
        >>> (x + x).bound, (x + x).with_bound(1.0).bound
        (2.0, 1.0)
        """
        return encrypted(self._native.with_bound(bound))
