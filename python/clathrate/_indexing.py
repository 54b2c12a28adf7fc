"""Indices of encrypted arrays, as NumPy has them: rows by anything that picks along an axis, numbers of a row by ranges."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from . import _native as native

# What the numbers of a row are called, and an index of them: those of a matrix, of a vector, and of a matrix read by columns.
_COLUMNS = ("columns", "x[:, {}]")
_ENTRIES = ("entries of a vector", "x[{}]")
_VIEW_ROWS = ("rows of a view", "x.T[{}]")


def item(x: native.Ciphertext, index: Any) -> native.Ciphertext:
    """`x[index]`."""
    parts = index if isinstance(index, tuple) else (index,)
    shape = x.shape
    if x.encoding == "slots" and (len(shape) > 2 or not all(_is_simple(part) for part in parts)):
        return _gathered(x, parts)
    if any(part is None for part in parts):
        picked = item(x, tuple(part for part in parts if part is not None))
        lengths = iter(picked.shape)
        return picked.reshape(*(1 if new else next(lengths, 1) for new in _new_axes(parts, len(shape))))
    indices = _of_each_axis(parts, len(shape))
    if len(shape) > 2:
        return _gathered(x, parts)
    if indices and x.encoding == "slots" and _scatters(indices[-1]):
        return _gathered(x, tuple(indices))
    if len(indices) == 2:
        rows, columns = indices
        column = _place_in_slots(x, columns, shape[1], "column {} is out of bounds for {} columns, counted from 0")
        return _picked(x, rows, columns, _COLUMNS) if column is None else x.pick_column(*_rows(rows, shape[0]), column)
    if not indices:
        return x
    place = _place_in_slots(x, indices[0], shape[0], "index {} is out of bounds for a vector of {} numbers, counted from 0")
    if place is not None:
        return x.pick_entry(place)
    entries = _range(x, indices[0], shape[0], _ENTRIES)
    return x if entries is None else x.pick_entries(entries)


def item_of_view(x: native.Ciphertext, index: Any) -> native.Ciphertext:
    """What `x.T[index]` is a view of."""
    rows, columns = _of_each_axis(index if isinstance(index, tuple) else (index,), 2)
    return _picked(x, columns, rows, _VIEW_ROWS)


def _picked(x: native.Ciphertext, rows: Any, columns: Any, numbers: tuple[str, str]) -> native.Ciphertext:
    """The rows and, of each, the numbers that two indices pick."""
    count, width = x.shape
    picked_columns = _range(x, columns, width, numbers)
    picked_rows, single = _rows(rows, count)
    return x if picked_rows is None and picked_columns is None else x.pick(picked_rows, single, picked_columns)


def _is_simple(index: Any) -> bool:
    """Whether an index is an integer, a range, or a new axis."""
    return index is None or index is ... or isinstance(index, slice) or _place(index) is not None


def is_range(index: Any) -> bool:
    """Whether an index, or each of several, is a range without steps, or an integer."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(_place(part) is not None or part is ... or (isinstance(part, slice) and part.step in (None, 1)) for part in parts)


def _scatters(index: Any) -> bool:
    """Whether an index of the numbers of a row picks others than one, or those of a range."""
    return not _takes_all(index) and _place(index) is None and not (isinstance(index, slice) and index.step in (None, 1))


def chosen(x: native.Ciphertext, places: Any) -> native.Ciphertext | None:
    """The numbers with the places `places`, counted along the rows, in their shape; negative places are zeros. Where they are whole rows,
    rows are picked, and otherwise numbers are moved, in slots. None for parts of rows in coefficients.
    """
    if places.size == 0:
        raise TypeError("an index picks no number: encrypted arrays have at least one")
    width = x.shape[-1] if x.shape else 1
    if places.shape and places.shape[-1] == width:
        by_row = places.reshape(-1, width)
        rows = by_row[:, 0] // width
        if by_row.min() >= 0 and np.array_equal(by_row, rows[:, None] * width + np.arange(width)):
            count = int(np.prod(x.shape[:-1]))
            if np.array_equal(rows, np.arange(count)):
                return x.reshape(*places.shape)
            if count > 1:
                whole = x if len(x.shape) == 2 else x.reshape(-1, width)
                return whole.pick(rows.tolist(), False, None).reshape(*places.shape)
    if x.encoding != "slots":
        return None
    return x.gathered(list(places.shape), [place if place >= 0 else None for place in places.reshape(-1).tolist()])


