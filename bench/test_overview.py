"""Tests of the table of docs/performance.md: python3 bench/test_overview.py."""

from __future__ import annotations

import json
import re
import tempfile
import unittest
from pathlib import Path

import pytest
from overview import BEGIN, END, PAGE, Line, filled, overview


def results(folder: str, *rows: dict[str, object]) -> Path:
    """A folder with results of the name "some"."""
    about = {"cpu": "a core", "kernels": "avx2", "threads": 1, "date": "today", "commit": "abc"}
    (Path(folder) / "some.json").write_text(json.dumps({"machine": about, "rows": list(rows)}))
    return Path(folder)


def row(who: str = "clathrate", **fields: object) -> dict[str, object]:
    return {
        "work": "add",
        "params": "n14",
        "who": who,
        "median_ms": 0.12345,
        "min_ms": 0.1,
        "max_ms": 0.2,
        "runs": 3,
        "extra": {"preset": "bench_n14", "degree": 64},
    } | fields


LINE = Line("a sum", "some", "n14", "add")


class Overview(unittest.TestCase):
    """Each name reads subject_condition_expectation."""

    def test_page_is_in_step_with_the_results(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        assert page == filled(page, overview()), "run python bench/overview.py"

    def test_page_beside_the_table_has_no_times(self) -> None:
        page = PAGE.read_text(encoding="utf-8")
        beside = page.partition(BEGIN)[0] + page.partition(END)[2]
        assert re.findall(r"\d ?(?:ms|s|seconds?|milliseconds?)\b", beside) == []

    def test_lines_are_our_medians_of_their_rows(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            table = overview([LINE], results(folder, row(), row(who="other", median_ms=9.0), row(work="sub", median_ms=8.0)))
        assert "| a sum | `bench_n14` | 64 | 0.123 |" in table.splitlines()
        assert table.endswith("- [some](../bench/results/some.md): a core; kernels avx2; 1 thread; today; commit abc")
        assert table.count("| a sum |") == 1

    def test_line_without_one_row_is_refused(self) -> None:
        absent = {"work": "add", "params": "n14", "who": "clathrate", "absent": "too slow"}
        for rows in ([], [row(), row()], [row(params="n15")], [absent]):
            with (
                tempfile.TemporaryDirectory() as folder,
                pytest.raises(ValueError, match=r"results/some\.json has \d rows of clathrate for add"),
            ):
                overview([LINE], results(folder, *rows))

    def test_table_replaces_the_one_between_the_marks(self) -> None:
        assert filled(f"a\n{BEGIN}\nold\n{END}\nb\n", "new") == f"a\n{BEGIN}\n\nnew\n\n{END}\nb\n"
        for page in ("", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"):
            with pytest.raises(ValueError, match="once each"):
                filled(page, "new")


if __name__ == "__main__":
    unittest.main()
