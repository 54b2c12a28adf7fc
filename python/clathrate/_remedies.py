"""What stands for NumPy's functions that need to be told more of ciphertexts, or have another name here; tests run each remedy."""

from __future__ import annotations

DECRYPT = "decrypt it first with `secret_key.decrypt(ct)`"
_ORDER = f"it follows the order of the numbers, so {DECRYPT}"
_STEPS = f"it has steps, which no polynomial follows, so {DECRYPT}"
_FINITE = "encrypted numbers are finite, which `encrypt` checks: use"
_FLAT = "one row is a vector by `x.reshape(-1)`, and more rows stay rows"
_FILES = "use `x.save(path)`"
_BYTES = "use `x.to_bytes()`"
_CHANGES = "a ciphertext does not change, so make another one with `cl.functions.where(mask, x, y)`"
_BETWEEN = "which is told by `domain=(lowest, highest)` between which numbers its argument is"
_BELOW = "which is told by `bound=` how large its arguments are"

# Why functions of NumPy have no counterpart, and which they are.
MEANINGLESS = {
    _ORDER: "all any argwhere array_equiv bincount count_nonzero flatnonzero histogram histogram2d histogram_bin_edges "
    "histogramdd intersect1d isin isneginf isposinf lexsort logical_and logical_not logical_or logical_xor nanargmax nanargmin "
    "nanmedian nanpercentile nanquantile nonzero piecewise ptp setdiff1d setxor1d signbit sort_complex trim_zeros union1d "
    "unique_all unique_counts unique_inverse unique_values unwrap choose copysign logaddexp logaddexp2",
    _STEPS: "around gcd lcm frexp ldexp modf nextafter spacing",
    f"it is of whole numbers bit by bit, so {DECRYPT}": "bitwise_and bitwise_count bitwise_or bitwise_xor invert left_shift right_shift "
    "packbits unpackbits",
    f"it divides by numbers that it computes, so {DECRYPT}, or write it with `cl.functions.inverse(x, "
    "domain=(lowest, highest))`": "angle arctan2 "
    "corrcoef linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.inv linalg.lstsq "
    "linalg.matrix_norm linalg.matrix_rank linalg.pinv linalg.qr linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensorinv "
    "linalg.tensorsolve linalg.vector_norm poly polydiv polyfit roots",
    f"it reads or writes numbers in the clear, so {DECRYPT}": "apply_along_axis apply_over_axes array arange asanyarray asarray "
    "ascontiguousarray asfortranarray copyto empty eye fill_diagonal frombuffer fromfile fromfunction fromiter fromstring full genfromtxt "
    "geomspace identity linspace loadtxt logspace ones place put_along_axis putmask require savez_compressed tri zeros",
    "it asks about types and memory of plain arrays: use it of `np.empty(x.shape, x.dtype)`": "can_cast common_type diag_indices_from "
    "einsum_path iscomplex isreal ix_ may_share_memory min_scalar_type ravel_multi_index real_if_close result_type shares_memory "
    "tril_indices_from triu_indices_from unravel_index",
    f"encrypted numbers are compared by `cl.functions.sign`, `cl.functions.maximum` and `cl.functions.minimum`, "
    f"or {DECRYPT}": "equal not_equal less less_equal greater greater_equal",
    "it is of dates, text or records, and ciphertexts have numbers": "busday_count busday_offset datetime_as_string is_busday isnat",
}

# The reason of functions of records, and of those for which plain numbers become complex.
OTHER = f"it is of records, or of plain numbers that become complex: {DECRYPT}"

