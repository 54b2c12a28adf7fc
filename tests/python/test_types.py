"""Stubs and the extension module stay in step, and type checkers see what users get."""

from __future__ import annotations

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

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
