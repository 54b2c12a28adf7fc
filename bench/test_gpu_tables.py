"""The page of devices: ratios from rows, predictions marked, rows without a number told."""

from __future__ import annotations

import pytest
from gpu import collect, markdown

ABOUT = {"cpu": "a machine", "kernels": "ifma", "threads": 1, "date": "a day", "commit": "a commit"}


def row(work, median, **extra):
    extra = {"predicted": True, "predicted_ms": median, "device": "none: predicted", "quick": False, **extra}
    times = {"median_ms": median, "min_ms": median, "max_ms": median, "runs": 1}
    return {"work": work, "params": "some", "who": "clathrate", **times, "extra": extra}


def product(name, scheme, keys, median, **extra):
    return row("device_multiply", median, set=name, scheme=scheme, keys=keys, degree=1 << 15, rank=1, primes=21, **extra)


ROWS = [
    product("I", "RNS-CKKS", "as_made", 3.0),
    product("II", "ModHE", "as_made", 6.0),
    product("II", "DPad-HE", "as_made", 2.0),
    row("device_copy", 1.0, bytes=3_000_000_000),
    row("device_transform", 2.0, degree=4096, rows=64, bits=45, butterflies=1e6, row_bytes=32768),
    row("device_bootstrap", 7.0, preset="boot_n15", degree=32768, slots=16384, key_bytes=1),
]


def test_ratios_are_those_of_the_rows_and_of_the_paper():
    page = markdown(ABOUT, ROWS)
    assert "| II | as made | 3.00 | 6.00 | 2.00 | 1.50 | 3.00 |" in page
    assert "| II | planned | - | - | - | - | - |" in page
    assert "| II | the paper | 1.19 | 1.87 | 1.03 | 1.15 | 1.81 |" in page
    # 64 rows of 32 KiB, read and written at 3000 GB/s, take 1398 ns, 21.8 for each.
    assert "A copy moves 3000 GB/s" in page
    assert "| 4096 | 45 | 31250 | 0.500 | 21.8 |" in page


def test_predictions_are_called_so_and_measurements_name_their_device():
    assert "predictions, not measurements" in markdown(ABOUT, ROWS)
    measured = [{**one, "extra": {**one["extra"], "predicted": False, "device": "cuda:0, a card"}} for one in ROWS]
    page = markdown(ABOUT, measured)
    assert "predictions" not in page
    assert "Measured on cuda:0, a card." in page


def test_rows_without_numbers_are_told_and_rows_without_fields_refused():
    absent = {"work": "device_bootstrap", "params": "boot_fast", "who": "clathrate", "absent": "no memory"}
    assert "- boot_fast: no memory" in markdown(ABOUT, [*ROWS, absent])
    with pytest.raises(ValueError, match="bytes"):
        collect([row("device_copy", 1.0)])
