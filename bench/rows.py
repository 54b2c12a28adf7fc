"""Reads the rows that benchmark programs print, and writes them with the machine to bench/results/NAME.json.

Sits in bench/; standard library only. A row is {"work", "params", "who", "median_ms", "min_ms", "max_ms", "runs",
"extra"} or, where there is no number, {"work", "params", "who", "absent": reason}; see bench/README.md.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results"
OURS = "clathrate"
NUMBERS = ("median_ms", "min_ms", "max_ms", "runs")

Row = dict[str, Any]


def parse_rows(text: str) -> tuple[dict[str, Any], list[Row]]:
    """Reads a JSON list of rows, {"machine", "rows"}, or one row per line; returns the machine, if told, and the rows.

    Errors: ValueError for text that is none of these or for a row without its fields.
    """
    text = text.strip()
    try:
        document = json.loads(text) if text else []
    except json.JSONDecodeError:
        document = [json.loads(line) for line in text.splitlines() if line.strip()]
    if isinstance(document, dict):
        document = document if "rows" in document else {"rows": [document]}
        machine, rows = document.get("machine", {}), document["rows"]
    else:
        machine, rows = {}, document
    for row in rows:
        missing = [field for field in ("work", "params", "who") if not isinstance(row.get(field), str)]
        if "absent" not in row:
            missing += [field for field in NUMBERS if not isinstance(row.get(field), int | float)]
        if missing:
            raise ValueError(f"row {json.dumps(row)[:200]} lacks {', '.join(missing)}")
    return machine, rows


def parse_printed(text: str) -> tuple[dict[str, Any], list[Row]]:
    """As `parse_rows`, of a program that may have been stopped while it printed its last line."""
    try:
        return parse_rows(text)
    except ValueError:
        return parse_rows("\n".join(text.splitlines()[:-1]))


def absent_row(who: str, reason: str, params: str = "*", work: str = "*") -> Row:
    """A row that says why there is no number."""
    return {"work": work, "params": params, "who": who, "absent": reason}


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, cwd=BENCH, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def _cpu_fields() -> dict[str, str]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}


def machine() -> dict[str, Any]:
    """What the numbers were measured on: {"cpu", "kernels", "threads", "date", "commit"}."""
    cpu = _cpu_fields()
    flags = set(cpu.get("flags", "").split())
    kernels = [name for name in ("avx2", "avx512f", "avx512ifma") if name in flags]
    commit = _output("git", "rev-parse", "--short=12", "HEAD") or "unknown"
    # Results that an earlier part of the same run has written are no change of what is measured.
    changed = ("git", "status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)bench/results")
    if commit != "unknown" and _output(*changed):
        commit += "-dirty"
    name = cpu.get("model name") or platform.processor() or platform.machine()
    return {
        "cpu": f"{name} ({counted(os.cpu_count() or 1, 'core')})",
        "kernels": " ".join(kernels) or "scalar",
        "threads": 1,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit,
    }


def counted(number: int, noun: str) -> str:
    """A number of things: "1 thread", "2 threads"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def machine_line(about: dict[str, Any] | None = None) -> str:
    """One line about the machine, for the top of a table."""
    about = machine() if about is None else about
    kernels = about["kernels"] if isinstance(about["kernels"], str) else ", ".join(about["kernels"])
    line = f"{about['cpu']}; kernels {kernels}; {counted(about['threads'], 'thread')}; {about['date']}; commit {about['commit']}"
    for earlier in about.get("earlier", []):
        line += f". Measured before, on {earlier['cpu']}, {earlier['date']}, commit {earlier['commit']}: {', '.join(earlier['works'])}"
    return line


def with_earlier(rows: list[Row], about: dict[str, Any], path: Path) -> tuple[list[Row], dict[str, Any]]:
    """`rows` and those of other works in the results at `path`; `about` says when these were measured."""
    if not path.exists():
        return rows, about
    before, kept = parse_rows(path.read_text())
    measured = {row["work"] for row in rows if "work" in row}
    kept = [row for row in kept if row.get("work", "") not in measured]
    if not kept:
        return rows, about
    earlier = [dict(entry, works=[work for work in entry["works"] if work not in measured]) for entry in before.pop("earlier", [])]
    known = {work for entry in earlier for work in entry["works"]}
    works = sorted({row["work"] for row in kept if "work" in row} - known)
    described = {field: before[field] for field in ("cpu", "date", "commit")} | {"works": works}
    return [*rows, *kept], about | {"earlier": [entry for entry in [described, *earlier] if entry["works"]]}


def write_rows(path: Path, rows: list[Row], about: dict[str, Any] | None = None) -> None:
    """Writes rows, one a line, with the machine; `about` overrides fields of `machine()`."""
    described = machine() | (about or {})
    path.parent.mkdir(parents=True, exist_ok=True)
    row_lines = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text(f'{{"machine": {json.dumps(described)},\n "rows": [\n{row_lines}\n]}}\n')
