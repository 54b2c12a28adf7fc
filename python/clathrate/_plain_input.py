"""Plain inputs of programs, while a function is recorded."""

from __future__ import annotations

from typing import Any, NoReturn

from . import _native as native

_NO_NUMBERS = (
    "a plain input of a program has no numbers while the program is compiled: use it as it is, in that program, with an operator and an "
    "encrypted array (`x * w`, `x + w`, `w @ x`), and make what is computed from plain numbers alone an input of its own"
)


class PlainSymbol:
    """What a function is called with for an input that is given in the clear: an operand of encrypted arrays, without numbers yet.

    Parameters
    ----------
    symbol : native.PlainSymbol
        Which input it stands for.
    """

    def __init__(self, symbol: native.PlainSymbol) -> None:
        self._native = symbol

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return tuple(self._native.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a single number has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<plain input of shape {self.shape}>"

    def __array_ufunc__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise TypeError(_NO_NUMBERS)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise TypeError(_NO_NUMBERS)

    def __bool__(self) -> NoReturn:
        raise TypeError(_NO_NUMBERS)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise TypeError(_NO_NUMBERS)

    def __getitem__(self, index: Any) -> NoReturn:
        raise TypeError(_NO_NUMBERS)

    def _left_to_the_other(self, other: Any) -> Any:
        """An encrypted operand computes; others have no result."""
        from ._unreadable import Unreadable

        if isinstance(other, Unreadable):
            return NotImplemented
        raise TypeError(_NO_NUMBERS)

    def _has_no_numbers(self, *arguments: Any) -> NoReturn:
        raise TypeError(_NO_NUMBERS)

    # Whatever is compared has numbers; without these, identity would decide.
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _has_no_numbers
    __hash__ = None  # type: ignore[assignment]
    __neg__ = __pos__ = __abs__ = __float__ = __int__ = __complex__ = __index__ = __round__ = _has_no_numbers
    __iter__ = __contains__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = _has_no_numbers

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _left_to_the_other
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _left_to_the_other
