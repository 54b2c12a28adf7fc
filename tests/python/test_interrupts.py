"""Ctrl-C within saving, loading and to_bytes."""

import signal
import time

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def large():
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    # Some hundred megabytes: a polynomial for each row.
    return owner.public_key().encrypt(np.ones((4000, 1)), encoding="slots")


@pytest.mark.parametrize("call", ["save", "load", "to_bytes", "from_bytes"])
def test_interrupt_stops_within_the_call_and_leaves_no_file(large, call, tmp_path):
    path, new = tmp_path / "large.clt", tmp_path / "new.clt"
    large.save(path)
    data = large.to_bytes()
    calls = {
        "save": lambda: large.save(new),
        "load": lambda: cl.load(path, large.params),
        "to_bytes": large.to_bytes,
        "from_bytes": lambda: cl.from_bytes(data, large.params),
    }
    start = time.monotonic()
    calls[call]()
    whole = time.monotonic() - start
    new.unlink(missing_ok=True)

    def interrupt(*_):
        raise KeyboardInterrupt

    def interrupted(call):
        # The timer starts where its exception is waited for. Signals are looked for every 50 ms.
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        call()

    before = signal.signal(signal.SIGALRM, interrupt)
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted(calls[call])
        assert time.monotonic() - start < max(0.3, 0.8 * whole)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [entry.name for entry in tmp_path.iterdir()] == ["large.clt"]
