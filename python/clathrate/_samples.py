"""Samples brought to slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._needs import Needs
from ._wrapping import Plan, Wrapped, remembered, unwrap, unwrap_all

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._evaluation_keys import EvaluationKeys
    from ._light import Receiver
    from ._params import Params
    from ._typing import AnyPath


@final
class SamplesPlan(Plan, of=native.SamplesPlan):
    """A way to bring LWE or MLWE samples of a small dimension to slots at a high level: `samples.bootstrap_samples(plan)` carries it out.

    The samples are packed at level 0, and bootstrapped by the second half of a bootstrap. They come from light clients that were
    made with the plan, or, with `outside`, from another library (`outside_samples`). A plan serves any count of numbers: fewer than it
    was made for leave slots empty, more become several ciphertexts.

    Parameters
    ----------
    params : Params
        Parameters that can be bootstrapped.
    count : int, optional
        How many numbers come at once. Up to half the degree they are in the slots of one ciphertext; up to the degree, of two that are
        bootstrapped in one. The default is the degree.
    degree : int, optional
        The degree of the samples, a power of two: how many numbers share a mask. The default is 1: LWE samples.
    dimension : int, optional
        The dimension of the samples. By default the least power of two that is secure at level 0.
    device : int, optional
        The number of the device whose samples these are. By default they are under a part of the owner's secret.
    outside : int, optional
        The number that `SecretKey.with_outside_secret` gave to the secret of another library, whose samples these are. `dimension` is then
        the length of that secret.
    pairs : bool, optional
        Whether two consecutive numbers are the real and the imaginary part of one slot. The result is then complex and half as
        long. The default is False for LWE samples, and True for others, which cannot be without.
    midpoints : sequence of int, optional
        Ranks of samples between those and the ring, falling powers of two. By default the fastest, or smaller keys at a tenth more time.
    ring : int, optional
        The degree of the ring that samples are packed in before one switch leads to the ring of the bootstrap, or of the latter. By
        default as for midpoints.
    key_bytes : int, optional
        The most bytes that all keys may take in memory. By default the parameters' own limit on a bootstrap's keys.
    seconds : float, optional
        The most seconds that `count` numbers may take, as predicted: the plan then takes the fewest keys of packing that are as fast.

    Raises
    ------
    ParamsError
        Where the parameters cannot be bootstrapped, or samples of this dimension are not secure.
    DataError
        For an impossible count, degree, dimension, ring or midpoints, for `device` together with `outside`, and where no choice fits into
        `key_bytes` or `seconds`.
    ShapeError
        For samples of several numbers without pairs.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_boot")
    >>> owner = cl.SecretKey.generate(params)
    >>> plan = cl.plans.SamplesPlan(params, 4)
    >>> client = cl.clients.LightClient(owner, plan=plan)
    >>> receiver = cl.clients.Receiver(params, client.introduction, owner.authentication_key())
    >>> samples = receiver.receive([client.encrypt([0.5, -0.25, 0.125, 1.0])])
    >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
    >>> x.level, owner.decrypt(x).round(3)
    (6, array([ 0.5  , -0.25 ,  0.125,  1.   ]))
    """

    __slots__ = ()
    _native: native.SamplesPlan

    @remembered
    def __init__(
        self,
        params: Params,
        count: SupportsIndex | None = None,
        *,
        degree: SupportsIndex | None = None,
        dimension: SupportsIndex | None = None,
        device: SupportsIndex | None = None,
        outside: SupportsIndex | None = None,
        pairs: bool | None = None,
        midpoints: Sequence[SupportsIndex] | None = None,
        ring: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        seconds: float | None = None,
    ) -> None:
        self._hold(
            native.SamplesPlan(
                unwrap(params),
                count,
                degree=degree,
                dimension=dimension,
                device=device,
                outside=outside,
                pairs=pairs,
                midpoints=midpoints,
                ring=ring,
                key_bytes=key_bytes,
                seconds=seconds,
            )
        )

    def needs_of(self, devices: Sequence[SupportsIndex]) -> Needs:
        """The keys for samples under the secrets of several devices, and for the plan's own: one key more for each device.

        Parameters
        ----------
        devices : sequence of int
            The numbers of the devices.

        Returns
        -------
        Needs
            For `SecretKey.evaluation_keys`.

        Raises
        ------
        DataError
            For a negative number, and for a plan for samples of another library.
        TypeError
            For anything but a list of whole numbers.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan = cl.plans.SamplesPlan(owner.params, 4, device=1)
        >>> keys = owner.evaluation_keys(plan.needs_of([1, 2, 3]))
        """
        return Needs._of(self._native.needs_of(devices))

    @property
    def count(self) -> int:
        """How many numbers the prediction is for."""
        return self._native.count

    @property
    def degree(self) -> int:
        """The degree of the samples: 1 for LWE samples."""
        return self._native.degree

    @property
    def dimension(self) -> int:
        """The dimension of the samples."""
        return self._native.dimension

    @property
    def ring(self) -> int:
        """The degree of the ring that samples are packed in first; that of the bootstrap where there is no smaller one."""
        return self._native.ring

    @property
    def security_bits(self) -> float:
        """The estimated bits of security of the least secure secret that the keys are under."""
        return self._native.security_bits

    @property
    def pairs(self) -> bool:
        """Whether two consecutive numbers are the real and the imaginary part of one slot."""
        return self._native.pairs

    @property
    def scale(self) -> float:
        """The scale of the samples."""
        return self._native.scale

    @property
    def slots(self) -> int:
        """The slots of each ciphertext."""
        return self._native.slots

    @property
    def output_level(self) -> int:
        """The level of the result."""
        return self._native.output_level

    @property
    def key_bytes(self) -> int:
        """The bytes of all keys in memory."""
        return self._native.key_bytes

    @property
    def seconds(self) -> float:
        """The predicted seconds for `count` numbers, by one thread."""
        return self._native.seconds

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included,
        without what a light client cuts off.
        """
        return self._native.precision_bits

    @property
    def log2_failure(self) -> float:
        """The binary logarithm of the probability that the bootstrap of one ciphertext fails."""
        return self._native.log2_failure

    def outside_scale(self, modulus: SupportsIndex | None = None) -> float:
        """What another library multiplies numbers by before it encrypts them modulo `modulus`, in units of integers.

        Numbers of magnitude 1 then take a small part of the modulus, which the bootstrap needs: about 12 bits below it.

        Parameters
        ----------
        modulus : int, optional
            The modulus of the samples, 2 to 2**64. The default is 2**64.

        Returns
        -------
        float
            The factor.

        Raises
        ------
        DataError
            For another modulus.

        Examples
        --------
        >>> plan = cl.plans.SamplesPlan(cl.Params.preset("insecure_boot"), 4, outside=1, dimension=600)
        >>> plan.outside_scale(2**32) == plan.outside_scale() / 2**32
        True
        """
        return self._native.outside_scale(modulus)

    def outside_samples(
        self,
        words: ArrayLike,
        keys: EvaluationKeys,
        modulus: SupportsIndex | None = None,
        *,
        scale: float | None = None,
        phase: Literal["difference", "sum"] = "difference",
    ) -> Ciphertext:
        """Takes in LWE samples of another library: all words are switched to the modulus of level 0.

        The security of the samples is that of the library they come from. Switching rounds every word: that error is part of
        `precision_bits`, the error of the samples is not.

        Parameters
        ----------
        words : array_like
            A matrix of unsigned integers below the modulus with a row for each sample: the mask, as many words as the secret is long, then
            the body.
        keys : EvaluationKeys
            The owner's keys for `needs`, which are attached to the samples.
        modulus : int, optional
            The modulus of the samples, 2 to 2**64. The default is 2**64.
        scale : float, optional
            What numbers were multiplied by. The default is `outside_scale(modulus)`, which the bootstrap needs.
        phase : {"difference", "sum"}, optional
            How the message follows from a sample (a, b): "difference", the default, is b - <a, s>, as of TFHE; "sum" is b + <a, s>.

        Returns
        -------
        Ciphertext
            The samples as a vector, for `bootstrap_samples`.

        Raises
        ------
        TypeError
            Where the words are no matrix of unsigned integers.
        DataError
            For a plan without `outside`, words beyond the modulus, an impossible modulus, another phase, and without samples.
        ShapeError
            For rows of another length than the plan's dimension and 1.
        ScaleError
            For an impossible scale.
        NotEnoughMemoryError
            Where the samples take more memory than is free.

        Examples
        --------
        >>> rng = np.random.default_rng(1)
        >>> secret = rng.integers(0, 2, 600, dtype=np.uint64)
        >>> params = cl.Params.preset("insecure_boot")
        >>> owner = cl.SecretKey.generate(params).with_outside_secret(1, secret)
        >>> plan = cl.plans.SamplesPlan(params, 2, outside=1, dimension=600)
        >>> message = np.rint(np.array([0.5, -0.25]) * plan.outside_scale()).astype(np.int64).view(np.uint64)
        >>> masks = rng.integers(0, 2**64, (2, 600), dtype=np.uint64)  # modulo 2**64, without an error, for the example alone
        >>> words = np.column_stack([masks, masks @ secret + message])
        >>> samples = plan.outside_samples(words, owner.evaluation_keys(plan.needs))
        >>> owner.decrypt(samples.bootstrap_samples(plan)).round(3)
        array([ 0.5 , -0.25])
        """
        return Ciphertext._of(self._native.outside_samples(words, unwrap(keys), modulus, scale=scale, phase=phase))

    def explain(self) -> str:
        """What the plan does, and the ways to pack that are faster or have fewer keys: predicted times, bytes of keys, precision.

        Returns
        -------
        str
            Two lines and a table, in which a star marks the choice.

        Examples
        --------
        >>> print(cl.plans.SamplesPlan(cl.Params.preset("insecure_boot"), 4).explain().split(" at scale")[0])
        4 numbers from samples of shape 1x64
        """
        return self._native.explain()


