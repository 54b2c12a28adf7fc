"""Parameters, and what they mean in numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, final

from . import _native as native
from ._pickle import rebuild_params
from ._reports import Report
from ._runtime import Runtime
from ._stored import Movable, Saved
from ._text import report_html
from ._wrapping import Shared, Valued, unwrap

if TYPE_CHECKING:
    from ._choose import ParamsChoice
    from ._typing import AnyPath, Primes, Segment


@final
class Params(Shared, Valued, Movable, Saved, of=native.Params):
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

    __slots__ = ()
    _native: native.Params

    def __init__(
        self,
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
        segments: Sequence[Segment] = (),
        ephemeral_weight: SupportsIndex | None = None,
        ephemeral_special: SupportsIndex | None = None,
        bootstrap_key_bytes: SupportsIndex | None = None,
        bootstrap_log2_failure: float | None = None,
        runtime: Runtime | None = None,
        device: str | None = None,
    ) -> None:
        self._hold(
            native.Params(
                degree=degree,
                steps=steps,
                log2_scale=log2_scale,
                special=special,
                rank=rank,
                temporary_rank=temporary_rank,
                temporary=temporary,
                secret_weight=secret_weight,
                digit_bits=digit_bits,
                insecure=insecure,
                below_128=below_128,
                name=name,
                segments=segments,
                ephemeral_weight=ephemeral_weight,
                ephemeral_special=ephemeral_special,
                bootstrap_key_bytes=bootstrap_key_bytes,
                bootstrap_log2_failure=bootstrap_log2_failure,
                runtime=unwrap(runtime),
                device=device,
            )
        )
        self._warn_of_scales()

    def _warn_of_scales(self) -> None:
        for text in self._native.warnings:
            warnings.warn(text, UserWarning, stacklevel=3)

    @classmethod
    def preset(cls, name: str, runtime: Runtime | None = None, *, device: str | None = None) -> Params:
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
        return cls._of(native.Params.preset(name, unwrap(runtime), device=device))

    @classmethod
    def for_circuit(
        cls,
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
        # The search runs on all of the package.
        from ._choose import for_circuit

        return for_circuit(function, shapes, error, bound, security, runtime, options)

    @classmethod
    def from_toml(cls, text: str, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from TOML text, whose fields are the arguments of the constructor.

        Parameters
        ----------
        text : str
            The text, as `to_toml` gives it. In TOML every step is a list: `steps = [[30, 30], [40]]`.
        runtime : Runtime, optional
            How to run, as `preset` takes it.
        device : str, optional
            Where to compute, as `preset` takes it.
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
        made = cls._of(native.Params.from_toml(text, unwrap(runtime), device=device, allow_insecure=allow_insecure))
        made._warn_of_scales()
        return made

    @classmethod
    def from_file(cls, path: AnyPath, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from a TOML file, whose fields are the arguments of the constructor.

        Parameters
        ----------
        path : str, bytes or path-like
            A text file of at most 1 MiB.
        runtime : Runtime, optional
            How to run, as `preset` takes it.
        device : str, optional
            Where to compute, as `preset` takes it.
        allow_insecure : bool, optional
            Whether a set below 128 bits of security is taken, as `from_toml` takes it.

        Returns
        -------
        Params
            The parameter set.

        Raises
        ------
        FileAccessError
            Where the file cannot be read.
        ClathrateError
            As `from_toml`.

        Examples
        --------
        >>> with open("params.toml", "w") as file:
        ...     size = file.write(params.to_toml())
        >>> cl.Params.from_file("params.toml", allow_insecure=True) == params
        True
        """
        made = cls._of(native.Params.from_file(path, unwrap(runtime), device=device, allow_insecure=allow_insecure))
        made._warn_of_scales()
        return made

    @classmethod
    def load(cls, path: AnyPath, runtime: Runtime | None = None, *, device: str | None = None, allow_insecure: bool = False) -> Params:
        """Parameters from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        runtime : Runtime, optional
            How to run, as `preset` takes it: a file states what to compute, never how to run.
        device : str, optional
            Where to compute, as `preset` takes it.
        allow_insecure : bool, optional
            Whether a set below 128 bits of security is taken, as `from_toml` takes it.

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
        return cls._of(native.Params.load(path, unwrap(runtime), device=device, allow_insecure=allow_insecure))

    def _repr_html_(self) -> str:
        return report_html(str(self.explain()))

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
        return Explanation._of(self._native.explain())

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
        return SwitchingReport._of(self._native.switching_report(level))

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
        return self._native.scale(level)

    def segment(self, level: SupportsIndex | None = None) -> Segment:
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
        return cast("Segment", self._native.segment(level))

    @property
    def segments(self) -> list[Segment]:
        """The segments of the chain as dicts like that of `segment`, the lowest first; one segment where none were given."""
        return cast("list[Segment]", self._native.segments)

    @property
    def warnings(self) -> list[str]:
        """The segments whose steps do not match their scale: where repeated products of ciphertexts lose the scale, and why."""
        return self._native.warnings

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
        return self._native.log2_q(level)

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
        return self._native.to_toml()

    @property
    def name(self) -> str:
        """The name of the set, for people."""
        return self._native.name

    @property
    def degree(self) -> int:
        """The ring degree n: the number of coefficients of a polynomial."""
        return self._native.degree

    @property
    def rank(self) -> int:
        """The module rank k: the number of polynomials in the mask of a ciphertext."""
        return self._native.rank

    @property
    def temporary_rank(self) -> int | None:
        """The rank at which products switch keys before they come back to `rank`, or None where they switch keys at `rank`."""
        return self._native.temporary_rank

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
        return Params._of(self._native.at_rank(rank))

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
        return Params._of(self._native.relative(degree=degree, rank=rank))

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
        return Params._of(self._native.rlwe())

    @property
    def slot_count(self) -> int:
        """The number of complex slots of a polynomial: n / 2."""
        return self._native.slot_count

    @property
    def application_levels(self) -> tuple[int, int] | None:
        """The lowest and the highest level of the application, in parameters that bootstrap; otherwise None.

        A bootstrap starts from the lowest level or above, and ends at the highest, or a level below it for each further round. Arrays are
        encrypted, circuits planned and keys made for the highest unless a level is stated: the levels above belong to the bootstrap, and
        operands of products that are there are brought to the highest first.
        """
        return self._native.application_levels

    @property
    def max_level(self) -> int:
        """The highest level: the number of rescales that a fresh ciphertext allows."""
        return self._native.max_level

    @property
    def security_bits(self) -> float:
        """The estimated security in bits, of all keys that the set has."""
        return self._native.security_bits

    @property
    def log2_qp(self) -> float:
        """The bits of the largest modulus of a key: all steps and the special primes."""
        return self._native.log2_qp

    @property
    def insecure(self) -> bool:
        """Whether the estimated security is below 128 bits."""
        return self._native.insecure

    @property
    def digest(self) -> str:
        """A digest of everything that two parties must agree on, as 64 hexadecimal digits. Files carry it."""
        return self._native.digest

    @property
    def runtime(self) -> Runtime:
        """How these parameters run: threads, instruction set, key switching, memory for derived keys."""
        return Runtime._of(self._native.runtime)

    @property
    def primes(self) -> Primes:
        """The primes, by what they are for.

        A dict that can be written as JSON. `steps` has one list per level, level 0 first: the modulus at level l is the product of steps 0
        to l. `special` has the special primes of key switching, `temporary` the primes that lengthen them at the temporary rank,
        `auxiliary` the primes that the KLSS method computes modulo, which are a part of no modulus. In this order the primes are numbered
        from 0; seeded masks depend on the number (docs/file-format.md). All primes are congruent to 1 modulo twice the degree. A set that
        `at_rank`, `relative` or `rlwe` gave has the primes of the set it came from, also those of levels above its own `max_level`.
        """
        return cast("Primes", self._native.primes)

    @property
    def roots_of_unity(self) -> dict[int, int]:
        """For each prime the root of unity of its number-theoretic transform.

        A dict from primes to roots, in the order of `primes`. The root psi is a primitive 2n-th root of unity modulo the prime. Files and
        memory hold polynomials as their values at the odd powers of psi, in bit-reversed order (docs/file-format.md).
        """
        return self._native.roots_of_unity

    def __copy__(self) -> Params:
        return self

    def __deepcopy__(self, memo: Any) -> Params:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_params, (self.to_toml(), Runtime._of(self._native.runtime_for_any_machine()))


@final
class Explanation(Report):
    """What a parameter set means in numbers: security, sizes, expected precision.

    `Params.explain()` makes it; print it, or read the figures from `to_dict()`.

    Examples
    --------
    >>> print(params.explain())  # doctest: +ELLIPSIS
    insecure_small...
    """

    __slots__ = ()

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
        return self._dict()


@final
class SwitchingReport(Report):
    """How each level of a parameter set switches keys, with predicted times and memory.

    Key switching is the step that ends every product of ciphertexts, rotation and conjugation; `Runtime` explains its two methods.
    `Params.switching_report()` makes the report. Print it for a table with a legend, or read its `rows`.

    Examples
    --------
    >>> report = params.switching_report()
    >>> report.rows[-1]["level"], report.rows[-1]["method"]
    (5, 'hybrid')
    """

    __slots__ = ()

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
        return self._text

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
        rows: list[dict[str, Any]] = self._dict()["rows"]
        return rows

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
        return self._dict()


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
    return native.preset_names()
