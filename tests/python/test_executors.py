"""Programs whose operations others compute: processes, threads, and what goes wrong there."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest

import clathrate as cl


def function(x, W, y):
    hidden = cl.functions.sigmoid(W @ x, error=1e-2)
    centred = y - y.mean()
    return {"layer": hidden, "variance": (centred * centred).sum(), "ways": [x * (way + 1.0) for way in range(4)]}


@pytest.fixture(scope="module")
def made():
    weights = cl.Input((10, 64), bound=0.1, plain=True)
    params = cl.Params.preset("n14", cl.Runtime(threads=1))
    program = cl.compile(function, cl.Input((64,), bound=1.0), weights, cl.Input((50,), bound=1.0), params=params)
    owner = cl.SecretKey.generate(program)
    rng = np.random.default_rng(0)
    W = rng.uniform(-0.1, 0.1, (10, 64))
    x, y = owner.encrypt(program, rng.uniform(-1, 1, 64), rng.uniform(-1, 1, 50))
    keys = owner.keys(program)
    expected = [own.to_bytes() for own in arrays(program.run(keys, x, W, y))]
    return program, owner, keys, (x, W, y), expected


def arrays(results):
    return [results["layer"], results["variance"], *results["ways"]]


def processes(count=2):
    return futures.ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def test_processes_and_threads_give_the_same_bits(made, tmp_path):
    program, owner, keys, inputs, expected = made
    with processes() as executor:
        found = program.run(keys, *inputs, executor=executor)
        assert [own.to_bytes() for own in arrays(found)] == expected
        # Results carry the keys, so operators go on.
        assert np.abs(owner.decrypt(found["layer"] + found["layer"]) - 2 * owner.decrypt(found["layer"])).max() < 1e-3
        # Workers read keys where a file has them, and read plain inputs anew.
        keys.save(tmp_path / "expanded.clt", expanded=True)
        mapped = cl.EvaluationKeys.load(tmp_path / "expanded.clt", program.params, trusted_map=True)
        for x, W, y in (inputs, (inputs[0], -inputs[1], inputs[2])):
            here = program.run(keys, x, W, y)
            there = program.run(mapped, x, W, y, executor=executor)
            assert [own.to_bytes() for own in arrays(there)] == [own.to_bytes() for own in arrays(here)]
    with futures.ThreadPoolExecutor(2) as executor:
        found = program.run(keys, *inputs, executor=executor)
        assert [own.to_bytes() for own in arrays(found)] == expected


def test_the_files_of_a_run_are_removed(made, tmp_path, monkeypatch):
    program, _, keys, inputs, _ = made
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = []

    class Watching(futures.ThreadPoolExecutor):
        def submit(self, *arguments, **more):
            seen.append(sorted(name for folder in tmp_path.iterdir() for name in os.listdir(folder)))
            return super().submit(*arguments, **more)

    with Watching(1) as executor:
        program.run(keys, *inputs, executor=executor)
    # The program, its keys and the plain input.
    assert len(seen) > 5
    assert all(own == ["0.npy", "keys", "program"] for own in seen)
    assert not list(tmp_path.iterdir())


def test_progress_and_stored_values_work_with_executors(made, tmp_path):
    program, _, keys, inputs, expected = made
    reports = []

    def progress(done, total):
        reports.append((done, total))
        return done < 700

    with futures.ThreadPoolExecutor(1) as executor:
        with pytest.raises(cl.errors.CancelledError):
            program.run(keys, *inputs, executor=executor, progress=progress, store=tmp_path / "run")
        assert reports[-1][1] == 1000
        found = program.run(keys, *inputs, executor=executor, store=tmp_path / "run")
    assert [own.to_bytes() for own in arrays(found)] == expected
    assert not (tmp_path / "run").exists()


class Failing(futures.Executor):
    """Fails at its third operation."""

    def __init__(self, failure):
        self.failure, self.count, self.cancelled = failure, 0, 0

    def submit(self, call, *arguments, **more):
        future = futures.Future()
        self.count += 1
        if self.count > 3:
            future.set_exception(self.failure)
        else:
            future.set_result(call(*arguments, **more))
        return future


@pytest.mark.parametrize("failure", [ValueError("lost"), TimeoutError("late"), BrokenProcessPool("ended"), KeyboardInterrupt()])
def test_failures_of_executors_are_raised(made, failure):
    program, _, keys, inputs, _ = made
    with pytest.raises(type(failure), match=str(failure) or None):
        program.run(keys, *inputs, executor=Failing(failure))


def test_errors_of_workers_are_those_of_the_library(made):
    program, owner, keys, inputs, _ = made
    fewer = owner.evaluation_keys(cl.keys.Needs(relinearise=True))
    with processes(1) as executor:
        with pytest.raises(cl.errors.MissingKeyError, match="rotation"):
            program.run(fewer, *inputs, executor=executor)
        # The executor goes on.
        assert len(arrays(program.run(keys, *inputs, executor=executor))) == 6


def test_a_worker_that_is_killed_ends_the_run(made):
    program, _, keys, inputs, _ = made

    class Killing(futures.ProcessPoolExecutor):
        def submit(self, *arguments, **more):
            future = super().submit(*arguments, **more)
            if len(self._processes) == 1 and arguments[0] is not os.getpid:
                os.kill(next(iter(self._processes)), signal.SIGKILL)
            return future

    with Killing(1, mp_context=multiprocessing.get_context("spawn")) as executor, pytest.raises(BrokenProcessPool):
        program.run(keys, *inputs, executor=executor)


FORKED = """
import sys
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
import multiprocessing
import numpy as np
import clathrate as cl

