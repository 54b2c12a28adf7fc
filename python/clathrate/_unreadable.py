"""What encrypted arrays refuse, because it would need the numbers, and what NumPy asks of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from ._reading import numbers, plain, refuse_library_of_caller

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_COMPARED = (
    "a ciphertext cannot be compared: decrypt it first with `secret_key.decrypt(ct)`, or compute with `cl.functions.sign`, "
    "`cl.functions.maximum` and "
    "`cl.functions.minimum`"
)
_CONSTANT = (
    "a ciphertext does not change: make another one with `cl.functions.where(mask, x, y)`, or of encrypted parts with "
    "`cl.functions.concatenate`"
)
_ITERATED = (
    "a ciphertext cannot be iterated over: loop over places, `[x[i:i + 1] for i in range(len(x))]`, or decrypt it first with "
    "`secret_key.decrypt(ct)`"
)
_NO_NUMBERS = (
    "a ciphertext is no array of numbers: of a list of ciphertexts take `sum(cts)`, `sum(cts) / len(cts)` for the mean, or "
    "`cl.functions.stack(cts)` for one encrypted matrix of vectors, and store the list with `pickle.dump(cts, file)`; the numbers of one "
    "are "
    "`secret_key.decrypt(ct)`"
)
_EXPONENT = (
    "a ciphertext is no exponent: use `cl.functions.exp`, which is told by `domain=(lowest, highest)` between which numbers its "
    "argument is; 2^x is "
    "the exponential of `x * math.log(2)`"
)
_DIVISOR = (
    "a ciphertext is no divisor: multiply by `cl.functions.inverse(ct, domain=(low, high))`, an approximation of the inverse on an "
    "interval without "
    "zero"
)


def _refuse(what: str) -> NoReturn:
    raise TypeError(f"{what}: decrypt it first with `secret_key.decrypt(ct)`")


def _refuse_view(what: str) -> NoReturn:
    raise TypeError(
        f"{what} of the view of a transposed matrix: compute with the ciphertext itself and transpose the result, or with the rows of the "
        "view, `x.T.to_rows()`"
    )


class Unreadable:
    """NumPy's protocols of an encrypted array. What is refused is hidden from type checkers, so that they refuse it too."""

    __slots__ = ()
    _native: Any

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[np.object_]:
        refuse_library_of_caller()
        raise TypeError(_NO_NUMBERS)

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        from ._numpy import array_function

        return array_function(function, arguments, keywords)

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        from ._numpy import array_ufunc

        return array_ufunc(ufunc, method, operands, keywords)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from ._numpy import missing_attribute

            raise AttributeError(missing_attribute(self, name), name=name, obj=self)

        def __eq__(self, other: object) -> NoReturn:
            raise TypeError(_COMPARED)

        __hash__ = None
        __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

        def __setitem__(self, index: object, value: object) -> NoReturn:
            raise TypeError(_CONSTANT)

        def __delitem__(self, index: object) -> NoReturn:
            raise TypeError(_CONSTANT)

        def __bool__(self) -> NoReturn:
            _refuse("a ciphertext has no truth value")

        def __float__(self) -> NoReturn:
            _refuse("a ciphertext is no number")

        __int__ = __complex__ = __float__

        def __contains__(self, value: object) -> NoReturn:
            _refuse("a ciphertext cannot be searched")

        def __iter__(self) -> NoReturn:
            raise TypeError(_ITERATED)

        def __abs__(self) -> NoReturn:
            raise TypeError(
                "abs() does not take ciphertexts: use `cl.functions.absolute` of real numbers, which is told by `bound=` how large they are"
            )

        def __rpow__(self, base: object, modulus: object = None) -> NoReturn:
            refuse_exponent(self)

        def __rtruediv__(self, other: object) -> NoReturn:
            refuse_divisor(self)


def refuse_exponent(exponent: object) -> None:
    """Refuses an encrypted exponent."""
    if isinstance(exponent, Unreadable):
        raise TypeError(_EXPONENT)


def refuse_divisor(divisor: object) -> None:
    """Refuses to divide by encrypted numbers."""
    if isinstance(divisor, Unreadable):
        raise TypeError(_DIVISOR)


class UnreadableView(Unreadable):
    """As `Unreadable`, of a matrix read by columns."""

    __slots__ = ()

    def _in_slots(self) -> bool:
        """Whether the view stands for its rows, which a gather makes."""
        return bool(self._native.T.encoding == "slots")

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[np.object_]:
        refuse_library_of_caller()
        _refuse_view("no numbers are read, and no function of numbers is taken,")

    if not TYPE_CHECKING:

        def __iter__(self) -> NoReturn:
            _refuse_view("no loop goes over the rows")

        def __abs__(self) -> NoReturn:
            _refuse_view("no absolute value is taken")

        def __pow__(self, exponent: object, modulus: object = None) -> Any:
            if self._in_slots():
                return self.to_rows().__pow__(exponent, modulus)
            _refuse_view("no power is taken")

        def __getattr__(self, name: str) -> Any:
            from ._ciphertext import Ciphertext
            from ._ciphertext.figures import Figures

            # Where an array stands is known without moving its numbers.
            if isinstance(getattr(Figures, name, None), property) and self._in_slots():
                return getattr(self.T, name)
            if hasattr(Ciphertext, name) and not name.startswith("_") and self._in_slots():
                return getattr(self.to_rows(), name)
            return super().__getattr__(name)


def entry_by_entry(x: Any) -> Any:
    """A view in slots as a ciphertext, and anything else as it is."""
    is_view = isinstance(x, UnreadableView) and x._in_slots()
    return x.to_rows() if is_view else x


def axes_of(other: Any) -> int:
    """The number of axes of an operand, as far as it says so itself."""
    shape = getattr(other, "shape", None)
    return len(shape) if isinstance(shape, tuple) else 0 if shape is None else len(tuple(shape))


def operand(other: Any) -> Any:
    """The other side of an operator, for the extension; `NotImplemented` for objects with operators of their own."""
    return other._native if isinstance(other, Unreadable) else plain(other)


def factor(other: Any) -> Any:
    """The other side of a matrix product, for the extension."""
    return other._native if isinstance(other, Unreadable) else numbers(other)
