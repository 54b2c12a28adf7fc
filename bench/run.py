"""Runs the programs of one benchmark one after the other and writes its results.

Sits in bench/; standard library only; knows nothing of what the programs measure. Example:

    python3 bench/run.py ckks --part clathrate 240 "target/release/clathrate-bench" \
                              --part peers 600 "python3 bench/peers/run.py run"

Each program prints rows (see bench/tables.py) on standard output. With QUICK=1 in the environment, which the programs
read too, the time limits shrink from a total of 15 minutes to one of 2, other totals likewise. A program that fails or
runs out of time keeps the rows it printed and adds one that says so.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path
from typing import Any

from limited import quick, run_limited
from tables import RESULTS, Row, absent_row, parse_printed, with_earlier, write_results

ROOT = Path(__file__).resolve().parent.parent
TOTAL_SECONDS = 900.0
QUICK_SECONDS = 120.0


def rows_of(who: str, command: list[str], seconds: float) -> tuple[dict[str, Any], list[Row]]:
    """Rows of one program, with an absent row for what went wrong."""
    output, problem = run_limited(command, seconds)
    try:
        about, rows = parse_printed(output)
    except ValueError as malformed:
        about, rows = {}, []
        problem = problem or f"unreadable rows: {malformed}"
    if problem or not rows:
        rows = [*rows, absent_row(who, problem or "printed no rows")]
    return about, rows


def main() -> int:
    """Command line: run.py NAME --part WHO SECONDS COMMAND [--part ...]."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="results are written to bench/results/NAME.json and NAME.md")
    parser.add_argument("--part", nargs=3, action="append", required=True, metavar=("WHO", "SECONDS", "COMMAND"), help="a program")
    parser.add_argument(
        "--total", type=float, default=TOTAL_SECONDS, metavar="SECONDS", help="time for all programs [default: %(default)g]"
    )
    parser.add_argument("--print", action="store_true", help="print the table too")
    parser.add_argument("--keep", action="store_true", help="keep rows of works that are not measured, with the date and commit of theirs")
    options = parser.parse_args()
    total = options.total * QUICK_SECONDS / TOTAL_SECONDS if quick() else options.total
    scale = total / options.total
    deadline = time.monotonic() + total
    about: dict[str, Any] = {}
    rows: list[Row] = []
    for who, limit, command in options.part:
        seconds = min(float(limit) * scale, deadline - time.monotonic())
        print(f"bench: {who}, at most {max(seconds, 0):.0f} s: {command}", file=sys.stderr, flush=True)
        part_about, part_rows = rows_of(who, shlex.split(command), seconds)
        about |= part_about
        rows += part_rows
    if options.keep:
        rows, about = with_earlier(rows, about, RESULTS / f"{options.name}.json")
    json_path, table_path = write_results(options.name, rows, about)
    if options.print:
        print(table_path.read_text())
    print(f"bench: wrote {json_path.relative_to(ROOT)} and {table_path.relative_to(ROOT)}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
