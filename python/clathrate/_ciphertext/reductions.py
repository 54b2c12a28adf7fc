"""Sums, products, means and variances along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex

from .._wrapping import encrypted

if TYPE_CHECKING:
    from .. import _native as native
    from . import Ciphertext


class Reductions:
    """Sums, products, means and variances along an axis."""

    __slots__ = ()
    _native: native.Ciphertext

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
        return encrypted(self._native.sum(axis, keepdims, dtype=dtype, out=out))

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
            As `sum` takes it.
        out : None, optional
            As `sum` takes it.

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
            In coefficients, without the keys that convert the array to slots.
        DataError
            For an axis that the array does not have.

        Examples
        --------
        >>> x = secret_key.encrypt([1.0, 2.0, 6.0]).with_keys(keys)
        >>> float(secret_key.decrypt(x.prod()).round(3))
        12.0
        """
        return encrypted(self._native.prod(axis, keepdims, dtype=dtype, out=out))

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
            As `sum` takes it.
        out : None, optional
            As `sum` takes it.

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
        return encrypted(self._native.mean(axis, keepdims, dtype=dtype, out=out))

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
            As `sum` takes it.
        out : None, optional
            As `sum` takes it.

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
        return encrypted(self._native.var(axis, ddof, keepdims, dtype=dtype, out=out))

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
        >>> needs = cl.plans.trace(lambda x: x.sum_rows(), (2, 3), params=params, encoding="slots").needs
        >>> x = x.with_keys(secret_key.evaluation_keys(needs))
        >>> secret_key.decrypt(x.sum_rows()).round(4).tolist()
        [[6.0], [15.0]]
        """
        return encrypted(self._native.sum_rows())
