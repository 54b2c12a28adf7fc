"""Runs of programs: side by side on threads, stopped by Ctrl-C, killed and continued, and shown."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl

# Many functions of one array, each of which takes milliseconds.
WAYS = 160


def wide(x):
    return [cl.functions.sigmoid(x * (0.5 + 0.5 * way / WAYS), error=1e-2) for way in range(WAYS)]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with a wide program, its keys and an input, and what it gives."""
    folder = tmp_path_factory.mktemp("wide")
    program = cl.compile(wide, cl.Input((4096,), bound=1.0), params=cl.Params.preset("n14"))
    owner = cl.SecretKey.generate(program)
    x = np.linspace(-1, 1, 4096)
    program.save(folder / "wide.program")
    owner.keys(program).save(folder / "keys.clt")
    owner.encrypt(program, x).save(folder / "x.clt")
    return folder, owner, [1 / (1 + np.exp(-x * (0.5 + 0.5 * way / WAYS))) for way in range(WAYS)]


RUN = """
import sys
import clathrate as cl
folder = sys.argv[1]
program = cl.load(folder + "/wide.program")
keys, x = cl.load(folder + "/keys.clt", program.params), cl.load(folder + "/x.clt", program.params)
print("begins", flush=True)
for _ in range(100):
    program.run(keys, x, store=folder + "/run")
"""


def test_a_run_that_is_killed_goes_on(stored, tmp_path):
    folder, owner, expected = stored
    run = folder / "run"
    process = subprocess.Popen([sys.executable, "-c", RUN, str(folder)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begins\n"
    end = time.monotonic() + 120
    while not (run.exists() and len(list(run.glob("*.clt"))) > 1):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    process.stdout.close()
    left = list(run.iterdir())
    assert left
    program = cl.load(folder / "wide.program")
    keys, x = cl.load(folder / "keys.clt", program.params), cl.load(folder / "x.clt", program.params)
    steps: list[int] = []
    results = program.run(keys, x, store=run, progress=lambda done, total: steps.append(done))
    assert steps[0] > 0
    assert steps[-1] == 1000
    assert not run.exists()
    for found, right in zip(owner.decrypt(results), expected, strict=True):
        assert np.abs(found - right).max() < 1.1e-2
    # The folder is a file.
    (tmp_path / "file").write_text("")
    with pytest.raises(cl.errors.FileAccessError):
        program.run(keys, x, store=tmp_path / "file")


def test_stored_values_that_cannot_be_the_programs_are_refused(tmp_path):
    program = cl.compile(lambda x: ((x * x + 0.5).mean() - x) * x, cl.Input((100,), bound=1.0), error=1e-3, passes=())
    owner = cl.SecretKey.generate(program)
    keys, data = owner.keys(program), np.linspace(-1, 1, 100)
    x = owner.encrypt(program, data)
    expected = ((data * data + 0.5).mean() - data) * data
    prefix = program._native.stored_prefix([x._native], [])
    folder = tmp_path / "run"
    levels = {task.value: program._native.values[task.value][3] for task in program.tasks}

    def forged(name, array):
        folder.mkdir(exist_ok=True)
        path = folder / f"{prefix}{name}.clt"
        path.write_bytes(array) if isinstance(array, bytes) else array.save(path)
        return path

    square = owner.encrypt(data * 0.5, level=levels[1])
    for name, array in (
        ("1", b"no file of this library"),
        ("1", square),  # without a bound
        ("1", owner.encrypt(data * 3, level=levels[1], bound=3.0)),  # with a larger one
        ("1", owner.encrypt(data[:50], level=levels[1], bound=1.0)),  # of another shape
        ("1", owner.encrypt(data, level=levels[1], bound=1.0, encoding="coefficients")),
        ("1", owner.encrypt(data * 1j, level=levels[1], bound=1.0)),
        ("1-sum-of-0", owner.encrypt(data, level=levels[1], bound=1.0)),
    ):
        path = forged(name, array)
        with pytest.raises(cl.errors.FileFormatError, match=path.name):
            program.run(keys, x, store=folder)
        path.unlink()
    # Inputs come from the caller, and numbers have one spelling.
    for name in ("0", "+1", "01", "99"):
        path = forged(name, owner.encrypt(data * 0.1, level=x.level, bound=1.0))
        result = owner.decrypt(program.run(keys, x, store=folder))
        assert np.abs(result - expected).max() < 1e-3
        path.unlink()


def test_threads_give_the_same_bits(stored):
    folder, _, _ = stored
    results = []
    for threads in (1, 2, 3):
        program = cl.Program.load(folder / "wide.program", runtime=cl.Runtime(threads=threads))
        keys, x = cl.load(folder / "keys.clt", program.params), cl.load(folder / "x.clt", program.params)
        results.append([found.to_bytes() for found in program.run(keys, x)])
    assert results[0] == results[1] == results[2]


INTERRUPTED = """
import os, signal, sys, threading, time
import clathrate as cl
# A background job may begin with Ctrl-C ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder = sys.argv[1]
program = cl.Program.load(folder + "/wide.program", runtime=cl.Runtime(threads=3))
keys, x = cl.load(folder + "/keys.clt", program.params), cl.load(folder + "/x.clt", program.params)
program.run(keys, x)
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.2, interrupt).start()
try:
    for _ in range(100):
        program.run(keys, x)
except KeyboardInterrupt:
    print("stopped", time.monotonic() - sent[0] < 5)
"""


def test_ctrl_c_stops_operations_side_by_side(stored):
    folder, _, _ = stored
    found = subprocess.run([sys.executable, "-c", INTERRUPTED, str(folder)], capture_output=True, text=True, timeout=120, check=False)
    assert found.stdout == "stopped True\n", found.stderr


def test_tasks_are_listed_with_their_times(stored):
    program = cl.load(stored[0] / "wide.program")
    assert len(program.tasks) == 2 * WAYS
    assert sum(task.seconds for task in program.tasks) == pytest.approx(program.seconds, rel=1e-2)
    assert {task.name for task in program.tasks} == {"mul", "smooth"}
    taken = [value for task in program.tasks for value in task.inputs]
    assert taken.count(0) == WAYS
    assert all(task.bytes > 0 for task in program.tasks)


def test_bars_show_the_operation_at_work(monkeypatch):
    tqdm = pytest.importorskip("tqdm.auto")
    shown = []

    class Bar(tqdm.tqdm):  # type: ignore[misc]
        def set_description(self, desc=None, refresh=True):
            shown.append(desc)

        def close(self):
            shown.append(self.desc)
            super().close()

    monkeypatch.setattr(tqdm, "tqdm", Bar)

    def function(x):
        with x.stage("squares"):
            y = x * x
        return y.sum()

    program = cl.compile(function, cl.Input((100,), bound=1.0))
    owner = cl.SecretKey.generate(program)
    program.run(owner.keys(program), owner.encrypt(program, np.ones(100)), progress=True)
    assert any("squares" in (text or "") for text in shown), shown
    assert any("sum" in (text or "") for text in shown), shown


def test_a_command_stores_its_run(stored, tmp_path: Path):
    folder, _, _ = stored
    outputs = [part for way in range(WAYS) for part in ("--output", str(tmp_path / f"y{way}.clt"))]
    command = [sys.executable, "-m", "clathrate", "run", str(folder / "wide.program"), "--keys", str(folder / "keys.clt")]
    command += ["--input", str(folder / "x.clt"), "--store", str(tmp_path / "run"), *outputs]
    found = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "y7.clt").exists()
    assert not (tmp_path / "run").exists()
