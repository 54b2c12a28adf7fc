"""What a computation needs, found by running it on a symbol of a ciphertext: no keys, no data, no time.

A `Symbolic` has the operators and methods of a `Ciphertext` and follows the same rules for shapes, levels and scales (a test runs both and
compares), but instead of computing it writes down which evaluation keys each step would use, and at what level.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ._native import EvaluationKeys, Needs, Params
from .errors import DataError, LevelError, ScaleError, ShapeError

if TYPE_CHECKING:
    from ._native import _Encoding

# The evaluator's rules for scales: equal up to this; an integer factor may round by one unit of the integers.
_SCALE_TOLERANCE = 1e-11
_LARGEST_FACTOR = 2.0**100


def _same_scale(x: float, y: float) -> bool:
    return abs(x / y - 1.0) < _SCALE_TOLERANCE


def _factor_tolerance(scale: float) -> float:
    return max(_SCALE_TOLERANCE, 1.0 / scale)


class _Recorder:
    """Keys used so far, each with the highest level it was used at."""

    def __init__(self) -> None:
        self.needs = Needs()

    def relinearise(self, level: int) -> None:
        self.needs = self.needs | Needs(relinearise=True, level=level)

    def conjugate(self, level: int) -> None:
        self.needs = self.needs | Needs(conjugate=True, level=level)

    def rotate(self, steps: int, level: int) -> None:
        self.needs = self.needs | Needs(rotations=[steps], level=level)


class Symbolic:
    """A ciphertext's shape, encoding, level and scale without its data; made by `trace`.

    Operators and methods are those of `Ciphertext`, with the same errors for shapes, encodings, levels and scales.
    """

    __array_ufunc__: ClassVar[None] = None
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(
        self, params: Params, shape: tuple[int, ...], encoding: _Encoding, level: int, scale: float, is_complex: bool, recorder: _Recorder
    ) -> None:
        self._params = params
        self._shape = shape
        self._encoding: _Encoding = encoding
        self._level = level
        self._scale = scale
        self._is_complex = is_complex
        self._recorder = recorder

    @property
    def params(self) -> Params:
        """The parameters."""
        return self._params

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the encrypted array."""
        return self._shape

    @property
    def encoding(self) -> _Encoding:
        """The encoding: "slots" or "coefficients"."""
        return self._encoding

    @property
    def level(self) -> int:
        """Level: rescales that are left."""
        return self._level

    @property
    def scale(self) -> float:
        """What the numbers are multiplied by."""
        return self._scale

    @property
    def is_complex(self) -> bool:
        """Whether entries are complex."""
        return self._is_complex

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Number of entries."""
        return math.prod(self._shape)

    def __repr__(self) -> str:
        return f'Symbolic(shape={self._shape}, encoding="{self._encoding}", level={self._level}, scale=2**{math.log2(self._scale):.2f})'

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("an encrypted scalar has no length")
        return self._shape[0]

    def _with(
        self,
        *,
        level: int | None = None,
        scale: float | None = None,
        shape: tuple[int, ...] | None = None,
        is_complex: bool = False,
    ) -> Symbolic:
        return Symbolic(
            self._params,
            self._shape if shape is None else shape,
            self._encoding,
            self._level if level is None else level,
            self._scale if scale is None else scale,
            self._is_complex or is_complex,
            self._recorder,
        )

    # Scales and levels, as the evaluator has them.

    def _step_product(self, level: int) -> float:
        return float(2.0 ** (self._params.log2_q(level) - self._params.log2_q(level - 1)))

    def _check_scale(self, scale: float, level: int) -> float:
        room = self._params.log2_q(level)
        if scale < 1.0 or math.log2(scale) + 1.0 > room:
            raise ScaleError(f"scale 2^{math.log2(scale):.2f} is out of range at level {level}: the modulus has {room:.1f} bits")
        return scale

    @staticmethod
    def _level_error(what: str) -> LevelError:
        return LevelError(
            f"{what} needs level 1 or higher, the ciphertext is at level 0: start from a higher level or use parameters with more levels"
        )

    def _product_scale(self, what: str) -> float:
        """The scale of a product with plain numbers: rescaled, it is the next level's."""
        if self._level == 0:
            raise self._level_error(what)
        return self._check_scale(self._params.scale(self._level - 1) * self._step_product(self._level), self._level)

    def _lower(self, level: int, scale: float) -> Symbolic:
        if _same_scale(self._scale, scale):
            return self._with(level=level, scale=self._check_scale(scale, level))
        factor = scale * self._step_product(level + 1) / self._scale
        whole = float(round(factor))
        if whole > 0 and 0.5 / whole <= _factor_tolerance(scale) and whole <= _LARGEST_FACTOR:
            return self._with(level=level, scale=self._check_scale(scale, level))
        below = self._level - 1
        if not _same_scale(self._scale / self._step_product(self._level), self._params.scale(below)):
            return self._with(level=level, scale=self._check_scale(self._scale, level))
        rescaled = self.rescale()
        return rescaled if below == level else rescaled._lower(level, scale)

    def _align(self, other: Symbolic) -> tuple[int, float]:
        x, y = self, other
        if x._level > y._level:
            x = x._lower(y._level, y._scale)
        elif y._level > x._level:
            y = y._lower(x._level, x._scale)
        large, small = max(x._scale, y._scale), min(x._scale, y._scale)
        if _same_scale(large, small):
            return x._level, x._scale
        factor = round(large / small)
        if factor > _LARGEST_FACTOR or abs(large / small / factor - 1.0) > _factor_tolerance(small):
            raise ScaleError(
                f"scales 2^{math.log2(x._scale):.4f} and 2^{math.log2(y._scale):.4f} do not match: "
                "rescale one operand, or encode the other at its scale"
            )
        return x._level, large

    def _check_pair(self, other: Symbolic, what: str) -> None:
        if self._encoding != other._encoding:
            raise ShapeError(f"{what} needs {self._encoding}, got {other._encoding}: encrypt with that encoding")
        if self._shape != other._shape:
            raise ShapeError(f"{what}: shapes {list(self._shape)} and {list(other._shape)} do not fit: ciphertexts combine at equal shapes")

    def _check_slots(self, what: str) -> None:
        if self._encoding != "slots":
            raise ShapeError(f"{what} needs slots, got {self._encoding}: encrypt with that encoding")

    def _numbers(self, data: ArrayLike, what: str) -> np.ndarray[Any, Any]:
        array = np.asarray(data)
        if array.dtype.kind not in "biufc":
            raise TypeError(f"an array of dtype {array.dtype} holds no numbers: use integers, floats or complex numbers")
        try:
            fits = np.broadcast_shapes(array.shape, self._shape) == self._shape
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(
                f"{what}: shapes {list(self._shape)} and {list(array.shape)} do not fit: the array must broadcast to the "
                f"ciphertext's shape {list(self._shape)}, which an operation keeps"
            )
        return array

    @staticmethod
    def _is_operand(other: object) -> bool:
        return isinstance(other, int | float | complex | list | tuple) or hasattr(other, "__array__")

    # Operators.

    def _sum(self, other: Any, what: str) -> Any:
        if isinstance(other, Symbolic):
            self._check_pair(other, what)
            level, scale = self._align(other)
            return self._with(level=level, scale=scale, is_complex=other._is_complex)
        if not self._is_operand(other):
            return NotImplemented
        array = self._numbers(other, what)
        is_complex = array.dtype.kind == "c"
        if is_complex and self._encoding != "slots":
            raise ShapeError("complex data needs slots, got coefficients: encrypt with that encoding")
        return self._with(is_complex=is_complex)

    def __add__(self, other: Any) -> Any:
        return self._sum(other, "addition")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._sum(other, "subtraction")

    def __rsub__(self, other: Any) -> Any:
        return self._sum(other, "subtraction")

    def __mul__(self, other: Any) -> Symbolic:
        if isinstance(other, Symbolic):
            return self.multiply(other, rescale=False)
        if not self._is_operand(other):
            return NotImplemented
        return self._scaled(other, "an element-wise product")

    __rmul__ = __mul__

    def _scaled(self, other: ArrayLike, what: str) -> Symbolic:
        array = self._numbers(other, what)
        if array.ndim == 0 and array.dtype.kind != "c":
            if float(array).is_integer():
                return self._with()
            return self._with(scale=self._product_scale("a product with a fraction"))
        self._check_slots("an element-wise product")
        return self._with(scale=self._product_scale("an element-wise product"), is_complex=array.dtype.kind == "c")

    def __truediv__(self, other: Any) -> Symbolic:
        if isinstance(other, Symbolic):
            raise TypeError("a ciphertext is no divisor: multiply by an approximation of its inverse")
        if not self._is_operand(other):
            return NotImplemented
        array = np.asarray(other)
        if array.ndim == 0 and array == 0:
            raise ZeroDivisionError("division of a ciphertext by zero")
        return self._scaled(1.0 / array, "a division")

    def __rtruediv__(self, other: Any) -> Symbolic:
        raise TypeError("a ciphertext is no divisor: multiply by an approximation of its inverse")

    def __pow__(self, exponent: Any) -> Symbolic:
        if exponent != 2:
            raise ValueError("the only power is `ct ** 2`: multiply and rescale for the others")
        return self.multiply(self, rescale=False)

    def __neg__(self) -> Symbolic:
        return self._with()

    def __pos__(self) -> Symbolic:
        return self

    def __rmatmul__(self, weights: ArrayLike) -> Symbolic:
        return self.matmul(weights)

    def __matmul__(self, other: Any) -> Symbolic:
        raise TypeError("`ct @ W` is not available: the plain matrix goes on the left; encrypt the transpose and compute `W.T @ ct`")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a ciphertext cannot be compared: decrypt it first with `secret_key.decrypt(ct)`")

    def __bool__(self) -> bool:
        raise TypeError("a ciphertext has no truth value: decrypt it first with `secret_key.decrypt(ct)`")

    def __float__(self) -> float:
        raise TypeError("a ciphertext is no number: decrypt it first with `secret_key.decrypt(ct)`")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("a ciphertext is no array of numbers: decrypt it first with `secret_key.decrypt(ct)`")

    # Methods.

    def matmul(self, weights: ArrayLike, weight_scale: float | None = None, progress: object = None) -> Symbolic:
        """As `Ciphertext.matmul`; needs no key."""
        shape = np.shape(weights)
        if len(shape) != 2 or len(self._shape) != 2 or shape[1] != self._shape[0]:
            raise ShapeError(
                f"a matrix product: shapes {list(shape)} and {list(self._shape)} do not fit: a plain matrix (rows, inner) and an encrypted "
                "matrix (inner, columns)"
            )
        if weight_scale is None:
            scale = self._product_scale("a product with a real matrix")
        else:
            scale = self._check_scale(self._scale * weight_scale, self._level)
        return self._with(scale=scale, shape=(shape[0], self._shape[1]))

    def multiply(self, other: Symbolic, rescale: bool = True) -> Symbolic:
        """As `Ciphertext.multiply`; needs a relinearisation key."""
        self._check_pair(other, "a product of ciphertexts")
        self._check_slots("a product of ciphertexts")
        level = min(self._level, other._level)
        x, y = self.drop_to_level(level), other.drop_to_level(level)
        scale = self._check_scale(x._scale * y._scale, level)
        self._recorder.relinearise(level)
        product = x._with(scale=scale, is_complex=other._is_complex)
        return product.rescale() if rescale else product

    def rescale(self) -> Symbolic:
        """As `Ciphertext.rescale`."""
        if self._level == 0:
            raise self._level_error("rescaling")
        level = self._level - 1
        scale, canonical = self._scale / self._step_product(self._level), self._params.scale(level)
        return self._with(level=level, scale=self._check_scale(canonical if _same_scale(scale, canonical) else scale, level))

    def drop_to_level(self, level: SupportsIndex) -> Symbolic:
        """As `Ciphertext.drop_to_level`."""
        level = operator.index(level)
        if not 0 <= level <= self._level:
            raise LevelError(f"cannot drop from level {self._level} to level {level}: levels only go down")
        if level == self._level:
            return self
        own = _same_scale(self._scale, self._params.scale(self._level))
        return self._lower(level, self._params.scale(level) if own else self._scale)

    def rotate(self, steps: SupportsIndex) -> Symbolic:
        """As `Ciphertext.rotate`; needs a key for `steps`, unless they are a multiple of the row's period."""
        self._check_slots("a rotation")
        columns = self._shape[-1] if self._shape else 1
        capacity = 1 << (columns - 1).bit_length()
        if capacity > self._params.slot_count:
            raise ShapeError(f"a rotation: rows of at most {self._params.slot_count} entries rotate; split the array")
        steps = operator.index(steps)
        if steps % capacity:
            self._recorder.rotate(steps, self._level)
        return self._with()

    def rotate_many(self, steps: Sequence[SupportsIndex]) -> list[Symbolic]:
        """As `Ciphertext.rotate_many`."""
        return [self.rotate(step) for step in steps]

    def conj(self) -> Symbolic:
        """As `Ciphertext.conj`; needs a conjugation key."""
        self._check_slots("conjugation")
        self._recorder.conjugate(self._level)
        return self._with()

    def with_keys(self, keys: EvaluationKeys | None) -> Symbolic:
        """Itself: a symbol finds out what keys are needed."""
        return self


