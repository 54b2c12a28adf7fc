"""NumPy's functions that move numbers along an axis, or are linear in them: products with matrices, slices, and other shapes.

A linear function is the product with the matrix of its values on unit vectors, which NumPy computes in the clear. It takes rotations and a
level along the rows of an array in slots, and no key along the columns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._arrays import concatenate
from ._ciphertext import Ciphertext
from ._einsum import einsum
from ._indexing import chosen
from ._transposed import TransposedCiphertext
from ._wrapping import encrypted
from .errors import DataError

# Vectors of more numbers are moved and filtered by slices, because a matrix of as many rows and columns takes gigabytes.
_LONG = 4096


def place(name: str, x: Any, axis: Any, default: int | None = None) -> int:
    """The axis, counted from 0, that a function named so goes along; for None, the only one or else `default`."""
    if isinstance(x, TransposedCiphertext):
        raise TypeError(f"np.{name} of a transposed ciphertext: take the other axis of the ciphertext itself, or `x.T.to_rows()`")
    if not isinstance(x, Ciphertext):
        raise TypeError(f"np.{name} of ciphertexts has one encrypted operand, and here it is a plain one's place")
    if axis is None:
        if x.ndim != 1 and default is None:
            raise TypeError(f"np.{name} of a ciphertext with {x.ndim} axes: name one with `axis=`")
        axis = default if x.ndim != 1 else 0
    found = operator.index(axis)
    if not -x.ndim <= found < x.ndim:
        raise TypeError(f"np.{name}: a ciphertext of shape {x.shape} has no axis {axis}")
    return found % x.ndim


def along(name: str, function: Callable[[Any], Any], x: Any, axis: Any) -> Any:
    """What a linear function of the first axis of plain arrays gives along an axis of an encrypted one."""
    where = place(name, x, axis)
    matrix = function(np.eye(x.shape[where]))
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise TypeError(f"np.{name} of ciphertexts gives arrays with at least one number along the axis")
    if np.isrealobj(matrix) and np.array_equal(matrix, np.rint(matrix)):
        matrix = matrix.astype(np.int64)  # products with integers take no level
    if x.ndim > 2:
        labels = "abcdef"[: x.ndim]
        return einsum(f"{labels},z{labels[where]}->{labels.replace(labels[where], 'z')}", x, matrix)
    return x @ matrix.T if where == 1 else matrix @ x


def cumsum(a: Any, axis: int | None = None, dtype: None = None, out: None = None) -> Any:
    return along("cumsum", lambda eye: np.cumsum(eye, axis=0), a, axis)


def _chosen(function: Callable[[Any], Any], x: Any) -> Any:
    """What a choice of numbers picks of an array; None for parts of rows in coefficients."""
    places = np.asarray(function(np.arange(np.prod(x.shape, dtype=int)).reshape(x.shape)))
    picked = chosen(x._native, places)
    return None if picked is None else encrypted(picked)


def _choice(name: str, function: Callable[[Any, int], Any], x: Any, axis: int) -> Any:
    """What a choice of numbers along the axis `axis` picks."""
    picked = _chosen(lambda numbers: function(numbers, axis), x)
    return along(name, lambda eye: function(eye, 0), x, axis) if picked is None else picked


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Any:
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, Sequence) else [axis]
    for each in axes:
        m = _choice("flip", np.flip, m, place("flip", m, each))
    return m


def fliplr(m: Any) -> Any:
    return flip(m, 1)


def flipud(m: Any) -> Any:
    return flip(m, 0)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if (axis is None and a.ndim != 1) or np.ndim(shift) > 0 or np.ndim(axis) > 0:
        return _of_slots("roll", lambda numbers: np.roll(numbers, shift, axis), a)
    where = place("roll", a, axis)
    steps, length = operator.index(shift) % a.shape[where], a.shape[where]
    if length <= _LONG or steps == 0:
        return _choice("roll", lambda numbers, own: np.roll(numbers, shift, own), a, where)
    try:
        picked = _chosen(lambda numbers: np.roll(numbers, shift, where), a)
    except DataError:
        # Too many polynomials for one choice of numbers.
        picked = None
    if picked is not None:
        return picked
    return _joined([_range(a, where, length - steps, length), _range(a, where, 0, length - steps)], where)


def _of_slots(name: str, function: Callable[[Any], Any], x: Any) -> Any:
    picked = _chosen(function, x)
    if picked is None:
        raise TypeError(
            f"np.{name} moves numbers of rows, which arrays in slots do: encrypt the array in slots, or convert it by `x.to_slots()`"
        )
    return picked


def pad(array: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
    if isinstance(array, TransposedCiphertext) or mode != "constant" or np.any(np.asarray(constant_values) != 0):
        raise TypeError('np.pad of ciphertexts puts zeros around the numbers, with mode="constant"')
    if isinstance(pad_width, dict):
        raise TypeError("np.pad of ciphertexts takes the zeros of each axis as pairs, `[(1, 2), (0, 0)]`, and no dictionary")
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2)).tolist() if array.ndim else []
    if not widths or any(operator.index(width) < 0 for axis in widths for width in axis):
        raise TypeError(f"np.pad of a ciphertext of shape {array.shape}: give the zeros before and behind the numbers of each axis")
    if array.ndim <= 2 and not any(widths[0][: 2 * (array.ndim - 1)]):
        return Ciphertext._of(array._native.pad_columns(*widths[-1]))
    return _of_slots("pad", lambda numbers: np.pad(numbers, widths, constant_values=-1), array)


def append(arr: Any, values: Any, axis: int | None = None) -> Any:
    if axis is None and isinstance(arr, Ciphertext):
        return _joined([arr.reshape(-1), values.reshape(-1)], 0)
    return _joined([arr, values], place("append", arr, axis))


def tile(A: Any, reps: Any) -> Any:
    if A.ndim == 1 and np.ndim(reps) == 0:
        return _joined([A] * operator.index(reps), 0)
    return _of_slots("tile", lambda numbers: np.tile(numbers, reps), A)


def outer(a: Any, b: Any) -> Any:
    column, row = (x.reshape(-1) if isinstance(x, Ciphertext) else np.ravel(x) for x in (a, b))
    return column.reshape(-1, 1) * row.reshape(1, -1)


def _joined(parts: Sequence[Any], where: int) -> Any:
    return concatenate(parts, axis=where)


def _range(x: Any, where: int, start: int, end: int) -> Any:
    return x[(*[slice(None)] * where, slice(start, end))]


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    where = place("diff", a, axis)
    for _ in range(operator.index(n)):
        a = _range(a, where, 1, a.shape[where]) - _range(a, where, 0, a.shape[where] - 1)
    return a


def ediff1d(ary: Any) -> Any:
    return diff(ary.reshape(-1))


def gradient(f: Any, spacing: float = 1.0, axis: int | None = None) -> Any:
    return along("gradient", lambda eye: np.gradient(eye, spacing, axis=0), f, axis)


def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    where = place("trapezoid", y, axis)
    sums = along("trapezoid", lambda eye: np.trapezoid(eye, x, dx, axis=0)[None, :], y, where)
    return sums.reshape(*(length for index, length in enumerate(y.shape) if index != where)) if y.ndim > 1 else sums[0]


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    if not isinstance(a, Ciphertext | TransposedCiphertext):
        a, v = v, a
    if place("convolve", a, None) == 0 and len(a) > _LONG and not isinstance(v, Ciphertext | TransposedCiphertext):
        return _of_slices(a, np.asarray(v)[::-1], mode)
    return along("convolve", _filtered(np.convolve, "convolve", v, mode), a, None)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    if place("correlate", a, None) == 0 and len(a) > _LONG and not isinstance(v, Ciphertext | TransposedCiphertext):
        return _of_slices(a, np.conj(v), mode)
    return along("correlate", _filtered(np.correlate, "correlate", v, mode), a, None)


def _of_slices(x: Any, weights: Any, mode: str) -> Any:
    """The weighted sums of neighbouring numbers of a long vector, as `numpy.correlate`: one slice for each weight."""
    if weights.ndim != 1 or not 0 < len(weights) <= len(x):
        raise TypeError(f"weights of shape {weights.shape} for a vector of {len(x)} numbers: give at least one, and at most {len(x)}")
    before, behind = {"valid": (0, 0), "same": (len(weights) // 2, (len(weights) - 1) // 2), "full": (len(weights) - 1,) * 2}[mode]
    padded = pad(x, (before, behind)) if before + behind else x
    count = len(padded) - len(weights) + 1
    return sum(padded[start : start + count] * weight for start, weight in enumerate(weights))


def _filtered(function: Callable[..., Any], name: str, weights: Any, mode: str) -> Callable[[Any], Any]:
    if isinstance(weights, Ciphertext | TransposedCiphertext):
        raise TypeError(f"np.{name} of ciphertexts has one encrypted operand: multiply shifted ones, `x[1:] * y[:-1]`, where both are")
    return lambda eye: np.stack([function(row, weights, mode) for row in eye], axis=1)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    if axis is None and a.ndim != 1:
        return _of_slots("repeat", lambda numbers: np.repeat(numbers, repeats), a)
    return _choice("repeat", lambda numbers, own: np.repeat(numbers, repeats, own), a, place("repeat", a, axis))


def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    if axis is None and arr.ndim > 1:
        return _of_slots("delete", lambda numbers: np.delete(numbers, obj), arr)
    return _choice("delete", lambda numbers, own: np.delete(numbers, obj, own), arr, place("delete", arr, axis))


def take(a: Any, indices: Any, axis: int | None = None) -> Any:
    if axis is None and a.ndim != 1:
        return _of_slots("take", lambda numbers: np.take(numbers, indices), a)
    where = place("take", a, axis)
    if np.ndim(indices) == 0:
        return a[(*[slice(None)] * where, operator.index(indices))]
    return _choice("take", lambda numbers, own: np.take(numbers, indices, own), a, where)


def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    return take(a, np.flatnonzero(condition), axis)


def transform(name: str) -> Callable[..., Any]:
    """A discrete Fourier transform of NumPy's."""

    def transformed(a: Any, n: int | None = None, axis: int = -1, norm: Any = None) -> Any:
        if name == "rfft" and isinstance(a, Ciphertext) and a.dtype.kind == "c":
            raise TypeError("np.fft.rfft takes real numbers: of complex ones take `np.fft.fft(x)`")
        return along(f"fft.{name}", lambda eye: getattr(np.fft, name)(eye, n, 0, norm), a, axis)

    return transformed


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    where = place("split", ary, axis)
    # NumPy says where the parts begin and end.
    parts = np.split(np.arange(ary.shape[where]), indices_or_sections)
    return _cut("split", ary, parts, where)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    where = place("array_split", ary, axis)
    return _cut("array_split", ary, np.array_split(np.arange(ary.shape[where]), indices_or_sections), where)


