"""What parameters tell: sizes, levels, scales, primes, security, and reports of all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex, cast

from .._runtime import Runtime
from .reports import Explanation, SwitchingReport

if TYPE_CHECKING:
    from .. import _native as native
    from .._typing import Primes, Segment


class Figures:
    """Sizes, levels, scales, primes and security."""

    __slots__ = ()
    _native: native.Params

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

    @property
    def slot_count(self) -> int:
        """The number of complex slots of a polynomial: n / 2."""
        return self._native.slot_count

    @property
    def max_level(self) -> int:
        """The highest level: the number of rescales that a fresh ciphertext allows."""
        return self._native.max_level

    @property
    def application_levels(self) -> tuple[int, int] | None:
        """The lowest and the highest level of the application, in parameters that bootstrap; otherwise None.

        A bootstrap starts from the lowest level or above, and ends at the highest, or a level below it for each further round. Arrays are
        encrypted, circuits planned and keys made for the highest unless a level is stated: the levels above belong to the bootstrap, and
        operands of products that are there are brought to the highest first.
        """
        return self._native.application_levels

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

    @property
    def log2_qp(self) -> float:
        """The bits of the largest modulus of a key: all steps and the special primes."""
        return self._native.log2_qp

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

    @property
    def security_bits(self) -> float:
        """The estimated security in bits, of all keys that the set has."""
        return self._native.security_bits

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
