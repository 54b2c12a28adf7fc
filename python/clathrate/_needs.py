"""Which evaluation keys a computation needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, final

from . import _native as native
from ._pickle import rebuild_needs
from ._wrapping import Valued, unwrap

if TYPE_CHECKING:
    from ._params import Params


@final
class Needs(Valued, of=native.Needs):
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
    >>> cl.keys.Needs(relinearise=True) | cl.keys.Needs(rotations=[1], level=3)
    Needs(relinearise: top, rotate 1: level 3)
    >>> cl.keys.Needs(shared_mask=8)
    Needs(take 8 bodies apart: top, bring 8 bundles under one mask: top)
    """

    __slots__ = ()
    _native: native.Needs

    def __init__(
        self,
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
    ) -> None:
        self._hold(
            native.Needs(
                relinearise,
                rotations,
                conjugate,
                level,
                power_rotations=power_rotations,
                ranks=ranks,
                single_steps=single_steps,
                to_rlwe=to_rlwe,
                shared_mask=shared_mask,
                bodies=bodies,
            )
        )

    @property
    def relinearise(self) -> bool:
        """Whether a relinearisation key is needed."""
        return self._native.relinearise

    @property
    def conjugate(self) -> bool:
        """Whether a key is needed for the conjugation of arrays with one body in each bundle."""
        return self._native.conjugate

    @property
    def rotations(self) -> list[int]:
        """The rotation steps of arrays with one body in each bundle that need a key, ascending."""
        return self._native.rotations

    @property
    def power_rotations(self) -> bool:
        """Whether keys of rotations by powers of two at the temporary rank are needed."""
        return self._native.power_rotations

    @property
    def ranks(self) -> list[int]:
        """The ranks that are reduced to, highest first."""
        return self._native.ranks

    @property
    def shared_masks(self) -> list[int]:
        """How many bodies are brought under one mask or taken apart, ascending."""
        return self._native.shared_masks

    @property
    def to_rlwe(self) -> bool:
        """Whether ciphertexts are converted to rank 1 at a higher degree."""
        return self._native.to_rlwe

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
        >>> cl.keys.Needs(relinearise=True, rotations=[1], level=3).to_dict()
        {'relinearise': 3, 'rotations': {1: 3}}
        """
        return self._native.to_dict()

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
        >>> needs = cl.keys.Needs(rotations=[1, 2])
        >>> needs.nbytes(params) == secret_key.evaluation_keys(needs).nbytes
        True
        """
        return self._native.nbytes(unwrap(params))

    def __or__(self, other: Needs) -> Needs:
        if not isinstance(other, Needs):
            return NotImplemented
        return Needs._of(self._native | other._native)

    def __bool__(self) -> bool:
        return bool(self._native)

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuild_needs, (self._native.to_json(),)
