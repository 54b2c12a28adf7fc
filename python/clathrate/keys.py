"""Which evaluation keys to make by hand, and the keys that authenticate light clients."""

from ._keys import AuthenticationKey
from ._needs import Needs

__all__ = [
    "AuthenticationKey",
    "Needs",
]
