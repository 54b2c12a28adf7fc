"""What is warned of: parameters that protect little, and, once, what is assumed of numbers without a declared bound."""

from __future__ import annotations

import math
import warnings
from typing import Any

from .errors import BoundWarning, InsecureWarning

_TEXT = (
    "no bound on the numbers is declared, so nothing notices results that outgrow the modulus, numbers outside the interval of a function "
    "such as `sigmoid`, and bootstraps of numbers beyond 1; with `bound=`, the largest magnitude, such steps are refused or scaled"
)

# Python's own memory of warnings that were shown.
_SAID: dict[Any, Any] = {}


def warn_unbounded() -> None:
    """Warns that arrays have no bound: once in a program, unless Python's filters say otherwise."""
    warnings.warn_explicit(_TEXT, BoundWarning, "clathrate", 1, module="clathrate", registry=_SAID)


def warn_insecure(bits: float) -> None:
    """Warns the caller of a method that makes keys or encrypts, where parameters have less than 128 bits of security."""
    if bits >= 128.0:
        return
    figure = (
        f"have {math.floor(bits)} bits of security, below 128"
        if bits > 0.0
        else "are not covered by the security table and count as below 128 bits of security"
    )
    text = f"these parameters {figure}: what is encrypted with them is not protected, so use them for tests only"
    warnings.warn(text, InsecureWarning, stacklevel=3)
