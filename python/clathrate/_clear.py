"""The operations of programs on plain numbers: what a program computes without encryption."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as native

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How far outside of an interval, by its length, a number may be that an approximation gave.
_SLACK = 0.05

# What smooth functions are without an approximation.
_EXACT: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
    "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "tanh": np.tanh,
    "silu": lambda x: x / (1.0 + np.exp(-x)),
    "gelu": lambda x: x * np.vectorize(_normal, otypes=[float])(x),
    "exp": np.exp,
    "log": np.log,
    "inverse": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
    "inverse_sqrt": lambda x: 1.0 / np.sqrt(x),
}


def _normal(x: float) -> float:
    """The distribution function of a standard normal variable."""
    from math import erfc, sqrt

    return 0.5 * erfc(-x / sqrt(2.0))


def _axes(arguments: dict[str, Any]) -> Any:
    axes = arguments["axes"]
    return None if axes is None else tuple(axes)


def _moved(x: NDArray[Any], shape: Sequence[int], sources: Sequence[int]) -> NDArray[Any]:
    """The numbers at `sources`, zeros where there are none."""
    places = np.asarray(sources, dtype=np.int64)
    flat = x.reshape(-1)
    return np.where(places < 0, 0.0, flat[np.maximum(places, 0)]).reshape(tuple(shape))


def _summed(terms: NDArray[Any], shape: Sequence[int]) -> NDArray[Any]:
    return np.asarray(terms.reshape(-1, int(np.prod(shape, dtype=int))).sum(axis=0).reshape(tuple(shape)))


def _picked(x: NDArray[Any], rows: Any, columns: Any, single: bool) -> NDArray[Any]:
    picked = x if rows is None else x[rows]
    if columns is not None:
        picked = picked[..., columns[0] : columns[1]]
    return picked[0] if single else picked


def _softmax(x: NDArray[Any]) -> NDArray[Any]:
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def _variance(x: NDArray[Any], own: dict[str, Any]) -> NDArray[Any]:
    return np.asarray(np.var(x, axis=_axes(own), ddof=own["ddof"], keepdims=own["keepdims"]))


def _near(x: NDArray[Any], low: float, high: float) -> NDArray[Any]:
    """Numbers a little outside of an interval at its ends: they are results of approximations, which may be off by a little."""
    inside = np.clip(x, low, high)
    return np.where(np.abs(x - inside) <= _SLACK * (high - low), inside, x)


def _polynomial(x: NDArray[Any], coefficients: NDArray[Any], own: dict[str, Any]) -> NDArray[Any]:
    values = coefficients if np.any(coefficients.imag) else coefficients.real
    return np.asarray(native.Polynomial(values, own["basis"], tuple(own["domain"]))(x))


def _root(squares: NDArray[Any], own: dict[str, Any]) -> NDArray[Any]:
    low, high = own["domain"]
    return np.asarray(native.root_of_squares(_near(squares, low * low, high * high), own["error"], (low, high)))


class Clear:
    """A program on plain numbers.

    Parameters
    ----------
    program : native.Program
        The program.
    exact : bool
        Whether functions are themselves, or the approximations that encrypted arrays have.
    plain : sequence of ndarray
        The plain inputs.
    """

    def __init__(self, program: native.Program, exact: bool, plain: Sequence[NDArray[Any]] = ()) -> None:
        nodes, self._constants, self._places, self._results = program.parts()
        self._nodes = json.loads(nodes)
        self._exact = exact
        self._plain = plain

    @property
    def results(self) -> list[int]:
        """The numbers of the values that are results."""
        return self._results

    def values(self, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
        """Every value of the program: the inputs, then the result of each operation."""
        values = [np.asarray(own) for own in inputs]
        for node in self._nodes:
            operation = node["operation"]
            name, own = (operation, {}) if isinstance(operation, str) else next(iter(operation.items()))
            operands = [self._operand(values, operand) for operand in node["operands"]]
            values.append(np.asarray(getattr(self, f"_{name}")(own, *operands)))
        return values

    def _operand(self, values: list[NDArray[Any]], operand: dict[str, Any]) -> Any:
        ((kind, content),) = operand.items()
        if kind == "value":
            return values[content]
        if kind == "plain":
            return self._plain[content]
        return self._constants[content] if kind == "constant" else content

    def _add(self, own: Any, x: Any, y: Any) -> Any:
        return x + y

    def _sub(self, own: Any, x: Any, y: Any) -> Any:
        return x - y

    def _sub_from(self, own: Any, x: Any, y: Any) -> Any:
        return y - x

    def _negate(self, own: Any, x: Any) -> Any:
        return -x

    def _mul(self, own: Any, x: Any, y: Any) -> Any:
        return x * y

    def _multiply(self, own: Any, x: Any, y: Any) -> Any:
        return x * y

    def _div(self, own: Any, x: Any, y: Any) -> Any:
        return x / y

    def _power(self, own: Any, x: Any) -> Any:
        return x ** own["exponent"]

    def _same(self, own: Any, x: Any) -> Any:
        return x

    _rescale = _cleared = _clear_padding = _with_bound = _converted = _in_slots = _bootstrap = _same

    def _conjugate(self, own: Any, x: Any) -> Any:
        return np.conj(x)

    def _real_part(self, own: Any, x: Any) -> Any:
        return np.real(x)

    def _imaginary_part(self, own: Any, x: Any) -> Any:
        return np.imag(x)

    def _rotate(self, own: Any, x: Any) -> Any:
        return np.roll(x, -own["steps"], axis=-1)

    def _repeat_column(self, own: Any, x: Any) -> Any:
        return np.repeat(x, own["columns"], axis=-1)

    def _chosen_from(self, own: Any, chosen: Any, x: Any, y: Any) -> Any:
        return chosen

    def _polynomial(self, own: Any, x: Any, coefficients: Any) -> Any:
        return _polynomial(x, coefficients, own)

    def _sum(self, own: Any, x: Any) -> Any:
        return x.sum(axis=_axes(own), keepdims=own["keepdims"])

    def _mean(self, own: Any, x: Any) -> Any:
        return x.mean(axis=_axes(own), keepdims=own["keepdims"])

    def _variance(self, own: Any, x: Any) -> Any:
        return _variance(x, own)

    def _product(self, own: Any, x: Any) -> Any:
        return x.prod(axis=_axes(own), keepdims=own["keepdims"])

    def _sum_rows(self, own: Any, x: Any) -> Any:
        return x.sum(axis=0)

    def _dot(self, own: Any, x: Any, y: Any) -> Any:
        return np.dot(x, y)

    def _times_vector(self, own: Any, x: Any, y: Any) -> Any:
        return x @ y

    def _left_multiply(self, own: Any, x: Any, weights: Any) -> Any:
        return weights @ x

    def _map_rows(self, own: Any, x: Any, matrix: Any) -> Any:
        return x @ matrix if own["row_first"] else x @ matrix.T

    def _einsum(self, own: Any, x: Any, y: Any) -> Any:
        return np.einsum(own["subscripts"], x, y)

    def _transposed(self, own: Any, x: Any) -> Any:
        return np.swapaxes(x, -1, -2)

    def _permuted(self, own: Any, x: Any) -> Any:
        return np.transpose(x, own["axes"])

    def _mapped(self, own: Any, x: Any, factors: Any) -> Any:
        return _summed(x.reshape(-1)[self._places[own["sources"]]] * factors, own["shape"])

    def _convolved(self, own: Any, x: Any, kernel: Any) -> Any:
        given, made = own.get("from"), own.get("to")
        images = x if given is None else _moved(x, given["shape"], self._places[given["places"]])
        how = own["convolution"]
        stride, padding, dilation = (tuple(how[name]) for name in ("stride", "padding", "dilation"))
        result = native.convolved(images, kernel, stride, padding, dilation, how["groups"])
        return result if made is None else _moved(result, made["shape"], self._places[made["places"]])

    def _pick(self, own: Any, x: Any) -> Any:
        return _picked(x, own["rows"], own["columns"], own["single"])

    def _pick_column(self, own: Any, x: Any) -> Any:
        return _picked(x, own["rows"], None, own["single"])[..., own["column"]]

    def _pick_entry(self, own: Any, x: Any) -> Any:
        return x[own["place"]]

    def _pick_entries(self, own: Any, x: Any) -> Any:
        start, end = own["places"]
        return x[start:end]

    def _reshaped(self, own: Any, x: Any) -> Any:
        return x.reshape(own["shape"])

    def _gathered(self, own: Any, x: Any) -> Any:
        return _moved(x, own["shape"], self._places[own["sources"]])

    def _concatenate(self, own: Any, *parts: Any) -> Any:
        return np.concatenate([part if part.ndim > 1 else part.reshape(1, -1) for part in parts])

    def _join_columns(self, own: Any, *parts: Any) -> Any:
        return np.concatenate(parts, axis=-1)

    def _pad_columns(self, own: Any, x: Any) -> Any:
        return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(own["before"], own["after"])])

    def _smooth(self, own: Any, x: Any) -> Any:
        x = x * own.get("unit", 1.0)
        if self._exact:
            return _EXACT[own["function"]](x)
        return native.smooth(own["function"], _near(x, *own["domain"]), own["error"], tuple(own["domain"]))

    def _std(self, own: Any, x: Any) -> Any:
        variance = _variance(x, own)
        return np.sqrt(variance) if self._exact else _root(variance, own)

    def _norm(self, own: Any, x: Any) -> Any:
        squares = np.asarray((x * x).sum(axis=_axes(own), keepdims=own["keepdims"]))
        return np.sqrt(squares) if self._exact else _root(squares, own)

    def _softmax(self, own: Any, x: Any) -> Any:
        return _softmax(x) if self._exact else native.softmax(_near(x, -own["bound"], own["bound"]), own["error"], own["bound"])

    def _sign(self, own: Any, x: Any) -> Any:
        return np.sign(x) if self._exact else native.sign(_near(x, -own["bound"], own["bound"]), own["margin"], own["error"], own["bound"])

    def _absolute(self, own: Any, x: Any) -> Any:
        return np.abs(x) if self._exact else native.absolute(_near(x, -own["bound"], own["bound"]), own["error"], own["bound"])

    def _relu(self, own: Any, x: Any) -> Any:
        return np.maximum(x, 0.0) if self._exact else native.relu(_near(x, -own["bound"], own["bound"]), own["error"], own["bound"])

    def _maximum(self, own: Any, x: Any, y: Any) -> Any:
        return self._extreme(np.maximum, native.maximum, own, x, y)

    def _minimum(self, own: Any, x: Any, y: Any) -> Any:
        return self._extreme(np.minimum, native.minimum, own, x, y)

    def _extreme(self, exact: Any, approximated: Any, own: Any, x: Any, y: Any) -> Any:
        if self._exact:
            return exact(x, y)
        x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
        return approximated(x, y, own["error"], own["bound"])
