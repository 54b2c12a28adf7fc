#!/usr/bin/env python3
"""Copies the docstrings of the extension module into its type stubs, where editors look for them.

The docstrings are written once, as comments of the Rust code in crates/python/src. Run it with a Python that has clathrate installed:

    stub_docstrings.py           writes the docstrings into python/clathrate/_native.pyi
    stub_docstrings.py --check   compares them; exit status 1 where they differ

Only public names are covered: the docstrings of `__add__` and its like are Python's own.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import pathlib
import subprocess
import sys
from collections.abc import Iterator

STUB = pathlib.Path(__file__).resolve().parent.parent / "python/clathrate/_native.pyi"

Definition = ast.ClassDef | ast.FunctionDef


def documented(tree: ast.Module, module: object) -> Iterator[tuple[str, Definition, object]]:
    """Every public class, method, property and function of the stub: its name, its definition, and the object at run time."""

    def definitions(body: list[ast.stmt], owner: object, prefix: str) -> Iterator[tuple[str, Definition, object]]:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
                thing = inspect.getattr_static(owner, node.name)
                thing = thing.__func__ if isinstance(thing, staticmethod) else thing
                yield prefix + node.name, node, thing
                if isinstance(node, ast.ClassDef):
                    yield from definitions(node.body, thing, f"{node.name}.")

    yield from definitions(tree.body, module, "")


def runtime_docstring(name: str, thing: object) -> str:
    """The docstring of `thing`, which must have one."""
    text = inspect.getdoc(thing)
    if not text:
        raise SystemExit(f"{name} has no docstring: write a comment above it in crates/python/src")
    return text


def differences(stub: str, module: object) -> list[str]:
    """Names whose docstrings in the stub are not those at run time."""
    found = documented(ast.parse(stub), module)
    return [name for name, node, thing in found if ast.get_docstring(node) != runtime_docstring(name, thing)]


def literal(text: str, indent: str) -> str:
    """`text` as a docstring in triple quotes."""
    text = text.replace("\\", "\\\\").replace('"""', '\\"""')
    lines = text.split("\n")
    body = "\n".join([lines[0], *(indent + line if line else "" for line in lines[1:])])
    return f'{indent}"""{body}"""' if len(lines) == 1 else f'{indent}"""{body}\n{indent}"""'


def with_docstrings(stub: str, module: object) -> str:
    """The stub with the docstrings of `module`."""
    lines = stub.split("\n")
    # From the last body to the first, so that the positions of the others stay right.
    bodies = sorted(documented(ast.parse(stub), module), key=lambda found: (found[1].body[0].lineno, found[1].body[0].col_offset))
    for name, node, thing in reversed(bodies):
        first, text = node.body[0], literal(runtime_docstring(name, thing), " " * (node.col_offset + 4))
        start = first.lineno - 1
        if ast.get_docstring(node) is not None:
            lines[start : first.end_lineno] = [text]
        elif isinstance(node, ast.ClassDef):
            decorators = first.decorator_list if isinstance(first, ast.FunctionDef) else []
            lines.insert(min([start, *(decorator.lineno - 1 for decorator in decorators)]), text)
        elif lines[start][: first.col_offset].strip():
            # `def f() -> int: ...` on one line.
            lines[start] = lines[start][: first.col_offset].rstrip()
            lines.insert(start + 1, text)
        else:
            lines[start : first.end_lineno] = [text]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    arguments = parser.parse_args()

    from clathrate import _native

    stub = STUB.read_text()
    if arguments.check:
        names = differences(stub, _native)
        if names:
            raise SystemExit(f"docstrings differ from those at run time: {', '.join(names)}; run scripts/stub_docstrings.py")
        return
    STUB.write_text(with_docstrings(stub, _native))
    subprocess.run([sys.executable, "-m", "ruff", "format", "--quiet", str(STUB)], check=True)


if __name__ == "__main__":
    main()
