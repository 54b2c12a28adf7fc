"""Installs and runs the benchmark programs of the peers: Lattigo, OpenFHE and openfhe-numpy, SEAL and TenSEAL, Poulpy.

Sits in bench/peers; standard library only. `run.py install` builds each peer's program into .cache/peers, `run.py run`
installs what is missing and prints the rows of every program and parameter set, one JSON row per line; `run.py bootstrap`
prints those of the peers' bootstraps, `run.py samples` those of their ways from samples to slots, `run.py arrays` those of
jobs on arrays. A peer that cannot be installed, fails or runs out of time prints a row {"who", "work": "*", "absent": reason}.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from limited import quick, run_limited  # noqa: E402
from rows import Row, absent_row, parse_rows  # noqa: E402

CACHE = ROOT / ".cache" / "peers"
QUICK_PARAMS = ("n14",)
FULL_PARAMS = ("n14", "n15-one", "n15-mid", "n15-low", "n16-mid", "n16-one")
EXTRA_PARAMS = ("n16-low",)
TIME_LIMITS = {True: 75.0, False: 620.0}

# Bootstraps: each peer's own sets, those of degree 2^16 first; a quick run has small ones where a peer has them.
BOOTSTRAPS = (
    ("poulpy", "n16_d35_k733_p20_s2c"),
    ("poulpy", "n16_d35_k685_p19_s2c_ffr_ci"),
    ("lattigo", "N16QP1546H192H32"),
    ("openfhe", "n16-59"),
    ("openfhe", "n16-59-slots-first"),
    ("lattigo", "N15QP880H16384H32"),
    ("poulpy", "n15_d35_k180_p18_c2s"),
)
QUICK_BOOTSTRAPS = (("lattigo", "insecure_n11"), ("openfhe", "insecure_n11"), ("openfhe", "insecure_n11-slots-first"))
# From samples of another scheme to slots.
SAMPLES = (("openfhe", "n16-lwe-256"), ("openfhe", "n16-lwe-1024"), ("openfhe", "n16-lwe-4096"))
QUICK_SAMPLES = (("openfhe", "insecure_n11-lwe-16"),)
# Jobs on arrays.
ARRAYS = (("seal", "arrays"), ("openfhe_numpy", "arrays"))
INSTALL_SECONDS = 900
MEMORY_SHARE = 0.6  # of what is free: other programs need memory too
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1", "GOMAXPROCS": "1"}


class Absent(Exception):
    """A peer cannot be installed here; the message is the reason."""


@dataclass(frozen=True)
class Peer:
    """How to install a peer's program into a folder, and the command that runs it from there."""

    install: Callable[[Path], None]
    command: Callable[[Path], list[str]]


