"""Timing and row printing shared by the peers written in Python (OpenFHE, SEAL).

Sits in bench/peers; knows no library that it measures. Rows follow bench/README.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

HOISTED = 8
MAX_ERROR = 1e-3  # a 40-bit scale leaves at least 20 bits; anything above this is a wrong result
SWITCHING_WORKS = ("multiply_relinearise_rescale", "rotate", "hoisted_rotations_8")


class Bench:
    """Times operations of one parameter set and prints one JSON row per line."""

    def __init__(self, who: str, params: str, quick: bool, extra: dict[str, object]) -> None:
        self.who = who
        self.params = params
        self.budget_ms, self.most = (100.0, 5) if quick else (800.0, 50)
        self.extra = extra
        self.failed = False

    def emit(self, work: str, fields: dict[str, object], more: dict[str, object]) -> None:
        """Prints one row."""
        row = {"work": work, "params": self.params, "who": self.who} | fields | {"extra": self.extra | more}
        print(json.dumps(row), flush=True)

    def absent(self, works: Iterable[str], reason: str) -> None:
        """Prints rows that say why there is no number."""
        for work in works:
            self.emit(work, {"absent": reason}, {})

    def time(
        self,
        work: str,
        operation: Callable[[], object],
        error: Callable[[object], float],
        note: str = "",
        parts: int = 1,
        runs: int | None = None,
        after: Callable[[], dict[str, object]] = dict,
    ) -> None:
        """Runs `operation` once, checks its result by `error`, then measures it `runs` times or until the budget is spent.

        Times are those of one of its `parts` equal parts; `after` returns fields that are known after the last run.
        """
        try:
            worst = error(operation())
            if not worst < MAX_ERROR:
                raise ArithmeticError(f"wrong result: error {worst:.3g}")
            samples: list[float] = []
            spent_ms = 0.0
            while (
                len(samples) < runs
                if runs
                else not samples
                or (len(samples) < 3 and spent_ms < 8 * self.budget_ms)
                or (len(samples) < self.most and spent_ms < self.budget_ms)
            ):
                start = time.perf_counter()
                result = operation()
                elapsed_ms = (time.perf_counter() - start) * 1e3
                del result  # outside the measured time
                samples.append(elapsed_ms / parts)
                spent_ms += elapsed_ms
        except (ArithmeticError, RuntimeError, MemoryError, TypeError, ValueError) as problem:
            self.failed = True
            self.absent([work], str(problem))
            return
        fields: dict[str, object] = {
            "median_ms": statistics.median(samples),
            "min_ms": min(samples),
            "max_ms": max(samples),
            "runs": len(samples),
        }
        self.emit(work, fields, {"max_error": worst} | after() | ({"note": note} if note else {}))


def sample(count: int, shift: float) -> np.ndarray:
    """Complex test values of modulus at most one. Shapes: (count,)."""
    index = np.arange(count)
    return (0.5 + 0.5 * np.cos(index * 0.013)) * np.exp(1j * (index * 0.7 + shift))


def uniform(count: int) -> np.ndarray:
    """Complex numbers uniform in the unit square [-1, 1) x [-1, 1), always the same. Shapes: (count,)."""
    source = np.random.default_rng(40)
    return source.uniform(-1, 1, count) + 1j * source.uniform(-1, 1, count)


def part_errors(want: np.ndarray, have: np.ndarray) -> tuple[float, float]:
    """The mean and the largest absolute error of a real or imaginary part. Shapes: (count,) twice."""
    errors = np.abs(np.concatenate([(have - want).real, (have - want).imag]))
    return float(errors.mean()), float(errors.max())


def peak_bytes() -> int | None:
    """The most memory that this process has had, where the system tells it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), None)


def worst_error(want: np.ndarray, have: object) -> float:
    """Largest distance between two vectors, the second possibly padded."""
    return float(np.max(np.abs(want - np.asarray(have)[: len(want)])))


def arguments(description: str | None, names: Iterable[str]) -> argparse.Namespace:
    """Command line: --params NAME [--quick] [--memory-gib X]."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--params", choices=list(names), default="n14")
    parser.add_argument("--quick", action="store_true", help="few runs")
    parser.add_argument("--memory-gib", type=float, default=8.0, help="memory that keys may take")
    return parser.parse_args()
