"""Devices other than the processor: the kernels of graphics processors run by this one, and machines without such a device.

Where CLATHRATE_TEST_ENGINE is "cuda" or "cuda-graphs", they run on NVIDIA's first device.
"""

import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import clathrate as cl

ON_CUDA = os.environ.get("CLATHRATE_TEST_ENGINE", "").startswith("cuda")
DEVICE, ITS_NAME = ("cuda:0", "cuda:0") if ON_CUDA else ("host-device", "host device")
HAS_DEVICE = ON_CUDA or DEVICE in cl.doctor()["devices"]
needs_device = pytest.mark.skipif(not HAS_DEVICE, reason="built without the kernels of devices for this processor (no C++ compiler)")


@pytest.fixture(name="there")
def fixture_there():
    return cl.Params.preset("insecure_small", device=DEVICE)


def test_a_missing_device_is_an_error_with_a_remedy():
    found = cl.doctor()["devices"]["cuda"]
    if isinstance(found, list) and found:
        assert cl.Runtime(device="cuda").device == "cuda:0"
    else:
        with pytest.raises(cl.errors.DeviceError, match=r"NVIDIA.*device=\"cpu\""):
            cl.Runtime(device="cuda")
        with pytest.raises(cl.errors.DeviceError, match="NVIDIA"):
            cl.Params.preset("insecure_tiny").to("cuda:0")
    with pytest.raises(cl.errors.DataError, match=r'"tpu".*use "cpu", "cuda"'):
        cl.Runtime(device="tpu")
    for name in ["cuda:-1", "cuda:01", "cuda:x", "CUDA", ""]:
        with pytest.raises(cl.errors.DataError, match="`device` is"):
            cl.Runtime(device=name)


def test_the_processor_is_a_device_too():
    params = cl.Params.preset("insecure_small", device="cpu")
    assert params.runtime.device == "cpu"
    assert params.to("cpu") == params
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    x = key.encrypt([1.0, 2.0]).with_keys(keys)
    assert x.to("cpu").keys is keys, "what stays where it is keeps its keys"
    assert np.allclose(key.decrypt(x.to("cpu") * x), [1.0, 4.0], atol=1e-6)


@needs_device
def test_arrays_compute_on_the_device_and_come_back(there):
    rng = np.random.default_rng(5)
    x, w = rng.uniform(-1, 1, (6, 50)), rng.uniform(-1, 1, (3, 6))
    key = cl.SecretKey.generate(there)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1, -3]))
    slots, rows = key.encrypt(x[0]).with_keys(keys), key.encrypt(x, encoding="coefficients")
    assert slots.params.runtime.device == DEVICE
    results = {
        "product": (slots * slots + slots, x[0] ** 2 + x[0]),
        "matrix product": (w @ rows, w @ x),
        "polynomial": (cl.plans.Polynomial([0.5, 1.0, 0.25])(slots), 0.5 + x[0] + 0.25 * x[0] ** 2),
    }
    home = key.to("cpu")
    for name, (found, expected) in results.items():
        assert found.params.runtime.device == DEVICE, name
        assert np.allclose(key.decrypt(found), expected, atol=1e-4), name
        moved = found.to("cpu")
        assert moved.params.runtime.device == "cpu"
        assert moved.keys is None
        assert np.allclose(home.decrypt(moved), expected, atol=1e-4), name
    # Decrypted numbers are NumPy arrays, which other libraries take without a copy.
    decrypted = key.decrypt(slots)
    assert np.shares_memory(np.from_dlpack(decrypted), decrypted)


@needs_device
def test_keys_of_the_processor_serve_on_the_device(there, tmp_path):
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    x = key.encrypt([0.5, -1.5])
    x.save(tmp_path / "x.clt")
    for arrived in (x.to(DEVICE), cl.Ciphertext.load(tmp_path / "x.clt", there)):
        arrived = arrived.with_keys(keys.to(DEVICE))
        assert np.allclose(key.to(DEVICE).decrypt(arrived * arrived), [0.25, 2.25], atol=1e-6)
    public = key.public_key().to(DEVICE).encrypt([3.0])
    assert public.params.runtime.device == DEVICE
    assert np.allclose(key.decrypt(public.to("cpu")), [3.0], atol=1e-5)


@needs_device
def test_operands_on_two_devices_are_refused(there):
    key = cl.SecretKey.generate(there)
    x = key.encrypt([1.0])
    with pytest.raises(cl.errors.DeviceError, match=rf"`{ITS_NAME}`.*ct\.to"):
        x + x.to("cpu")
    with pytest.raises(cl.errors.DeviceError, match=rf"`host`.*`{ITS_NAME}`|`{ITS_NAME}`.*`host`"):
        x.to("cpu") + x
    assert np.allclose(key.decrypt(x + x), [2.0], atol=1e-6)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    with pytest.raises(cl.errors.DeviceError, match=r'the array is on the device "cpu".*keys\.to\("cpu"\)'):
        x.to("cpu").with_keys(keys)
    y = x.to("cpu").with_keys(keys.to("cpu"))
    assert np.allclose(key.to("cpu").decrypt(y * y), [1.0], atol=1e-6)
    for join in (cl.functions.stack, cl.functions.hstack):
        with pytest.raises(cl.errors.DeviceError, match=r"ct\.to"):
            join([x, x.to("cpu")])


