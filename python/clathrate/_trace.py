"""What a computation needs, found by a dry run: no keys, no data, no time.

The function runs on symbols: ciphertexts with a shape, an encoding, a level and a scale, and no data. They go through the same code
as ciphertexts, and write down which evaluation keys each step would use, and at what level.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, SupportsIndex

from ._native import Ciphertext, Needs, Params, Recorder

if TYPE_CHECKING:
    from ._native import _BodyAxis, _Encoding, _Order


@dataclass(frozen=True)
class Trace:
    """What a computation needs and gives, found by a dry run; `trace` makes it.

    Attributes
    ----------
    needs : Needs
        The evaluation keys, each for the highest level that it is used at. `SecretKey.evaluation_keys(needs)` makes them.
    inputs : tuple of Ciphertext
        The symbols that the function was called with.
    result : object
        What the function returned: symbols with `shape`, `encoding`, `level` and `scale`.

    Examples
    --------
    >>> found = cl.trace(lambda x: (x * x).rescale(), (100,), params=params)
    >>> found.result.level
    4
    """

    needs: Needs
    inputs: tuple[Ciphertext, ...]
    result: Any


def trace(
    function: Callable[..., Any],
    *shapes: Sequence[SupportsIndex],
    params: Params,
    encoding: _Encoding | None = None,
    level: SupportsIndex | None = None,
    scale: float | None = None,
    is_complex: bool = False,
    bodies: SupportsIndex | None = None,
    axis: _BodyAxis | None = None,
    capacity: SupportsIndex | None = None,
    order: _Order = "natural",
) -> Trace:
    """Runs a function without keys and data, and tells the evaluation keys, levels and scales that it needs.

    The function is called with *symbols*: ciphertexts that have a shape, an encoding, a level and a scale, and no data. They go through the
    same code as ciphertexts, and raise the same errors.

    Parameters
    ----------
    function : callable
        The computation. It gets one symbol for each shape.
    *shapes : sequence of int
        The shapes of the arrays.
    params : Params
        The parameters.
    encoding : {"slots", "coefficients"}, optional
        As `SecretKey.encrypt` takes it.
    level : int, optional
        As `SecretKey.encrypt` takes it.
    scale : float, optional
        As `SecretKey.encrypt` takes it.
    is_complex : bool, optional
        Whether the arrays have complex entries. The default is False.
    bodies : int, optional
        As `SecretKey.encrypt` takes it.
    axis : {"rows", "chunks"}, optional
        As `SecretKey.encrypt` takes it.
    capacity : int, optional
        As `SecretKey.encrypt` takes it.
    order : {"natural", "bit-reversed"}, optional
        As `SecretKey.encrypt` takes it.

    Returns
    -------
    Trace
        The needs, the symbols, and what the function returned.

    Raises
    ------
    ClathrateError
        What the function would raise on ciphertexts. Decrypting and storing a symbol is a `DataError`.

    Examples
    --------
    >>> cl.trace(lambda x: (x * x).rescale().rotate(1), (100,), params=params).needs
    Needs(relinearise: level 5, rotate 1: level 4)
    """
    recorder = Recorder(params)

    def symbol(shape: Sequence[SupportsIndex]) -> Ciphertext:
        return recorder.symbol(shape, encoding, level, scale, is_complex, bodies=bodies, axis=axis, capacity=capacity, order=order)

    inputs = tuple(symbol(shape) for shape in shapes)
    result = function(*inputs)
    return Trace(recorder.needs(), inputs, result)
