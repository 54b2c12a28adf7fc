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
        "rms_bits": 23.41,
        "predicted_bits": 23.36,
        "key_bytes": 3 << 30,
        "peak_bytes": None,
        "predicted_ms": 1200.0,
        "stages": [
            {"stage": "modulus raise", "median_ms": 150.0, "predicted_ms": 48.0},
            {"stage": "join", "median_ms": 1350.0, "predicted_ms": None},
        ],
    },
}

THEIRS = {
    "work": "bootstrap",
    "params": "set_y",
    "who": "lattigo",
    "median_ms": 6000.0,
    "min_ms": 5900.0,
    "max_ms": 6100.0,
    "runs": 3,
    "extra": {
        "preset": "set_y",
        "degree": 65536,
        "slots": 32768,
        "log_qp": 1546,
        "log2_failure": None,
        "bits_left": 297.7,
        "mean_bits": 26.6,
        "worst_bits": 22.1,
        "key_bytes": 5 << 30,
        "peak_bytes": 8 << 30,
    },
}


def as_preset(row, preset, **extra):
    """The row, of another set."""
    return row | {"params": preset, "extra": row["extra"] | {"preset": preset} | extra}


def test_tables_show_every_figure_and_the_split_by_stage():
    page = bootstrap.markdown(MACHINE, [ROW, {"work": "stream_read", "params": "1", "who": "clathrate", "absent": "no"}])
    assert "| boot_x | 32768 | 1746 | 1.50 | 1.20 | 23.8 | 19.9 | 23.4 | 23.4 | 595.4 | -132.7 | - | 3.00 | - |" in page
    assert "| modulus raise | 150.0 | 48.0 | 10 % | - | - |" in page
    assert "| join | 1350.0 | - | 90 % | - | - |" in page


def test_floors_follow_from_the_speeds_of_the_same_run():
    stage = {"stage": "modulus raise", "median_ms": 150.0, "predicted_ms": 48.0, "transforms": 1000, "key_bytes": 1 << 31}
    speeds = [
        {"work": "ntt_forward", "params": "2^16, 40-bit prime", "who": "clathrate", "median_ms": 0.05},
        {"work": "stream_read", "params": "1024 MiB", "who": "clathrate", "median_ms": 30.0},
    ]
    row = as_preset(ROW, "boot_x", stages=[stage], degree=65536)
    assert "| modulus raise | 150.0 | 48.0 | 10 % | 110.0 | 73 % |" in bootstrap.markdown(MACHINE, [row, *speeds])
    assert "| modulus raise | 150.0 | 48.0 | 10 % | - | - |" in bootstrap.markdown(MACHINE, [row, speeds[0]])


def test_variants_stand_in_the_first_table_and_are_not_compared():
    variant = as_preset(ROW, "boot_default") | {"params": "boot_default, 2 threads"}
    page = bootstrap.markdown(MACHINE, [as_preset(ROW, "boot_default"), variant, THEIRS])
    assert "| clathrate | boot_default, 2 threads |" in page
    assert page.count("| boot_default | lattigo set_y |") == 1


def test_ranks_have_a_table():
    at = {"rank": 2, "degree": 32768, "to_slots_ms": 10.0, "split_ms": 1.0, "reduction_ms": 20.0, "conversion_ms": 0.5}
    page = bootstrap.markdown(MACHINE, [as_preset(ROW, "boot_x", ranks=[at])])
    assert "| boot_x | 2 | 32768 | 10.0 | 1.0 | 20.0 | 31.0 | 0.5 |" in page


def test_rows_that_lack_a_field_are_refused_and_absent_ones_are_told():
    lacking = ROW | {"extra": {key: value for key, value in ROW["extra"].items() if key != "stages"}}
    with pytest.raises(ValueError, match="stages"):
        bootstrap.markdown(MACHINE, [lacking])
    absent = {"work": "bootstrap", "params": "boot_y", "who": "clathrate", "absent": "1 MiB of free memory"}
    assert "- clathrate, boot_y: not measured, 1 MiB of free memory" in bootstrap.markdown(MACHINE, [ROW, absent])


def test_other_libraries_stand_beside_ours_and_what_they_do_not_tell_is_a_dash():
    page = bootstrap.markdown(MACHINE, [as_preset(ROW, "boot_default"), as_preset(ROW, "boot_fast"), THEIRS])
    assert "| lattigo | set_y | 32768 | 1546 | 6.00 | - | 26.6 | 22.1 | - | - | 297.7 | - | - | 5.00 | 8.00 |" in page
    assert "| boot_default | lattigo set_y | 1.50 | 6.00 | 0.250 | 0.125 | 595.4 / 297.7 | 23.8 / 26.6 |" in page
    assert "| boot_fast | lattigo" not in page
    assert "## set_y" not in page


def test_only_sets_of_the_same_degree_and_slots_are_compared():
    page = bootstrap.markdown(MACHINE, [as_preset(ROW, "boot_default"), as_preset(THEIRS, "set_z", slots=16384)])
    assert "| lattigo | set_z |" in page
    assert "ours / theirs" not in page
    page = bootstrap.markdown(MACHINE, [as_preset(ROW, "boot_fast"), THEIRS | {"who": "poulpy"}])
    assert "| boot_fast | poulpy set_y |" in page


def test_a_library_that_is_absent_altogether_is_told():
    absent = {"work": "*", "params": "*", "who": "poulpy", "absent": "no toolchain"}
    assert "- poulpy, *: not measured, no toolchain" in bootstrap.markdown(MACHINE, [ROW, absent])
    lacking = THEIRS | {"extra": {key: value for key, value in THEIRS["extra"].items() if key != "bits_left"}}
    with pytest.raises(ValueError, match="bits_left"):
        bootstrap.markdown(MACHINE, [lacking])
