"""Runs the programs of a page one after the other and writes its results: rows, tables and plots.

    python bench/run.py keyswitch             # as `make bench SET=keyswitch`
    python bench/run.py keyswitch --pages     # measures nothing: writes the page again from its rows; without a name, all pages
    python bench/run.py matrix --keep --part clathrate 600 "target/release/clathrate-bench --set matrix --only matrix_own"

Sits in bench/ above report.py; bench/pages/PAGE.toml says which programs run, with which time limits. Each program prints rows (see
bench/rows.py) on standard output. With QUICK=1 in the environment, which the programs read too, the time limits shrink from a total of 15
minutes to one of 2, other totals likewise, and results have names of their own. A program that fails or runs out of time keeps the rows
that it printed and adds one that says so.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from typing import Any

from limited import ROOT, quick, run_limited
from report import Page, pages, write_page
from rows import RESULTS, Row, absent_row, parse_printed, with_earlier, write_rows

TOTAL_SECONDS, QUICK_SECONDS = 900.0, 120.0
OURS = "target/release/clathrate-bench"

Step = tuple[str, float, list[str]]


def now(declared: dict[str, Any]) -> bool:
    """Whether a run or step belongs to a run of this length."""
    return declared.get("when", "") in ("", "quick" if quick() else "not quick")


def words(command: str, **more: str) -> list[str]:
    """A declared command, with what stands in it for the programs."""
    python = shlex.quote(sys.executable)
    return shlex.split(command.format(python=python, ours=OURS, peers=f"{python} bench/peers/run.py", **more))


def steps(run: dict[str, Any], device: str = "") -> list[Step]:
    """Who prints rows, seconds and command of each step; a step that says nobody's rows comes first and has no limit."""
    found: list[Step] = []
    for step in filter(now, run["steps"]):
        for preset in run["presets"] if "{preset}" in step["command"] else [""]:
            more = {"preset": preset, "only": run.get("only", ""), "device": f"--device {device}" if device else ""}
            found.append((step.get("who", ""), float(step.get("seconds", 0)), words(step["command"], **more)))
    return sorted(found, key=lambda step: step[0] != "")


def name_of(page: Page, run: dict[str, Any]) -> str:
    """The name of a run's results."""
    return str(run.get("results", page.name)) + ("-quick" if quick() and not run.get("same_when_quick") else "")


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


def measured(parts: list[Step], total: float) -> tuple[dict[str, Any], list[Row]]:
    """The machine, if a program tells, and the rows of all programs within a time limit."""
    about: dict[str, Any] = {}
    rows: list[Row] = []
    scale = QUICK_SECONDS / TOTAL_SECONDS if quick() else 1.0
    deadline = 0.0
    for who, limit, command in parts:
        if not who:
            subprocess.run(command, cwd=ROOT, check=True)
            continue
        deadline = deadline or time.monotonic() + total * scale
        seconds = min(limit * scale, deadline - time.monotonic())
        print(f"bench: {who}, at most {max(seconds, 0):.0f} s: {shlex.join(command)}", file=sys.stderr, flush=True)
        part_about, part_rows = rows_of(who, command, seconds)
        about |= part_about
        rows += part_rows
    return about, rows


def main() -> int:
    """Command line: run.py [PAGE] [options]."""
    known = {page.name: page for page in pages()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", nargs="?", choices=known, help="bench/pages/PAGE.toml")
    parser.add_argument("--device", default="", help="passed on to programs that measure devices")
    parser.add_argument(
        "--part", nargs=3, action="append", metavar=("WHO", "SECONDS", "COMMAND"), help="a program, in place of the declared"
    )
    parser.add_argument("--keep", action="store_true", help="keep rows of works that are not measured, with the date and commit of theirs")
    parser.add_argument("--pages", action="store_true", help="measure nothing, write pages from rows that are there")
    parser.add_argument("--no-plots", action="store_true", help="tables only: needs no matplotlib")
    options = parser.parse_args()
    if not (options.page or options.pages):
        parser.error("which page? " + ", ".join(known))
    for page in [known[options.page]] if options.page else known.values():
        for run in filter(now, page.declared["run"]):
            if options.part and run.get("results", page.name) != page.name:
                continue
            path = RESULTS / f"{name_of(page, run)}.json"
            if not options.pages:
                parts = [(who, float(seconds), shlex.split(command)) for who, seconds, command in options.part or []]
                about, rows = measured(parts or steps(run, options.device), run["total"])
                if options.keep:
                    rows, about = with_earlier(rows, about, path)
                write_rows(path, rows, about)
            if path.exists():
                written = write_page(path, not options.no_plots)
                print(*(file.relative_to(ROOT) for file in (path, *written)), sep="\n", file=sys.stderr)
                if run.get("print") and not options.pages:
                    print(written[0].read_text())
            if "after" in run:
                subprocess.run(words(run["after"]), cwd=ROOT, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
