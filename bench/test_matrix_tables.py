"""Tests of the tables of matrix products."""

from __future__ import annotations

import json
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
APART = row("matrix_apart", 1020.0, mean_bits=20.99, worst_bits=18.34, rank=8)
ONE = row("matrix_prepared", 120.0, mean_bits=20.29, worst_bits=17.01, products=1, predicted_ms=49.5, **KEYS)
TWO = row("matrix_prepared", 144.0, mean_bits=20.97, worst_bits=18.33, products=2, predicted_ms=73.8, **KEYS)
ALL = [PLAIN, APART, ONE, TWO]


def test_times_stand_over_the_plain_product():
    page = matrix.markdown(MACHINE, [*ALL, {"work": "stream_read", "params": "1", "extra": {}}])
    assert "| paper_pcmm | 1024 | 24.0 | 1020 | 42.5 | 120 | 5.00 | 49.5 | 144 | 6.00 | 73.8 |" in page
    assert "| paper_pcmm | 1024 | 21.0 / 18.3 | 20.3 / 17.0 | 21.0 / 18.3 | 319 | 159 | 30.5 |" in page
    assert "| paper_pcmm | 8192 | 75 | 151 | 179 |" in page
    assert "## Absent" not in page


def test_a_row_stands_beside_the_paper():
    page = matrix.markdown(MACHINE, ALL)
    assert "| 1024 | 2 | 1.02 | 1.45 | 0.702 | 1.78 | 0.573 | 2.75 | 0.371 |" in page
    assert "| 1024 | 2 | 1.70 | 0.120 | 0.0706 | 0.144 | 0.0847 |" in page
    assert "| 1024 | 18.3 / 21.0 | 17.0 / 20.3 | 18.3 / 21.0 | 19.2 / 19.0 | 13.3 / 12.9 |" in page
    assert "| 8192 | LZ | - | 97.3 | - | 96.8 | - | 96.8 | - |" in page


def test_another_preset_does_not_stand_beside_the_paper():
    page = matrix.markdown(MACHINE, [one | {"extra": one["extra"] | {"preset": "matmul"}} for one in ALL])
    assert "| matmul | 1024 | 24.0 | 1020 | 42.5 |" in page
    assert "| 1024 | 2 | - | 1.45 | - | 1.78 | - | 2.75 | - |" in page


def test_what_was_not_measured_says_why():
    absent = {"params": "paper_pcmm, 1024", "who": "clathrate", "absent": "no memory"}
    page = matrix.markdown(MACHINE, [APART, TWO, absent | {"work": "matrix_prepared"}, absent | {"work": "*", "params": "*"}])
    assert "- matrix_prepared, paper_pcmm, 1024: no memory" in page
    assert "- the rest of a run: no memory" in page
    assert "| paper_pcmm | 1024 | - | 1020 | - | - | - | - | 144 | - | 73.8 |" in page
    assert "| paper_pcmm | 1024 | 21.0 / 18.3 | - | 21.0 / 18.3 | 319 | 159 | 30.5 |" in page


@pytest.mark.parametrize(("found", "field"), [(PLAIN, "size"), (APART, "worst_bits"), (ONE, "products"), (TWO, "owner_key_bytes")])
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
