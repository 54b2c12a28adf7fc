"""Clathrate: CKKS homomorphic encryption over module lattices, on NumPy arrays.

>>> import numpy as np, clathrate as cl
>>> params = cl.Params.preset("matmul")
>>> key = cl.SecretKey.generate(params)
>>> ct = key.encrypt(X)                  # the shape is kept
>>> scores = (W @ ct).rescale()          # a plain matrix on the left
>>> key.decrypt(scores)                  # W @ X, nearly
"""

from . import errors
from ._native import (
    Ciphertext,
    EvaluationKeys,
    Explanation,
    Needs,
    Params,
    PublicKey,
    SecretKey,
    __version__,
    doctor,
    from_bytes,
    inspect,
    load,
    preset_names,
)
from .errors import *  # noqa: F403
from .errors import __all__ as _error_names

__all__ = [
    "Ciphertext",
    "EvaluationKeys",
    "Explanation",
    "Needs",
    "Params",
    "PublicKey",
    "SecretKey",
    "__version__",
    "doctor",
    "errors",
    "from_bytes",
    "inspect",
    "load",
    "preset_names",
]
__all__ += _error_names
