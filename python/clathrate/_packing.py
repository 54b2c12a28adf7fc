"""Plans that pack samples into polynomials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex, final

from . import _native as native
from ._wrapping import Plan, remembered, unwrap

if TYPE_CHECKING:
    from ._params import Params


@final
class PackingPlan(Plan, of=native.PackingPlan):
    """A way to bring LWE or MLWE samples into ciphertexts of rank 1: `samples.pack(plan)` carries it out.

    `Ciphertext.to_lwe` and `to_mlwe` make samples of an array in coefficients; `SecretKey.relative` encrypts them at once. The row method
    switches pairs of samples, with few keys. The column method takes one switch of all masks, with a large key. Midpoints, samples of ranks
    in between, take nearly the time of the column method and far smaller keys. By default the plan is the fastest whose keys fit, or one
    with smaller keys that takes at most a tenth more time. Where the rank has an odd part, the row method alone is there, and that part
    remains.

    Parameters
    ----------
    params : Params
        Parameters of the samples, or any others of the same family.
    count : int, optional
        How many numbers are packed at once, for the prediction; by default as many as a ciphertext holds. The plan packs other
        numbers, too.
    degree : int, optional
        The degree of the samples, a power of two. The default is 1: LWE samples.
    level : int, optional
        The highest level of the samples; keys of lower levels are smaller. By default the highest.
    method : {"rows", "column"} or sequence of int, optional
        "rows", "column", or the ranks of the midpoints, falling powers of two.
    key_bytes : int, optional
        The most bytes that the keys may take in memory. By default there is no limit.
    device : int, optional
        The number of the device whose samples are packed, as of its `LightClient`. By default the samples are under the owner's secret.

    Raises
    ------
    DataError
        Where no method's keys fit into `key_bytes`, midpoints do not fall, or there are no numbers.
    ShapeError
        Where there is nothing to pack, as at rank 1.
    ParamsError
        For a degree that the parameters' family does not have.
    LevelError
        For a level that does not exist.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_small")
    >>> owner = cl.SecretKey.generate(params)
    >>> plan = cl.plans.PackingPlan(params, method=[16])
    >>> samples = owner.encrypt([1.0, 2.0, 3.0], encoding="coefficients").to_lwe()
    >>> packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    >>> packed.rank, owner.decrypt(packed).round(3)
    (1, array([1., 2., 3.]))
    """

    __slots__ = ()
    _native: native.PackingPlan

    @remembered
    def __init__(
        self,
        params: Params,
        count: SupportsIndex | None = None,
        *,
        degree: SupportsIndex | None = None,
        level: SupportsIndex | None = None,
        method: Literal["rows", "column"] | Sequence[SupportsIndex] | None = None,
        key_bytes: SupportsIndex | None = None,
        device: SupportsIndex | None = None,
    ) -> None:
        self._hold(native.PackingPlan(unwrap(params), count, degree=degree, level=level, method=method, key_bytes=key_bytes, device=device))

    @property
    def method(self) -> str:
        """The method: "rows", "column", or "midpoints" with their ranks."""
        return self._native.method

    @property
    def degree(self) -> int:
        """The degree of the samples: 1 for LWE samples."""
        return self._native.degree

    @property
    def key_bytes(self) -> int:
        """The bytes of the keys in memory."""
        return self._native.key_bytes

    @property
    def seconds(self) -> float:
        """The predicted seconds for the plan's numbers, by one thread."""
        return self._native.seconds

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included."""
        return self._native.precision_bits

    def explain(self) -> str:
        """The choice, marked by a star, and the methods that are faster or have fewer keys: predicted times, bytes of keys, precision.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> print(cl.plans.PackingPlan(cl.Params.preset("insecure_small")).explain().splitlines()[0])
        packing of 1024 numbers from samples of shape 1x1024 to 1024x1, levels up to 5
        """
        return self._native.explain()