def _cut(name: str, x: Any, parts: Sequence[Any], where: int) -> list[Any]:
    if any(part.size == 0 for part in parts):
        raise TypeError(f"np.{name} of ciphertexts gives parts with at least one number")
    slices = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
    return [x[(*[slice(None)] * where, part)] for part in slices]


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return split(ary, indices_or_sections, 0)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Any:
    return a.reshape(*np.expand_dims(np.empty(a.shape), axis).shape)


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Any:
    return a.reshape(*np.squeeze(np.empty(a.shape), axis).shape)


def ravel(a: Any) -> Any:
    return a.reshape(-1)


def atleast_1d(a: Any) -> Any:
    return a if a.ndim else a.reshape(1)


def atleast_2d(a: Any) -> Any:
    return a if a.ndim >= 2 else a.reshape(1, -1)


def atleast_3d(a: Any) -> Any:
    return a.reshape(*np.atleast_3d(np.empty(a.shape)).shape)


def _choice_by(name: str, function: Any) -> Callable[..., Any]:
    """A function of NumPy's that puts numbers at other places and does not compute with them."""

    def choose(a: Any, *arguments: Any, **keywords: Any) -> Any:
        if not isinstance(a, Ciphertext):
            raise TypeError(f"np.{name} of ciphertexts chooses among encrypted numbers, and here they are a plain one's place")
        return _of_slots(name, lambda numbers: function(numbers, *arguments, **keywords), a)

    return choose


