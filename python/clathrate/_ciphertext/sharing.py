"""Before a result is shared: whether it is what was asked for, and how much noise it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsIndex, final

from .._wrapping import path_of, unwrap

if TYPE_CHECKING:
    from .. import _native as native
    from . import Ciphertext


class Sharing:
    """The comparison of two results, and the noise that a shared one needs."""

    __slots__ = ()
    _native: native.Ciphertext

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
        return Comparison._of(self._native.same_as(unwrap(other)))

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
        return self._native.flood_bits(error_bound, queries, statistical_bits, correct_bits)


@final
class Comparison:
    """Whether two ciphertexts are the same to the last bit, and where not: true if they are. `Ciphertext.same_as` makes it.

    Examples
    --------
    >>> comparison = (ct + 1).same_as(ct + 1)
    >>> bool(comparison), comparison
    (True, the same to the last bit)
    """

    __slots__ = ("_differences", "_text")
    _differences: list[str]
    _text: str

    def __init__(self) -> None:
        raise TypeError(f"cannot create '{path_of(type(self))}' instances")

    @classmethod
    def _of(cls, comparison: tuple[str, list[str]]) -> Comparison:
        made = object.__new__(cls)
        made._text, made._differences = comparison
        return made

    @property
    def differences(self) -> list[str]:
        """Each difference in words; none where the ciphertexts are the same."""
        return list(self._differences)

    def __bool__(self) -> bool:
        return not self._differences

    def __repr__(self) -> str:
        return self._text