@final
class PreparedSamples(Wrapped, of=native.PreparedSamples):
    """The packed masks of messages that are not there yet: what of `Ciphertext.bootstrap_samples` can be computed ahead.

    The masks of a light client's messages follow from its introduction and a counter, so a server packs them before the messages come
    (offline). When they are there, `bootstrap` adds what they bring (online). The result is the same, to the last bit. Masks serve
    once; a file of them is taken once.

    Parameters
    ----------
    plan : SamplesPlan
        The plan that the client was made with.
    keys : EvaluationKeys
        Keys that the owner made for `plan.needs`.
    receiver : Receiver
        The client's receiver.
    first : int
        The counter of the first sample.
    count : int, optional
        How many samples; by default as many as hold the plan's numbers.

    Raises
    ------
    MissingKeyError
        Where the keys are not those of `plan.needs`.
    DataError
        Without samples, or for counters beyond 64 bits.
    ShapeError
        For a client of another plan.
    NotEnoughMemoryError
        Where the masks take more memory than is free.

    Examples
    --------
    >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    >>> plan = cl.plans.SamplesPlan(owner.params, 2)
    >>> client = cl.clients.LightClient(owner, plan=plan)
    >>> receiver = cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key())
    >>> masks = cl.plans.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, client.next_counter)
    >>> x = masks.bootstrap([client.encrypt([0.5, -0.25])])
    >>> owner.decrypt(x).round(3), masks.used
    (array([ 0.5 , -0.25]), True)
    """

    __slots__ = ()
    _native: native.PreparedSamples

    def __init__(
        self, plan: SamplesPlan, keys: EvaluationKeys, receiver: Receiver, first: SupportsIndex, count: SupportsIndex | None = None
    ) -> None:
        self._hold(native.PreparedSamples(unwrap(plan), unwrap(keys), unwrap(receiver), first, count))

    @property
    def counters(self) -> tuple[int, int]:
        """The counters that the messages must have: the first, and the one after the last."""
        return self._native.counters

    @property
    def used(self) -> bool:
        """Whether the masks have served."""
        return self._native.used

    def bootstrap(self, messages: Sequence[bytes]) -> Ciphertext:
        """Brings the messages of these counters to slots: the online phase.

        Parameters
        ----------
        messages : sequence of bytes
            Messages with all counters of the masks, in any order.

        Returns
        -------
        Ciphertext
            The numbers, by counters, as of `Ciphertext.bootstrap_samples`, with the keys attached.

        Raises
        ------
        DataError
            For masks that have served, damaged messages, and counters that are missing, twice there, or outside the masks' range. The masks
            stay as they are.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan = cl.plans.SamplesPlan(owner.params, 32, degree=16)
        >>> client = cl.clients.LightClient(owner, plan=plan)
        >>> receiver = cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key())
        >>> masks = cl.plans.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, 0)
        >>> messages = [client.encrypt(part) for part in np.linspace(-1, 1, 32).reshape(2, 16)]
        >>> owner.decrypt(masks.bootstrap(messages[::-1])).view(float)[:2].round(3)
        array([-1.   , -0.935])
        """
        return Ciphertext._of(self._native.bootstrap(messages))

    def save(self, path: AnyPath, overwrite: bool = True) -> int:
        """Writes the masks to a file, which `take` takes once.

        Parameters
        ----------
        path : str, bytes or path-like
            The file, as `Ciphertext.save` takes it.
        overwrite : bool, optional
            Whether a file that exists may be replaced, as `Ciphertext.save` takes it.

        Returns
        -------
        int
            The bytes written.

        Raises
        ------
        FileFormatError
            For masks that have served.
        FileAccessError
            As `Ciphertext.save`.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan, keys = (plan := cl.plans.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
        >>> receiver = cl.clients.Receiver(owner.params, cl.clients.LightClient(owner, plan=plan).introduction, owner.authentication_key())
        >>> size = cl.plans.PreparedSamples(plan, keys, receiver, 0).save("masks.clt")
        >>> cl.plans.PreparedSamples.take("masks.clt", plan, keys, receiver).counters
        (0, 2)
        """
        return self._native.save(path, overwrite)

    @classmethod
    def take(cls, path: AnyPath, plan: SamplesPlan, keys: EvaluationKeys, receiver: Receiver) -> PreparedSamples:
        """Takes masks from a file, which gets the ending ".used": no program takes it again.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        plan : SamplesPlan
            The plan that the masks were prepared with.
        keys : EvaluationKeys
            Keys that the owner made for `plan.needs`.
        receiver : Receiver
            The client's receiver.

        Returns
        -------
        PreparedSamples
            The masks.

        Raises
        ------
        DataError
            For a file that has been taken.
        FileFormatError
            Where the file does not hold prepared masks, or is damaged.
        MissingFileError
            Where there is no such file.
        WrongParamsError
            For masks of other parameters.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan, keys = (plan := cl.plans.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
        >>> client = cl.clients.LightClient(owner, plan=plan)
        >>> receiver = cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key())
        >>> size = cl.plans.PreparedSamples(plan, keys, receiver, 0).save("once.clt")
        >>> x = cl.plans.PreparedSamples.take("once.clt", plan, keys, receiver).bootstrap([client.encrypt([0.5, -0.25])])
        >>> try:
        ...     cl.plans.PreparedSamples.take("once.clt", plan, keys, receiver)
        ... except cl.errors.DataError as error:
        ...     print(str(error).split(",")[0])
        the file of prepared masks is once.clt: it has been taken
        """
        return cls._of(native.PreparedSamples.take(path, unwrap(plan), unwrap(keys), unwrap(receiver)))


