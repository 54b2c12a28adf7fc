"""Merges benchmark rows of several programs into bench/results/NAME.json and the Markdown table made from it.

Sits in bench/; standard library only. A row is {"work", "params", "who", "median_ms", "min_ms", "max_ms", "runs",
"extra"} or, where there is no number, {"work", "params", "who", "absent": reason}; see bench/README.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
RESULTS = BENCH / "results"
OURS = "clathrate"
NUMBERS = ("median_ms", "min_ms", "max_ms", "runs")
CHAIN = ("log_qp", "log_q", "special_primes", "digits", "key_gib", "version")

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


def rows_of(rows: Iterable[Row], needed: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows of these works, each with the fields of `extra` that its work needs, and those that say why there is no number.

    Errors: ValueError for a row that lacks a field.
    """
    found = [row for row in rows if row["work"] in needed or "absent" in row]
    for row in found:
        if "absent" not in row and (lacking := [name for name in needed[row["work"]] if name not in row["extra"]]):
            raise ValueError(f"a row of {row['params']} lacks {', '.join(lacking)}")
    return found


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


def number(value: float) -> str:
    """Three significant digits without an exponent: 0.0123, 1.23, 12.3, 1234."""
    if value == 0:
        return "0"
    decimals = 0
    while decimals < 6 and abs(value) * 10**decimals < 100:
        decimals += 1
    return f"{value:.{decimals}f}"


def rows_of_works(rows: Iterable[Row], needed: Mapping[str, Sequence[str]]) -> list[Row]:
    """The rows of these works, and those that say why the rest of a run has none; `needed` says which fields of `extra` a work has.

    Errors: ValueError for a row that lacks a field.
    """
    found = [row for row in rows if row["work"] in needed or (row["work"] == "*" and "absent" in row)]
    for row in found:
        if "absent" not in row and (lacking := [name for name in needed[row["work"]] if name not in row["extra"]]):
            raise ValueError(f"a row of {row['params']} lacks {', '.join(lacking)}")
    return found


def cell(value: float | None) -> str:
    """A number for a table; "-" where there is none."""
    return "-" if value is None else number(value)


def ratio(over: float | None, under: float | None) -> str:
    """A quotient for a table; "-" where a number is missing."""
    return "-" if over is None or not under else number(over / under)


def missing(row: Row) -> str:
    """What has no number."""
    return ", ".join(name for name in (row["work"], row["params"]) if name != "*") or "the rest of a run"


def unique(values: Iterable[str]) -> list[str]:
    """Each value once, in the order of first appearance."""
    return list(dict.fromkeys(values))


def grid(heads: list[str], body: list[list[str]]) -> list[str]:
    """The lines of a Markdown table."""
    lines = [heads, ["---"] * len(heads), *body]
    return ["| " + " | ".join(line) + " |" for line in lines]


def paper_table(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table of a paper, with its own columns."""
    names = list(rows[0])
    return grid([name.replace("_", " ") for name in names], [[str(row.get(name, "")) for name in names] for row in rows])


def markdown(name: str, about: dict[str, Any], rows: list[Row]) -> str:
    """The table of a result: works x parameter sets down, libraries across, then ratios, absences and chains."""
    peers = [who for who in unique(row["who"] for row in rows) if who != OURS]
    columns = ([OURS] if any(row["who"] == OURS for row in rows) else []) + peers
    measured = {(row["params"], row["work"], row["who"]): row for row in rows if "absent" not in row}
    params_order = unique(row["params"] for row in rows if row["params"] != "*")
    work_order = unique(row["work"] for row in rows if row["work"] != "*")
    lines = [f"# {name}", "", machine_line(about), ""]
    lines += [
        f"Medians in milliseconds. `{OURS} / X` below 1 means that {OURS} is faster. `-`: absent, see below.",
        "",
    ]
    body: list[list[str]] = []
    for params in params_order:
        for work in work_order:
            cells = [measured.get((params, work, who)) for who in columns]
            if not any(cells):
                continue  # nobody has a number: the list of absences says why
            ours = measured.get((params, work, OURS))
            ratios = []
            for who in peers:
                theirs = measured.get((params, work, who))
                comparable = ours is not None and theirs is not None and theirs["median_ms"] > 0
                ratios.append(f"{ours['median_ms'] / theirs['median_ms']:.3f}" if comparable and ours and theirs else "-")
            body.append([params, work, *(number(cell["median_ms"]) if cell else "-" for cell in cells), *ratios])
    heads = ["params", "work", *columns, *(f"{OURS} / {who}" for who in peers)]
    lines += grid(heads, body)
    absent = [row for row in rows if "absent" in row]
    if absent:
        lines += ["", "## Absent", ""]
        lines += grid(
            ["who", "params", "work", "reason"],
            [[row["who"], row["params"], row["work"], str(row["absent"]).replace("|", "/")] for row in absent],
        )
    chains: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        extra = row.get("extra") or {}
        if row["params"] != "*" and any(field in extra for field in CHAIN if field != "version"):
            chains.setdefault((row["params"], row["who"]), {}).update(extra)
    if chains:
        lines += ["", "## Parameters as each library has them", ""]
        ordered = sorted(chains, key=lambda key: (params_order.index(key[0]), columns.index(key[1])))
        lines += grid(
            ["params", "who", "log QP", "usable log Q", "special primes", "digits", "GiB per key", "version"],
            [[params, who, *(str(chains[params, who].get(field, "-")) for field in CHAIN)] for params, who in ordered],
        )
    notes = unique(f"{row['who']}, {row['work']}: {row['extra']['note']}" for row in rows if "note" in (row.get("extra") or {}))
    if notes:
        lines += ["", "## Notes", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"


def write_results(name: str, rows: list[Row], about: dict[str, Any] | None = None, directory: Path = RESULTS) -> tuple[Path, Path]:
    """Writes NAME.json and NAME.md; `about` overrides fields of `machine()`. Returns both paths."""
    described = machine() | (about or {})
    directory.mkdir(parents=True, exist_ok=True)
    json_path, table_path = directory / f"{name}.json", directory / f"{name}.md"
    row_lines = ",\n".join("  " + json.dumps(row) for row in rows)
    json_path.write_text(f'{{"machine": {json.dumps(described)},\n "rows": [\n{row_lines}\n]}}\n')
    table_path.write_text(markdown(name, described, rows))
    return json_path, table_path


def main() -> int:
    """Command line: tables.py NAME FILE [FILE ...]."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="results are written to bench/results/NAME.json and NAME.md")
    parser.add_argument("files", nargs="+", type=Path, help="JSON files of rows")
    options = parser.parse_args()
    about: dict[str, Any] = {}
    rows: list[Row] = []
    for file in options.files:
        part_machine, part_rows = parse_rows(file.read_text())
        about |= part_machine
        rows += part_rows
    for path in write_results(options.name, rows, about):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
