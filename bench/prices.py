"""Times whole operations beside their predictions, at four parameter sets: one JSON row for each operation and set.

Usage: prices.py [--quick]. Work: price. Needs the package. It measures the machine first, as `clathrate tune` does, into a profile of its
own.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

RUNS, SECONDS = 5, 1.0
rng = np.random.default_rng(0)


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape)


SLOTS, LANES, COEFFICIENTS = {"encoding": "slots"}, {"encoding": "slots", "lanes": "most"}, {"encoding": "coefficients"}
# Name, function, shapes (None stands for the slots of the set), how the arrays are encrypted, and the sets.
Job = tuple[str, Callable[..., Any], list[tuple[int | None, ...]], dict[str, Any], tuple[str, ...]]
ALL, DEEP, BOOT = ("n13", "n14", "n15", "boot_n15"), ("n14", "n15", "boot_n15"), ("boot_n15",)
KERNEL, WIDE = uniform(4, 4, 3, 3) / 9, uniform(64, 512) / 512
W64, W10, W300 = uniform(64, 64) / 64, uniform(10, 64) / 8, uniform(300, 300) / 300


def jobs() -> list[Job]:
    """The operations; they need the package."""
    import clathrate as cl

    functions = cl.functions
    polynomial = cl.plans.Polynomial(uniform(8))
    high = cl.plans.Polynomial(uniform(32) / 4)
    return [
        ("x + y", lambda x, y: x + y, [(None,), (None,)], SLOTS, ALL),
        ("x * y", lambda x, y: x * y, [(None,), (None,)], SLOTS, ALL),
        ("x * y, 8 polynomials", lambda x, y: x * y, [(8, None), (8, None)], SLOTS, ALL),
        ("0.5 * x", lambda x: 0.5 * x, [(None,)], SLOTS, ALL),
        ("x * numbers", lambda x: x * uniform(*x.shape), [(None,)], SLOTS, ALL),
        ("x + numbers", lambda x: x + uniform(*x.shape), [(None,)], SLOTS, ALL),
        ("a sum", lambda x: x.sum(), [(None,)], SLOTS, ALL),
        ("sums of columns", lambda x: x.sum(axis=0), [(64, 30)], LANES, ALL),
        ("an inner product", lambda x, y: x.dot(y), [(None,), (None,)], SLOTS, ALL),
        ("a variance", lambda x: x.var(), [(1000,)], SLOTS, DEEP),
        ("a roll", lambda x: np.roll(x, 5), [(None,)], SLOTS, ALL),
        ("numbers in reverse", lambda x: x[::-1], [(64,)], SLOTS, ALL),
        ("a sum with a transpose of 16 x 16", lambda x: x + x.T, [(16, 16)], LANES, ALL),
        ("x^8", lambda x: x**8, [(None,)], SLOTS, DEEP),
        ("a polynomial of degree 7", polynomial, [(None,)], SLOTS, DEEP),
        ("a polynomial of degree 31", high, [(None,)], SLOTS, ("n15", "boot_n15")),
        ("a sigmoid", lambda x: functions.sigmoid(x, error=1e-3, domain=(-4, 4)), [(None,)], SLOTS, ("n15", "boot_n15")),
        ("64 x 64 by a vector", lambda x: W64 @ x, [(64,)], SLOTS, ALL),
        ("300 x 300 by a vector", lambda x: W300 @ x, [(300,)], SLOTS, ALL),
        ("10 x 64 by rows", lambda x: x @ W10.T, [(32, 64)], LANES, ALL),
        ("64 x 512 by a matrix", lambda x: WIDE @ x, [(512, 4096)], COEFFICIENTS, ("n13", "n14", "n15")),
        ("8 x 8 by 8 x 8", lambda x, y: x @ y, [(8, 8), (8, 8)], LANES, DEEP),
        ("a convolution of 4 x 16 x 16", lambda x: functions.conv2d(x, KERNEL, padding=1), [(4, 16, 16)], LANES, ALL),
        ("a bootstrap", lambda x: x.bootstrap(), [(None,)], {**SLOTS, "level": 2}, BOOT),
        ("a bootstrap of 64 numbers", lambda x: x.bootstrap(), [(64,)], {**SLOTS, "level": 2}, BOOT),
    ]


def milliseconds(work: Callable[[], Any]) -> list[float]:
    """The processor's times of some runs, after one that encodes and derives."""
    work()
    times: list[float] = []
    while len(times) < RUNS or (sum(times) < SECONDS * 1e3 and len(times) < 200):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return times


def row(job: Job, preset: str, built_in: dict[str, Any]) -> dict[str, Any]:
    import clathrate as cl

    name, function, shapes, options, _ = job
    params = cl.Params.preset(preset)
    known = [tuple(params.degree // 2 if size is None else size for size in shape) for shape in shapes]
    trace = cl.plans.trace(function, *known, params=params, bound=1.0, **options)
    untuned = cl.plans.trace(function, *known, params=built_in[preset], bound=1.0, **options)
    owner = cl.SecretKey.generate(params)
    keys = owner.evaluation_keys(trace.needs)
    arrays = [owner.encrypt(uniform(*shape), bound=1.0, **options).with_keys(keys) for shape in known]
    times = milliseconds(lambda: function(*arrays))
    median, predicted = statistics.median(times), trace.seconds * 1e3
    extra = {
        "predicted_ms": predicted,
        "built_in_ms": untuned.seconds * 1e3,
        "factor": max(median / predicted, predicted / median),
        "ratio": median / predicted,
        "key_bytes": keys.nbytes,
    }
    times_of = {"median_ms": median, "min_ms": min(times), "max_ms": max(times), "runs": len(times)}
    return {"who": "clathrate", "work": "price", "params": f"{name}; {preset}", **times_of, "extra": extra}


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    warnings.simplefilter("ignore")
    # Parameters read the profile where they are made: first those without one.
    os.environ["CLATHRATE_PROFILE"] = "none"
    import clathrate as cl

    cl.set_threads(1)
    sets = ("n13", "n14") if quick else ALL
    built_in = {preset: cl.Params.preset(preset) for preset in sets}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLATHRATE_PROFILE"] = f"{folder}/profile.json"
        subprocess.run([sys.executable, "-m", "clathrate", "tune"], check=True, timeout=120, stdout=subprocess.DEVNULL)
        for preset in sets:
            for job in jobs()[:: 3 if quick else 1]:
                if preset not in job[4]:
                    continue
                try:
                    print(json.dumps(row(job, preset, built_in)), flush=True)
                except cl.ClathrateError as refused:
                    absent = {"who": "clathrate", "work": "price", "params": f"{job[0]}; {preset}", "absent": str(refused)}
                    print(json.dumps(absent), flush=True)


if __name__ == "__main__":
    main()
