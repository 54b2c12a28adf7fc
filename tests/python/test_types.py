"""Stubs and the extension module stay in step, and type checkers see what users get."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import clathrate as cl

HERE = Path(__file__).parent


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=HERE)


def test_stubs_say_what_the_module_has():
    pytest.importorskip("mypy")
    done = run("mypy.stubtest", "clathrate", "--allowlist", str(HERE / "stubtest_allowlist.txt"))
    assert done.returncode == 0, done.stdout


def test_usage_checks_in_strict_mode():
    pytest.importorskip("mypy")
    # Needless `type: ignore` marks are errors: what must be refused is refused.
    done = run("mypy", "--strict", str(HERE / "typing_usage.py"))
    assert done.returncode == 0, done.stdout


def test_the_package_says_it_is_typed():
    assert files("clathrate").joinpath("py.typed").is_file()


def test_everything_public_has_a_docstring():
    missing = []
    for name in cl.__all__:
        thing = getattr(cl, name)
        if name != "__version__" and not inspect.getdoc(thing):
            missing.append(name)
        if inspect.isclass(thing):
            own = [member for member in vars(thing) if not member.startswith("_")]
            missing += [f"{name}.{member}" for member in own if not inspect.getdoc(getattr(thing, member))]
    assert set(missing) <= {"Trace.needs", "Trace.inputs", "Trace.result"}


def test_raised_errors_are_documented_where_they_matter():
    for thing in (cl.SecretKey.encrypt, cl.Ciphertext.matmul, cl.Ciphertext.rescale, cl.load, cl.from_bytes, cl.Params):
        assert "Errors:" in thing.__doc__
