"""What stands for NumPy's functions that need to be told more of ciphertexts, or have another name here; tests run each remedy."""

from __future__ import annotations

DECRYPT = "decrypt it first with `secret_key.decrypt(ct)`"
_ORDER = f"it follows the order of the numbers, so {DECRYPT}"
_STEPS = f"it has steps, which no polynomial follows, so {DECRYPT}"
_FINITE = "encrypted numbers are finite, which `encrypt` checks: use"
_FLAT = "one row is a vector by `x.reshape(-1)`, and more rows stay rows"
_FILES = "use `x.save(path)`"
_BYTES = "use `x.to_bytes()`"
_CHANGES = "a ciphertext does not change, so make another one with `cl.where(mask, x, y)`"
_BETWEEN = "which is told by `domain=(lowest, highest)` between which numbers its argument is"
_BELOW = "which is told by `bound=` how large its arguments are"

# What stands for functions that need to be told more, or that have another name.
INSTEAD = {
    "std": "use `cl.std(x, domain=(lowest, highest))`, which is told between which numbers the deviations are",
    "linalg.norm": "use `cl.norm(x, domain=(lowest, highest))`, which is told between which numbers the norm is, or its square, for a real "
    "vector `x.dot(x)`",
    "array_equal": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "allclose": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "isclose": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "max": "take `cl.maximum(x, x.rotate(step), bound=1.0)`, for steps of half the numbers, a quarter, .., 1, of rows that fill their "
    f"capacity, {_BELOW}, or {DECRYPT}",
    "min": "take `cl.minimum(x, x.rotate(step), bound=1.0)`, for steps of half the numbers, a quarter, .., 1, of rows that fill their "
    f"capacity, {_BELOW}, or {DECRYPT}",
    "cumprod": "write `[x[: i + 1].prod() for i in range(len(x))]`",
    "zeros_like": "write `np.zeros(x.shape)`",
    "ones_like": "write `np.ones(x.shape)`",
    "full_like": "write `np.full(x.shape, number)`",
    "empty_like": "write `np.zeros(x.shape)`",
    "array_repr": "use `repr(x)`",
    "array_str": "use `str(x)`",
    "array2string": "use `str(x)`",
    "hypot": f"use `cl.sqrt(x * x + y * y, domain=(lowest, highest))`, {_BETWEEN}",
    "heaviside": "write `(cl.sign(x, margin=1e-2) + 1) * 0.5`, which is told how near to zero its argument comes",
    "select": "write `cl.where(condition, x, y)`, one in another",
    "interp": "write `cl.Polynomial.fit(lambda t: np.interp(t, xp, fp), domain=(lowest, highest), error=1e-1)(x)`",
    **{f"nan{name}": f"{_FINITE} `x.{name}()`" for name in ("sum", "mean", "var", "prod")},
    "nanstd": f"{_FINITE} `cl.std`",
    "nan_to_num": f"{_FINITE} `x` as it is",
    **dict.fromkeys(("isnan", "isinf"), f"{_FINITE} `np.zeros(x.shape, bool)`"),
    "isfinite": f"{_FINITE} `np.ones(x.shape, bool)`",
    "clip": f"use `cl.maximum(cl.minimum(x, high), low)`, {_BELOW}",
    "real": "use `x.real_part()`",
    "imag": "use `x.imaginary_part()`",
    "absolute": f"use `cl.absolute` of real numbers, {_BELOW}",
    "exp": f"use `cl.exp`, {_BETWEEN}",
    "log": f"use `cl.log`, {_BETWEEN}",
    "sqrt": f"use `cl.sqrt`, {_BETWEEN}",
    "tanh": f"use `cl.tanh`, {_BETWEEN}",
    "sign": "use `cl.sign`, which is told by `margin=` how near to zero its argument comes",
    "reciprocal": f"use `cl.inverse`, {_BETWEEN}",
    "maximum": f"use `cl.maximum`, or `cl.relu` for the maximum with 0, {_BELOW}",
    "minimum": f"use `cl.minimum`, {_BELOW}",
    **{
        name: f"use `cl.Polynomial.fit(np.{name}, domain=(lowest, highest), error=1e-3)(x)`, {_BETWEEN}"
        for name in [
            "sin",
            "cos",
            "tan",
            "arcsin",
            "arccos",
            "arctan",
            "sinh",
            "cosh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "exp2",
            "expm1",
            "log2",
            "log10",
            "log1p",
            "cbrt",
        ]
    },
    **dict.fromkeys(("deg2rad", "radians"), "write `x * (np.pi / 180)`"),
    **dict.fromkeys(("rad2deg", "degrees"), "write `x * (180 / np.pi)`"),
    **dict.fromkeys(
        [
            "sort",
            "argsort",
            "argmax",
            "argmin",
            "argpartition",
            "partition",
            "searchsorted",
            "median",
            "percentile",
            "quantile",
            "unique",
            "digitize",
        ],
        _ORDER,
    ),
    **dict.fromkeys(["rint", "floor", "ceil", "trunc", "round", "fix", "mod", "fmod", "remainder", "floor_divide", "divmod"], _STEPS),
    "swapaxes": "use `x.T`",
    "conjugate": "use `x.conj()`",
    "transpose": "use `x.T`",
    "matrix_transpose": "use `x.T`",
    "mT": "use `x.T`",
    "fill": _CHANGES,
    "put": _CHANGES,
    "resize": _CHANGES,
    "setflags": "a ciphertext does not change, and has no flags",
    "device": "it is `x.params.runtime.device`",
    "to_device": "use `x.to(device)`",
    "tobytes": _BYTES,
    "dumps": _BYTES,
    "tofile": _FILES,
    "dump": _FILES,
    "save": _FILES,
    "savez": _FILES,
    "savetxt": _FILES,
    "item": DECRYPT,
    "tolist": DECRYPT,
    "flatten": _FLAT,
    "astype": "its numbers are real or complex as they were encrypted, and NumPy's after `secret_key.decrypt(ct)`",
}
