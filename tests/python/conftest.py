"""Shared parameters and keys: small insecure sets, made once."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

import clathrate as cl


@dataclass(frozen=True)
class Party:
    """A key's owner, with keys for products, some rotations and conjugation."""

    params: cl.Params
    key: cl.SecretKey
    keys: cl.EvaluationKeys

    def encrypt(self, data: object, **options: object) -> cl.Ciphertext:
        return self.key.encrypt(data, **options).with_keys(self.keys)

    def error(self, ciphertext: cl.Ciphertext, expected: object) -> float:
        found = self.key.decrypt(ciphertext)
        assert found.shape == np.shape(expected)
        return float(np.max(np.abs(found - expected)))


ROTATIONS = (1, -2, 4)
TOLERANCE = 1e-5


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="also run the tests at secure, full-size parameters")


def pytest_configure(config: pytest.Config) -> None:
    # The machine profile that the user stored has no part in tests, nor in the processes that tests start.
    os.environ["CLATHRATE_PROFILE"] = "none"
    config.addinivalue_line("markers", "full: at secure, full-size parameters; run with --full")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full"):
        return
    for item in items:
        if item.get_closest_marker("full"):
            item.add_marker(pytest.mark.skip(reason="full size: run with --full"))


def largest_rms(groups: Sequence[np.ndarray]) -> float:
    """The root mean square of errors, plus four standard errors of its square: a group for each key, under which errors differ.

    A claim that a root mean square is at least so large fails by it only where it is wrong, and not where it was measured with few keys.
    """
    squares = np.array([np.mean(np.square(np.abs(group))) for group in groups])
    assert len(squares) >= 4
    return float(np.sqrt(squares.mean() + 4 * squares.std(ddof=1) / np.sqrt(len(squares))))


def party(name: str) -> Party:
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    return Party(params, key, key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=ROTATIONS, conjugate=True)))


def numbers(*shape: int, seed: int = 1) -> np.ndarray:
    """Numbers that are spread evenly between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, size=shape)


def check(owner: Party, function, *arrays: np.ndarray, tolerance: float = TOLERANCE, **options: object) -> cl.Ciphertext:
    """The function of encrypted arrays with exactly the keys that its dry run finds, beside the function of the arrays."""
    keys = owner.key.keys_for(function, *(array.shape for array in arrays), is_complex=any(np.iscomplexobj(a) for a in arrays), **options)
    result = function(*(owner.key.encrypt(array, **options).with_keys(keys) for array in arrays))
    expected = function(*arrays)
    decrypted = owner.key.decrypt(result)
    assert decrypted.shape == np.shape(expected), (decrypted.shape, np.shape(expected))
    np.testing.assert_allclose(decrypted, expected, atol=tolerance)
    return result


@pytest.fixture(scope="session")
def small() -> Party:
    """Rank 1, degree 1024, levels 0 to 5."""
    return party("insecure_small")


@pytest.fixture(scope="session")
def owner(small: Party) -> Party:
    """The party `small`, in tests that hold for any parameters."""
    return small


@pytest.fixture(scope="session", params=["insecure_small", "insecure_rank2", "insecure_rank3"])
def each_rank(request: pytest.FixtureRequest) -> Party:
    return party(request.param)


@pytest.fixture(scope="session")
def flat() -> Party:
    """Degree 256, one product deep: matrix products."""
    return party("insecure_matmul")


@pytest.fixture
def interrupt_soon() -> Iterator[Callable[[float], None]]:
    """A function that sends this process an interrupt after so many seconds, which then raises KeyboardInterrupt.

    Shells start background jobs with interrupts ignored, and Python then installs no handler of its own: a test that waits for
    KeyboardInterrupt would wait for ever. The handler is installed here and taken away again.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers: list[threading.Timer] = []

    def soon(seconds: float) -> None:
        timers.append(threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)))
        timers[-1].start()

    try:
        yield soon
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260601)


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether all runs of random tests are wanted, of which fewer suffice before each commit."""
    return bool(pytestconfig.getoption("--full"))
