# Types of the extension module; `python -m mypy.stubtest clathrate` compares them with it. The docstrings are copies of those at run time:
# `python scripts/stub_docstrings.py` writes them.

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, final, overload, type_check_only

import numpy as np
from _typeshed import ReadableBuffer
from numpy.typing import ArrayLike, NDArray

from ._choose import ParamsChoice

__all__ = [
    "AuthenticationKey",
    "Batch",
    "BootstrapPlan",
    "Ciphertext",
    "Comparison",
    "EvaluationKeys",
    "Explanation",
    "Inbox",
    "Layout",
    "LightClient",
    "LinearTransform",
    "LinearTransformPlan",
    "MamboMatrix",
    "MamboPlan",
    "MatrixPlan",
    "Needs",
    "PackingPlan",
    "Params",
    "Polynomial",
    "PolynomialExplanation",
    "PolynomialPlan",
    "PreparedMatrix",
    "PreparedSamples",
    "PublicKey",
    "Receiver",
    "Recorder",
    "Recording",
    "Runtime",
    "SamplesPlan",
    "SecretKey",
    "Stage",
    "SwitchingReport",
    "TransposedCiphertext",
    "__version__",
    "bootstrap_batch",
    "bootstrap_samples",
    "chosen",
    "command",
    "doctor",
    "from_bytes",
    "get_threads",
    "hstack",
    "inspect",
    "load",
    "mambo",
    "preset_names",
    "set_device_memory_limit",
    "set_threads",
    "tune",
    "vstack",
]

__version__: str

_Path: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]

