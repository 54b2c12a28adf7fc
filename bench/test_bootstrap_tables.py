"""Tests of the tables of bootstraps."""

from __future__ import annotations

import bootstrap
import pytest

MACHINE = {"cpu": "a machine", "kernels": "ifma", "threads": 1, "date": "today", "commit": "0"}

ROW = {
    "work": "bootstrap",
    "params": "boot_x",
    "who": "clathrate",
    "median_ms": 1500.0,
    "min_ms": 1400.0,
    "max_ms": 1600.0,
    "runs": 5,
    "extra": {
        "preset": "boot_x",
        "degree": 65536,
        "slots": 32768,
        "log_qp": 1745.8,
        "log2_failure": -132.7,
        "bits_left": 595.4,
        "mean_bits": 23.76,
        "worst_bits": 19.93,
        "key_bytes": 3 << 30,
        "peak_bytes": None,
        "predicted_ms": 1200.0,
        "stages": [
            {"stage": "modulus raise", "median_ms": 150.0, "predicted_ms": 48.0},
            {"stage": "join", "median_ms": 1350.0, "predicted_ms": None},
        ],
    },
}


def test_tables_show_every_figure_and_the_split_by_stage():
    page = bootstrap.markdown(MACHINE, [ROW, {"work": "stream_read", "params": "1", "who": "clathrate", "absent": "no"}])
    assert "| boot_x | 32768 | 1746 | 1.50 | 1.20 | 23.8 | 19.9 | 595.4 | -132.7 | 3.00 | - |" in page
    assert "| modulus raise | 150.0 | 48.0 | 10 % |" in page
    assert "| join | 1350.0 | - | 90 % |" in page


def test_rows_that_lack_a_field_are_refused_and_absent_ones_are_told():
    lacking = ROW | {"extra": {key: value for key, value in ROW["extra"].items() if key != "stages"}}
    with pytest.raises(ValueError, match="stages"):
        bootstrap.markdown(MACHINE, [lacking])
    absent = {"work": "bootstrap", "params": "boot_y", "who": "clathrate", "absent": "1 MiB of free memory"}
    assert "- boot_y: not measured, 1 MiB of free memory" in bootstrap.markdown(MACHINE, [ROW, absent])