@needs_device
def test_pickles_come_back_on_the_processor(there):
    key = cl.SecretKey.generate(there)
    x = key.encrypt([1.0, 2.0])
    assert pickle.loads(pickle.dumps(there)).runtime.device == "cpu"
    assert pickle.loads(pickle.dumps(there.runtime)).device == DEVICE
    assert np.allclose(key.to("cpu").decrypt(pickle.loads(pickle.dumps(x)).to("cpu")), [1.0, 2.0], atol=1e-6)


@needs_device
def test_dry_runs_and_plans_are_priced_for_the_device():
    seconds = {}
    for device in ("cpu", DEVICE):
        seconds[device] = cl.plans.trace(lambda x: x * x, (100,), params=cl.Params.preset("n15", device=device)).seconds
    assert 0 < seconds[DEVICE] < seconds["cpu"] / 10


@needs_device
def test_memory_on_the_device_has_a_limit(there):
    key = cl.SecretKey.generate(there)
    x = key.encrypt([1.0, 2.0])
    kept = [x]
    try:
        cl.set_device_memory_limit(2**20, device=DEVICE)
        with pytest.raises(cl.errors.NotEnoughMemoryError, match=r"of 1\.0 MiB|1048576"):
            kept.extend(key.encrypt(np.ones((64, 64))) for _ in range(10))
    finally:
        cl.set_device_memory_limit(None, device=DEVICE)
    assert np.allclose(key.decrypt(x + x), [2.0, 4.0], atol=1e-6)
    for limit, device, words in [(-1, DEVICE, "`limit`"), (1, "cpu", "CLATHRATE_MEMORY_LIMIT"), (1, "tpu", "`device` is")]:
        with pytest.raises(cl.errors.DataError, match=words):
            cl.set_device_memory_limit(limit, device=device)


@needs_device
@pytest.mark.parametrize(
    ("limit", "words"), [("100000", "NotEnoughMemoryError"), ("many", "DataError.*CLATHRATE_DEVICE_MEMORY_LIMIT"), ("", "done")]
)
def test_the_environment_limits_memory_on_devices(limit, words):
    program = f'import clathrate as cl; p = cl.Params.preset("insecure_small", device="{DEVICE}"); cl.SecretKey.generate(p); print("done")'
    environment = os.environ | {"CLATHRATE_DEVICE_MEMORY_LIMIT": limit}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert re.search(words, run.stdout + run.stderr), run.stderr
    assert (run.returncode == 0) == (words == "done")


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("c++") is None, reason="the stand-in for the driver needs Linux and a C++ compiler"
)
def test_a_device_behind_the_drivers_interface_computes_what_the_processor_does(tmp_path):
    source = pathlib.Path(__file__).resolve().parents[2] / "crates" / "cuda" / "tests" / "driver" / "driver.cpp"
    flags = ["-std=c++17", "-O1", "-shared", "-fPIC", "-ffp-contract=off", "-pthread", "-Wl,-Bsymbolic"]
    subprocess.run(["c++", *flags, source, "-o", tmp_path / "libcuda.so"], check=True)
    program = """
import numpy as np, clathrate as cl
assert cl.doctor()["devices"]["cuda"] == ["cuda:0, stand-in device"]
there = cl.Params.preset("insecure_small", device="cuda")
owner = cl.SecretKey.generate(there)
x, y = np.linspace(-1, 1, 50), np.linspace(0, 1, 50)
keys = owner.keys_for(lambda a, b: (a * b).sum(), x.shape, y.shape)
found = (owner.encrypt(x).with_keys(keys) * owner.encrypt(y).with_keys(keys)).sum()
assert found.params.runtime.device == "cuda:0"
assert abs(owner.decrypt(found) - x @ y) < 1e-4
try:
    cl.set_device_memory_limit(1)
    owner.encrypt(np.ones((50, 50)))
except cl.errors.NotEnoughMemoryError as error:
    assert "stand-in device has no room" in str(error), error
else:
    raise AssertionError("no room for that")
print("done")
"""
    for graphs in ("0", "1"):
        environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "CLATHRATE_DEVICE_GRAPHS": graphs}
        run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert (run.returncode, run.stdout) == (0, "done\n"), run.stderr
    environment = os.environ | {"LD_LIBRARY_PATH": str(tmp_path), "CLATHRATE_DEVICE_GRAPHS": "yes"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert "CLATHRATE_DEVICE_GRAPHS" in run.stderr
    assert run.returncode != 0
