"""Parameter sets: presets, those of files, and those of other degrees and ranks."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, final

from .. import _native as native
from .._pickle import rebuild_params
from .._runtime import Runtime
from .._stored import Movable, Saved
from .._text import report_html
from .._wrapping import Shared, Valued, unwrap
from .figures import Figures

if TYPE_CHECKING:
    from .._choose import ParamsChoice
    from .._typing import AnyPath, Segment


@final
class Params(Figures, Shared, Valued, Movable, Saved, of=native.Params):
    """A checked, immutable parameter set: the ring, the moduli, the scale, and the security that follows from them.

    `Params.preset(name)` gives one of the sets that `preset_names` lists. The constructor makes a set from sizes, and chooses primes of
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

    @staticmethod
    def preset_names() -> list[str]:
        """The names of the parameter sets that `Params.preset` knows.

        Names that start with "insecure" are small sets for tests; names that start with "paper" are sets of published papers.

        Returns
        -------
        list of str
            The names.

        Examples
        --------
        >>> "matmul" in cl.Params.preset_names()
        True
        """
        return native.preset_names()

    @classmethod
    def preset(cls, name: str, runtime: Runtime | None = None, *, device: str | None = None) -> Params:
        """A parameter set by its name.

        Parameters
        ----------
        name : str
            One of the names that `preset_names` lists.
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
        """The parameters with which a function of encrypted arrays runs fastest, found by dry runs, without keys and data.

        They are those of the program that `compile` makes of the function, for arrays that are encrypted with the same options: a chain
        made for the computation, or a preset that bootstraps. The time is predicted, with one thread.

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
            How the arrays are encrypted: `encoding`, `lanes` and `is_complex`, as `SecretKey.encrypt` takes them.

        Returns
        -------
        ParamsChoice
            The parameters, the dry run with its keys, times and bytes, and what was tried.

        Raises
        ------
        ParamsError
            Where neither a chain nor a preset that bootstraps runs the computation; the message says what they lack.
        DataError
            For an error or a bound that is not positive.

        Examples
        --------
        >>> choice = cl.Params.for_circuit(lambda x: (x**4).sum(), (1000,), error=1e-3)
        >>> choice.params.max_level >= 2, choice.trace.seconds > 0
        (True, True)
        """
        # The search runs on all of the package.
        from .._choose import for_circuit

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

    def __copy__(self) -> Params:
        return self

    def __deepcopy__(self, memo: Any) -> Params:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_params, (self.to_toml(), Runtime._of(self._native.runtime_for_any_machine()))
