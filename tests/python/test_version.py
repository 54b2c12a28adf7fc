"""One version and one address of the repository, wherever they are stated."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import clathrate as cl

ROOT = Path(__file__).resolve().parents[2]


def stated(path: str, pattern: str) -> str:
    """The one place of a file that the pattern matches."""
    (found,) = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)
    return found


VERSION = stated("Cargo.toml", r'^\[workspace\.package\]\nversion = "([^"]+)"$')
REPOSITORY = stated("Cargo.toml", r'^repository = "([^"]+)"$')


def test_the_version_is_the_same_everywhere() -> None:
    assert cl.__version__ == VERSION
    assert metadata.version("clathrate") == VERSION
    assert stated("CITATION.cff", r"^version: (\S+)$") == VERSION
    # The Python package takes the version of its crate, and every crate that of the workspace.
    assert stated("pyproject.toml", r"^dynamic = (.*)$") == '["version"]'
    crates = sorted((ROOT / "crates").glob("*/Cargo.toml"))
    assert len(crates) > 5
    for crate in crates:
        assert re.findall(r"^version.*$", crate.read_text(encoding="utf-8"), re.M) == ["version.workspace = true"], crate


def test_the_newest_changes_are_those_of_the_version() -> None:
    newest = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)[0]
    assert newest == VERSION


def test_clones_are_made_of_the_repository() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.ipynb")]
    clones = [address for page in pages for address in re.findall(r"git clone (\S+)", page.read_text(encoding="utf-8"))]
    assert clones
    assert set(clones) == {REPOSITORY}


def test_the_least_version_of_python_is_the_same_everywhere() -> None:
    least = stated("pyproject.toml", r'^requires-python = ">=([\d.]+)"$')
    assert stated("README.md", r"need Python ([\d.]+) or later") == least
    assert stated("docs/tutorial.md", r"need Python ([\d.]+) or later") == least
    assert stated("requirements/dev.txt", r"Python ([\d.]+) and later") == least
    assert stated("crates/python/Cargo.toml", r"abi3-py(\d+)") == least.replace(".", "")
    assert stated("pyproject.toml", r'^target-version = "py(\d+)"$') == least.replace(".", "")
    assert stated("pyproject.toml", r'^python_version = "([\d.]+)"$') == least
