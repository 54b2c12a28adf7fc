"""Plans of products of plain matrices with encrypted ones, and matrices that are ready for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._needs import Needs
from ._reading import numbers
from ._text import report_html
from ._wrapping import Plan, Wrapped, remembered, unwrap

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._evaluation_keys import EvaluationKeys
    from ._params import Params
    from ._typing import AnyPath, Progress


@final
class MatrixPlan(Plan, of=native.MatrixPlan):
    """A plan of products of one plain matrix with encrypted matrices: by which method, how X is encrypted, which keys there must be.

    There are three methods, and the plan takes the fastest that fits. "exact" multiplies the masks and the bodies of X with W, modulo each
    prime, with several short rows in a polynomial; a key or two bring the rows of the result together again. "by rows" has one row in each
    polynomial: slower for short rows, without any key. "prepared" needs rows that share masks. Keys that are combined for W then take the
    place of the product of W with the masks, and what remains is one product of matrices in floating point, or two for more precision, and
    work in proportion to the result. `prepare` combines the keys, which takes as long as many products.

    The result is one level lower, with a mask for each polynomial, and needs no rescale. Its rows lie as those of X, so it can be the
    factor of the next product (`masks="own"`).

    Parameters
    ----------
    params : Params
        The parameters, for prepared products of rank 1 and with special primes.
    weights : array_like
        The plain matrix W, of shape (rows, inner).
    columns : int
        The columns of the encrypted matrices, of shape (inner, columns).
    level : int, optional
        The level of the encrypted matrices, at least 1. The default is 1, where products are fastest and most precise. Prepared products
        have no room for the modulus of high levels.
    lanes : int, optional
        How many rows of X share a polynomial, a power of two. By default as many as there are and is room for.
    bodies : int, optional
        How many polynomials of X share a mask, which makes the product a prepared one. By default all, as far as security allows. Fewer
        take more keys.
    masks : {"shared", "own"}, optional
        How X comes to a prepared product. "shared", the default, is an encryption with the secret key as `encryption` says. "own" is
        anything else: by a public key, or the result of a computation. Further keys then bring the rows under shared masks in each product.
    precision_bits : float, optional
        The correct bits after the binary point that the result of numbers of magnitude 1 and of independent signs must have. By default
        a prepared product takes one floating-point product where that costs next to no precision, else two, and is taken only where it
        is at most 4 bits less precise than an exact one.
    products : {1, 2}, optional
        The number of floating-point products, whatever the precision, which makes the product a prepared one.
    method : {"exact", "by rows", "prepared"}, optional
        The method. None, the default, is the fastest that fits.
    uses : int, optional
        For how many products the matrix is prepared: the time of the preparation counts among so many. None, the default, does not
        count it.
    key_bytes : int, optional
        The most bytes that keys may take in memory, those of the owner and of the matrix. None, the default, is no limit.
    ring : int, optional
        The degree of the ring in which an exact product of rows that share polynomials is computed: that of the parameters, or a smaller
        one, to which a switch of each polynomial leads at level 1 and from which one leads back. None, the default, is the best.

    Raises
    ------
    DataError
        Where weights are NaN, infinite or too large, or there are none; for a precision or a number of bytes that no method reaches, with
        what each reaches; for numbers of lanes, bodies or products that do not exist, and options that do not go with the method.
    ShapeError
        Where the weights are no matrix, or "prepared" is asked for at a rank above 1.
    LevelError
        For a level that does not exist, and for level 0.
    ParamsError
        Where "prepared" is asked for and the parameters have no special primes.
    SecurityError
        For more bodies than the parameters protect.
    TypeError
        For weights that are not real numbers.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_matmul")
    >>> owner = cl.SecretKey.generate(params)
    >>> weights = np.linspace(-1, 1, 12).reshape(3, 4)
    >>> plan = cl.plans.MatrixPlan(params, weights, columns=2)
    >>> W = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = np.array([[1.0, 0.5], [0.0, 1.0], [0.25, 0.0], [0.0, 1.0]])
    >>> product = W @ owner.encrypt(X, **plan.encryption)
    >>> bool(abs(owner.decrypt(product) - weights @ X).max() < 1e-4)
    True
    >>> cl.plans.MatrixPlan(params, weights, columns=2, key_bytes=0).method
    'by rows'
    """

    __slots__ = ()
    _native: native.MatrixPlan

    @remembered
    def __init__(
        self,
        params: Params,
        weights: ArrayLike,
        columns: SupportsIndex,
        *,
        level: SupportsIndex | None = None,
        lanes: SupportsIndex | None = None,
        bodies: SupportsIndex | None = None,
        masks: Literal["shared", "own"] = "shared",
        precision_bits: float | None = None,
        products: SupportsIndex | None = None,
        method: Literal["exact", "by rows", "prepared"] | None = None,
        uses: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        ring: SupportsIndex | None = None,
    ) -> None:
        self._hold(
            native.MatrixPlan(
                unwrap(params),
                numbers(weights),
                columns,
                level=level,
                lanes=lanes,
                bodies=bodies,
                masks=masks,
                precision_bits=precision_bits,
                products=products,
                method=method,
                uses=uses,
                key_bytes=key_bytes,
                ring=ring,
            )
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self._native.shape

    @property
    def level(self) -> int:
        """The level of the encrypted matrices."""
        return self._native.level

    @property
    def method(self) -> str:
        """The method: "exact", "by rows" or "prepared"."""
        return self._native.method

    @property
    def ring(self) -> int:
        """The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring."""
        return self._native.ring

    @property
    def products(self) -> int:
        """The number of floating-point products of matrices that a prepared product takes, 1 or 2; 0 for the other methods."""
        return self._native.products

    @property
    def seconds(self) -> float:
        """The predicted seconds of a product, by one thread."""
        return self._native.seconds

    @property
    def preparation_seconds(self) -> float:
        """The predicted seconds of the preparation, by one thread; 0 for methods without one."""
        return self._native.preparation_seconds

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error, for numbers of magnitude 1 and of
        independent signs.
        """
        return self._native.precision_bits

    @property
    def key_bytes(self) -> int:
        """The bytes of the keys that belong to the matrix once it is prepared."""
        return self._native.key_bytes

    @property
    def owner_key_bytes(self) -> int:
        """The bytes of the keys that the owner makes for `needs`."""
        return self._native.owner_key_bytes

    @property
    def encryption(self) -> dict[str, Any]:
        """The keyword arguments of `SecretKey.encrypt` for matrices that the plan multiplies."""
        return self._native.encryption

    @property
    def needs(self) -> Needs:
        """The keys, for `SecretKey.evaluation_keys`. They do not depend on the weights."""
        return Needs._of(self._native.needs)

    def explain(self) -> str:
        """The method and those that were not chosen, each with predicted time, keys and precision; and what a product takes.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> print(cl.plans.MatrixPlan(cl.Params.preset("insecure_matmul"), np.eye(8), 16).explain().splitlines()[0])
        8 x 8 matrix times encrypted matrices of 16 columns, level 1 to 0
        """
        return self._native.explain()

    def prepare(self, keys: EvaluationKeys | None = None, progress: Progress = None) -> PreparedMatrix:
        """Makes the matrix ready for products: combines the keys for a prepared one. Whoever computes does this once, without
        the secret.

        Parameters
        ----------
        keys : EvaluationKeys, optional
            Keys that the owner made for `needs`; the method "by rows" has none. A product that needs keys of the owner
            itself finds them
            here, unless its array has keys attached.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        PreparedMatrix
            The matrix with its keys.

        Raises
        ------
        MissingKeyError
            Where the keys are not those of `needs`, or there are none.
        WrongParamsError
            For keys of other parameters.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.plans.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> plan.prepare(owner.evaluation_keys(plan.needs))
        PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
        """
        return PreparedMatrix._of(self._native.prepare(unwrap(keys), progress))


