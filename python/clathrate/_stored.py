"""What is on a device, in a file or in a pickle: the methods that classes share."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, SupportsIndex

from ._pickle import rebuild
from ._wrapping import Wrapped, unwrap, wrap

if TYPE_CHECKING:
    from typing import Self

    from ._params import Params
    from ._typing import AnyPath


class Movable(Wrapped):
    """An object that lies in the memory of one device, and can be had on another."""

    __slots__ = ()

    def to(self, device: str) -> Self:
        """The same object on another device, where it computes from then on.

        Parameters
        ----------
        device : str
            "cpu", "cuda" for NVIDIA's first device, "cuda:1" and so on.

        Returns
        -------
        Ciphertext, EvaluationKeys, PublicKey, SecretKey or Params
            An object of the class. What is made with parameters is on their device. Evaluation keys are in the memory of the host, too,
            while they are moved. A ciphertext carries no keys unless it is there already: attach those of that device.

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
        >>> params.to("cpu") == secret_key.to("cpu").params == secret_key.public_key().to("cpu").params
        True
        >>> keys.to("cpu").rotations == keys.rotations
        True
        """
        return self._of(self._native.to(device))


class Saved(Wrapped):
    """An object that has a form in files."""

    __slots__ = ()

    def save(self, path: AnyPath, overwrite: bool = True) -> int:
        """Writes the object to a file.

        The file of a ciphertext has no evaluation keys, and that of evaluation keys nothing that is derived from them. The file of an
        authentication key may be read by its owner alone. The file of a plan has the diagonals that have been encoded so far.

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
        >>> size = keys.save("keys.clt")
        >>> size = secret_key.public_key().save("public.clt")
        >>> size = secret_key.authentication_key().save("authentication.clt")
        >>> size = params.save("params.clt")
        >>> size = cl.plans.LinearTransform(np.eye(4)[::-1]).plan(params).save("flip.clt")
        """
        return int(self._native.save(path, overwrite))


class Owned(Saved):
    """An object that belongs to a secret."""

    __slots__ = ()

    @property
    def key_id(self) -> str:
        """The public name of the secret that it belongs to, 32 hexadecimal digits; messages show the first 12 of them."""
        return str(self._native.key_id)

    @classmethod
    def load(cls, path: AnyPath, params: Params) -> Self:
        """An object of the class from a file that `save` or the command `clathrate` wrote. A ciphertext comes without keys.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        params : Params
            The parameters that the contents were made with.

        Returns
        -------
        Ciphertext, EvaluationKeys, PublicKey, SecretKey or AuthenticationKey
            An object of the class.

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
        >>> size = ct.save("numbers.clt")
        >>> secret_key.decrypt(cl.Ciphertext.load("numbers.clt", params)).round(4)
        array([1., 2., 3.])
        >>> size = keys.save("keys.clt")
        >>> cl.EvaluationKeys.load("keys.clt", params).rotations
        [1, 2]
        >>> size = secret_key.public_key().save("public.clt")
        >>> public_key = cl.PublicKey.load("public.clt", params)
        >>> size = secret_key.save("secret.clt")
        >>> cl.SecretKey.load("secret.clt", params).key_id == secret_key.key_id
        True
        >>> size = secret_key.authentication_key().save("authentication.clt")
        >>> cl.keys.AuthenticationKey.load("authentication.clt", params).key_id == secret_key.key_id
        True
        """
        return cls._of(cls._Native.load(path, unwrap(params)))


class Stored(Owned):
    """An object that pickles hold and `to_bytes` sends, in the form of its file."""

    __slots__ = ()

    @property
    def params(self) -> Params:
        """The parameters."""
        params: Params = wrap(self._native.params)
        return params

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write.

        Returns
        -------
        bytes
            The bytes; `from_bytes` reads them.

        Examples
        --------
        >>> again = cl.from_bytes(ct.to_bytes(), params)
        >>> again = cl.from_bytes(keys.to_bytes(), params)
        """
        return bytes(self._native.to_bytes())

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        return rebuild, (self.params, pickled(self._native, protocol))


def pickled(native: Any, protocol: SupportsIndex) -> Any:
    """The file form of `native` for a pickle: beside the pickle's stream from protocol 5 on, without a copy, else within it."""
    return pickle.PickleBuffer(native.to_array()) if protocol.__index__() >= 5 else native.to_bytes()
