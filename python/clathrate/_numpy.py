"""NumPy's functions on ciphertexts: those that have a counterpart, and errors that name what to use in place of the others.

NumPy hands its functions over by `__array_function__` (NEP 18), and its universal functions, with the operators of its arrays, by
`__array_ufunc__` (NEP 13).
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from . import _arrays, _einsum, _linear
from ._ciphertext import Ciphertext
from ._polynomial import Polynomial
from ._remedies import DECRYPT, INSTEAD, OTHER
from ._transposed import TransposedCiphertext
from ._unreadable import entry_by_entry
from ._wrapping import wrap
from .errors import ShapeError

_FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = _linear.FUNCTIONS | _einsum.FUNCTIONS

# Functions that take the view of a transposed matrix in slots as it is; others take its rows.
_OF_VIEWS = {
    np.einsum,
    np.dot,
    np.vdot,
    np.transpose,
    np.moveaxis,
    np.swapaxes,
    np.shape,
    np.ndim,
    np.size,
    np.iscomplexobj,
    np.isrealobj,
    np.copy,
}


def _with_rows(argument: Any) -> Any:
    if isinstance(argument, list | tuple):
        return type(argument)(entry_by_entry(part) for part in argument)
    return entry_by_entry(argument)


def _stands_for(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Registers a counterpart with the same parameters as far as they make sense."""

    def register(counterpart: Callable[..., Any]) -> Callable[..., Any]:
        _FUNCTIONS[function] = counterpart
        return counterpart

    return register


def _instead(name: str) -> str:
    # Of `linalg.norm` and `linalg.inv`, one has an entry of its own and the other that of its last part.
    for known in (name, name.rpartition(".")[2]):
        if known in INSTEAD:
            return INSTEAD[known]
    if name.startswith("lib."):
        return OTHER
    if getattr(np, name, None) in _FUNCTIONS:
        return f"use `np.{name}(x)`"
    return (
        "no function here stands for it: write a linear one as the product with its matrix, such as `np.tri(len(x)) @ x`, a smooth one of "
        f"each number as `cl.plans.Polynomial.fit(np.sin, domain=(lowest, highest), error=1e-3)(x)`, or {DECRYPT}"
    )


def _refuse(name: str) -> NoReturn:
    raise TypeError(f"np.{name} does not take ciphertexts: {_instead(name)}")


def missing_attribute(array: Any, name: str) -> str:
    """What the error of an attribute says that an encrypted array does not have."""
    message = f"'{type(array).__name__}' object has no attribute '{name}'"
    # What arrays know of their memory, such as strides, makes no sense of ciphertexts.
    if name not in INSTEAD and (name.startswith("_") or not callable(getattr(np.ndarray, name, None))):
        missing = isinstance(array, TransposedCiphertext) and not name.startswith("_") and hasattr(Ciphertext, name)
        return f"{message}: take it of the ciphertext itself, before `.T`" if missing else message
    if not isinstance(array, TransposedCiphertext):
        return f"{message}: {_instead(name)}"
    if hasattr(Ciphertext, name):
        return f"{message}: compute with the ciphertext itself and transpose the result, or `x.T.to_rows()`"
    return f"{message}. Of the ciphertext itself, before `.T`: {_instead(name)}"


def _name(function: Callable[..., Any]) -> str:
    # Names of modules such as numpy.linalg; what NumPy keeps in private modules is offered one level above.
    module = [part for part in function.__module__.split(".")[1:] if not part.startswith("_")]
    return ".".join([*module, function.__name__])


