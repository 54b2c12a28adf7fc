"""Installs the wheels of a folder as a user would, from an index, and runs README's first program with each of them.

    python scripts/try_wheels.py dist

The index is a folder: nothing but the wheels, and NumPy's from PyPI, can be installed from it. A wheel for the other processor family
runs under qemu's user emulation, with a Python of Debian's that is unpacked beside it; where qemu or apt is missing, that wheel is
skipped, and the last line says so.
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Seconds that a step may take; emulated ones are the longest.
PATIENCE = 1200
# What Debian calls the processor families that wheels are for.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
# NumPy's wheels run on glibc from these versions on, as ours do.
PLATFORMS = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """The output of `command`, which sees no settings of pip or Python but `variables`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "CLATHRATE_"))}
    certificates = {name: value for name, value in os.environ.items() if name == "PIP_CERT"}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=kept | certificates | {"PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1"} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(str(part) for part in command)}\nended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def first_program() -> str:
    """The first Python program of the README."""
    found = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        sys.exit("README.md has no Python program")
    return found.group(1)


def make_index(folder: Path, wheels: list[Path]) -> str:
    """An index of `wheels` (PEP 503) in `folder`, and its address."""
    for wheel in wheels:
        project = folder / re.sub(r"[-_.]+", "-", wheel.name.split("-")[0]).lower()
        project.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, project)
    for project in folder.iterdir():
        links = "".join(f'<a href="{wheel.name}">{wheel.name}</a><br>\n' for wheel in sorted(project.glob("*.whl")))
        (project / "index.html").write_text(f"<!DOCTYPE html><html><body>\n{links}</body></html>\n", encoding="utf-8")
    return folder.as_uri()


def numpy_for(machine: str, version: str, folder: Path) -> list[Path]:
    """NumPy's wheel for a processor family and a version of Python, and what it needs."""
    platforms = [part for name in PLATFORMS for part in ("--platform", f"{name}_{machine}")]
    options = ["--only-binary=:all:", "--python-version", version, "--implementation", "cp", "--quiet", "--dest", str(folder)]
    run(sys.executable, "-m", "pip", "download", *options, *platforms, "numpy", cwd=folder)
    return sorted(folder.glob("*.whl"))


def check(output: str, wheel: Path) -> None:
    """Whether the program printed a small largest error."""
    error = float(output.split()[-1])
    if not 0 < error < 1e-5:
        sys.exit(f"{wheel.name}: the README's program printed {output!r}, not a small error")


def try_here(wheel: Path, folder: Path) -> None:
    """Installs `wheel` in a fresh environment, and runs the program and the command there."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    (numpy := folder / "numpy").mkdir()
    index = make_index(folder / "simple", [wheel, *numpy_for(platform.machine(), version, numpy)])
    run(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    binaries = folder / "venv" / "bin"
    run(binaries / "pip", "install", "--quiet", "--index-url", index, "clathrate", cwd=folder)
    check(run(binaries / "python", "-W", "error", "-c", first_program(), cwd=folder), wheel)
    run(binaries / "clathrate", "doctor", cwd=folder)
    listed = run(binaries / "python", "-m", "clathrate", "params", "list", cwd=folder)
    if "matmul" not in listed:
        sys.exit(f"{wheel.name}: `python -m clathrate params list` printed {listed!r}")


def emulated_python(machine: str, folder: Path) -> tuple[Path, list[str | Path]] | str:
    """A Python for another processor family and how to start it, or why there is none."""
    emulator = shutil.which(f"qemu-{machine}-static") or shutil.which(f"qemu-{machine}")
    if emulator is None:
        return f"qemu-{machine} is not installed (Debian: apt-get install qemu-user-static)"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "apt-get is not here, which brings the emulated Python"
    state, cache, root = folder / "state", folder / "cache", folder / "root"
    for path in (state / "lists" / "partial", cache / "archives" / "partial", root):
        path.mkdir(parents=True)
    (state / "status").touch()
    architecture = DEBIAN[machine]
    # Lists, packages and state of its own: the machine's own packages are not touched.
    settings = {
        "Dir::State": state,
        "Dir::State::status": state / "status",
        "Dir::Cache": cache,
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
    }
    options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    run("apt-get", *options, "--quiet", "update", cwd=folder)
    run("apt-get", *options, "--quiet", "--yes", "--download-only", "install", "python3", "libstdc++6", cwd=folder)
    for package in sorted((cache / "archives").glob("*.deb")):
        run("dpkg-deb", "--extract", package, root, cwd=folder)
    found = sorted(path for path in (root / "usr" / "bin").glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name))
    if not found:
        return "Debian's python3 brought no interpreter"
    return found[0], [emulator, "-L", root]


def try_emulated(wheel: Path, machine: str, folder: Path) -> str | None:
    """As `try_here`, under emulation; why not, if it cannot be."""
    python = emulated_python(machine, folder)
    if isinstance(python, str):
        return python
    interpreter, start = python
    version = interpreter.name.removeprefix("python")
    (numpy := folder / "numpy").mkdir()
    index = make_index(folder / "simple", [wheel, *numpy_for(machine, version, numpy)])
    options = ["--quiet", "--only-binary=:all:", "--python-version", version, "--implementation", "cp", "--index-url", index]
    platforms = [part for name in PLATFORMS for part in ("--platform", f"{name}_{machine}")]
    packages = folder / "packages"
    run(sys.executable, "-m", "pip", "install", *options, *platforms, "--target", packages, "clathrate", cwd=folder)
    where = {"PYTHONPATH": str(packages), "PYTHONHOME": str(folder / "root" / "usr")}
    check(run(*start, interpreter, "-c", first_program(), cwd=folder, **where), wheel)
    run(*start, interpreter, "-m", "clathrate", "doctor", cwd=folder, **where)
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Installs wheels from an index of their own and runs README's first program.")
    parser.add_argument("folder", type=Path, help="where the wheels are")
    wheels = sorted(parser.parse_args().folder.resolve().glob("clathrate-*.whl"))
    if not wheels:
        parser.error("no wheel of clathrate there: run `make wheels` first")
    passed, skipped = 0, []
    for wheel in wheels:
        machine = next((name for name in DEBIAN if wheel.stem.endswith(f"_{name}")), None)
        if machine is None or "manylinux" not in wheel.name:
            sys.exit(f"{wheel.name} is no manylinux wheel of {' or '.join(DEBIAN)}")
        with tempfile.TemporaryDirectory(prefix="clathrate-wheels-") as folder:
            reason = try_here(wheel, Path(folder)) if machine == platform.machine() else try_emulated(wheel, machine, Path(folder))
        if reason is None:
            passed += 1
            print(f"{wheel.name}: installed from an index, README's program and the command run")
        else:
            skipped.append(wheel.name)
            print(f"{wheel.name}: skipped, because {reason}")
    print(f"{passed} passed, 0 failed, {len(skipped)} skipped")
    if passed == 0:
        sys.exit(1)


if __name__ == "__main__":
    main()
