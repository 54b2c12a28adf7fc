"""The types of arguments, and of functions that take encrypted and plain arrays alike: an encrypted one gives a ciphertext."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, Protocol, SupportsIndex, TypeAlias, TypedDict, cast, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._ciphertext import Ciphertext

AnyPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Encoding: TypeAlias = Literal["slots", "coefficients"]
BodyAxis: TypeAlias = Literal["rows", "chunks"]
Order: TypeAlias = Literal["natural", "bit-reversed"]
Progress: TypeAlias = bool | Callable[[int, int], object] | None
Isa: TypeAlias = Literal["scalar", "avx2", "ifma"]
Pair: TypeAlias = int | tuple[int, int]
Rescale: TypeAlias = Literal["automatic", "explicit"]
Switching: TypeAlias = (
    Literal["fastest", "tuned", "as_made"] | tuple[Literal["hybrid"], SupportsIndex] | tuple[Literal["klss"], SupportsIndex, SupportsIndex]
)


class PlainArray(Protocol):
    """An array of plain numbers."""

    def __array__(self) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


# What a ciphertext is divided by.
Plain: TypeAlias = complex | np.generic | PlainArray | Sequence[complex] | Sequence[Sequence[complex]]


class Segment(TypedDict):
    """Levels with a scale of their own."""

    name: str
    log2_scale: float
    levels: tuple[SupportsIndex, SupportsIndex]


class Primes(TypedDict):
    """The primes of parameters, by use."""

    steps: list[list[int]]
    special: list[int]
    temporary: list[int]
    auxiliary: list[int]


Options = ParamSpec("Options")


class OfOne(Protocol[Options]):
    """A function of one array."""

    __name__: str

    @overload
    def __call__(self, x: Ciphertext, *args: Options.args, **kwargs: Options.kwargs) -> Ciphertext: ...
    @overload
    def __call__(self, x: ArrayLike, *args: Options.args, **kwargs: Options.kwargs) -> NDArray[Any]: ...


class OfTwo(Protocol[Options]):
    """A function of two arrays."""

    __name__: str

    @overload
    def __call__(self, x: Ciphertext, y: Ciphertext | ArrayLike, *args: Options.args, **kwargs: Options.kwargs) -> Ciphertext: ...
    @overload
    def __call__(self, x: ArrayLike, y: Ciphertext, *args: Options.args, **kwargs: Options.kwargs) -> Ciphertext: ...
    @overload
    def __call__(self, x: ArrayLike, y: ArrayLike, *args: Options.args, **kwargs: Options.kwargs) -> NDArray[Any]: ...


def of_one(function: Callable[Concatenate[Any, Options], Any]) -> OfOne[Options]:
    """The same function, for type checkers one of an encrypted or a plain array."""
    return cast("OfOne[Options]", function)


def of_two(function: Callable[Concatenate[Any, Any, Options], Any]) -> OfTwo[Options]:
    """The same function, for type checkers one of two arrays."""
    return cast("OfTwo[Options]", function)