def extract(condition: Any, arr: Any) -> Any:
    return _of_slots("extract", lambda numbers: np.extract(condition, numbers), arr)


def diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(v.reshape(-1), k)


def unstack(x: Any, *, axis: int = 0) -> Any:
    return tuple(x[(*[slice(None)] * (axis % x.ndim), place)] for place in range(x.shape[axis]))


def dstack(tup: Any) -> Any:
    return np.concatenate([atleast_3d(part) for part in tup], axis=2)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return split(ary, indices_or_sections, 2)


def cumulative_sum(x: Any, *, axis: int | None = None, include_initial: bool = False) -> Any:
    sums = cumsum(x, axis)
    if not include_initial:
        return sums
    where = place("cumulative_sum", x, axis)
    return pad(sums, [(int(each == where), 0) for each in range(sums.ndim)])


def broadcast_arrays(*args: Any) -> Any:
    shape = np.broadcast_shapes(*(x.shape for x in args))
    return tuple(np.broadcast_to(x, shape) for x in args)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    if isinstance(values, Ciphertext | TransposedCiphertext):
        raise TypeError("np.insert of ciphertexts takes plain values: join encrypted parts by `np.concatenate`")
    numbers = np.arange(np.prod(arr.shape, dtype=int)).reshape(arr.shape)
    # Room for the values, and the values.
    places = np.insert(numbers, obj, np.full(np.shape(values), -1), axis)
    inserted = np.insert(np.zeros(arr.shape, np.result_type(float, np.asarray(values).dtype)), obj, values, axis)
    return _of_slots("insert", lambda _: places, arr) + inserted


