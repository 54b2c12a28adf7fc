"""The types of functions that take encrypted and plain arrays alike: an encrypted one gives a ciphertext, plain ones give numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, cast, overload

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from ._native import Ciphertext

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