# What stands for functions that need to be told more, or that have another name.
INSTEAD = {
    "std": "use `cl.functions.std(x, domain=(lowest, highest))`, which is told between which numbers the deviations are",
    "linalg.norm": "use `cl.functions.norm(x, domain=(lowest, highest))`, which is told between which numbers the norm is, or its square, "
    "for a real "
    "vector `x.dot(x)`",
    "array_equal": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "allclose": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "isclose": f"{DECRYPT}, because encrypted numbers cannot be compared exactly",
    "max": "take `cl.functions.maximum(x, x.rotate(step))`, for steps of half the numbers, a quarter, .., 1, of rows that fill "
    "their "
    f"capacity, {_BELOW}, or {DECRYPT}",
    "min": "take `cl.functions.minimum(x, x.rotate(step))`, for steps of half the numbers, a quarter, .., 1, of rows that fill "
    "their "
    f"capacity, {_BELOW}, or {DECRYPT}",
    "cumprod": "write `[x[: i + 1].prod() for i in range(len(x))]`",
    "zeros_like": "write `np.zeros(x.shape)`",
    "ones_like": "write `np.ones(x.shape)`",
    "full_like": "write `np.full(x.shape, number)`",
    "empty_like": "write `np.zeros(x.shape)`",
    "fabs": f"use `cl.functions.absolute` of real numbers, {_BELOW}",
    "float_power": "write `x**n` for whole `n`",
    "nancumsum": f"{_FINITE} `np.cumsum(x)`",
    "nancumprod": "write `[x[: i + 1].prod() for i in range(len(x))]`",
    "cumulative_prod": "write `[x[: i + 1].prod() for i in range(len(x))]`",
    "block": "join the rows by `cl.functions.hstack([x, y])`, and these by `cl.functions.vstack([top, bottom])`",
    "meshgrid": "write `x + np.zeros((3, 1))`, which repeats a row, and `x.reshape(-1, 1) + np.zeros(3)`",
    "polyadd": "write `x + y` for coefficients of one length, and `np.pad` shorter ones",
    "polysub": "write `x - y` for coefficients of one length, and `np.pad` shorter ones",
    "polymul": "write `np.convolve(x, weights)` where one factor is plain",
    "polyder": "write `x[:-1] * np.arange(len(x) - 1, 0, -1)`",
    "polyint": "write `np.append(x / np.arange(len(x), 0, -1), x[:1] * 0)`",
    "vander": "write `np.stack([x * 0 + 1, x, x * x], axis=1)`",
    "sinc": "use `cl.plans.Polynomial.fit(np.sinc, domain=(lowest, highest), error=1e-3)(x)`, " + _BETWEEN,
    "i0": "use `cl.plans.Polynomial.fit(np.i0, domain=(lowest, highest), error=1e-3)(x)`, " + _BETWEEN,
    **dict.fromkeys(
        ["fft2", "fftn", "hfft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn", "rfft2", "rfftn"],
        "take `np.fft.fft` or `np.fft.ifft` along the last axis, `np.swapaxes`, and again",
    ),
    "array_repr": "use `repr(x)`",
    "array_str": "use `str(x)`",
    "array2string": "use `str(x)`",
    "hypot": f"use `cl.functions.sqrt(x * x + y * y, domain=(lowest, highest))`, {_BETWEEN}",
    "heaviside": "write `(cl.functions.sign(x, margin=1e-2) + 1) * 0.5`, which is told how near to zero its argument comes",
    "select": "write `cl.functions.where(condition, x, y)`, one in another",
    "interp": "write `cl.plans.Polynomial.fit(lambda t: np.interp(t, xp, fp), domain=(lowest, highest), error=1e-1)(x)`",
    **{f"nan{name}": f"{_FINITE} `x.{name}()`" for name in ("sum", "mean", "var", "prod")},
    "nanstd": f"{_FINITE} `cl.functions.std`",
    "nan_to_num": f"{_FINITE} `x` as it is",
    **dict.fromkeys(("isnan", "isinf"), f"{_FINITE} `np.zeros(x.shape, bool)`"),
    "isfinite": f"{_FINITE} `np.ones(x.shape, bool)`",
    "clip": f"use `cl.functions.maximum(cl.functions.minimum(x, high), low)`, {_BELOW}",
    "real": "use `x.real_part()`",
    "imag": "use `x.imaginary_part()`",
    "absolute": f"use `cl.functions.absolute` of real numbers, {_BELOW}",
    "exp": f"use `cl.functions.exp`, {_BETWEEN}",
    "log": f"use `cl.functions.log`, {_BETWEEN}",
    "sqrt": f"use `cl.functions.sqrt`, {_BETWEEN}",
    "tanh": f"use `cl.functions.tanh`, {_BETWEEN}",
    "sign": "use `cl.functions.sign`, which is told by `margin=` how near to zero its argument comes",
    "reciprocal": f"use `cl.functions.inverse`, {_BETWEEN}",
    "maximum": f"use `cl.functions.maximum`, or `cl.functions.relu` for the maximum with 0, {_BELOW}",
    "minimum": f"use `cl.functions.minimum`, {_BELOW}",
    **{
        name: f"use `cl.plans.Polynomial.fit(np.{name}, domain=(lowest, highest), error=1e-3)(x)`, {_BETWEEN}"
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
    "conjugate": "use `x.conj()`",
    "mT": "use `x.swapaxes(-1, -2)`",
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

INSTEAD |= {f"{kind}{name}": INSTEAD[name] for name in ("max", "min") for kind in ("a", "nan")}
INSTEAD |= {"fmax": INSTEAD["maximum"], "fmin": INSTEAD["minimum"]}
# The last part of a name, such as `fft2` of `fft.fft2`, stands for all of it.
INSTEAD |= {
    name.rpartition(".")[2]: reason
    for reason, names in MEANINGLESS.items()
    for name in names.split()
    if name.rpartition(".")[2] not in INSTEAD
}
