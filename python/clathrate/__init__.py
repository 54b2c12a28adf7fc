"""Clathrate: CKKS homomorphic encryption over module lattices, on NumPy arrays.

CKKS encrypts arrays of real or complex numbers. Whoever holds the ciphertexts can add, multiply and rotate them and multiply them by plain
matrices, without seeing the numbers. The results are approximate: encryption and every operation add a small error, which
`Params.explain()` estimates.

Terms
-----
secret key, evaluation keys
    The secret key encrypts and decrypts. Evaluation keys let others compute: products of two ciphertexts, rotations and conjugation need
    them; sums and products with plain numbers do not.
slots, coefficients
    The two encodings of an array. In slots, products are element by element and rows can be rotated. In coefficients, twice as many
    numbers fit, for sums and for products with plain matrices.
scale
    The factor that numbers are multiplied by before they are rounded to integers and encrypted. A product has the product of both scales.
rescale
    The division of a ciphertext by one step of its modulus, which brings the scale of a product back. Operators do it where it is needed.
level
    The number of rescales that a ciphertext still allows. It starts at `Params.max_level`, or, with parameters that bootstrap, at the
    highest of `Params.application_levels`; at level 0 the computation ends.
rank
    The number of polynomials in the mask of a ciphertext. Rank 1 is CKKS over rings (RLWE); higher ranks are over modules (MLWE).
bodies
    The polynomials that share a mask, one in most ciphertexts. With several, `SecretKey.encrypt(..., bodies=8)`, an array takes less
    memory, and an operation on the mask serves all of them.

Examples
--------
The examples of all docstrings start from these lines:

>>> import numpy as np
>>> import clathrate as cl
>>> params = cl.Params.preset("insecure_small")  # small and insecure, for tests
>>> secret_key = cl.SecretKey.generate(params)
>>> keys = secret_key.evaluation_keys(cl.Needs(relinearise=True, rotations=[1, 2], conjugate=True))
>>> ct = secret_key.encrypt([1.0, 2.0, 3.0]).with_keys(keys)

A matrix product, at 128 bits of security:

>>> params = cl.Params.preset("matmul")
>>> key = cl.SecretKey.generate(params)
>>> X, W = np.ones((3, 2)), np.array([[1.0, 2.0, 3.0]])
>>> scores = W @ key.encrypt(X)
>>> key.decrypt(scores).round(2)
array([[6., 6.]])
"""

from . import errors
from ._arrays import concatenate, hstack, stack, vstack, where
from ._bootstrap import BootstrapPlan, bootstrap_batch
from ._choose import ParamsChoice
from ._ciphertext import Ciphertext
from ._ciphertext.sharing import Comparison
from ._compile import compile
from ._evaluation_keys import EvaluationKeys
from ._files import from_bytes, inspect, load
from ._inbox import Batch, Inbox
from ._keys import AuthenticationKey, PublicKey
from ._layout import Layout
from ._light import LightClient, Receiver
from ._mambo import MamboMatrix, MamboPlan, mambo
from ._matrices import MatrixPlan, PreparedMatrix
from ._native import __version__
from ._needs import Needs
from ._norms import norm, std
from ._packing import PackingPlan
from ._params import Params, preset_names
from ._params.reports import Explanation, SwitchingReport
from ._polynomial import Polynomial, PolynomialExplanation, PolynomialPlan
from ._program import Program
from ._progress import progress
from ._runtime import Runtime, doctor, get_threads, set_device_memory_limit, set_threads, tune
from ._samples import PreparedSamples, SamplesPlan, bootstrap_samples
from ._secret_key import SecretKey
from ._signs import absolute, maximum, minimum, relu, sign
from ._smooth import exp, gelu, inverse, inverse_sqrt, log, sigmoid, silu, sqrt, tanh
from ._softmax import softmax
from ._trace import Input, StageCost, Trace, trace
from ._transforms import LinearTransform, LinearTransformPlan
from ._transposed import TransposedCiphertext
from .errors import (
    BoundWarning,
    CancelledError,
    ClathrateError,
    DataError,
    DeviceError,
    FileAccessError,
    FileFormatError,
    FileKindError,
    InsecureWarning,
    InternalError,
    LevelError,
    MissingFileError,
    MissingKeyError,
    NotEnoughMemoryError,
    ParamsError,
    RandomError,
    ScaleError,
    SecurityError,
    ShapeError,
    WrongParamsError,
    WrongSecretError,
)

__all__ = [
    "AuthenticationKey",
    "Batch",
    "BootstrapPlan",
    "BoundWarning",
    "CancelledError",
    "Ciphertext",
    "ClathrateError",
    "Comparison",
    "DataError",
    "DeviceError",
    "EvaluationKeys",
    "Explanation",
    "FileAccessError",
    "FileFormatError",
    "FileKindError",
    "Inbox",
    "Input",
    "InsecureWarning",
    "InternalError",
    "Layout",
    "LevelError",
    "LightClient",
    "LinearTransform",
    "LinearTransformPlan",
    "MamboMatrix",
    "MamboPlan",
    "MatrixPlan",
    "MissingFileError",
    "MissingKeyError",
    "Needs",
    "NotEnoughMemoryError",
    "PackingPlan",
    "Params",
    "ParamsChoice",
    "ParamsError",
    "Polynomial",
    "PolynomialExplanation",
    "PolynomialPlan",
    "PreparedMatrix",
    "PreparedSamples",
    "Program",
    "PublicKey",
    "RandomError",
    "Receiver",
    "Runtime",
    "SamplesPlan",
    "ScaleError",
    "SecretKey",
    "SecurityError",
    "ShapeError",
    "StageCost",
    "SwitchingReport",
    "Trace",
    "TransposedCiphertext",
    "WrongParamsError",
    "WrongSecretError",
    "__version__",
    "absolute",
    "bootstrap_batch",
    "bootstrap_samples",
    "compile",
    "concatenate",
    "doctor",
    "errors",
    "exp",
    "from_bytes",
    "gelu",
    "get_threads",
    "hstack",
    "inspect",
    "inverse",
    "inverse_sqrt",
    "load",
    "log",
    "mambo",
    "maximum",
    "minimum",
    "norm",
    "preset_names",
    "progress",
    "relu",
    "set_device_memory_limit",
    "set_threads",
    "sigmoid",
    "sign",
    "silu",
    "softmax",
    "sqrt",
    "stack",
    "std",
    "tanh",
    "trace",
    "tune",
    "vstack",
    "where",
]
