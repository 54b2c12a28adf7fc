"""Times compiled programs on one thread, beside the same function by operators with a preset: one JSON row for each job.

Usage: programs.py [--quick]. Works: program (the run of a compiled program), compile (a function of many operations). Needs the package.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import networks
import numpy as np

import clathrate as cl

RUNS = 7
rng = np.random.default_rng(0)


def uniform(*shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape)


def squarings(x: Any) -> Any:
    for _ in range(6):
        x = x * x
    return x


W8, W64, W300, HIDDEN = uniform(8) / 8, uniform(10, 64) / 64, uniform(64, 300) / 300, uniform(10, 64) / 64

MEANS, DEVIATIONS, X, Y = uniform(8) / 8, 1 + uniform(8) / 4, uniform(100, 8) / 3, np.round(rng.uniform(size=100))


def blurred(x: Any) -> Any:
    return (4 * x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) / 8


def step(w: Any) -> Any:
    return w - (X.T / 100) @ (cl.functions.sigmoid(X @ w, error=1e-2, domain=(-5, 5)) - Y)


# Name, function, data, the preset of the same by hand, and how its arrays are encrypted; the largest error.
Job = tuple[str, Callable[..., Any], tuple[np.ndarray, ...], str, dict[str, Any], float]
SLOTS, LANES = {"encoding": "slots"}, {"encoding": "slots", "lanes": "most"}
JOBS: list[Job] = [
    ("a sum of two vectors", lambda x, y: x + y, (uniform(1000), uniform(1000)), "n13", {}, 1e-4),
    ("an inner product", lambda x, y: x.dot(y), (uniform(4000), uniform(4000)), "n13", {}, 1e-4),
    ("a mean of squares", lambda x: (x * x).mean(), (uniform(4000),), "n13", {}, 1e-4),
    ("a variance", lambda x: x.var(), (uniform(1000),), "n14", {}, 1e-4),
    ("variances of columns", lambda x: x.var(axis=0), (uniform(64, 30),), "n14", LANES, 1e-4),
    ("a covariance of 4 columns", lambda x: np.cov(x, rowvar=False), (uniform(64, 4),), "n14", LANES, 1e-3),
    ("8 x 8 by 8 x 8", lambda x, y: x @ y, (uniform(8, 8), uniform(8, 8)), "n13", LANES, 1e-3),
    ("16 products of 8 x 8", lambda x, y: x @ y, (uniform(16, 8, 8), uniform(16, 8, 8)), "n13", SLOTS, 1e-3),
    ("plain 10 x 64 by a vector", lambda x: W64 @ x, (uniform(64),), "n13", {}, 1e-4),
    ("plain 64 x 300 by a vector", lambda x: W300 @ x, (uniform(300),), "n13", {}, 1e-4),
    ("plain 10 x 64 by a matrix", lambda x: W64 @ x, (uniform(64, 500),), "n13", {}, 1e-4),
    ("a moving average of 8", lambda x: np.convolve(x, np.full(8, 0.125), mode="valid"), (uniform(2000),), "n13", {}, 1e-4),
    ("x^16", lambda x: x**16, (uniform(4000),), "n14", {}, 1e-4),
    ("a polynomial of degree 7", cl.plans.Polynomial(uniform(8)), (uniform(4000),), "n14", {}, 1e-3),
    ("a sigmoid", lambda x: cl.functions.sigmoid(x, error=1e-3, domain=(-4, 4)), (uniform(4000),), "n15", {}, 3e-3),
    ("a softmax of 10", lambda x: cl.functions.softmax(x, error=1e-3, bound=1.0), (uniform(10),), "n15", {}, 1e-2),
    ("logistic regression", lambda x: cl.functions.sigmoid(x @ W8, error=1e-3, domain=(-1, 1)), (uniform(500, 8),), "n14", LANES, 3e-3),
    ("two layers with silu", lambda x: HIDDEN @ cl.functions.silu(W300 @ x, error=1e-3, domain=(-1, 1)), (uniform(300),), "n15", {}, 3e-3),
    ("a relu", lambda x: cl.functions.relu(x, error=2e-2, bound=1.0), (uniform(4000),), "n15", {}, 4e-2),
    ("x^64 by squarings", squarings, (uniform(4000),), "n14", {}, 1e-3),
    ("a sigmoid of 60 000", lambda x: cl.functions.sigmoid(x, error=1e-3, domain=(-4, 4)), (uniform(60000),), "n15", {}, 3e-3),
    ("scores of scaled columns", lambda x: ((x - MEANS) / DEVIATIONS) @ W8 * 0.5, (uniform(500, 8),), "n14", LANES, 1e-4),
    ("a blur of 30 x 30", blurred, (uniform(30, 30),), "n13", LANES, 1e-4),
    ("two training steps", lambda w: cl.repeat(2, step, w), (uniform(8) / 4,), "n16", {}, 3e-2),
    ("8 products with matrices", lambda x: sum(W64 @ (x * way) for way in range(1, 9)), (uniform(64),), "n13", {}, 1e-3),
]


# A run in a process of its own, which prints the most memory that it took beside the library.
RUN = """
import sys
import clathrate as cl

cl.set_threads(1)
folder, count = sys.argv[1], int(sys.argv[2])


def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(field + ":"))


program = cl.load(f"{folder}/program")
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = memory("VmRSS")
keys = cl.load(f"{folder}/keys", program.params)
inputs = [cl.load(f"{folder}/input{place}", program.params) for place in range(count)]
results = program.run(keys, *inputs)
print(memory("VmHWM") - before)
"""


def measured_bytes(program: cl.Program, keys: cl.EvaluationKeys, inputs: list[cl.Ciphertext]) -> int:
    """The memory of keys and arrays in one run, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        program.save(f"{folder}/program")
        keys.save(f"{folder}/keys")
        for place, array in enumerate(inputs):
            array.save(f"{folder}/input{place}")
        command = [sys.executable, "-c", RUN, folder, str(len(inputs))]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def milliseconds(work: Callable[[], Any]) -> list[float]:
    """The processor's times of some runs, after one that encodes and derives."""
    work()
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return times