@final
class PreparedMatrix(Wrapped, of=native.PreparedMatrix):
    """A plain matrix that is ready for its products with encrypted matrices, made by `MatrixPlan.prepare`: `W @ X`.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_matmul")
    >>> owner = cl.SecretKey.generate(params)
    >>> plan = cl.plans.MatrixPlan(params, [[0.0, 1.0], [1.0, 0.0]], columns=3)
    >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **plan.encryption)
    >>> owner.decrypt(swap @ X).round(3)
    array([[4., 5., 6.],
           [1., 2., 3.]])
    """

    __slots__ = ()
    _native: native.PreparedMatrix

    # NumPy's arrays leave products to it.
    __array_ufunc__: ClassVar[None] = None

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return self._native.shape

    @property
    def method(self) -> str:
        """The method of its products: "exact", "by rows" or "prepared"."""
        return self._native.method

    @property
    def key_bytes(self) -> int:
        """The bytes of its own keys in memory; 0 unless the method is "prepared"."""
        return self._native.key_bytes

    def save(self, path: AnyPath, overwrite: bool = True) -> int:
        """Writes the matrix and its keys to a file. The file holds no secret, but the numbers of the matrix.

        Parameters
        ----------
        path : str, bytes or path-like
            The file, as `Ciphertext.save` takes it.
        overwrite : bool, optional
            Whether a file that exists may be replaced, as `Ciphertext.save` takes it.

        Returns
        -------
        int
            The file's length in bytes.

        Raises
        ------
        FileAccessError
            As `Ciphertext.save`.
        DataError
            Unless the method is "prepared": other methods have no keys of the matrix, so that its numbers are all there is to keep.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.plans.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
        >>> cl.plans.PreparedMatrix.load("identity.clt", owner.params)
        PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
        """
        return self._native.save(path, overwrite)

    @classmethod
    def load(cls, path: AnyPath, params: Params, trusted_map: bool = False) -> PreparedMatrix:
        """Reads a prepared matrix from a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the matrix was prepared for.
        trusted_map : bool, optional
            Whether the keys stay in the file and are read from there when they are used, as `LinearTransformPlan.load` takes it.

        Returns
        -------
        PreparedMatrix
            The matrix.

        Raises
        ------
        FileFormatError
            Where the file does not hold a prepared matrix, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the matrix was prepared for other parameters.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.plans.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
        >>> cl.plans.PreparedMatrix.load("identity.clt", owner.params, trusted_map=True).shape
        (2, 2)
        """
        return cls._of(native.PreparedMatrix.load(path, unwrap(params), trusted_map))

    def _repr_html_(self) -> str:
        return report_html(self.explain())

    def explain(self) -> str:
        """Sizes, keys, predicted time of a product, and what its precision is made of.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.plans.MatrixPlan(owner.params, np.eye(2), columns=3)
        >>> plan.prepare(owner.evaluation_keys(plan.needs)).explain() in plan.explain()
        True
        """
        return self._native.explain()

    def matmul(self, array: Ciphertext, progress: Progress = None) -> Ciphertext:
        """The product with an encrypted matrix, as `W @ X`, with progress.

        Parameters
        ----------
        array : Ciphertext
            An encrypted matrix with as many rows as this matrix has columns, encrypted as `MatrixPlan.encryption` says.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.

        Returns
        -------
        Ciphertext
            The product, one level below the operand, under the secret "main".

        Raises
        ------
        ShapeError
            Where the shapes do not fit, or the rows are not under masks as the matrix was prepared for.
        MissingKeyError
            Where rows with masks of their own are brought under shared ones, or packed, and there are no keys for it.
        DataError
            For an operand at another level or scale.
        WrongSecretError
            For an operand under another secret key.
        WrongParamsError
            For an operand of other parameters.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.plans.MatrixPlan(owner.params, np.eye(2), columns=3)
        >>> identity = plan.prepare(owner.evaluation_keys(plan.needs))
        >>> identity.matmul(owner.encrypt(np.ones((2, 3)), **plan.encryption)).shape
        (2, 3)
        """
        return Ciphertext._of(self._native.matmul(unwrap(array), progress))

    def __matmul__(self, other: Ciphertext) -> Ciphertext:
        return Ciphertext._of(self._native.__matmul__(unwrap(other)))
