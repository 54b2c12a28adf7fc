#!/usr/bin/env python3
"""Writes the type stub of the extension module, `python/clathrate/_native.pyi`: the signatures that its Rust code states.

The methods of the extension take every argument and have no docstrings: defaults, documentation and narrower types are those of the
classes in python/clathrate, which call them.

    stub.py           writes the stub
    stub.py --check   compares it; exit status 1 where it differs
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates/python/src"
STUB = ROOT / "python/clathrate/_native.pyi"

HEADER = '''"""The signatures of the extension module, written by scripts/stub.py."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, SupportsIndex, final

import numpy as np
from numpy.typing import NDArray

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

__version__: str
'''

# Types of arguments and results that are not classes of the extension. What a type of the extension reads from several kinds of objects is
# checked where it is read, and typed in the package.
PLAIN = {
    "()": "None",
    "bool": "bool",
    "f64": "float",
    "str": "str",
    "String": "str",
    "OsString": "str",
    "PathBuf": "Path",
    "FilePath": "_Path",
    "Whole": "SupportsIndex",
    "Wholes": "Sequence[SupportsIndex]",
    "Real": "float",
    "Reals": "Sequence[float]",
    "PyAny": "Any",
    "PyBytes": "bytes",
    "PyDict": "dict[Any, Any]",
    "PyTuple": "tuple[Any, ...]",
    **dict.fromkeys(("i64", "isize", "u8", "u32", "u64", "usize"), "int"),
    **dict.fromkeys(("Axes", "LaneCount", "Readable", "SegmentOption", "Steps", "SwitchingOption"), "Any"),
}
# Python itself takes the operands of these by position.
OPERATOR = re.compile(r"__\w+__")


@dataclass
class Function:
    """A function or method as Rust code states it: attributes, arguments with their types, and the type of the result."""

    name: str
    attributes: str
    arguments: list[tuple[str, str]]
    result: str

    @property
    def python_name(self) -> str:
        renamed = re.search(r'pyo3\(name = "(\w+)"\)', self.attributes)
        return renamed[1] if renamed else "__new__" if "#[new]" in self.attributes else self.name


@dataclass
class Sources:
    """What the Rust code states: the classes by their Rust names, their methods, functions, and other names of types."""

    classes: dict[str, str] = field(default_factory=dict)
    methods: dict[str, list[Function]] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls) -> Sources:
        found = cls()
        for path in sorted(SOURCES.rglob("*.rs")):
            text = re.sub(r"^\s*//.*\n", "", path.read_text(), flags=re.M)
            found.aliases |= dict(re.findall(r"^(?:pub )?type (\w+)(?:<[^>]*>)? = ([^;]*);", text, re.M))
            for attributes, name in re.findall(r"#\[pyclass\(([^\]]*)\)\]\n(?:#\[[^\n]*\n)*pub struct (\w+)", text):
                found.classes[name] = re.findall(r'name = "(\w+)"', attributes)[0]
            for name, block in re.findall(r"^#\[pymethods\]\nimpl (\w+) \{\n(.*?)^\}", text, re.M | re.S):
                found.methods.setdefault(name, []).extend(functions(block, "    "))
            found.functions += [each for each in functions(text, "") if "#[pyfunction]" in each.attributes]
        return found

    def python_type(self, rust: str, owner: str, argument: bool) -> str:
        """The type that Python has for one of Rust."""

        def inner(part: str) -> str:
            return self.python_type(part, owner, argument)

        rust = re.sub(r"'\w+ |'\w+, |'static |mut ", "", rust.strip()).removeprefix("&").strip()
        if rust in PLAIN:
            return PLAIN[rust]
        if rust == "Self":
            return self.classes[owner]
        if rust in self.classes:
            return self.classes[rust]
        if rust.startswith("(") and rust.endswith(")"):
            return f"tuple[{', '.join(map(inner, parts(rust[1:-1])))}]"
        if rust.startswith("["):
            return "bytes" if rust == "[u8]" else f"Sequence[{inner(rust[1:-1])}]"
        name, _, rest = rust.partition("<")
        if name in self.aliases:
            return inner(self.aliases[name])
        if name in PLAIN:
            return PLAIN[name]
        within = parts(rest.removesuffix(">"))
        if name in ("Bound", "Py", "PyResult", "PyRef"):
            return inner(within[-1])
        if name == "Option":
            return f"{inner(within[0])} | None"
        if name == "Vec":
            return f"{'Sequence' if argument else 'list'}[{inner(within[0])}]"
        if name == "BTreeMap":
            return f"dict[{inner(within[0])}, {inner(within[1])}]"
        if name.startswith("PyArray"):
            return "NDArray[np.float64]"
        raise SystemExit(f"no Python type for `{rust}`: scripts/stub.py states them")

    def signature(self, function: Function, owner: str, first: str) -> str:
        """`(arguments) -> result`."""
        star = "*" if "signature = (*" in function.attributes else ""
        typed = [f"{star}{name}: {'Any' if star else self.python_type(kind, owner, True)}" for name, kind in function.arguments]
        if OPERATOR.fullmatch(function.python_name) and function.python_name != "__new__" and typed:
            typed.append("/")
        return f"({', '.join(filter(None, [first, *typed]))}) -> {self.python_type(function.result, owner, False)}"

    def members(self, owner: str) -> Iterator[str]:
        for method in sorted(self.methods.get(owner, []), key=lambda method: method.python_name):
            name = method.python_name
            if "#[getter]" in method.attributes:
                yield "    @property"
            if "#[staticmethod]" in method.attributes:
                yield "    @staticmethod"
            first = "" if "#[staticmethod]" in method.attributes else "cls" if name == "__new__" else "self"
            yield f"    def {name}{self.signature(method, owner, first)}: ..."

    def stub(self) -> str:
        """The whole stub."""
        names = sorted([*self.classes.values(), *(function.name for function in self.functions), "__version__"])
        lines = [HEADER, f"__all__ = {names!r}", ""]
        for owner, name in sorted(self.classes.items(), key=lambda pair: pair[1]):
            lines += ["@final", f"class {name}:", *(list(self.members(owner)) or ["    ..."]), ""]
        for function in sorted(self.functions, key=lambda function: function.name):
            lines.append(f"def {function.name}{self.signature(function, '', '')}: ...")
        return formatted("\n".join(lines) + "\n")


def parts(text: str) -> list[str]:
    """What commas part outside of brackets."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<([") - (letter in ">)]" and text[place - 1] != "-")
        if letter == "," and depth == 0:
            found.append(text[start:place])
            start = place + 1
    return [part.strip() for part in [*found, text[start:]] if part.strip()]


def functions(block: str, indent: str) -> Iterator[Function]:
    """The functions that are stated at this indentation."""
    pattern = rf"^((?:{indent}#\[[^\n]*\n)*){indent}(?:pub(?:\(\w+\))? )?fn (\w+)(?:<[^>]*>)?\("
    for found in re.finditer(pattern, block, re.M):
        end = closing(block, found.end() - 1)
        result = re.match(r"\s*(?:->\s*([^{]*?))?\s*\{", block[end + 1 :])
        arguments = [tuple(part.split(":", 1)) for part in parts(block[found.end() : end]) if ":" in part]
        named = [(name.strip(), kind.strip()) for name, kind in arguments]
        own = [(name, kind) for name, kind in named if not kind.startswith("Python<") and name != "slf"]
        yield Function(found[2], found[1], own, (result and result[1]) or "()")


def closing(text: str, start: int) -> int:
    """Where the bracket closes that opens at `start`."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place
    raise ValueError("a bracket stays open")


def formatted(text: str) -> str:
    """The text as `ruff format` has it."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(STUB), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()

    stub = Sources.read().stub()
    if not arguments.check:
        STUB.write_text(stub)
    elif STUB.read_text() != stub:
        raise SystemExit("the stub of the extension is not what its code states: run scripts/stub.py")


if __name__ == "__main__":
    main()
