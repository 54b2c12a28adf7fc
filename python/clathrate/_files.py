"""Files by kind, and the same bytes in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native as native
from ._wrapping import unwrap, wrap

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

    from ._params import Params
    from ._runtime import Runtime
    from ._typing import AnyPath


def load(path: AnyPath, params: Params | None = None, runtime: Runtime | None = None, *, allow_insecure: bool = False) -> Any:
    """Reads a file that holds parameters, a public key, evaluation keys, a ciphertext or the plan of a linear transform.

    A secret key is not read: `SecretKey.load` reads it on purpose.

    Parameters
    ----------
    path : str, bytes or path-like
        The file.
    params : Params, optional
        The parameters that the contents were made with. Needed for everything but parameters.
    runtime : Runtime, optional
        How to run, for a file of parameters alone: the other kinds run as `params` does. None, the default, is `Runtime()`.
    allow_insecure : bool, optional
        Whether parameters below 128 bits of security are taken, for tests. The default is False.

    Returns
    -------
    Params or PublicKey or EvaluationKeys or Ciphertext or LinearTransformPlan or PreparedMatrix
        What the file holds.

    Raises
    ------
    FileFormatError
        Where the file is not of Clathrate, damaged, of a newer version, or holds a secret key.
    FileAccessError
        Where the file cannot be read.
    WrongParamsError
        Where the file was made with other parameters.
    FileKindError
        Where `params` is missing, or a runtime is given for something else than parameters.
    SecurityError
        Where the file holds parameters below 128 bits of security, and `allow_insecure` does not accept that.

    Examples
    --------
    >>> size = ct.save("numbers.clt")
    >>> cl.load("numbers.clt", params).shape
    (3,)
    """
    return wrap(native.load(path, unwrap(params), unwrap(runtime), allow_insecure=allow_insecure))


def from_bytes(data: ReadableBuffer, params: Params | None = None, runtime: Runtime | None = None, *, allow_insecure: bool = False) -> Any:
    """Reads the bytes of a file, as `to_bytes` gives them, from memory.

    Parameters
    ----------
    data : buffer
        `bytes`, a `memoryview`, a uint8 array or another object with a contiguous buffer. It is not copied as a whole: polynomials are read
        from it.
    params : Params, optional
        As `load` takes it.
    runtime : Runtime, optional
        As `load` takes it.
    allow_insecure : bool, optional
        As `load` takes it.

    Returns
    -------
    Params or PublicKey or EvaluationKeys or Ciphertext or LinearTransformPlan or PreparedMatrix
        What the bytes hold.

    Raises
    ------
    ClathrateError
        As `load`.
    TypeError
        Where `data` has no contiguous buffer.

    Examples
    --------
    >>> cl.from_bytes(ct.to_bytes(), params).shape
    (3,)
    """
    return wrap(native.from_bytes(data, unwrap(params), unwrap(runtime), allow_insecure=allow_insecure))


def inspect(path: AnyPath, verify: bool = True) -> dict[str, Any]:
    """What a file says about itself; the contents are not loaded.

    Nothing secret is in the answer, whatever the file.

    Parameters
    ----------
    path : str, bytes or path-like
        The file.
    verify : bool, optional
        Whether the checksum of every section is compared, which reads the whole file. The default is True.

    Returns
    -------
    dict
        `kind`, in words; `parameters`, the name of the parameters it was made with, None in files that do not state a name;
        `parameter_digest`, their digest; `insecure`, whether these are below 128 bits of security; `bytes`, the length of the file;
        `metadata`, shape, level and the like; `sections`, the length in bytes of each section by name (docs/file-format.md).

    Raises
    ------
    FileFormatError
        Where the file is not of Clathrate, damaged, or of a newer version.
    FileAccessError
        Where the file cannot be read.

    Examples
    --------
    >>> size = ct.save("numbers.clt")
    >>> cl.inspect("numbers.clt")["kind"]
    'ciphertexts'
    """
    return native.inspect(path, verify)
