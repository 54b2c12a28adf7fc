"""Memory that is not there: an exception, and the process lives on."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from conftest import TOLERANCE, Party, numbers

ARRAY = """
    import resource
    import numpy as np
    import clathrate as cl
    params = cl.Params.preset("insecure_small")
    owner = cl.SecretKey.generate(params)
    # A polynomial for each row.
    x = owner.encrypt(np.ones((4000, 1)), encoding="slots")
    print(x.nbytes >> 20)
"""


def run(program, **variables):
    environment = {**os.environ, "CLATHRATE_PROFILE": "none", **variables}
    text = textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit and its report are Linux's")
def test_refused_memory_is_an_exception_and_the_process_lives_on():
    result = run(
        ARRAY
        + """
    status = {line.split(":")[0]: line.split()[1] for line in open("/proc/self/status") if line.startswith("Vm")}
    used = int(status["VmSize"]) << 10
    resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
    kept = []
    try:
        while len(kept) < 100:
            kept.append(x + x)
    except MemoryError as error:
        kept.clear()
        print(type(error).__name__, error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(owner.decrypt(x + x)[0, 0].round(3))
    """
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert int(lines[0]) >= 64
    assert lines[1].startswith("NotEnoughMemoryError the system has no memory for")
    assert lines[2] == "2.0"
    assert "panicked" not in result.stderr


def test_operators_on_large_arrays_ask_for_free_memory_first():
    result = run(
        ARRAY
        + """
    import os
    os.environ["CLATHRATE_MEMORY_LIMIT"] = "1000"
    for operation in [lambda: x + x, lambda: x * 2, lambda: x + 1.0, lambda: -x]:
        try:
            operation()
        except cl.errors.NotEnoughMemoryError as error:
            print(error)
    """
    )
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()[1:]
    assert len(lines) == 4
    assert all("free" in line for line in lines), lines


def test_rows_without_memory_are_refused(owner: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    x = owner.key.encrypt(numbers(5), encoding="slots")
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "100000000")
    with pytest.raises(MemoryError, match="check the shapes"):
        _ = x + np.ones((10**5, 5))


def test_arrays_that_memory_does_not_hold_are_refused_before_the_work(owner: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "100000000")
    for key in (owner.key, owner.key.public_key()):
        with pytest.raises(MemoryError, match="transpose it"):
            key.encrypt(np.ones((60_000, 10)), encoding="slots")
    monkeypatch.delenv("CLATHRATE_MEMORY_LIMIT")
    assert owner.error(owner.key.encrypt(np.ones((10, 600)), encoding="slots"), np.ones((10, 600))) < TOLERANCE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux reports kibibytes, and what is resident")
def test_a_search_for_parameters_does_not_hold_the_tables_of_all_sets():
    result = run("""
    import resource
    import clathrate as cl
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for security in (128, 192, 256):
        cl.Params.for_circuit(lambda x: (x * x).mean(), (1000,), error=1e-4, security=security)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
    """)
    assert result.returncode == 0, result.stderr
    # The tables of one large set take 120 MiB, those of all presets more than a gigabyte.
    assert int(result.stdout) < 100
