"""Long calls: the interpreter lock, progress, cancellation, signals, threads."""

from __future__ import annotations

import builtins
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl


def spin_during(call) -> tuple[int, float, int]:
    """How often a Python thread gets to run while a call is repeated for 0.15 s, the seconds, and how often it was called."""
    stop, laps = threading.Event(), [0]

    def spin() -> None:
        while not stop.is_set():
            laps[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=spin)
    # A long switch interval: a call that kept the lock would let the thread in at its ends only.
    before = sys.getswitchinterval()
    sys.setswitchinterval(10.0)
    try:
        thread.start()
        time.sleep(0.01)
        start, first, calls, seconds = time.perf_counter(), laps[0], 0, 0.0
        while seconds < 0.15:
            call()
            calls += 1
            seconds = time.perf_counter() - start
        made = laps[0] - first
    finally:
        stop.set()
        thread.join()
        sys.setswitchinterval(before)
    return made, seconds, calls


def long_calls(small, rng):
    data, weights = rng.normal(size=(400, 1024)), rng.normal(size=(200, 400))
    ct = small.encrypt(data)
    slots = small.encrypt(rng.normal(size=(300, 512)), encoding="slots")
    many = cl.keys.Needs(relinearise=True, rotations=range(1, 120))
    blob = ct.to_bytes()
    return {
        "encrypt": lambda: small.key.encrypt(data),
        "decrypt": lambda: small.key.decrypt(ct),
        "matmul": lambda: weights @ ct,
        "evaluation_keys": lambda: small.key.evaluation_keys(many),
        "multiply": lambda: slots * slots,
        "rotate": lambda: slots.rotate_many([1, -2, 4]),
        "add_plain": lambda: [slots + 0.5 for _ in range(5)],
        "to_bytes": lambda: [ct.to_bytes() for _ in range(10)],
        "from_bytes": lambda: [cl.from_bytes(blob, small.params) for _ in range(5)],
    }


@pytest.mark.parametrize(
    "name", ["encrypt", "decrypt", "matmul", "evaluation_keys", "multiply", "rotate", "add_plain", "to_bytes", "from_bytes"]
)
def test_long_calls_release_the_lock(small, rng, name):
    made, seconds, calls = spin_during(long_calls(small, rng)[name])
    # The thread sleeps half a millisecond per lap; a tenth of that rate is enough to show that it ran all the while. Calls that
    # kept the lock would let it in twice each, at their ends.
    assert made > seconds / 0.005
    assert made > 2 * calls


def test_threads_share_objects(small, rng):
    data = rng.normal(size=64)
    ct = small.encrypt(data)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: (ct * ct).rescale() + i, range(32)))
    for i, result in enumerate(results):
        assert small.error(result, data * data + i) < 1e-6


def test_progress_reports_every_step_to_the_end(small, rng):
    def record(call) -> list[tuple[int, int]]:
        seen: list[tuple[int, int]] = []
        call(lambda done, total: seen.append((done, total)))
        return seen

    data = rng.normal(size=(10, 8))
    ct = small.key.encrypt(data)
    for call, total in (
        (lambda tick: small.key.encrypt(data, progress=tick), 10),
        (lambda tick: small.key.decrypt(ct, progress=tick), 10),
        (lambda tick: small.key.decrypt_to_share(ct, 20, progress=tick, honest_evaluator=True), 10),
        (lambda tick: small.key.public_key().encrypt(data, progress=tick), 10),
        (lambda tick: small.key.evaluation_keys(cl.keys.Needs(rotations=[1, 2, 3]), progress=tick), 3),
        (lambda tick: ct.matmul(np.ones((2, 10)), progress=tick), None),
    ):
        seen = record(call)
        total = total or seen[-1][1]
        assert seen == [(done, total) for done in range(total + 1)]


def test_progress_that_returns_false_cancels(small, rng):
    data = rng.normal(size=(10, 8))
    ct = small.key.encrypt(data)
    for call in (
        lambda tick: small.key.encrypt(data, progress=tick),
        lambda tick: small.key.decrypt(ct, progress=tick),
        lambda tick: small.key.evaluation_keys(cl.keys.Needs(rotations=range(1, 9)), progress=tick),
        lambda tick: ct.matmul(np.ones((2, 10)), progress=tick),
    ):
        seen: list[int] = []

        def stop_at_two(done: int, total: int, seen: list[int] = seen) -> bool:
            seen.append(done)
            return done < 2

        with pytest.raises(cl.errors.CancelledError, match="stopped"):
            call(stop_at_two)
        assert seen == [0, 1, 2]
    for answer in (None, True, 0, "", []):
        small.key.encrypt(data, progress=lambda done, total, answer=answer: answer)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("at", [0, 3, 10])
