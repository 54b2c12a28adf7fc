"""Products as methods: inner products, products of ciphertexts, and those with plain matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .._reading import numbers
from .._unreadable import axes_of, factor
from .._wrapping import encrypted, unwrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .. import _native as native
    from .._typing import Progress
    from . import Ciphertext


class Products:
    """Inner products, products of ciphertexts, and those with plain matrices."""

    __slots__ = ()
    _native: native.Ciphertext

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
        if len(self._native.shape) > 2 or axes_of(other) > 2:
            from .._einsum import dot

            return cast("Ciphertext", dot(self, other))
        return encrypted(self._native.__matmul__(factor(other)))

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
        return encrypted(self._native.multiply(unwrap(other), rescale))

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
        return encrypted(self._native.matmul(factor(weights), weight_scale, progress))

    def explain_matmul(self, weights: ArrayLike) -> str:
        """How `W @ ct` is computed for this array and its keys, and why.

        Parameters
        ----------
        weights : array_like
            The plain matrix W, as `matmul` takes it.

        Returns
        -------
        str
            What happens to the rows before the product, the predicted time by one thread, and a bound on the root mean square of
            the errors.

        Raises
        ------
        ShapeError
            Where the shapes do not fit, or rows share masks and there are no keys that split them.
        ClathrateError
            As `matmul`.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> print(X.explain_matmul(np.eye(2)).splitlines()[1])
        each row has polynomials and masks of its own: no key, and no change of the rows
        """
        return self._native.explain_matmul(numbers(weights))