@type_check_only
class _PlainArray(Protocol):
    def __array__(self) -> NDArray[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...

# Plain numbers, which ciphertexts are not: nothing runs over their numbers.
_Plain: TypeAlias = complex | np.generic | _PlainArray | Sequence[complex] | Sequence[Sequence[complex]]
_Encoding: TypeAlias = Literal["slots", "coefficients"]
_BodyAxis: TypeAlias = Literal["rows", "chunks"]
_Order: TypeAlias = Literal["natural", "bit-reversed"]
_Progress: TypeAlias = bool | Callable[[int, int], object] | None
_Isa: TypeAlias = Literal["scalar", "avx2", "ifma"]
_Rescale: TypeAlias = Literal["automatic", "explicit"]
_Switching: TypeAlias = (
    Literal["fastest", "as_made"] | tuple[Literal["hybrid"], SupportsIndex] | tuple[Literal["klss"], SupportsIndex, SupportsIndex]
)

# Seconds, transforms, Hadamard products, multiply-adds, bytes of keys.
_Figures: TypeAlias = tuple[float, int, int, int, int]

class _Segment(TypedDict):
    name: str
    log2_scale: float
    levels: tuple[SupportsIndex, SupportsIndex]

@type_check_only
class _Primes(TypedDict):
    steps: list[list[int]]
    special: list[int]
    temporary: list[int]
    auxiliary: list[int]

@final
class Runtime:
    """How computations run on this machine: threads, instruction set, key switching, memory for derived keys.

    Most programs need none of it: `threads` limits the use of the processor, `key_cache_mib` that of memory, and the rest is for tuning.

    A runtime decides about speed, memory and who rescales. It is not a part of the parameters: two parties may use one parameter set with
    different runtimes, and their results agree up to noise. Every constructor of `Params` takes a runtime; ciphertexts and keys run as the
    parameters they were made or loaded with.

    Most of the options are about key switching, the step that ends every product of ciphertexts, rotation and conjugation: it multiplies
    the ciphertext by an evaluation key. There are two methods. The *hybrid* method cuts the ciphertext into digits and multiplies them by
    the key. The *KLSS* method cuts the key into digits too, which needs fewer number-theoretic transforms. Both multiply modulo the
    ciphertext's primes and some special primes; the more special primes a level can use, the fewer digits there are. A file stores each
    key once, for the digits at the highest level. The key for other digits is *derived* from the stored key, without the secret, on first
    use or by `EvaluationKeys.derive`, and is kept in memory.

    Runtimes are immutable values: they can be compared, hashed and pickled. The attributes show the defaults in place of None.

    Parameters
    ----------
    threads : int, optional
        Worker threads, 1 to 4096. The default is one for each core, or what `set_threads` says.
    isa : {"scalar", "avx2", "ifma"}, optional
        The instruction set to compute with. The default is the fastest one of this machine, or the one that the environment variable
        CLATHRATE_ISA names. All of them give equal results, bit for bit.
    switching : str or tuple, optional
        How each level switches keys. "fastest", the default, lets a planner predict the fastest method for each level by times that belong
        to the version of this library: all machines choose alike, so that results are equal bit for bit. "tuned" predicts by the times that
        `clathrate tune` stored for this machine: results differ from those of other machines by noise, and plans may ask for other keys
        than theirs, so use it where keys and results stay on machines of one kind. "as_made" uses every key as it is stored in its file, so
        that nothing is derived. ("hybrid", r) is the hybrid method with r special primes at every level. ("klss", r, r_tilde) is the KLSS
        method with r special primes and key digits of r_tilde primes.
    key_expansion : float, optional
        The most memory that may be derived from one key, as a multiple of the size of that key. The default is 4.0. It limits the planner
        of "fastest". 0 derives nothing, inf sets no limit.
    key_cache_mib : float, optional
        The most memory in MiB for derived keys, of all keys together. The default is 6144.0 (6 GiB). A key that does not fit is used as it
        is stored. 0 keeps nothing, inf sets no limit.
    rescale : {"automatic", "explicit"}, optional
        Who rescales products of ciphertexts. "automatic", the default: each operator that needs it. "explicit": the caller, by
        `Ciphertext.rescale`, which then refuses arrays with nothing to rescale; operators take products as they are. Reductions and powers
        rescale what is in between in either case. It changes levels: use it on both sides of a computation or on neither.

    device : str, optional
        Where to compute. "cpu", the default, is the processor; "cuda" is NVIDIA's first device, "cuda:1" the second, and so on. Arrays and
        keys are then in the memory of the device; `to` moves them. Threads and the instruction set are the processor's.
    table_mib : float, optional
        The most memory in MiB for the tables of one parameter set, up to 32 bytes times degree times number of primes. The default is
        256.0. Larger sets are refused before anything is computed, because a short file could ask for gigabytes.

    Raises
    ------
    DataError
        Where an option is out of range.
    DeviceError
        Where there is no such device, or no driver for it.

    Examples
    --------
    >>> runtime = cl.Runtime(threads=2)
    >>> runtime.threads, runtime.key_cache_mib, runtime.table_mib
    (2, 6144.0, 256.0)
    >>> fast = cl.Params.preset("insecure_small", cl.Runtime(threads=2, key_cache_mib=100))
    >>> fast == params, fast.runtime == params.runtime
    (True, False)
    """
    def __new__(
        cls,
        threads: SupportsIndex | None = None,
        isa: _Isa | None = None,
        switching: _Switching = "fastest",
        key_expansion: float | None = None,
        key_cache_mib: float | None = None,
        rescale: _Rescale = "automatic",
        device: str = "cpu",
        table_mib: float | None = None,
    ) -> Runtime: ...
    @property
    def threads(self) -> int:
        """Worker threads."""
    @property
    def isa(self) -> _Isa | None:
        """The instruction set that was asked for, or None for the fastest of this machine."""
    @property
    def switching(self) -> _Switching:
        """How each level switches keys, as the constructor takes it."""
    @property
    def key_expansion(self) -> float:
        """The most memory that may be derived from one key, as a multiple of the size of that key."""
    @property
    def key_cache_mib(self) -> float:
        """The most memory for derived keys in MiB, of all keys together."""
    @property
    def table_mib(self) -> float:
        """The most memory for the tables of one parameter set in MiB."""
    @property
    def device(self) -> str:
        """The device that computes: "cpu" for the processor."""
    @property
    def rescale(self) -> _Rescale:
        """Who rescales products: "automatic" or "explicit"."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Params:
    """A checked, immutable parameter set: the ring, the moduli, the scale, and the security that follows from them.

    `Params.preset(name)` gives one of the sets that `preset_names()` lists. The constructor makes a set from sizes, and chooses primes of
    these sizes.

    The modulus of a ciphertext is a product of *steps*, each of one or more primes. A ciphertext at *level* l has the modulus of steps 0 to
    l. A rescale divides by step l and leads to level l - 1, so a level is the number of rescales that are left. The *special primes*
    lengthen the modulus during key switching only, the step that ends products of ciphertexts and rotations. The *rank* k is the number of
    polynomials in the mask of a ciphertext: at rank 1 this is CKKS over rings (RLWE), at higher ranks over modules (MLWE). Security grows
    with degree times rank and falls with the bits of the largest modulus, special primes included.

    Parameters
    ----------
    degree : int
        The ring degree n, a power of two from 2**3 to 2**17. A ciphertext holds n / 2 complex slots or n real coefficients.
    steps : sequence of float or of sequences of float
        The bits of the primes of each modulus step, step 0 first. A number is a step of one prime: `[[30, 30], 40, 40]` has levels 0 to 2.
        Fractions of a bit are allowed.
    log2_scale : float, optional
        The bits of the scale at the highest level. The scale is the factor that numbers are multiplied by before they are rounded. It is
        required unless `segments` state scales.
    special : sequence of float, optional
        The bits of the special primes. Without any there are no evaluation keys, and so no products of ciphertexts and no rotations.
    rank : int, optional
        The module rank k, 1 to 64. The default is 1.
    temporary_rank : int, optional
        A rank above `rank` at which products and `Needs(power_rotations=True)` switch keys before the result comes back to `rank`. Keys are
        smaller and products faster at ranks above 1. It needs `temporary`. None, the default, switches keys at `rank` directly.
    temporary : sequence of float, optional
        The bits of the primes that lengthen the special modulus at the temporary rank.
    secret_weight : int, optional
        The number of coefficients of the secret that are not zero. None, the default, draws each coefficient uniformly from -1, 0, 1.
    digit_bits : float, optional
        The most bits of a digit that key switching cuts polynomials into. None, the default, allows as many as the special primes have.
    insecure : bool, optional
        True accepts any security, for tests only. Every file made from such a set says so.
    below_128 : bool, optional
        True accepts sets of 110 to 128 bits of security, some of which were published.
    name : str, optional
        A name for people. The default is "custom".
    segments : sequence of dict, optional
        Runs of levels with a scale each, the lowest first: dicts with `name`, `log2_scale` and `levels`, the lowest and the highest level.
        None are the default: all levels share `log2_scale`.
    ephemeral_weight : int, optional
        The number of coefficients that are not zero of a second, sparse secret. Its keys are bound to level 0.
        None, the default, is no such secret.
    ephemeral_special : int, optional
        The number of special primes that keys to the sparse secret use. The default is 2.
    bootstrap_key_bytes : int, optional
        The most bytes that the keys of a bootstrap may take in memory, unless its plan says otherwise. None, the default, is no limit.
    bootstrap_log2_failure : float, optional
        The binary logarithm of the largest probability that a bootstrap may fail with. None, the default, is -128.
    runtime : Runtime, optional
        How to run: threads, instruction set, key switching. None, the default, is `Runtime()`.
    device : str, optional
        Where to compute, "cpu" or "cuda", in place of what the runtime says.

    Raises
    ------
    ParamsError
        Where the sizes do not make a parameter set, or no level can switch keys as the runtime asks.
    SecurityError
        Where the set has less than 128 bits of security and neither `insecure` nor `below_128` accepts that.

    Examples
    --------
    >>> cl.Params(degree=64, steps=[[30, 30], 40, 40], special=[42, 42], log2_scale=40, insecure=True)
    Params("custom", degree=64, rank=1, max_level=2, security_bits=0, INSECURE)
    """
    def __new__(
        cls,
        *,
        degree: SupportsIndex,
        steps: Sequence[float | Sequence[float]],
        log2_scale: float = 0.0,
        special: Sequence[float] = (),
        rank: SupportsIndex = 1,
        temporary_rank: SupportsIndex | None = None,
        temporary: Sequence[float] = (),
        secret_weight: SupportsIndex | None = None,
        digit_bits: float | None = None,
        insecure: bool = False,
        below_128: bool = False,
        name: str = "custom",
        segments: Sequence[_Segment] = (),
        ephemeral_weight: SupportsIndex | None = None,
        ephemeral_special: SupportsIndex | None = None,
        bootstrap_key_bytes: SupportsIndex | None = None,
        bootstrap_log2_failure: float | None = None,
        runtime: Runtime | None = None,
        device: str | None = None,
    ) -> Params: ...
    @staticmethod
    def preset(name: str, runtime: Runtime | None = None, *, device: str | None = None) -> Params:
        """A parameter set by its name.

        Parameters
        ----------
        name : str
            One of the names that `preset_names()` lists.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`.
        device : str, optional
            Where to compute, "cpu" or "cuda", in place of what the runtime says.

        Returns
        -------
        Params
            The parameter set.

        Raises
        ------
        ParamsError
            Where there is no preset of that name, or no level can switch keys as the runtime asks.

        Examples
        --------
        >>> cl.Params.preset("insecure_tiny").max_level
        4
        """
    @staticmethod
    def for_circuit(
        function: Callable[..., Any],
        *shapes: Sequence[SupportsIndex],
        error: float | None = None,
        bound: float = 1.0,
        security: float = 128,
        runtime: Runtime | None = None,
        **options: Any,
    ) -> ParamsChoice:
        """The preset with which a function of encrypted arrays runs fastest, found by dry runs, without keys and data.

        Every preset is tried but those whose names begin with "insecure", "paper" or "bench". Where none serves without a bootstrap, chains
        of degrees 2^13 to 2^16 are made for the computation, of which the fastest has the name "custom", and presets that bootstrap are
        tried. The time is predicted, with one thread.

        Parameters
        ----------
        function : callable
            The computation, as `trace` takes it: it gets one array for each shape.
        *shapes : sequence of int or Input
            The shapes of the arrays, or `Input` values, which also have options of their own.
        error : float, optional
            The most that the bound on the result's error (`Ciphertext.error_bound`) may be: of the noise, without what functions such as
            `sigmoid` differ by from what they approximate. None, the default, sets no limit.
        bound : float, optional
            The largest magnitude of the numbers. The default is 1.0.
        security : float, optional
            The least security in bits, up to 256. The default is 128.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`.
        **options
            Further keywords of `trace`, such as `encoding`.

        Returns
        -------
        ParamsChoice
            The parameters, the dry run with its keys, times and bytes, and what was tried.

        Raises
        ------
        ParamsError
            Where neither a preset nor a chain of its own runs the computation; the message says what they lack.
        DataError
            For an error or a bound that is not positive.

        Examples
        --------
        >>> choice = cl.Params.for_circuit(lambda x: (x**4).sum(), (1000,), error=1e-3)
        >>> choice.params.max_level >= 2, choice.trace.seconds > 0
        (True, True)
        """
    @staticmethod
    def from_toml(text: str, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from TOML text, whose fields are the arguments of the constructor.

        Parameters
        ----------
        text : str
            The text, as `to_toml` gives it. In TOML every step is a list: `steps = [[30, 30], [40]]`.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`.
        device : str, optional
            Where to compute, "cpu" or "cuda", in place of what the runtime says.
        allow_insecure : bool, optional
            Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
            say, not for whoever wrote the text.

        Returns
        -------
        Params
            The parameter set.

        Raises
        ------
        ParamsError
            Where the text does not specify a parameter set.
        SecurityError
            Where the set has less than 128 bits of security, and `allow_insecure` or the set itself does not accept that.

        Examples
        --------
        >>> cl.Params.from_toml(params.to_toml(), allow_insecure=True) == params
        True
        """
    @staticmethod
    def from_file(path: _Path, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from a TOML file, whose fields are the arguments of the constructor.

        Parameters
        ----------
        path : str, bytes or path-like
            A text file of at most 1 MiB.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`.
        device : str, optional
            Where to compute, "cpu" or "cuda", in place of what the runtime says.
        allow_insecure : bool, optional
            Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
            say, not for whoever wrote the file.

        Returns
        -------
        Params
            The parameter set.

        Raises
        ------
        FileAccessError
            Where the file cannot be read.
        ParamsError
            Where the text does not specify a parameter set.
        SecurityError
            Where the set has less than 128 bits of security, and `allow_insecure` or the set itself does not accept that.

        Examples
        --------
        >>> with open("params.toml", "w") as file:
        ...     size = file.write(params.to_toml())
        >>> cl.Params.from_file("params.toml", allow_insecure=True) == params
        True
        """
    @staticmethod
    def load(path: _Path, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`: a file states what to compute, never how to run.
        device : str, optional
            Where to compute, "cpu" or "cuda", in place of what the runtime says.
        allow_insecure : bool, optional
            Whether a set below 128 bits of security is taken, for tests. The default is False: whether that is enough is for the caller to
            say, not for whoever wrote the file.

        Returns
        -------
        Params
            The parameter set.

        Raises
        ------
        FileFormatError
            Where the file does not hold parameters, or is damaged.
        SecurityError
            Where the set has less than 128 bits of security, and `allow_insecure` does not accept that.
        FileAccessError
            Where the file cannot be read.

        Examples
        --------
        >>> size = params.save("params.clt")
        >>> cl.Params.load("params.clt", allow_insecure=True) == params
        True
        """
    def to(self, device: str) -> Params:
        """The same parameters on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        Params
            The parameters; what is made with them is on that device, and computes there.

        Raises
        ------
        DeviceError
            Where there is no such device, or no driver for it.

        Examples
        --------
        >>> params.to("cpu") == params
        True
        """
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the parameters to a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = params.save("params.clt")
        """
    def _repr_html_(self) -> str: ...
    def explain(self) -> Explanation:
        """Moduli, security, sizes and expected precision of this set.

        Returns
        -------
        Explanation
            Print it, or read the figures from its `to_dict()`.

        Examples
        --------
        >>> params.explain().to_dict()["max_level"]
        5
        """
    def switching_report(self, level: SupportsIndex | None = None) -> SwitchingReport:
        """How each level switches keys: method, digits, predicted times, memory.

        Parameters
        ----------
        level : int, optional
            The highest level that the keys serve. None, the default, is `max_level`.

        Returns
        -------
        SwitchingReport
            Print it, or read its `rows`.

        Raises
        ------
        ParamsError
            Where the parameters have no special primes, so that there are no keys to switch with.
        LevelError
            Where there is no such level.

        Examples
        --------
        >>> [row["level"] for row in params.switching_report(level=2).rows]
        [0, 1, 2]
        """
    def scale(self, level: SupportsIndex | None = None) -> float:
        """The canonical scale of a level: the scale of fresh ciphertexts there, and of rescaled products from the level above.

        The scale is the factor between the numbers of an array and the integers that are encrypted. All ciphertexts of one level that have
        its canonical scale can be added.

        Parameters
        ----------
        level : int, optional
            The level. None, the default, is `max_level`.

        Returns
        -------
        float
            The scale.

        Raises
        ------
        LevelError
            Where there is no such level.

        Examples
        --------
        >>> params.scale() == 2.0**40
        True
        """
    def segment(self, level: SupportsIndex | None = None) -> _Segment:
        """The segment of the chain that a level belongs to.

        A segment is a run of levels with one nominal scale.

        Parameters
        ----------
        level : int, optional
            The level. None, the default, is `max_level`.

        Returns
        -------
        dict
            `name`, `log2_scale` and `levels`, the lowest and the highest level.

        Raises
        ------
        LevelError
            Where there is no such level.

        Examples
        --------
        >>> params.segment()["log2_scale"]
        40.0
        """
    @property
    def segments(self) -> list[_Segment]:
        """The segments of the chain as dicts like that of `segment`, the lowest first; one segment where none were given."""
    @property
    def warnings(self) -> list[str]:
        """The segments whose steps do not match their scale: where repeated products of ciphertexts lose the scale, and why."""
    def log2_q(self, level: SupportsIndex | None = None) -> float:
        """The bits of the ciphertext modulus at a level.

        Parameters
        ----------
        level : int, optional
            The level. None, the default, is `max_level`.

        Returns
        -------
        float
            The binary logarithm of the product of steps 0 to `level`.

        Raises
        ------
        LevelError
            Where there is no such level.

        Examples
        --------
        >>> round(params.log2_q(0)), round(params.log2_q(1))
        (60, 100)
        """
    def to_toml(self) -> str:
        """The specification as TOML text.

        Returns
        -------
        str
            Text that `from_toml` reads.

        Examples
        --------
        >>> print(params.to_toml().splitlines()[0])
        name = "insecure_small"
        """
    @property
    def name(self) -> str:
        """The name of the set, for people."""
    @property
    def degree(self) -> int:
        """The ring degree n: the number of coefficients of a polynomial."""
    @property
    def rank(self) -> int:
        """The module rank k: the number of polynomials in the mask of a ciphertext."""
    @property
    def temporary_rank(self) -> int | None:
        """The rank at which products switch keys before they come back to `rank`, or None where they switch keys at `rank`."""
    def at_rank(self, rank: SupportsIndex) -> Params:
        """Parameters of the same degree, moduli and secret at another rank: those of the ciphertexts that `Ciphertext.to_rank` gives.

        A lower rank is secure for shorter moduli only, so `max_level` of the result may be lower.

        Parameters
        ----------
        rank : int
            The rank, 1 to the rank of this set.

        Returns
        -------
        Params
            Parameters whose `max_level` is the highest level that is secure at this rank.

        Raises
        ------
        ParamsError
            Where the rank is out of range, or no level is secure there.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> four.rank, four.at_rank(2).rank
        (4, 2)
        """
    def relative(self, *, degree: SupportsIndex | None = None, rank: SupportsIndex | None = None) -> Params:
        """Parameters of the same moduli, scales and secret at another degree and rank.

        Degree times rank must not be larger than here, and the degree at most this degree times the largest power of two in this rank.
        Ciphertexts get there by `Ciphertext.to_rank`, `to_rlwe` and `to_mlwe`, or are encrypted there by `SecretKey.relative(...)`.

        Parameters
        ----------
        degree : int, optional
            The ring degree. None, the default, keeps the degree.
        rank : int, optional
            The rank. None, the default, keeps the rank.

        Returns
        -------
        Params
            Parameters whose `max_level` is the highest level that is secure at this degree and rank.

        Raises
        ------
        ParamsError
            Where no conversion leads to this degree and rank, or no level is secure there.

        Examples
        --------
        >>> cl.Params.preset("insecure_dpad").relative(degree=1024, rank=1).degree
        1024
        """
    def rlwe(self) -> Params:
        """Parameters of the same moduli, scales and secret at rank 1 and the degree of equal dimension: degree times rank.

        These are the parameters of the ciphertexts that `Ciphertext.to_rlwe` gives. Where the rank is not a power of two, the odd factor of
        the rank stays: rank 6 leads to rank 3 at twice the degree.

        Returns
        -------
        Params
            The parameters there.

        Raises
        ------
        ParamsError
            Where the degree would be above 2**17.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> (four.degree, four.rank), (four.rlwe().degree, four.rlwe().rank)
        ((256, 4), (1024, 1))
        """
    @property
    def slot_count(self) -> int:
        """The number of complex slots of a polynomial: n / 2."""
    @property
    def application_levels(self) -> tuple[int, int] | None:
        """The lowest and the highest level of the application, in parameters that bootstrap; otherwise None.

        A bootstrap starts from the lowest level or above, and ends at the highest, or a level below it for each further round. Arrays are
        encrypted, circuits planned and keys made for the highest unless a level is stated: the levels above belong to the bootstrap, and
        operands of products that are there are brought to the highest first.
        """
    @property
    def max_level(self) -> int:
        """The highest level: the number of rescales that a fresh ciphertext allows."""
    @property
    def security_bits(self) -> float:
        """The estimated security in bits, of all keys that the set has."""
    @property
    def log2_qp(self) -> float:
        """The bits of the largest modulus of a key: all steps and the special primes."""
    @property
    def insecure(self) -> bool:
        """Whether the estimated security is below 128 bits."""
    @property
    def digest(self) -> str:
        """A digest of everything that two parties must agree on, as 64 hexadecimal digits. Files carry it."""
    @property
    def runtime(self) -> Runtime:
        """How these parameters run: threads, instruction set, key switching, memory for derived keys."""
    @property
    def primes(self) -> _Primes:
        """The primes, by what they are for.

        A dict that can be written as JSON. `steps` has one list per level, level 0 first: the modulus at level l is the product of steps 0
        to l. `special` has the special primes of key switching, `temporary` the primes that lengthen them at the temporary rank,
        `auxiliary` the primes that the KLSS method computes modulo, which are a part of no modulus. In this order the primes are numbered
        from 0; seeded masks depend on the number (docs/file-format.md). All primes are congruent to 1 modulo twice the degree. A set that
        `at_rank`, `relative` or `rlwe` gave has the primes of the set it came from, also those of levels above its own `max_level`.
        """
    @property
    def roots_of_unity(self) -> dict[int, int]:
        """For each prime the root of unity of its number-theoretic transform.

        A dict from primes to roots, in the order of `primes`. The root psi is a primitive 2n-th root of unity modulo the prime. Files and
        memory hold polynomials as their values at the odd powers of psi, in bit-reversed order (docs/file-format.md).
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Params: ...
    def __deepcopy__(self, memo: Any) -> Params: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Explanation:
    """What a parameter set means in numbers: security, sizes, expected precision.

    `Params.explain()` makes it; print it, or read the figures from `to_dict()`.

    Examples
    --------
    >>> print(params.explain())  # doctest: +ELLIPSIS
    insecure_small...
    """
    def _repr_html_(self) -> str: ...
    def to_dict(self) -> dict[str, Any]:
        """The figures by name.

        Returns
        -------
        dict
            Names that start with `log2_` or end in `_bits` are in bits, names that end in `_mib` in MiB. The dict can be written as JSON.

        Examples
        --------
        >>> figures = params.explain().to_dict()
        >>> figures["degree"], figures["slot_count"]
        (1024, 512)
        """

@final
class SwitchingReport:
    """How each level of a parameter set switches keys, with predicted times and memory.

    Key switching is the step that ends every product of ciphertexts, rotation and conjugation; `Runtime` explains its two methods.
    `Params.switching_report()` makes the report. Print it for a table with a legend, or read its `rows`.

    Examples
    --------
    >>> report = params.switching_report()
    >>> report.rows[-1]["level"], report.rows[-1]["method"]
    (5, 'hybrid')
    """
    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """The report as text: a table with one line per level, its legend, the memory limits, and where the predicted times come from.

        Returns
        -------
        str
            What `print(report)` prints.

        Examples
        --------
        >>> "special primes of the switch" in params.switching_report().explain()
        True
        """
    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dict per level, lowest level first.

        The keys: `level`; `method`, "hybrid" or "klss"; `as_made`, whether the key is used as it is stored in its file; `r`, the number of
        special primes; `digits`, the number of digits that a polynomial is cut into; `log2_digit`, the bits of the longest digit;
        `milliseconds`, the predicted time with one thread; `read_bytes`, the bytes of key that one switch reads; `derived_bytes`, the bytes
        derived from one key for this level. For the KLSS method also `r_tilde`, the primes per key digit; `key_digits`, the number of
        digits that the key is cut into; `auxiliary`, the number of auxiliary primes that the products are computed modulo. They are None
        for the hybrid method.
        """
    def to_dict(self) -> dict[str, Any]:
        """All figures by name.

        Returns
        -------
        dict
            `rows` as above; names that end in `_bytes` are in bytes. `origin` says where the machine model behind the predicted times comes
            from: "built-in", or "measured" by `tune`. `refused` lists the levels that cannot switch with the method that the runtime
            fixes, each with the reason. `temporary` is the report of the temporary rank, where the parameters have one.

        Examples
        --------
        >>> params.switching_report().to_dict()["key_level"]
        5
        """

@final
class Needs:
    """The evaluation keys that a computation needs.

    `SecretKey.evaluation_keys(needs)` makes exactly these keys. `trace` finds out the needs of a function, and `PolynomialPlan.needs`
    states those of a polynomial. `a | b` needs what a or b needs.

    Parameters
    ----------
    relinearise : bool, optional
        Whether ciphertexts are multiplied with each other. The default is False.
    rotations : sequence of int, optional
        The steps of the rotations; positive steps rotate to the left, and 0 needs no key. There are none by default.
    conjugate : bool, optional
        Whether ciphertexts are conjugated. The default is False.
    level : int, optional
        The highest level of the ciphertexts that the keys serve. None, the default, is that of `SecretKey.encrypt`. A lower level
        makes keys smaller and faster.
    power_rotations : bool, optional
        Whether there are keys of the rotations by powers of two, of which every rotation is made. These keys live at the temporary rank,
        which the parameters must have. The default is False.
    ranks : sequence of int, optional
        The ranks that the rank of ciphertexts is reduced to, one after the other, highest first, as in `[2, 1]`; each is at most half of
        the one before. Everything else that is needed is needed at each of these ranks too. `Needs(..., ranks=...) | Needs(...)` needs the
        second part at the parameters' own rank only.
    single_steps : bool, optional
        Allows ranks that are more than half of the one before. Keys of many such steps are a possible weakness, so that True is your word
        that there are few of them. The default is False.
    to_rlwe : bool, optional
        Whether ciphertexts are converted to rank 1 at a higher degree, from the parameters' own rank and from each of `ranks`. Everything
        else that is needed is needed there too. The default is False.
    shared_mask : int, optional
        How many bodies `Ciphertext.share_mask` brings under one mask and `Ciphertext.split_mask` takes apart. None, the default, needs no
        keys for that.
    bodies : int, optional
        How many bodies share a mask in the arrays that `rotations` and `conjugate` are for. None, the default, is arrays with one body in
        each bundle, as an encryption without `bodies` gives them.

    Raises
    ------
    DataError
        Where levels, steps, ranks or numbers of bodies are out of range, or `bodies` is given with operations that arrays of several bodies
        under one mask do not have. Whether the parameters have the ranks is checked when keys are made.

    Examples
    --------
    >>> cl.Needs(relinearise=True) | cl.Needs(rotations=[1], level=3)
    Needs(relinearise: top, rotate 1: level 3)
    >>> cl.Needs(shared_mask=8)
    Needs(take 8 bodies apart: top, bring 8 bundles under one mask: top)
    """
    def __new__(
        cls,
        relinearise: bool = False,
        rotations: Sequence[SupportsIndex] = (),
        conjugate: bool = False,
        level: SupportsIndex | None = None,
        *,
        power_rotations: bool = False,
        ranks: Sequence[SupportsIndex] = (),
        single_steps: bool = False,
        to_rlwe: bool = False,
        shared_mask: SupportsIndex | None = None,
        bodies: SupportsIndex | None = None,
    ) -> Needs: ...
    @property
    def relinearise(self) -> bool:
        """Whether a relinearisation key is needed."""
    @property
    def conjugate(self) -> bool:
        """Whether a key is needed for the conjugation of arrays with one body in each bundle."""
    @property
    def rotations(self) -> list[int]:
        """The rotation steps of arrays with one body in each bundle that need a key, ascending."""
    @property
    def power_rotations(self) -> bool:
        """Whether keys of rotations by powers of two at the temporary rank are needed."""
    @property
    def ranks(self) -> list[int]:
        """The ranks that are reduced to, highest first."""
    @property
    def shared_masks(self) -> list[int]:
        """How many bodies are brought under one mask or taken apart, ascending."""
    @property
    def to_rlwe(self) -> bool:
        """Whether ciphertexts are converted to rank 1 at a higher degree."""
    def to_dict(self) -> dict[str, Any]:
        """The highest level that each key is needed at.

        Returns
        -------
        dict
            `{"relinearise": level, "conjugate": level, "rotations": {steps: level}}`, where the level None is the highest of the
            parameters. Keys that are not needed are left out. Where they are needed also `"power_rotations": level`; `"ranks": {rank:
            level}`; `"share_mask": {bodies: level}` and `"split_mask": {bodies: level}`; `"bodies": {bodies: {"rotations": {steps: level},
            "conjugate": level}}`, for arrays of several bodies under one mask; `"routes"`, a list of ranks and conversions with what is
            needed at each; `"others": {name: level}`, the keys of a bootstrap that no other entry names; and `"relatives": {(degree, rank):
            ...}`, the needs at other degrees and ranks.

        Examples
        --------
        >>> cl.Needs(relinearise=True, rotations=[1], level=3).to_dict()
        {'relinearise': 3, 'rotations': {1: 3}}
        """
    def nbytes(self, params: Params) -> int:
        """The memory in bytes that the keys take.

        Parameters
        ----------
        params : Params
            The parameters that the keys are made for.

        Returns
        -------
        int
            The bytes in memory. A file takes one part in rank + 1 of them: half at rank 1.

        Raises
        ------
        ParamsError
            Where the parameters cannot have such keys.

        Examples
        --------
        >>> needs = cl.Needs(rotations=[1, 2])
        >>> needs.nbytes(params) == secret_key.evaluation_keys(needs).nbytes
        True
        """
    def __or__(self, other: Needs, /) -> Needs: ...
    def __ror__(self, other: Needs, /) -> Needs: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_json(text: str) -> Needs: ...

@final
class SecretKey:
    """The key of the owner of the data: it encrypts, decrypts, and makes the other keys.

    `SecretKey.generate(params)` makes one. It is never printed, and `pickle` and `copy` refuse it; only `save` writes it to a file.

    Examples
    --------
    >>> key = cl.SecretKey.generate(params)
    >>> key.decrypt(key.encrypt([1.0, 2.0])).round(4)
    array([1., 2.])
    """
    def to(self, device: str) -> SecretKey:
        """The same secret key on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        SecretKey
            The key, which encrypts and decrypts on that device.

        Raises
        ------
        DeviceError
            Where there is no such device, or no driver for it.
        NotEnoughMemoryError
            Where the device has no room.

        Examples
        --------
        >>> secret_key.to("cpu").params == params
        True
        """
    @staticmethod
    def generate(params: Params) -> SecretKey:
        """A fresh secret key from the randomness of the operating system.

        Parameters
        ----------
        params : Params
            The parameters.

        Returns
        -------
        SecretKey
            The key.

        Raises
        ------
        RandomError
            Where the operating system gives no randomness.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> key = cl.SecretKey.generate(params)
        """
    def encrypt(
        self,
        array: ArrayLike,
        encoding: _Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        progress: _Progress = None,
        *,
        bodies: SupportsIndex | None = None,
        axis: _BodyAxis | None = None,
        capacity: SupportsIndex | None = None,
        lanes: SupportsIndex | Literal["most"] | None = None,
        copies: SupportsIndex | None = None,
        order: _Order = "natural",
        bound: float | None = None,
    ) -> Ciphertext:
        """Encrypts an array; the ciphertext has its shape.

        Parameters
        ----------
        array : array_like
            Numbers of any numeric type and memory layout, at most two axes.
        encoding : {"slots", "coefficients"}, optional
            How numbers are placed in polynomials. "slots" holds n / 2 complex numbers per polynomial, for products element by element and
            rotations. "coefficients" holds n real or n / 2 complex numbers, for sums, products with plain numbers and `W @ ct`. None, the
            default, takes coefficients for real matrices and slots for everything else.
        level : int, optional
            The level, 0 to `params.max_level`: the number of rescales that the ciphertext allows. A lower level is smaller and faster.
            None, the default, is the highest level of `params.application_levels`, or `params.max_level` without them.
        scale : float, optional
            The factor that numbers are multiplied by before they are rounded. None, the default, is the canonical scale of the level.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
        bodies : int, optional
            How many polynomials share a mask, 1 to 4096. The array takes less memory, and operations on the mask serve all of them;
            products of such arrays with each other are refused. The array is under a secret of its own, "bodies:" and the number. None,
            the default, is one, under the secret "main".
        axis : {"rows", "chunks"}, optional
            Which polynomials share a mask. "rows" are consecutive rows of the array, so that rotations serve several rows. "chunks" are
            consecutive polynomials of one row, so that `W @ ct` multiplies one mask for the whole row. None, the default, takes chunks
            where a row needs several polynomials, and rows otherwise.
        capacity : int, optional
            The most numbers in one polynomial, a power of two. Slots repeat with this period; coefficients are spread evenly. None, the
            default, is the length of a row rounded up to a power of two in slots, and all coefficients.
        lanes : int or "most", optional
            How many consecutive rows share a polynomial, a power of two, where rows of slots or of real coefficients are shorter than a
            polynomial. "most" is as many as there is room for. Such arrays are much smaller, and operations on them faster. In slots rows
            lie one behind the other. In coefficients they alternate, as prepared matrices want them, and `to_mlwe` takes them apart.
            None, the default, is one row in a polynomial.
        copies : int, optional
            How many neighbouring slots hold each number, a power of two. Only for arrays that are combined with sums of rows that share
            polynomials: their `layout` says how many. None, the default, is 1.
        order : {"natural", "bit-reversed"}, optional
            The order of the numbers in a polynomial. "bit-reversed" puts number j at the place whose bits are those of j reversed. The
            default is "natural".
        bound : float, optional
            The largest magnitude that the numbers may have; larger ones are refused. Results have bounds (`Ciphertext.bound`), and what
            might wrap around is refused before it is computed. It is public: it is in files, and nothing is taken from the numbers
            themselves. With a bound the time of an encryption does not depend on the numbers; without, it shows whether the largest one is
            too large for double precision to serve. None, the default, is no bound.

        Returns
        -------
        Ciphertext
            The encrypted array, without evaluation keys.

        Raises
        ------
        DataError
            Where numbers are NaN, infinite or too large, there are none, or there are more than two axes; for a number of bodies, a
            capacity, lanes or copies out of range, and for another axis or order; for numbers above the bound, and a bound without room.
        TypeError
            Where the entries are no numbers.
        LevelError
            Where there is no such level.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        CancelledError
            Where the progress function returned False.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> secret_key.encrypt(np.zeros((3, 4))).encoding
        'coefficients'
        >>> (secret_key.encrypt([1.0, 2.0], bound=10.0) + 5).bound
        15.0
        >>> secret_key.encrypt(np.zeros((3, 4)), bodies=3).layout
        1024 real numbers in coefficients of degree 1024, 3 rows under one mask
        """
    # float64, or complex128 where the data was complex: which one is not known before, so callers need not check.
    def decrypt(self, ciphertext: Ciphertext | TransposedCiphertext, progress: _Progress = None) -> NDArray[Any]:
        """Decrypts a ciphertext to an array, for the owner of the key alone.

        The result has a small error, and the error depends on the secret. Neither the numbers nor whether decryption failed may reach
        whoever computed the ciphertext, or its friends: with changed ciphertexts, each that is read or refused gives a part of the key
        away. To show the numbers to others, use `decrypt_to_share`.

        Parameters
        ----------
        ciphertext : Ciphertext or TransposedCiphertext
            A ciphertext under this secret, at any degree and rank that the parameters lead to.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.

        Returns
        -------
        numpy.ndarray
            The numbers, of the shape of the ciphertext: float64, or complex128 where the encrypted numbers were complex.

        Raises
        ------
        WrongParamsError
            Where the ciphertext has other parameters.
        WrongSecretError
            Where the ciphertext belongs to another secret.
        DataError
            Where the numbers have visibly outgrown the modulus.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> secret_key.decrypt(ct + 1).round(4)
        array([2., 3., 4.])
        """
    def decrypt_to_share(
        self,
        ciphertext: Ciphertext | TransposedCiphertext,
        flood_bits: SupportsIndex,
        progress: _Progress = None,
        *,
        honest_evaluator: bool = False,
    ) -> NDArray[Any]:
        """Decrypts a ciphertext with noise on top, for results of an honest server that others will see.

        Noise protects results of a server that computed what was asked. A server that did not can add multiples of the secret to its
        result and read them in the numbers, or from whether they came; the numbers look right all the same, and noise does not help. So
        the call takes your word, `honest_evaluator=True`. Where you cannot give it, compute the result again, or have a second server do
        so, and compare (`Ciphertext.same_as`), or show nobody the numbers.

        The error of a decryption depends on the secret, so publishing exact decryptions leaks it. Here noise, uniform in [-2**(flood_bits -
        1), 2**(flood_bits - 1)), is added to each scaled coefficient. `Ciphertext.flood_bits` says how many bits that takes: it counts the
        error, the coefficients and all decryptions that will be shared. Do not choose the number without it. A key counts its shared
        results where it was given a number of them (`with_share_budget`); for others you have to.

        Parameters
        ----------
        ciphertext : Ciphertext or TransposedCiphertext
            A ciphertext under this secret.
        flood_bits : int
            The bits of noise, 1 to 118. `Ciphertext.flood_bits` computes them from a bound on the error.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
        honest_evaluator : bool, optional
            Your word that the ciphertext is what you asked to be computed. Without it, the default, nothing is shared.

        Returns
        -------
        numpy.ndarray
            The numbers, of the shape of the ciphertext.

        Raises
        ------
        WrongParamsError
            Where the ciphertext has other parameters.
        WrongSecretError
            Where the ciphertext belongs to another secret.
        DataError
            Without `honest_evaluator=True`; where `flood_bits` is out of range, the budget of shared results is spent, or the numbers have
            visibly outgrown the modulus.
        FileAccessError
            Where the count of shared results cannot be written to the file of the key.
        CancelledError
            Where the progress function returned False. The result is counted all the same.

        Examples
        --------
        >>> secret_key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True).round(3)
        array([1., 2., 3.])
        """
    def authentication_key(self) -> AuthenticationKey:
        """The key by which a server knows what this owner's light clients send: always the same one.

        Returns
        -------
        AuthenticationKey
            For `Receiver`, `Inbox` and `clathrate pack`. It decrypts nothing, but whoever has it can send numbers in the name of every
            client.

        Examples
        --------
        >>> secret_key.authentication_key().key_id == secret_key.key_id
        True
        """

    def public_key(self) -> PublicKey:
        """A public key: whoever has it can encrypt for this secret key, at any level.

        Returns
        -------
        PublicKey
            A fresh public key.

        Raises
        ------
        RandomError
            Where the operating system gives no randomness.

        Examples
        --------
        >>> secret_key.public_key().key_id == secret_key.key_id
        True
        """
    def evaluation_keys(self, needs: Needs, progress: _Progress = None) -> EvaluationKeys:
        """The evaluation keys of a computation: exactly those that `needs` states.

        Parameters
        ----------
        needs : Needs
            What the computation does: products, rotations, conjugation, changes of rank. `trace` finds it out for a function.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (keys done, keys in all) and may return False to stop.

        Returns
        -------
        EvaluationKeys
            The keys; they may be given to whoever computes.

        Raises
        ------
        ParamsError
            Where the parameters have no special primes, no temporary rank for `power_rotations`, or not the ranks that are asked for.
        LevelError
            Where the level that is asked for does not exist.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> secret_key.evaluation_keys(cl.Needs(rotations=[1, 2])).rotations
        [1, 2]
        """
    def keys_for(
        self,
        function: Callable[..., Any],
        *shapes: Sequence[SupportsIndex],
        progress: _Progress = None,
        **options: Any,
    ) -> EvaluationKeys:
        """The evaluation keys that a function of encrypted arrays needs, found by a dry run.

        `keys_for(f, shape)` is `evaluation_keys(cl.trace(f, shape, params=key.params).needs)`. Use `trace` itself to see time and bytes
        before keys are made, and for functions that bootstrap by themselves: its `bootstrap_below` is needed, too.

        Parameters
        ----------
        function : callable
            The computation, as `trace` takes it: it gets one array for each shape.
        *shapes : sequence of int or Input
            The shapes of the arrays.
        progress : bool or callable, optional
            As `evaluation_keys` takes it.
        **options
            How the arrays are encrypted: the keywords of `trace`, such as `level`, and `encoding`, which matrices in slots have to be
            given.

        Returns
        -------
        EvaluationKeys
            The keys. `keys | other` joins sets of several functions.

        Raises
        ------
        ClathrateError
            As `trace` and `evaluation_keys`.

        Examples
        --------
        >>> f = lambda x, y: x.dot(y)
        >>> keys = secret_key.keys_for(f, (4,), (4,))
        >>> keys.rotations, keys.has_relinearisation
        ([1, 2], True)
        >>> x = secret_key.encrypt([1.0, 2.0, 3.0, 4.0]).with_keys(keys)
        >>> float(secret_key.decrypt(f(x, x)).round(4))
        30.0
        """
    def relative(self, params: Params) -> SecretKey:
        """The same secret at another degree and rank, to encrypt there.

        To decrypt it is not needed: `decrypt` takes ciphertexts of every degree and rank that these parameters lead to.

        The key is as secret as this one, also where it is smaller: it holds the seed that all devices', bodies' and packing secrets of this
        owner are drawn from, and the authentication key. It is no key to give to somebody else. What a device gets is `LightClient`.

        Parameters
        ----------
        params : Params
            What `params.relative(...)`, `params.at_rank(...)` or `params.rlwe()` gave.

        Returns
        -------
        SecretKey
            The same secret there.

        Raises
        ------
        WrongParamsError
            Where these are not parameters that this key's parameters lead to, or degree times rank is larger.

        Examples
        --------
        >>> four = cl.Params.preset("insecure_dpad")
        >>> key = cl.SecretKey.generate(four)
        >>> key.decrypt(key.relative(four.rlwe()).encrypt([1.0, 2.0])).round(4)
        array([1., 2.])
        """
    def with_outside_secret(self, number: SupportsIndex, coefficients: Sequence[SupportsIndex]) -> SecretKey:
        """This key with the secret of another library's LWE samples, which it can then decrypt and make keys for.

        The other secret is not stored with the key: `save` writes the owner's alone.

        Parameters
        ----------
        number : int
            A number for the other secret, for `SamplesPlan(..., outside=number)`.
        coefficients : sequence of int
            The other secret: -1, 0 or 1 each, at most degree times rank of them.

        Returns
        -------
        SecretKey
            The key with both secrets.

        Raises
        ------
        DataError
            For a negative number, other coefficients, none, or too many.

        Examples
        --------
        >>> both = secret_key.with_outside_secret(1, [0, 1, 1, 0, 1])
        >>> both.key_id == secret_key.key_id
        True
        """
    def with_share_budget(self, results: SupportsIndex) -> SecretKey:
        """This key with a number of results that it shares and no more: `decrypt_to_share` counts them.

        The noise of shared results is computed for a number of them (`Ciphertext.flood_bits(queries=...)`), and more would leak. The count
        is stored with the key. A key that was saved or loaded counts in its file, before it decrypts: programs that use one file count
        together, and a result that is lost is counted, too. Copies of the file count on their own, backups among them.

        Parameters
        ----------
        results : int
            How many results the key may share.

        Returns
        -------
        SecretKey
            The key, which counts from now on. To keep the count it has to be saved.

        Raises
        ------
        DataError
            For a negative number, and where the key has a budget already.

        Examples
        --------
        >>> key = secret_key.with_share_budget(100)
        >>> shared = key.decrypt_to_share(ct, flood_bits=20, honest_evaluator=True)
        >>> key.share_budget, key.shares_left
        (100, 99)
        """
    @property
    def share_budget(self) -> int | None:
        """How many results the key may share in all, or None where nobody counts."""
    @property
    def shares_left(self) -> int | None:
        """How many results the key may still share, as its file says where it has one, or None where nobody counts."""
    def tag(self, path: _Path, name: str = "") -> str:
        """The tag of a file under a name, by which the owner knows a file again that is stored elsewhere.

        Whoever stores the file cannot make the tag of another file, or of this one under another name. Keep the tag and compare it before
        you use the file again: it is another one where the file was changed, exchanged or set back to an older one. Checksums inside of
        files notice accidents alone.

        Parameters
        ----------
        path : str, bytes or path-like
            Any file.
        name : str, optional
            What the file is to be, such as its path and date. The default is an empty name.

        Returns
        -------
        str
            128 bits, as 32 hexadecimal digits.

        Raises
        ------
        FileAccessError
            Where the file cannot be read.

        Examples
        --------
        >>> size = secret_key.encrypt([1.0, 2.0], bound=2.0).save("monday.clt")
        >>> tag = secret_key.tag("monday.clt", "readings of monday")
        >>> tag == secret_key.tag("monday.clt", "readings of monday"), tag == secret_key.tag("monday.clt", "readings of tuesday")
        (True, False)
        """
    def save(self, path: _Path, overwrite: bool = False) -> int:
        """Writes the secret key to a file that only its owner may read.

        The file is not encrypted: whoever can read it can decrypt. A budget of shared results is stored, too.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all.
        overwrite : bool, optional
            Whether a file that exists may be replaced, even if it holds a secret key. The default is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, or exists and `overwrite` is False.

        Examples
        --------
        >>> size = secret_key.save("secret.clt")
        """
    @staticmethod
    def load(path: _Path, params: Params) -> SecretKey:
        """A secret key from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters it was made with.

        Returns
        -------
        SecretKey
            The key.

        Raises
        ------
        FileFormatError
            Where the file does not hold a secret key, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = secret_key.save("secret.clt")
        >>> cl.SecretKey.load("secret.clt", params).key_id == secret_key.key_id
        True
        """
    @property
    def params(self) -> Params:
        """The parameters."""
    @property
    def key_id(self) -> str:
        """The public name of the secret, 32 hexadecimal digits. Ciphertexts and keys carry it; messages show the first 12 digits."""
    def __reduce_ex__(self, protocol: SupportsIndex) -> Any: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...

@final
class PreparedMatrix:
    """A plain matrix that is ready for its products with encrypted matrices, made by `MatrixPlan.prepare`: `W @ X`.

    Examples
    --------
    >>> params = cl.Params.preset("insecure_matmul")
    >>> owner = cl.SecretKey.generate(params)
    >>> plan = cl.MatrixPlan(params, [[0.0, 1.0], [1.0, 0.0]], columns=3)
    >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], **plan.encryption)
    >>> owner.decrypt(swap @ X).round(3)
    array([[4., 5., 6.],
           [1., 2., 3.]])
    """

    __array_ufunc__: ClassVar[None]

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""

    @property
    def method(self) -> str:
        """The method of its products: "exact", "by rows" or "prepared"."""

    @property
    def key_bytes(self) -> int:
        """The bytes of its own keys in memory; 0 unless the method is "prepared"."""

    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the matrix and its keys to a file. The file holds no secret, but the numbers of the matrix.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The file's length in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.
        DataError
            Unless the method is "prepared": other methods have no keys of the matrix, so that its numbers are all there is to keep.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
        >>> cl.PreparedMatrix.load("identity.clt", owner.params)
        PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
        """

    @staticmethod
    def load(path: _Path, params: Params, trusted_map: bool = False) -> PreparedMatrix:
        """Reads a prepared matrix from a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the matrix was prepared for.
        trusted_map : bool, optional
            Whether the keys stay in the file and are read from there when they are used. True is a promise that no program
            changes the file as long as the object lives, because that would change results or end this process. The default is False.

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
        >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> size = plan.prepare(owner.evaluation_keys(plan.needs)).save("identity.clt")
        >>> cl.PreparedMatrix.load("identity.clt", owner.params, trusted_map=True).shape
        (2, 2)
        """

    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """Sizes, keys, predicted time of a product, and what its precision is made of.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
        >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
        >>> plan.prepare(owner.evaluation_keys(plan.needs)).explain() in plan.explain()
        True
        """

    def matmul(self, array: Ciphertext, progress: _Progress = None) -> Ciphertext:
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
        >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3)
        >>> identity = plan.prepare(owner.evaluation_keys(plan.needs))
        >>> identity.matmul(owner.encrypt(np.ones((2, 3)), **plan.encryption)).shape
        (2, 3)
        """

    def __matmul__(self, other: Ciphertext, /) -> Ciphertext: ...

@final
class PublicKey:
    """A public key: it encrypts for the owner of a secret key and cannot decrypt.

    `SecretKey.public_key()` makes it. It may be given to anyone.

    Examples
    --------
    >>> public_key = secret_key.public_key()
    >>> secret_key.decrypt(public_key.encrypt([1.0, 2.0])).round(4)
    array([1., 2.])
    """
    def to(self, device: str) -> PublicKey:
        """The same public key on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        PublicKey
            The key, which encrypts on that device.

        Raises
        ------
        DeviceError
            Where there is no such device, or no driver for it.
        NotEnoughMemoryError
            Where the device has no room.

        Examples
        --------
        >>> secret_key.public_key().to("cpu").params == params
        True
        """
    def encrypt(
        self,
        array: ArrayLike,
        encoding: _Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        progress: _Progress = None,
        *,
        lanes: SupportsIndex | Literal["most"] | None = None,
        bound: float | None = None,
    ) -> Ciphertext:
        """Encrypts an array, as `SecretKey.encrypt` does, with more noise and at twice the file size.

        Parameters
        ----------
        array : array_like
            Numbers of any numeric type and memory layout, at most two axes.
        encoding : {"slots", "coefficients"}, optional
            How numbers are placed in polynomials. "slots" holds n / 2 complex numbers per polynomial, for products element by element and
            rotations. "coefficients" holds n real or n / 2 complex numbers, for sums, products with plain numbers and `W @ ct`. None, the
            default, takes coefficients for real matrices and slots for everything else.
        level : int, optional
            The level, 0 to `params.max_level`: the number of rescales that the ciphertext allows. A lower level is smaller and faster.
            None, the default, is the highest level of `params.application_levels`, or `params.max_level` without them.
        scale : float, optional
            The factor that numbers are multiplied by before they are rounded. None, the default, is the canonical scale of the level.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (polynomials done, polynomials in all) and may return False to stop.
        lanes : int or "most", optional
            How many consecutive rows share a polynomial, as in `SecretKey.encrypt`. None, the default, is one row in a polynomial.
        bound : float, optional
            The largest magnitude that the numbers may have, as in `SecretKey.encrypt`. None, the default, is no bound.

        Returns
        -------
        Ciphertext
            The encrypted array, without evaluation keys.

        Raises
        ------
        DataError
            Where numbers are NaN, infinite or too large, there are none, or there are more than two axes; for lanes out of range.
        TypeError
            Where the entries are no numbers.
        LevelError
            Where there is no such level.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        CancelledError
            Where the progress function returned False.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> secret_key.public_key().encrypt([1.0, 2.0]).shape
        (2,)
        """
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the public key to a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = secret_key.public_key().save("public.clt")
        """
    @staticmethod
    def load(path: _Path, params: Params) -> PublicKey:
        """A public key from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters it was made with.

        Returns
        -------
        PublicKey
            The key.

        Raises
        ------
        FileFormatError
            Where the file does not hold a public key, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = secret_key.public_key().save("public.clt")
        >>> public_key = cl.PublicKey.load("public.clt", params)
        """
    def to_bytes(self) -> bytes:
        """The bytes that `save` would write.

        Returns
        -------
        bytes
            The bytes; `from_bytes` reads them.

        Examples
        --------
        >>> again = cl.from_bytes(secret_key.public_key().to_bytes(), params)
        """
    @property
    def params(self) -> Params:
        """The parameters."""
    @property
    def key_id(self) -> str:
        """The public name of the secret it encrypts for, 32 hexadecimal digits."""
    @property
    def fingerprint(self) -> str:
        """128 bits of a hash of the key, as eight groups of four hexadecimal digits, to be compared by voice with what its owner says.

        `key_id` is a label that anybody can write on another key: whoever encrypts with a key of unknown origin encrypts for whoever made
        it. `clathrate inspect` prints the fingerprint of a file.
        """
    def __copy__(self) -> PublicKey: ...
    def __deepcopy__(self, memo: Any) -> PublicKey: ...
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]: ...

@final
class EvaluationKeys:
    """Evaluation keys: they let anyone compute on ciphertexts, and decrypt nothing.

    `SecretKey.evaluation_keys(needs)` makes them. A relinearisation key serves products of ciphertexts, a rotation key one rotation, and so
    on; each serves ciphertexts up to a level. `Ciphertext.with_keys(keys)` attaches them to a ciphertext, whose results inherit them.

    A file stores each key once. Faster key switching needs other representations of a key at some levels, which are derived from the stored
    key on first use and kept in memory (`Runtime`).

    Examples
    --------
    >>> keys = secret_key.evaluation_keys(cl.Needs(relinearise=True, rotations=[1]))
    >>> x = secret_key.encrypt([1.0, 2.0]).with_keys(keys)
    >>> secret_key.decrypt((x * x).rescale().rotate(1)).round(4)
    array([4., 1.])
    """
    def to(self, device: str) -> EvaluationKeys:
        """The same evaluation keys on another device.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        EvaluationKeys
            The keys, in the memory of that device. Meanwhile the host holds them twice.

        Raises
        ------
        DeviceError
            Where there is no such device, or no driver for it.
        NotEnoughMemoryError
            Where the device has no room.

        Examples
        --------
        >>> keys.to("cpu").rotations == keys.rotations
        True
        """
    @property
    def rotations(self) -> list[int]:
        """The rotation steps that there are keys for, ascending, in (-slot_count / 2, slot_count / 2]."""
    @property
    def has_relinearisation(self) -> bool:
        """Whether ciphertexts can be multiplied."""
    @property
    def has_conjugation(self) -> bool:
        """Whether ciphertexts can be conjugated."""
    @property
    def has_power_rotations(self) -> bool:
        """Whether ciphertexts can be rotated by any step, made of rotations by powers of two at the temporary rank."""
    @property
    def ranks(self) -> list[int]:
        """The ranks that the rank of `params` can be reduced to directly, highest first."""
    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The degree and rank of all ciphertexts that there are keys for, those of `params` first."""
    @property
    def names(self) -> list[tuple[str, tuple[int, int], int]]:
        """The stored keys: for each its name, the degree and rank of the ciphertexts that it serves, and the highest level that it serves.

        The names are those of the keys' files. "relinearise" is the key of products; "automorphism 5" that of the rotation which maps X to
        X**5, and of the conjugation where the number is twice the degree less 1; "reduce-rank 2" reduces the rank to 2. Names with "cross",
        "direct", "temporary" and "rank-down" are keys of the temporary rank.

        Examples
        --------
        >>> keys.names[0]
        ('relinearise', (1024, 1), 5)
        """
    @property
    def nbytes(self) -> int:
        """The size of the stored keys in memory in bytes, without what is derived from them."""
    @property
    def derived_bytes(self) -> int:
        """The size in bytes of what is derived from these keys at present."""
    def derive(self, levels: Sequence[SupportsIndex] | None = None, progress: _Progress = None) -> int:
        """Derives now what first uses would derive, so that the first product or rotation is as fast as later ones.

        What does not fit into `Runtime.key_cache_mib` is left out; the stored key is used in its place.

        Parameters
        ----------
        levels : sequence of int, optional
            The levels of the ciphertexts to derive for. None, the default, derives for all levels. Levels that a key does not serve are
            skipped.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (derivations done, derivations in all) and may return False to stop.

        Returns
        -------
        int
            `derived_bytes` afterwards.

        Raises
        ------
        LevelError
            Where there is no such level.
        CancelledError
            Where the progress function returned False; what was derived by then is kept.

        Examples
        --------
        >>> keys.derive() == keys.derived_bytes
        True
        """
    def drop_derived(self) -> None:
        """Frees the memory of what is derived; it is derived again when needed.

        Examples
        --------
        >>> keys.drop_derived()
        >>> keys.derived_bytes
        0
        """
    @property
    def params(self) -> Params:
        """The parameters."""
    @property
    def key_id(self) -> str:
        """The public name of the secret that they belong to, 32 hexadecimal digits."""
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the keys to a file; what is derived from them is not written.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = keys.save("keys.clt")
        """
    @staticmethod
    def load(path: _Path, params: Params) -> EvaluationKeys:
        """Evaluation keys from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters they were made with.

        Returns
        -------
        EvaluationKeys
            The keys.

        Raises
        ------
        FileFormatError
            Where the file does not hold evaluation keys, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = keys.save("keys.clt")
        >>> cl.EvaluationKeys.load("keys.clt", params).rotations
        [1, 2]
        """
    def to_bytes(self) -> bytes:
        """The bytes that `save` would write.

        Returns
        -------
        bytes
            The bytes; `from_bytes` reads them.

        Examples
        --------
        >>> again = cl.from_bytes(keys.to_bytes(), params)
        """
    def __or__(self, other: EvaluationKeys, /) -> EvaluationKeys: ...
    def __ror__(self, other: EvaluationKeys, /) -> EvaluationKeys: ...
    def __copy__(self) -> EvaluationKeys: ...
    def __deepcopy__(self, memo: Any) -> EvaluationKeys: ...
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]: ...

@final
class Ciphertext:
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

    # It only raises. NumPy's stubs ask for it of all that its functions take, and ciphertexts take these functions over (NEP 18).
    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[np.object_]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, /, *operands: Any, **keywords: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any, /) -> Any: ...
    __pandas_priority__: ClassVar[int]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __add__(self, other: Ciphertext | ArrayLike, /) -> Ciphertext: ...
    def __radd__(self, other: ArrayLike, /) -> Ciphertext: ...
    def __sub__(self, other: Ciphertext | ArrayLike, /) -> Ciphertext: ...
    def __rsub__(self, other: ArrayLike, /) -> Ciphertext: ...
    def __mul__(self, other: Ciphertext | ArrayLike, /) -> Ciphertext: ...
    def __rmul__(self, other: ArrayLike, /) -> Ciphertext: ...
    def __truediv__(self, other: _Plain, /) -> Ciphertext: ...
    def __pow__(self, exponent: float, modulus: None = None, /) -> Ciphertext: ...
    def __neg__(self) -> Ciphertext: ...
    def __pos__(self) -> Ciphertext: ...
    @overload
    def __matmul__(self, other: Ciphertext | TransposedCiphertext, /) -> Ciphertext: ...
    # A matrix in coefficients gives a view of a transposed one.
    @overload
    def __matmul__(self, other: ArrayLike, /) -> Ciphertext | Any: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Ciphertext: ...
    def __getitem__(self, index: Any, /) -> Ciphertext: ...
    # A vector gives itself.
    @property
    def T(self) -> TransposedCiphertext | Any:
        """The matrix read by columns, without any computation; a vector is its own transpose."""

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

    def matmul(self, weights: ArrayLike, weight_scale: float | None = None, progress: _Progress = None) -> Ciphertext:
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
    def bootstrap(self, plan: BootstrapPlan | None = None, progress: _Progress = None) -> Ciphertext:
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
    def share_mask(self, bodies: SupportsIndex, axis: _BodyAxis | None = None) -> Ciphertext:
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
    @property
    def keys(self) -> EvaluationKeys | None:
        """The attached evaluation keys, or None."""
    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the encrypted array."""
    @property
    def ndim(self) -> int:
        """The number of axes."""
    @property
    def size(self) -> int:
        """The number of entries."""
    @property
    def level(self) -> int:
        """The level: the number of rescales that are left."""
    @property
    def rank(self) -> int:
        """The module rank: the number of polynomials in the mask."""
    @property
    def degree(self) -> int:
        """The ring degree: the number of coefficients of a polynomial."""
    @property
    def scale(self) -> float:
        """The scale: the factor between the numbers and the integers that are encrypted."""
    @property
    def encoding(self) -> _Encoding:
        """The encoding, "slots" or "coefficients"."""
    @property
    def is_complex(self) -> bool:
        """Whether the entries are complex numbers, so that decryption gives a complex array."""
    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers that decryption gives: `float64` or `complex128`."""
    @property
    def layout(self) -> Layout:
        """Which number sits in which bundle, body and slot or coefficient."""
    @property
    def bodies(self) -> int:
        """The number of bodies under one mask, 1 for most arrays."""
    @property
    def secret(self) -> str:
        """The name of the secret that the numbers are under: "main", "bodies:8" where eight bodies share a mask, or "device:7" for a
        device's.

        The owner's `SecretKey` knows all of them.
        """
    @property
    def nbytes(self) -> int:
        """The size in memory in bytes."""
    @property
    def error_rms(self) -> float | None:
        """The root mean square of the error of one number, in units of the numbers, or None where it is not known.

        It is for typical numbers: those that are spread evenly up to their bounds. What is measured on such numbers is within a factor of
        2. The errors of approximations, such as that of `sigmoid`, are not in it. It is not known behind products of arrays without a
        declared bound.
        """
    @property
    def error_bound(self) -> float | None:
        """A bound on the errors of all numbers, in units of the numbers, or None where it is not known.

        It holds for any numbers within their bounds, but for a probability of 2**-40. The errors of approximations, such as that of
        `sigmoid`, are not in it. It is not known behind products of arrays without a declared bound.
        """
    @property
    def bound(self) -> float | None:
        """The largest magnitude that the numbers may have, without their errors, or None where it is not known.

        It is declared at encryption (`SecretKey.encrypt(..., bound=10.0)`), for symbols by `trace(..., bound=10.0)`, or by `with_bound`,
        and carried through all operations. What might exceed the modulus, or the domain of a polynomial, is refused before it is computed.
        """
    def stage(self, name: str) -> Stage:
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
    @property
    def params(self) -> Params:
        """The parameters."""
    @property
    def key_id(self) -> str:
        """The public name of the secret that can decrypt it, 32 hexadecimal digits."""
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the ciphertext to a file; attached keys are not written.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = ct.save("numbers.clt")
        """
    @staticmethod
    def load(path: _Path, params: Params) -> Ciphertext:
        """A ciphertext from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters it was made with.

        Returns
        -------
        Ciphertext
            The ciphertext, without keys.

        Raises
        ------
        FileFormatError
            Where the file does not hold a ciphertext, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = ct.save("numbers.clt")
        >>> secret_key.decrypt(cl.Ciphertext.load("numbers.clt", params)).round(4)
        array([1., 2., 3.])
        """
    def to_bytes(self) -> bytes:
        """The bytes that `save` would write.

        Returns
        -------
        bytes
            The bytes; `from_bytes` reads them.

        Examples
        --------
        >>> again = cl.from_bytes(ct.to_bytes(), params)
        """
    def _repr_html_(self) -> str: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> Ciphertext: ...
    def __deepcopy__(self, memo: Any) -> Ciphertext: ...
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]: ...

@final
class Comparison:
    """Whether two ciphertexts are the same to the last bit, and where not: true if they are. `Ciphertext.same_as` makes it.

    Examples
    --------
    >>> comparison = (ct + 1).same_as(ct + 1)
    >>> bool(comparison), comparison
    (True, the same to the last bit)
    """
    @property
    def differences(self) -> list[str]:
        """Each difference in words; none where the ciphertexts are the same."""
    def __bool__(self) -> bool: ...

@final
class Layout:
    """Which number of an encrypted array sits where; `Ciphertext.layout` gives it.

    A row of the array, the last axis, is cut into *chunks* of `capacity` numbers, and each chunk fills a polynomial. A bundle is a mask and
    `bodies` polynomials under it. The bodies of a mask are consecutive chunks of one row or consecutive rows, as `axis` says. After a move
    of coefficients to a lower degree, the polynomial of a chunk is split into `components` polynomials, each in a bundle of its own. With
    `lanes`, as many consecutive rows share a polynomial: number t of lane r is coefficient t * stride + r, or slot
    (r * capacity + t) * copies and the `copies` - 1 slots behind it.

    Examples
    --------
    >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout
    8 real numbers in slots of degree 1024, 2 rows under one mask
    """
    @property
    def rows(self) -> int:
        """The number of rows: the product of all axes but the last, 1 for arrays of at most one axis."""
    @property
    def columns(self) -> int:
        """The length of a row: the last axis, 1 for one number."""
    @property
    def encoding(self) -> _Encoding:
        """The encoding, "slots" or "coefficients"."""
    @property
    def is_complex(self) -> bool:
        """Whether the numbers are complex. Among coefficients a complex number takes two."""
    @property
    def degree(self) -> int:
        """The ring degree of the bundles."""
    @property
    def capacity(self) -> int:
        """The most numbers of a chunk, a power of two."""
    @property
    def lanes(self) -> int:
        """The number of rows that share a polynomial: its lanes."""

    @property
    def copies(self) -> int:
        """The number of neighbouring slots that each hold the same number, as those of sums of rows with `lanes` do; otherwise 1."""

    @property
    def chunks(self) -> int:
        """The number of chunks of a row."""
    @property
    def stride(self) -> int:
        """The distance of neighbouring numbers of a row in their polynomial, in coefficients or slots."""
    @property
    def components(self) -> int:
        """The number of polynomials that the polynomial of a chunk is split into. It is 1 but after a move to a lower degree."""
    @property
    def bodies(self) -> int:
        """The number of bodies under one mask."""
    @property
    def axis(self) -> _BodyAxis:
        """The axis that runs over the bodies of a mask: "rows", or "chunks" of one row. With one body it is "chunks"."""
    @property
    def order(self) -> _Order:
        """The order of the numbers of a chunk, "natural" or "bit-reversed"."""
    @property
    def padding(self) -> Literal["zero", "dirty"]:
        """What the places without a number hold: "zero" up to noise, or "dirty", any numbers.

        Rotations leave dirty padding and refuse it; `Ciphertext.clear_padding` clears it.
        """
    @property
    def bundles(self) -> int:
        """The number of bundles."""
    def place(self, row: SupportsIndex, column: SupportsIndex) -> tuple[int, int, int]:
        """Where a number is; of a complex number among coefficients, the real part.

        Parameters
        ----------
        row : int
            The row, from 0.
        column : int
            The column, from 0.

        Returns
        -------
        tuple of int
            The bundle, the body, and the slot or the coefficient.

        Raises
        ------
        DataError
            Where the array has no such row or column.

        Examples
        --------
        >>> secret_key.encrypt(np.zeros((4, 8)), "slots", bodies=2).layout.place(3, 5)
        (1, 1, 5)
        """
    def imaginary_place(self, row: SupportsIndex, column: SupportsIndex) -> tuple[int, int, int] | None:
        """Where the imaginary part of a number is, where it is a coefficient of its own.

        Parameters
        ----------
        row : int
            The row, from 0.
        column : int
            The column, from 0.

        Returns
        -------
        tuple of int or None
            The bundle, the body and the coefficient. None in slots and in arrays of real numbers.

        Raises
        ------
        DataError
            Where the array has no such row or column.

        Examples
        --------
        >>> secret_key.encrypt([1 + 2j, 3j], "coefficients").layout.imaginary_place(0, 1)
        (0, 0, 513)
        """
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @staticmethod
    def _from_json(text: str) -> Layout: ...

@final
class Polynomial:
    """A polynomial that can be evaluated on numbers and on encrypted arrays: `p(x)`.

    Every function of encrypted numbers is a polynomial near it; `Polynomial.fit` finds one. Coefficients and domains follow
    `numpy.polynomial`: coefficients are ordered from the lowest degree up, and the domain is mapped to [-1, 1] before the polynomial is
    evaluated. The default domain is not mapped.

    Encrypted numbers must lie in the domain. Outside of it the values grow fast and wrap around modulo the ciphertext's modulus, which
    nobody notices.

    Parameters
    ----------
    coefficients : array_like
        Real or complex numbers along one axis, at most 512.
    basis : {"power", "chebyshev"}, optional
        "power", the default, is the sum of c_i y**i, "chebyshev" the sum of c_i T_i(y) with the Chebyshev polynomials T_i. Approximations
        of high degree need the latter.
    domain : tuple of float, optional
        The interval (a, b) that y = (2 x - a - b) / (b - a) maps to [-1, 1]. The mapping takes one level more, except for the default (-1,
        1), for domains such as (-1 / k, 1 / k) and (0, 2 / k) with a whole number k, and at degree 1.

    Raises
    ------
    DataError
        Where there are no coefficients or too many, one is not finite, or the basis or the domain is not one.
    ShapeError
        Where the coefficients have more than one axis.

    Examples
    --------
    >>> p = cl.Polynomial([1.0, 0.0, 2.0])
    >>> p(3.0)
    np.float64(19.0)
    >>> secret_key.decrypt(p(ct)).round(4)
    array([ 3.,  9., 19.])
    """
    def __new__(
        cls,
        coefficients: ArrayLike,
        basis: Literal["power", "chebyshev"] = "power",
        domain: tuple[float, float] = (-1.0, 1.0),
    ) -> Polynomial: ...
    @staticmethod
    def fit(
        function: Callable[[Any], Any],
        degree: SupportsIndex | None = None,
        domain: tuple[float, float] = (-1.0, 1.0),
        *,
        error: float | None = None,
    ) -> Polynomial:
        """The polynomial that interpolates a function at Chebyshev points: close to the best approximation where the function is smooth.

        Parameters
        ----------
        function : callable
            The function, of an array of points or of one number at a time.
        degree : int, optional
            The degree, at most 511.
        domain : tuple of float, optional
            The interval (a, b). The default is (-1.0, 1.0).
        error : float, optional
            In place of a degree, the largest difference from the function that is allowed on the domain: the polynomial is the Chebyshev
            series of the least degree that differs by no more at 2049 points of the domain. Functions with a kink need high degrees, and
            those with a jump have none: `sign`, `relu` and `maximum` are for these.

        Returns
        -------
        Polynomial
            A polynomial in the basis "chebyshev".

        Raises
        ------
        DataError
            Where a value of the function is not finite, or the degree or the domain is out of range; where no degree up to 511 reaches the
            error.
        TypeError
            Unless either a degree or an error is given.
        ShapeError
            Where the function does not give one value for each point.

        Examples
        --------
        >>> p = cl.Polynomial.fit(np.exp, 7)
        >>> p
        Polynomial(degree 7, chebyshev basis on [-1, 1])
        >>> bool(abs(p(0.5) - np.exp(0.5)) < 1e-6)
        True
        >>> cl.Polynomial.fit(np.tanh, domain=(-4, 4), error=1e-3).degree
        19
        """
    @overload
    def __call__(self, x: Ciphertext, /) -> Ciphertext: ...
    # float64, or complex128 for complex numbers; a scalar for one number.
    @overload
    def __call__(self, x: ArrayLike, /) -> Any: ...
    def plan(
        self,
        params: Params,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        ranks: Literal["halves", "single"] | None = None,
    ) -> PolynomialPlan:
        """The circuit that evaluates the polynomial: its products, levels, keys and precision, before there is a ciphertext.

        Parameters
        ----------
        params : Params
            The parameters.
        level : int, optional
            The level of the input. None, the default, is that of `SecretKey.encrypt`.
        scale : float, optional
            The scale of the input. None, the default, is the canonical scale of that level.
        ranks : {"halves", "single"}, optional
            Lets the circuit reduce the rank where the modulus allows it and the rest of the circuit gains from it. "halves" reduces to
            halves of the rank; "single" takes other steps too, whose keys are a possible weakness. None, the default, keeps the rank.
            `PolynomialPlan.ranks` tells the result.

        Returns
        -------
        PolynomialPlan
            The circuit: `plan(ct)` carries it out.

        Raises
        ------
        LevelError
            Where the polynomial takes more levels than there are.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        DataError
            Where coefficients are too large, or `ranks` is something else.

        Examples
        --------
        >>> cl.Polynomial.fit(np.exp, 7).plan(params).depth
        3
        """
    @property
    def is_complex(self) -> bool:
        """Whether a coefficient has an imaginary part."""
    @property
    def coefficients(self) -> NDArray[np.float64] | NDArray[np.complex128]:
        """The coefficients, lowest degree first: float64, or complex128 for a polynomial with complex coefficients."""
    @property
    def degree(self) -> int:
        """The degree: the index of the last coefficient that is not zero; 0 for constants."""
    @property
    def basis(self) -> Literal["power", "chebyshev"]:
        """The basis, "power" or "chebyshev"."""
    @property
    def domain(self) -> tuple[float, float]:
        """The interval that is mapped to [-1, 1]."""
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class AuthenticationKey:
    """The key by which a server knows what the owner's light clients send.

    `SecretKey.authentication_key()` makes it, always the same one for an owner. It decrypts nothing. Whoever has it can send numbers in the
    name of every client of the owner, and answers to it: give it to the server that takes the messages, and to nobody else.

    Examples
    --------
    >>> key = secret_key.authentication_key()
    >>> client = cl.LightClient(secret_key)
    >>> cl.Receiver(params, client.introduction, key).receive([client.encrypt([1.0])]).shape
    (1,)
    >>> stranger = cl.LightClient(cl.SecretKey.generate(params))
    >>> try:
    ...     cl.Receiver(params, stranger.introduction, key)
    ... except cl.WrongSecretError:
    ...     print("refused")
    refused
    """

    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the key to a file that only its owner may read.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = secret_key.authentication_key().save("authentication.clt")
        """

    @staticmethod
    def load(path: _Path, params: Params) -> AuthenticationKey:
        """A key from a file that `save` or `clathrate keygen --authentication` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters of the owner.

        Returns
        -------
        AuthenticationKey
            The key.

        Raises
        ------
        FileFormatError
            Where the file does not hold an authentication key, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = secret_key.authentication_key().save("authentication.clt")
        >>> cl.AuthenticationKey.load("authentication.clt", params).key_id == secret_key.key_id
        True
        """

    @property
    def key_id(self) -> str:
        """The public name of the owner's secret, 32 hexadecimal digits."""

@final
class LightClient:
    """A device that encrypts numbers one by one, in a few bytes for each, with nothing but a secret and a counter.

    The device sends its introduction once, then messages. Both sides expand the random part of an encryption from a public seed and a
    counter, so that a message has only the part that hides the number, without its lowest bits. A server makes ciphertexts of the
    messages with a `Receiver` and packs them; it answers with `Receiver.reply`, which the device decrypts. Introductions, messages and
    replies end in a tag of 16 bytes: the server refuses what no client of the owner made, and the client what its server did not.

    In Rust a client runs in less than 256 KiB of memory at dimension 2^12; this class is the same code.

    Parameters
    ----------
    secret_key : SecretKey
        The owner's key. Without `device`, the client gets the owner's secret.
    degree : int, optional
        How many numbers share a mask, a power of two. The default is 1: LWE samples. With more, the numbers of a message are the
        rows of a
        matrix, `degree` in each.
    level : int, optional
        The level of the encryptions, of at most 120 bits. The default is 0.
    precision_bits : float, optional
        How much may be cut off: the root mean square of the error by that is at most 2**-precision_bits. By default it is about that of
        the encryption.
    device : int, optional
        A number for the device, which gets a secret of its own, drawn from the owner's key: by itself it cannot read what others
        encrypt. Pack its samples by a `PackingPlan` with the same `device`, which brings them under the owner's secret.
        `Ciphertext.change_secret` brings answers under the device's, by a key that must not get into the hands of whoever has the
        device's secret: both together give the owner's.
    plan : SamplesPlan, optional
        Makes the client for `Ciphertext.bootstrap_samples` by this plan, which says degree, dimension, scale and, unless `device` does,
        the device.

    Raises
    ------
    DataError
        For a plan together with a degree or a level, a degree that is no power of two, a modulus of more than 120 bits, a precision that
        the scale does not have, or a
        negative number of a device.
    LevelError
        For a level that does not exist.
    RandomError
        Where the operating system gives no randomness.

    Examples
    --------
    >>> client = cl.LightClient(secret_key, precision_bits=20)
    >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    >>> message = client.encrypt([20.5, 21.0])
    >>> len(message), client.bits_per_number
    (38, 39)
    >>> samples = receiver.receive([message])
    >>> client.decrypt(receiver.reply(samples + 1)).round(3)
    array([21.5, 22. ])
    """

    def __new__(
        cls,
        secret_key: SecretKey,
        degree: SupportsIndex | None = None,
        level: SupportsIndex | None = None,
        precision_bits: float | None = None,
        *,
        device: SupportsIndex | None = None,
        plan: SamplesPlan | None = None,
    ) -> LightClient: ...
    @property
    def introduction(self) -> bytes:
        """What the server needs once, before messages. It holds no secret."""

    @property
    def device(self) -> int | None:
        """The number of the device whose secret it has; None for the owner's secret."""

    def precompute(self, samples: SupportsIndex) -> int:
        """Does the work of the next samples that needs no numbers ahead: their encryption then takes a small part of its time.

        Parameters
        ----------
        samples : int
            How many samples; each takes 8 bytes for each number and prime.

        Returns
        -------
        int
            How many samples are ready.

        Raises
        ------
        NotEnoughMemoryError
            Where they take more memory than is free.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> client.precompute(2)
        2
        >>> len(client.encrypt([0.5]))
        36
        """
    @property
    def next_counter(self) -> int:
        """The counter of the next sample."""

    @property
    def bits_per_number(self) -> int:
        """The bits of a number in a message."""

    @property
    def degree(self) -> int:
        """How many numbers share a mask."""

    def encrypt(self, numbers: ArrayLike, counter: SupportsIndex | None = None) -> bytes:
        """Encrypts numbers: 28 bytes and `bits_per_number` bits for each.

        Parameters
        ----------
        numbers : array_like
            Real numbers, a multiple of `degree` of them; of an array row after row.
        counter : int, optional
            The counter of the first sample, which must not have been used or skipped. By default the next one.

        Returns
        -------
        bytes
            The message.

        Raises
        ------
        DataError
            For a used counter, numbers that are no multiple of the degree, NaN, infinite or too large, and without numbers.

        Warns
        -----
        InsecureWarning
            Where the parameters have less than 128 bits of security.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> first, second = client.encrypt([1.0]), client.encrypt([2.0, 3.0])
        >>> client.next_counter
        3
        """

    def decrypt(self, reply: bytes) -> NDArray[np.float64]:
        """The numbers of a server's answer.

        Parameters
        ----------
        reply : bytes
            What `Receiver.reply` made, for this client.

        Returns
        -------
        numpy.ndarray
            The numbers, row after row, as one axis.

        Raises
        ------
        DataError
            Where the bytes are no reply, cut off or damaged, for another client, or under another secret of the same owner.
        WrongSecretError
            Where they belong to another owner.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0)
        >>> client.decrypt(receiver.reply(x)).round(4)
        array([1., 2.])
        """

    def to_bytes(self) -> bytes:
        """The state with the secret, for a device that has its own way to keep secrets. `save` writes a file that only its owner may read.

        Python cannot overwrite these bytes: the secret stays in the memory of the process after they are dropped, and goes where they are
        written.

        Returns
        -------
        bytes
            For `from_bytes`. Whoever has them can decrypt, and send in the client's name.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> again = cl.LightClient.from_bytes(client.to_bytes())
        >>> again.introduction == client.introduction
        False
        """

    @staticmethod
    def from_bytes(state: bytes) -> LightClient:
        """A client from a stored state, which draws a new seed and introduces itself again.

        No mask is used twice, even if the state is restored from an old copy.

        Parameters
        ----------
        state : bytes
            What `to_bytes` gave.

        Returns
        -------
        LightClient
            The client, with a count from 0.

        Raises
        ------
        DataError
            Where the bytes are no state, cut off or damaged.
        RandomError
            Where the operating system gives no randomness.

        Examples
        --------
        >>> cl.LightClient.from_bytes(cl.LightClient(secret_key, degree=8).to_bytes()).degree
        8
        """

    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the state with the secret to a file that only its owner may read.

        The file is not encrypted: whoever can read it can decrypt, and send in the client's name.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> size = cl.LightClient(secret_key).save("client.state")
        """

    @staticmethod
    def load(path: _Path) -> LightClient:
        """A client from a file that `save` wrote, which draws a new seed and introduces itself again.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.

        Returns
        -------
        LightClient
            The client, with a count from 0.

        Raises
        ------
        DataError
            Where the file is no state, cut off or damaged.
        FileAccessError
            Where the file cannot be read.
        RandomError
            Where the operating system gives no randomness.

        Examples
        --------
        >>> size = cl.LightClient(secret_key, degree=8).save("client.state")
        >>> cl.LightClient.load("client.state").degree
        8
        """

@final
class Receiver:
    """The server's side of one light client: it makes ciphertexts of messages, and replies of ciphertexts.

    Parameters
    ----------
    params : Params
        The parameters of the owner.
    introduction : bytes
        What the client sent first.
    key : AuthenticationKey
        The key of the client's owner.

    Raises
    ------
    DataError
        Where the bytes are no introduction, damaged, for other parameters, or not from a client of the owner.
    WrongSecretError
        For a client of another owner.

    Examples
    --------
    >>> client = cl.LightClient(secret_key)
    >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
    >>> receiver.receive([client.encrypt([1.0]), client.encrypt([2.0])]).shape
    (2,)
    """

    def __new__(cls, params: Params, introduction: bytes, key: AuthenticationKey) -> Receiver: ...
    @property
    def client_id(self) -> bytes:
        """A name for the client, 32 bytes: what `Inbox.introduce` gives."""
    def receive(self, messages: Sequence[bytes], shape: Sequence[SupportsIndex] | None = None) -> Ciphertext:
        """The numbers of messages, in their order, as an encrypted array of samples.

        `Ciphertext.pack` brings samples into ciphertexts; those of several numbers each with `lanes=True`.

        Parameters
        ----------
        messages : sequence of bytes
            The messages.
        shape : tuple of int, optional
            The shape of the array. By default a vector; for a client of a degree above 1, a matrix with a row for each sample.

        Returns
        -------
        Ciphertext
            The samples, in coefficients.

        Raises
        ------
        DataError
            Where bytes are no message, cut off, changed, of another introduction or not from this client, and without messages.
        ShapeError
            Where the numbers do not fill the shape.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = receiver.receive([client.encrypt([1.0, 2.0, 3.0, 4.0])], shape=(2, 2))
        >>> secret_key.decrypt(x).round(3)
        array([[1., 2.],
               [3., 4.]])
        """

    def reply(self, ciphertext: Ciphertext) -> bytes:
        """An encrypted array as bytes for this client, which decrypts them.

        The client must have at least the level of the array: 0 suits every client. Of each polynomial the whole mask is sent.

        Parameters
        ----------
        ciphertext : Ciphertext
            The array: real numbers in coefficients, under the client's secret.

        Returns
        -------
        bytes
            For `LightClient.decrypt`.

        Raises
        ------
        ShapeError
            For complex numbers, and unless in coefficients.
        WrongSecretError
            For an array under several secrets: take its bodies apart first.

        Examples
        --------
        >>> client = cl.LightClient(secret_key)
        >>> receiver = cl.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = secret_key.encrypt([0.5], encoding="coefficients", level=0)
        >>> client.decrypt(receiver.reply(x)).round(3)
        array([0.5])
        """

@final
class TransposedCiphertext:
    """An encrypted matrix read by columns: `ct.T`, without any computation.

    The rows of an encrypted matrix are polynomials. This view has the same polynomials as columns. It is what the left factor of a product
    of encrypted matrices, and the factor of `x @ W` with a plain matrix W, has to be: encrypt the transposed matrix and take its view.
    `to_rows` makes an ordinary ciphertext of it, by switching keys.

    Operators: `view @ ct`, for an encrypted matrix, gives a ciphertext; `view @ W`, for a plain matrix, `view + x`, `view - x` and
    `view * x`, for plain numbers x, give views. `SecretKey.decrypt` takes views, too. `view[:, columns]` picks columns, by an integer, a
    slice or a list, and `view[2:5]` a range of rows.

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

    # It only raises. NumPy's stubs ask for it of all that its functions take, and ciphertexts take these functions over (NEP 18).
    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[np.object_]: ...
    def __array_ufunc__(self, ufunc: Any, method: str, /, *operands: Any, **keywords: Any) -> Any: ...
    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any, /) -> Any: ...
    __pandas_priority__: ClassVar[int]

    @property
    def T(self) -> Ciphertext:
        """The ciphertext whose columns are the rows of this view."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the transposed matrix."""

    @property
    def level(self) -> int:
        """The level: the number of rescales that are left."""

    @property
    def scale(self) -> float:
        """The scale: the factor between the numbers and the integers that are encrypted."""

    def to_rows(self, progress: _Progress = None) -> Ciphertext:
        """The same matrix as an ordinary ciphertext, whose rows are polynomials, by switching keys.

        The transposition takes about 2.5 switches for each power of X that a polynomial has, and adds their errors. `trace` finds the keys.

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
            For complex numbers, and unless the matrix is in coefficients.
        CancelledError
            Where the progress function returned False.

        Examples
        --------
        >>> tiny = cl.Params.preset("insecure_tiny")
        >>> owner = cl.SecretKey.generate(tiny)
        >>> needs = cl.trace(lambda x: x.T.to_rows(), (2, 3), params=tiny, encoding="coefficients").needs
        >>> X = owner.encrypt([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], encoding="coefficients")
        >>> rows = X.with_keys(owner.evaluation_keys(needs)).T.to_rows()
        >>> owner.decrypt(rows).round(3)
        array([[1., 4.],
               [2., 5.],
               [3., 6.]])
        """

    def with_keys(self, keys: EvaluationKeys | None) -> TransposedCiphertext:
        """The same view with evaluation keys attached, which results inherit.

        Parameters
        ----------
        keys : EvaluationKeys or None
            The keys; None detaches them.

        Returns
        -------
        TransposedCiphertext
            The same encrypted matrix.

        Raises
        ------
        WrongParamsError
            Where the keys were made for other parameters.
        WrongSecretError
            Where the keys belong to another secret.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
        >>> X.T.with_keys(keys).T.keys is keys
        True
        """

    def rescale(self) -> TransposedCiphertext:
        """Divides the encrypted numbers' scale by the last step of the modulus and drops that step: one level less.

        Returns
        -------
        TransposedCiphertext
            The same numbers, one level lower.

        Raises
        ------
        LevelError
            At level 0, where no step is left to divide by.
        ScaleError
            Where the scale would fall below 1, so that nothing of the numbers were left.

        Examples
        --------
        >>> X = secret_key.encrypt([[1.0, 2.0]], encoding="coefficients")
        >>> (X.T * 0.5).rescale().level == X.level - 1
        True
        """

    @overload
    def matmul(self, other: Ciphertext, progress: _Progress = None) -> Ciphertext:
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
        >>> needs = cl.trace(lambda x, y: x.T @ y, (2, 2), (2, 2), params=tiny, encoding="coefficients").needs
        >>> x = owner.encrypt([[1.0, 3.0], [2.0, 4.0]], encoding="coefficients").with_keys(owner.evaluation_keys(needs))
        >>> y = owner.encrypt([[0.5, 0.0], [0.0, 0.25]], encoding="coefficients")
        >>> owner.decrypt(x.T.matmul(y).rescale()).round(3)
        array([[0.5, 0.5],
               [1.5, 1. ]])
        """

    @overload
    def matmul(self, other: TransposedCiphertext | ArrayLike, progress: _Progress = None) -> TransposedCiphertext:
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
        >>> needs = cl.trace(lambda x, y: x.T @ y, (2, 2), (2, 2), params=tiny, encoding="coefficients").needs
        >>> x = owner.encrypt([[1.0, 3.0], [2.0, 4.0]], encoding="coefficients").with_keys(owner.evaluation_keys(needs))
        >>> y = owner.encrypt([[0.5, 0.0], [0.0, 0.25]], encoding="coefficients")
        >>> owner.decrypt(x.T.matmul(y).rescale()).round(3)
        array([[0.5, 0.5],
               [1.5, 1. ]])
        """
    @overload
    def __matmul__(self, other: Ciphertext, /) -> Ciphertext: ...
    @overload
    def __matmul__(self, other: TransposedCiphertext | ArrayLike, /) -> TransposedCiphertext: ...
    def __rmatmul__(self, other: ArrayLike, /) -> Ciphertext: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> TransposedCiphertext: ...
    def __add__(self, other: TransposedCiphertext | ArrayLike, /) -> TransposedCiphertext: ...
    def __radd__(self, other: ArrayLike, /) -> TransposedCiphertext: ...
    def __sub__(self, other: TransposedCiphertext | ArrayLike, /) -> TransposedCiphertext: ...
    def __rsub__(self, other: ArrayLike, /) -> TransposedCiphertext: ...
    def __mul__(self, other: float, /) -> TransposedCiphertext: ...
    def __rmul__(self, other: float, /) -> TransposedCiphertext: ...
    def __truediv__(self, other: float, /) -> TransposedCiphertext: ...
    def __neg__(self) -> TransposedCiphertext: ...
    def __pos__(self) -> TransposedCiphertext: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class LinearTransform:
    """A matrix that multiplies encrypted rows in slots: `plan(ct)` is `matrix @ row` for each row.

    The matrix is cut into diagonals. Each diagonal multiplies a rotation of the row, so a product needs rotation keys: `plan.needs` lists
    them. A product with an encrypted array in coefficients, `matrix @ ct`, needs no keys; use that where no product of ciphertexts follows.

    Parameters
    ----------
    matrix : array_like
        A real or complex matrix (rows, columns).

    Raises
    ------
    DataError
        Where a number is not finite.
    ShapeError
        Where the matrix does not have two axes.

    Examples
    --------
    >>> swap = cl.LinearTransform([[0.0, 1.0], [0.5, 0.0]])
    >>> swap
    LinearTransform(2 x 2, 1 diagonal)
    >>> swap(np.array([3.0, 4.0]))
    array([4. , 1.5])
    """
    def __new__(cls, matrix: ArrayLike) -> LinearTransform: ...
    @staticmethod
    def from_diagonals(diagonals: dict[SupportsIndex, ArrayLike], slots: SupportsIndex) -> LinearTransform:
        """The map with the given diagonals: entry j of the result is the sum of `diagonals[s][j] * row[(j + s) % slots]`.

        Parameters
        ----------
        diagonals : dict
            From the shift s, which may be negative, to one period of the diagonal: real or complex numbers, as many as a power of two.
        slots : int
            The length of rows, a power of two.

        Returns
        -------
        LinearTransform
            The map.

        Raises
        ------
        DataError
            Where `slots` or a length is not a power of two, a diagonal is longer than `slots`, or a number is not finite.

        Examples
        --------
        >>> cl.LinearTransform.from_diagonals({0: [1.0], 1: [0.5]}, 4)(np.array([1.0, 2.0, 3.0, 4.0]))
        array([2. , 3.5, 5. , 4.5])
        """
    @overload
    def __call__(self, row: Ciphertext, /) -> Ciphertext: ...
    @overload
    def __call__(self, row: ArrayLike, /) -> NDArray[np.float64] | NDArray[np.complex128]: ...
    def plan(
        self,
        params: Params,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        keys: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        on_the_fly: bool = False,
    ) -> LinearTransformPlan:
        """The circuit for encrypted rows of one level: which rotations are computed, and how they are shared.

        Parameters
        ----------
        params : Params
            The parameters.
        level : int, optional
            The level of the input; by default that of `SecretKey.encrypt`.
        scale : float, optional
            The scale of the input; by default the canonical scale of the level.
        keys : int, optional
            The most rotation keys to use; by default as many as the fastest plan needs. Every map can be had with three keys or less, by
            rotations that follow one another, which takes longer.
        key_bytes : int, optional
            The most bytes that the rotation keys may take in memory; by default as many as the fastest plan needs.
        on_the_fly : bool, optional
            Whether the diagonals are encoded anew for each use and not kept: less memory, more time. The default is False.

        Returns
        -------
        LinearTransformPlan
            The plan.

        Raises
        ------
        DataError
            Where the parameters have fewer slots than the map, or the map is zero, or every plan needs more keys or bytes.
        LevelError
            Where the level is 0 or not one of the parameters.

        Examples
        --------
        >>> plan = cl.LinearTransform([[0.0, 1.0], [0.5, 0.0]]).plan(params)
        >>> keys = secret_key.evaluation_keys(plan.needs)
        >>> row = secret_key.encrypt([3.0, 4.0]).with_keys(keys)
        >>> secret_key.decrypt(plan(row)).round(4)
        array([4. , 1.5])
        """
    @property
    def shape(self) -> tuple[int, int]:
        """The matrix's shape, (rows, columns)."""
    @property
    def slots(self) -> int:
        """The number of slots that rows must be encrypted with, a power of two."""
    @property
    def shifts(self) -> list[int]:
        """The shifts of the diagonals that are not zero, ascending."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    def _of_shape(self, rows: SupportsIndex, columns: SupportsIndex) -> LinearTransform: ...

@final
class LinearTransformPlan:
    """The circuit of a linear transform for inputs of one level and scale: `plan(ct)` carries it out.

    `LinearTransform.plan` makes it. The encoded diagonals are kept with the plan, so later calls are faster than the first one; a file of
    the plan holds them, too.

    Examples
    --------
    >>> cl.LinearTransform(np.eye(4)[::-1]).plan(params).rotations
    [1, 3]
    """
    def _repr_html_(self) -> str: ...
    def __call__(self, ciphertext: Ciphertext, /) -> Ciphertext: ...
    @property
    def rotations(self) -> list[int]:
        """The rotations that the plan needs keys for, ascending, modulo the parameters' slots."""
    @property
    def needs(self) -> Needs:
        """The keys that the plan needs, for `SecretKey.evaluation_keys`."""
    @property
    def input_level(self) -> int:
        """The level of the input; the result is one level below."""
    @property
    def output_scale(self) -> float:
        """The scale of the result."""
    @property
    def nbytes(self) -> int:
        """The bytes of the diagonals that were encoded so far."""
    def encode(self) -> int:
        """Encodes the diagonals now, unless that has been done, so that the first call with keys made for this plan need not do it.

        Returns
        -------
        int
            The bytes of the encoded diagonals, as `nbytes`.

        Raises
        ------
        DataError
            Where the plan keeps no diagonals (`on_the_fly`).

        Examples
        --------
        >>> plan = cl.LinearTransform(np.eye(4)[::-1]).plan(params)
        >>> plan.encode() == plan.nbytes > 0
        True
        """
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the plan to a file: the numbers of the matrix, and the diagonals that have been encoded so far.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The file's length in bytes.

        Raises
        ------
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> plan = cl.LinearTransform(np.eye(4)[::-1]).plan(params)
        >>> encoded = plan.encode()
        >>> size = plan.save("flip.clt")
        >>> cl.LinearTransformPlan.load("flip.clt", params).rotations
        [1, 3]
        """
    @staticmethod
    def load(path: _Path, params: Params, trusted_map: bool = False) -> LinearTransformPlan:
        """Reads a plan from a file.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the plan was made for.
        trusted_map : bool, optional
            Whether encoded diagonals stay in the file and are read from there when they are used. True is a promise that no program
            changes the file as long as the object lives, because that would change results or end this process. The default is False.

        Returns
        -------
        LinearTransformPlan
            The plan.

        Raises
        ------
        FileFormatError
            Where the file does not hold the plan of a linear transform, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the plan was made for other parameters.

        Examples
        --------
        >>> size = cl.LinearTransform(np.eye(4)[::-1]).plan(params).save("flip.clt")
        >>> cl.LinearTransformPlan.load("flip.clt", params, trusted_map=True)
        LinearTransformPlan(levels 5 to 4, 2 baby steps, 0 giant steps)
        """
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]: ...

@final
class MamboMatrix:
    """A plain matrix that is ready for products inside bootstraps, made by `MamboPlan.prepare`: `matrix @ x`.

    Examples
    --------
    >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
    >>> plan = cl.MamboPlan(owner.params, [[0.0, 1.0], [1.0, 0.0]], columns=256)
    >>> swap = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> x = owner.encrypt(np.repeat([0.25, 0.5], 256), **plan.encryption)
    >>> owner.decrypt(swap @ x).reshape(2, 256)[:, 0].round(3)
    array([0.5 , 0.25])
    """
    @property
    def plan(self) -> MamboPlan:
        """The plan."""
    def matmul(self, array: Ciphertext, progress: _Progress = None) -> Ciphertext:
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
        >>> plan = cl.MamboPlan(owner.params, np.eye(2) / 2, columns=256)
        >>> half = plan.prepare(owner.evaluation_keys(plan.needs))
        >>> half.matmul(owner.encrypt(np.ones(512), **plan.encryption)).shape
        (1, 512)
        """
    def __matmul__(self, array: Ciphertext, /) -> Ciphertext: ...

