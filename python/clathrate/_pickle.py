"""Functions that pickles name: how objects come back. Their names and arguments are part of the pickle format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from numpy.typing import ArrayLike

    from ._ciphertext import Ciphertext
    from ._layout import Layout
    from ._needs import Needs
    from ._params import Params
    from ._runtime import Runtime
    from ._transforms import LinearTransform

# What comes back is imported when it does: its module names these functions.


def rebuild(params: Params, data: ReadableBuffer) -> Any:
    """An object from its file's bytes, read in place where pickle hands them over out of band."""
    from ._files import from_bytes

    return from_bytes(data, params)


def rebuild_params(toml: str, runtime: Runtime) -> Params:
    """Parameters from their specification, to run as they did."""
    from ._params import Params

    # Whoever unpickles runs what the pickle says, so it is trusted with this, too. Keys and encryptions warn all the same.
    return Params.from_toml(toml, runtime, allow_insecure=True)


def rebuild_needs(json: str) -> Needs:
    """Needs from JSON."""
    from ._needs import Needs

    return Needs._of(Needs._Native.from_json(json))


def rebuild_layout(json: str) -> Layout:
    """A layout from JSON."""
    from ._layout import Layout

    return Layout._of(Layout._Native.from_json(json))


def rebuild_symbol(params: Params, layout: str, description: tuple[Any, ...]) -> Ciphertext:
    """A symbol of a dry run, which from now on belongs to a dry run of its own."""
    from ._recording import Recorder

    return Recorder(params).symbol_of(layout, *description)


def rebuild_transform(diagonals: dict[SupportsIndex, ArrayLike], slots: int, shape: tuple[int, int]) -> LinearTransform:
    """A linear map from its diagonals."""
    from ._transforms import LinearTransform

    return LinearTransform._of(LinearTransform.from_diagonals(diagonals, slots)._native.of_shape(*shape))


def call(maker: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """What a call makes: a plan is made again, from its arguments."""
    return maker(**arguments)
