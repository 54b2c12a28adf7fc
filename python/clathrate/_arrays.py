"""Arrays put together from others: selection by a mask, stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _native as native
from ._ciphertext import Ciphertext
from ._wrapping import unwrap_all
from .errors import DataError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@overload
def where(condition: Ciphertext, x: Any, y: Any) -> Ciphertext: ...
@overload
def where(condition: ArrayLike, x: Ciphertext, y: Ciphertext | ArrayLike) -> Ciphertext: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: Ciphertext) -> Ciphertext: ...
@overload
def where(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> NDArray[Any]: ...
def where(condition: Any, x: Any, y: Any) -> Any:
    """Entries of `x` where a condition holds and of `y` elsewhere, as `numpy.where`.

    Parameters
    ----------
    condition : array_like of bool, or Ciphertext
        The condition. An encrypted one holds numbers 0 and 1, such as `(cl.functions.sign(z, ...) + 1) * 0.5`.
    x : Ciphertext or array_like
        The entries where the condition holds; in slots if they are encrypted.
    y : Ciphertext or array_like
        The entries elsewhere. Shapes broadcast.

    Returns
    -------
    Ciphertext or ndarray
        `y + condition * (x - y)`: one product.

    Raises
    ------
    DataError
        For a plain condition with entries other than 0 and 1.
    ClathrateError
        As a product of the operands.

    Examples
    --------
    >>> kept = cl.functions.where([True, False, True], ct, 5.0)
    >>> secret_key.decrypt(kept).round(4)
    array([1., 5., 3.])
    """
    x, y = (part if isinstance(part, Ciphertext) else np.asarray(part) for part in (x, y))
    if isinstance(condition, Ciphertext):
        return y + condition * (x - y)
    mask = np.asarray(condition)
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise DataError("the condition has entries other than True and False, or 0 and 1")
    if not isinstance(x, Ciphertext) and not isinstance(y, Ciphertext):
        return np.where(mask, x, y)
    ones = mask.astype(float)
    if isinstance(x, Ciphertext) and isinstance(y, Ciphertext):
        selected = y + (x - y) * ones
        share = float(np.broadcast_to(ones, selected.shape).mean())
        if not x.shape == y.shape == selected.shape:
            return selected
        return Ciphertext._of(native.chosen(selected._native, x._native, y._native, share))
    # Plain numbers are selected in the clear.
    encrypted, plain, own = (x, y, ones) if isinstance(x, Ciphertext) else (y, x, 1.0 - ones)
    return encrypted * own + np.where(own == 1.0, 0.0, plain)


def hstack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Encrypted arrays in slots side by side, as `numpy.hstack`: vectors end to end, or the rows of matrices.

    Numbers move by rotations, and a product with ones and zeros, which takes a level, makes room for them.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Vectors, or matrices with as many rows, in slots, of any length.

    Returns
    -------
    Ciphertext
        The longer vector, or the wider matrix, one level below the lowest part.

    Raises
    ------
    TypeError
        As `vstack`.
    ShapeError
        Where the numbers of rows differ, arrays are in coefficients, or rows share a mask or a polynomial.
    MissingKeyError
        Without the rotations that `trace` finds.
    LevelError
        At level 0.
    ClathrateError
        As `vstack`.

    Examples
    --------
    >>> x, y = (secret_key.encrypt(v).with_keys(keys) for v in ([1.0, 2.0], [3.0, 4.0]))
    >>> secret_key.decrypt(cl.functions.hstack([x, y])).round(4)
    array([1., 2., 3., 4.])
    """
    return concatenate(parts, 1) if _are_stacks(parts) else Ciphertext._of(native.hstack(unwrap_all(parts)))


