"""Tests of the tables of packing."""

import packing
import pytest

MACHINE = {"cpu": "a machine", "kernels": "scalar", "threads": 1, "date": "today", "commit": "none"}
ROW = {
    "who": "clathrate",
    "work": "pack",
    "params": "pack_x",
    "median_ms": 12.34,
    "extra": {
        "preset": "pack_x",
        "degree": 4096,
        "dimension": 2048,
        "count": 4096,
        "method": "midpoints 64",
        "log_q": 49.9,
        "mean_bits": 33.68,
        "worst_bits": 31.44,
        "key_bytes": 10_420_224,
        "stored_key_bytes": 9_437_184,
    },
}


def test_a_row_stands_beside_the_paper():
    page = packing.markdown(MACHINE, [ROW, {"work": "stream_read", "params": "1", "extra": {}}])
    assert "| pack_x | 50 | 4096 | 2048 | 4096 | midpoints 64 | 12.3 | 10.4 | 9.44 | 33.7 | 31.4 |" in page
    assert "| one midpoint | 4096 | 2048 | 374 | 5.31 | 32.8 | 30.3 |" in page


def test_what_was_not_measured_says_why():
    page = packing.markdown(MACHINE, [{"work": "pack", "params": "pack_x", "who": "clathrate", "absent": "no memory"}])
    assert "- pack_x: no memory" in page


def test_rows_without_their_fields_are_refused():
    lacking = ROW | {"extra": {name: value for name, value in ROW["extra"].items() if name != "method"}}
    with pytest.raises(ValueError, match="lacks method"):
        packing.markdown(MACHINE, [lacking])
