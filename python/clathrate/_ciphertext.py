"""Encrypted arrays with NumPy's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, cast, final, overload

import numpy as np

from . import _native as native
from ._assume import warn_unbounded
from ._evaluation_keys import EvaluationKeys
from ._indexing import item
from ._layout import Layout
from ._pickle import rebuild_symbol
from ._reading import numbers, refuse_matrix
from ._text import report_html
from ._unreadable import Unreadable, factor, operand, refuse_divisor, refuse_exponent
from ._wrapping import Stored, unwrap, wrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._bootstrap import BootstrapPlan
    from ._packing import PackingPlan
    from ._samples import SamplesPlan
    from ._transposed import TransposedCiphertext
    from ._typing import BodyAxis, Encoding, Plain, Progress


@final
class Ciphertext(Stored, Unreadable, of=native.Ciphertext):
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

    def _operated(self, operator: Callable[[Any], native.Ciphertext], other: Any) -> Ciphertext:
        """What an operator of the extension gives."""
        given = operand(other)
        if given is NotImplemented:
            return cast("Ciphertext", NotImplemented)
        refuse_matrix(other)
        return Ciphertext._of(operator(given))

    def __add__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__add__, other)

    def __radd__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__add__, other)

    def __sub__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__sub__, other)

    def __rsub__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__rsub__, other)

    def __mul__(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        return self._operated(self._native.__mul__, other)

    def __rmul__(self, other: ArrayLike) -> Ciphertext:
        return self._operated(self._native.__mul__, other)

    def __truediv__(self, other: Plain) -> Ciphertext:
        refuse_divisor(other)
        return self._operated(self._native.__truediv__, other)

    def __pow__(self, exponent: float, modulus: None = None) -> Ciphertext:
        refuse_exponent(exponent)
        # Complex numbers and spans of time of NumPy's turn into numbers without their other half.
        real = modulus is None and np.asarray(exponent).dtype.kind in "biufO"
        return Ciphertext._of(self._native.power(_as_float(exponent) if real else None))

    def __neg__(self) -> Ciphertext:
        return Ciphertext._of(self._native.__neg__())

    def __pos__(self) -> Ciphertext:
        return self

    @overload
    def __matmul__(self, other: Ciphertext | TransposedCiphertext) -> Ciphertext: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> Ciphertext | Any: ...
    def __matmul__(self, other: Any) -> Any:
        return wrap(self._native.__matmul__(factor(other)))

    def __rmatmul__(self, other: ArrayLike) -> Ciphertext:
        return Ciphertext._of(self._native.__rmatmul__(factor(other)))

    def __getitem__(self, index: Any) -> Ciphertext:
        return Ciphertext._of(item(self._native, index))

    @property
    def T(self) -> TransposedCiphertext | Any:
        """The matrix read by columns, without any computation; a vector is its own transpose."""
        if self.ndim != 2:
            return self
        return wrap(self._native.T)

    def sum(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Ciphertext:
        """The sum along an axis, as `numpy.sum`.

        Rows are added to each other without a key, in both encodings. The numbers of a row are added by rotations in slots, with the keys
        that `trace` finds, and without a key in coefficients. Padding that is not zero is cleared first, by a product that takes a level.
        In slots, sums of each row become a vector by a product that takes a level; `keepdims=True` leaves them a column, for nothing. Of
        rows that share polynomials (`lanes`) both take that level, and the sum of all rows takes rotations.

        Parameters
        ----------
        axis : int or tuple of int, optional
            The axis to add up: of a matrix, 0 adds its rows and 1 the numbers of each row. None, the default, adds up everything.
        keepdims : bool, optional
            True leaves axes of length 1 in place of those that were added up. The default is False.
        dtype : None, optional
            What `numpy.sum(ct)` and its like pass on. It cannot be chosen.
        out : None, optional
            The same.

        Returns
        -------
        Ciphertext
            The sums, of the shape that NumPy gives them; of everything a single number, of shape ().

        Raises
        ------
        MissingKeyError
            In slots, where no keys are attached, or they lack a rotation.
        ShapeError
            Where rows share a mask or a polynomial, and for sums of each row in coefficients without `keepdims`; with
            `Runtime(rescale="explicit")` where the padding is dirty.
        DataError
            For an axis that the array does not have.
        LevelError
            At level 0, where the sum needs a level.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="slots").with_keys(keys)
        >>> secret_key.decrypt(x.sum(axis=1)).round(4)
        array([ 6., 15.])
        >>> secret_key.decrypt(x.sum(axis=0)).round(4)
        array([5., 7., 9.])
        """
        return Ciphertext._of(self._native.sum(axis, keepdims, dtype=dtype, out=out))

    def prod(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Ciphertext:
        """The product along an axis, as `numpy.prod`: of each half with the other one, so that n numbers take log2(n) levels, rounded up.

        The rows of a matrix are multiplied with each other, entry by entry, and the numbers of a row with those that rotations by powers
        of two bring to their places. `trace` finds the keys.

        Parameters
        ----------
        axis : int or tuple of int, optional
            As `sum` takes it.
        keepdims : bool, optional
            As `sum` takes it. Without it, products of each row of a matrix take one level more, in which they become a vector.
        dtype : None, optional
            What `numpy.prod(ct)` passes on. It cannot be chosen.
        out : None, optional
            The same.

        Returns
        -------
        Ciphertext
            The products.

        Raises
        ------
        MissingKeyError
            Without the keys that `trace` finds.
        LevelError
            Where levels run out.
        ShapeError
            In coefficients, without the keys that convert the array to slots; for the numbers of rows that share polynomials or take
            several.
        DataError
            For an axis that the array does not have.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 6.0]).with_keys(keys)
        >>> float(secret_key.decrypt(x.prod()).round(3))
        12.0
        """
        return Ciphertext._of(self._native.prod(axis, keepdims, dtype=dtype, out=out))

    def mean(
        self, axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None, keepdims: bool = False, *, dtype: None = None, out: None = None
    ) -> Ciphertext:
        """The mean along an axis, as `numpy.mean`: the sum times the inverse of the count, which takes a level.

        Parameters
        ----------
        axis : int or tuple of int, optional
            As `sum` takes it.
        keepdims : bool, optional
            As `sum` takes it.
        dtype : None, optional
            What `numpy.sum(ct)` and its like pass on. It cannot be chosen.
        out : None, optional
            The same.

        Returns
        -------
        Ciphertext
            The means.

        Raises
        ------
        ClathrateError
            As `sum`.
        LevelError
            At level 0.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 6.0]).with_keys(keys)
        >>> secret_key.decrypt(x - x.mean()).round(4)
        array([-2., -1.,  3.])
        """
        return Ciphertext._of(self._native.mean(axis, keepdims, dtype=dtype, out=out))

    def var(
        self,
        axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
        ddof: SupportsIndex = 0,
        keepdims: bool = False,
        *,
        dtype: None = None,
        out: None = None,
    ) -> Ciphertext:
        """The variance along an axis, as `numpy.var`: the mean of the squared differences from the mean. It takes three levels of an array
        whose padding is zero, and one more where the variances of each row of a matrix become a vector, or rows share polynomials (`lanes`)
        with room behind them.

        Parameters
        ----------
        axis : int or tuple of int, optional
            As `sum` takes it.
        ddof : int, optional
            What is subtracted from the count that the squares are divided by: 1 for the unbiased estimate from a sample. The default is 0.
        keepdims : bool, optional
            As `sum` takes it.
        dtype : None, optional
            What `numpy.sum(ct)` and its like pass on. It cannot be chosen.
        out : None, optional
            The same.

        Returns
        -------
        Ciphertext
            The variances; of complex numbers, those of the differences' magnitudes.

        Raises
        ------
        ClathrateError
            As `sum`.
        ShapeError
            In coefficients, without the keys that convert the array to slots.
        MissingKeyError
            Without a relinearisation key, and for complex numbers without a conjugation key.
        DataError
            Where `ddof` leaves nothing to divide by.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 6.0]).with_keys(keys)
        >>> float(secret_key.decrypt(x.var(ddof=1)).round(4))
        7.0
        """
        return Ciphertext._of(self._native.var(axis, ddof, keepdims, dtype=dtype, out=out))

    def dot(self, other: Ciphertext | ArrayLike) -> Ciphertext:
        """The inner product of two vectors, as `numpy.dot`; of matrices the product `ct @ other`.

        It takes a level. In slots it takes the rotations of a sum, too. With plain numbers in coefficients it takes no key.

        Parameters
        ----------
        other : Ciphertext or array_like
            The other operand.

        Returns
        -------
        Ciphertext
            A single number, of shape (), or the product of matrices.

        Raises
        ------
        ShapeError
            Where lengths differ, or two encrypted vectors are in coefficients, without the keys that convert them to slots.
        MissingKeyError
            In slots, without the keys that `trace` finds.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 6.0], encoding="coefficients")
        >>> float(secret_key.decrypt(x.dot([1.0, 1.0, 0.5])).round(4))
        6.0
        """
        product: Ciphertext = self.__matmul__(other)
        return product

    def reshape(self, *shape: Any) -> Ciphertext:
        """The same numbers in another shape, as `numpy.reshape`, where every row stays a row.

        A vector is a matrix of one row, in slots of one column, too, and a single number a vector of length 1. Other shapes would move
        numbers between rows.

        Parameters
        ----------
        *shape : int
            The new shape; one axis may be -1, for whatever is left.

        Returns
        -------
        Ciphertext
            The same ciphertext in that shape.

        Raises
        ------
        ShapeError
            For shapes with other rows.

        Examples
        --------
        >>> secret_key.encrypt([1.0, 2.0, 6.0]).reshape(1, -1).shape
        (1, 3)
        """
        return Ciphertext._of(self._native.reshape(*shape))

    def explain_matmul(self, weights: ArrayLike) -> str:
        """How `W @ ct` is computed for this array and its keys, and why.

        Parameters
        ----------
        weights : array_like
            The plain matrix W.

        Returns
        -------
        str
            What happens to the rows before the product, the predicted time by one thread, and a bound on the root mean square of
            the errors.

        Raises
        ------
        ShapeError
            Where the shapes do not fit, or rows share masks and there are no keys that split them.
        DataError
            Where weights are NaN, infinite or too large, or there are none.
        LevelError
            At level 0, where the product could not be rescaled.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> print(X.explain_matmul(np.eye(2)).splitlines()[1])
        each row has polynomials and masks of its own: no key, and no change of the rows
        """
        return self._native.explain_matmul(numbers(weights))

    def matmul(self, weights: ArrayLike, weight_scale: float | None = None, progress: Progress = None) -> Ciphertext:
        """The product `W @ ct` of a plain real matrix and an encrypted matrix, with control over the scale.

        The shapes are (rows, inner) and (inner, columns). The product is not rescaled. Where levels run out, an array in slots with
        `bootstrap_below` is bootstrapped first, or with the product inside (`explain_matmul` says which), unless `weight_scale` is given.

        Parameters
        ----------
        weights : array_like
            The plain matrix W: real numbers of any numeric type and memory layout. An array of more than 64 MiB, such as one that
            `numpy.load(path, mmap_mode="r")` maps from a file, is read some rows at a time.
        weight_scale : float, optional
            The factor that weights are multiplied by before they are rounded to integers of at most 51 bits. None, the default, is 1.0 for
            weights of an integer type, whose product takes no level. For others it is the factor that gives the rescaled product the
            canonical scale of its level.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        Ciphertext
            The product, of shape (rows, columns).

        Raises
        ------
        ShapeError
            Where the shapes do not fit.
        DataError
            Where weights are NaN, infinite or too large, or there are none.
        LevelError
            At level 0, where the product could not be rescaled.
        ScaleError
            Where `weight_scale` is not positive or leaves the product no room.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> secret_key.decrypt(X.matmul([[0, 1], [1, 0]], weight_scale=1.0)).round(4)
        array([[3., 4.],
               [1., 2.]])
        """
        return Ciphertext._of(self._native.matmul(factor(weights), weight_scale, progress))

    def multiply(self, other: Ciphertext, rescale: bool = True) -> Ciphertext:
        """The product of two ciphertexts, element by element, rescaled in the same step.

        Faster and less noisy than `(ct * other).rescale()`: relinearisation, the key switch that ends the product, and the rescale share
        one division.

        Parameters
        ----------
        other : Ciphertext
            A ciphertext of equal shape, in slots as this one.
        rescale : bool, optional
            False leaves the product at its level, as `ct * other` does. The default is True.

        Returns
        -------
        Ciphertext
            The product.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have no relinearisation key.
        ShapeError
            Where shapes or encodings do not fit.
        LevelError
            At level 0, where the product cannot be rescaled.
        ScaleError
            Where the scale of the product leaves its level no room.
        WrongParamsError
            Where the other ciphertext has other parameters.
        WrongSecretError
            Where the other ciphertext belongs to another secret.

        Examples
        --------
        >>> secret_key.decrypt(ct.multiply(ct)).round(4)
        array([1., 4., 9.])
        """
        return Ciphertext._of(self._native.multiply(unwrap(other), rescale))

    def rescale(self) -> Ciphertext:
        """Divides the encrypted numbers' scale by the last step of the modulus and drops that step: one level less.

        The numbers stay. After a product this restores the canonical scale of the new level. The next product, rotation or polynomial does
        so by itself, so there is rarely a need to call it. An array that has the canonical scale of its level already is returned as it
        is, unless the runtime says `rescale="explicit"`.

        Returns
        -------
        Ciphertext
            The same numbers, one level lower.

        Raises
        ------
        LevelError
            At level 0, where no step is left to divide by; with `rescale="explicit"` also where there is nothing to rescale.
        ScaleError
            Where the scale would fall below 1, so that nothing of the numbers were left.

        Examples
        --------
        >>> product = ct * ct
        >>> product.level, product.rescale().level
        (5, 4)
        """
        return Ciphertext._of(self._native.rescale())

    def drop_to_level(self, level: SupportsIndex) -> Ciphertext:
        """The same numbers at a lower level: smaller and faster.

        Parameters
        ----------
        level : int
            The level, at most the present one.

        Returns
        -------
        Ciphertext
            The same numbers at that level, with its canonical scale where the ciphertext had the canonical scale before.

        Raises
        ------
        LevelError
            For a higher level, or where there is no such level.
        ScaleError
            Where the scale leaves that level no room.

        Examples
        --------
        >>> ct.drop_to_level(2).level
        2
        """
        return Ciphertext._of(self._native.drop_to_level(level))

    def same_as(self, other: Ciphertext) -> Comparison:
        """Compares with another ciphertext bit for bit: parameters, key, secret, shape, layout, level, scale, bounds, and every residue.

        Evaluators of one version that take the same steps on the same ciphertexts with the same keys get the same bits on every processor.
        So a result that was computed twice, by the owner or by a second server, shows whether it is what was asked for. Only then may it be
        shared (`SecretKey.decrypt_to_share`): no property of the numbers tells.

        Two machines plan alike with one version, the same `Runtime`, and the processor as device.

        Parameters
        ----------
        other : Ciphertext
            The result of the other computation.

        Returns
        -------
        Comparison
            True if both are the same; printed, it says where they differ.

        Raises
        ------
        DataError
            For symbols of a dry run.

        Examples
        --------
        >>> result = 2 * ct + 1
        >>> bool(result.same_as(2 * ct + 1))
        True
        >>> result.same_as(2 * ct - 1)
        different: residues of the bodies of bundle 0, polynomial 0, 7168 of 7168
        """
        return Comparison._of(self._native.same_as(unwrap(other)))

    def flood_bits(
        self,
        error_bound: float | None = None,
        queries: SupportsIndex = 1,
        statistical_bits: SupportsIndex = 40,
        correct_bits: SupportsIndex = 8,
    ) -> int:
        """The `flood_bits` for `SecretKey.decrypt_to_share`, from a bound on the error of these numbers.

        This is for results of a server that computed what was asked. For one that did not there is no bound on the error, and no number of
        bits that hides the secret: neither the numbers nor whether decryption failed may reach it.

        Shared decryptions of CKKS reveal their errors, which depend on the secret. With this many bits of noise on top, `queries` shared
        decryptions of this shape reveal their errors with a statistical distance of at most 2**-statistical_bits in all. That much noise
        leaves correct numbers only where the scale is large: the preset "share_n14" has 2**104.

        The security of shared results is a pair: the bits of the parameters against whoever computes much, and `statistical_bits` against
        whoever sees all shared results, however much he computes.

        Parameters
        ----------
        error_bound : float, optional
            Your bound on the error of the encrypted numbers, in their own units. None, the default, takes what the array states, which is
            less than its attribute `error_bound` where numbers have more bits than those of NumPy. Results of your own `trace` state it.
        queries : int, optional
            How many decryptions the key will share in all: for a key with a budget `key.share_budget`. The default is 1.
        statistical_bits : int, optional
            The negative binary logarithm of the statistical distance. The default is 40.
        correct_bits : int, optional
            How many bits behind the binary point have to be right in the shared numbers, in the root mean square. The default is 8.

        Returns
        -------
        int
            The bits of noise.

        Raises
        ------
        DataError
            Where the bound is not positive or not known, there are no queries, the modulus has no room for that much noise, or the noise
            leaves fewer correct bits.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0], scale=2.0**104)
        >>> bits = x.flood_bits(queries=100)
        >>> secret_key.decrypt_to_share(x, bits, honest_evaluator=True).round(3)
        array([1., 2.])
        """
        return self._native.flood_bits(error_bound, queries, statistical_bits, correct_bits)

    def rotate(self, steps: SupportsIndex) -> Ciphertext:
        """Every row rotated to the left within its room, with zeros behind its numbers.

        The room is `layout.capacity`: the length rounded up to a power of two, unless the array was encrypted with another one. A row that
        fills it is rotated as `numpy.roll(row, -steps)` does; of a shorter one zeros come in, and its numbers that leave it stay behind it:
        the padding is then dirty, and a further rotation is refused until `clear_padding`. `cl.hstack([x[n:], x[:n]])` is
        `numpy.roll(x, -n)` of a vector of any length. Where there is no key
        for these steps, rotations by powers of two that there are keys for are used in turn.

        Parameters
        ----------
        steps : int
            How far; negative numbers rotate to the right.

        Returns
        -------
        Ciphertext
            The rotated rows.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this rotation.
        ShapeError
            Unless the array is encoded in slots in natural order, where rows take several polynomials, and where the padding is dirty.
        DataError
            For steps beyond 62 bits.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> secret_key.decrypt(x.rotate(1)).round(4)
        array([2., 3., 4., 1.])
        """
        return Ciphertext._of(self._native.rotate(steps))

    def rotate_many(self, steps: Sequence[SupportsIndex]) -> list[Ciphertext]:
        """Several rotations of one ciphertext, faster than one by one.

        They share the first half of their work: cutting the ciphertext into digits.

        Parameters
        ----------
        steps : sequence of int
            How far, one entry per rotation.

        Returns
        -------
        list of Ciphertext
            The rotated ciphertexts, in the order of `steps`.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for one of the rotations.
        ShapeError
            Unless the array is encoded in slots in natural order, where rows take several polynomials, and where the padding is dirty.
        DataError
            For steps beyond 62 bits.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> [secret_key.decrypt(y).round(4).tolist() for y in x.rotate_many([0, 1])]
        [[1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 1.0]]
        """
        return [Ciphertext._of(part) for part in self._native.rotate_many(steps)]

    def bootstrap(self, plan: BootstrapPlan | None = None, progress: Progress = None) -> Ciphertext:
        """The same numbers at a high level, for further products: a bootstrap.

        Parameters
        ----------
        plan : BootstrapPlan, optional
            The plan; by default one for this array's slots, and for real numbers if the array is real. Make a plan once where several
            arrays are bootstrapped, because the plan keeps its tables.
        progress : bool or callable, optional
            True for a progress bar, or a function of the stages that are done and of all stages. The default is no progress.

        Returns
        -------
        Ciphertext
            The array at `plan.output_level`.

        Raises
        ------
        ParamsError
            Where the parameters cannot be bootstrapped.
        LevelError
            Where the array is below `plan.input_level`.
        MissingKeyError
            Without the keys of `plan.needs`.

        Notes
        -----
        Numbers must be at most 1 in magnitude. Larger ones lose precision with the third power, and wrap around where they are much
        larger.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.BootstrapPlan(params, slots=8, is_complex=False)
        >>> x = owner.encrypt([0.5, -0.25], level=3, capacity=8).with_keys(owner.evaluation_keys(plan.needs))
        >>> owner.decrypt(x.bootstrap(plan)).round(3)
        array([ 0.5 , -0.25])
        """
        return Ciphertext._of(self._native.bootstrap(unwrap(plan), progress))

    def bootstrap_samples(self, plan: SamplesPlan) -> Ciphertext:
        """The numbers of LWE or MLWE samples in slots, at a high level: packed, and bootstrapped by the second half of a bootstrap.

        Parameters
        ----------
        plan : SamplesPlan
            The plan that the samples' light client was made with.

        Returns
        -------
        Ciphertext
            A vector of the samples' numbers in their order, at `plan.output_level`; with `plan.pairs` a complex one, with two
            consecutive numbers in each slot.

        Raises
        ------
        MissingKeyError
            Without the keys of `plan.needs`.
        ShapeError
            For samples of another shape, secret or order than the plan's.
        LevelError
            Above level 0.
        ScaleError
            At another scale than `plan.scale`.

        Notes
        -----
        Numbers must be at most 1 in magnitude.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.SamplesPlan(params, 32, degree=16, device=3)
        >>> client = cl.LightClient(owner, plan=plan)
        >>> message = client.encrypt(np.linspace(-1, 1, 32))
        >>> samples = cl.Receiver(params, client.introduction, owner.authentication_key()).receive([message])
        >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
        >>> owner.decrypt(x).view(float)[:3].round(3), np.linspace(-1, 1, 32)[:3].round(3)
        (array([-1.   , -0.935, -0.871]), array([-1.   , -0.935, -0.871]))
        """
        return Ciphertext._of(self._native.bootstrap_samples(unwrap(plan)))

    def bootstrap_pair(self, other: Ciphertext, plan: BootstrapPlan | None = None) -> tuple[Ciphertext, Ciphertext]:
        """Two arrays of real numbers at a high level, in the time of one of complex numbers: they are its real and imaginary parts.

        The rows of one array are bootstrapped in pairs by `bootstrap` already, with a plan for complex numbers.

        Parameters
        ----------
        other : Ciphertext
            The other array, of the same shape.
        plan : BootstrapPlan, optional
            A plan for complex numbers; by default one for this array's slots.

        Returns
        -------
        tuple of Ciphertext
            Both arrays at `plan.output_level`.

        Raises
        ------
        ParamsError
            Where the parameters cannot be bootstrapped.
        ShapeError
            Where the shapes differ.
        LevelError
            Where an array is below `plan.input_level`.
        MissingKeyError
            Without the keys of `plan.needs`.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params)
        >>> keys = owner.evaluation_keys(cl.BootstrapPlan(params, slots=8).needs)
        >>> x, y = (owner.encrypt([value] * 8, level=3).with_keys(keys) for value in (0.5, -0.25))
        >>> [owner.decrypt(fresh).round(3)[0] for fresh in x.bootstrap_pair(y)]
        [np.float64(0.5), np.float64(-0.25)]
        """
        first, second = self._native.bootstrap_pair(unwrap(other), unwrap(plan))
        return Ciphertext._of(first), Ciphertext._of(second)

    def conj(self) -> Ciphertext:
        """The complex conjugate of every entry.

        Returns
        -------
        Ciphertext
            The conjugates.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for conjugation.
        ShapeError
            Unless the array is encoded in slots.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> bool(np.allclose(secret_key.decrypt(z.conj()), [1 - 2j, 3 + 4j]))
        True
        """
        return Ciphertext._of(self._native.conj())

    def real_part(self) -> Ciphertext:
        """The real part of every entry, as an array of real numbers.

        Takes a level and a conjugation for complex numbers; real numbers are their own real parts. `np.real(x)` is the same.

        Returns
        -------
        Ciphertext
            The real parts.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for conjugation.
        ShapeError
            Unless the array is encoded in slots, or has the keys that convert it.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> secret_key.decrypt(z.real_part()).round(4)
        array([1., 3.])
        """
        return Ciphertext._of(self._native.real_part())

    def imaginary_part(self) -> Ciphertext:
        """The imaginary part of every entry, as an array of real numbers.

        Takes a level and a conjugation for complex numbers; that of real numbers is zero. `np.imag(x)` is the same.

        Returns
        -------
        Ciphertext
            The imaginary parts.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for conjugation.
        ShapeError
            Unless the array is encoded in slots, or has the keys that convert it.

        Examples
        --------
        >>> z = secret_key.encrypt([1 + 2j, 3 - 4j]).with_keys(keys)
        >>> secret_key.decrypt(z.imaginary_part()).round(4)
        array([ 2., -4.])
        """
        return Ciphertext._of(self._native.imaginary_part())

    def to_rank(self, rank: SupportsIndex) -> Ciphertext:
        """The same numbers at another rank of the same degree.

        A lower rank is reached by a key switch with the keys of `Needs(ranks=[...])`. Ciphertexts there are smaller and faster, and secure
        at lower levels only: `params.at_rank(rank).max_level`. A higher rank, up to the rank of the keys' parameters, needs no key: the
        mask is extended by zeros.

        Parameters
        ----------
        rank : int
            The rank.

        Returns
        -------
        Ciphertext
            The same numbers at that rank.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this reduction.
        LevelError
            Above the levels that are secure at that rank.
        ParamsError
            Where the parameters do not have that rank.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.Needs(ranks=[2])))
        >>> x.drop_to_level(four.at_rank(2).max_level).to_rank(2).rank
        2
        """
        return Ciphertext._of(self._native.to_rank(rank))

    def to_rlwe(self) -> Ciphertext:
        """The same numbers at rank 1 and the degree of equal dimension: degree times rank.

        It needs the keys of `Needs(to_rlwe=True)`; for several bodies under one mask, `trace(..., bodies=...)` finds the keys. Numbers,
        level and scale stay. The result has the parameters `params.rlwe()`; where the rank is not a power of two, the odd factor of the
        rank stays.

        Returns
        -------
        Ciphertext
            The same numbers in a larger ring.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this conversion.
        ShapeError
            Where rows in slots are longer than `params.slot_count`, and for odd ranks above 1.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> x = key.encrypt([1.0, 2.0]).with_keys(key.evaluation_keys(cl.Needs(to_rlwe=True)))
        >>> (x.degree, x.rank), (x.to_rlwe().degree, x.to_rlwe().rank)
        ((256, 4), (1024, 1))
        """
        return Ciphertext._of(self._native.to_rlwe())

    def to_slots(self, *, levels: SupportsIndex | None = None) -> Ciphertext:
        """The same array in slots.

        From coefficients this is a discrete Fourier transform of the encrypted numbers, which takes rotations and a level for every five
        doublings of the slots. Where an operation is for slots alone (products entry by entry, polynomials, functions, variances,
        conjugates, sums with arrays in slots), arrays in coefficients are converted by themselves, with the keys that `trace` finds.
        Without these keys the operation is refused, and with `Runtime(rescale="explicit")` always.

        Parameters
        ----------
        levels : int, optional
            How many levels it takes: more levels take fewer rotations, and fewer keys. None, the default, takes one for every five
            doublings of the slots.

        Returns
        -------
        Ciphertext
            The array in slots, in bit-reversed order where it was in natural order: `layout.order` tells. Only rotations see that.

        Raises
        ------
        MissingKeyError
            Without the rotations, and for real numbers the conjugation, that `trace` finds.
        LevelError
            Where there are too few levels.
        ShapeError
            Where rows share a mask or a polynomial, or other numbers lie between those of a row.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0, 3.0]], encoding="coefficients")
        >>> keys = secret_key.keys_for(lambda x: x.to_slots(), (1, 3), encoding="coefficients")
        >>> y = x.with_keys(keys).to_slots()
        >>> y.encoding, y.layout.order, secret_key.decrypt(y).round(3)
        ('slots', 'bit-reversed', array([[1., 2., 3.]]))
        """
        return Ciphertext._of(self._native.to_slots(levels=levels))

    def to_coefficients(self, *, levels: SupportsIndex | None = None) -> Ciphertext:
        """The same array in coefficients, for products with plain matrices, samples and packing.

        From slots this is a discrete Fourier transform of the encrypted numbers, as in `to_slots`.

        Parameters
        ----------
        levels : int, optional
            As `to_slots` takes it.

        Returns
        -------
        Ciphertext
            The array in coefficients, in bit-reversed order where it was in natural order. Real numbers leave half of the coefficients
            free.

        Raises
        ------
        ClathrateError
            As `to_slots`.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]], encoding="slots")
        >>> keys = secret_key.keys_for(lambda x: x.to_coefficients(), (2, 2), encoding="slots")
        >>> y = x.with_keys(keys).to_coefficients()
        >>> y.encoding, secret_key.decrypt([[1.0, 1.0]] @ y).round(3)
        ('coefficients', array([[4., 6.]]))
        """
        return Ciphertext._of(self._native.to_coefficients(levels=levels))

    def to_lwe(self) -> Ciphertext:
        """Every number as an LWE sample: the array in bundles of degree 1.

        It rearranges the coefficients of the polynomials, so it needs no key. The rank of the result is degree times rank. Of real numbers
        in natural order, number j of a row is bundle j of the row; a complex number is two samples. `Ciphertext.layout` says which is
        where.

        Returns
        -------
        Ciphertext
            The same numbers at degree 1.

        Raises
        ------
        ShapeError
            Unless the array is encoded in coefficients.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0], "coefficients").to_lwe()
        >>> x.degree, x.rank, x.layout.bundles
        (1, 1024, 3)
        >>> secret_key.decrypt(x).round(4)
        array([1., 2., 3.])
        """
        return Ciphertext._of(self._native.to_lwe())

    def share_mask(self, bodies: SupportsIndex, axis: BodyAxis | None = None) -> Ciphertext:
        """The same numbers with several bodies under each mask.

        The array takes less memory, because the bodies of a bundle share the mask, and an operation on the mask serves all of them. It
        needs the keys of `Needs(shared_mask=bodies)`. The result is under the secret "bodies:" and the number, which `SecretKey.decrypt`
        knows too.

        Parameters
        ----------
        bodies : int
            The number of bodies under one mask, 1 to 4096. Where rows or chunks are no multiple of it, the last bodies are zero.
        axis : {"rows", "chunks"}, optional
            Which bodies share a mask. "rows" are consecutive rows, so that rotations and products along a row serve several rows. "chunks"
            are consecutive chunks of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks where
            a row has several, and rows otherwise.

        Returns
        -------
        Ciphertext
            The same numbers, with `bodies` bodies in each bundle.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this number of bodies.
        WrongSecretError
            Where the array has several bodies under one mask already.
        DataError
            For a number of bodies out of range, or another axis.

        Examples
        --------
        >>> keys = secret_key.evaluation_keys(cl.Needs(shared_mask=2))
        >>> x = secret_key.encrypt(np.eye(4), "slots").with_keys(keys)
        >>> y = x.share_mask(2)
        >>> y.secret, round(x.nbytes / y.nbytes, 2)
        ('bodies:2', 1.33)
        """
        return Ciphertext._of(self._native.share_mask(bodies, axis))

    def sum_rows(self) -> Ciphertext:
        """The sum of every row, as `x.sum(axis=-1, keepdims=True)` of NumPy.

        Rotations by powers of two are added, so there are as many switches as the logarithm of the row's length. `trace` finds the keys.

        Returns
        -------
        Ciphertext
            An array of one column.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for one of the rotations.
        ShapeError
            Unless the array is encoded in slots; where the padding is dirty; where parts of a row are under one mask.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="slots")
        >>> needs = cl.trace(lambda x: x.sum_rows(), (2, 3), params=params, encoding="slots").needs
        >>> x = x.with_keys(secret_key.evaluation_keys(needs))
        >>> secret_key.decrypt(x.sum_rows()).round(4).tolist()
        [[6.0], [15.0]]
        """
        return Ciphertext._of(self._native.sum_rows())

    def repeat_column(self, columns: SupportsIndex) -> Ciphertext:
        """An array of one column with its column repeated, as `numpy.broadcast_to(x, (..., columns))`. It needs no keys.

        Parameters
        ----------
        columns : int
            The length of the rows.

        Returns
        -------
        Ciphertext
            The repeated numbers; padding is dirty.

        Raises
        ------
        ShapeError
            Unless the array is encoded in slots and has one column.
        DataError
            For less than 1 column.

        Examples
        --------
        >>> x = secret_key.encrypt([[1.0], [2.0]], encoding="slots")
        >>> secret_key.decrypt(x.repeat_column(3)).round(4).tolist()
        [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
        """
        return Ciphertext._of(self._native.repeat_column(columns))

    def split_mask(self) -> Ciphertext:
        """The same numbers with one body in each bundle, under the main secret: the reverse of `share_mask`.

        It needs the keys of `Needs(shared_mask=ct.bodies)`.

        Returns
        -------
        Ciphertext
            The same numbers, with one body in each bundle.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this number of bodies.
        ShapeError
            Where the array has one body in each bundle under the main secret already.

        Examples
        --------
        >>> keys = secret_key.evaluation_keys(cl.Needs(shared_mask=2))
        >>> x = secret_key.encrypt(np.eye(4), "slots", bodies=2).with_keys(keys)
        >>> x.split_mask().secret
        'main'
        """
        return Ciphertext._of(self._native.split_mask())

    def change_secret(self, secret: str) -> Ciphertext:
        """The same numbers under another secret of the owner: "device:7" for an answer to that device, or "main".

        `trace` finds the key. A key to a device's secret encrypts the owner's secret under it: whoever has both the key and the device's
        secret decrypts everything. Make it only for devices that are trusted as the owner is.

        Parameters
        ----------
        secret : str
            The name of the secret, as `Ciphertext.secret` says it.

        Returns
        -------
        Ciphertext
            The same numbers, under that secret.

        Raises
        ------
        MissingKeyError
            Where no keys are attached, or they have none for this change.
        DataError
            For a name that no secret has, or a secret of another number of bodies.
        ShapeError
            For a secret that arrays are not under.

        Examples
        --------
        >>> needs = cl.trace(lambda x: x.change_secret("device:7"), (2,), params=params, encoding="coefficients", level=0).needs
        >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0).with_keys(secret_key.evaluation_keys(needs))
        >>> client = cl.LightClient(secret_key, device=7)
        >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> client.decrypt(receiver.reply(x.change_secret("device:7"))).round(3)
        array([1., 2.])
        """
        return Ciphertext._of(self._native.change_secret(secret))

    def clear_padding(self) -> Ciphertext:
        """The same numbers with zeros in the slots that hold no number.

        A rotation moves entries of a row into the slots beyond its length, and further rotations of such a row are refused. Clearing is a
        product with ones and zeros: `rescale()` it as other products. Where the padding is zero already, the ciphertext comes back as it
        is.

        Returns
        -------
        Ciphertext
            The same numbers; not rescaled.

        Raises
        ------
        ShapeError
            Unless the array is encoded in slots.
        LevelError
            At level 0, where the product cannot be rescaled.

        Examples
        --------
        >>> x = ct.rotate(1)
        >>> x.layout.padding, x.clear_padding().rescale().layout.padding
        ('dirty', 'zero')
        """
        return Ciphertext._of(self._native.clear_padding())

    def pack(self, plan: PackingPlan, *, lanes: bool = False) -> Ciphertext:
        """The same numbers at rank 1 and the degree of equal dimension, packed from samples by a plan: `to_rlwe` by the plan's method.

        Parameters
        ----------
        plan : PackingPlan
            The plan, for samples of this degree.
        lanes : bool, optional
            True brings rows that each fill a polynomial into the lanes of as few polynomials as possible: the reverse of `to_mlwe` for
            arrays that were encrypted with `lanes`. The default, False, spreads the numbers of each row over a polynomial of its own.

        Returns
        -------
        Ciphertext
            The same numbers in a larger ring, in the layout of `to_rlwe`, or with several rows in a polynomial.

        Raises
        ------
        MissingKeyError
            Without the keys of `plan.needs`.
        ShapeError
            Where rows in slots do not fit the slots of this degree, for samples of another degree than the plan's, and for lanes of rows
            that do not fill polynomials, or by the method "rows".
        WrongParamsError
            For other parameters than the plan's.

        Examples
        --------
        >>> params = cl.Params.preset("insecure_small")
        >>> owner = cl.SecretKey.generate(params)
        >>> plan = cl.PackingPlan(params, method="column", level=1)
        >>> samples = owner.encrypt([0.5, -0.25], encoding="coefficients", level=1).to_lwe()
        >>> owner.decrypt(samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)).round(3)
        array([ 0.5 , -0.25])
        """
        return Ciphertext._of(self._native.pack(unwrap(plan), lanes=lanes))

    def to_mlwe(self, rank: SupportsIndex) -> Ciphertext:
        """The same numbers at a higher rank and the degree of equal dimension: the reverse of `to_rlwe`.

        It rearranges the coefficients of the polynomials, so it needs no key. Numbers in coefficients are spread over several bundles, as
        `Ciphertext.layout` says.

        Parameters
        ----------
        rank : int
            The rank: the present one times a power of two.

        Returns
        -------
        Ciphertext
            The same numbers in a smaller ring.

        Raises
        ------
        ShapeError
            Where rows in slots do not fit the slots of the lower degree, and for other ranks.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> x = cl.SecretKey.generate(four).relative(four.rlwe()).encrypt([1.0, 2.0])
        >>> (x.degree, x.rank), (x.to_mlwe(4).degree, x.to_mlwe(4).rank)
        ((1024, 1), (256, 4))
        """
        return Ciphertext._of(self._native.to_mlwe(rank))

    def with_bound(self, bound: float | None) -> Ciphertext:
        """The same array with another declared bound: for numbers that are known to be smaller than what the steps before tell.

        Parameters
        ----------
        bound : float or None
            The largest magnitude of the numbers; None for no declared bound.

        Returns
        -------
        Ciphertext
            The same numbers and keys. Nobody can check the bound but who decrypts.

        Raises
        ------
        DataError
            For a bound that is not positive, or without room at the level and scale.

        Examples
        --------
        >>> x = secret_key.encrypt([0.5, -0.25], bound=1.0)
        >>> (x + x).bound, (x + x).with_bound(1.0).bound
        (2.0, 1.0)
        """
        return Ciphertext._of(self._native.with_bound(bound))

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

    def to(self, device: str) -> Ciphertext:
        """The same array on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        Ciphertext
            The array, in the memory of that device. It carries no evaluation keys unless it is there already: attach those of that device.

        Raises
        ------
        DeviceError
            Where there is no such device, or no driver for it.
        NotEnoughMemoryError
            Where the device has no room.

        Examples
        --------
        >>> secret_key.encrypt([1.0]).to("cpu").params.runtime.device
        'cpu'
        """
        return Ciphertext._of(self._native.to(device))

    @property
    def keys(self) -> EvaluationKeys | None:
        """The attached evaluation keys, or None."""
        found = self._native.keys
        return None if found is None else EvaluationKeys._of(found)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the encrypted array."""
        return self._native.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries."""
        return self._native.size

    @property
    def level(self) -> int:
        """The level: the number of rescales that are left."""
        return self._native.level

    @property
    def rank(self) -> int:
        """The module rank: the number of polynomials in the mask."""
        return self._native.rank

    @property
    def degree(self) -> int:
        """The ring degree: the number of coefficients of a polynomial."""
        return self._native.degree

    @property
    def scale(self) -> float:
        """The scale: the factor between the numbers and the integers that are encrypted."""
        return self._native.scale

    @property
    def encoding(self) -> Encoding:
        """The encoding, "slots" or "coefficients"."""
        return cast("Encoding", self._native.encoding)

    @property
    def is_complex(self) -> bool:
        """Whether the entries are complex numbers, so that decryption gives a complex array."""
        return self._native.is_complex

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that decryption gives: `float64` or `complex128`."""
        return np.dtype(np.complex128 if self.is_complex else np.float64)

    @property
    def layout(self) -> Layout:
        """Which number sits in which bundle, body and slot or coefficient."""
        return Layout._of(self._native.layout)

    @property
    def bodies(self) -> int:
        """The number of bodies under one mask, 1 for most arrays."""
        return self._native.bodies

    @property
    def secret(self) -> str:
        """The name of the secret that the numbers are under: "main", "bodies:8" where eight bodies share a mask, or "device:7" for a
        device's.

        The owner's `SecretKey` knows all of them.
        """
        return self._native.secret

    @property
    def nbytes(self) -> int:
        """The size in memory in bytes."""
        return self._native.nbytes

    @property
    def error_rms(self) -> float | None:
        """The root mean square of the error of one number, in units of the numbers, or None where it is not known.

        It is for typical numbers: those that are spread evenly up to their bounds. What is measured on such numbers is within a factor of
        2. The errors of approximations, such as that of `sigmoid`, are not in it. It is not known behind products of arrays without a
        declared bound.
        """
        return self._native.error_rms

    @property
    def error_bound(self) -> float | None:
        """A bound on the errors of all numbers, in units of the numbers, or None where it is not known.

        It holds for any numbers within their bounds, but for a probability of 2**-40. The errors of approximations, such as that of
        `sigmoid`, are not in it. It is not known behind products of arrays without a declared bound.
        """
        return self._native.error_bound

    @property
    def bound(self) -> float | None:
        """The largest magnitude that the numbers may have, without their errors, or None where it is not known.

        It is declared at encryption (`SecretKey.encrypt(..., bound=10.0)`), for symbols by `trace(..., bound=10.0)`, or by `with_bound`,
        and carried through all operations. What might exceed the modulus, or the domain of a polynomial, is refused before it is computed.
        """
        return self._native.bound

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
        >>> [stage.name for stage in cl.trace(squared, (100,), params=params).stages]
        ['square']
        """
        return self._native.stage(name)

    def _repr_html_(self) -> str:
        return report_html(self._native.description())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an encrypted scalar has no length")
        return self.shape[0]

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        # A symbol has no data to pickle.
        description = self._native.symbol_description()
        if description is not None:
            return rebuild_symbol, (self.params, *description)
        return super().__reduce_ex__(protocol)


@final
class Comparison:
    """Whether two ciphertexts are the same to the last bit, and where not: true if they are. `Ciphertext.same_as` makes it.

    Examples
    --------
    >>> comparison = (ct + 1).same_as(ct + 1)
    >>> bool(comparison), comparison
    (True, the same to the last bit)
    """

    __slots__ = ("_differences", "_text")
    _differences: list[str]
    _text: str
    __module__ = "clathrate"

    def __init__(self) -> None:
        raise TypeError("cannot create 'clathrate.Comparison' instances")

    @classmethod
    def _of(cls, comparison: tuple[str, list[str]]) -> Comparison:
        made = object.__new__(cls)
        made._text, made._differences = comparison
        return made

    @property
    def differences(self) -> list[str]:
        """Each difference in words; none where the ciphertexts are the same."""
        return list(self._differences)

    def __bool__(self) -> bool:
        return not self._differences

    def __repr__(self) -> str:
        return self._text


def _as_float(exponent: Any) -> float | None:
    try:
        return float(exponent)
    except (TypeError, ValueError, OverflowError):
        return None