@final
class MamboPlan:
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
        For how many products the matrix is prepared: the time of the preparation counts among so many. None, the default, does not
        count it.
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
    >>> plan = cl.MamboPlan(params, W, columns=64)
    >>> matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = np.linspace(-1, 1, 512).reshape(8, 64)
    >>> x = owner.encrypt(X.reshape(plan.input_shape), **plan.encryption)
    >>> y = matrix @ x
    >>> x.level, y.level
    (3, 6)
    >>> bool(abs(owner.decrypt(y).reshape(8, 64) - W @ X).max() < 1e-4)
    True
    """
    def __new__(
        cls,
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
    ) -> MamboPlan: ...
    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
    @property
    def columns(self) -> int:
        """The slots of a row of X."""
    @property
    def input_shape(self) -> tuple[int, int]:
        """The shape of encrypted factors: polynomials and slots."""
    @property
    def output_shape(self) -> tuple[int, int]:
        """The shape of products: polynomials and slots."""
    @property
    def bodies(self) -> int:
        """The number of polynomials that share a mask in the linear maps."""
    @property
    def placement(self) -> str:
        """Where the product is: "inside" the bootstrap or "before" it."""

    @property
    def input_level(self) -> int:
        """The lowest level of a factor."""
    @property
    def output_level(self) -> int:
        """The level of a product."""
    @property
    def method(self) -> str:
        """The method of the product: "exact", "by rows" or "prepared"."""
    @property
    def ring(self) -> int:
        """The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring."""

    @property
    def needs(self) -> Needs:
        """The keys of the bootstrap and of the product, for `SecretKey.evaluation_keys`."""
    @property
    def encryption(self) -> dict[str, Any]:
        """The keyword arguments of `SecretKey.encrypt` for factors that come fresh."""
    @property
    def seconds(self) -> float:
        """The predicted seconds of a product with all of its bootstraps, by one thread."""
    @property
    def product_seconds(self) -> float:
        """The predicted seconds of the product alone, by one thread."""
    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part of the
        worst row, for numbers whose parts are uniform in [-1, 1].
        """
    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """What the plan does: predicted times and precision, the methods of the product, the stages of the bootstrap.

        Returns
        -------
        str
            Tables.

        Examples
        --------
        >>> plan = cl.MamboPlan(cl.Params.preset("insecure_boot"), np.eye(8) / 2, columns=64)
        >>> print(plan.explain().splitlines()[0])
        8 x 8 matrix inside a bootstrap, 8 rows in a polynomial: from 1 polynomial to 1 polynomial
        """
    def prepare(self, keys: EvaluationKeys, progress: _Progress = None) -> MamboMatrix:
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
        >>> plan = cl.MamboPlan(owner.params, np.eye(2) / 2)
        >>> plan.prepare(owner.evaluation_keys(plan.needs))
        MamboMatrix(2 x 2, 512 slots in a row, by rows)
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class MatrixPlan:
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
    >>> plan = cl.MatrixPlan(params, weights, columns=2)
    >>> W = plan.prepare(owner.evaluation_keys(plan.needs))
    >>> X = np.array([[1.0, 0.5], [0.0, 1.0], [0.25, 0.0], [0.0, 1.0]])
    >>> product = W @ owner.encrypt(X, **plan.encryption)
    >>> bool(abs(owner.decrypt(product) - weights @ X).max() < 1e-4)
    True
    >>> cl.MatrixPlan(params, weights, columns=2, key_bytes=0).method
    'by rows'
    """

    def __new__(
        cls,
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
    ) -> MatrixPlan: ...
    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""

    @property
    def level(self) -> int:
        """The level of the encrypted matrices."""

    @property
    def method(self) -> str:
        """The method: "exact", "by rows" or "prepared"."""

    @property
    def ring(self) -> int:
        """The degree of the ring in which the product is computed: that of the parameters, or of a smaller ring."""

    @property
    def products(self) -> int:
        """The number of floating-point products of matrices that a prepared product takes, 1 or 2; 0 for the other methods."""

    @property
    def seconds(self) -> float:
        """The predicted seconds of a product, by one thread."""

    @property
    def preparation_seconds(self) -> float:
        """The predicted seconds of the preparation, by one thread; 0 for methods without one."""

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error, for numbers of magnitude 1 and of
        independent signs.
        """

    @property
    def key_bytes(self) -> int:
        """The bytes of the keys that belong to the matrix once it is prepared."""

    @property
    def owner_key_bytes(self) -> int:
        """The bytes of the keys that the owner makes for `needs`."""

    @property
    def encryption(self) -> dict[str, Any]:
        """The keyword arguments of `SecretKey.encrypt` for matrices that the plan multiplies."""

    @property
    def needs(self) -> Needs:
        """The keys, for `SecretKey.evaluation_keys`. They do not depend on the weights."""

    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """The method and those that were not chosen, each with predicted time, keys and precision; and what a product takes.

        Returns
        -------
        str
            A few lines.

        Examples
        --------
        >>> print(cl.MatrixPlan(cl.Params.preset("insecure_matmul"), np.eye(8), 16).explain().splitlines()[0])
        8 x 8 matrix times encrypted matrices of 16 columns, level 1 to 0
        """

    def prepare(self, keys: EvaluationKeys | None = None, progress: _Progress = None) -> PreparedMatrix:
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
        >>> plan = cl.MatrixPlan(owner.params, np.eye(2), columns=3, method="prepared")
        >>> plan.prepare(owner.evaluation_keys(plan.needs))
        PreparedMatrix(2 x 2, prepared, 0.0 MiB of keys)
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class PackingPlan:
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
    >>> plan = cl.PackingPlan(params, method=[16])
    >>> samples = owner.encrypt([1.0, 2.0, 3.0], encoding="coefficients").to_lwe()
    >>> packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    >>> packed.rank, owner.decrypt(packed).round(3)
    (1, array([1., 2., 3.]))
    """

    def __new__(
        cls,
        params: Params,
        count: SupportsIndex | None = None,
        *,
        degree: SupportsIndex | None = None,
        level: SupportsIndex | None = None,
        method: Literal["rows", "column"] | Sequence[SupportsIndex] | None = None,
        key_bytes: SupportsIndex | None = None,
        device: SupportsIndex | None = None,
    ) -> PackingPlan: ...
    @property
    def needs(self) -> Needs:
        """The keys, for `SecretKey.evaluation_keys` under the parameters that the plan was made with."""

    @property
    def method(self) -> str:
        """The method: "rows", "column", or "midpoints" with their ranks."""

    @property
    def degree(self) -> int:
        """The degree of the samples: 1 for LWE samples."""

    @property
    def key_bytes(self) -> int:
        """The bytes of the keys in memory."""

    @property
    def seconds(self) -> float:
        """The predicted seconds for the plan's numbers, by one thread."""

    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included."""

    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """The choice, marked by a star, and the methods that are faster or have fewer keys: predicted times, bytes of keys, precision.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> print(cl.PackingPlan(cl.Params.preset("insecure_small")).explain().splitlines()[0])
        packing of 1024 numbers from samples of shape 1x1024 to 1024x1, levels up to 5
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SamplesPlan:
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
    >>> plan = cl.SamplesPlan(params, 4)
    >>> client = cl.LightClient(owner, plan=plan)
    >>> samples = cl.Receiver(params, client.introduction, owner.authentication_key()).receive([client.encrypt([0.5, -0.25, 0.125, 1.0])])
    >>> x = samples.with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
    >>> x.level, owner.decrypt(x).round(3)
    (6, array([ 0.5  , -0.25 ,  0.125,  1.   ]))
    """
    def __new__(
        cls,
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
    ) -> SamplesPlan: ...
    @property
    def needs(self) -> Needs:
        """The keys, for `SecretKey.evaluation_keys` under the parameters that the plan was made with."""
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
        >>> plan = cl.SamplesPlan(owner.params, 4, device=1)
        >>> keys = owner.evaluation_keys(plan.needs_of([1, 2, 3]))
        """
    @property
    def count(self) -> int:
        """How many numbers the prediction is for."""
    @property
    def degree(self) -> int:
        """The degree of the samples: 1 for LWE samples."""
    @property
    def dimension(self) -> int:
        """The dimension of the samples."""
    @property
    def ring(self) -> int:
        """The degree of the ring that samples are packed in first; that of the bootstrap where there is no smaller one."""
    @property
    def security_bits(self) -> float:
        """The estimated bits of security of the least secure secret that the keys are under."""
    @property
    def pairs(self) -> bool:
        """Whether two consecutive numbers are the real and the imaginary part of one slot."""
    @property
    def scale(self) -> float:
        """The scale of the samples."""
    @property
    def slots(self) -> int:
        """The slots of each ciphertext."""
    @property
    def output_level(self) -> int:
        """The level of the result."""
    @property
    def key_bytes(self) -> int:
        """The bytes of all keys in memory."""
    @property
    def seconds(self) -> float:
        """The predicted seconds for `count` numbers, by one thread."""
    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a number, encryption included,
        without what a light client cuts off.
        """
    @property
    def log2_failure(self) -> float:
        """The binary logarithm of the probability that the bootstrap of one ciphertext fails."""
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
        >>> plan = cl.SamplesPlan(cl.Params.preset("insecure_boot"), 4, outside=1, dimension=600)
        >>> plan.outside_scale(2**32) == plan.outside_scale() / 2**32
        True
        """
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
        >>> plan = cl.SamplesPlan(params, 2, outside=1, dimension=600)
        >>> message = np.rint(np.array([0.5, -0.25]) * plan.outside_scale()).astype(np.int64).view(np.uint64)
        >>> masks = rng.integers(0, 2**64, (2, 600), dtype=np.uint64)  # modulo 2**64, without an error, for the example alone
        >>> words = np.column_stack([masks, masks @ secret + message])
        >>> samples = plan.outside_samples(words, owner.evaluation_keys(plan.needs))
        >>> owner.decrypt(samples.bootstrap_samples(plan)).round(3)
        array([ 0.5 , -0.25])
        """
    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """What the plan does, and the ways to pack that are faster or have fewer keys: predicted times, bytes of keys, precision.

        Returns
        -------
        str
            Two lines and a table, in which a star marks the choice.

        Examples
        --------
        >>> print(cl.SamplesPlan(cl.Params.preset("insecure_boot"), 4).explain().split(" at scale")[0])
        4 numbers from samples of shape 1x64
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class PreparedSamples:
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
    >>> plan = cl.SamplesPlan(owner.params, 2)
    >>> client = cl.LightClient(owner, plan=plan)
    >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
    >>> masks = cl.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, client.next_counter)
    >>> x = masks.bootstrap([client.encrypt([0.5, -0.25])])
    >>> owner.decrypt(x).round(3), masks.used
    (array([ 0.5 , -0.25]), True)
    """
    def __new__(
        cls,
        plan: SamplesPlan,
        keys: EvaluationKeys,
        receiver: Receiver,
        first: SupportsIndex,
        count: SupportsIndex | None = None,
    ) -> PreparedSamples: ...
    @property
    def counters(self) -> tuple[int, int]:
        """The counters that the messages must have: the first, and the one after the last."""
    @property
    def used(self) -> bool:
        """Whether the masks have served."""
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
        >>> plan = cl.SamplesPlan(owner.params, 32, degree=16)
        >>> client = cl.LightClient(owner, plan=plan)
        >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
        >>> masks = cl.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, 0)
        >>> messages = [client.encrypt(part) for part in np.linspace(-1, 1, 32).reshape(2, 16)]
        >>> owner.decrypt(masks.bootstrap(messages[::-1])).view(float)[:2].round(3)
        array([-1.   , -0.935])
        """
    def save(self, path: _Path, overwrite: bool = True) -> int:
        """Writes the masks to a file, which `take` takes once.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all; a secret key is never replaced.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True; for secret keys it is False.

        Returns
        -------
        int
            The bytes written.

        Raises
        ------
        FileFormatError
            For masks that have served.
        FileAccessError
            Where the file cannot be written, holds a secret key, or exists where `overwrite` is False.

        Examples
        --------
        >>> owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        >>> plan, keys = (plan := cl.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
        >>> receiver = cl.Receiver(owner.params, cl.LightClient(owner, plan=plan).introduction, owner.authentication_key())
        >>> size = cl.PreparedSamples(plan, keys, receiver, 0).save("masks.clt")
        >>> cl.PreparedSamples.take("masks.clt", plan, keys, receiver).counters
        (0, 2)
        """
    @staticmethod
    def take(path: _Path, plan: SamplesPlan, keys: EvaluationKeys, receiver: Receiver) -> PreparedSamples:
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
        >>> plan, keys = (plan := cl.SamplesPlan(owner.params, 2)), owner.evaluation_keys(plan.needs)
        >>> client = cl.LightClient(owner, plan=plan)
        >>> receiver = cl.Receiver(owner.params, client.introduction, owner.authentication_key())
        >>> size = cl.PreparedSamples(plan, keys, receiver, 0).save("once.clt")
        >>> x = cl.PreparedSamples.take("once.clt", plan, keys, receiver).bootstrap([client.encrypt([0.5, -0.25])])
        >>> try:
        ...     cl.PreparedSamples.take("once.clt", plan, keys, receiver)
        ... except cl.DataError as error:
        ...     print(str(error).split(",")[0])
        the file of prepared masks is once.clt: it has been taken
        """

@final
class Inbox:
    """Messages of light clients, kept in a file until what is computed of them is safe.

    What `accept` returned for is stored: a server that is killed and opens the inbox again has every sample that is not done. A counter is
    accepted once. What no client of the owner sent is refused and leaves nothing behind. One program has an inbox open at a time.

    Parameters
    ----------
    path : str, bytes or path-like
        The file; it is made where there is none.
    params : Params
        The clients' parameters.
    key : AuthenticationKey
        The key of the clients' owner.
    limit : int, optional
        How many numbers of one client may wait; further messages of it are refused until some are taken. The default is 65536.

    Raises
    ------
    FileAccessError
        Where the file cannot be opened or read.
    DataError
        For a file that another program has open, that is no inbox or of other parameters, or is damaged before its end.
    WrongSecretError
        For a file of another owner's clients.
    WrongParamsError
        For a key of other parameters.

    Examples
    --------
    >>> inbox = cl.Inbox("inbox.log", params, secret_key.authentication_key())
    >>> client = cl.LightClient(secret_key, precision_bits=20)
    >>> _ = inbox.introduce(client.introduction)
    >>> inbox.accept([client.encrypt([0.5]), b"damaged", client.encrypt([0.25])])
    [1, DataError('a message of a light client is of an unknown client: introduce the client first'), 1]
    >>> batch = inbox.take(100)
    >>> secret_key.decrypt(batch.samples).round(3)
    array([0.5 , 0.25])
    >>> inbox.done(batch)
    0
    """
    def __new__(cls, path: _Path, params: Params, key: AuthenticationKey, limit: SupportsIndex | None = None) -> Inbox: ...
    def introduce(self, introduction: bytes) -> bytes:
        """Takes a client's introduction; one that is known changes nothing.

        Parameters
        ----------
        introduction : bytes
            `LightClient.introduction`.

        Returns
        -------
        bytes
            A name for the client, 32 bytes.

        Raises
        ------
        DataError
            For bytes that are no introduction, of other parameters, or not from a client of the owner.
        WrongSecretError
            For a client of another owner.
        FileAccessError
            Where the file cannot be written.

        Examples
        --------
        >>> inbox = cl.Inbox("clients.log", params, secret_key.authentication_key())
        >>> len(inbox.introduce(cl.LightClient(secret_key).introduction))
        32
        """
    def accept(self, messages: Sequence[bytes]) -> list[int | Exception]:
        """Stores messages of any clients. A message that is refused leaves the others.

        Parameters
        ----------
        messages : sequence of bytes
            What clients sent.

        Returns
        -------
        list
            For each message how many samples were stored, or the error that says why it is refused.

        Raises
        ------
        FileAccessError
            Where the file cannot be written: then nothing was taken.

        Examples
        --------
        >>> inbox = cl.Inbox("messages.log", params, secret_key.authentication_key())
        >>> client = cl.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction)
        >>> inbox.accept([client.encrypt([0.5, 0.25])])
        [2]
        """
    def take(self, most: SupportsIndex, *, together: bool = False) -> Batch | None:
        """Samples of one kind, of each client in turn, as a batch: the oldest one of each, then the next one of each, until it is full.

        Until `done` they are given again to whoever opens the inbox anew.

        Parameters
        ----------
        most : int
            The most samples.
        together : bool, optional
            Whether samples of several secrets may come together, for `bootstrap_samples(batch.arrays, plan)`. The default is False: those
            of the secret of the client whose turn it is.

        Returns
        -------
        Batch or None
            The batch; None where no sample waits.

        Raises
        ------
        DataError
            For a negative number.
        NotEnoughMemoryError
            Where the masks take more memory than is free.

        Examples
        --------
        >>> inbox = cl.Inbox("empty.log", params, secret_key.authentication_key())
        >>> inbox.take(10) is None
        True
        """
    def done(self, batch: Batch) -> int:
        """Says that what was computed of a batch is safe: its samples are not given again.

        Parameters
        ----------
        batch : Batch
            The batch.

        Returns
        -------
        int
            How many samples wait.

        Raises
        ------
        DataError
            For a batch that is done or was given back.
        FileAccessError
            Where the file cannot be written.

        Examples
        --------
        >>> inbox = cl.Inbox("done.log", params, secret_key.authentication_key())
        >>> client = cl.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
        >>> inbox.done(inbox.take(1))
        0
        """
    def give_back(self, batch: Batch) -> int:
        """Gives a batch back whose computation failed: its samples wait again.

        Parameters
        ----------
        batch : Batch
            The batch.

        Returns
        -------
        int
            How many samples wait.

        Raises
        ------
        DataError
            For a batch that is done or was given back.

        Examples
        --------
        >>> inbox = cl.Inbox("back.log", params, secret_key.authentication_key())
        >>> client = cl.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
        >>> inbox.give_back(inbox.take(1))
        1
        """
    @property
    def oldest(self) -> float | None:
        """The seconds that the oldest sample has waited; None where none waits."""
    def __len__(self) -> int: ...

@final
class Batch:
    """Samples that were taken from an inbox together, by `Inbox.take`.

    Examples
    --------
    >>> inbox = cl.Inbox("batch.log", params, secret_key.authentication_key())
    >>> client = cl.LightClient(secret_key)
    >>> name = inbox.introduce(client.introduction)
    >>> _ = inbox.accept([client.encrypt([0.5, 0.25])])
    >>> batch = inbox.take(2)
    >>> batch.sources == [(name, 0), (name, 1)], batch.samples.shape
    (True, (2,))
    """
    @property
    def samples(self) -> Ciphertext:
        """The samples as an array, in the order in which they were accepted; those of several secrets are `arrays`, here a `DataError`."""
    @property
    def arrays(self) -> list[Ciphertext]:
        """The samples as arrays, one for each secret; in each in the order in which they were accepted."""
    @property
    def sources(self) -> list[tuple[bytes, int]]:
        """Whose samples they are, in the order of the arrays: the client's name and the counter of each."""

