"""Products of plain matrices inside bootstraps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._reading import numbers
from ._wrapping import Plan, Wrapped, remembered, unwrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._evaluation_keys import EvaluationKeys
    from ._params import Params
    from ._typing import Progress


@final
class MamboPlan(Plan, of=native.MamboPlan):
    """A plan of products of one plain matrix with encrypted matrices inside a bootstrap: the product comes out at a high level, for the
    price of a product at the shortest modulus.

    A bootstrap passes level 1 with the numbers in coefficients, where products with plain matrices are fastest. The rows of X lie one
    behind the other in the slots: a matrix X of shape (inner, columns) is encrypted as `X.reshape(-1, slots)`, filled up with zeros, and so
    comes the product.

    Parameters
    ----------
    params : Params
        Parameters that can be bootstrapped, with two levels or more below those of the application for a product inside.
    weights : array_like
        The plain matrix W, of shape (rows, inner), of real numbers.
    columns : int
        The slots of a row of X, a power of two or a multiple of all slots. By default all slots of a polynomial.
    is_complex : bool, optional
        Whether the numbers of X may be complex. For real numbers alone the bootstrap takes less time. The default is True.
    bodies : int or "fastest", optional
        How many polynomials share a mask in the linear maps, as in `BootstrapPlan`. "fastest" takes the power of two that is predicted to
        be fastest for the polynomials of this product, of those that are secure and whose keys are within `key_bytes`, or else the
        parameters' own limit, or else three times those of one body. The default is 1.
    method : {"exact", "by rows", "prepared"}, optional
        The method of the product, as in `MatrixPlan`. None, the default, is the fastest that fits.
    precision_bits : float, optional
        The correct bits that the product alone must have, as in `MatrixPlan`.
    key_bytes : int, optional
        The most bytes that the keys of the bootstrap may take in memory.
    uses : int, optional
        For how many products the matrix is prepared, as in `MatrixPlan`. None, the default, does not count the time of the preparation.
    ring : int, optional
        The degree of the ring in which an exact product is computed, as in `MatrixPlan`. None, the default, is the best.
    placement : {"inside", "before", "fastest"}, optional
        Where the product is: "inside", the default, is between the stages of the bootstrap, at level 1. "before" is for rows that fill
        polynomials: one level above the bootstrap, or at level 1 for one round where slots-to-coefficients comes last. It bootstraps the
        product's polynomials alone, which are few where W has few rows. "fastest" takes the one that is predicted to be faster.

    Raises
    ------
    ParamsError
        Where the parameters cannot be bootstrapped, or have no level for the product.
    DataError
        For weights that are NaN, infinite, too large or none, for columns that neither divide nor fill the slots, and for a precision or
        keys that nothing reaches.
    ShapeError
        Where the weights are no matrix.
    TypeError
        For weights that are not real numbers.

    Notes
    -----
    Numbers must be at most 1 in magnitude, in X and in the product: scale W where sums are larger. Source: the product inside the bootstrap
    is MaMBo (Bae, Cheon, Hanrot, Park, Stehle), section 6.3.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_boot")
    >>> owner = cl.SecretKey.generate(params)
    >>> W = np.linspace(-1, 1, 64).reshape(8, 8) / 8
    >>> plan = cl.plans.MamboPlan(params, W, columns=64)
    >>> matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = np.linspace(-1, 1, 512).reshape(8, 64)
    >>> x = owner.encrypt(X.reshape(plan.input_shape), **plan.encryption)
    >>> y = matrix @ x
    >>> x.level, y.level
    (3, 6)
    >>> bool(abs(owner.decrypt(y).reshape(8, 64) - W @ X).max() < 1e-4)
    True
    """

    __slots__ = ()
    _native: native.MamboPlan

    @remembered
    def __init__(
        self,
        params: Params,
        weights: ArrayLike,
        columns: SupportsIndex | None = None,
        *,
        is_complex: bool = True,
        bodies: SupportsIndex | Literal["fastest"] | None = None,
        method: Literal["exact", "by rows", "prepared"] | None = None,
        precision_bits: float | None = None,
        key_bytes: SupportsIndex | None = None,
        uses: SupportsIndex | None = None,
        ring: SupportsIndex | None = None,
        placement: Literal["inside", "before", "fastest"] = "inside",
    ) -> None:
        self._hold(
            native.MamboPlan(
                unwrap(params),
                numbers(weights),
                columns,
                is_complex=is_complex,
                bodies=bodies,
                method=method,
                precision_bits=precision_bits,
                key_bytes=key_bytes,
                uses=uses,
                ring=ring,
                placement=placement,
            )
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self._native.shape

    @property
    def columns(self) -> int:
        """The slots of a row of X."""
        return self._native.columns

    @property
    def input_shape(self) -> tuple[int, int]:
        """The shape of encrypted factors: polynomials and slots."""
        return self._native.input_shape

    @property
    def output_shape(self) -> tuple[int, int]:
        """The shape of products: polynomials and slots."""
        return self._native.output_shape

    @property
    def bodies(self) -> int:
        """The number of polynomials that share a mask in the linear maps."""
        return self._native.bodies

    @property
    def placement(self) -> str:
        """Where the product is: "inside" the bootstrap or "before" it."""
        return self._native.placement

    @property
    def input_level(self) -> int:
        """The lowest level of a factor."""
        return self._native.input_level

    @property
    def output_level(self) -> int:
        """The level of a product."""
        return self._native.output_level

    @property
    def method(self) -> str:
        """The method of the product: "exact", "by rows" or "prepared"."""
        return self._native.method

    @property
    def ring(self) -> int:
        """The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring."""
        return self._native.ring

    @property
    def encryption(self) -> dict[str, Any]:
        """The keyword arguments of `SecretKey.encrypt` for factors that come fresh."""
        return self._native.encryption

    @property
    def seconds(self) -> float:
        """The predicted seconds of a product with all of its bootstraps, by one thread."""
        return self._native.seconds

    @property
    def product_seconds(self) -> float:
        """The predicted seconds of the product alone, by one thread."""
        return self._native.product_seconds

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part of the
        worst row, for numbers whose parts are uniform in [-1, 1].
        """
        return self._native.precision_bits

    def explain(self) -> str:
        """What the plan does: predicted times and precision, the methods of the product, the stages of the bootstrap.

        Returns
        -------
        str
            Tables.

        Examples
        --------
        >>> plan = cl.plans.MamboPlan(cl.Params.preset("insecure_boot"), np.eye(8) / 2, columns=64)
        >>> print(plan.explain().splitlines()[0])
        8 x 8 matrix inside a bootstrap, 8 rows in a polynomial: from 1 polynomial to 1 polynomial
        """
        return self._native.explain()

    def prepare(self, keys: EvaluationKeys, progress: Progress = None) -> MamboMatrix:
        """Makes the matrix ready for products. Whoever computes does this once, without the secret.

        Parameters
        ----------
        keys : EvaluationKeys
            Keys that the owner made for `needs`. Products find them here, unless their array has keys attached.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        MamboMatrix
            The matrix with its keys.

        Raises
        ------
        MissingKeyError
            Where the keys are not those of `needs`.
        WrongParamsError
            For keys of other parameters.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan = cl.plans.MamboPlan(owner.params, np.eye(2) / 2)
        >>> plan.prepare(owner.evaluation_keys(plan.needs))
        MamboMatrix(2 x 2, 512 slots in a row, by rows)
        """
        made = MamboMatrix._of(self._native.prepare(unwrap(keys), progress))
        made._plan = self
        return made


