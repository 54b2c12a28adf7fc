"""Exceptions: one class per kind of error, each also the built-in class that a NumPy user would expect.

Messages carry the numbers and the remedy: ``rotation by 6 needs a key, and the attached keys have 1, 4: make keys with
`cl.keys.Needs(rotations=[6])` ``.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BoundWarning",
    "CancelledError",
    "ClathrateError",
    "DataError",
    "DeviceError",
    "FileAccessError",
    "FileFormatError",
    "FileKindError",
    "InsecureWarning",
    "InternalError",
    "LevelError",
    "MissingFileError",
    "MissingKeyError",
    "NotEnoughMemoryError",
    "ParamsError",
    "RandomError",
    "ScaleError",
    "SecurityError",
    "ShapeError",
    "WrongParamsError",
    "WrongSecretError",
]


class ClathrateError(Exception):
    """Any error of Clathrate."""


class ParamsError(ClathrateError, ValueError):
    """Parameters that cannot be used."""


class SecurityError(ParamsError):
    """Parameters below 128 bits of security that do not say so, or that come from others without `allow_insecure=True`."""


class BoundWarning(UserWarning):
    """Arrays without a declared bound, of which nothing is noticed: `warnings.simplefilter("ignore", errors.BoundWarning)` silences it."""


class InsecureWarning(UserWarning):
    """Parameters below 128 bits of security are used; `warnings.simplefilter("ignore", errors.InsecureWarning)` silences it."""


class DataError(ClathrateError, ValueError):
    """Data or an argument out of range: NaN, infinities, too large, empty."""


class ShapeError(ClathrateError, ValueError):
    """Shapes or encodings that do not fit."""


class ScaleError(ClathrateError, ValueError):
    """Scales that do not fit each other or the modulus."""


class LevelError(ClathrateError, ValueError):
    """A level that does not fit."""


class MissingKeyError(ClathrateError, LookupError):
    """An evaluation key that is not there."""


class WrongParamsError(ClathrateError, ValueError):
    """Objects of different parameters."""


class WrongSecretError(ClathrateError, ValueError):
    """Objects of different secrets."""


class FileFormatError(ClathrateError, ValueError):
    """A file that is not what it should be: truncated, corrupted, of another kind or a newer version."""


class FileKindError(FileFormatError, TypeError):
    """A file of another kind than the arguments are for: it needs parameters that were not given, or takes no runtime."""


class FileAccessError(ClathrateError, OSError):
    """The operating system refused, or a secret key would be lost; ``errno``, ``strerror`` and ``filename`` are set as in any OSError."""

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError would pickle its arguments alone, of which there is one.
        return _file_access_error, (type(self), self.args, self.errno, self.strerror, self.filename)

    def __str__(self) -> str:
        # OSError would print its fields instead of the message.
        return str(self.args[0]) if self.args else ""


class MissingFileError(FileAccessError, FileNotFoundError):
    """There is no file at the path."""


def _file_access_error(
    cls: type[FileAccessError], args: tuple[object, ...], errno: int | None, strerror: str | None, filename: str | None
) -> FileAccessError:
    """A pickled error, with its fields."""
    error = cls(*args)
    error.errno, error.strerror, error.filename = errno, strerror, filename
    return error


class RandomError(ClathrateError, RuntimeError):
    """The system gave no randomness."""


class CancelledError(ClathrateError):
    """A progress function returned False."""


class DeviceError(ClathrateError, RuntimeError):
    """A device that is not there, has no driver, or does not do its work. What is in the host's memory and in files is unharmed."""


class NotEnoughMemoryError(ClathrateError, MemoryError):
    """Less free memory than an operation takes; found before the work."""


class InternalError(ClathrateError, RuntimeError):
    """A bug in Clathrate."""