@final
class BootstrapPlan:
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
    >>> plan = cl.BootstrapPlan(params)
    >>> secret_key = cl.SecretKey.generate(params)
    >>> keys = secret_key.evaluation_keys(plan.needs)
    >>> x = secret_key.encrypt(np.linspace(-1, 1, 512), level=plan.input_level).with_keys(keys)
    >>> fresh = x.bootstrap(plan)
    >>> x.level, fresh.level
    (3, 6)
    >>> bool(abs(secret_key.decrypt(fresh) - np.linspace(-1, 1, 512)).max() < 1e-4)
    True
    """
    def __new__(
        cls,
        params: Params,
        slots: SupportsIndex | None = None,
        is_complex: bool = True,
        rounds: SupportsIndex | None = None,
        key_bytes: SupportsIndex | None = None,
        arcsine: SupportsIndex | None = None,
        bodies: SupportsIndex | None = None,
        batch: SupportsIndex | None = None,
    ) -> BootstrapPlan: ...
    @property
    def needs(self) -> Needs:
        """The keys that the bootstrap needs, for `SecretKey.evaluation_keys`."""
    @property
    def input_level(self) -> int:
        """The lowest level of an array that can be bootstrapped."""
    @property
    def output_level(self) -> int:
        """The level of a bootstrapped array."""
    @property
    def key_bytes(self) -> int:
        """The bytes of all keys of the bootstrap in memory; files take less."""
    @property
    def slots(self) -> int:
        """The slots of each polynomial."""

    @property
    def bodies(self) -> int:
        """How many polynomials share a mask in the linear maps."""
    @property
    def transform_slots(self) -> int:
        """The slots of the linear transforms: `slots`, or all of the parameters, in which the numbers repeat."""
    @property
    def rounds(self) -> int:
        """How often the error of the rounds before is bootstrapped, the first round included."""
    @property
    def precision_bits(self) -> float:
        """The predicted precision in bits: minus the binary logarithm of the root mean square error of a real or imaginary part, for
        numbers whose parts are uniform in [-1, 1].
        """
    @property
    def log2_failure(self) -> float:
        """The binary logarithm of the probability that the bootstrap of one polynomial fails, which makes all of its numbers wrong."""
    def _repr_html_(self) -> str: ...
    def explain(self) -> str:
        """What the bootstrap does, stage by stage: a table of predicted times, transforms, products and key bytes.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> print(cl.BootstrapPlan(cl.Params.preset("insecure_boot")).explain().splitlines()[0])
        bootstrap of 512 complex slots under "insecure_boot", 1 round
        """
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class PolynomialPlan:
    """The circuit of a polynomial for inputs of one level and scale: `plan(ct)` carries it out.

    `Polynomial.plan` makes it.

    Examples
    --------
    >>> plan = cl.Polynomial([1.0, 0.0, 2.0]).plan(params)
    >>> plan
    PolynomialPlan(degree 2, levels 5 to 4, 1 product, 1 relinearisation)
    >>> secret_key.decrypt(plan(ct)).round(4)
    array([ 3.,  9., 19.])
    """
    def __call__(self, ciphertext: Ciphertext, /) -> Ciphertext: ...
    def _repr_html_(self) -> str: ...
    def explain(self) -> PolynomialExplanation:
        """What the circuit does, step by step, with its counts and its precision.

        Returns
        -------
        PolynomialExplanation
            Print it, or read the figures from its `to_dict()`.

        Examples
        --------
        >>> cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["degree"]
        2
        """
    @property
    def ranks(self) -> dict[int, int]:
        """The rank at each level, the level of the input first; empty where the rank stays that of the parameters."""
    @property
    def depth(self) -> int:
        """The number of levels that the circuit takes."""
    @property
    def products(self) -> int:
        """The number of products of ciphertexts."""
    @property
    def relinearisations(self) -> int:
        """The number of relinearisations, the key switches that end products. Products that are summed share one relinearisation, which
        includes a rescale.
        """
    @property
    def rescales(self) -> int:
        """The number of rescales besides those of relinearisations."""
    @property
    def powers(self) -> list[int]:
        """The degrees of the powers, or Chebyshev polynomials, that are computed."""
    @property
    def input_level(self) -> int:
        """The level of the input."""
    @property
    def output_scale(self) -> float:
        """The scale of the result: the canonical scale of its level, unless a single power leaves a segment of the chain on its way."""
    @property
    def dropped(self) -> int:
        """The number of coefficients that are left out because they are below 2**-50 of the largest coefficient."""
    @property
    def degree(self) -> int:
        """The degree of the circuit: the index of the last coefficient that is not dropped."""
    @property
    def output_level(self) -> int:
        """The level of the result, which has the canonical scale of that level."""
    @property
    def needs(self) -> Needs:
        """The evaluation keys that the circuit needs."""
    @property
    def error(self) -> float:
        """A bound on the root mean square of the error, for a fresh input in the domain."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class PolynomialExplanation:
    """What the circuit of a polynomial does, step by step, with its counts and its precision.

    `PolynomialPlan.explain()` makes it; print it, or read the figures from `to_dict()`.

    Examples
    --------
    >>> print(cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain())  # doctest: +ELLIPSIS
    polynomial of degree 2...
    """
    def to_dict(self) -> dict[str, Any]:
        """The figures by name.

        Returns
        -------
        dict
            The figures; the dict can be written as JSON.

        Examples
        --------
        >>> cl.Polynomial([1.0, 0.0, 2.0]).plan(params).explain().to_dict()["depth"]
        1
        """

