"""Operations of programs in other processes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import threading
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

    # What tells runs apart: a worker keeps the program and the keys of the last one.
    digest: str
    keys: str | None
    stamp: tuple[int, int]
    runtime: Runtime
    allow_insecure: bool
    folder: str = field(compare=False)
    plain: tuple[str, ...] = field(compare=False)


# The program and the keys of the last run, in a worker; several threads may be workers.
_KNOWN: dict[Run, tuple[Program, Any]] = {}
_LOADING = threading.Lock()


def _loaded(run: Run) -> tuple[Program, Any]:
    with _LOADING:
        known = _KNOWN.get(run)
        if known is None:
            _KNOWN.clear()
            known = _KNOWN[run] = _load(run)
        return known


def _load(run: Run) -> tuple[Program, Any]:
    from ._evaluation_keys import EvaluationKeys
    from ._program import Program

    program = Program.load(os.path.join(run.folder, "program"), run.runtime, allow_insecure=run.allow_insecure)
    keys = None if run.keys is None else EvaluationKeys.load(run.keys, program.params, trusted_map=True)._native
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

    def wait(self, future: futures.Future[Value]) -> tuple[Value] | None:
        """The value; None if it takes longer than a moment."""
        try:
            found = future.result(PATIENCE)
        except futures.TimeoutError:
            if not future.done():
                return None
            # It may be the operation's own.
            found = future.result(0)
        if not isinstance(found, tuple):
            raise TypeError(f"the executor gave a {type(found).__name__} for an operation: it has to call what it is given")
        return (found,)

    def cancel(self, future: futures.Future[Value]) -> None:
        future.cancel()


@contextlib.contextmanager
def sending(executor: futures.Executor, program: Program, keys: EvaluationKeys | None, plain: list[Any]) -> Iterator[tuple[Sender, int]]:
    """What gives the operations of a run to an executor, and how many at a time; removes its files in the end."""
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            f"`executor` is an executor of `concurrent.futures`, or has its method `submit`, and a {type(executor).__name__} was given"
        )
    if keys is not None:
        # Refuses those of other parameters.
        keys.missing(program)
    with tempfile.TemporaryDirectory(prefix="clathrate-") as folder:
        place = Path(folder)
        data = program.to_bytes()
        (place / "program").write_bytes(data)
        file = None
        if keys is not None:
            file = keys._native.file
            if file is None or not os.path.exists(file):
                file = place / "keys"
                keys.save(file, expanded=True)
        names = []
        for index, array in enumerate(plain):
            names.append(f"{index}.npy")
            np.save(place / names[-1], array, allow_pickle=False)
        stamp = (0, 0) if file is None else (os.stat(file).st_mtime_ns, os.stat(file).st_size)
        shared = None if file is None else str(file)
        digest, params = hashlib.sha256(data).hexdigest(), program.params
        run = Run(digest, shared, stamp, params.runtime, params.insecure, folder, tuple(names))
        # Workers that are forked begin before threads of this run hold locks.
        executor.submit(os.getpid).result()
        yield Sender(executor, run), os.cpu_count() or 1
