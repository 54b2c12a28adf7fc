#!/usr/bin/env python3
"""Runs the kernels of crates/cuda on this processor under the thread and the address sanitizer. Needs a C++ compiler with both.

The thread sanitizer must find nothing with all barriers, and something when any one of them is left out: a check that cannot
fail would prove nothing. The address sanitizer watches the tests of the crate, whose buffers it surrounds with forbidden bytes.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNELS = ROOT / "crates" / "cuda" / "kernels"
COMPILER = os.environ.get("CXX", "c++")


def races(folder, dropped):
    """What the thread sanitizer says where barrier number `dropped` is left out, if it is not None: the exit status and the output."""
    program = pathlib.Path(folder) / "races"
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=thread", "-ffp-contract=off", "-pthread"]
    flags += [] if dropped is None else [f"-DDROPPED_BARRIER={dropped}"]
    subprocess.run([COMPILER, *flags, KERNELS / "races.cpp", "-o", program], check=True)
    # Address randomisation with more bits than the sanitizer of older compilers knows stops it before it begins.
    prefix = ["setarch", "-R"] if shutil.which("setarch") else []
    run = subprocess.run([*prefix, program], capture_output=True, text=True, timeout=300, check=False)
    return run.returncode, run.stdout + run.stderr


def barriers():
    """The number of barriers in the kernels' text."""
    return sum(len(re.findall(r"\bSYNC;", path.read_text())) for path in KERNELS.glob("*.cuh"))


def check_threads():
    """The thread sanitizer with all barriers and without each."""
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        status, text = races(folder, None)
        if status or "done" not in text or "data race" in text:
            wrong.append(f"with all barriers: exit status {status}\n{text[:4000]}")
        for dropped in range(barriers()):
            _, text = races(folder, dropped)
            found = text.count("WARNING: ThreadSanitizer: data race")
            print(f"without barrier {dropped}: {found} races", flush=True)
            if not found:
                wrong.append(f"nothing found without barrier {dropped}")
    return wrong


def check_addresses():
    """The crate's tests on kernels that the address sanitizer watches."""
    library = subprocess.run([COMPILER, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not pathlib.Path(library).is_absolute():
        return [f"{COMPILER} has no address sanitizer"]
    version = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    triple = re.search(r"host: (\S+)", version)[1].upper().replace("-", "_")
    environment = os.environ | {
        "CLATHRATE_SANITIZE": "address",
        # The sanitizer's library must be the first of the tests' program, not of cargo.
        f"CARGO_TARGET_{triple}_RUNNER": f"env LD_PRELOAD={library}",
        "CARGO_TARGET_DIR": str(ROOT / "target" / "sanitized"),
        # Rust's own allocations at the end of the process are no concern here.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
    }
    command = ["cargo", "test", "--locked", "-p", "clathrate-cuda", "--test", "operations"]
    run = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    return [f"the tests end with status {run.returncode}"] if run.returncode else []


def main():
    """Both checks."""
    wrong = check_threads() + check_addresses()
    print("\n".join(wrong) or f"{barriers()} barriers, each of them needed and found missing; no wrong address")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
