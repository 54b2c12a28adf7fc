#!/usr/bin/env python3
"""Compiles the kernels of crates/cuda to PTX, which is checked in, and says what they take on devices.

    device_kernels.py             compiles and writes crates/cuda/kernels/kernels.ptx
    device_kernels.py --check     compares the file with the sources, and each kernel's registers with its limit

PTX is for compute capability 8.0, which the driver of any later device compiles for itself. The compilers come from PyPI
(requirements/cuda.txt).
"""

import argparse
import ctypes
import hashlib
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

KERNELS = pathlib.Path(__file__).resolve().parent.parent / "crates" / "cuda" / "kernels"
PTX = KERNELS / "kernels.ptx"
ARCHITECTURE = "compute_80"
DEVICES = ["sm_80", "sm_90", "sm_100"]
# A multiprocessor has 65536 registers: a block of 512 units takes up to 128 each, three blocks of 256 units up to 80.
MAX_REGISTERS = {"forward_rows": 128, "inverse_rows": 128, "converted_rows": 128, "factor_products": 128}
MAX_REGISTERS_OF_OTHERS = 80
COMMENT = "// Compiled by scripts/device_kernels.py from sources with the SHA-256 "


class Usage(NamedTuple):
    """What a kernel takes on a device."""

    registers: int
    spills: int
    barriers: int


def source(name="all.cuh", seen=None):
    """The text of a kernel file with the files that it includes, each once."""
    seen = set() if seen is None else seen
    if name in seen:
        return ""
    seen.add(name)

    def include(match):
        return source(match[1], seen)

    text = re.sub(r"^#pragma once\n", "", (KERNELS / name).read_text(), flags=re.MULTILINE)
    return re.sub(r'^#include "(.*)"\n', include, text, flags=re.MULTILINE)


def digest():
    """What the first line of the PTX says of the sources that it was made of."""
    return hashlib.sha256(source().encode()).hexdigest()


def wheel(package):
    """The folder of one of NVIDIA's packages, or None."""
    try:
        spec = importlib.util.find_spec(f"nvidia.{package}")
    except ModuleNotFoundError:
        return None
    return pathlib.Path(next(iter(spec.submodule_search_locations))) if spec else None


def compile_ptx():
    """The PTX of all kernels."""
    folder = wheel("cuda_nvrtc")
    if folder is None:
        sys.exit("NVRTC is not installed: pip install -r requirements/cuda.txt")
    library = ctypes.CDLL(str(next((folder / "lib").glob("libnvrtc.so.*"))))
    program = ctypes.c_void_p()

    def text(size, get):
        length = ctypes.c_size_t()
        size(program, ctypes.byref(length))
        buffer = ctypes.create_string_buffer(length.value)
        get(program, buffer)
        return buffer.value.decode()

    if library.nvrtcCreateProgram(ctypes.byref(program), source().encode(), b"kernels.cu", 0, None, None):
        sys.exit("NVRTC refuses the sources")
    # Sums of products of doubles are rounded as the CPU's are.
    options = [f"--gpu-architecture={ARCHITECTURE}", "--fmad=false", "--std=c++17"]
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    if library.nvrtcCompileProgram(program, len(options), array):
        sys.exit(text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog))
    return f"{COMMENT}{digest()}.\n" + text(library.nvrtcGetPTXSize, library.nvrtcGetPTX)


def usage(ptx, device):
    """What each kernel takes on a device, by its name."""
    folder = wheel("cuda_nvcc")
    if folder is None:
        sys.exit("ptxas is not installed: pip install -r requirements/cuda.txt")
    assembler = folder / "bin" / "ptxas"
    assembler.chmod(0o755)
    with tempfile.TemporaryDirectory() as temporary:
        path = pathlib.Path(temporary) / "kernels.ptx"
        path.write_text(ptx)
        command = [assembler, "-v", f"-arch={device}", path, "-o", pathlib.Path(temporary) / "kernels.cubin"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(run.stdout + run.stderr)
    found = {}
    for part in (run.stdout + run.stderr).split("Compiling entry function '")[1:]:
        stores, loads = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", part).groups()
        registers = int(re.search(r"Used (\d+) registers", part)[1])
        barriers = re.search(r"used (\d+) barriers", part)
        found[part.split("'")[0]] = Usage(registers, int(stores) + int(loads), int(barriers[1]) if barriers else 0)
    return found


def main():
    """Writes or checks the PTX."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where the file is not what the sources give, or a kernel takes too much"
    )
    arguments = parser.parse_args()
    ptx, wrong = compile_ptx(), []
    if not arguments.check:
        PTX.write_text(ptx)
    elif PTX.read_text() != ptx:
        wrong.append(f"{PTX} is not what the sources give: run scripts/device_kernels.py")
    tables = {device: usage(ptx, device) for device in DEVICES}
    for name in tables[DEVICES[0]]:
        uses = [tables[device][name] for device in DEVICES]
        print(f"{name:24} registers {' '.join(f'{use.registers:4}' for use in uses)}  barriers {uses[0].barriers}")
        most = MAX_REGISTERS.get(name, MAX_REGISTERS_OF_OTHERS)
        for device, use in zip(DEVICES, uses, strict=True):
            if use.spills or use.registers > most:
                wrong.append(f"{name} on {device}: {use.registers} registers, at most {most}; {use.spills} bytes of spills")
    print("\n".join(wrong) or f"{len(tables[DEVICES[0]])} kernels, {len(ptx)} bytes of PTX")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
