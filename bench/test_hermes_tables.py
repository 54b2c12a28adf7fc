"""Tests of the tables from samples to slots."""

import hermes
import pytest

MACHINE = {"cpu": "a machine", "kernels": "scalar", "threads": 1, "date": "today", "commit": "none"}
COMMON = {
    "preset": "boot_x",
    "degree": 32768,
    "dimension": 2048,
    "count": 32768,
    "method": "midpoints 64",
    "mean_bits": 24.04,
    "worst_bits": 21.44,
    "key_bytes": 500_000_000,
    "packing_key_bytes": 80_000_000,
    "predicted_ms": 900.0,
}
SAMPLES = {
    "who": "clathrate",
    "work": "samples",
    "params": "boot_x, 32768",
    "median_ms": 1000.0,
    "extra": COMMON
    | {
        "packing_ms": 200.0,
        "half_ms": 800.0,
        "log_q_left": 270.0,
        "log2_failure": -130.2,
        "security_bits": 128.4,
        "sample_security_bits": 130.0,
    },
}
TRANSCIPHER = {
    "who": "clathrate",
    "work": "transcipher",
    "params": "boot_x, degree 16",
    "median_ms": 1500.0,
    "extra": COMMON
    | {
        "client_offline_ms": 300.0,
        "server_offline_ms": 400.0,
        "client_online_ms": 10.0,
        "server_online_ms": 790.0,
        "expansion": 1.583,
        "sample_degree": 16,
    },
}


SWITCHED = {
    "who": "openfhe",
    "work": "openfhe_switching",
    "params": "n16-lwe-256",
    "median_ms": 51200.0,
    "extra": {
        "preset": "n16-lwe-256",
        "degree": 65536,
        "dimension": 1305,
        "count": 256,
        "log_q_left": 210.0,
        "mean_bits": 11.0,
        "worst_bits": 9.0,
        "key_seconds": 12.5,
        "version": "1.6.1",
    },
}


def test_another_library_stands_beside_ours():
    page = hermes.markdown(MACHINE, [SWITCHED])
    assert "Table 6" not in page
    assert "| OpenFHE 1.6.1 | 65536 | 210 | 256 | 1305 | 51200 | 200 | 11.0 | 9.0 | 12.5 |" in page
    assert "OpenFHE" not in hermes.markdown(MACHINE, [SAMPLES])


def test_rows_stand_beside_the_paper():
    page = hermes.markdown(MACHINE, [SAMPLES, TRANSCIPHER, {"work": "stream_read", "params": "1", "extra": {}}])
    assert (
        "| boot_x | 32768 | 270 | 32768 | 2048 | midpoints 64 | 1000 | 200 | 800 | 900 "
        "| 25 % | 0.0305 | 500 | 80.0 | 24.0 | 21.4 | -130 | 128, 130 |" in page
    )
    assert "| boot_x | 32768 | 16 | 32768 | 1500 | 300 | 400 | 10.0 | 790 | 1.58 | 24.0 | 21.4 |" in page
    assert "| HERMES, one midpoint | 32768 | 270 | 32768 | 10.2 | 0.311 | 547 | - |" in page
    assert "| RtF-HERA | 16 | 142 | 1.24 | 19.1 |" in page


def test_what_was_not_measured_says_why():
    page = hermes.markdown(MACHINE, [{"work": "samples", "params": "boot_x", "who": "clathrate", "absent": "no memory"}])
    assert "- boot_x: no memory" in page


@pytest.mark.parametrize(("row", "field"), [(SAMPLES, "half_ms"), (TRANSCIPHER, "expansion")])
def test_rows_without_their_fields_are_refused(row, field):
    lacking = row | {"extra": {name: value for name, value in row["extra"].items() if name != field}}
    with pytest.raises(ValueError, match=f"lacks {field}"):
        hermes.markdown(MACHINE, [lacking])
