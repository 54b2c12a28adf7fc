"""Tests of the tables of matrix products."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matrix
import pytest
from tables import BENCH, Row

MACHINE = {"cpu": "a machine", "kernels": "scalar", "threads": 1, "date": "today", "commit": "none"}
PAPER = json.loads((BENCH / "paper" / "pcmm.json").read_text())

SHAPE = {"preset": "paper_pcmm", "degree": 8192, "size": 1024, "log_q": 75.3, "log_qp": 151.3, "security_bits": 178.8}
KEYS = {"key_bytes": 318_767_104, "owner_key_bytes": 159_383_552, "prepare_seconds": 30.53}


def row(work: str, milliseconds: float, **extra: Any) -> Row:
    """A measured row of size 1024."""
    numbers = {"median_ms": milliseconds, "min_ms": milliseconds, "max_ms": milliseconds, "runs": 3}
    return {"who": "clathrate", "work": work, "params": "paper_pcmm, 1024", **numbers, "extra": SHAPE | extra}


PLAIN = row("matrix_plain", 24.0, mean_bits=None, worst_bits=None)
BLAS = row("openblas", 30.0) | {"who": "numpy", "extra": {"size": 1024}}
APART = row("matrix_apart", 1020.0, mean_bits=20.99, worst_bits=18.34, rank=8)
EXACT = row("matrix_exact", 1300.0, mean_bits=20.98, worst_bits=18.33, owner_key_bytes=8_781_824, predicted_ms=1100.0)
ONE = row("matrix_prepared", 120.0, mean_bits=20.29, worst_bits=17.01, products=1, predicted_ms=49.5, **KEYS)
TWO = row("matrix_prepared", 144.0, mean_bits=20.97, worst_bits=18.33, products=2, predicted_ms=73.8, **KEYS)
OWN_KEYS = KEYS | {"owner_key_bytes": 200_000_000}
OWN_ONE = row("matrix_own", 240.0, mean_bits=20.28, worst_bits=17.00, products=1, predicted_ms=101.0, **OWN_KEYS)
OWN_TWO = row("matrix_own", 288.0, mean_bits=20.96, worst_bits=18.32, products=2, predicted_ms=125.0, **OWN_KEYS)
ALL = [PLAIN, APART, EXACT, OWN_ONE, OWN_TWO, ONE, TWO, BLAS]


def test_times_stand_over_the_plain_product():
    page = matrix.markdown(MACHINE, [*ALL, {"work": "stream_read", "params": "1", "extra": {}}])
    assert "| paper_pcmm | 1024 | 24.0 | 30.0 | 1300 (1100) | 54.2 | 240 (101) | 10.0 | 288 (125) | 12.0 |" in page
    assert "| paper_pcmm | 1024 | 1020 | 42.5 | 120 (49.5) | 5.00 | 144 (73.8) | 6.00 |" in page
    assert "OpenBLAS took 1.25 to 1.25 times as long" in page
    assert "| paper_pcmm | 8192 | 75 | 151 | 179 |" in page
    assert "## Absent" not in page


def test_precision_and_keys_stand_by_method():
    page = matrix.markdown(MACHINE, ALL)
    whole, parts = "21.0 / 18.3 | 20.3 / 17.0 | 21.0 / 18.3", "21.0 / 18.3 | 20.3 / 17.0 | 21.0 / 18.3"
    assert f"| paper_pcmm | 1024 | {whole} | {parts} |" in page
    assert "| paper_pcmm | 1024 | 8.78 | 200 | 159 | 319 | 30.5 |" in page


def test_a_row_stands_beside_the_paper():
    page = matrix.markdown(MACHINE, ALL)
    assert "| 1024 | 2 | 1.30 | 1.78 | 0.730 | 2.75 | 0.473 | 1.02 | 1.45 | 0.702 |" in page
    assert "| 1024 | 2 | 1.70 | 0.240 | 0.141 | 0.288 | 0.169 |" in page
    assert "| 1024 | 18.3 / 21.0 | 17.0 / 20.3 | 18.3 / 21.0 | 19.2 / 19.0 | 13.3 / 12.9 |" in page
    assert "| 8192 | LZ | - | 96.8 | - | 96.8 | - | - | 97.3 | - |" in page


def test_another_preset_does_not_stand_beside_the_paper():
    other = [one if one is BLAS else one | {"extra": one["extra"] | {"preset": "matmul"}} for one in ALL]
    page = matrix.markdown(MACHINE, other)
    assert "| matmul | 1024 | 24.0 | 30.0 | 1300 (1100) | 54.2 |" in page
    assert "| 1024 | 2 | - | 1.78 | - | 2.75 | - | - | 1.45 | - |" in page


def test_what_was_not_measured_says_why():
    absent = {"params": "paper_pcmm, 1024", "who": "clathrate", "absent": "no memory"}
    page = matrix.markdown(MACHINE, [APART, TWO, absent | {"work": "matrix_prepared"}, absent | {"work": "*", "params": "*"}])
    assert "- matrix_prepared, paper_pcmm, 1024: no memory" in page
    assert "- the rest of a run: no memory" in page
    assert "| paper_pcmm | 1024 | - | - | - | - | - | - | - | - |" in page
    assert "| paper_pcmm | 1024 | 1020 | - | - | - | 144 (73.8) | - |" in page
    assert "| paper_pcmm | 1024 | - | - | - | 21.0 / 18.3 | - | 21.0 / 18.3 |" in page
    assert "| paper_pcmm | 1024 | - | - | 159 | 319 | 30.5 |" in page
    assert "OpenBLAS took" not in page


def test_the_plot_is_drawn(tmp_path: Path):
    plots = pytest.importorskip("matrix_plots")
    other = [PLAIN | {"extra": PLAIN["extra"] | {"preset": "matmul"}}]
    for name, rows in (("all", ALL), ("some", [PLAIN, ONE]), ("other", other)):
        assert plots.draw(rows, tmp_path / name) == [tmp_path / f"{name}.png"]
        assert (tmp_path / f"{name}.png").stat().st_size > 1000
    assert plots.draw([], tmp_path / "none") == []


@pytest.mark.parametrize(
    ("found", "field"),
    [
        (PLAIN, "size"),
        (BLAS, "size"),
        (APART, "worst_bits"),
        (EXACT, "owner_key_bytes"),
        (OWN_ONE, "predicted_ms"),
        (ONE, "products"),
        (TWO, "owner_key_bytes"),
    ],
)
def test_rows_without_their_fields_are_refused(found: Row, field: str):
    lacking = found | {"extra": {name: value for name, value in found["extra"].items() if name != field}}
    with pytest.raises(ValueError, match=f"lacks {field}"):
        matrix.markdown(MACHINE, [lacking])


def test_the_papers_parts_add_up_to_its_totals():
    for theirs in PAPER["table_3"]:
        conversions = (theirs["before_s"] or 0) + (theirs["after_s"] or 0)
        for kind in ("modular", "floating"):
            parts = theirs["a_part_s"] + theirs[f"{kind}_b_part_s"] + conversions
            assert parts == pytest.approx(theirs[f"{kind}_total_s"], rel=0.01), theirs


def test_the_papers_tables_agree():
    for first, second in zip(PAPER["table_3"], PAPER["table_7"], strict=True):
        assert (first["log_size"], first["floating_total_s"]) == (second["log_size"], second["ours_s"])
