"""Keys that an owner hands out: to whoever encrypts, and to the server that takes the messages of light clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, final, overload

from . import _native as native
from ._assume import warn_insecure, warn_unbounded
from ._ciphertext import Ciphertext
from ._program import ForOwner
from ._reading import numbers
from ._stored import Movable, Owned, Stored

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ._typing import Encoding, Progress


@final
class PublicKey(Movable, Stored, of=native.PublicKey):
    """A public key: it encrypts for the owner of a secret key and cannot decrypt.

    `SecretKey.public_key()` makes it. It may be given to anyone.

    Examples
    --------
    >>> public_key = secret_key.public_key()
    >>> secret_key.decrypt(public_key.encrypt([1.0, 2.0])).round(4)
    array([1., 2.])
    """

    __slots__ = ()
    _native: native.PublicKey

    @overload
    def encrypt(
        self,
        array: ArrayLike,
        encoding: Encoding | None = None,
        level: SupportsIndex | None = None,
        scale: float | None = None,
        progress: Progress = None,
        *,
        lanes: SupportsIndex | Literal["most"] | None = None,
        bound: float | None = None,
    ) -> Ciphertext: ...
    @overload
    def encrypt(self, array: ForOwner, *arrays: ArrayLike) -> Any: ...
    def encrypt(
        self,
        array: ArrayLike | ForOwner,
        encoding: Any = None,
        level: Any = None,
        scale: Any = None,
        progress: Any = None,
        *others: ArrayLike,
        lanes: SupportsIndex | Literal["most"] | None = None,
        bound: float | None = None,
    ) -> Any:
        """Encrypts an array, or the inputs of a program, as `SecretKey.encrypt` does, with more noise and at twice the file size.

        Parameters
        ----------
        array : array_like, Program or OwnerPart
            The numbers, at most six axes, or the program, as `SecretKey.encrypt` takes them.
        encoding : {"slots", "coefficients"}, optional
            How numbers are placed in polynomials, as `SecretKey.encrypt` takes it.
        level : int, optional
            The level, as `SecretKey.encrypt` takes it.
        scale : float, optional
            The scale, as `SecretKey.encrypt` takes it.
        progress : bool or callable, optional
            As `SecretKey.encrypt` takes it.
        *others : array_like
            Further inputs of a program.
        lanes : int or "most", optional
            How many consecutive rows share a polynomial, as `SecretKey.encrypt` takes it.
        bound : float, optional
            The largest magnitude that the numbers may have, as `SecretKey.encrypt` takes it.

        Returns
        -------
        Ciphertext or list of Ciphertext
            The encrypted array, without evaluation keys; for a program with several inputs a list of them.

        Raises
        ------
        ClathrateError
            As `SecretKey.encrypt`.
        TypeError
            Where the entries are no numbers.

        Warns
        -----
        InsecureWarning
            As `SecretKey.encrypt`.

        Examples
        --------
        >>> secret_key.public_key().encrypt([1.0, 2.0]).shape
        (2,)
        """
        warn_insecure(self.params.security_bits)
        if isinstance(array, ForOwner):
            return array._encrypted(self.encrypt, (encoding, level, scale, progress, *others), lanes=lanes, bound=bound)
        if others:
            raise TypeError("`encrypt` takes several arrays for a program alone: encrypt each by a call of its own")
        if bound is None:
            warn_unbounded()
        return Ciphertext._of(self._native.encrypt(numbers(array), encoding, level, scale, progress, lanes=lanes, bound=bound))

    @property
    def fingerprint(self) -> str:
        """128 bits of a hash of the key, as eight groups of four hexadecimal digits, to be compared by voice with what its owner says.

        `key_id` is a label that anybody can write on another key: whoever encrypts with a key of unknown origin encrypts for whoever made
        it. `clathrate inspect` prints the fingerprint of a file.
        """
        return self._native.fingerprint


@final
class AuthenticationKey(Owned, of=native.AuthenticationKey):
    """The key by which a server knows what the owner's light clients send.

    `SecretKey.authentication_key()` makes it, always the same one for an owner. It decrypts nothing. Whoever has it can send numbers in the
    name of every client of the owner, and answers to it: give it to the server that takes the messages, and to nobody else.

    Examples
    --------
    >>> key = secret_key.authentication_key()
    >>> client = cl.clients.LightClient(secret_key)
    >>> cl.clients.Receiver(params, client.introduction, key).receive([client.encrypt([1.0])]).shape
    (1,)
    >>> stranger = cl.clients.LightClient(cl.SecretKey.generate(params))
    >>> try:
    ...     cl.clients.Receiver(params, stranger.introduction, key)
    ... except cl.errors.WrongSecretError:
    ...     print("refused")
    refused
    """

    __slots__ = ()
    _native: native.AuthenticationKey

    def __reduce__(self) -> NoReturn:
        raise TypeError("an authentication key is a secret and is not pickled: `save` writes it on purpose")