if __name__ == "__main__":
    program = cl.compile(lambda x: [cl.functions.sigmoid(x * (1.0 + way), error=1e-2) for way in range(6)], cl.Input((100,), bound=0.2))
    owner = cl.SecretKey.generate(program)
    x = np.linspace(-0.2, 0.2, 100)
    keys, data = owner.keys(program), owner.encrypt(program, x)
    here = program.run(keys, data)
    with futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(sys.argv[1])) as executor:
        there = program.run(keys, data, executor=executor)
    print([one.to_bytes() == other.to_bytes() for one, other in zip(here, there)])
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_may_start_in_any_way(method, tmp_path):
    (tmp_path / "script.py").write_text(FORKED)
    done = subprocess.run([sys.executable, "script.py", method], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["[True,", *["True,"] * 4, "True]"], done.stdout


def test_single_numbers_and_programs_without_keys():
    program = cl.compile(lambda x, c: [x * c, x + c], cl.Input((10,), bound=1.0), cl.Input((), bound=2.0, plain=True))
    owner = cl.SecretKey.generate(program)
    x = owner.encrypt(program, np.linspace(-1, 1, 10))
    with futures.ThreadPoolExecutor(2) as executor:
        product, total = program.run(None, x, 1.5, executor=executor)
    assert np.abs(owner.decrypt(product) - 1.5 * np.linspace(-1, 1, 10)).max() < 1e-3
    assert np.abs(owner.decrypt(total) - 1.5 - np.linspace(-1, 1, 10)).max() < 1e-3


class Strange(futures.Executor):
    """Calls nothing."""

    def submit(self, call, *arguments, **more):
        future = futures.Future()
        future.set_result(None)
        return future


def test_wrong_arguments_are_refused_before_anything_is_written(made, tmp_path, monkeypatch):
    program, owner, keys, (x, W, y), _ = made
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with futures.ThreadPoolExecutor(1) as executor:
        for given, error, text in [
            ((keys, x, W), cl.errors.DataError, "takes 3 arrays"),
            ((keys, y, W, x), cl.errors.ShapeError, "another shape"),
            ((keys, x, 2 * W, y), cl.errors.DataError, "with a larger bound"),
            ((owner, x, W, y), TypeError, "secret key stays with its owner"),
            (("keys", x, W, y), TypeError, "EvaluationKeys"),
        ]:
            with pytest.raises(error, match=text):
                program.run(*given, executor=executor)
        other = cl.SecretKey.generate(cl.Params.preset("n13"))
        with pytest.raises(cl.errors.WrongParamsError, match="make keys for the program"):
            program.run(other.evaluation_keys(cl.keys.Needs(relinearise=True)), x, W, y, executor=executor)
    with pytest.raises(TypeError, match=r"`executor` is .* and a int was given"):
        program.run(keys, x, W, y, executor=3)


def test_an_executor_that_calls_nothing_ends_the_run(made):
    program, _, keys, inputs, _ = made
    with pytest.raises(TypeError, match="NoneType for an operation"):
        program.run(keys, *inputs, executor=Strange())


def test_only_expanded_files_are_mapped(made, tmp_path):
    program, _, keys, inputs, expected = made
    for expanded in (False, True):
        keys.save(tmp_path / "keys.clt", expanded=expanded)
        loaded = cl.EvaluationKeys.load(tmp_path / "keys.clt", program.params, trusted_map=True)
        assert (loaded._native.file is not None) == expanded
        with futures.ThreadPoolExecutor(2) as executor:
            found = program.run(loaded, *inputs, executor=executor)
            assert [own.to_bytes() for own in arrays(found)] == expected
    # Where the file is gone, the keys are still there.
    (tmp_path / "keys.clt").unlink()
    with futures.ThreadPoolExecutor(2) as executor:
        assert len(arrays(program.run(loaded, *inputs, executor=executor))) == 6
