"""Plain numbers as the extension takes them: Python's own numbers, and NumPy arrays with at least one axis and a numeric type.

Arrays of other libraries that NumPy cannot read, or whose operators read a ciphertext as numbers, are refused by name, with the conversion
that works. A library is known by the names of modules, so that none is imported.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._plain_input import PlainSymbol
from .errors import DataError

_TOO_WIDE = "an integer is beyond double precision, which ends at 1.8e308: scale the data down"


@dataclass(frozen=True)
class _Library:
    """An array library: what people call one of its arrays, and the call that makes a NumPy array of `x`."""

    array: str
    conversion: str
    # Of types of numbers that NumPy does not have: bfloat16 and those of 8 bits.
    narrow: str = ""

    def cannot_be_read(self, data: Any, reason: str) -> TypeError:
        """The error where NumPy cannot read `data`, one of the library's arrays."""
        dtype = str(getattr(data, "dtype", ""))
        conversion = self.narrow if self.narrow and ("bfloat" in dtype or "float8" in dtype) else self.conversion
        return TypeError(f"{self.array} cannot be used as it is ({reason}): pass a NumPy array, `{conversion}`")


_LIBRARIES = {
    "numpy.ma": _Library("a masked array", "x.filled(0)"),
    "pandas": _Library("a pandas object", "x.to_numpy(dtype=float)"),
    "scipy.sparse": _Library("a SciPy sparse array", "x.toarray()"),
    "torch": _Library("a torch tensor", "x.detach().cpu().numpy()", "x.detach().cpu().float().numpy()"),
}


def _library_of_module(module: str) -> _Library | None:
    return next((found for name, found in _LIBRARIES.items() if module == name or module.startswith(f"{name}.")), None)


def _library(data: Any) -> _Library | None:
    """The library that defines the class of `data`, or one that it derives from."""
    found = (_library_of_module(str(getattr(base, "__module__", ""))) for base in type(data).__mro__)
    return next((library for library in found if library is not None), None)


def refuse_library_of_caller() -> None:
    """Names the library whose code reads a ciphertext as numbers, directly or through NumPy, and what to do instead."""
    frame = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        library = _library_of_module(module)
        if library is not None:
            raise TypeError(
                f"{library.array} meets a ciphertext: its operators read the other operand as an array of numbers, and a ciphertext is "
                f"encrypted; pass a NumPy array instead, `{library.conversion}`, as in `{library.conversion} @ ct`"
            )
        if module != "numpy" and not module.startswith("numpy."):
            return
        frame = frame.f_back  # type: ignore[assignment]


def numbers(data: Any) -> Any:
    """What NumPy makes a numeric array of: an int, float or complex where there are no axes, else an array.

    Raises
    ------
    TypeError
        For objects, strings, masked arrays, and what NumPy cannot read.
    DataError
        For ragged lists, and integers beyond double precision.
    """
    if isinstance(data, int):
        try:
            float(data)
        except OverflowError:
            raise DataError(_TOO_WIDE) from None
        return data
    if isinstance(data, float | complex):
        return data
    if isinstance(data, PlainSymbol):
        return data._native
    array = data if type(data) is np.ndarray else _as_array(data)
    kind = array.dtype.kind
    if kind not in "biufc":
        library = _library(data)
        if library is not None:
            raise library.cannot_be_read(data, f"its entries of dtype {array.dtype} are no numbers")
        remedy = ", `x.astype(float)` where the objects are numbers" if kind == "O" else ""
        raise TypeError(f"an array of dtype {array.dtype} holds no numbers: use integers, floats or complex numbers{remedy}")
    if array.ndim:
        return array
    return complex(array) if kind == "c" else float(array) if kind == "f" else int(array)


def _as_array(data: Any) -> Any:
    if isinstance(data, np.ma.MaskedArray):
        raise TypeError("a masked array has entries that are not there: fill them first, `x.filled(0)`")
    library = _library(data)
    if library is _LIBRARIES["scipy.sparse"]:
        raise library.cannot_be_read(data, "NumPy has no sparse arrays")
    try:
        array = np.asarray(data)
    except Exception as error:
        if library is not None:
            raise library.cannot_be_read(data, str(error)) from error
        if isinstance(error, ValueError):
            raise DataError(f"this is no array: {error}") from error
        if isinstance(error, OverflowError):
            raise DataError(_TOO_WIDE) from error
        raise
    # NumPy makes objects of a list's integers beyond 64 bits: doubles instead, where every entry is a real number.
    if array.dtype.kind == "O" and isinstance(data, list | tuple) and all(isinstance(entry, int | float) for entry in array.flat):
        try:
            array = array.astype(np.float64)
        except OverflowError:
            raise DataError(_TOO_WIDE) from None
    return array


def plain(data: Any) -> Any:
    """As `numbers`, of an operator's other side; `NotImplemented` for objects with operators of their own."""
    if isinstance(data, float | int | complex | list | tuple | PlainSymbol) or hasattr(data, "__array__") or _library(data) is not None:
        return numbers(data)
    return NotImplemented


def refuse_matrix(data: Any) -> None:
    """Refuses a `numpy.matrix`, whose `*` is a matrix product."""
    if isinstance(data, np.matrix):
        raise TypeError(
            "an operand is an `np.matrix`, whose `*` is another product than that of arrays: pass `np.asarray(x)`, and write `@` for a "
            "matrix product"
        )
