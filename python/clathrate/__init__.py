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
    Polynomial,
    PolynomialExplanation,
    PolynomialPlan,
    PublicKey,
    SecretKey,
    SwitchingPlan,
    __version__,
    doctor,
    from_bytes,
    inspect,
    load,
    preset_names,
    tune,
)
from ._trace import Trace, trace
from .errors import (
    CancelledError,
    ClathrateError,
    DataError,
    FileAccessError,
    FileFormatError,
    InternalError,
    LevelError,
    MissingFileError,
    MissingKeyError,
    ParamsError,
    RandomError,
    ScaleError,
    SecurityError,
    ShapeError,
    WrongParamsError,
    WrongSecretError,
)

__all__ = [
    "CancelledError",
    "Ciphertext",
    "ClathrateError",
    "DataError",
    "EvaluationKeys",
    "Explanation",
    "FileAccessError",
    "FileFormatError",
    "InternalError",
    "LevelError",
    "MissingFileError",
    "MissingKeyError",
    "Needs",
    "Params",
    "ParamsError",
    "Polynomial",
    "PolynomialExplanation",
    "PolynomialPlan",
    "PublicKey",
    "RandomError",
    "ScaleError",
    "SecretKey",
    "SecurityError",
    "ShapeError",
    "SwitchingPlan",
    "Trace",
    "WrongParamsError",
    "WrongSecretError",
    "__version__",
    "doctor",
    "errors",
    "from_bytes",
    "inspect",
    "load",
    "preset_names",
    "trace",
    "tune",
]
