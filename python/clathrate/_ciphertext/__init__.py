"""Encrypted arrays with NumPy's operators. A module beside this one has the methods of each kind."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, SupportsIndex, final

from .. import _native as native
from .._assume import warn_unbounded
from .._evaluation_keys import EvaluationKeys
from .._pickle import rebuild_symbol
from .._stored import Movable, Stored
from .._text import report_html
from .._unreadable import Unreadable
from .._wrapping import unwrap
from .bootstraps import Bootstraps
from .conversions import Conversions
from .figures import Figures
from .levels import Levels
from .operators import Operators
from .products import Products
from .reductions import Reductions
from .sharing import Sharing
from .slots import Slots


@final
class Ciphertext(
    Figures,
    Operators,
    Reductions,
    Products,
    Slots,
    Levels,
    Conversions,
    Bootstraps,
    Sharing,
    Movable,
    Stored,
    Unreadable,
    of=native.Ciphertext,
):
    """An encrypted array of numbers, with NumPy's operators.

    `SecretKey.encrypt` and `PublicKey.encrypt` make ciphertexts; `SecretKey.decrypt` gives the numbers back. Ciphertexts are immutable:
    operations give new ones and keep the shape.

    An array is encrypted in one of two encodings. In *slots*, `+`, `-` and `*` work element by element, and rows can be rotated. In
    *coefficients*, a polynomial holds twice as many numbers, for sums, products with plain numbers, and products with a plain matrix.

    The numbers are multiplied by a *scale* and rounded before they are encrypted. A product of two ciphertexts, or of a ciphertext and
    plain numbers, has the product of both scales. A *rescale* divides it by a step of the modulus, which restores the scale and lowers the
    *level* by one; the level is the number of rescales that are left. Only a product with an integer, a Python `int` or a NumPy one, takes
    no level; 2.0 does.

    Products are rescaled where they are used next: by another product, a rotation, a polynomial, a bootstrap, anything but sums and
    differences, so that a sum of products is rescaled once. Operands of different levels are brought to the lower one. Nothing has to be
    done for this; `scale` and `level` tell where an array stands, `rescale()` rescales at once, and `Runtime(rescale="explicit")` leaves it
    all to the caller.

    Operators: `ct + x`, `ct - x`, `ct * x`, on either side, where x is a ciphertext, an array, or a number, and shapes broadcast as in
    NumPy; `-ct`; `ct ** n` for whole n; `ct / x` for plain x; `W @ ct` for a plain matrix W, and `x @ y` for vectors. Pandas objects count
    as the arrays of their values. Reductions: `sum`, `prod`, `mean`, `var`, `dot`.

    For `W @ ct`, an encrypted matrix is in coefficients, and no key is needed. A vector in slots is multiplied, too, and `ct @ W`
    multiplies each row in slots: with the rotation keys of `LinearTransform(W).plan(params).needs`, or of `LinearTransform(W.T)`, at the
    cost of a level.

    Products of ciphertexts, rotations and conjugation use evaluation keys. `ct.with_keys(keys)` attaches them, and results inherit them.

    Indexing: `ct[rows]` picks rows of an encrypted matrix, as NumPy does, by an integer, a slice, or a list of integers or booleans. In
    coefficients, `ct[:, 2:5]` picks a range of columns and `ct[2:5]` a range of a vector, exactly and without a key. Of columns it has
    to be a range without steps. `None` makes an axis of length 1. The other numbers stay in the result, out of sight but not erased:
    whoever has the secret key can read them.

    Comparing a ciphertext, converting it to numbers and iterating over it raise `TypeError`: only the owner of the secret key can read it.

    Examples
    --------
    >>> x = secret_key.encrypt([1.0, 2.0, 3.0]).with_keys(keys)
    >>> y = 2 * x**3 + x - x.mean()
    >>> secret_key.decrypt(y).round(4)
    array([ 1., 16., 55.])
    """

    __slots__ = ()
    _native: native.Ciphertext

    # Pandas leaves operators to the operand of higher priority; its own go up to 4000.
    __pandas_priority__: ClassVar[int] = 5000
    __hash__ = None  # type: ignore[assignment]

    def with_keys(self, keys: EvaluationKeys | None, *, bootstrap_below: SupportsIndex | None = None) -> Ciphertext:
        """The same ciphertext with evaluation keys attached, which results inherit.

        Where both operands of an operator carry keys, the keys of the left one are used. Keys are shared, not copied, and are no part of
        files and pickles.

        Parameters
        ----------
        keys : EvaluationKeys or None
            The keys; None detaches them.
        bootstrap_below : int, optional
            Operators bootstrap an array by themselves where their result, rescaled, would be below this level and the keys can do it; at
            the lowest, the lower one of `params.application_levels`. `trace` finds the level that costs least. None, the default: no
            operator bootstraps by itself.

        Returns
        -------
        Ciphertext
            The same encrypted array.

        Raises
        ------
        WrongParamsError
            Where the keys were made for other parameters.
        WrongSecretError
            Where the keys belong to another secret.
        ParamsError
            Where `bootstrap_below` is given, and the parameters cannot bootstrap.
        DataError
            Where `bootstrap_below` is not a level of the application.

        Notes
        -----
        A bootstrap takes seconds, and numbers must be at most 1 in magnitude where one may come.

        Examples
        --------
        >>> secret_key.encrypt([1.0, 2.0]).with_keys(keys).keys is keys
        True
        """
        made = Ciphertext._of(self._native.with_keys(unwrap(keys), bootstrap_below=bootstrap_below))
        if bootstrap_below is not None and self.bound is None:
            warn_unbounded()
        return made

    @property
    def keys(self) -> EvaluationKeys | None:
        """The attached evaluation keys, or None."""
        found = self._native.keys
        return None if found is None else EvaluationKeys._of(found)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Names a stage of a computation: what is computed within `with ct.stage(name):` is a line of its own in the costs of `trace`.

        A stage within another has the names of both, with a slash between them. On ciphertexts with data it does nothing.

        Parameters
        ----------
        name : str
            The name of the stage.

        Returns
        -------
        context manager
            It opens and closes the stage.

        Examples
        --------
        >>> def squared(x):
        ...     with x.stage("square"):
        ...         return x.multiply(x)
        >>> [stage.name for stage in cl.plans.trace(squared, (100,), params=params).stages]
        ['square']
        """
        return self._native.stage(name)

    def _repr_html_(self) -> str:
        return report_html(self._native.description())

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # A symbol has no data to pickle.
        description = self._native.symbol_description()
        if description is not None:
            return rebuild_symbol, (self.params, *description)
        return super().__reduce_ex__(protocol)