@dataclass(frozen=True)
class Trace:
    """What a computation needs and gives.

    Attributes
    ----------
    needs : the evaluation keys, each at the highest level it is used at: `secret_key.evaluation_keys(trace.needs)`.
    inputs : the symbols the function was called with.
    result : what it returned: symbols with `shape`, `encoding`, `level` and `scale`.
    """

    needs: Needs
    inputs: tuple[Symbolic, ...]
    result: Any


def trace(
    function: Callable[..., Any],
    *shapes: Sequence[SupportsIndex],
    params: Params,
    encoding: _Encoding | None = None,
    level: SupportsIndex | None = None,
    scale: float | None = None,
    is_complex: bool = False,
) -> Trace:
    """Runs `function` on symbols of ciphertexts, one per shape, and tells the keys, levels and scales it would need.

    The keyword arguments are those of `SecretKey.encrypt` and have its defaults; `is_complex` stands for complex data.

    >>> cl.trace(lambda x: (x * x).rescale().rotate(1), (100,), params=params).needs
    Needs(relinearise: level 5, rotate 1: level 4)

    Errors: what the function would raise on ciphertexts: `ShapeError`, `LevelError`, `ScaleError`, `TypeError`.
    """
    recorder = _Recorder()
    inputs = []
    for given in shapes:
        shape = tuple(operator.index(axis) for axis in given)
        if len(shape) > 2 or any(axis < 1 for axis in shape):
            raise DataError(f"the array's shape is {list(shape)}: use at most two axes, none of them empty")
        chosen: _Encoding = encoding or ("coefficients" if len(shape) == 2 and not is_complex else "slots")
        if is_complex and chosen == "coefficients":
            raise ShapeError("complex data needs slots, got coefficients: encrypt with that encoding")
        at = params.max_level if level is None else operator.index(level)
        symbol = Symbolic(params, shape, chosen, at, params.scale(at), is_complex, recorder)
        inputs.append(symbol if scale is None else symbol._with(scale=symbol._check_scale(scale, at)))
    result = function(*inputs)
    return Trace(recorder.needs, tuple(inputs), result)
