"""Operations of programs in other processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._evaluation_keys import EvaluationKeys
    from ._program import Program
    from ._runtime import Runtime

# A value without keys: the bytes of an array, and of a mean those of the sum with the number that divides it.
Value = tuple[bytes, tuple[bytes, int] | None]

# Seconds between two questions whether the run goes on.
PATIENCE = 0.1


@dataclass(frozen=True)
class Run:
    """Where the workers of a run find what all of its operations need."""

    # What tells runs apart: a worker keeps the program and the keys of the last ones.
    digest: str
    keys: str | None
    stamp: tuple[int, int]
    plain: tuple[str, ...]
    runtime: Runtime
    allow_insecure: bool
    folder: str = field(compare=False)


# The programs and keys of the last runs, in a worker.
_KNOWN: dict[Run, tuple[Program, Any]] = {}
_MOST_KNOWN = 2


def _loaded(run: Run) -> tuple[Program, Any]:
    from ._evaluation_keys import EvaluationKeys
    from ._program import Program

    known = _KNOWN.get(run)
    if known is not None:
        return known
    program = Program.load(os.path.join(run.folder, "program"), run.runtime, allow_insecure=run.allow_insecure)
    keys = None if run.keys is None else EvaluationKeys.load(run.keys, program.params, trusted_map=True)._native
    while len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN)), None)
    _KNOWN[run] = program, keys
    return program, keys


def compute(run: Run, value: int, operands: list[tuple[int, Value]]) -> Value:
    """One operation of a run, in a worker."""
    program, keys = _loaded(run)
    plain = [np.load(os.path.join(run.folder, name), allow_pickle=False) for name in run.plain]
    return program._native.compute(keys, value, operands, plain)


class Sender:
    """Gives the operations of a run to an executor."""

    def __init__(self, executor: futures.Executor, run: Run) -> None:
        self._executor = executor
        self._run = run

    def submit(self, value: int, operands: list[tuple[int, Value]]) -> futures.Future[Value]:
        return self._executor.submit(compute, self._run, value, operands)

    def wait(self, future: futures.Future[Value]) -> Value | None:
        """The value; None if it takes longer than a moment."""
        try:
            return future.result(PATIENCE)
        except futures.TimeoutError:
            # It may be the operation's own.
            return future.result(0) if future.done() else None

    def cancel(self, future: futures.Future[Value]) -> None:
        future.cancel()


@contextlib.contextmanager
def sending(executor: futures.Executor, program: Program, keys: EvaluationKeys | None, plain: list[Any]) -> Iterator[tuple[Sender, int]]:
    """What gives the operations of a run to an executor, and how many at a time; removes its files in the end."""
    with tempfile.TemporaryDirectory(prefix="clathrate-") as folder:
        place = Path(folder)
        data = program.to_bytes()
        (place / "program").write_bytes(data)
        file = None
        if keys is not None:
            file = keys._native.file
            if file is None:
                file = place / "keys"
                keys.save(file, expanded=True)
        names = []
        for index, array in enumerate(plain):
            # Named by what is in it.
            array = np.ascontiguousarray(array)
            names.append(f"{index}-{hashlib.sha256(array.tobytes()).hexdigest()[:16]}.npy")
            np.save(place / names[-1], array, allow_pickle=False)
        stamp = (0, 0) if file is None else (os.stat(file).st_mtime_ns, os.stat(file).st_size)
        shared = None if file is None else str(file)
        digest, params = hashlib.sha256(data).hexdigest(), program.params
        run = Run(digest, shared, stamp, tuple(names), params.runtime, params.insecure, folder)
        # Workers that are forked begin before threads of this run hold locks.
        executor.submit(os.getpid).result()
        yield Sender(executor, run), os.cpu_count() or 1
