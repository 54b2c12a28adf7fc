"""Python objects in front of those of the extension: what all classes have, what plans share, and how arguments cross.

A class of the package holds an object of the extension, `_native`. Its methods hand arguments over by `unwrap`, and make objects of what
comes back by `_of`, by `wrap` where the class is known at run time alone, and by `encrypted` in the modules of `Ciphertext`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast
from weakref import WeakValueDictionary

import numpy as np

from ._pickle import call
from ._text import report_html

if TYPE_CHECKING:
    from typing import Self

    from . import _native as native
    from ._ciphertext import Ciphertext
    from ._needs import Needs

_Init = TypeVar("_Init", bound=Callable[..., None])

# The class that stands in front of each class of the extension.
_FRONTS: dict[type, type[Wrapped]] = {}

# The objects in front of those of the extension that several objects share, by their identity.
_SHARED: WeakValueDictionary[int, Any] = WeakValueDictionary()


def path_of(cls: type) -> str:
    """The class as users find it, such as `clathrate.plans.Polynomial`."""
    return f"{cls.__module__}.{cls.__name__}"


class Wrapped:
    """An object in front of one of the extension."""

    __slots__ = ("__weakref__", "_native")
    _native: Any
    _Native: ClassVar[Any]

    def __init_subclass__(cls, of: type | None = None) -> None:
        super().__init_subclass__()
        if hasattr(cls, "_Native"):
            raise TypeError(f"type '{path_of(cls.__base__) if cls.__base__ else ''}' is not an acceptable base type")
        if of is not None:
            cls._Native = of
            _FRONTS[of] = cls

    def __init__(self) -> None:
        raise TypeError(f"cannot create '{path_of(type(self))}' instances")

    def _hold(self, native: Any) -> None:
        self._native = native

    @classmethod
    def _of(cls, native: Any) -> Self:
        """The object in front of `native`."""
        made = object.__new__(cls)
        made._native = native
        return made

    def __repr__(self) -> str:
        return repr(self._native)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle '{path_of(type(self))}' object")


class Shared(Wrapped):
    """An object that several others share: one object of the extension has one object in front of it."""

    __slots__ = ()

    def _hold(self, native: Any) -> None:
        self._native = native
        _SHARED[id(native)] = self

    @classmethod
    def _of(cls, native: Any) -> Self:
        found: Self | None = _SHARED.get(id(native))
        if found is None:
            found = super()._of(native)
            _SHARED[id(native)] = found
        return found


class Valued(Wrapped):
    """An object that equals another of the same value."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Valued) and bool(self._native == other._native)

    def __hash__(self) -> int:
        return hash(self._native)


class Plan(Wrapped):
    """A plan, which is made once and used often. A pickle names the call that made it, and the process that reads the pickle plans anew."""

    __slots__ = ("_made_by",)
    _made_by: tuple[Callable[..., Any], dict[str, Any]]

    @property
    def needs(self) -> Needs:
        """The evaluation keys that the plan needs, for `SecretKey.evaluation_keys` under the parameters that it was made with."""
        needs: Needs = wrap(self._native.needs)
        return needs

    if TYPE_CHECKING:
        explain: Any

    def _repr_html_(self) -> str:
        return report_html(str(self.explain()))

    def __reduce__(self) -> tuple[Any, ...]:
        return call, self._made_by


def remembered(init: _Init) -> _Init:
    """The same constructor of a plan, which remembers its arguments for pickles."""
    signature = inspect.signature(init)

    @wraps(init)
    def made(self: Any, /, *arguments: Any, **keywords: Any) -> None:
        init(self, *arguments, **keywords)
        given = signature.bind(self, *arguments, **keywords).arguments
        del given["self"]
        if "weights" in given:
            # The numbers may change in the caller's array.
            given["weights"] = np.array(given["weights"], dtype=np.float64)
        self._made_by = type(self), given

    return cast("_Init", made)


def unwrap(argument: Any) -> Any:
    """The object of the extension behind an argument; anything else as it is, for the extension to take or to refuse."""
    return argument._native if isinstance(argument, Wrapped) else argument


def unwrap_all(arguments: Any) -> Any:
    """As `unwrap`, for each of several."""
    if isinstance(arguments, Wrapped) or not isinstance(arguments, Iterable):
        return unwrap(arguments)
    return [unwrap(argument) for argument in arguments]


def wrap(result: Any) -> Any:
    """The object in front of a result of the extension; numbers, arrays and `NotImplemented` as they are."""
    front = _FRONTS.get(type(result))
    return result if front is None else front._of(result)


def encrypted(result: native.Ciphertext) -> Ciphertext:
    """As `wrap`, of an encrypted array."""
    return cast("Ciphertext", wrap(result))
