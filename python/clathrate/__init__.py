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

Where things are
----------------
Here
    What most programs need: `compile`, `repeat`, keys, arrays, parameters, files.
`functions`
    Functions of arrays: `sigmoid`, `relu`, `softmax`, `where`, ...
`errors`
    All errors and warnings. `ClathrateError` is their common class.
`clients`
    Light clients that send encrypted readings, and their servers.
`plans`, `keys`
    For experts: dry runs, plans of single circuits, and sets of evaluation keys by hand.
`types`
    Classes of results, for annotations.

Examples
--------
The examples of all docstrings start from these lines:

>>> import numpy as np
>>> import clathrate as cl
>>> params = cl.Params.preset("insecure_small")  # small and insecure, for tests
>>> secret_key = cl.SecretKey.generate(params)
>>> keys = secret_key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1, 2], conjugate=True))
>>> ct = secret_key.encrypt([1.0, 2.0, 3.0]).with_keys(keys)

A matrix product, at 128 bits of security:

>>> params = cl.Params.preset("matmul")
>>> key = cl.SecretKey.generate(params)
>>> X, W = np.ones((3, 2)), np.array([[1.0, 2.0, 3.0]])
>>> scores = W @ key.encrypt(X)
>>> key.decrypt(scores).round(2)
array([[6., 6.]])
"""

import warnings as _warnings
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from . import clients, errors, functions, keys, plans, types
from ._ciphertext import Ciphertext
from ._compile import compile
from ._evaluation_keys import EvaluationKeys
from ._files import from_bytes, inspect, load
from ._keys import PublicKey
from ._native import __version__
from ._params import Params
from ._program import Program
from ._progress import progress
from ._repeat import repeat
from ._runtime import Runtime, doctor, get_threads, set_device_memory_limit, set_threads, tune
from ._secret_key import SecretKey
from ._trace import Input
from .errors import ClathrateError

__all__ = [
    "Ciphertext",
    "ClathrateError",
    "EvaluationKeys",
    "Input",
    "Params",
    "Program",
    "PublicKey",
    "Runtime",
    "SecretKey",
    "__version__",
    "clients",
    "compile",
    "doctor",
    "errors",
    "from_bytes",
    "functions",
    "get_threads",
    "inspect",
    "keys",
    "load",
    "plans",
    "progress",
    "repeat",
    "set_device_memory_limit",
    "set_threads",
    "tune",
    "types",
]


def _place() -> None:
    """Classes say where users find them: errors, `repr` and pickles name that place."""
    places = [(globals(), "clathrate", __all__), *((vars(part), part.__name__, part.__all__) for part in (clients, keys, plans, types))]
    for found, place, names in places:
        for name in names:
            if isinstance(found[name], type) and found[name] is not ClathrateError:
                found[name].__module__ = place


_place()

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        """Names that stood here before they had a place of their own."""
        for place in (functions, errors, plans, keys, clients, types):
            if name in place.__all__:
                now = f"{place.__name__}.{name}"
                _warnings.warn(f"`clathrate.{name}` is `{now}` now", DeprecationWarning, stacklevel=2)
                return getattr(place, name)
        raise AttributeError(f"module 'clathrate' has no attribute '{name}'")
