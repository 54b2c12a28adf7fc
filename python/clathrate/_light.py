"""Light clients and the server's side of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, SupportsIndex, final

from . import _native as native
from ._assume import warn_insecure
from ._ciphertext import Ciphertext
from ._reading import numbers as as_numbers
from ._wrapping import Wrapped, unwrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from ._keys import AuthenticationKey
    from ._params import Params
    from ._samples import SamplesPlan
    from ._secret_key import SecretKey
    from ._typing import AnyPath


@final
class LightClient(Wrapped, of=native.LightClient):
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
    >>> client = cl.clients.LightClient(secret_key, precision_bits=20)
    >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
    >>> message = client.encrypt([20.5, 21.0])
    >>> len(message), client.bits_per_number
    (38, 39)
    >>> samples = receiver.receive([message])
    >>> client.decrypt(receiver.reply(samples + 1)).round(3)
    array([21.5, 22. ])
    """

    __slots__ = ()
    _native: native.LightClient

    def __init__(
        self,
        secret_key: SecretKey,
        degree: SupportsIndex | None = None,
        level: SupportsIndex | None = None,
        precision_bits: float | None = None,
        *,
        device: SupportsIndex | None = None,
        plan: SamplesPlan | None = None,
    ) -> None:
        self._hold(native.LightClient(unwrap(secret_key), degree, level, precision_bits, device=device, plan=unwrap(plan)))

    @property
    def introduction(self) -> bytes:
        """What the server needs once, before messages. It holds no secret."""
        return self._native.introduction

    @property
    def device(self) -> int | None:
        """The number of the device whose secret it has; None for the owner's secret."""
        return self._native.device

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> client.precompute(2)
        2
        >>> len(client.encrypt([0.5]))
        36
        """
        return self._native.precompute(samples)

    @property
    def next_counter(self) -> int:
        """The counter of the next sample."""
        return self._native.next_counter

    @property
    def bits_per_number(self) -> int:
        """The bits of a number in a message."""
        return self._native.bits_per_number

    @property
    def degree(self) -> int:
        """How many numbers share a mask."""
        return self._native.degree

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> first, second = client.encrypt([1.0]), client.encrypt([2.0, 3.0])
        >>> client.next_counter
        3
        """
        warn_insecure(self._native.security_bits)
        return self._native.encrypt(as_numbers(numbers), counter)

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = secret_key.encrypt([1.0, 2.0], encoding="coefficients", level=0)
        >>> client.decrypt(receiver.reply(x)).round(4)
        array([1., 2.])
        """
        return self._native.decrypt(reply)

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> again = cl.clients.LightClient.from_bytes(client.to_bytes())
        >>> again.introduction == client.introduction
        False
        """
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, state: bytes) -> LightClient:
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
        >>> cl.clients.LightClient.from_bytes(cl.clients.LightClient(secret_key, degree=8).to_bytes()).degree
        8
        """
        return cls._of(native.LightClient.from_bytes(state))

    def save(self, path: AnyPath, overwrite: bool = True) -> int:
        """Writes the state with the secret to a file that only its owner may read.

        The file is not encrypted: whoever can read it can decrypt, and send in the client's name.

        Parameters
        ----------
        path : str, bytes or path-like
            The file, as `Ciphertext.save` takes it.
        overwrite : bool, optional
            Whether a file that exists may be replaced, as `Ciphertext.save` takes it.

        Returns
        -------
        int
            The length of the file in bytes.

        Raises
        ------
        FileAccessError
            As `Ciphertext.save`.

        Examples
        --------
        >>> size = cl.clients.LightClient(secret_key).save("client.state")
        """
        return self._native.save(path, overwrite)

    @classmethod
    def load(cls, path: AnyPath) -> LightClient:
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
        >>> size = cl.clients.LightClient(secret_key, degree=8).save("client.state")
        >>> cl.clients.LightClient.load("client.state").degree
        8
        """
        return cls._of(native.LightClient.load(path))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a light client holds a secret and is not pickled: `save` writes its state on purpose")


@final
class Receiver(Wrapped, of=native.Receiver):
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
    >>> client = cl.clients.LightClient(secret_key)
    >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
    >>> receiver.receive([client.encrypt([1.0]), client.encrypt([2.0])]).shape
    (2,)
    """

    __slots__ = ()
    _native: native.Receiver

    def __init__(self, params: Params, introduction: bytes, key: AuthenticationKey) -> None:
        self._hold(native.Receiver(unwrap(params), introduction, unwrap(key)))

    @property
    def client_id(self) -> bytes:
        """A name for the client, 32 bytes: what `Inbox.introduce` gives."""
        return self._native.client_id

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = receiver.receive([client.encrypt([1.0, 2.0, 3.0, 4.0])], shape=(2, 2))
        >>> secret_key.decrypt(x).round(3)
        array([[1., 2.],
               [3., 4.]])
        """
        return Ciphertext._of(self._native.receive(messages, shape))

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
        >>> client = cl.clients.LightClient(secret_key)
        >>> receiver = cl.clients.Receiver(params, client.introduction, secret_key.authentication_key())
        >>> x = secret_key.encrypt([0.5], encoding="coefficients", level=0)
        >>> client.decrypt(receiver.reply(x)).round(3)
        array([0.5])
        """
        return self._native.reply(unwrap(ciphertext))
