"""What an encrypted array tells without the secret key: shape, level, scale, layout, bounds and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._layout import Layout
from ..errors import DataError

if TYPE_CHECKING:
    from .. import _native as native
    from .._typing import Encoding


def refuse_recorded(array: native.Ciphertext, name: str) -> None:
    """Refuses a figure of an array while a program is compiled, where it would become a constant."""
    if array.is_recorded:
        raise DataError(
            f"`{name}` depends on parameters, which a program chooses after its function was recorded: compute with parameters of your own "
            "and `keys_for` where a function needs it"
        )


class Figures:
    """Shape, level, scale, layout, bounds and errors."""

    __slots__ = ()
    _native: native.Ciphertext

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the encrypted array."""
        return self._native.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return self._native.size

    @property
    def level(self) -> int:
        """The level: the number of rescales that are left."""
        refuse_recorded(self._native, "level")
        return self._native.level

    @property
    def rank(self) -> int:
        """The module rank: the number of polynomials in the mask."""
        refuse_recorded(self._native, "rank")
        return self._native.rank

    @property
    def degree(self) -> int:
        """The ring degree: the number of coefficients of a polynomial."""
        refuse_recorded(self._native, "degree")
        return self._native.degree

    @property
    def scale(self) -> float:
        """The scale: the factor between the numbers and the integers that are encrypted."""
        refuse_recorded(self._native, "scale")
        return self._native.scale

    @property
    def encoding(self) -> Encoding:
        """The encoding, "slots" or "coefficients"."""
        return cast("Encoding", self._native.encoding)

    @property
    def is_complex(self) -> bool:
        """Whether the entries are complex numbers, so that decryption gives a complex array."""
        return self._native.is_complex

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that decryption gives: `float64` or `complex128`."""
        return np.dtype(np.complex128 if self.is_complex else np.float64)

    @property
    def layout(self) -> Layout:
        """Which number sits in which bundle, body and slot or coefficient."""
        refuse_recorded(self._native, "layout")
        return Layout._of(self._native.layout)

    @property
    def bodies(self) -> int:
        """The number of bodies under one mask, 1 for most arrays."""
        refuse_recorded(self._native, "bodies")
        return self._native.bodies

    @property
    def secret(self) -> str:
        """The name of the secret that the numbers are under: "main", "bodies:8" where eight bodies share a mask, or "device:7" for a
        device's.

        The owner's `SecretKey` knows all of them.
        """
        return self._native.secret

    @property
    def nbytes(self) -> int:
        """The size in memory in bytes."""
        refuse_recorded(self._native, "nbytes")
        return self._native.nbytes

    @property
    def error_rms(self) -> float | None:
        """The root mean square of the error of one number, in units of the numbers, or None where it is not known.

        It is for typical numbers: those that are spread evenly up to their bounds. What is measured on such numbers is within a factor of
        2. The errors of approximations, such as that of `sigmoid`, are not in it. It is not known behind products of arrays without a
        declared bound.
        """
        refuse_recorded(self._native, "error_rms")
        return self._native.error_rms

    @property
    def error_bound(self) -> float | None:
        """A bound on the errors of all numbers, in units of the numbers, or None where it is not known.

        It holds for any numbers within their bounds, but for a probability of 2**-40. The errors of approximations, such as that of
        `sigmoid`, are not in it. It is not known behind products of arrays without a declared bound.
        """
        refuse_recorded(self._native, "error_bound")
        return self._native.error_bound

    @property
    def bound(self) -> float | None:
        """The largest magnitude that the numbers may have, without their errors, or None where it is not known.

        It is declared at encryption (`SecretKey.encrypt(..., bound=10.0)`), for symbols by `trace(..., bound=10.0)`, or by `with_bound`,
        and carried through all operations. What might exceed the modulus, or the domain of a polynomial, is refused before it is computed.
        """
        return self._native.bound
