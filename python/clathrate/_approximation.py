"""The arguments of functions that take encrypted arrays and plain ones."""

from __future__ import annotations

from typing import Any

from ._ciphertext import Ciphertext
from ._reading import numbers
from ._wrapping import unwrap


def encrypted_or_numbers(x: Any) -> Any:
    """An encrypted array as the extension has it, or plain numbers."""
    return unwrap(x) if isinstance(x, Ciphertext) else numbers(x)
