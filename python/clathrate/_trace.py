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
    from ._native import _Encoding


@dataclass(frozen=True)
class Trace:
    """What a computation needs and gives.

    Attributes
    ----------
    needs : the evaluation keys, each at the highest level it is used at: `secret_key.evaluation_keys(trace.needs)`.
    inputs : the symbols the function was called with.
    result : what it returned: symbols with `shape`, `encoding`, `level` and `scale`.
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
) -> Trace:
    """Runs `function` on symbols of ciphertexts, one per shape, and tells the keys, levels and scales it would need.

    The keyword arguments are those of `SecretKey.encrypt` and have its defaults; `is_complex` stands for complex data.

    >>> cl.trace(lambda x: (x * x).rescale().rotate(1), (100,), params=params).needs
    Needs(relinearise: level 5, rotate 1: level 4)

    Errors: what the function would raise on ciphertexts; decrypting or storing a symbol is a `DataError`.
    """
    recorder = Recorder(params)
    inputs = tuple(recorder.symbol(shape, encoding, level, scale, is_complex) for shape in shapes)
    result = function(*inputs)
    return Trace(recorder.needs(), inputs, result)
