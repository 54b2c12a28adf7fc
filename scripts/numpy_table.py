#!/usr/bin/env python3
"""Writes docs/numpy.md: which functions of NumPy take encrypted arrays, what to write in place of others, and why the rest has no meaning.

numpy_table.py           writes the page
numpy_table.py --check   compares it; exit status 1 where it differs
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from pathlib import Path

import numpy as np
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

from clathrate import _numpy, _remedies

PAGE = Path(__file__).resolve().parent.parent / "docs/numpy.md"
# The modules whose functions are of arrays.
OF_ARRAYS = ("fft.", "linalg.", "lib.scimath.", "lib.stride_tricks.")
HEAD = """# NumPy's functions

What NumPy's functions do with encrypted arrays, as `scripts/numpy_table.py` finds it in the package, for NumPy {version}.
Names are those of NumPy without `np.`; functions of records, of text and of `np.polynomial` have no counterpart.
"""


def names() -> tuple[list[str], list[str]]:
    """The functions of NumPy that hand ciphertexts over, but those of records, text and polynomials, and the universal functions."""
    functions = {_numpy._name(function) for function in get_overridable_numpy_array_functions()}
    numbers = {each.__name__ for each in get_overridable_numpy_ufuncs() if getattr(np, each.__name__, None) is each}
    return sorted(name for name in functions if "." not in name or name.startswith(OF_ARRAYS)), sorted(numbers)


def works(name: str) -> bool:
    """Whether the function has a counterpart."""
    return name in {_numpy._name(function) for function in _numpy._FUNCTIONS} or name in _numpy.UNIVERSAL


def page() -> str:
    functions, universal = names()
    everything = sorted({*functions, *universal})
    found = [f"`{name}`" for name in everything if works(name)]
    rows: dict[str, list[str]] = {}
    reasons: dict[str, list[str]] = {}
    for name in everything:
        if works(name):
            continue
        text = _numpy._instead(name)
        # Functions with the same remedy share a row.
        text = text.replace(f"np.{name.rpartition('.')[2]},", "np.f,")
        groups = reasons if text in _remedies.MEANINGLESS or text == _remedies.OTHER else rows
        groups.setdefault(text, []).append(f"`{name}`")
    lines = [HEAD.format(version=".".join(np.__version__.split(".")[:2])), "## Functions that do what they say\n"]
    lines.append(textwrap.fill(", ".join(found) + ".", 120, break_on_hyphens=False) + "\n")
    lines.append("## What to write in place of others\n")
    lines += ["| function | what to do |", "| --- | --- |"]
    lines += [
        f"| {', '.join(group)} | {text.replace('|', chr(92) + '|')} |" for text, group in sorted(rows.items(), key=lambda row: row[1])
    ]
    lines += ["", "## What has no meaning for encrypted numbers\n", "| functions | why, and what to do |", "| --- | --- |"]
    lines += [f"| {', '.join(group)} | {text} |" for text, group in sorted(reasons.items(), key=lambda row: row[1])]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = page()
    if not parser.parse_args().check:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print(f"{PAGE.name} differs from what the package does: run scripts/numpy_table.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
