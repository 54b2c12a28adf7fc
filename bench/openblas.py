"""Times NumPy's product of two square matrices of doubles, which OpenBLAS computes, on one thread: one JSON row for each size.

Usage: openblas.py [SIZE ...], by default 256 to 4096. The rows are those of clathrate-bench with the work "openblas".
"""

from __future__ import annotations

import json
import os
import sys
import time

# Read when NumPy is imported.
os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import numpy as np

SECONDS = 2.0
MAX_RUNS = 21


def row(size: int) -> dict[str, object]:
    """The times of one size."""
    rng = np.random.default_rng(size)
    left, right = rng.uniform(-1, 1, (size, size)), rng.uniform(-1, 1, (size, size))
    left @ right
    times: list[float] = []
    while len(times) < 3 or (sum(times) < SECONDS * 1e3 and len(times) < MAX_RUNS):
        start = time.perf_counter()
        left @ right
        times.append((time.perf_counter() - start) * 1e3)
    numbers = {"median_ms": float(np.median(times)), "min_ms": min(times), "max_ms": max(times), "runs": len(times)}
    extra = {"size": size, "numpy": np.__version__}
    return {"who": "numpy", "work": "openblas", "params": f"plain, {size}", **numbers, "extra": extra}


if __name__ == "__main__":
    for size in [int(text) for text in sys.argv[1:]] or [1 << log for log in range(8, 13)]:
        print(json.dumps(row(size)), flush=True)
