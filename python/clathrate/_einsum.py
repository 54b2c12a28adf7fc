"""NumPy's sums of products by labels of axes, and functions that are such sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._ciphertext import Ciphertext
from ._transposed import TransposedCiphertext
from ._wrapping import encrypted
from .errors import DataError

# The most products that are added: their places are lists in memory.
_MAX_TERMS = 2**22

# The label of the numbers of an array in one row, which no operand has.
_ALL = "Z"


def _is_encrypted(x: Any) -> bool:
    return isinstance(x, Ciphertext | TransposedCiphertext)


def einsum(subscripts: str, *operands: Any) -> Any:
    labels, output = _labels(subscripts, operands)
    arrays = [x if _is_encrypted(x) else np.asarray(x) for x in operands]
    for x in arrays:
        if isinstance(x, TransposedCiphertext):
            raise TypeError("np.einsum of a view of a transposed matrix: take the ciphertext itself, before `.T`, and exchange its labels")
    while len(arrays) > 2:
        # Labels that nothing else has are added up on the way.
        kept = {label for other in [*labels[2:], output] for label in other}
        both = "".join(dict.fromkeys(label for label in labels[0] + labels[1] if label in kept))
        arrays = [_pair(arrays[:2], labels[:2], both), *arrays[2:]]
        labels = [both, *labels[2:]]
    return _pair(arrays, labels, output)


def _labels(subscripts: Any, operands: tuple[Any, ...]) -> tuple[list[str], str]:
    """The labels of the axes of each operand, and of the result."""
    if not isinstance(subscripts, str):
        raise TypeError('np.einsum of ciphertexts takes its labels as one string first, such as "ij,jk->ik"')
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    labels = left.split(",")
    if not arrow:
        output = "".join(sorted(label for label in set(left) - {","} if left.count(label) == 1))
    sizes: dict[str, int] = {}
    if len(labels) != len(operands) or "." in subscripts or not (left.replace(",", "") + "x" + output).isalpha() or _ALL in subscripts:
        raise TypeError(
            f'np.einsum of ciphertexts takes a group of letters for each operand, and neither "..." nor "{_ALL}": "{subscripts}" has '
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
    if len(output) > 2:
        raise TypeError(f'np.einsum of ciphertexts gives arrays of at most two axes, and "{output}" has {len(output)}')
    if len(arrays) == 2 and _is_encrypted(arrays[1]):
        return _contracted(arrays, labels, output)
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
    return x.T if len(output) == 2 and [label for label in own if label in output] != list(output) else x


def _multiplied(x: Any, own: str, w: Any, others: str, output: str) -> Any:
    """The product of a matrix or vector with a plain matrix along one axis."""
    inner = next(label for label in own if label in others)
    free = "".join(label for label in others if label != inner)
    rows = np.einsum(f"{others}->{free}{inner}", w).reshape(-1, w.shape[others.index(inner)])
    kept = own.replace(inner, "")
    if not kept:
        product, order = rows @ x, free
        product = product.reshape(*[w.shape[others.index(label)] for label in free])
    elif own[0] == inner:
        product, order = rows @ x, free + kept
    else:
        product, order = x @ rows.T, kept + free
    if len(order) > 2:
        raise TypeError(f'np.einsum of ciphertexts gives arrays of at most two axes, and "{order}" has {len(order)}')
    return product.T if order != output else product


def _mapped(x: Any, own: str, w: Any, others: str, output: str) -> Any:
    """Any linear map of the numbers of an array, in slots."""
    count = int(np.prod(x.shape))
    unit = np.eye(count).reshape(count, *x.shape)
    matrix = np.einsum(f"{_ALL}{own},{others}->{output}{_ALL}", unit, w)
    shape = matrix.shape[:-1]
    return _by_matrix(x, matrix.reshape(-1, count), shape)


def _by_matrix(x: Ciphertext, matrix: Any, shape: tuple[int, ...]) -> Ciphertext:
    """The numbers of `x`, counted along the rows, times a matrix, in another shape."""
    chosen = np.argmax(matrix != 0, axis=1)
    if np.array_equal(matrix, np.eye(matrix.shape[1])[chosen]):
        return encrypted(x._native.gathered(list(shape), chosen.tolist()))
    result: Ciphertext = (matrix @ x.reshape(-1)).reshape(*shape)
    return result


def _contracted(arrays: list[Any], labels: list[str], output: str) -> Ciphertext:
    """The sums of products of two encrypted arrays."""
    x, y = arrays
    sizes = {label: size for own, array in zip(labels, arrays, strict=True) for label, size in zip(own, array.shape, strict=True)}
    summed = "".join(label for label in sizes if label not in output)
    order = summed + output
    count = int(np.prod([sizes[label] for label in order], dtype=float))
    if count > _MAX_TERMS:
        raise DataError(f"np.einsum of ciphertexts adds at most {_MAX_TERMS} products, and here are {count}: take the sums in parts")
    places = np.indices([sizes[label] for label in order]).reshape(len(order), -1)
    of_label = dict(zip(order, places, strict=True))
    if places.shape[1:] == (0,) or not order:
        of_label, places = {}, np.zeros((0, 1), dtype=int)

    def sources(own: str, array: Any) -> list[int]:
        if not own:
            return [0] * places.shape[1]
        return np.ravel_multi_index([of_label[label] for label in own], array.shape).tolist()

    shape = [sizes[label] for label in output]
    return encrypted(x._native.contracted(y._native, shape, sources(labels[0], x), sources(labels[1], y)))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    left = [chr(ord("a") + axis) for axis in range(dimensions[0])]
    right = [chr(ord("k") + axis) for axis in range(dimensions[1])]
    if isinstance(axes, int):
        pairs = zip(range(dimensions[0] - axes, dimensions[0]), range(axes), strict=True)
    else:
        pairs = zip(*(np.atleast_1d(each).tolist() for each in axes), strict=True)
    for of_left, of_right in pairs:
        right[of_right] = left[of_left]
    output = [label for label in left if label not in right] + [label for label in right if label not in left]
    return einsum(f"{''.join(left)},{''.join(right)}->{''.join(output)}", a, b)


def inner(a: Any, b: Any) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    return a * b if 0 in dimensions else tensordot(a, b, (-1, -1))


def trace(a: Any) -> Any:
    return diagonal(a).sum()


def diagonal(a: Any, offset: int = 0) -> Any:
    return _picked("diagonal", lambda numbers: np.diagonal(numbers, offset), a)


def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    matrix = np.stack([np.diag(row, k).reshape(-1) for row in np.eye(v.shape[0])], axis=-1)
    shape = np.diag(np.empty(v.shape), k).shape
    result: Ciphertext = (matrix @ v).reshape(*shape)
    return result


def tril(m: Any, k: int = 0) -> Any:
    return m * np.tril(np.ones(m.shape), k)


def triu(m: Any, k: int = 0) -> Any:
    return m * np.triu(np.ones(m.shape), k)


def _picked(name: str, function: Callable[[Any], Any], x: Any) -> Ciphertext:
    """What a choice of numbers picks of a matrix, in slots."""
    if x.ndim != 2:
        raise TypeError(f"np.{name} of ciphertexts takes a matrix, and this array has the shape {x.shape}")
    picked = function(np.arange(np.prod(x.shape)).reshape(x.shape))
    if picked.size == 0:
        raise TypeError(f"np.{name} of a ciphertext of shape {x.shape} picks no number: encrypted arrays have at least one")
    return encrypted(x._native.gathered(list(picked.shape), picked.reshape(-1).tolist()))


def kron(a: Any, b: Any) -> Any:
    dimensions = [len(x.shape) if _is_encrypted(x) else np.ndim(x) for x in (a, b)]
    if dimensions != [1, 1]:
        raise TypeError(f"np.kron of ciphertexts takes two vectors, and these have {dimensions[0]} and {dimensions[1]} axes")
    return einsum("i,j->ij", a, b).reshape(-1)


def cov(m: Any, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    x = m if m.ndim == 2 else m.reshape(1, -1)
    axis = 1 if rowvar or m.ndim == 1 else 0
    count = x.shape[axis]
    less = (0 if bias else 1) if ddof is None else ddof
    if count <= less:
        raise TypeError(f"np.cov of ciphertexts divides by {count} - {less} observations, which is no positive number")
    y = x - x.mean(axis=axis, keepdims=True)
    product = einsum("it,jt->ij" if axis == 1 else "ti,tj->ij", y, y * (1 / (count - less)))
    return product if m.ndim == 2 else product.reshape(*())


def average(a: Any, axis: int | None = None, weights: Any = None) -> Any:
    if weights is None:
        return a.mean(axis=axis)
    if _is_encrypted(weights) or not _is_encrypted(a):
        raise TypeError("np.average of ciphertexts takes plain weights: a division by the sum of encrypted ones needs their interval")
    w = np.asarray(weights, dtype=float)
    total = w.sum()
    if total == 0:
        raise ZeroDivisionError("np.average: the weights sum to zero")
    if w.shape == tuple(a.shape):
        if axis is not None and a.ndim == 2:
            return (a * (w / w.sum(axis=axis, keepdims=True))).sum(axis=axis)
        return (a * (w / total)).sum()
    if axis is None or w.shape != (a.shape[axis],):
        raise TypeError(f"np.average: weights of shape {w.shape} for a ciphertext of shape {a.shape} need the axis that they are along")
    spread = (w / total).reshape([-1 if each == axis % a.ndim else 1 for each in range(a.ndim)])
    return (a * spread).sum(axis=axis)


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