def cross(a: Any, b: Any) -> Any:
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise TypeError(
            f"np.cross of ciphertexts takes arrays whose last axis has 3 numbers, and these have the shapes {a.shape} and {b.shape}"
        )
    one, two = [1, 2, 0], [2, 0, 1]
    return a[..., one] * b[..., two] - a[..., two] * b[..., one]


_OF_PLACES: dict[str, Any] = {
    "rot90": np.rot90,
    "rollaxis": np.rollaxis,
    "take_along_axis": np.take_along_axis,
    "fft.fftshift": np.fft.fftshift,
    "fft.ifftshift": np.fft.ifftshift,
    "lib.stride_tricks.sliding_window_view": np.lib.stride_tricks.sliding_window_view,
}

FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    getattr(np, function.__name__): function
    for function in (
        append,
        array_split,
        atleast_1d,
        atleast_2d,
        atleast_3d,
        broadcast_arrays,
        compress,
        convolve,
        correlate,
        cross,
        cumsum,
        cumulative_sum,
        delete,
        diagflat,
        diff,
        dsplit,
        dstack,
        ediff1d,
        expand_dims,
        extract,
        flip,
        fliplr,
        flipud,
        gradient,
        hsplit,
        insert,
        outer,
        pad,
        ravel,
        repeat,
        roll,
        split,
        squeeze,
        take,
        tile,
        trapezoid,
        unstack,
        vsplit,
    )
    if hasattr(np, function.__name__)
}
FUNCTIONS |= {getattr(np.fft, name): transform(name) for name in ("fft", "ifft", "rfft")}
FUNCTIONS |= {function: _choice_by(name, function) for name, function in _OF_PLACES.items()}