def tool(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Runs an installation step, its output in `install.log`. Errors: Absent with the last line of it."""
    log = folder / "install.log"
    with log.open("a") as sink:
        try:
            done = subprocess.run(
                command,
                cwd=ROOT,
                stdout=sink,
                stderr=subprocess.STDOUT,
                timeout=INSTALL_SECONDS,
                env=os.environ | (environment or {}),
                check=False,
            )
        except OSError as problem:
            raise Absent(f"cannot start {command[0]}: {problem.strerror}") from problem
        except subprocess.TimeoutExpired as problem:
            raise Absent(f"{Path(command[0]).name} took more than {INSTALL_SECONDS} s") from problem
    if done.returncode:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
        errors = [line for line in lines if line.lower().startswith("error")]
        last = (errors or lines or [""])[-1]
        raise Absent(f"{Path(command[0]).name} failed with status {done.returncode}: {last[:200]}")


def pythons(version: str) -> Iterator[str]:
    """Interpreters of a version on this machine, such as "3.10"."""
    named = shutil.which(f"python{version}")
    managed = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    managed += sorted(Path.home().glob(f".local/share/uv/python/cpython-{version}.*/bin/python3"))
    for candidate in [sys.executable, *([named] if named else []), *map(str, managed)]:
        question = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        try:
            answer = subprocess.run(question, capture_output=True, text=True, timeout=20, check=False)
        except (OSError, subprocess.SubprocessError):
            continue
        if answer.stdout.strip() == version:
            yield candidate


def python_peer(name: str, versions: tuple[str, ...], module: str) -> Peer:
    """A peer that is a wheel for one of some Python versions, in an environment of its own."""

    def install(folder: Path) -> None:
        python = next((found for version in versions for found in pythons(version)), None)
        if python is None:
            raise Absent(f"its wheel needs Python {' or '.join(versions)}, and there is none on this machine")
        environment = folder / "venv"
        shutil.rmtree(environment, ignore_errors=True)
        tool([python, "-m", "venv", str(environment)], folder)
        inside = str(environment / "bin" / "python")
        tool([inside, "-m", "pip", "install", "--only-binary=:all:", "-r", str(HERE / name / "requirements.txt")], folder)
        tool([inside, "-c", f"import {module}"], folder)

    return Peer(install, lambda folder: [str(folder / "venv" / "bin" / "python"), str(HERE / name / "bench.py")])


def install_lattigo(folder: Path) -> None:
    """Builds the Go program."""
    go = shutil.which("go")
    if go is None:
        raise Absent("no Go toolchain on this machine")
    tool([go, "build", "-C", str(HERE / "lattigo"), "-o", str(folder / "lattigo-bench"), "."], folder)


def install_poulpy(folder: Path) -> None:
    """Builds the Rust program with the nightly toolchain, for this machine's processor."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if platform.machine() != "x86_64" or "avx512ifma" not in flags:
        raise Absent("its engine needs AVX-512 IFMA, which this processor lacks")
    cargo = shutil.which("cargo")
    if cargo is None:
        raise Absent("no Rust toolchain on this machine")
    try:
        subprocess.run([cargo, "+nightly", "--version"], capture_output=True, timeout=300, check=True)
    except subprocess.SubprocessError as problem:
        raise Absent("it needs a nightly Rust toolchain (rustup toolchain install nightly)") from problem
    manifest = str(HERE / "poulpy" / "Cargo.toml")
    target = {"CARGO_TARGET_DIR": str(folder / "target"), "RUSTFLAGS": "-C target-cpu=native"}
    tool([cargo, "+nightly", "build", "--release", "--locked", "--manifest-path", manifest], folder, target)


PEERS: dict[str, Peer] = {
    "poulpy": Peer(install_poulpy, lambda folder: [str(folder / "target" / "release" / "poulpy-bench")]),
    "lattigo": Peer(install_lattigo, lambda folder: [str(folder / "lattigo-bench")]),
    "openfhe": python_peer("openfhe", ("3.10",), "openfhe"),
    "openfhe_numpy": python_peer("openfhe_numpy", ("3.10",), "openfhe"),
    "seal": python_peer("seal", ("3.11", "3.12", "3.10"), "tenseal.sealapi"),
}


def fingerprint(name: str) -> str:
    """A digest of a peer's files and of this one: what an installation was made from."""
    digest = hashlib.sha256()
    for file in [Path(__file__), *sorted(path for path in (HERE / name).rglob("*") if path.is_file())]:
        if "__pycache__" not in file.parts and "target" not in file.parts:
            digest.update(str(file.relative_to(HERE)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def ensure_installed(name: str) -> Path:
    """Installs a peer unless that was done from the same files; returns its folder. Errors: Absent."""
    folder = CACHE / name
    stamp = folder / "installed"
    wanted = fingerprint(name)
    if stamp.exists() and stamp.read_text() == wanted:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "install.log").unlink(missing_ok=True)
    stamp.unlink(missing_ok=True)
    print(f"peers: installing {name}", file=sys.stderr, flush=True)
    PEERS[name].install(folder)
    stamp.write_text(wanted)
    return folder


def available_gib() -> float:
    """Memory that programs can take now, in GiB."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 8.0
    sizes = {line.split(":")[0]: line.split()[1] for line in lines if len(line.split()) > 1}
    return int(sizes.get("MemAvailable", 8 << 20)) / (1 << 20)


def measure(runs: list[tuple[str, str]], limit_seconds: float, work: str = "*") -> Iterator[Row]:
    """Rows of pairs of a peer and a parameter set, in order; installations do not count in the limit."""
    installed: dict[str, Path] = {}
    for name in dict.fromkeys(name for name, _ in runs):
        try:
            installed[name] = ensure_installed(name)
        except Absent as reason:
            yield absent_row(name, str(reason), work=work)
    deadline = time.monotonic() + limit_seconds
    for name, set_name in runs:
        if name not in installed:
            continue
        command = [*PEERS[name].command(installed[name]), "--params", set_name]
        command += ["--memory-gib", f"{available_gib() * MEMORY_SHARE:.1f}"] + (["--quick"] if quick() else [])
        left = deadline - time.monotonic()
        print(f"peers: {name} {set_name}, {max(left, 0):.0f} s left", file=sys.stderr, flush=True)
        output, problem = run_limited(command, left, os.environ | ONE_THREAD)
        try:
            rows = parse_rows(output)[1]
        except ValueError:  # a line cut off by the time limit
            rows = parse_rows("\n".join(output.splitlines()[:-1]))[1]
        yield from rows
        told = any("absent" in row for row in rows)
        if problem and not (told and problem.startswith("exit status")):
            yield absent_row(name, problem, set_name, work)
        elif not rows:
            yield absent_row(name, "printed no rows", set_name, work)


def main() -> int:
    """Command line: run.py install|run|bootstrap|samples|arrays [--peer NAME ...] [--params SET ...] [--limit SECONDS]."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("install", "run", "bootstrap", "samples", "arrays"))
    parser.add_argument("--peer", action="append", choices=list(PEERS), help="only this peer; may be repeated")
    sets = [
        *FULL_PARAMS,
        *EXTRA_PARAMS,
        *dict.fromkeys(set_name for _, set_name in BOOTSTRAPS + QUICK_BOOTSTRAPS + SAMPLES + QUICK_SAMPLES + ARRAYS),
    ]
    parser.add_argument("--params", action="append", choices=sets, help="only this set")
    parser.add_argument("--limit", type=float, default=TIME_LIMITS[quick()], help="seconds for all runs together")
    options = parser.parse_args()
    names = options.peer or list(PEERS)
    if options.step == "install":
        for name in names:
            try:
                ensure_installed(name)
                print(f"peers: {name} is installed", file=sys.stderr)
            except Absent as reason:
                print(json.dumps(absent_row(name, str(reason))), flush=True)
        return 0
    if options.step == "bootstrap":
        every, work = QUICK_BOOTSTRAPS if quick() else BOOTSTRAPS, "bootstrap"
    elif options.step == "samples":
        every, work = QUICK_SAMPLES if quick() else SAMPLES, "openfhe_switching"
    elif options.step == "arrays":
        every, work = ARRAYS, "job"
    if options.step != "run":
        runs = [(name, set_name) for name, set_name in every if name in names and set_name in (options.params or sets)]
    else:
        params, work = options.params or list(QUICK_PARAMS if quick() else FULL_PARAMS), "*"
        runs = [(name, set_name) for set_name in params for name in names if name != "openfhe_numpy"]
    for row in measure(runs, options.limit, work):
        print(json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