@final
class MamboMatrix(Wrapped, of=native.MamboMatrix):
    """A plain matrix that is ready for products inside bootstraps, made by `MamboPlan.prepare`: `matrix @ x`.

    Examples
    --------
    >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    >>> plan = cl.plans.MamboPlan(owner.params, [[0.0, 1.0], [1.0, 0.0]], columns=256)
    >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> x = owner.encrypt(np.repeat([0.25, 0.5], 256), **plan.encryption)
    >>> owner.decrypt(swap @ x).reshape(2, 256)[:, 0].round(3)
    array([0.5 , 0.25])
    """

    __slots__ = ("_plan",)
    _native: native.MamboMatrix
    _plan: MamboPlan

    @property
    def plan(self) -> MamboPlan:
        """The plan."""
        return self._plan

    def matmul(self, array: Ciphertext, progress: Progress = None) -> Ciphertext:
        """The product inside a bootstrap, as `matrix @ x`, with progress.

        Parameters
        ----------
        array : Ciphertext
            An array of the plan's `input_shape` in slots, at `input_level` or above.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        Ciphertext
            The product, of the plan's `output_shape`, at `output_level`.

        Raises
        ------
        ShapeError
            For an array of another shape, and for complex numbers where the plan is for real ones.
        LevelError
            Below `input_level`.
        MissingKeyError
            Where the keys that the matrix was prepared with lack some of `needs`.
        WrongSecretError
            For an array under another secret key.
        WrongParamsError
            For an array of other parameters.
        NotEnoughMemoryError
            Where the work takes more memory than is free.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan = cl.plans.MamboPlan(owner.params, np.eye(2) / 2, columns=256)
        >>> half = plan.prepare(owner.evaluation_keys(plan.needs))
        >>> half.matmul(owner.encrypt(np.ones(512), **plan.encryption)).shape
        (1, 512)
        """
        return Ciphertext._of(self._native.matmul(unwrap(array), progress))

    def __matmul__(self, array: Ciphertext) -> Ciphertext:
        return self.matmul(array)


def mambo(weights: ArrayLike, array: Ciphertext, columns: SupportsIndex | None = None) -> Ciphertext:
    """The product of a plain matrix with an encrypted one inside a bootstrap: `W X` at a high level.

    For several products with one matrix, make it ready once: `cl.plans.MamboPlan(params, W, columns).prepare(keys)`. This form plans anew,
    what this machine is predicted to take: for keys that were made elsewhere, or for a plan with other choices, use that one.

    Parameters
    ----------
    weights : array_like
        The plain matrix W, of shape (rows, inner).
    array : Ciphertext
        X with its rows one behind the other, in rows of all slots, with the keys of `MamboPlan(params, W, columns).needs` attached.
    columns : int, optional
        The slots of a row of X. By default all slots of a polynomial.

    Returns
    -------
    Ciphertext
        W X, lying as X.

    Raises
    ------
    ShapeError
        Where the shapes do not fit.
    MissingKeyError
        Where the array has no such keys attached.
    ParamsError
        Where the parameters have no level for the product.
    DataError
        For weights that do not fit.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_boot")
    >>> owner = cl.SecretKey.generate(params)
    >>> W = np.array([[0.5, -0.25]])
    >>> plan = cl.plans.MamboPlan(params, W, columns=256)
    >>> x = owner.encrypt(np.repeat([0.5, 0.25], 256), **plan.encryption).with_keys(owner.evaluation_keys(plan.needs))
    >>> float(owner.decrypt(cl.plans.mambo(W, x, columns=256))[0, 0].round(4))
    0.1875
    """
    return Ciphertext._of(native.mambo(numbers(weights), unwrap(array), columns))
