"""Functions that pickles name: how objects come back. Their names and arguments are part of the pickle format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from ._native import Needs, Params, Runtime


def rebuild(params: Params, data: ReadableBuffer) -> Any:
    """An object from its file's bytes, read in place where pickle hands them over out of band."""
    return _native.from_bytes(data, params)


def rebuild_params(toml: str, runtime: Runtime) -> Params:
    """Parameters from their specification, to run as they did."""
    # Whoever unpickles runs what the pickle says, so it is trusted with this, too. Keys and encryptions warn all the same.
    return _native.Params.from_toml(toml, runtime, allow_insecure=True)


def rebuild_needs(json: str) -> Needs:
    """Needs from JSON."""
    return _native.Needs._from_json(json)
