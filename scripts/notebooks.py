"""Writes the pages for newcomers as notebooks: examples/*.ipynb, a code cell for each block of Python.

    python scripts/notebooks.py            # write them
    python scripts/notebooks.py --check    # say which differ from their pages, and fail if any does

Standard library only. The tests run the blocks of the pages, which are those of the notebooks.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("tutorial", "everyday", "cookbook")
BLOCK = re.compile(r"```python\n(.*?)```\n?", re.S)


def cells_of(page: str) -> list[dict[str, Any]]:
    """The page's text and code as cells."""
    # Links to other pages and to pictures, as seen from the folder of the notebooks.
    page = re.sub(r"\]\((?![a-z]+:|#)([^)]+)\)", r"](../docs/\1)", page)
    cells: list[dict[str, Any]] = []
    for index, part in enumerate(BLOCK.split(page)):
        source = part.strip("\n").splitlines(keepends=True)
        if not source:
            continue
        cell: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{len(cells)}", "metadata": {}, "source": source}
        # Between the blocks that the pattern captures stands text.
        if index % 2 == 1:
            cell |= {"cell_type": "code", "execution_count": None, "outputs": []}
        cells.append(cell)
    return cells


def notebook(page: str) -> str:
    """A notebook as text, cells in the order of the page."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells_of(page),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    """Command line."""
    stale = []
    for name in PAGES:
        target, text = ROOT / "examples" / f"{name}.ipynb", notebook((ROOT / "docs" / f"{name}.md").read_text())
        if target.exists() and target.read_text() == text:
            continue
        stale.append(target.name)
        if "--check" not in sys.argv[1:]:
            target.write_text(text)
    if stale and "--check" in sys.argv[1:]:
        print(f"these notebooks differ from their pages: {', '.join(stale)}; run `python scripts/notebooks.py`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
