"""Tests of reading, merging and printing benchmark rows, and of the time limit: python3 bench/test_tables.py."""

from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import pytest
from limited import run_limited
from run import rows_of
from tables import absent_row, machine, machine_line, markdown, parse_rows, with_earlier, write_results


def row(work: str, who: str, median: float, params: str = "n14") -> dict[str, object]:
    """A complete row."""
    times = {"median_ms": median, "min_ms": median, "max_ms": median, "runs": 3}
    return {"work": work, "params": params, "who": who} | times | {"extra": {"log_qp": 400}}


class Tables(unittest.TestCase):
    """Each name reads subject_condition_expectation."""

    def test_rows_in_each_form_are_read_alike(self) -> None:
        rows = [row("add", "a", 1.0), absent_row("b", "no compiler")]
        lines = "\n".join(json.dumps(each) for each in rows)
        for text in (json.dumps(rows), lines, json.dumps({"machine": {"kernels": "x"}, "rows": rows})):
            assert parse_rows(text)[1] == rows
        assert parse_rows(lines.splitlines()[0])[1] == rows[:1]
        assert parse_rows("") == ({}, [])

    def test_row_without_a_time_is_refused(self) -> None:
        incomplete = row("add", "a", 1.0)
        del incomplete["median_ms"]
        with pytest.raises(ValueError, match="median_ms"):
            parse_rows(json.dumps([incomplete]))

    def test_ratio_is_ours_over_theirs(self) -> None:
        rows = [row("add", "peer", 4.0), row("add", "clathrate", 1.0)]
        assert "| n14 | add | 1.00 | 4.00 | 0.250 |" in markdown("name", machine(), rows)

    def test_absent_peer_is_listed_with_its_reason(self) -> None:
        text = markdown("name", machine(), [row("add", "clathrate", 1.0), absent_row("peer", "no compiler")])
        assert "| peer | * | * | no compiler |" in text
        assert "| n14 | add | 1.00 | - | - |" in text

    def test_table_starts_with_the_machine_line(self) -> None:
        about = machine()
        assert markdown("name", about, []).splitlines()[2] == machine_line(about)

    def test_machine_line_counts_one_thread_in_the_singular(self) -> None:
        about = machine()
        assert "; 1 thread; " in machine_line(about)
        assert "; 2 threads; " in machine_line(about | {"threads": 2})

    def test_rows_of_other_works_are_kept_with_their_date_and_commit(self) -> None:
        first = {"cpu": "one", "date": "monday", "commit": "c1"}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "name.json"
            assert with_earlier([row("a", "p", 1.0)], {}, path) == ([row("a", "p", 1.0)], {})
            write_results("name", [row("a", "p", 1.0), row("b", "p", 1.0)], first, Path(folder))
            rows, about = with_earlier([row("a", "p", 2.0)], {"date": "tuesday"}, path)
            assert [(kept["work"], kept["median_ms"]) for kept in rows] == [("a", 2.0), ("b", 1.0)]
            assert about["earlier"] == [first | {"works": ["b"]}]
            write_results("name", rows, about, Path(folder))
            assert "Measured before, on one, monday, commit c1: b" in (Path(folder) / "name.md").read_text()
            _, third = with_earlier([row("c", "p", 1.0)], {}, path)
        assert [entry["works"] for entry in third["earlier"]] == [["a"], ["b"]]

    def test_written_results_are_read_back(self) -> None:
        rows = [row("add", "a", 1.0), absent_row("b", "why")]
        with tempfile.TemporaryDirectory() as folder:
            path, _ = write_results("name", rows, {"kernels": "told"}, Path(folder))
            about, back = parse_rows(path.read_text())
        assert back == rows
        assert about["kernels"] == "told"
        assert set(about) == {"cpu", "kernels", "threads", "date", "commit"}

    def test_program_over_its_limit_keeps_its_rows_and_is_reported(self) -> None:
        printed = json.dumps(row("add", "a", 1.0)) + '\n{"work": "cut o'
        script = f"import time; print({printed!r}, end='', flush=True); time.sleep(60)"
        _, rows = rows_of("a", [sys.executable, "-c", script], 2.0)
        assert rows[0]["work"] == "add"
        assert "stopped after 2 s" in rows[1]["absent"]

    def test_program_that_fails_or_is_missing_is_reported(self) -> None:
        assert run_limited([sys.executable, "-c", "exit(3)"], 20.0) == ("", "exit status 3")
        assert "cannot start" in run_limited(["/no/such/program"], 20.0)[1]
        assert "no time left" in run_limited([sys.executable], 0.0)[1]


if __name__ == "__main__":
    unittest.main()