def bootstrap_samples(arrays: Sequence[Ciphertext], plan: SamplesPlan) -> Ciphertext:
    """The numbers of samples under several secrets in slots: one vector of all arrays' numbers, those of the first array first.

    Each array is packed by a key for its secret, and adds the error of packing once: fewer arrays are faster and more precise.

    Parameters
    ----------
    arrays : sequence of Ciphertext
        Samples under the owner's secret and devices', one of them with keys attached.
    plan : SamplesPlan
        The plan that the samples' light clients were made with.

    Returns
    -------
    Ciphertext
        As of `Ciphertext.bootstrap_samples`.

    Raises
    ------
    MissingKeyError
        Without the keys of `plan.needs_of(devices)`.
    ShapeError
        For samples of another shape or order than the plan's.
    LevelError
        Above level 0.
    ScaleError
        At another scale than `plan.scale`.
    DataError
        Without arrays, and for samples of another library among others.
    ParamsError
        Where samples of this dimension are not secure under the owner's secret.
    WrongSecretError
        For arrays of different owners.
    NotEnoughMemoryError
        Where the work takes more memory than is free.
    TypeError
        For anything but a list of ciphertexts.

    Examples
    --------
    >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    >>> plan = cl.plans.SamplesPlan(owner.params, 4, device=1)
    >>> keys = owner.evaluation_keys(plan.needs_of([1, 2]))
    >>> clients = [cl.clients.LightClient(owner, plan=plan, device=device) for device in (1, 2)]
    >>> receivers = [cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()) for client in clients]
    >>> first, second = (receiver.receive([client.encrypt([0.5, 0.25])]) for receiver, client in zip(receivers, clients))
    >>> owner.decrypt(cl.plans.bootstrap_samples([first.with_keys(keys), second], plan)).round(3)
    array([0.5 , 0.25, 0.5 , 0.25])
    """
    return Ciphertext._of(native.bootstrap_samples(unwrap_all(arrays), unwrap(plan)))