def command(arguments: Sequence[str]) -> int:
    """Runs the command `clathrate` with these arguments, of which the first is the program's name.

    Parameters
    ----------
    arguments : sequence of str
        The program's name and its arguments.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> from clathrate._native import command
    >>> command(["clathrate", "--quiet", "params", "list"])
    0
    """

def get_threads() -> int:
    """The number of threads of parameters that are made without `Runtime(threads=)`.

    Returns
    -------
    int
        What `set_threads` said, or else the number of cores that this process may use.

    Examples
    --------
    >>> cl.get_threads() >= 1
    True
    """

def set_device_memory_limit(limit: SupportsIndex | None, device: str = "cuda") -> None:
    """Limits the memory that this process takes on a device.

    What goes beyond the limit is refused with the numbers; what is there already stays. A device has one limit for all parameters.

    Parameters
    ----------
    limit : int or None
        Bytes; None for the limit in the environment variable CLATHRATE_DEVICE_MEMORY_LIMIT, which devices have from the start, or for all
        that the device has where it is not set.
    device : str, optional
        The device, as `Runtime(device=)` names it. The default is "cuda".

    Returns
    -------
    None

    Raises
    ------
    DataError
        For a negative limit, "cpu" or another name that is none, and where the environment variable is no whole number.
    DeviceError
        Where there is no such device, or no driver for it.

    Examples
    --------
    >>> cl.set_device_memory_limit(-1)
    Traceback (most recent call last):
    clathrate.errors.DataError: `limit` is -1: use 0 or more
    """

