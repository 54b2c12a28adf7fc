"""Files of each kind: they come back, and damage is told."""

from __future__ import annotations

import os

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture
def things(small, rng):
    return {
        "ciphertexts": (small.key.encrypt(rng.normal(size=(2, 5))), cl.Ciphertext),
        "evaluation keys": (small.keys, cl.EvaluationKeys),
        "a public key": (small.key.public_key(), cl.PublicKey),
    }


def test_each_kind_saves_and_loads_by_name_and_by_kind(small, things, tmp_path):
    for kind, (thing, cls) in things.items():
        path = tmp_path / "file"
        size = thing.save(path)
        assert size == path.stat().st_size
        for again in (cl.load(path, small.params), cls.load(str(path), small.params), cl.from_bytes(path.read_bytes(), small.params)):
            assert type(again) is cls
            assert again.key_id == small.key.key_id
            assert again.params is small.params
            assert np.array_equal(again.to_bytes(), thing.to_bytes())
        report = cl.inspect(path)
        assert report["kind"] == kind
        assert report["parameter_digest"] == small.params.digest
        assert report["insecure"] is True
        assert report["bytes"] == size
        assert sum(report["sections"].values()) < size


def test_ciphertext_files_keep_everything(small, rng, tmp_path):
    data = rng.normal(size=(2, 5)) + 1j
    ct = small.encrypt(data, level=3, scale=2.0**41)
    ct.save(tmp_path / "ct")
    again = cl.load(tmp_path / "ct", small.params)
    for name in ("shape", "level", "scale", "encoding", "is_complex", "key_id", "nbytes"):
        assert getattr(again, name) == getattr(ct, name)
    assert again.keys is None
    assert small.error(again, data) < 1e-6


def test_loading_needs_params_and_says_so(things, tmp_path):
    for thing, _ in things.values():
        thing.save(tmp_path / "file")
        with pytest.raises(TypeError, match="pass the parameters"):
            cl.load(tmp_path / "file")


def test_loading_with_other_params_is_refused(things, tmp_path):
    for thing, cls in things.values():
        thing.save(tmp_path / "file")
        for load in (cl.load, cls.load):
            with pytest.raises(cl.WrongParamsError, match="use the parameters it was made with"):
                load(tmp_path / "file", cl.Params.preset("insecure_tiny"))


def test_loading_another_kind_is_refused(small, things, tmp_path):
    for thing, cls in things.values():
        thing.save(tmp_path / "file")
        for _, other in things.values():
            if other is not cls:
                with pytest.raises(cl.FileFormatError, match="pass the right file"):
                    other.load(tmp_path / "file", small.params)


def test_truncated_files_are_refused_at_every_length(small, things, tmp_path):
    path = tmp_path / "file"
    for thing, _ in things.values():
        whole = thing.to_bytes().tobytes()
        for length in (0, 1, 7, 8, 127, 128, 200, len(whole) // 2, len(whole) - 64, len(whole) - 1):
            path.write_bytes(whole[:length])
            with pytest.raises(cl.FileFormatError):
                cl.load(path, small.params)
            with pytest.raises(cl.FileFormatError):
                cl.from_bytes(whole[:length], small.params)
            with pytest.raises(cl.FileFormatError):
                cl.inspect(path)
        path.write_bytes(whole + b"x")
        with pytest.raises(cl.FileFormatError, match="after its end"):
            cl.load(path, small.params)


def test_flipped_bits_are_refused_wherever_they_are(small, things, rng):
    for thing, _ in things.values():
        whole = thing.to_bytes().tobytes()
        for position in [*range(0, 128, 3), *rng.integers(128, len(whole), 40)]:
            damaged = bytearray(whole)
            damaged[position] ^= 1 << int(rng.integers(8))
            with pytest.raises((cl.FileFormatError, cl.WrongParamsError)):
                cl.from_bytes(damaged, small.params)


def test_future_versions_and_other_files_are_told_apart(small, things):
    whole = bytearray(things["ciphertexts"][0].to_bytes().tobytes())
    whole[8:12] = (7).to_bytes(4, "little")
    with pytest.raises(cl.FileFormatError, match=r"format version 7.*upgrade"):
        cl.from_bytes(whole, small.params)
    with pytest.raises(cl.FileFormatError, match="not a Clathrate file"):
        cl.from_bytes(b"\x93NUMPY" + bytes(200), small.params)


def test_absurd_lengths_allocate_nothing(small, things):
    for offset in (56, 64, 72):
        whole = bytearray(things["ciphertexts"][0].to_bytes().tobytes())
        whole[offset : offset + 8] = (2**62).to_bytes(8, "little")
        with pytest.raises(cl.FileFormatError):
            cl.from_bytes(whole, small.params)


def test_from_bytes_takes_any_contiguous_buffer(small, things):
    ct = things["ciphertexts"][0]
    whole = ct.to_bytes()
    raw = whole.tobytes()
    shifted = np.frombuffer(b"x" + raw, dtype=np.uint8)[1:]
    for buffer in (whole, raw, bytearray(raw), memoryview(raw), shifted, np.frombuffer(raw, dtype=np.uint64), np.frombuffer(raw, "S1")):
        assert np.array_equal(cl.from_bytes(buffer, small.params).to_bytes(), whole)
    with pytest.raises(TypeError):
        cl.from_bytes(whole[::2], small.params)
    for wrong in ("text", 3, None, [1, 2]):
        with pytest.raises(TypeError):
            cl.from_bytes(wrong, small.params)


def test_to_bytes_is_read_only(small):
    blob = small.key.encrypt([1.0]).to_bytes()
    assert blob.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        blob[0] = 0


def test_saving_where_nothing_can_be_written_leaves_nothing(small, tmp_path):
    ct = small.key.encrypt([1.0])
    with pytest.raises(cl.MissingFileError):
        ct.save(tmp_path / "absent" / "file")
    with pytest.raises(cl.FileAccessError):
        ct.save(tmp_path)
    assert os.listdir(tmp_path) == []


def test_saving_replaces_the_file(small, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    small.key.encrypt([1.0]).save(path)
    assert small.error(cl.load(path, small.params), [1.0]) < 1e-6
    assert os.listdir(tmp_path) == ["file"]


def test_inspect_can_leave_sections_unread(small, tmp_path):
    path = tmp_path / "file"
    blob = bytearray(small.key.encrypt([1.0]).to_bytes().tobytes())
    start = blob.index(b"bodies", 256)  # the table is last; the section before it holds residues
    blob[start // 2] ^= 1
    path.write_bytes(blob)
    assert cl.inspect(path, verify=False)["kind"] == "ciphertexts"
    with pytest.raises(cl.FileFormatError, match="corrupted"):
        cl.inspect(path)


def test_a_secret_key_is_replaced_on_purpose_only(small, tmp_path):
    path = tmp_path / "key"
    small.key.save(path)
    before = path.read_bytes()
    for thing in (small.key, small.key.encrypt([1.0]), small.params):
        with pytest.raises(cl.errors.FileAccessError, match="holds a secret key"):
            thing.save(path)
    assert path.read_bytes() == before
    assert small.key.save(path, overwrite=True) == len(before)
