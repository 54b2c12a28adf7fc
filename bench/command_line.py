"""The command line that turns a file of rows into tables and plots: the same for every paper's benchmark."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def tables_and_plots(
    name: str,
    doc: str | None,
    results: Path,
    parse_rows: Callable[[str], tuple[Any, Any]],
    markdown: Callable[[Any, Any, list[str]], str],
    collect: Callable[[Any], Any],
) -> int:
    """NAME.py [FILE] [--no-plots]: writes FILE's tables beside it, and the plots of NAME_plots.py where it and matplotlib are there."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = results / f"{name}.json"
    parser.add_argument("file", nargs="?", type=Path, default=default, help=f"rows [default: bench/results/{default.name}]")
    parser.add_argument("--no-plots", action="store_true", help="tables only: needs no matplotlib")
    options = parser.parse_args()
    about, rows = parse_rows(options.file.read_text())
    if not about:
        print(f"{options.file} says nothing of its machine: let bench/run.py write it", file=sys.stderr)
        return 2
    plots: list[Path] = []
    if options.no_plots or importlib.util.find_spec(f"{name}_plots") is None:
        pass
    elif importlib.util.find_spec("matplotlib") is None:
        print("no plots: matplotlib is not installed", file=sys.stderr)
    else:
        plots = importlib.import_module(f"{name}_plots").draw(collect(rows), options.file.with_suffix(""))
    table_path = options.file.with_suffix(".md")
    table_path.write_text(markdown(about, rows, [plot.name for plot in plots]))
    for path in (table_path, *plots):
        print(path)
    return 0