def set_threads(threads: SupportsIndex | None) -> None:
    """Sets the number of threads of parameters that are made from now on without `Runtime(threads=)`.

    Parameters that exist already keep theirs, with everything that was made with them.

    Parameters
    ----------
    threads : int or None
        Worker threads, 1 to 4096; None for one for each core.

    Returns
    -------
    None

    Raises
    ------
    DataError
        Outside that range.

    Examples
    --------
    >>> cl.set_threads(1)
    >>> cl.Params.preset("insecure_small").runtime.threads
    1
    >>> cl.set_threads(None)
    """

def preset_names() -> list[str]:
    """The names of the parameter sets that `Params.preset` knows.

    Names that start with "insecure" are small sets for tests; names that start with "paper" are sets of published papers.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> "matmul" in cl.preset_names()
    True
    """

def tune(progress: _Progress = None, dry_run: bool = False, *, device: str = "cpu") -> Path | None:
    """Measures this machine's arithmetic for a few seconds and stores the times, by which times are predicted from then on.

    `trace` and plans predict times from these measurements; without them they use a built-in model. What they choose (keys, steps,
    switching methods) does not depend on the measurements unless a runtime says `switching="tuned"`. Parameters that exist already keep
    their times. One thread is measured. The times are kept in the user's cache directory, or in the file that the
    environment variable CLATHRATE_PROFILE names; where that is "none", no times are read or stored.

    Parameters
    ----------
    progress : bool or callable, optional
        True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    dry_run : bool, optional
        True measures and stores nothing. The default is False.
    device : str, optional
        What is measured: "cpu", the default, or "cuda" and so on. A device's times have a file of their own.

    Returns
    -------
    pathlib.Path or None
        The file that the times were written to; None for a dry run.

    Raises
    ------
    FileAccessError
        Where the file cannot be written.
    CancelledError
        Where the progress function returned False.
    DeviceError
        Where there is no such device, or no driver for it.
    ParamsError
        Where the environment variable CLATHRATE_ISA names an instruction set that this machine does not have, or CLATHRATE_PROFILE is
        "none".

    Examples
    --------
    >>> cl.tune(dry_run=True)
    """

