"""Pages are what their declarations make of rows: the committed ones again, and cells that are computed here by hand from invented rows."""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from report import Page, Results, markdown, page_of, pages, write_page
from rows import BENCH, RESULTS, Row, absent_row, machine_line, parse_rows

DATA = BENCH / "test_data"
PLOTS = importlib.util.find_spec("matplotlib") is not None
ABOUT = {"cpu": "FIXTURE: every number is invented", "kernels": "none", "threads": 1, "date": "2000-01-01", "commit": "none"}
NAMES = sorted(path.stem for path in RESULTS.glob("*.json") if not path.stem.endswith("-quick"))


@functools.cache
def committed(name: str) -> tuple[dict[str, Any], list[Row]]:
    """The machine and the rows of committed results."""
    return parse_rows((RESULTS / f"{name}.json").read_text())


def rows_of(page: Page) -> list[Row]:
    """The rows of all committed results of a page, which tests may change."""
    return copy.deepcopy([row for run in page.declared["run"] for row in committed(run.get("results", page.name))[1]])


def row(work: str, ms: float = 1.0, params: str = "some", who: str = "clathrate", absent: str = "", **extra: Any) -> Row:
    """A complete row, or one that says why there is no number."""
    if absent:
        return absent_row(who, absent, params, work)
    return {"work": work, "params": params, "who": who, "median_ms": ms, "min_ms": ms, "max_ms": ms, "runs": 3, "extra": extra}


def invented(name: str) -> list[Row]:
    """The rows of a page in which every number is invented."""
    return [row(**fields) for fields in json.loads((DATA / "invented.json").read_text())[name]]


def changed(found: Row, **extra: Any) -> Row:
    """A row with other fields of `extra`."""
    return found | {"extra": found["extra"] | extra}


def written(name: str, rows: list[Row]) -> str:
    """The page of results with these rows."""
    return markdown(page_of(name), name, ABOUT, rows)


def tables(page: str) -> list[list[list[str]]]:
    """The cells of each table, heads first."""
    blocks = [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]
    return [[line[2:-2].split(" | ") for line in lines if not line.startswith("| ---")] for lines in blocks]


