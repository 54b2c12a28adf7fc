"""Tests of the tables of batch bootstrapping."""

from pathlib import Path
from typing import Any

import mambo
import pytest

MACHINE = {"cpu": "a machine", "kernels": "scalar", "threads": 1, "date": "today", "commit": "none"}


def row(method: str, bodies: int, polys: int, milliseconds: float, **own: Any) -> dict[str, Any]:
    extra = {
        "preset": "boot_x",
        "degree": 32768,
        "threads": 1,
        "bodies": bodies,
        "polys": polys,
        "method": method,
        "mean_bits": 22.04,
        "worst_bits": 19.44,
        "security_bits": 134.2,
        "log2_failure": -133.7,
        "key_bytes": 3 << 30,
        "peak_bytes": None,
        "predicted_ms": milliseconds / 3,
        "key_rows": 100 * polys,
        "curve": [{"bodies": 1, "predicted_ms_each": 300.0, "key_bytes": 3 << 30}] if bodies == 1 else [],
        "stages": [{"stage": "coefficients to slots", "median_ms": milliseconds / 2}, {"stage": "modular reduction", "median_ms": 10.0}],
        "alone_ms": 1000.0,
        "alone_stages": [{"stage": "coefficients to slots", "median_ms": 500.0}, {"stage": "modular reduction", "median_ms": 10.0}],
    }
    return {
        "who": "clathrate",
        "work": "batch_bootstrap",
        "params": f"boot_x, {method}, {bodies}",
        "median_ms": milliseconds,
        "extra": extra | own,
    }


def test_batches_are_compared_with_one_polynomial_of_the_same_set_and_threads() -> None:
    rows = [row("real", 1, 1, 1000.0), row("pairs", 4, 8, 4000.0), row("pairs", 4, 8, 2400.0, threads=2)]
    page = mambo.markdown(MACHINE, rows)
    lines = [line for line in page.splitlines() if line.startswith("| boot_x")]
    assert "| 1000 | 1000 | 333 | 1000 |" in lines[0]
    assert "| 1.00 | 1.00 |" in lines[0]
    # 500 ms each, of which linear maps 250 where they were 500.
    assert "| 4000 | 500 |" in lines[1]
    assert "| 0.50 | 0.50 |" in lines[1]
    # 300 ms each on two threads.
    assert "| 2400 | 300 |" in lines[2]
    assert "| 0.30 | 0.30 |" in lines[2]
    assert "The paper's Table 5" in page
    assert "| 32 | 2.39 | 11.4 |" in page


READING = {
    "who": "clathrate",
    "work": "one_reading",
    "params": "boot_x, 8 ciphertexts",
    "median_ms": 80.0,
    "extra": {
        "preset": "boot_x",
        "threads": 1,
        "ciphertexts": 8,
        "digits": 3,
        "primes": 20,
        "key_bytes": 30 << 20,
        "rows": 1000,
        "together_ms": 70.0,
        "product_ms": 50.0,
    },
}


def test_one_reading_of_keys_is_taken_from_batches_with_and_without_shared_masks() -> None:
    rows = [row("real", 1, 1, 1000.0), row("real", 4, 4, 2400.0), READING]
    page = mambo.markdown(MACHINE, rows)
    # 10 ms for each ciphertext, 8.75 by one reading, of a product of 50 ms.
    assert "| 10.0 | 8.75 | 0.88 | 2.5 % |" in page
    # 100 rows for each polynomial, 0.01 ms each.
    assert "| boot_x | real | 1 | 1 | 1000 | 999 | 1.00 | 1.00 |" in page
    assert "| boot_x | real | 4 | 4 | 600 | 599 | 0.60 | 0.60 |" in page
    assert "| boot_x | real | 1 | 300 | 1.00 | 3.0 |" in page


PRODUCT = {
    "who": "clathrate",
    "work": "mambo",
    "params": "boot_x, 256 rows",
    "median_ms": 4400.0,
    "extra": {
        "preset": "boot_x",
        "threads": 1,
        "rows": 256,
        "columns": 64,
        "polys": 4,
        "bodies": 4,
        "method": "exact",
        "ring": 8192,
        "whole": True,
        "product_ms": 400.0,
        "bootstrap_ms": 1000.0,
        "alone_ms": [950.0, 1200.0],
        "predicted_ms": 2000.0,
        "predicted_product_ms": 80.0,
        "mean_bits": 22.04,
        "worst_bits": 19.44,
        "key_bytes": 8 << 30,
        "peak_bytes": 12 << 30,
    },
}


def test_products_are_compared_with_the_bootstraps_alone() -> None:
    page = mambo.markdown(MACHINE, [PRODUCT])
    line = next(line for line in page.splitlines() if line.startswith("| boot_x"))
    # 1100 ms for two real polynomials: 1000 without the product, 2 x 950 + 100 one by one.
    assert "| exact, degree 8192 | whole | 4.40 | 550 | 50.0 | 1.10 | 0.55 | 250 |" in line
    assert "The paper's Table 6" in page
    assert "Table 5" not in page


def test_both_plots_are_drawn(tmp_path: Path) -> None:
    plots = pytest.importorskip("mambo_plots")
    rows = [row("real", 1, 1, 1000.0), row("pairs", 4, 8, 4000.0), row("pairs", 4, 32, 16800.0), PRODUCT]
    assert [mambo.fills_one_mask(batch) for batch in rows[:3]] == [True, True, False]
    paths = plots.draw(rows, tmp_path / "mambo")
    assert [path.name for path in paths] == ["mambo-batch.png", "mambo-rows.png"]
    assert all(path.stat().st_size > 1000 for path in paths)
    assert plots.draw([], tmp_path / "mambo") == []


def test_what_was_not_measured_is_said() -> None:
    absent = {"who": "clathrate", "work": "batch_bootstrap", "params": "boot_y, pairs, 8", "absent": "no memory"}
    assert "- boot_y, pairs, 8: no memory" in mambo.markdown(MACHINE, [absent])


def test_rows_without_their_fields_are_refused() -> None:
    broken = row("real", 1, 1, 1.0)
    del broken["extra"]["bodies"]
    with pytest.raises(ValueError, match="lacks bodies"):
        mambo.collect([broken])