def doctor() -> dict[str, Any]:
    """What this machine runs: instruction sets, processors, and the state of the stored measurements.

    Returns
    -------
    dict
        `version` of Clathrate; `kernels`, whether each instruction set runs here, by name; `fastest`, the fastest of them; `chosen`, the
        one in use, which the environment variable CLATHRATE_ISA may force; `cpus`, the number of processors; `engine`, what a small
        parameter set computes with, in words; `devices`, by kind of device the names of those that are there, or a text that says why
        there are none; `profile`, the measurements that `tune` stores, with their `state`, `path` and `message`. The state is "ready",
        "absent", "broken", "foreign" where they were measured with another instruction set, or "off" where the environment variable
        CLATHRATE_PROFILE is "none".

    Raises
    ------
    ParamsError
        Where CLATHRATE_ISA names an instruction set that this machine does not have.

    Examples
    --------
    >>> cl.doctor()["kernels"]["scalar"]
    True
    """

def mambo(weights: ArrayLike, array: Ciphertext, columns: SupportsIndex | None = None) -> Ciphertext:
    """The product of a plain matrix with an encrypted one inside a bootstrap: `W X` at a high level.

    For several products with one matrix, make it ready once: `cl.MamboPlan(params, W, columns).prepare(keys)`. This form plans anew, by
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
    >>> plan = cl.MamboPlan(params, W, columns=256)
    >>> x = owner.encrypt(np.repeat([0.5, 0.25], 256), **plan.encryption).with_keys(owner.evaluation_keys(plan.needs))
    >>> float(owner.decrypt(cl.mambo(W, x, columns=256))[0, 0].round(4))
    0.1875
    """

