"""Rows are read, merged and written, programs are run as pages declare and within their limits, and docs/performance.md is in step."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import openblas
import pytest
from limited import run_limited
from overview import BEGIN, END, PAGE, filled, overview
from report import Page, number, pages
from rows import Row, absent_row, machine, machine_line, parse_rows, with_earlier, write_rows
from run import OURS, measured, name_of, now, rows_of, steps

ABOUT = {"cpu": "a core", "kernels": "avx2", "threads": 1, "date": "today", "commit": "abc"}


def row(work: str = "add", who: str = "clathrate", median: float = 0.12345, **more: Any) -> Row:
    """A complete row."""
    times = {"median_ms": median, "min_ms": median, "max_ms": median, "runs": 3}
    return {"work": work, "params": "n14", "who": who, **times, "extra": {"preset": "bench_n14", "degree": 64}} | more


def test_rows_in_each_form_are_read_alike() -> None:
    rows = [row(), absent_row("b", "no compiler")]
    lines = "\n".join(json.dumps(each) for each in rows)
    for text in (json.dumps(rows), lines, json.dumps({"machine": {"kernels": "x"}, "rows": rows})):
        assert parse_rows(text)[1] == rows
    assert parse_rows(lines.splitlines()[0])[1] == rows[:1]
    assert parse_rows("") == ({}, [])


@pytest.mark.parametrize("field", ["work", "params", "who", "median_ms", "min_ms", "max_ms", "runs"])
def test_row_without_a_name_or_a_time_is_refused(field: str) -> None:
    incomplete = {name: value for name, value in row().items() if name != field}
    with pytest.raises(ValueError, match=field):
        parse_rows(json.dumps([incomplete]))


def test_written_rows_are_read_back_with_their_machine(tmp_path: Path) -> None:
    rows = [row(), absent_row("b", "why")]
    write_rows(tmp_path / "name.json", rows, {"kernels": "told"})
    about, back = parse_rows((tmp_path / "name.json").read_text())
    assert (back, about["kernels"], set(about)) == (rows, "told", set(ABOUT))


def test_machine_line_counts_threads_and_names_earlier_works() -> None:
    assert machine_line(ABOUT) == "a core; kernels avx2; 1 thread; today; commit abc"
    assert "; 2 threads; " in machine_line(machine() | {"threads": 2})
    earlier = [{"cpu": "one", "date": "monday", "commit": "c1", "works": ["b"]}]
    assert machine_line(ABOUT | {"earlier": earlier}).endswith(". Measured before, on one, monday, commit c1: b")


def test_rows_of_other_works_are_kept_with_their_date_and_commit(tmp_path: Path) -> None:
    first, path = {"cpu": "one", "date": "monday", "commit": "c1"}, tmp_path / "name.json"
    assert with_earlier([row("a")], {}, path) == ([row("a")], {})
    write_rows(path, [row("a"), row("b")], first)
    rows, about = with_earlier([row("a", median=2.0)], {"date": "tuesday"}, path)
    assert [(kept["work"], kept["median_ms"]) for kept in rows] == [("a", 2.0), ("b", 0.12345)]
    assert about["earlier"] == [first | {"works": ["b"]}]
    write_rows(path, rows, about)
    assert [entry["works"] for entry in with_earlier([row("c")], {}, path)[1]["earlier"]] == [["a"], ["b"]]


@pytest.mark.parametrize(("value", "shown"), [(0, "0"), (0.01234, "0.0123"), (1.234, "1.23"), (12.34, "12.3"), (1234.5, "1234")])
def test_numbers_have_three_digits_and_no_exponent(value: float, shown: str) -> None:
    assert number(value) == shown


def test_program_over_its_limit_keeps_its_rows_and_is_reported() -> None:
    printed = json.dumps(row()) + '\n{"work": "cut o'
    script = f"import time; print({printed!r}, end='', flush=True); time.sleep(60)"
    _, rows = rows_of("a", [sys.executable, "-c", script], 2.0)
    assert rows[0]["work"] == "add"
    assert "stopped after 2 s" in rows[1]["absent"]


def test_program_that_fails_or_is_missing_is_reported() -> None:
    assert run_limited([sys.executable, "-c", "exit(3)"], 20.0) == ("", "exit status 3")
    assert "cannot start" in run_limited(["/no/such/program"], 20.0)[1]
    assert "no time left" in run_limited([sys.executable], 0.0)[1]
    assert rows_of("a", [sys.executable, "-c", "pass"], 20.0)[1] == [absent_row("a", "printed no rows")]
    assert "unreadable rows" in rows_of("a", [sys.executable, "-c", "print('no\\nrows')"], 20.0)[1][0]["absent"]


def test_programs_share_a_total_that_shrinks_in_a_quick_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    step = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setenv("QUICK", "1")
    mark = tmp_path / "installed"
    install = ("", 0.0, [sys.executable, "-c", f"open({str(mark)!r}, 'w')"])
    _, rows = measured([install, ("a", 7.5, step), ("b", 750.0, step)], 15.0)
    assert mark.exists()
    # 15 s are 2 in a quick run, of which the first program has one and the second what is left.
    assert rows[0]["absent"] == "stopped after 1 s"
    assert rows[1]["absent"] in ("stopped after 1 s", "stopped after 0 s", "no time left for it in this run")


@pytest.mark.parametrize("quick", ["0", "1"])
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_declared_steps_are_commands_within_the_total(page: Page, quick: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUICK", quick)
    runs = [run for run in page.declared["run"] if now(run)]
    assert runs
    for run in runs:
        found = steps(run)
        assert any(who for who, _, _ in found)
        for who, seconds, command in found:
            assert bool(who) == (seconds > 0)
            assert seconds <= run["total"]
            assert "{" not in " ".join(command)
            assert command[0] in (OURS, sys.executable, "cat")


def test_a_quick_run_has_results_and_steps_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def declared(name: str) -> dict[str, list[str]]:
        page = Page(name)
        return {
            name_of(page, run): [" ".join(command[1:]) for _, _, command in steps(run, "cuda")] for run in page.declared["run"] if now(run)
        }

    monkeypatch.setenv("QUICK", "0")
    presets = ["boot_n15", "boot_fast", "boot_fast_64", "boot_default", "boot_small", "boot_precise"]
    assert [command.split()[-1] for command in declared("bootstrap")["bootstrap"] if "--preset" in command] == presets
    assert list(declared("hermes")) == ["hermes", "hermes-openfhe"]
    assert declared("hermes")["hermes-openfhe"][0] == "bench/peers/run.py install --peer openfhe"
    monkeypatch.setenv("QUICK", "1")
    assert declared("bootstrap") == {"bootstrap-quick": ["--set stream,ntt,bootstrap"]}
    assert list(declared("hermes")) == ["hermes-quick"]
    assert list(declared("ckks")) == ["ntt", "product", "ckks"]
    assert declared("gpu") == {"gpu-quick": ["--set device --device cuda"]}
    assert declared("matrix")["matrix-quick"][0] == "bench/openblas.py 16 64 256"


def test_numpy_is_timed() -> None:
    found = openblas.row(8)
    assert (found["work"], found["median_ms"] > 0) == ("openblas", True)


def test_overview_is_in_step_with_the_results_and_has_all_times_of_its_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == filled(page, overview()), "run python bench/overview.py"
    beside = page.partition(BEGIN)[0] + page.partition(END)[2]
    assert re.findall(r"\d ?(?:ms|s|seconds?|milliseconds?)\b", beside) == []


def overview_of(folder: Path, *rows: Row) -> str:
    """The overview with one line of results with these rows."""
    (folder / "some.json").write_text(json.dumps({"machine": ABOUT, "rows": list(rows)}))
    return overview([("a sum", "some", "n14", "add")], folder)


def test_lines_of_the_overview_are_our_medians_of_their_rows(tmp_path: Path) -> None:
    table = overview_of(tmp_path, row(), row(who="other", median=9.0), row("sub", median=8.0))
    assert "| a sum | `bench_n14` | 64 | 0.123 |" in table.splitlines()
    assert table.endswith(f"- [some](../bench/results/some.md): {machine_line(ABOUT)}")
    assert table.count("| a sum |") == 1


@pytest.mark.parametrize("rows", [[], [row(), row()], [row(params="n15")], [absent_row("clathrate", "too slow", "n14", "add")]])
def test_line_of_the_overview_without_one_row_is_refused(rows: list[Row], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"results/some\.json has \d rows of clathrate for add"):
        overview_of(tmp_path, *rows)


def test_overview_replaces_the_table_between_its_marks() -> None:
    assert filled(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb\n"
    for page in ("", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"):
        with pytest.raises(ValueError, match="once each"):
            filled(page, "new")
