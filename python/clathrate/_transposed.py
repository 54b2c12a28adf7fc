"""An encrypted matrix read by columns."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, ClassVar, final, overload

import numpy as np

from . import _native as native
from ._ciphertext import Ciphertext
from ._indexing import is_range, item_of_view
from ._unreadable import Unreadable, UnreadableView, factor, operand, refuse_divisor
from ._wrapping import Wrapped, unwrap, wrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._evaluation_keys import EvaluationKeys
    from ._typing import Progress


@final
class TransposedCiphertext(Wrapped, UnreadableView, of=native.TransposedCiphertext):
    """An encrypted matrix read by columns: `ct.T`, without any computation.

    The rows of an encrypted matrix are polynomials. This view has the same polynomials as columns. It is what the left factor of a product
    of encrypted matrices, and the factor of `x @ W` with a plain matrix W, has to be: encrypt the transposed matrix and take its view.
    `to_rows` makes an ordinary ciphertext of it, by switching keys.

    Operators: `view @ ct`, for an encrypted matrix, gives a ciphertext; `view @ W`, for a plain matrix, `view + x`, `view - x` and
    `view * x`, for plain numbers x, give views. `SecretKey.decrypt` takes views, too. `view[:, columns]` picks columns, by an integer, a
    slice or a list, and `view[2:5]` a range of rows. In slots a view has everything that a ciphertext has: what the view itself does not
    do is done with `view.to_rows()`, which takes rotations and a level.

    Examples
    --------
    >>> X = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], encoding="coefficients")
    >>> X.T.shape
    (2, 3)
    >>> y = X.T @ [[1.0], [0.0], [1.0]]
    >>> secret_key.decrypt(y.rescale()).round(4)
    array([[6.],
           [8.]])
    """

    __slots__ = ()
    _native: native.TransposedCiphertext

    __pandas_priority__: ClassVar[int] = 5000
    __hash__ = None  # type: ignore[assignment]

    @property
    def T(self) -> Ciphertext:
        """The ciphertext whose columns are the rows of this view."""
        return Ciphertext._of(self._native.T)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the transposed matrix."""
        return tuple(reversed(self.T.shape))

    @property
    def level(self) -> int:
        """The level: the number of rescales that are left."""
        return self.T.level

    @property
    def scale(self) -> float:
        """The scale: the factor between the numbers and the integers that are encrypted."""
        return self.T.scale

    def to_rows(self, progress: Progress = None) -> Ciphertext:
        """The same matrix as an ordinary ciphertext, whose rows are polynomials, by switching keys.

        In coefficients the transposition takes about 2.5 switches for each power of X that a polynomial has, and adds their errors. In
        slots it takes a level, and rotations for the distances that numbers move. `trace` finds the keys.

        Parameters
        ----------
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (switches done, switches in all) and may return False to stop.

        Returns
        -------
        Ciphertext
            The encrypted matrix.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they lack one of the rotations.
        ShapeError
            For complex numbers in coefficients.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> tiny = cl.Params.preset("insecure_tiny")
        >>> owner = cl.SecretKey.generate(tiny)
        >>> needs = cl.plans.trace(lambda x: x.T.to_rows(), (2, 3), params=tiny, encoding="coefficients").needs
        >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="coefficients")
        >>> rows = X.with_keys(owner.evaluation_keys(needs)).T.to_rows()
        >>> owner.decrypt(rows).round(3)
        array([[1., 4.],
               [2., 5.],
               [3., 6.]])
        """
        return Ciphertext._of(self._native.to_rows(progress))

    def with_keys(self, keys: EvaluationKeys | None) -> TransposedCiphertext:
        """The same view with evaluation keys attached, which results inherit.

        Parameters
        ----------
        keys : EvaluationKeys or None
            As `Ciphertext.with_keys` takes them.

        Returns
        -------
        TransposedCiphertext
            The same encrypted matrix.

        Raises
        ------
        ClathrateError
            As `Ciphertext.with_keys`.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
        >>> X.T.with_keys(keys).T.keys is keys
        True
        """
        return TransposedCiphertext._of(self._native.with_keys(unwrap(keys)))

    def rescale(self) -> TransposedCiphertext:
        """The same view one level lower, with the scale divided by the last step of the modulus, as `Ciphertext.rescale`.

        Returns
        -------
        TransposedCiphertext
            The same numbers, one level lower.

        Raises
        ------
        ClathrateError
            As `Ciphertext.rescale`.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
        >>> (X.T * 0.5).rescale().level == X.level - 1
        True
        """
        return TransposedCiphertext._of(self._native.rescale())

    @overload
    def matmul(self, other: Ciphertext, progress: Progress = None) -> Ciphertext: ...
    @overload
    def matmul(self, other: TransposedCiphertext | ArrayLike, progress: Progress = None) -> TransposedCiphertext: ...
    def matmul(self, other: Any, progress: Progress = None) -> Any:
        """The product with an encrypted matrix, or with a plain one, with progress. It is not rescaled.

        A product of encrypted matrices is exact up to the errors of encryption and of the rescale. Its rows are at the degree and rank of
        rows that were encrypted with `lanes`; `Ciphertext.pack` brings them together.

        Parameters
        ----------
        other : Ciphertext or array_like
            The right factor.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        Ciphertext or TransposedCiphertext
            The product with an encrypted matrix; a view of that with a plain one.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they lack some that a product of encrypted matrices needs.
        ShapeError
            Where the shapes do not fit, and unless the matrices are real, in coefficients, with a mask for each polynomial.
        LevelError
            At level 0.
        ScaleError
            Where the scale of the product leaves its level no room.
        DataError
            Where plain numbers are NaN, infinite or too large.
        WrongSecretError
            Where the other ciphertext belongs to another secret.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> tiny = cl.Params.preset("insecure_tiny")
        >>> owner = cl.SecretKey.generate(tiny)
        >>> needs = cl.plans.trace(lambda x, y: x.T @ y, (2, 2), (2, 2), params=tiny, encoding="coefficients").needs
        >>> x = owner.encrypt([[1.0, 3.0], [2.0, 4.0]], encoding="coefficients").with_keys(owner.evaluation_keys(needs))
        >>> y = owner.encrypt([[0.5, 0.0], [0.0, 0.25]], encoding="coefficients")
        >>> owner.decrypt(x.T.matmul(y).rescale()).round(3)
        array([[0.5, 0.5],
               [1.5, 1. ]])
        """
        return wrap(self._native.matmul(factor(other), progress))

    @overload
    def __matmul__(self, other: Ciphertext) -> Ciphertext: ...
    @overload
    def __matmul__(self, other: TransposedCiphertext | ArrayLike) -> TransposedCiphertext: ...
    def __matmul__(self, other: Any) -> Any:
        if self._in_slots() and not isinstance(other, Unreadable) and np.ndim(other) == 1:
            # The columns of the ciphertext, each times the vector.
            return other @ self.T
        return wrap(self._native.matmul(factor(other), None))

    def __rmatmul__(self, other: ArrayLike) -> Ciphertext:
        return self.to_rows().__rmatmul__(other)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> Any:
        if self._in_slots() and not is_range(index):
            return self.to_rows()[index]
        return wrap(item_of_view(self._native.T, index).T)

    def _operated(self, operator: str, other: Any) -> Any:
        """What an operator gives: a view for views and plain numbers, in slots a ciphertext for ciphertexts."""
        if isinstance(other, Ciphertext) and self._in_slots():
            return getattr(self.to_rows(), operator)(other)
        return TransposedCiphertext._of(getattr(self._native, operator)(_summand(other)))

    @overload
    def __add__(self, other: Ciphertext) -> Ciphertext: ...
    @overload
    def __add__(self, other: TransposedCiphertext | ArrayLike) -> TransposedCiphertext: ...
    def __add__(self, other: Any) -> Any:
        return self._operated("__add__", other)

    def __radd__(self, other: ArrayLike) -> TransposedCiphertext:
        return TransposedCiphertext._of(self._native.__add__(_summand(other)))

    @overload
    def __sub__(self, other: Ciphertext) -> Ciphertext: ...
    @overload
    def __sub__(self, other: TransposedCiphertext | ArrayLike) -> TransposedCiphertext: ...
    def __sub__(self, other: Any) -> Any:
        return self._operated("__sub__", other)

    def __rsub__(self, other: ArrayLike) -> TransposedCiphertext:
        return TransposedCiphertext._of(self._native.__rsub__(_summand(other)))

    @overload
    def __mul__(self, other: float) -> TransposedCiphertext: ...
    @overload
    def __mul__(self, other: Ciphertext | TransposedCiphertext | ArrayLike) -> Ciphertext: ...
    def __mul__(self, other: Any) -> Any:
        if self._in_slots() and (isinstance(other, Unreadable) or np.ndim(other) > 0):
            # A view times itself is a square.
            rows = self.to_rows()
            return rows * (rows if other is self else other)
        given = operand(other)
        return TransposedCiphertext._of(self._native.__mul__(other if given is NotImplemented else given))

    @overload
    def __rmul__(self, other: float) -> TransposedCiphertext: ...
    @overload
    def __rmul__(self, other: ArrayLike) -> Ciphertext: ...
    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __truediv__(self, other: float) -> TransposedCiphertext:
        refuse_divisor(other)
        given = operand(other)
        return TransposedCiphertext._of(self._native.__truediv__(other if given is NotImplemented else given))

    def __neg__(self) -> TransposedCiphertext:
        return TransposedCiphertext._of(self._native.__neg__())

    def __pos__(self) -> TransposedCiphertext:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.attrgetter("T"), (self.T,)

    def __repr__(self) -> str:
        return f"{self.T!r}.T"


def _summand(other: Any) -> Any:
    given = operand(other)
    if given is NotImplemented:
        raise TypeError("a view takes plain numbers, and views")
    return given
