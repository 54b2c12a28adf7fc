"""What is assumed of numbers without a declared bound, said once."""

from __future__ import annotations

import warnings
from typing import Any

from .errors import BoundWarning

_TEXT = (
    "no bound on the numbers is declared, so nothing notices results that outgrow the modulus, numbers outside the interval of a function "
    "such as `sigmoid`, and bootstraps of numbers beyond 1; with `bound=`, the largest magnitude, such steps are refused or scaled"
)

# Python's own memory of warnings that were shown.
_SAID: dict[Any, Any] = {}


def warn_unbounded() -> None:
    """Warns that arrays have no bound: once in a program, unless Python's filters say otherwise."""
    warnings.warn_explicit(_TEXT, BoundWarning, "clathrate", 1, module="clathrate", registry=_SAID)
