"""The kernels of devices: the PTX that is checked in is what the sources give, within limits on registers."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "device_kernels.py"
SPEC = importlib.util.spec_from_file_location("device_kernels", SCRIPT)
device_kernels = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(device_kernels)


def test_ptx_is_made_of_these_sources():
    first = device_kernels.PTX.read_text().partition("\n")[0]
    assert first == f"{device_kernels.COMMENT}{device_kernels.digest()}.", "run scripts/device_kernels.py"


def test_kernels_compile_for_every_device_within_their_registers():
    if not (device_kernels.wheel("cuda_nvrtc") and device_kernels.wheel("cuda_nvcc")):
        pytest.skip("NVIDIA's compilers are not installed: pip install -r requirements/cuda.txt")
    run = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
