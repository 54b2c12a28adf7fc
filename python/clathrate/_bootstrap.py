"""Bootstraps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._wrapping import Plan, remembered, unwrap, unwrap_all

if TYPE_CHECKING:
    from ._params import Params
    from ._typing import Progress


@final
class BootstrapPlan(Plan, of=native.BootstrapPlan):
    """The circuit of a bootstrap for arrays of one number of slots: `ct.bootstrap(plan)` carries it out.

    Parameters
    ----------
    params : Params
        Parameters with the segments and the ephemeral secret that a bootstrap needs, such as the presets "boot_default", "boot_fast",
        "boot_precise" and "boot_n15".
    slots : int, optional
        The slots of each polynomial, a power of two: the capacity that rows are encrypted with. By default all. For few slots the plan
        takes linear transforms of these slots, or those of all where they are faster or clearly more precise.
    is_complex : bool, optional
        Whether the numbers may be complex. For real numbers alone the bootstrap takes less time. The default is True.
    rounds : int, optional
        How often to bootstrap: the second round bootstraps the error that the first one left, and so on. Each further round takes the
        time of a bootstrap and one level, and adds its precision, up to what the application's scale can hold. By default 2 where the
        scale holds 16 bits more than one round leaves ("boot_precise"), otherwise 1.
    key_bytes : int, optional
        The most bytes that all keys of the bootstrap may take in memory; files take less. Fewer keys take more time.
        By default the parameters' own limit, which most have not.
    arcsine : int, optional
        The degree of a polynomial of the arcsine behind the sine, an odd number from 3 to 15. It takes away an error that is cubic in the
        numbers, and takes 2 to 4 levels of the modular reduction, which the parameters must have. By default there is none.
    bodies : int, optional
        How many polynomials share a mask in the linear maps, from 1 to 64: an array of many polynomials is bootstrapped faster, with
        keys that grow by half of their bytes with each. Fewer polynomials take the time of so many in these maps. Keys of a shared mask
        are charged a bit of security for each doubling; the presets "boot_n15_batch", "boot_n15_mambo" and "boot_fast_batch" have bits
        to spare. The default is 1.
    batch : int, optional
        How many polynomials are bootstrapped, two of real numbers counting as one in a plan for complex numbers: the plan then takes the
        number of bodies, a power of two, that is fastest for them, of those that are secure and whose keys fit into `key_bytes`, by
        default three times the bytes of keys for one polynomial. `explain` shows them.

    Raises
    ------
    ParamsError
        Where the parameters cannot be bootstrapped; the message says what is missing.
    DataError
        Where `slots` is not a power of two, or too large, `rounds` are more than the levels allow, no plan's keys fit into
        `key_bytes`, `arcsine` is not an odd number from 3 to 15, `bodies` not from 1 to 64, `batch` not positive, and where both are given.
    SecurityError
        For more bodies than the parameters protect.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_boot")
    >>> plan = cl.plans.BootstrapPlan(params)
    >>> secret_key = cl.SecretKey.generate(params)
    >>> keys = secret_key.evaluation_keys(plan.needs)
    >>> x = secret_key.encrypt(np.linspace(-1, 1, 512), level=plan.input_level).with_keys(keys)
    >>> fresh = x.bootstrap(plan)
    >>> x.level, fresh.level
    (3, 6)
    >>> bool(abs(secret_key.decrypt(fresh) - np.linspace(-1, 1, 512)).max() < 1e-4)
    True
    """

    __slots__ = ()
    _native: native.BootstrapPlan

    @remembered
    def __init__(
        self,
        params: Params,
        slots: SupportsIndex | None = None,
        is_complex: bool = True,
        rounds: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        arcsine: SupportsIndex | None = None,
        bodies: SupportsIndex | None = None,
        batch: SupportsIndex | None = None,
    ) -> None:
        self._hold(native.BootstrapPlan(unwrap(params), slots, is_complex, rounds, key_bytes, arcsine, bodies, batch))

    @property
    def input_level(self) -> int:
        """The lowest level of an array that can be bootstrapped."""
        return self._native.input_level

    @property
    def output_level(self) -> int:
        """The level of a bootstrapped array."""
        return self._native.output_level

    @property
    def key_bytes(self) -> int:
        """The bytes of all keys of the bootstrap in memory; files take less."""
        return self._native.key_bytes

    @property
    def slots(self) -> int:
        """The slots of each polynomial."""
        return self._native.slots

    @property
    def bodies(self) -> int:
        """How many polynomials share a mask in the linear maps."""
        return self._native.bodies

    @property
    def transform_slots(self) -> int:
        """The slots of the linear transforms: `slots`, or all of the parameters, in which the numbers repeat."""
        return self._native.transform_slots

    @property
    def rounds(self) -> int:
        """How often the error of the rounds before is bootstrapped, the first round included."""
        return self._native.rounds

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part, for
        numbers whose parts are uniform in [-1, 1].
        """
        return self._native.precision_bits

    @property
    def log2_failure(self) -> float:
        """The binary logarithm of the probability that the bootstrap of one polynomial fails, which makes all of its numbers wrong."""
        return self._native.log2_failure

    def explain(self) -> str:
        """What the bootstrap does, stage by stage: a table of predicted times, transforms, products and key bytes.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> print(cl.plans.BootstrapPlan(cl.Params.preset("insecure_boot")).explain().splitlines()[0])
        bootstrap of 512 complex slots under "insecure_boot", 1 round
        """
        return self._native.explain()


def bootstrap_batch(arrays: Sequence[Ciphertext], plan: BootstrapPlan, progress: Progress = None) -> list[Ciphertext]:
    """Several arrays bootstrapped as one batch.

    All their polynomials are one batch: they share masks where the plan has several bodies, and of a plan for complex numbers two
    polynomials of real numbers are bootstrapped as one, whichever arrays they are of. Every array keeps its shape.

    Parameters
    ----------
    arrays : sequence of Ciphertext
        Arrays in slots, all of real numbers or all of complex ones, at `plan.input_level` or above, one of them with keys attached.
    plan : BootstrapPlan
        The plan, as `BootstrapPlan(params, batch=polynomials)` chooses it.
    progress : bool or callable, optional
        As `Ciphertext.bootstrap` takes it.

    Returns
    -------
    list of Ciphertext
        The arrays at `plan.output_level`, in their order.

    Raises
    ------
    DataError
        Without arrays.
    ShapeError
        For an array of another number of slots than the plan's, in coefficients, or complex among real ones; the message says which.
    LevelError
        For an array below `plan.input_level`.
    ScaleError
        For an array that is not rescaled.
    WrongSecretError
        For an array under another secret.
    MissingKeyError
        Without the keys of `plan.needs`.
    NotEnoughMemoryError
        Where the work takes more memory than is free.
    CancelledError
        Where the progress function returned False.
    TypeError
        For anything but a list of ciphertexts.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_boot")
    >>> owner = cl.SecretKey.generate(params)
    >>> plan = cl.plans.BootstrapPlan(params, batch=3)
    >>> x, y = (owner.encrypt(np.full(shape, 0.5), encoding="slots", level=3) for shape in [(2, 512), 500])
    >>> fresh = cl.plans.bootstrap_batch([x.with_keys(owner.evaluation_keys(plan.needs)), y], plan)
    >>> [(array.shape, array.level, bool(abs(owner.decrypt(array) - 0.5).max() < 1e-4)) for array in fresh]
    [((2, 512), 6, True), ((500,), 6, True)]
    """
    return [Ciphertext._of(part) for part in native.bootstrap_batch(unwrap_all(arrays), unwrap(plan), progress)]