def _numbered(x: native.Ciphertext) -> Any:
    """The place of each number of an array, in its shape."""
    return np.arange(np.prod(x.shape, dtype=int)).reshape(x.shape)


def _gathered(x: native.Ciphertext, index: tuple[Any, ...]) -> native.Ciphertext:
    """Any numbers of an array, in any order."""
    picked = chosen(x, np.asarray(_numbered(x)[index]))
    if picked is None:
        raise TypeError("parts of the rows of an array in coefficients are picked of matrices and vectors: encrypt the array in slots")
    return picked


def _place(index: Any) -> int | None:
    """The integer that an index is; None for other indices, and booleans."""
    if isinstance(index, bool):
        return None
    try:
        place = operator.index(index)
    except TypeError:
        return None
    return place if abs(place) < 2**63 else None


def _place_in_slots(x: native.Ciphertext, index: Any, count: int, outside: str) -> int | None:
    """The place in slots that an integer picks; None for other indices, and in coefficients."""
    place = _place(index) if x.encoding == "slots" else None
    if place is None:
        return None
    from_front = place + count if place < 0 else place
    if not 0 <= from_front < count:
        raise IndexError(outside.format(place, count))
    return from_front


def _takes_all(index: Any) -> bool:
    """Whether an index takes everything: `:` or `...`."""
    return index is ... or (isinstance(index, slice) and index == slice(None))


def _rows(index: Any, count: int) -> tuple[list[int] | None, bool]:
    """The rows that an index picks, None for all, and whether it is one integer."""
    if _takes_all(index):
        return None, False
    picked = np.arange(count)[index]
    rows = np.atleast_1d(picked)
    if rows.ndim != 1:
        raise TypeError("rows are picked by an integer, a slice, or a list of integers or booleans")
    return rows.tolist(), np.ndim(picked) == 0


def _range(x: native.Ciphertext, index: Any, count: int, numbers: tuple[str, str]) -> tuple[int, int] | None:
    """The range of numbers that an index picks; None for all."""
    if _takes_all(index):
        return None
    if not isinstance(index, slice):
        raise _refusal(index, count, x.encoding, numbers)
    start, stop, step = index.indices(count)
    if step != 1:
        raise _refusal(index, count, x.encoding, numbers)
    return start, max(start, stop)


def _refusal(index: Any, count: int, encoding: str, numbers: tuple[str, str]) -> TypeError:
    """The error of an index that is no range."""
    (name, example), place = numbers, _place(index)
    if place is not None:
        by_range = example.format("-1:" if place == -1 else f"{place}:{place + 1}")
        return TypeError(f"{name} are picked as a range: `{by_range}` instead of `{example.format(place)}`")
    others = {
        (_COLUMNS, "coefficients"): "encrypt the transposed matrix, whose `.T[:, columns]` picks any, or take `x.T.to_rows()[columns]`, "
        "which switches keys and has them as rows",
        (
            _ENTRIES,
            "coefficients",
        ): "take each as a range, `[x[i:i + 1] for i in index]`, and the list as a column, `cl.functions.stack(...)`, or "
        "encrypt the vector in slots",
    }.get((numbers, encoding), "take `x.T.to_rows()[rows]`, which switches keys")
    return TypeError(f"{name} are picked as one range without steps, such as `{example.format('2:5')}`: for others {others}")


def _of_each_axis(parts: tuple[Any, ...], axes: int) -> list[Any]:
    """The index of each axis, `:` where it is not stated."""
    dots = [place for place, part in enumerate(parts) if part is ...]
    stated = len(parts) - len(dots)
    if len(dots) > 1 or stated > axes:
        raise TypeError(
            f"an index of {stated} part{'' if stated == 1 else 's'} for an array of {axes} {'axis' if axes == 1 else 'axes'}: give at most "
            "one for each axis, and at most one `...`"
        )
    before = dots[0] if dots else len(parts)
    return [*parts[:before], *[slice(None)] * (axes - stated), *parts[before + len(dots) :]]


def _new_axes(parts: tuple[Any, ...], axes: int) -> list[bool]:
    """Of each axis of the result, whether it is a new one."""
    unstated = max(0, axes - sum(part is not None and part is not ... for part in parts))
    axes_of_result: list[bool] = []
    for part in parts:
        if part is None:
            axes_of_result.append(True)
        elif part is ...:
            axes_of_result += [False] * unstated
        elif _place(part) is None:
            # A place takes its axis away.
            axes_of_result.append(False)
    return axes_of_result if any(part is ... for part in parts) else axes_of_result + [False] * unstated