def bootstrap_batch(arrays: Sequence[Ciphertext], plan: BootstrapPlan, progress: _Progress = None) -> list[Ciphertext]:
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
        True for a progress bar, or a function of the stages that are done and of all stages. The default is no progress.

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
    >>> plan = cl.BootstrapPlan(params, batch=3)
    >>> x, y = (owner.encrypt(np.full(shape, 0.5), encoding="slots", level=3) for shape in [(2, 512), 500])
    >>> fresh = cl.bootstrap_batch([x.with_keys(owner.evaluation_keys(plan.needs)), y], plan)
    >>> [(array.shape, array.level, bool(abs(owner.decrypt(array) - 0.5).max() < 1e-4)) for array in fresh]
    [((2, 512), 6, True), ((500,), 6, True)]
    """

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
    >>> plan = cl.SamplesPlan(owner.params, 4, device=1)
    >>> keys = owner.evaluation_keys(plan.needs_of([1, 2]))
    >>> clients = [cl.LightClient(owner, plan=plan, device=device) for device in (1, 2)]
    >>> receivers = [cl.Receiver(owner.params, client.introduction, owner.authentication_key()) for client in clients]
    >>> first, second = (receiver.receive([client.encrypt([0.5, 0.25])]) for receiver, client in zip(receivers, clients))
    >>> owner.decrypt(cl.bootstrap_samples([first.with_keys(keys), second], plan)).round(3)
    array([0.5 , 0.25, 0.5 , 0.25])
    """

def chosen(selected: Ciphertext, x: Ciphertext, y: Ciphertext, share: float) -> Ciphertext:
    """An array computed from `x` and `y` that has the number of one of them at each place, with the bound and errors that follow.

    Parameters
    ----------
    selected : Ciphertext
        The array.
    x, y : Ciphertext
        Arrays of the same shape.
    share : float
        The share of the numbers that are those of `x`.

    Returns
    -------
    Ciphertext
        The same array.
    """

def hstack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Encrypted arrays in slots side by side, as `numpy.hstack`: vectors end to end, or the rows of matrices.

    Numbers move by rotations, and a product with ones and zeros, which takes a level, makes room for them.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Vectors, or matrices with as many rows, in slots. A row of the result fits the slots of one polynomial.

    Returns
    -------
    Ciphertext
        The longer vector, or the wider matrix, one level below the lowest part.

    Raises
    ------
    TypeError
        As `vstack`.
    ShapeError
        Where the numbers of rows differ, rows get too long, arrays are in coefficients, or rows share a mask or a polynomial.
    MissingKeyError
        Without the rotations that `trace` finds.
    LevelError
        At level 0.
    ClathrateError
        As `vstack`.

    Examples
    --------
    >>> x, y = (secret_key.encrypt(v).with_keys(keys) for v in ([1.0, 2.0], [3.0, 4.0]))
    >>> secret_key.decrypt(cl.hstack([x, y])).round(4)
    array([1., 2., 3., 4.])
    """

def vstack(parts: Sequence[Ciphertext]) -> Ciphertext:
    """Encrypted arrays one below the other, as `numpy.vstack`: a vector is one row. Nothing is computed.

    Parameters
    ----------
    parts : sequence of Ciphertext
        Matrices with as many columns, and vectors of that length, encrypted alike.

    Returns
    -------
    Ciphertext
        The matrix of all rows, at the lowest level of the parts.

    Raises
    ------
    TypeError
        Where a part is no ciphertext: encrypt arrays first, and take the rows of a view by `x.T.to_rows()`.
    ShapeError
        Where the lengths of rows differ, or rows share a mask or a polynomial.
    WrongParamsError
        Where parts have different parameters.
    WrongSecretError
        Where parts belong to different secrets.
    ScaleError
        Where parts have different scales.

    Examples
    --------
    >>> x, y = secret_key.encrypt([1.0, 2.0]), secret_key.encrypt([3.0, 4.0])
    >>> secret_key.decrypt(cl.vstack([x, y])).round(4)
    array([[1., 2.],
           [3., 4.]])
    """

def load(path: _Path, params: Params | None = None, runtime: Runtime | None = None, *, allow_insecure: bool = False) -> Any:
    """Reads a file that holds parameters, a public key, evaluation keys, a ciphertext or the plan of a linear transform.

    A secret key is not read: `SecretKey.load` reads it on purpose.

    Parameters
    ----------
    path : str, bytes or path-like
        The file.
    params : Params, optional
        The parameters that the contents were made with. Needed for everything but parameters.
    runtime : Runtime, optional
        How to run, for a file of parameters alone: the other kinds run as `params` does. None, the default, is `Runtime()`.
    allow_insecure : bool, optional
        Whether parameters below 128 bits of security are taken, for tests. The default is False.

    Returns
    -------
    Params or PublicKey or EvaluationKeys or Ciphertext or LinearTransformPlan or PreparedMatrix
        What the file holds.

    Raises
    ------
    FileFormatError
        Where the file is not of Clathrate, damaged, of a newer version, or holds a secret key.
    FileAccessError
        Where the file cannot be read.
    WrongParamsError
        Where the file was made with other parameters.
    FileKindError
        Where `params` is missing, or a runtime is given for something else than parameters.
    SecurityError
        Where the file holds parameters below 128 bits of security, and `allow_insecure` does not accept that.

    Examples
    --------
    >>> size = ct.save("numbers.clt")
    >>> cl.load("numbers.clt", params).shape
    (3,)
    """

def from_bytes(data: ReadableBuffer, params: Params | None = None, runtime: Runtime | None = None, *, allow_insecure: bool = False) -> Any:
    """Reads the bytes of a file, as `to_bytes` gives them, from memory.

    Parameters
    ----------
    data : buffer
        `bytes`, a `memoryview`, a uint8 array or another object with a contiguous buffer. It is not copied as a whole: polynomials are read
        from it.
    params : Params, optional
        The parameters that the contents were made with. Needed for everything but parameters.
    runtime : Runtime, optional
        How to run, for bytes of parameters alone: the other kinds run as `params` does. None, the default, is `Runtime()`.
    allow_insecure : bool, optional
        Whether parameters below 128 bits of security are taken, for tests. The default is False.

    Returns
    -------
    Params or PublicKey or EvaluationKeys or Ciphertext or LinearTransformPlan or PreparedMatrix
        What the bytes hold.

    Raises
    ------
    FileFormatError
        Where the bytes are not of Clathrate, damaged, of a newer version, or hold a secret key.
    WrongParamsError
        Where the contents were made with other parameters.
    FileKindError
        Where `params` is missing, or a runtime is given for something else than parameters.
    SecurityError
        Where the bytes hold parameters below 128 bits of security, and `allow_insecure` does not accept that.
    TypeError
        Where `data` has no contiguous buffer.

    Examples
    --------
    >>> cl.from_bytes(ct.to_bytes(), params).shape
    (3,)
    """

def inspect(path: _Path, verify: bool = True) -> dict[str, Any]:
    """What a file says about itself; the contents are not loaded.

    Nothing secret is in the answer, whatever the file.

    Parameters
    ----------
    path : str, bytes or path-like
        The file.
    verify : bool, optional
        Whether the checksum of every section is compared, which reads the whole file. The default is True.

    Returns
    -------
    dict
        `kind`, in words; `parameters`, the name of the parameters it was made with, None in files that do not state a name;
        `parameter_digest`, their digest; `insecure`, whether these are below 128 bits of security; `bytes`, the length of the file;
        `metadata`, shape, level and the like; `sections`, the length in bytes of each section by name (docs/file-format.md).

    Raises
    ------
    FileFormatError
        Where the file is not of Clathrate, damaged, or of a newer version.
    FileAccessError
        Where the file cannot be read.

    Examples
    --------
    >>> size = ct.save("numbers.clt")
    >>> cl.inspect("numbers.clt")["kind"]
    'ciphertexts'
    """

@final
class Recorder:
    """Makes symbols for a dry run and collects the keys that their computations need; `clathrate.trace` wraps it.

    Parameters
    ----------
    params : Params
        The parameters of the dry run.
    bootstrap_below : int, optional
        As `Ciphertext.with_keys` takes it.
    """
    def __new__(cls, params: Params, bootstrap_below: SupportsIndex | None = None) -> Recorder: ...
    def symbol(
        self,
        shape: Sequence[SupportsIndex],
        encoding: _Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        is_complex: bool = False,
        bound: float | None = None,
        *,
        bodies: SupportsIndex | None = None,
        axis: _BodyAxis | None = None,
        capacity: SupportsIndex | None = None,
        lanes: SupportsIndex | Literal["most"] | None = None,
        copies: SupportsIndex | None = None,
        order: _Order = "natural",
    ) -> Ciphertext:
        """A symbol: the ciphertext that `SecretKey.encrypt` would give for these arguments, without data.

        Parameters
        ----------
        shape : sequence of int
            The shape of the array.
        encoding : {"slots", "coefficients"}, optional
            As `SecretKey.encrypt` takes it.
        level : int, optional
            As `SecretKey.encrypt` takes it.
        scale : float, optional
            As `SecretKey.encrypt` takes it.
        is_complex : bool, optional
            Whether the array has complex entries. The default is False.
        bound : float, optional
            The largest magnitude of the numbers. None, the default, leaves it open; then no errors are bounded.
        bodies : int, optional
            As `SecretKey.encrypt` takes it.
        axis : {"rows", "chunks"}, optional
            As `SecretKey.encrypt` takes it.
        capacity : int, optional
            As `SecretKey.encrypt` takes it.
        lanes : int or "most", optional
            As `SecretKey.encrypt` takes it.
        copies : int, optional
            As `SecretKey.encrypt` takes it.
        order : {"natural", "bit-reversed"}, optional
            As `SecretKey.encrypt` takes it.

        Returns
        -------
        Ciphertext
            The symbol.

        Raises
        ------
        DataError
            Where the shape has no entries or more than two axes, or the bound is not positive or has no room at the level; for bodies, an
            axis, a capacity, lanes, copies or an order that `SecretKey.encrypt` refuses.
        LevelError
            Where there is no such level.
        ScaleError
            Where the scale is not positive, or leaves the level no room.
        """
    def needs(self) -> Needs:
        """The keys that all computations on the symbols needed so far.

        Returns
        -------
        Needs
            Each key with the highest level that it was needed at.
        """
    def recording(self) -> Recording:
        """What all computations on the symbols cost so far.

        Returns
        -------
        Recording
            The costs by stage and the memory of arrays; it does not change any more.
        """
    def _symbol_of(
        self,
        layout: str,
        shape: Sequence[int],
        level: SupportsIndex,
        scale: float,
        secret: str,
        estimate: str,
    ) -> Ciphertext: ...

@final
class Recording:
    """What a dry run cost, as `Recorder` wrote it down; `clathrate.Trace` has its figures."""
    @property
    def total(self) -> _Figures:
        """The cost of everything: seconds, transforms, Hadamard products, multiply-adds, and bytes of keys."""
    @property
    def price(self) -> float:
        """The time of everything in nanoseconds, by the prices that plans compare: the same on every machine."""
    @property
    def stages(self) -> list[tuple[str, _Figures]]:
        """The cost of each stage with the stage's name, in the order in which stages were entered first."""
    @property
    def bootstraps(self) -> bool:
        """Whether an operator bootstrapped by itself."""
    @property
    def peak_bytes(self) -> int:
        """The most bytes that the arrays take at once."""
    def explain(self) -> str:
        """The costs as a table.

        Returns
        -------
        str
            One line per stage.
        """

@final
class Stage:
    """A stage of a dry run: `with` opens and closes it. `Ciphertext.stage` makes it."""
    def __enter__(self) -> None: ...
    def __exit__(self, kind: object, value: object, traceback: object, /) -> None: ...
