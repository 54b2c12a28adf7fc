"""Times jobs on encrypted arrays as a new user writes them, compiled, with no word about storage: one JSON row for each job.

Usage: arrays.py [--quick]. Work: job. Each runs in a process of its own, on one thread. Needs the package.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import clathrate as cl

rng = np.random.default_rng(0)


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape)


EMBEDDINGS = uniform(2000, 384) / 20
LONG, TALL = uniform(10, 65_536) / 256, uniform(8192, 128) / 11
NARROW, WIDE = uniform(64, 16) / 4, uniform(10, 64) / 8
ORDER = np.random.default_rng(1).permutation(8000)
LABELS = rng.integers(0, 10, 1000)
MEANS_OF_GROUPS = (np.arange(10)[:, None] == LABELS) / np.bincount(LABELS, minlength=10)[:, None]
CENTRES = np.array([[-0.5, -0.5], [0.5, 0.5]])
LAYERS = uniform(32, 64) / 8, uniform(10, 32) / 6
FILTERS, SCORES = uniform(4, 1, 3, 3) / 3, uniform(10, 4 * 6 * 6) / 12
FEATURES, ANSWERS = uniform(100, 8) / 3, np.round(rng.uniform(size=100))


def nearest_means(x: Any) -> Any:
    """Sums of the points nearer to the second of two centres."""
    further = ((x - CENTRES[0]) ** 2 - (x - CENTRES[1]) ** 2).sum(axis=1)
    if isinstance(x, np.ndarray):
        return (further > 0).astype(float) @ x
    second = 0.5 + 0.5 * cl.functions.sign(further, margin=0.8)
    return (second.reshape(-1, 1) * x).sum(axis=0)


def correlations(x: Any) -> Any:
    covariances = np.cov(x, rowvar=False)
    deviations = x.var(axis=0) * (len(x) / (len(x) - 1))
    inverse = 1 / np.sqrt(deviations) if isinstance(x, np.ndarray) else cl.functions.inverse_sqrt(deviations, domain=(0.1, 1.02))
    return covariances * inverse.reshape(-1, 1) * inverse


def digits(x: Any) -> Any:
    return LAYERS[1] @ (LAYERS[0] @ x) ** 2


def convolved_digits(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        y = np.einsum("nchwij,ocij->nohw", windows, FILTERS)
    else:
        y = cl.functions.conv2d(x, FILTERS)
    return SCORES @ (y * y).reshape(-1)


def learning_step(w: Any) -> Any:
    if isinstance(w, np.ndarray):
        chances = 1 / (1 + np.exp(-(FEATURES @ w)))
    else:
        chances = cl.functions.sigmoid(FEATURES @ w, error=1e-2, domain=(-5, 5))
    return w - (FEATURES.T / 100) @ (chances - ANSWERS)


def learned(w: Any) -> Any:
    if not isinstance(w, np.ndarray):
        return cl.repeat(4, learning_step, w)
    for _ in range(4):
        w = learning_step(w)
    return w


# Name, function, data, the error that is asked for, and whether a quick run has it.
Job = tuple[str, Callable[..., Any], tuple[np.ndarray, ...], float, bool]
JOBS: list[Job] = [
    ("moving average of 50 000", lambda x: np.convolve(x, np.full(8, 0.125), mode="valid"), (uniform(50_000),), 1e-3, False),
    ("means of 10 groups of 1 000", lambda x: MEANS_OF_GROUPS @ x, (uniform(1000),), 1e-3, True),
    ("a step of 2-means, 500 points", nearest_means, (np.repeat(CENTRES, 250, axis=0) + uniform(500, 2) / 4,), 1e-1, False),
    ("correlations of 4 columns", correlations, (uniform(100, 4),), 1e-2, False),
    ("search in 2 000 x 384", lambda q: EMBEDDINGS @ q, (uniform(384) / 20,), 1e-3, False),
    ("normal equations of 100 x 8", lambda x, y: (x.T @ x, x.T @ y), (FEATURES, ANSWERS), 1e-3, True),
    ("covariances of 8 192 x 8", lambda x: np.cov(x, rowvar=False), (uniform(8192, 8),), 1e-3, False),
    ("inner products of 8 rows of 1 000", lambda x: x @ x.T, (uniform(8, 1000) / 6,), 1e-3, True),
    ("means and variances of 100 000 x 50", lambda x: (x.mean(axis=0), x.var(axis=0)), (uniform(100_000, 50),), 1e-3, False),
    ("two layers of digits", digits, (uniform(64),), 1e-3, True),
    ("a convolution of digits", convolved_digits, (uniform(1, 1, 8, 8),), 1e-3, True),
    ("4 steps of logistic regression", learned, (uniform(8) / 4,), 5e-2, False),
    ("10 x 65 536", lambda x: LONG @ x, (uniform(65_536),), 1e-3, False),
    ("8 192 x 128", lambda x: TALL @ x, (uniform(128),), 1e-3, False),
    ("64 x 16, then 10 x 64", lambda x: WIDE @ (NARROW @ x), (uniform(16),), 1e-3, True),
    ("8 x 8 by 8 x 8", lambda x, y: x @ y, (uniform(8, 8), uniform(8, 8)), 1e-3, True),
    ("16 products of 8 x 8", lambda x, y: x @ y, (uniform(16, 8, 8), uniform(16, 8, 8)), 1e-3, False),
    ("12 heads of 128 x 32", lambda q, k: q @ k.swapaxes(1, 2), (uniform(12, 128, 32) / 6, uniform(12, 128, 32) / 6), 1e-3, False),
    ("64 x 64 by 64 x 64", lambda x, y: x @ y, (uniform(64, 64) / 8, uniform(64, 64) / 8), 1e-3, False),
    ("sums of 8 columns with 8 192 weights", lambda x, w: x.T @ w, (uniform(8192, 8) / 90, uniform(8192) / 90), 1e-3, False),
    ("8 000 numbers in another order", lambda x: x[ORDER], (uniform(8000),), 1e-3, False),
]


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def row(job: Job) -> dict[str, Any]:
    name, function, data, error, _ = job
    before, start = peak_bytes(), time.monotonic()
    inputs = [cl.Input(array.shape, bound=float(max(1.0, np.abs(array).max()))) for array in data]
    program = cl.compile(function, *inputs, error=error, runtime=cl.Runtime(threads=1))
    compile_seconds = time.monotonic() - start
    owner = cl.SecretKey.generate(program)
    keys, encrypted = owner.keys(program), owner.encrypt(program, *data)
    arrays = encrypted if isinstance(encrypted, list | tuple) else [encrypted]
    times = []
    while len(times) < 4 and sum(times) < 120e3:
        begun = time.process_time()
        found = program.run(keys, *arrays)
        times.append((time.process_time() - begun) * 1e3)
    # The first run encodes plain operands and derives keys.
    later = times[1:] or times
    of = lambda results: results if isinstance(results, list | tuple) else [results]  # noqa: E731
    errors = [np.abs(owner.decrypt(own) - right).max() for own, right in zip(of(found), of(function(*data)), strict=True)]
    extra = {
        "compile_seconds": compile_seconds,
        "first_ms": times[0],
        "predicted_ms": program.seconds * 1e3,
        "preset": program.params.name,
        "degree": program.params.degree,
        "levels": program.params.max_level,
        "key_bytes": program.key_bytes,
        "memory_bytes": peak_bytes() - before,
        "predicted_bytes": program.key_bytes + program.peak_bytes + program.plaintext_bytes,
        "asked": error,
        "error": float(max(errors)),
    }
    stated = {"median_ms": statistics.median(later), "min_ms": min(later), "max_ms": max(later), "runs": len(later)}
    return {"who": "clathrate", "work": "job", "params": name, **stated, "extra": extra}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "--job" in sys.argv:
        wanted = sys.argv[sys.argv.index("--job") + 1]
        try:
            print(json.dumps(row(next(job for job in JOBS if job[0] == wanted))), flush=True)
        except cl.ClathrateError as refused:
            print(json.dumps({"who": "clathrate", "work": "job", "params": wanted, "absent": str(refused)}), flush=True)
        sys.exit()
    for name, *_, quick in JOBS:
        if quick or "--quick" not in sys.argv:
            done = subprocess.run([sys.executable, __file__, "--job", name], stdout=subprocess.PIPE, text=True, check=False)
            failed = {"who": "clathrate", "work": "job", "params": name, "absent": f"exit status {done.returncode}"}
            print(done.stdout.strip() or json.dumps(failed), flush=True)