def array_function(function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a NumPy function of ciphertexts gives.

    Raises
    ------
    TypeError
        Where there is nothing that stands for the function, or not with these parameters.
    ClathrateError
        As the counterpart.
    """
    counterpart = _FUNCTIONS.get(function)
    if counterpart is None:
        _refuse(_name(function))
    if function not in _OF_VIEWS:
        arguments = tuple(_with_rows(argument) for argument in arguments)
        keywords = {name: _with_rows(argument) for name, argument in keywords.items()}
    try:
        bound = inspect.signature(counterpart).bind(*arguments, **keywords)
    except TypeError as error:
        raise TypeError(f"np.{_name(function)} of ciphertexts: {error}; it takes {inspect.signature(counterpart)}") from None
    return counterpart(*bound.args, **bound.kwargs)


_REFLECTED = {
    "add": "__radd__",
    "subtract": "__rsub__",
    "multiply": "__rmul__",
    "divide": "__rtruediv__",
    "true_divide": "__rtruediv__",
    "matmul": "__rmatmul__",
    "power": "__rpow__",
}
_UNARY = {"negative": "__neg__", "positive": "__pos__", "conjugate": "conj", "conj": "conj"}
_OF_VECTORS = ("vecdot", "matvec", "vecmat")
# Universal functions that are operators, or have counterparts here.
UNIVERSAL = {*_UNARY, *_REFLECTED, *_OF_VECTORS, "square"}
_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def array_ufunc(ufunc: np.ufunc, method: str, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """What a universal function of NumPy gives, of which an operand is a ciphertext; operators of arrays are such functions.

    Raises
    ------
    TypeError
        Where there is nothing that stands for it, or the result is to be written into an array.
    ClathrateError
        As the operator.
    """
    name = ufunc.__name__
    if method != "__call__":
        _refuse(f"{name}.{method}")
    out = keywords.pop("out", None)
    if out is not None:
        raise TypeError("an encrypted result cannot be written into an array of numbers: write `x = x + ct` for `x += ct`, without `out`")
    if keywords:
        raise TypeError(f"np.{name} of ciphertexts takes no {' and no '.join(sorted(keywords))}")
    if name in _UNARY:
        return _method(operands[0], _UNARY[name], name)()
    if name == "square":
        return operands[0] * operands[0]
    if name in _COMPARISONS:
        raise TypeError(
            f"a ciphertext cannot be compared: {DECRYPT}, or compute with `cl.functions.sign`, "
            "`cl.functions.maximum` and `cl.functions.minimum`"
        )
    if name in _REFLECTED:
        left, right = operands
        reflected = _REFLECTED[name]
        if isinstance(left, Ciphertext | TransposedCiphertext):
            return _method(left, reflected.replace("__r", "__"), name)(right)
        return _method(right, reflected, name)(left)
    if name in _OF_VECTORS:
        return _of_vectors(name, *operands)
    _refuse(name)


def _of_vectors(name: str, left: Any, right: Any) -> Any:
    """Products of stacks of vectors and matrices, which add along the last axis of vectors."""
    left, right = entry_by_entry(left), entry_by_entry(right)
    # Sums are along axes of one length, which do not broadcast.
    own, other = left.shape[-1:], right.shape[-2:-1] if name == "vecmat" else right.shape[-1:]
    if own != other or not own:
        raise ShapeError(f"`np.{name}` adds along axes of one length, and arrays of shapes {left.shape} and {right.shape} were given")
    if name == "matvec":
        return (left * right[..., None, :]).sum(axis=-1)
    conjugated = left.conj() if left.dtype.kind == "c" else left
    return (conjugated * right).sum(axis=-1) if name == "vecdot" else (conjugated[..., :, None] * right).sum(axis=-2)


def _method(operand: Any, method: str, name: str) -> Any:
    found = getattr(operand, method, None)
    if found is not None:
        return found
    if isinstance(operand, TransposedCiphertext):
        raise TypeError(
            f"np.{name} of a transposed ciphertext: compute with the ciphertext itself and transpose the result, or `x.T.to_rows()`"
        )
    raise TypeError(
        f"np.{name} does not take these operands: a ciphertext is no exponent, take `cl.functions.exp`" if name == "power" else f"np.{name}"
    )


def _dimensions(a: Any) -> int:
    return len(a.shape) if isinstance(a, Ciphertext | TransposedCiphertext) else np.ndim(a)


def _rows(name: str, a: Any) -> Any:
    if isinstance(a, TransposedCiphertext):
        raise TypeError(f"np.{name} of a transposed ciphertext: take the other axis of the ciphertext itself, or `x.T.to_rows()`")
    return a


@_stands_for(np.sum)
def _sum(a: Ciphertext, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:
    return _rows("sum", a).sum(axis=axis, keepdims=keepdims, dtype=dtype, out=out)


@_stands_for(np.mean)
def _mean(a: Ciphertext, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:
    return _rows("mean", a).mean(axis=axis, keepdims=keepdims, dtype=dtype, out=out)


@_stands_for(np.var)
def _var(
    a: Ciphertext, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None, ddof: int = 0, keepdims: bool = False
) -> Any:
    return _rows("var", a).var(axis=axis, ddof=ddof, keepdims=keepdims, dtype=dtype, out=out)


@_stands_for(np.prod)
def _prod(a: Ciphertext, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None, keepdims: bool = False) -> Any:
    return _rows("prod", a).prod(axis=axis, keepdims=keepdims, dtype=dtype, out=out)


@_stands_for(np.dot)
def _dot(a: Any, b: Any) -> Any:
    dimensions = (_dimensions(a), _dimensions(b))
    if 0 in dimensions:
        return a * b
    if dimensions == (1, 1):
        return a.dot(b) if isinstance(a, Ciphertext) else b.dot(a)
    if max(dimensions) > 2:
        return _einsum.dot(a, b)
    return a @ b if isinstance(a, Ciphertext | TransposedCiphertext | np.ndarray) else np.asarray(a) @ b


def _permuted(a: Any, axes: Any) -> Any:
    order = [int(axis) for axis in axes]
    if order == list(range(len(order))):
        return a
    if len(order) == 2:
        return a.T
    return wrap(a._native.permuted(order))


@_stands_for(np.transpose)
def _transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    return _permuted(a, _places(axes, len(a.shape)))


def _places(axes: Sequence[int] | None, count: int) -> list[int]:
    """Axes of an array with `count` axes, counted from 0; in reversed order if there are none."""
    if axes is None:
        return list(reversed(range(count)))
    places = [axis + count if -count <= axis < 0 else axis for axis in map(operator.index, axes)]
    if sorted(places) != list(range(count)):
        raise TypeError(f"np.transpose of a ciphertext with {count} axes: name each of them once, and not {tuple(axes)}")
    return places


@_stands_for(np.moveaxis)
def _moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Any:
    # Axis i of an array of lengths 1, 2, .. has the length i + 1.
    return _permuted(a, np.array(np.moveaxis(np.empty(range(1, len(a.shape) + 1)), source, destination).shape) - 1)


@_stands_for(np.swapaxes)
def _swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return _permuted(a, np.array(np.swapaxes(np.empty(range(1, len(a.shape) + 1)), axis1, axis2).shape) - 1)


@_stands_for(np.reshape)
def _reshape(a: Any, shape: int | tuple[int, ...]) -> Any:
    return a.reshape(*(shape if isinstance(shape, tuple | list) else (shape,)))


@_stands_for(np.concatenate)
def _concatenate(arrays: Any, axis: int = 0) -> Any:
    if not isinstance(axis, int):
        raise TypeError(f"np.concatenate of ciphertexts takes an axis, and not {axis}: join `x.reshape(-1)` and `y.reshape(-1)`")
    return _arrays.concatenate(arrays, axis)


@_stands_for(np.stack)
def _stack(arrays: Any, axis: int = 0) -> Any:
    parts = list(arrays)
    if axis == 0 and all(_dimensions(part) == 1 for part in parts):
        return _arrays.stack(parts)
    count = max(map(_dimensions, parts), default=0) + 1
    if not -count <= axis < count:
        raise TypeError(f"np.stack of ciphertexts with {count - 1} axes has no axis {axis}: use {-count} to {count - 1}")
    return _arrays.concatenate([part.reshape(*np.expand_dims(np.empty(part.shape), axis).shape) for part in parts], axis=axis)


@_stands_for(np.hstack)
def _hstack(tup: Any) -> Any:
    return _arrays.hstack(list(tup))


@_stands_for(np.vstack)
def _vstack(tup: Any) -> Any:
    return _arrays.vstack(list(tup))


@_stands_for(np.where)
def _where(condition: Any, x: Any, y: Any) -> Any:
    return _arrays.where(condition, x, y)


@_stands_for(np.real)
def _real(val: Any) -> Any:
    return _rows("real", val).real_part()


@_stands_for(np.imag)
def _imag(val: Any) -> Any:
    return _rows("imag", val).imaginary_part()


@_stands_for(np.vdot)
def _vdot(a: Any, b: Any) -> Any:
    left, right = (
        x.reshape(-1) for x in (entry_by_entry(x) if isinstance(x, Ciphertext | TransposedCiphertext) else np.asarray(x) for x in (a, b))
    )
    return _dot(left.conj(), right)


@_stands_for(np.polyval)
def _polyval(p: Any, x: Any) -> Any:
    if isinstance(p, Ciphertext | list):
        coefficients = list(p) if isinstance(p, list) else None
        if coefficients is None or any(isinstance(number, Ciphertext) for number in coefficients):
            raise TypeError("np.polyval of ciphertexts takes plain coefficients: write `(a * x + b) * x + c` where they are encrypted")
    return Polynomial(np.asarray(p)[::-1])(x)


@_stands_for(np.copy)
def _copy(a: Any) -> Any:
    return a


@_stands_for(np.iscomplexobj)
def _iscomplexobj(x: Any) -> bool:
    return bool(x.dtype.kind == "c")


@_stands_for(np.isrealobj)
def _isrealobj(x: Any) -> bool:
    return bool(x.dtype.kind != "c")


@_stands_for(np.shape)
def _shape(a: Any) -> tuple[int, ...]:
    return tuple(a.shape)


@_stands_for(np.ndim)
def _ndim(a: Any) -> int:
    return len(a.shape)


@_stands_for(np.size)
def _size(a: Any, axis: int | None = None) -> int:
    return int(np.prod(a.shape)) if axis is None else int(a.shape[axis])


def _matrix_power(a: Any, n: int) -> Any:
    if operator.index(n) < 1:
        raise TypeError(f"np.linalg.matrix_power of ciphertexts takes powers from 1 on, and not {n}: an inverse needs divisions")
    half = a if n == 1 else _matrix_power(a, n // 2)
    return half if n == 1 else half @ half if n % 2 == 0 else half @ half @ a


def _multi_dot(arrays: Any) -> Any:
    product, *rest = arrays
    for factor in rest:
        product = product @ factor
    return product


_OF_ALGEBRA: dict[str, Callable[..., Any]] = {
    "cross": _linear.cross,
    "diagonal": lambda x, *, offset=0: _einsum.diagonal(x, offset, -2, -1),
    "matmul": lambda x1, x2: x1 @ x2,
    "matrix_power": _matrix_power,
    "matrix_transpose": lambda x: np.swapaxes(x, -1, -2),
    "multi_dot": _multi_dot,
    "outer": _linear.outer,
    "tensordot": lambda x1, x2, *, axes=2: _einsum.tensordot(x1, x2, axes),
    "trace": lambda x, *, offset=0: _einsum.trace(x, offset, -2, -1),
    "vecdot": lambda x1, x2, *, axis=-1: _of_vectors("vecdot", np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)),
}
_FUNCTIONS |= {getattr(np.linalg, name): function for name, function in _OF_ALGEBRA.items() if hasattr(np.linalg, name)}
if hasattr(np, "matrix_transpose"):
    _FUNCTIONS[np.matrix_transpose] = _OF_ALGEBRA["matrix_transpose"]