def test_progress_that_raises_cancels_with_its_own_exception(small, rng, error, at):
    def fail(done: int, total: int) -> None:
        if done == at:
            raise error("from the callback")

    with pytest.raises(error, match="from the callback"):
        small.key.encrypt(rng.normal(size=(10, 8)), progress=fail)


def test_progress_of_another_type_is_a_type_error(small):
    for wrong in (3, "yes", object()):
        with pytest.raises(TypeError, match="progress"):
            small.key.encrypt([1.0], progress=wrong)
    for nothing in (False, None):
        small.key.encrypt([1.0], progress=nothing)


def test_progress_true_draws_a_bar(small, capsys):
    pytest.importorskip("tqdm")
    small.key.encrypt(np.ones((5, 3)), progress=True)
    assert "encrypt: 100%" in capsys.readouterr().err


def test_progress_true_without_tqdm_warns_and_goes_on(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.warns(RuntimeWarning, match=r"clathrate\[progress\]") as caught:
        assert small.error(small.key.encrypt([1.0], bound=1.0, progress=True), [1.0]) < 1e-6
    assert [warning.filename for warning in caught if warning.category is RuntimeWarning] == [__file__]


def test_progress_may_call_back_into_the_library(small):
    inner: list[cl.Ciphertext] = []
    small.key.encrypt(np.ones((3, 2)), progress=lambda done, total: inner.append(small.key.encrypt([float(done)])))
    assert [round(float(small.key.decrypt(ct)[0])) for ct in inner] == [0, 1, 2, 3]


def test_interrupt_stops_a_long_call_without_a_callback(small, rng, interrupt_soon):
    data = rng.normal(size=(6000, 1024))
    interrupt_soon(0.05)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        small.key.encrypt(data)
    assert time.perf_counter() - start < 5


def test_interrupts_are_caught_where_the_shell_ignores_them():
    """The two tests above and in test_switching, under a parent that ignores interrupts, as a background job's shell does."""
    names = [
        "test_running.py::test_interrupt_stops_a_long_call_without_a_callback",
        "test_switching.py::test_tune_stops_when_told_and_stores_nothing",
    ]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names]
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, timeout=120, check=False)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.returncode == 0, done.stdout


def test_results_do_not_depend_on_threads(rng):
    data, weights = rng.normal(size=(8, 300)), rng.normal(size=(3, 8))
    one = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(one)
    ct = key.encrypt(data)
    two = cl.Params.preset("insecure_small", cl.Runtime(threads=2))
    assert two.runtime.threads == 2
    product = weights @ cl.from_bytes(ct.to_bytes(), two)
    assert (weights @ ct).to_bytes() == product.to_bytes()


def test_errors_are_all_clathrate_errors():
    classes = [getattr(cl.errors, name) for name in cl.errors.__all__]
    warned = [one for one in classes if issubclass(one, Warning)]
    assert all(issubclass(one, UserWarning) for one in warned)
    assert all(issubclass(one, cl.ClathrateError) for one in classes if one not in warned)
    assert issubclass(cl.ClathrateError, Exception)
    for one, usual in (
        (cl.errors.DataError, "ValueError"),
        (cl.errors.MissingKeyError, "LookupError"),
        (cl.errors.FileAccessError, "OSError"),
    ):
        assert issubclass(one, getattr(builtins, usual))
    assert all(one.__doc__ for one in classes)


@pytest.mark.parametrize("name", ["product", "polynomial", "power", "linear transform"])
def test_interrupts_stop_computations_on_arrays(interrupt_soon, name):
    """Calls without a progress function, on many polynomials, so that each takes seconds."""
    params = cl.Params.preset("insecure_deep", cl.Runtime(threads=1))
    key = cl.SecretKey.generate(params)
    function = {
        "product": lambda x: x * x,
        "polynomial": cl.plans.Polynomial.fit(np.tanh, 63),
        "power": lambda x: x**200,
        "linear transform": cl.plans.LinearTransform(np.ones((256, 256))),
    }[name]
    rows = 4000
    keys = key.keys_for(function, (1, 256), encoding="slots")
    x = cl.functions.vstack([key.encrypt(np.ones((1, 256)), encoding="slots").with_keys(keys)] * rows)
    interrupt_soon(0.1)
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        function(x)
    assert time.perf_counter() - start < 5
