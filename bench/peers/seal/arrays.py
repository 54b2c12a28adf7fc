"""Times jobs on arrays with TenSEAL's vectors and tensors, on one thread: one JSON row for each job that they have.

The jobs are those of bench/arrays.py, by their names. Parameters are the smallest of 128 bits of security that do the job at a scale of
2^40. Run by bench.py with the set `arrays`.
"""

from __future__ import annotations

import numpy as np
import tenseal as ts
from timing import Bench

rng = np.random.default_rng(0)


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape)


def context(degree: int, levels: int) -> ts.Context:
    made = ts.context(ts.SCHEME_TYPE.CKKS, degree, coeff_mod_bit_sizes=[60, *[40] * levels, 60], n_threads=1)
    made.generate_galois_keys()
    made.global_scale = 2.0**40
    return made


def products(bench: Bench, job: str, degree: int, matrices: list[np.ndarray], between=lambda x: x) -> None:
    """A vector times one matrix after the other."""
    vector = uniform(matrices[0].shape[1]) / matrices[0].shape[1] ** 0.5
    own = context(degree, len(matrices) + (len(matrices) - 1) * (between(2.0) != 2.0))
    encrypted, lists = ts.ckks_vector(own, vector), [matrix.T.tolist() for matrix in matrices]

    def compute(x):
        for place, matrix in enumerate(lists):
            x = (between(x) if place else x).matmul(matrix)
        return x

    wanted = vector
    for place, matrix in enumerate(matrices):
        wanted = matrix @ (between(wanted) if place else wanted)
    bench.params = job
    bench.time("job", lambda: compute(encrypted), lambda result: float(np.abs(np.array(result.decrypt()) - wanted).max()), runs=3)


def small_products(bench: Bench, job: str, count: int, size: int) -> None:
    """Products of encrypted matrices, a ciphertext for each entry, and the places of each for many of them."""
    own = context(8192, 1)
    pair = uniform(count, size, size), uniform(count, size, size)
    x, y = (ts.ckks_tensor(own, array, batch=True) for array in pair)
    bench.params = job
    error = lambda result: float(np.abs(np.array(result.decrypt().tolist()) - pair[0] @ pair[1]).max())  # noqa: E731
    bench.time("job", lambda: x.mm(y), error, runs=1)


def run_arrays(_: str, quick: bool, __: float) -> bool:
    """Times all jobs; returns whether all of them succeeded."""
    bench = Bench("tenseal", "arrays", quick, {"version": ts.__version__})
    products(bench, "64 x 16, then 10 x 64", 8192, [uniform(64, 16) / 4, uniform(10, 64) / 8])
    products(bench, "two layers of digits", 16384, [uniform(32, 64) / 8, uniform(10, 32) / 6], lambda x: x * x)
    products(bench, "search in 2 000 x 384", 8192, [uniform(2000, 384) / 20])
    products(bench, "8 192 x 128", 16384, [uniform(8192, 128) / 11])
    small_products(bench, "8 x 8 by 8 x 8", 1, 8)
    small_products(bench, "16 products of 8 x 8", 16, 8)

    return not bench.failed
