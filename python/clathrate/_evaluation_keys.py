"""Evaluation keys: what computing on ciphertexts needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex, final

from . import _native as native
from ._needs import Needs
from ._stored import Movable, Stored
from ._wrapping import Shared, unwrap
from .errors import WrongParamsError

if TYPE_CHECKING:
    from ._params import Params
    from ._program import ForOwner
    from ._typing import AnyPath, Progress


@final
class EvaluationKeys(Shared, Movable, Stored, of=native.EvaluationKeys):
    """Evaluation keys: they let anyone compute on ciphertexts, and decrypt nothing.

    `SecretKey.evaluation_keys(needs)` makes them. A relinearisation key serves products of ciphertexts, a rotation key one rotation, and so
    on; each serves ciphertexts up to a level. `Ciphertext.with_keys(keys)` attaches them to a ciphertext, whose results inherit them.

    A file stores each key once. Faster key switching needs other representations of a key at some levels, which are derived from the stored
    key on first use and kept in memory (`Runtime`).

    Examples
    --------
    >>> keys = secret_key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1]))
    >>> x = secret_key.encrypt([1.0, 2.0]).with_keys(keys)
    >>> secret_key.decrypt((x * x).rescale().rotate(1)).round(4)
    array([4., 1.])
    """

    __slots__ = ()
    _native: native.EvaluationKeys

    def save(self, path: AnyPath, overwrite: bool = True, expanded: bool = False) -> int:
        """Writes the keys to a file, without anything that is derived from them.

        Parameters
        ----------
        path : str, bytes or path-like
            The file. If it exists it is replaced as a whole or not at all.
        overwrite : bool, optional
            Whether a file that exists may be replaced. The default is True.
        expanded : bool, optional
            Whether the file has the keys as they are in memory. It is then up to twice as long, and processes that read it with
            `load(path, params, trusted_map=True)` share one copy. The default is False: seeds stand for the random half of the keys.

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
        >>> size = keys.save("expanded.clt", expanded=True)
        >>> cl.EvaluationKeys.load("expanded.clt", params, trusted_map=True).rotations
        [1, 2]
        """
        return self._native.save(path, overwrite, expanded)

    @classmethod
    def load(cls, path: AnyPath, params: Params, trusted_map: bool = False) -> EvaluationKeys:
        """Evaluation keys from a file that `save` or the command `clathrate` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the keys were made with.
        trusted_map : bool, optional
            Whether keys of an expanded file (`save(path, expanded=True)`) stay in the file and are read from there when they are used, so
            that all processes that do this share one copy in memory. Only for files that no program changes or shortens meanwhile: it
            could make this one compute wrongly, or end it. The default is False.

        Returns
        -------
        EvaluationKeys
            The keys.

        Raises
        ------
        FileFormatError
            Where the file holds something else, or is damaged.
        FileAccessError
            Where the file cannot be read.
        WrongParamsError
            Where the file was made with other parameters.

        Examples
        --------
        >>> size = keys.save("expanded.clt", expanded=True)
        >>> cl.EvaluationKeys.load("expanded.clt", params, trusted_map=True).rotations
        [1, 2]
        """
        return cls._of(native.EvaluationKeys.load(path, unwrap(params), trusted_map))

    def missing(self, program: ForOwner | Needs) -> Needs:
        """What a program needs and these keys do not have.

        Parameters
        ----------
        program : Program, OwnerPart or Needs
            The program, or what another computation needs.

        Returns
        -------
        Needs
            The missing keys; empty, and so false, where there are none. `keys | owner.evaluation_keys(keys.missing(program))` has all.

        Raises
        ------
        WrongParamsError
            For a program of other parameters.

        Examples
        --------
        >>> keys = secret_key.evaluation_keys(cl.keys.Needs(relinearise=True))
        >>> keys.missing(cl.keys.Needs(relinearise=True, rotations=[1]))
        Needs(rotate 1: top)
        >>> bool(keys.missing(cl.keys.Needs(relinearise=True)))
        False
        """
        needs = program
        if not isinstance(program, Needs):
            if program.params != self.params:
                raise WrongParamsError(
                    f'the program has the parameters "{program.params.name}", and the keys have other ones, "{self.params.name}": make '
                    "keys for the program, `owner.keys(program)`"
                )
            needs = program.needs
        return Needs._of(self._native.missing(unwrap(needs)))

    @property
    def rotations(self) -> list[int]:
        """The rotation steps that there are keys for, ascending, in (-slot_count / 2, slot_count / 2]."""
        return self._native.rotations

    @property
    def has_relinearisation(self) -> bool:
        """Whether ciphertexts can be multiplied."""
        return self._native.has_relinearisation

    @property
    def has_conjugation(self) -> bool:
        """Whether ciphertexts can be conjugated."""
        return self._native.has_conjugation

    @property
    def has_power_rotations(self) -> bool:
        """Whether ciphertexts can be rotated by any step, made of rotations by powers of two at the temporary rank."""
        return self._native.has_power_rotations

    @property
    def ranks(self) -> list[int]:
        """The ranks that the rank of `params` can be reduced to directly, highest first."""
        return self._native.ranks

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """The degree and rank of all ciphertexts that there are keys for, those of `params` first."""
        return self._native.shapes

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
        return self._native.names

    @property
    def nbytes(self) -> int:
        """The size of the stored keys in memory in bytes, without what is derived from them."""
        return self._native.nbytes

    @property
    def derived_bytes(self) -> int:
        """The size in bytes of what is derived from these keys at present."""
        return self._native.derived_bytes

    def derive(self, levels: Sequence[SupportsIndex] | None = None, progress: Progress = None) -> int:
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
        return self._native.derive(levels, progress)

    def drop_derived(self) -> None:
        """Frees the memory of what is derived; it is derived again when needed.

        Examples
        --------
        >>> keys.drop_derived()
        >>> keys.derived_bytes
        0
        """
        self._native.drop_derived()

    def __or__(self, other: EvaluationKeys) -> EvaluationKeys:
        if not isinstance(other, EvaluationKeys):
            return NotImplemented
        return EvaluationKeys._of(self._native | other._native)