def vstack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Encrypted arrays one below the other, as `numpy.vstack`: a vector is one row. Nothing is computed.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Matrices with as many columns, and vectors of that length, encrypted alike.

    Returns
    -------
    Ciphertext
        The matrix of all rows, at the lowest level of the parts.

    Raises
    ------
    TypeError
        Where a part is no ciphertext: encrypt arrays first, and take the rows of a view by `x.T.to_rows()`.
    ShapeError
        Where the lengths of rows differ, or rows share a mask or a polynomial.
    WrongParamsError
        Where parts have different parameters.
    WrongSecretError
        Where parts belong to different secrets.
    ScaleError
        Where parts have different scales.

    Examples
    --------
    >>> x, y = secret_key.encrypt([1.0, 2.0]), secret_key.encrypt([3.0, 4.0])
    >>> secret_key.decrypt(cl.functions.vstack([x, y])).round(4)
    array([[1., 2.],
           [3., 4.]])
    """
    return concatenate(parts) if _are_stacks(parts) else Ciphertext._of(native.vstack(unwrap_all(parts)))


def stack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Vectors as the rows of a matrix, as `numpy.stack`.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Vectors of one length, encrypted in one way.

    Returns
    -------
    Ciphertext
        A matrix with a row for each part. Nothing is computed.

    Raises
    ------
    ShapeError
        Where a part is no vector, or lengths differ.
    ClathrateError
        As `vstack`.

    Examples
    --------
    >>> cl.functions.stack([ct, ct]).shape
    (2, 3)
    """
    rows = list(parts)
    for index, part in enumerate(rows):
        if isinstance(part, Ciphertext) and part.ndim != 1:
            raise ShapeError(f"part {index} has shape {part.shape}: `stack` takes vectors, and `vstack` joins matrices")
    return vstack(rows)


def concatenate(parts: Sequence[Ciphertext], axis: int = 0) -> Ciphertext:
    """Arrays joined along an axis, as `numpy.concatenate`.

    Matrices one below the other keep their rows, and nothing is computed (`vstack`). Vectors end to end, and matrices side by side, are
    moved by rotations and a product that takes a level (`hstack`), in slots alone.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Vectors, or matrices of equal width along axis 0 and of equal height along axis 1, encrypted in one way.
    axis : int, optional
        The axis. The default is 0.

    Returns
    -------
    Ciphertext
        The joined array.

    Raises
    ------
    ShapeError
        Where parts have no such axis, or the other axis differs.
    ClathrateError
        As `vstack` and `hstack`.

    Examples
    --------
    >>> x = cl.functions.stack([ct, ct])
    >>> cl.functions.concatenate([x, x]).shape
    (4, 3)
    """
    arrays = list(parts)
    for index, part in enumerate(arrays):
        if isinstance(part, Ciphertext) and not -part.ndim <= axis < part.ndim:
            raise ShapeError(f"part {index} has shape {part.shape}, and no axis {axis}")
    if _are_stacks(arrays):
        return _concatenated_stacks(arrays, axis)
    vectors = any(isinstance(part, Ciphertext) and part.ndim == 1 for part in arrays)
    return hstack(arrays) if vectors or axis in (1, -1) else vstack(arrays)


def _are_stacks(parts: Any) -> bool:
    """Whether one of several arrays has more than two axes."""
    return isinstance(parts, list | tuple) and any(isinstance(part, Ciphertext) and part.ndim > 2 for part in parts)


def _concatenated_stacks(parts: list[Any], axis: int) -> Ciphertext:
    """Arrays of more than two axes joined along one: rows that come one after the other, or rows that become longer."""
    shapes = [part.shape for part in parts]
    where = axis % len(shapes[0])
    alike = all(
        len(shape) == len(shapes[0]) and shape[:where] + shape[where + 1 :] == shapes[0][:where] + shapes[0][where + 1 :]
        for shape in shapes
    )
    if not alike:
        raise ShapeError(f"parts of shapes {', '.join(map(str, shapes))} are not joined along axis {axis}: their other axes are equal")
    result = (*shapes[0][:where], sum(shape[where] for shape in shapes), *shapes[0][where + 1 :])
    width = shapes[0][-1]
    if where == len(result) - 1:
        return hstack([part.reshape(-1, part.shape[-1]) for part in parts]).reshape(*result)
    joined = vstack([part.reshape(-1, width) for part in parts])
    if where == 0:
        return joined.reshape(*result)
    # The rows of the parts come by turns.
    firsts = np.cumsum([0, *(int(np.prod(shape[:-1])) for shape in shapes)])
    rows = [np.arange(np.prod(shape[:-1])).reshape(shape[:-1]) + first for shape, first in zip(shapes, firsts, strict=False)]
    return joined[np.concatenate(rows, axis=where).reshape(-1)].reshape(*result)
