"""Dry runs: symbols of ciphertexts that write down what their operations need and cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._needs import Needs
from ._wrapping import Wrapped, unwrap

if TYPE_CHECKING:
    from ._params import Params
    from ._typing import BodyAxis, Encoding, Order


@final
class Recorder(Wrapped, of=native.Recorder):
    """Makes symbols for a dry run and collects the keys that their computations need; `clathrate.plans.trace` wraps it.

    Parameters
    ----------
    params : Params
        The parameters of the dry run.
    bootstrap_below : int, optional
        As `Ciphertext.with_keys` takes it.
    """

    __slots__ = ()
    _native: native.Recorder

    def __init__(self, params: Params, bootstrap_below: SupportsIndex | None = None) -> None:
        self._hold(native.Recorder(unwrap(params), bootstrap_below))

    def symbol(
        self,
        shape: Sequence[SupportsIndex],
        encoding: Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        is_complex: bool = False,
        bound: float | None = None,
        *,
        bodies: SupportsIndex | None = None,
        axis: BodyAxis | None = None,
        capacity: SupportsIndex | None = None,
        lanes: SupportsIndex | Literal["most"] | None = None,
        copies: SupportsIndex | None = None,
        order: Order = "natural",
    ) -> Ciphertext:
        """A symbol: the ciphertext that `SecretKey.encrypt` would give for these arguments, without data.

        Parameters
        ----------
        shape : sequence of int
            The shape of the array.
        encoding : {"slots", "coefficients"}, optional
            As `SecretKey.encrypt` takes it.
        level : int, optional
            As `SecretKey.encrypt` takes it.
        scale : float, optional
            As `SecretKey.encrypt` takes it.
        is_complex : bool, optional
            Whether the array has complex entries. The default is False.
        bound : float, optional
            The largest magnitude of the numbers. None, the default, leaves it open; then no errors are bounded.
        bodies : int, optional
            As `SecretKey.encrypt` takes it.
        axis : {"rows", "chunks"}, optional
            As `SecretKey.encrypt` takes it.
        capacity : int, optional
            As `SecretKey.encrypt` takes it.
        lanes : int or "most", optional
            As `SecretKey.encrypt` takes it.
        copies : int, optional
            As `SecretKey.encrypt` takes it.
        order : {"natural", "bit-reversed"}, optional
            As `SecretKey.encrypt` takes it.

        Returns
        -------
        Ciphertext
            The symbol.

        Raises
        ------
        DataError
            Where the shape has no entries or more than six axes, or the bound is not positive or has no room at the level; for bodies, an
            axis, a capacity, lanes, copies or an order that `SecretKey.encrypt` refuses.
        LevelError
            Where there is no such level.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        """
        return Ciphertext._of(
            self._native.symbol(
                shape,
                encoding,
                level,
                scale,
                is_complex,
                bound,
                bodies=bodies,
                axis=axis,
                capacity=capacity,
                lanes=lanes,
                copies=copies,
                order=order,
            )
        )

    def needs(self) -> Needs:
        """The keys that all computations on the symbols needed so far.

        Returns
        -------
        Needs
            Each key with the highest level that it was needed at.
        """
        return Needs._of(self._native.needs())

    def recording(self) -> native.Recording:
        """What all computations on the symbols cost so far.

        Returns
        -------
        Recording
            The costs by stage and the memory of arrays; it does not change any more.
        """
        return self._native.recording()

    def symbol_of(self, layout: str, shape: Sequence[int], level: int, scale: float, secret: str, estimate: str) -> Ciphertext:
        return Ciphertext._of(self._native.symbol_of(layout, shape, level, scale, secret, estimate))