def expected() -> list[tuple[str, str]]:
    """Pages, and lines that they must have."""
    sections = [section.splitlines() for section in (DATA / "expected.txt").read_text().split("\n== ")[1:]]
    return [(name, line) for name, *lines in sections for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize(("name", "line"), expected())
def test_page_of_invented_rows_has_this_line(name: str, line: str) -> None:
    assert line in written(name, invented(name)).splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_page_and_plots_are_those_of_the_rows(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.json").write_text((RESULTS / f"{name}.json").read_text())
    page, *plots = write_page(tmp_path / f"{name}.json", with_plots=PLOTS)
    again, kept = page.read_text(), (RESULTS / f"{name}.md").read_text()
    if not PLOTS:
        kept = "\n\n".join(block for block in kept.strip().split("\n\n") if not block.startswith("![")) + "\n"
    assert again == kept, "run python bench/run.py --pages"
    assert again.splitlines()[2] == machine_line(committed(name)[0])
    for plot in plots:
        assert plot.read_bytes().startswith(b"\x89PNG")
        assert f"]({plot.name})" in again
        assert (RESULTS / plot.name).exists()


def test_a_page_without_plots_has_its_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "keyswitch-quick.json").write_text((RESULTS / "keyswitch.json").read_text())
    (page,) = write_page(tmp_path / "keyswitch-quick.json", with_plots=False)
    assert (page.name, "![" in page.read_text(), "## The best of everything" in page.read_text()) == ("keyswitch-quick.md", False, True)


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_as_many_cells_in_each_line_and_something_in_each_column(name: str) -> None:
    for heads, *lines in tables((RESULTS / f"{name}.md").read_text()):
        assert {len(line) for line in lines} == {len(heads)}
        assert name != "dpad" or len(heads) == len(set(heads))
        for head, *column in zip(heads, *lines, strict=True):
            # A library may be absent altogether.
            assert set(column) != {"-"} or name == "ckks", head


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_rows_are_refused_without_a_field_of_an_unknown_work_and_twice(page: Page) -> None:
    rows = [found for found in rows_of(page) if "absent" not in found]
    for rule in page.declared.get("rows", []):
        for work in rule["works"].split():
            where = rule.get("where", {}).items()
            first = next(found for found in rows if found["work"] == work and all((found["extra"] | found)[k] == v for k, v in where))
            for field in rule.get("needs", "").split():
                lacking = first | {"extra": {name: value for name, value in first["extra"].items() if name != field}}
                with pytest.raises(ValueError, match=f"{work} at .* lacks {field}"):
                    Results(page, [lacking])
                if field in page.declared.get("values", {}):
                    with pytest.raises(ValueError, match=f"{field} is 'nothing'"):
                        Results(page, [changed(first, **{field: "nothing"})])
            if "unique" in rule:
                with pytest.raises(ValueError, match=f"two rows for {work}"):
                    Results(page, [first, first])
    if "rows" in page.declared:
        with pytest.raises(ValueError, match="no table for juggling"):
            Results(page, [row("juggling", 1.0)])


def test_two_names_of_one_set_and_two_plans_of_one_level_are_the_same_thing() -> None:
    for again in (found for found in invented("dpad") if found.get("extra", {}).get("set") == "n13-r4"):
        with pytest.raises(ValueError, match=f"two rows for {again['work']}"):
            Results(Page("dpad"), [again, changed(again, set="III")])
    rows = invented("keyswitch")
    planned = next(found for found in rows if found["work"] == "switch_planned")
    with pytest.raises(ValueError, match="two rows for switch_planned"):
        Results(Page("keyswitch"), [planned, changed(planned, digit=2)])
    switch = next(found for found in rows if found["work"] == "switch" and found["extra"]["method"] == "klss")
    assert len(Results(Page("keyswitch"), [switch, changed(switch, key_digit=9)]).rows) == 2


@pytest.mark.parametrize("name", NAMES)
def test_what_was_not_measured_says_why_and_sections_without_rows_are_left_out(name: str) -> None:
    page = written(name, [absent_row("clathrate", "invented: keys | too large", "a set", "pack")])
    assert "a set" in page
    assert "invented: keys" in page
    assert [line for line in page.splitlines() if line.startswith("## ")] in ([], ["## Absent"], ["## Beside the paper", "## Absent"])


def test_results_without_a_machine_or_a_page_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "packing.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="nothing of its machine"):
        write_page(path)
    with pytest.raises(ValueError, match="no page in bench/pages has a run with results other"):
        page_of("other-quick")


@pytest.mark.parametrize(("name", "words"), [("keyswitch", "2^10 and 2^11"), ("dpad", "far below the sets'")])
def test_quick_run_says_that_it_is_one_and_has_no_goals(name: str, words: str) -> None:
    rows = invented(name)
    whole = written(name, rows)
    assert "A quick run" not in whole
    assert "## Goals" in whole
    rows[1] = changed(rows[1], quick=True)
    assert f"# {name}\n" in (quick := written(f"{name}-quick", rows))
    assert f"**A quick run: degrees are {words}" in quick
    assert "## Goals" not in quick


@pytest.mark.parametrize("page", [page for page in pages() if hasattr(page.functions, "plots")], ids=lambda page: page.name)
def test_nothing_is_drawn_of_no_rows(page: Page) -> None:
    assert all(plot.empty() for plot in page.call("plots", Results(page, [])).values())
    assert not any(plot.empty() for plot in page.call("plots", Results(page, rows_of(page))).values())


def test_a_device_or_another_set_changes_what_a_page_says() -> None:
    measured = written("gpu", [changed(found, predicted=False, device="cuda:0, a card") for found in invented("gpu")])
    assert "Measured on cuda:0, a card." in measured
    assert "predictions" not in measured
    other = [found if found["work"] == "openblas" else changed(found, preset="matmul") for found in invented("matrix")]
    assert "| matmul | 1024 | 24.0 | 30.0 | 1300 (1100) | 54.2 |" in (page := written("matrix", other))
    # The paper's table stands beside its own set alone.
    assert "| 1024 | 2 | - | 1.78 | - | 2.75 | - | - | 1.45 | - |" in page
    assert "## Absent" not in page


def test_bootstraps_of_one_degree_and_as_many_slots_are_compared_and_floors_follow_from_speeds() -> None:
    default, fast, _, theirs = invented("bootstrap")
    page = written("bootstrap", [default, fast, theirs])
    assert "| boot_fast | lattigo" not in page
    assert "## set_y" not in page
    assert "| boot_fast | poulpy set_y |" in written("bootstrap", [fast, theirs | {"who": "poulpy"}])
    assert "ours / theirs" not in written("bootstrap", [default, changed(theirs, slots=16384)])
    # 1000 transforms of 50 us, and 2 GiB at the speed of the stream: 110 ms.
    speeds = [row("ntt_forward", 0.05, "2^16, 40-bit prime"), row("stream_read", 30.0, "1024 MiB")]
    assert "| modulus raise | 150.0 | 48.0 | 10 % | 110.0 | 73 % |" in written("bootstrap", [default, *speeds])
    assert "| modulus raise | 150.0 | 48.0 | 10 % | - | - |" in written("bootstrap", [default, speeds[0]])


def test_what_is_missing_is_a_dash() -> None:
    assert "| 512 | 3.20 | - | - | - | - | - | - | - |" in written("pairs", invented("pairs")[:1])
    absent = [row("matrix_own", params="paper_pcmm, 1024", absent="no memory"), row("*", params="*", absent="no memory")]
    page = written("matrix", [invented("matrix")[1], invented("matrix")[6], *absent])
    for line in (
        "| paper_pcmm | 1024 | - | - | - | - | - | - | - | - |",
        "| paper_pcmm | 1024 | 1020 | - | - | - | 144 (73.8) | - |",
        "| paper_pcmm | 1024 | - | - | - | 21.0 / 18.3 | - | 21.0 / 18.3 |",
        "| paper_pcmm | 1024 | - | - | 159 | 319 | 30.5 |",
        "- matrix_own, paper_pcmm, 1024: no memory",
        "- the rest of a run: no memory",
    ):
        assert line in page.splitlines()
    assert "OpenBLAS took" not in page


@pytest.mark.parametrize(
    ("name", "kept", "text"), [("hermes", "samples", "OpenFHE"), ("mambo", "mambo", "Table 5"), ("mambo", "batch_bootstrap", "Table 6")]
)
def test_a_paper_stands_beside_what_was_measured_alone(name: str, kept: str, text: str) -> None:
    assert text in written(name, invented(name))
    assert text not in written(name, [found for found in invented(name) if found["work"] == kept])


def test_a_plan_is_compared_with_the_rival_of_its_own_row_where_there_is_one() -> None:
    rows = invented("keyswitch")
    planned = next(found for found in rows if found["work"] == "switch_planned" and found["extra"]["primes"] == 36)
    planned["extra"]["best_fixed"] = {"method": "hybrid", "digit": 4, "median_ms": 48.0}
    page = written("keyswitch", rows)
    assert page.count("| 1.04x |") == 2
    assert "| at most 1.05x at every level measured | 1.04x at level_aware, l = 36 | met |" in page


def test_goals_of_ranks_are_met_by_their_numbers() -> None:
    rows = invented("dpad")
    rows[1]["median_ms"], rows[1]["extra"]["stored_key_bytes"] = 7.0, 10e6
    page = written("dpad", rows)
    assert [line.endswith("| met |") for line in page.splitlines() if "the paper's at every rank" in line] == [True, True]
