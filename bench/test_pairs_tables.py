"""Tests of the tables of products of two encrypted matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openblas
import pairs
import pytest
from tables import Row

MACHINE = {"cpu": "a machine", "kernels": "scalar", "threads": 1, "date": "today", "commit": "none"}
SHAPE = {"preset": "ccmm_n12", "degree": 4096, "size": 512, "log_q": 62.8, "log_qp": 105.6, "security_bits": 128.5}
BITS = {"mean_bits": 24.7, "worst_bits": 22.1, "key_bytes": 20_840_448}


def row(work: str, milliseconds: float, **extra: Any) -> Row:
    """A measured row."""
    numbers = {"median_ms": milliseconds, "min_ms": milliseconds, "max_ms": milliseconds, "runs": 3}
    return {"who": "clathrate", "work": work, "params": "a set, 512", **numbers, "extra": extra}


ALL = [
    row("pair_plain", 3.2, size=512),
    row("openblas", 4.0, size=512),
    row("pair_residues", 8000.0, **SHAPE, **BITS, rank=8, predicted_ms=2500.0),
    row("pair_slots", 20000.0, **(SHAPE | {"preset": "n14", "degree": 16384}), **BITS),
]


def test_times_stand_over_the_plain_products_and_the_other_algorithm():
    page = pairs.markdown(MACHINE, [*ALL, {"work": "stream_read", "params": "1", "extra": {}}])
    assert "| 512 | 3.20 | 4.00 | 8000 | 2500 | 2500 | 2000 | 20000 | 0.400 |" in page
    assert "| 512 | 24.7 / 22.1 | 20.8 | 24.7 / 22.1 | 20.8 |" in page
    assert "| n14 | 16384 | 63 | 106 | 128 |" in page
    assert "## Absent" not in page


def test_what_was_not_measured_says_why():
    absent = {"params": "ccmm_n12, 4096", "who": "clathrate", "absent": "no memory", "work": "pair_residues"}
    page = pairs.markdown(MACHINE, [ALL[0], absent])
    assert "- pair_residues, ccmm_n12, 4096: no memory" in page
    assert "| 512 | 3.20 | - | - | - | - | - | - | - |" in page


@pytest.mark.parametrize(("found", "field"), [(ALL[0], "size"), (ALL[2], "predicted_ms"), (ALL[3], "key_bytes")])
def test_rows_without_their_fields_are_refused(found: Row, field: str):
    lacking = found | {"extra": {name: value for name, value in found["extra"].items() if name != field}}
    with pytest.raises(ValueError, match=f"lacks {field}"):
        pairs.markdown(MACHINE, [lacking])


def test_the_plot_is_drawn(tmp_path: Path):
    plots = pytest.importorskip("pairs_plots")
    assert plots.draw(ALL, tmp_path / "pairs") == [tmp_path / "pairs.png"]
    assert (tmp_path / "pairs.png").stat().st_size > 1000
    assert plots.draw([], tmp_path / "none") == []


def test_numpy_is_timed():
    found = openblas.row(8)
    assert found["work"] == "openblas"
    assert found["median_ms"] > 0
    pairs.markdown(MACHINE, [found])
