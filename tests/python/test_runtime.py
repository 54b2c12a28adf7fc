"""Runtimes: immutable values that parameters carry, and that decide about speed and memory alone."""

from __future__ import annotations

import copy
import math
import os
import pickle
import signal
import time

import numpy as np
import pytest
from conftest import numbers

import clathrate as cl

DIFFERENT = [
    cl.Runtime(),
    cl.Runtime(threads=3),
    cl.Runtime(isa="scalar"),
    cl.Runtime(rescale="explicit"),
    cl.Runtime(switching="as_made"),
    cl.Runtime(switching=("hybrid", 2)),
    cl.Runtime(switching=("klss", 2, 3)),
    cl.Runtime(key_expansion=math.inf),
    cl.Runtime(key_cache_mib=0),
    cl.Runtime(key_cache_mib=math.inf),
    cl.Runtime(plaintext_cache_mib=0),
    cl.Runtime(plaintext_cache_mib=math.inf),
    cl.Runtime(table_mib=1.5),
    cl.Runtime(table_mib=math.inf),
]


def test_defaults_are_stated():
    runtime = cl.Runtime()
    assert (runtime.threads, runtime.isa, runtime.switching, runtime.key_expansion, runtime.key_cache_mib, runtime.rescale) == (
        cl.get_threads(),
        None,
        "fastest",
        4.0,
        6144.0,
        "automatic",
    )
    assert runtime == cl.Runtime(threads=cl.get_threads(), key_expansion=4, key_cache_mib=6144, rescale="automatic")
    assert (runtime.table_mib, runtime.plaintext_cache_mib) == (256, 1024)
    assert cl.Params.preset("insecure_tiny").runtime == runtime


def test_runtimes_are_values():
    for i, runtime in enumerate(DIFFERENT):
        for j, other in enumerate(DIFFERENT):
            assert (runtime == other) == (i == j)
        for again in (copy.copy(runtime), copy.deepcopy(runtime), eval(repr(runtime), {"Runtime": cl.Runtime, "inf": math.inf})):
            assert again == runtime
            assert hash(again) == hash(runtime)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(runtime, protocol=protocol)) == runtime
    assert len(set(DIFFERENT)) == len(DIFFERENT)
    assert cl.Runtime() != "fastest"


def test_runtimes_are_immutable():
    runtime = cl.Runtime()
    for name in ("threads", "isa", "switching", "key_expansion", "key_cache_mib", "plaintext_cache_mib", "table_mib", "rescale", "new"):
        with pytest.raises(AttributeError):
            setattr(runtime, name, 1)


@pytest.mark.parametrize("option", ["key_cache_mib", "plaintext_cache_mib"])
@pytest.mark.parametrize("value", [-1, -0.5, math.nan])
def test_budgets_are_not_negative(option, value):
    with pytest.raises(cl.errors.DataError, match=rf"`{option}` is .*use 0 \(nothing is kept\) or more"):
        cl.Runtime(**{option: value})


def test_instruction_sets_are_refused_by_name_and_looked_for_when_parameters_are_made():
    with pytest.raises(cl.errors.DataError, match=r'`isa` is "mmx": use "scalar", "avx2" or "ifma"'):
        cl.Runtime(isa="mmx")
    for isa, runs in cl.doctor()["kernels"].items():
        runtime = cl.Runtime(isa=isa)
        if runs:
            assert cl.Params.preset("insecure_tiny", runtime).runtime.isa == isa
        else:
            with pytest.raises(cl.errors.ParamsError, match=f"instruction set {isa} was asked for"):
                cl.Params.preset("insecure_tiny", runtime)


def test_every_maker_of_params_takes_a_runtime(tmp_path):
    runtime = cl.Runtime(threads=2, switching="as_made")
    params = cl.Params.preset("insecure_tiny")
    params.save(tmp_path / "params.clt")
    (tmp_path / "params.toml").write_text(params.to_toml())
    spec = {"degree": 64, "steps": [[30, 30], 40], "special": [42, 42], "log2_scale": 40, "insecure": True}
    made = [
        cl.Params(**spec, runtime=runtime),
        cl.Params.preset("insecure_tiny", runtime),
        cl.Params.from_toml(params.to_toml(), runtime, allow_insecure=True),
        cl.Params.from_file(tmp_path / "params.toml", runtime, allow_insecure=True),
        cl.Params.load(tmp_path / "params.clt", runtime, allow_insecure=True),
        cl.load(tmp_path / "params.clt", runtime=runtime, allow_insecure=True),
        cl.from_bytes((tmp_path / "params.clt").read_bytes(), runtime=runtime, allow_insecure=True),
    ]
    for found in made:
        assert found.runtime == runtime
        assert pickle.loads(pickle.dumps(found)).runtime == runtime
    for relative in (cl.Params.preset("insecure_dpad", runtime).at_rank(2), cl.Params.preset("insecure_dpad", runtime).rlwe()):
        assert relative.runtime == runtime
    with pytest.raises(TypeError):
        cl.Params.preset("insecure_tiny", 2)


def test_other_files_than_those_of_parameters_refuse_a_runtime(small, tmp_path):
    ct = small.key.encrypt([1.0])
    ct.save(tmp_path / "ct")
    for read in (
        lambda: cl.load(tmp_path / "ct", small.params, cl.Runtime()),
        lambda: cl.from_bytes(ct.to_bytes(), small.params, cl.Runtime()),
    ):
        with pytest.raises(TypeError, match="give the runtime to the parameters"):
            read()


def test_a_forced_instruction_set_stays_with_this_machine_when_params_are_pickled():
    params = cl.Params.preset("insecure_tiny", cl.Runtime(threads=2, isa="scalar"))
    assert pickle.loads(pickle.dumps(params)).runtime == cl.Runtime(threads=2)


def test_params_of_different_runtimes_are_equal_and_combine(small):
    params = cl.Params.preset("insecure_small", cl.Runtime(threads=2, switching=("hybrid", 2)))
    assert params == small.params
    ct = cl.from_bytes(small.key.encrypt([1.0, 2.0]).to_bytes(), params)
    assert np.max(np.abs(small.key.decrypt(ct + small.key.encrypt([1.0, 1.0])) - [2.0, 3.0])) < 1e-6


def test_the_number_of_threads() -> None:
    before = cl.get_threads()
    try:
        cl.set_threads(2)
        assert (cl.get_threads(), cl.Params.preset("insecure_tiny").runtime.threads) == (2, 2)
        assert cl.Params.preset("insecure_tiny", cl.Runtime(threads=1)).runtime.threads == 1
        with pytest.raises(cl.errors.DataError, match="4096"):
            cl.set_threads(0)
    finally:
        cl.set_threads(None)
    assert cl.get_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_computes_with_threads_of_its_own() -> None:
    params = cl.Params.preset("insecure_small", cl.Runtime(threads=3))
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    x = key.encrypt(numbers(5)).with_keys(keys)
    expected = key.decrypt(x * x)
    child = os.fork()
    if child == 0:
        # Nothing of pytest runs here.
        same = np.array_equal(key.decrypt(x * x), expected)
        os._exit(0 if same else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process hangs")