def faster_by_two(program: cl.Program, keys: cl.EvaluationKeys, inputs: list[cl.Ciphertext]) -> float:
    """How many times as long a run takes on one thread as on two: medians of runs in turn, by the clock."""
    with tempfile.TemporaryDirectory() as folder:
        program.save(f"{folder}/program")
        wide = cl.Program.load(f"{folder}/program", runtime=cl.Runtime(threads=2))
    moved = [cl.from_bytes(own.to_bytes(), wide.params) for own in (keys, *inputs)]
    runs = [lambda: program.run(keys, *inputs), lambda: wide.run(*moved)]
    times: list[list[float]] = [[], []]
    for _ in range(RUNS + 1):
        for own, run in zip(times, runs, strict=True):
            start = time.perf_counter()
            run()
            own.append(time.perf_counter() - start)
    one, two = (statistics.median(own[1:]) for own in times)
    return one / two


def row(job: Job) -> dict[str, Any]:
    name, function, data, preset, options, error = job
    start = time.monotonic()
    program = cl.compile(function, *[cl.Input(array.shape, bound=1.0) for array in data], error=error)
    compile_seconds = time.monotonic() - start
    owner = cl.SecretKey.generate(program)
    keys, encrypted = owner.keys(program), owner.encrypt(program, *data)
    inputs = encrypted if isinstance(encrypted, list) else [encrypted]
    times = milliseconds(lambda: program.run(keys, *inputs))
    found = np.asarray(owner.decrypt(program.run(keys, *inputs)))
    right = np.asarray(function(*data))

    params = cl.Params.preset(preset)
    by_hand = cl.SecretKey.generate(params)
    own_keys = by_hand.keys_for(function, *[array.shape for array in data], bound=1.0, **options)
    arrays = [by_hand.encrypt(array, bound=1.0, **options).with_keys(own_keys) for array in data]
    hand = statistics.median(milliseconds(lambda: function(*arrays)))
    (result,) = program.results
    extra = {
        "job": name,
        "compile_seconds": compile_seconds,
        "predicted_ms": program.seconds * 1e3,
        "hand_ms": hand,
        "preset": preset,
        "degree": program.params.degree,
        "levels": program.params.max_level,
        "encoding": program.inputs[0].encoding,
        "key_bytes": program.key_bytes,
        "hand_key_bytes": own_keys.nbytes,
        "memory_bytes": measured_bytes(program, keys, inputs),
        "predicted_bytes": program.key_bytes + program.peak_bytes + program.plaintext_bytes,
        "error": float(np.abs(found - right).max()),
        "error_bound": result.error_bound,
        "asked": error,
        "faster_by_two": faster_by_two(program, keys, inputs),
    }
    return {
        "who": "clathrate",
        "work": "program",
        "params": name,
        "median_ms": statistics.median(times),
        "min_ms": min(times),
        "max_ms": max(times),
        "runs": len(times),
        "extra": extra,
    }


def chain(length: int) -> Callable[[Any], Any]:
    """A function of so many operations, entry by entry."""

    def function(x: Any) -> Any:
        y = x
        for place in range(length // 5):
            y = (0.5 * y + x) * (x - 0.25) - (place % 7) / 8
            y = y.with_bound(1.0)
        return y

    return function


# What is compiled and not run: the name, the function, and its input.
COMPILED: list[tuple[str, Callable[[Any], Any], cl.Input]] = [
    ("1 000 operations, entry by entry", chain(1000), cl.Input((1000,), bound=1.0)),
    ("5 000 operations, entry by entry", chain(5000), cl.Input((1000,), bound=1.0)),
    ("ResNet-20, images 3 x 32 x 32", networks.resnet(20), cl.Input((3, 32, 32), bound=1.0)),
    ("transformer block, 16 tokens x 32, 2 heads", networks.transformer(16, 32, 2, 64), cl.Input((16, 32), bound=4.0)),
    ("transformer block, 64 tokens x 64, 4 heads", networks.transformer(64, 64, 4, 256), cl.Input((64, 64), bound=4.0)),
]


def compiled(name: str, function: Callable[[Any], Any], given: cl.Input) -> dict[str, Any]:
    start = time.monotonic()
    program = cl.compile(function, given)
    seconds = time.monotonic() - start
    extra = {
        "operations": len(program.tasks),
        "seconds": program.seconds,
        "bootstraps": program.bootstraps,
        "memory_bytes": program.key_bytes + program.peak_bytes + program.plaintext_bytes,
        "preset": program.params.name,
        "degree": program.params.degree,
        "key_bytes": program.key_bytes,
    }
    times = {"median_ms": seconds * 1e3, "min_ms": seconds * 1e3, "max_ms": seconds * 1e3, "runs": 1}
    return {"who": "clathrate", "work": "compile", "params": name, **times, "extra": extra}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    cl.set_threads(1)
    jobs = JOBS[::4] if "--quick" in sys.argv[1:] else JOBS
    for job in jobs:
        try:
            print(json.dumps(row(job)), flush=True)
        except cl.ClathrateError as refused:
            print(json.dumps({"who": "clathrate", "work": "program", "params": job[0], "absent": str(refused)}), flush=True)
    for job in COMPILED[:1] if "--quick" in sys.argv[1:] else COMPILED:
        print(json.dumps(compiled(*job)), flush=True)
