"""A place on disk where a server keeps what light clients sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, SupportsIndex, final

from . import _native as native
from ._ciphertext import Ciphertext
from ._wrapping import Wrapped, unwrap

if TYPE_CHECKING:
    from ._keys import AuthenticationKey
    from ._params import Params
    from ._typing import AnyPath


@final
class Inbox(Wrapped, of=native.Inbox):
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
    >>> inbox = cl.clients.Inbox("inbox.log", params, secret_key.authentication_key())
    >>> client = cl.clients.LightClient(secret_key, precision_bits=20)
    >>> _ = inbox.introduce(client.introduction)
    >>> inbox.accept([client.encrypt([0.5]), b"damaged", client.encrypt([0.25])])
    [1, DataError('a message of a light client is of an unknown client: introduce the client first'), 1]
    >>> batch = inbox.take(100)
    >>> secret_key.decrypt(batch.samples).round(3)
    array([0.5 , 0.25])
    >>> inbox.done(batch)
    0
    """

    __slots__ = ()
    _native: native.Inbox

    def __init__(self, path: AnyPath, params: Params, key: AuthenticationKey, limit: SupportsIndex | None = None) -> None:
        self._hold(native.Inbox(path, unwrap(params), unwrap(key), limit))

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
        >>> inbox = cl.clients.Inbox("clients.log", params, secret_key.authentication_key())
        >>> len(inbox.introduce(cl.clients.LightClient(secret_key).introduction))
        32
        """
        return self._native.introduce(introduction)

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
        >>> inbox = cl.clients.Inbox("messages.log", params, secret_key.authentication_key())
        >>> client = cl.clients.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction)
        >>> inbox.accept([client.encrypt([0.5, 0.25])])
        [2]
        """
        return self._native.accept(messages)

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
        >>> inbox = cl.clients.Inbox("empty.log", params, secret_key.authentication_key())
        >>> inbox.take(10) is None
        True
        """
        found = self._native.take(most, together=together)
        return None if found is None else Batch._of(found)

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
        >>> inbox = cl.clients.Inbox("done.log", params, secret_key.authentication_key())
        >>> client = cl.clients.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
        >>> inbox.done(inbox.take(1))
        0
        """
        return self._native.done(unwrap(batch))

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
        >>> inbox = cl.clients.Inbox("back.log", params, secret_key.authentication_key())
        >>> client = cl.clients.LightClient(secret_key)
        >>> _ = inbox.introduce(client.introduction), inbox.accept([client.encrypt([0.5])])
        >>> inbox.give_back(inbox.take(1))
        1
        """
        return self._native.give_back(unwrap(batch))

    @property
    def oldest(self) -> float | None:
        """The seconds that the oldest sample has waited; None where none waits."""
        return self._native.oldest

    def __len__(self) -> int:
        return len(self._native)


@final
class Batch(Wrapped, of=native.Batch):
    """Samples that were taken from an inbox together, by `Inbox.take`.

    Examples
    --------
    >>> inbox = cl.clients.Inbox("batch.log", params, secret_key.authentication_key())
    >>> client = cl.clients.LightClient(secret_key)
    >>> name = inbox.introduce(client.introduction)
    >>> _ = inbox.accept([client.encrypt([0.5, 0.25])])
    >>> batch = inbox.take(2)
    >>> batch.sources == [(name, 0), (name, 1)], batch.samples.shape
    (True, (2,))
    """

    __slots__ = ()
    _native: native.Batch

    @property
    def samples(self) -> Ciphertext:
        """The samples as an array, in the order in which they were accepted; those of several secrets are `arrays`, here a `DataError`."""
        return Ciphertext._of(self._native.samples)

    @property
    def arrays(self) -> list[Ciphertext]:
        """The samples as arrays, one for each secret; in each in the order in which they were accepted."""
        return [Ciphertext._of(part) for part in self._native.arrays]

    @property
    def sources(self) -> list[tuple[bytes, int]]:
        """Whose samples they are, in the order of the arrays: the client's name and the counter of each."""
        return self._native.sources
