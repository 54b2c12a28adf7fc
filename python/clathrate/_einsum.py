"""NumPy's sums of products by labels of axes, and functions that are such sums."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ._ciphertext import Ciphertext
from ._transposed import TransposedCiphertext
from ._unreadable import entry_by_entry
from ._wrapping import encrypted, wrap
from .errors import DataError, ShapeError

# The most products that are added: their places are lists in memory.
_MAX_TERMS = 2**23


def _is_encrypted(x: Any) -> bool:
    return isinstance(x, Ciphertext | TransposedCiphertext)


def einsum(subscripts: str, *operands: Any) -> Any:
    labels, output = _labels(subscripts, operands)
    arrays = [x if _is_encrypted(x) else np.asarray(x) for x in operands]
    arrays, labels = _without_views(arrays, labels)
    while len(arrays) > 2:
        # Labels that nothing else has are added up on the way.
        kept = {label for other in [*labels[2:], output] for label in other}
        both = "".join(dict.fromkeys(label for label in labels[0] + labels[1] if label in kept))
        arrays = [_pair(arrays[:2], labels[:2], both), *arrays[2:]]
        labels = [both, *labels[2:]]
    return _pair(arrays, labels, output)


def _without_views(arrays: list[Any], labels: list[str]) -> tuple[list[Any], list[str]]:
    """Views as the matrices that they transpose, with their labels exchanged."""
    views = [isinstance(x, TransposedCiphertext) for x in arrays]
    return [x.T if view else x for x, view in zip(arrays, views, strict=True)], [
        own[::-1] if view else own for own, view in zip(labels, views, strict=True)
    ]


def _labels(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[str], str]:
    """The labels of the axes of each operand, and of the result."""
    if not isinstance(subscripts, str):
        raise TypeError('np.einsum of ciphertexts takes its labels as one string first, such as "ij,jk->ik"')
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = left.split(",")
    if not arrow:
        output = "".join(sorted(label for label in set(left) - {","} if left.count(label) == 1))
    sizes: dict[str, int] = {}
    if len(labels) != len(operands) or "." in subscripts or not (left.replace(",", "") + "x" + output).isalpha():
        raise TypeError(
            f'np.einsum of ciphertexts takes a group of letters for each operand, and no "...": "{subscripts}" has '
            f"{len(labels)} for {len(operands)}"
        )
    for own, x in zip(labels, operands, strict=True):
        shape = x.shape if _is_encrypted(x) else np.shape(x)
        if len(own) != len(shape):
            raise TypeError(f'np.einsum: "{own}" stands for an array of {len(own)} axes, and this one has the shape {tuple(shape)}')
        for label, size in zip(own, shape, strict=True):
            if sizes.setdefault(label, size) != size:
                raise TypeError(f'np.einsum: the axes with the label "{label}" have {sizes[label]} and {size} numbers')
    if len(set(output)) != len(output) or not set(output) <= set(sizes):
        raise TypeError(f'np.einsum: the labels "{output}" of the result are some of those of the operands, each once')
    return labels, output


def _pair(arrays: list[Any], labels: list[str], output: str) -> Any:
    """The sums of one array, or of the products of two."""
    if len(arrays) == 2 and not _is_encrypted(arrays[0]):
        arrays, labels = arrays[::-1], labels[::-1]
    if not _is_encrypted(arrays[0]):
        return np.einsum(f"{','.join(labels)}->{output}", *arrays)
    if len(arrays) == 2 and _is_encrypted(arrays[1]):
        return encrypted(arrays[0]._native.einsum(arrays[1]._native, f"{','.join(labels)}->{output}"))
    x, own = arrays[0], labels[0]
    w, others = (np.asarray(1), "") if len(arrays) == 1 else (arrays[1], labels[1])
    # What has a label of its own is added up first.
    alone = "".join(label for label in dict.fromkeys(others) if label in own or label in output)
    w, others = np.einsum(f"{others}->{alone}", w), alone
    if len(set(own)) == len(own):
        for label in own:
            if label not in others and label not in output:
                x, own = x.sum(axis=own.index(label)), own.replace(label, "")
        if set(others) <= set(own):
            return _scaled(x, own, w, others, output)
        shared = [label for label in own if label in others]
        if len(shared) == 1 and shared[0] not in output:
            return _multiplied(x, own, w, others, output)
    return _mapped(x, own, w, others, output)


def _scaled(x: Any, own: str, w: Any, others: str, output: str) -> Any:
    """Products with numbers that broadcast to `x`, added up along axes."""
    if others:
        order = "".join(label for label in own if label in others)
        w = np.einsum(f"{others}->{order}", w)
        x = x * w.reshape([size if label in others else 1 for label, size in zip(own, x.shape, strict=True)])
    elif w != 1:
        x = x * w
    summed = tuple(axis for axis, label in enumerate(own) if label not in output)
    x = x.sum(axis=summed) if summed else x
    return _ordered(x, "".join(label for label in own if label in output), output)


def _ordered(x: Any, labels: str, output: str) -> Any:
    """An array with its axes in another order."""
    if labels == output:
        return x
    if len(labels) == 2:
        return x.T
    return encrypted(x._native.permuted([labels.index(label) for label in output]))


def _multiplied(x: Any, own: str, w: Any, others: str, output: str) -> Any:
    """The product of a matrix or vector with a plain matrix along one axis."""
    inner = next(label for label in own if label in others)
    free = "".join(label for label in others if label != inner)
    rows = np.einsum(f"{others}->{free}{inner}", w).reshape(-1, w.shape[others.index(inner)])
    kept = own.replace(inner, "")
    if len(free) > 1 or (len(own) > 2 and own[-1] != inner):
        return _mapped(x, own, w, others, output)
    if own[-1] != inner or not kept:
        return _ordered(rows @ x, free + kept, output)
    return _ordered(wrap(x._native.__matmul__(np.ascontiguousarray(rows.T))), kept + free, output)


def _mapped(x: Any, own: str, w: Any, others: str, output: str) -> Any:
    """Any linear map of the numbers of an array, in slots: sums of numbers times factors."""
    sizes = dict(zip(own + others, [*x.shape, *w.shape], strict=True))
    shape, places = _grid(sizes, output)
    if np.iscomplexobj(w):
        raise TypeError(
            "complex weights multiply the last axis of ciphertexts: bring it there by `np.moveaxis`, or add the products of both parts"
        )
    factors = np.broadcast_to(w[tuple(places[label] for label in others)], next(iter(places.values())).shape)
    return encrypted(x._native.mapped(shape, _counted(places, own, x.shape).tolist(), factors.tolist()))


def _grid(sizes: dict[str, int], output: str) -> tuple[list[int], dict[str, Any]]:
    """The shape of the result, and the index of each term along the axis of each label: for all entries the first term, then the second."""
    order = "".join(label for label in sizes if label not in output) + output
    lengths = [sizes[label] for label in order]
    count = np.prod(lengths, dtype=float)
    if count > _MAX_TERMS:
        raise DataError(f"np.einsum of ciphertexts adds at most {_MAX_TERMS} products, and here are {count:.0f}: take the sums in parts")
    return [sizes[label] for label in output], dict(zip(order, np.indices(lengths).reshape(len(order), -1), strict=True))


def _counted(places: dict[str, Any], labels: str, shape: tuple[int, ...]) -> Any:
    """The place of each term in an array with these labels, counted along the rows."""
    terms = next(iter(places.values())).size if places else 1
    return np.ravel_multi_index([places[label] for label in labels], shape) if labels else np.zeros(terms, dtype=int)


def matmul(a: Any, b: Any) -> Any:
    """The products of stacks of matrices, as NumPy has them: axes before the last two broadcast."""
    left, right = (entry_by_entry(x) if _is_encrypted(x) else np.asarray(x) for x in (a, b))
    if not left.ndim or not right.ndim:
        raise TypeError("a matrix product takes arrays with axes: multiply by a number with `*`")
    if isinstance(left, Ciphertext) and isinstance(right, Ciphertext):
        return encrypted(left._native.__matmul__(right._native))
    inner = left.shape[-1], right.shape[-2 if right.ndim > 1 else -1]
    if inner[0] != inner[1]:
        raise ShapeError(
            f"a matrix product of shapes {tuple(left.shape)} and {tuple(right.shape)}: rows of the left have {inner[0]} numbers and "
            f"columns of the right {inner[1]}, which are to be the same"
        )
    stack = [chr(ord("p") + axis) for axis in range(max(left.ndim, right.ndim, 2) - 2)]
    of_left, of_right = ([*stack[len(stack) - max(x.ndim - 2, 0) :]] for x in (left, right))
    # An axis of length 1 broadcasts: it has a label of its own, which is added up.
    for own, x, other, name in ((of_left, left, right, "A"), (of_right, right, left, "F")):
        for place in range(len(own)):
            back = len(own) - place + 2
            if x.shape[-back] == 1 and other.ndim >= back and other.shape[-back] != 1:
                own[place] = chr(ord(name) + place)
    first = [*of_left, *("ik" if left.ndim > 1 else "k")]
    second = [*of_right, *("kj" if right.ndim > 1 else "k")]
    output = [*stack, *("i" if left.ndim > 1 else ""), *("j" if right.ndim > 1 else "")]
    return einsum(f"{''.join(first)},{''.join(second)}->{''.join(output)}", left, right)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    left = [chr(ord("a") + axis) for axis in range(dimensions[0])]
    right = [chr(ord("k") + axis) for axis in range(dimensions[1])]
    if np.ndim(axes) == 0:
        count = operator.index(axes)
        first, second = list(range(dimensions[0] - count, dimensions[0])), list(range(count))
    else:
        first, second = (np.atleast_1d(each).tolist() for each in axes)
    if len(first) != len(second):
        raise TypeError(f"np.tensordot: {len(first)} axes of one array and {len(second)} of the other: name as many of each")
    pairs = zip(first, second, strict=True)
    for of_left, of_right in pairs:
        right[of_right] = left[of_left]
    output = [label for label in left if label not in right] + [label for label in right if label not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(output)}", a, b)


def dot(a: Any, b: Any) -> Any:
    """The sums over the last axis of one array and the last but one of the other."""
    axes = len(b.shape) if _is_encrypted(b) else np.ndim(b)
    return tensordot(a, b, (-1, -1 if axes == 1 else -2))


def inner(a: Any, b: Any) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    return a * b if 0 in dimensions else tensordot(a, b, (-1, -1))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return diagonal(a, offset, axis1, axis2).sum(axis=-1)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    if a.ndim < 2:
        raise TypeError(f"np.diagonal of ciphertexts takes a matrix, and this array has the shape {a.shape}")
    picked = np.diagonal(np.arange(np.prod(a.shape)).reshape(a.shape), offset, axis1, axis2)
    if picked.size == 0:
        raise TypeError(f"np.diagonal of a ciphertext of shape {a.shape} picks no number: encrypted arrays have at least one")
    return encrypted(a._native.gathered(list(picked.shape), picked.reshape(-1).tolist()))


def diag(v: Any, k: int = 0) -> Any:
    if v.ndim != 1:
        if v.ndim != 2:
            raise TypeError(f"np.diag of ciphertexts takes a matrix or a vector, and this array has the shape {v.shape}")
        return diagonal(v, k)
    places = np.diag(np.arange(v.shape[0]), k)
    factors = np.diag(np.ones(v.shape[0]), k)
    return encrypted(v._native.mapped(list(places.shape), places.reshape(-1).tolist(), factors.reshape(-1).tolist()))


def tril(m: Any, k: int = 0) -> Any:
    return m * np.tril(np.ones(m.shape), k)


def triu(m: Any, k: int = 0) -> Any:
    return m * np.triu(np.ones(m.shape), k)


def kron(a: Any, b: Any) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    if dimensions == [1, 1]:
        return einsum("i,j->ij", a, b).reshape(-1)
    if dimensions != [2, 2]:
        raise TypeError(
            f"np.kron of ciphertexts takes two vectors or two matrices, and these have {dimensions[0]} and {dimensions[1]} axes"
        )
    blocks = einsum("ij,kl->ikjl", a, b)
    rows, own_rows, columns, own_columns = blocks.shape
    return blocks.reshape(rows * own_rows, columns * own_columns)


def cov(m: Any, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    if isinstance(m, TransposedCiphertext):
        return cov(m.T, not rowvar, bias, ddof)
    if m.ndim not in (1, 2):
        raise TypeError(f"np.cov of ciphertexts takes a vector or a matrix, and this array has the shape {m.shape}")
    x = m if m.ndim == 2 else m.reshape(1, -1)
    axis = 1 if rowvar or m.ndim == 1 else 0
    count = x.shape[axis]
    less = (0 if bias else 1) if ddof is None else ddof
    if count <= less:
        raise TypeError(f"np.cov of ciphertexts divides by {count} - {less} observations, which is no positive number")
    # Products of an array with itself take half of the work.
    y = (x - x.mean(axis=axis, keepdims=True)) * (count - less) ** -0.5
    product = einsum("it,jt->ij" if axis == 1 else "ti,tj->ij", y, y.conj() if y.dtype.kind == "c" else y)
    return product.reshape(*()) if product.shape == (1, 1) else product


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return a.mean(axis=axis, keepdims=keepdims)
    if _is_encrypted(weights) or not _is_encrypted(a):
        raise TypeError("np.average of ciphertexts takes plain weights: a division by the sum of encrypted ones needs their interval")
    w = np.asarray(weights)
    axes = tuple(range(a.ndim)) if axis is None else tuple(each % a.ndim for each in np.atleast_1d(axis).tolist())
    if w.shape != tuple(a.shape):
        if axis is None or w.shape != tuple(a.shape[each] for each in axes):
            raise TypeError(f"np.average: weights of shape {w.shape} for a ciphertext of shape {a.shape} need the axis that they are along")
        w = np.transpose(w, np.argsort(axes)).reshape([a.shape[each] if each in axes else 1 for each in range(a.ndim)])
    totals = w.sum(axis=axes, keepdims=True)
    if np.any(totals == 0):
        raise ZeroDivisionError("np.average: the weights sum to zero")
    return (a * (w / totals)).sum(axis=axes, keepdims=keepdims)


def broadcast_to(array: Any, shape: Any) -> Any:
    wanted = np.broadcast_to(np.empty(array.shape), shape).shape
    return array if tuple(array.shape) == wanted else array + np.zeros(wanted)


def column_stack(tup: Any) -> Any:
    parts = [x.reshape(-1, 1) if len(x.shape) == 1 else x for x in tup]
    return np.concatenate(parts, axis=1)


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    getattr(np, function.__name__): function
    for function in (
        average,
        broadcast_to,
        column_stack,
        cov,
        diag,
        diagonal,
        einsum,
        inner,
        kron,
        tensordot,
        trace,
        tril,
        triu,
    )
}
