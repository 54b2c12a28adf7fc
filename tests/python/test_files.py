"""Files of each kind: they come back, and damage is told."""

from __future__ import annotations

import errno
import inspect
import os
import pickle
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

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
            assert again.to_bytes() == thing.to_bytes()
        report = cl.inspect(path)
        assert report["kind"] == kind
        assert report["parameters"] == small.params.name
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
        # An error of ours, and the one that Python has for a missing argument.
        for error in (cl.errors.FileKindError, cl.ClathrateError, cl.errors.FileFormatError, TypeError):
            with pytest.raises(error, match="pass the parameters"):
                cl.load(tmp_path / "file")
            with pytest.raises(error, match="pass the parameters"):
                cl.from_bytes((tmp_path / "file").read_bytes())


def test_loading_with_other_params_is_refused_and_both_are_named(small, things, tmp_path):
    other = cl.Params.preset("insecure_tiny")
    message = (
        f'made for parameters "insecure_small" \\(digest {small.params.digest[:16]}\\), '
        f'these are "insecure_tiny" \\(digest {other.digest[:16]}\\): use the parameters it was made with'
    )
    for thing, cls in things.values():
        thing.save(tmp_path / "file")
        for load in (cl.load, cls.load):
            with pytest.raises(cl.errors.WrongParamsError, match=message):
                load(tmp_path / "file", other)


def test_loading_another_kind_is_refused(small, things, tmp_path):
    for thing, cls in things.values():
        thing.save(tmp_path / "file")
        for _, other in things.values():
            if other is not cls:
                with pytest.raises(cl.errors.FileFormatError, match="pass the right file"):
                    other.load(tmp_path / "file", small.params)


def test_truncated_files_are_refused_at_every_length(small, things, tmp_path):
    path = tmp_path / "file"
    for thing, _ in things.values():
        whole = thing.to_bytes()
        for length in (0, 1, 7, 8, 127, 128, 200, len(whole) // 2, len(whole) - 64, len(whole) - 1):
            path.write_bytes(whole[:length])
            with pytest.raises(cl.errors.FileFormatError):
                cl.load(path, small.params)
            with pytest.raises(cl.errors.FileFormatError):
                cl.from_bytes(whole[:length], small.params)
            with pytest.raises(cl.errors.FileFormatError):
                cl.inspect(path)
        path.write_bytes(whole + b"x")
        with pytest.raises(cl.errors.FileFormatError, match="after its end"):
            cl.load(path, small.params)


def test_flipped_bits_are_refused_wherever_they_are(small, things, rng):
    for thing, _ in things.values():
        whole = thing.to_bytes()
        for position in [*range(0, 128, 3), *rng.integers(128, len(whole), 40)]:
            damaged = bytearray(whole)
            damaged[position] ^= 1 << int(rng.integers(8))
            with pytest.raises((cl.errors.FileFormatError, cl.errors.WrongParamsError)):
                cl.from_bytes(damaged, small.params)


def test_future_versions_and_other_files_are_told_apart(small, things):
    whole = bytearray(things["ciphertexts"][0].to_bytes())
    whole[8:12] = (7).to_bytes(4, "little")
    with pytest.raises(cl.errors.FileFormatError, match=r"format version 7.*upgrade"):
        cl.from_bytes(whole, small.params)
    with pytest.raises(cl.errors.FileFormatError, match="not a Clathrate file"):
        cl.from_bytes(b"\x93NUMPY" + bytes(200), small.params)


def test_absurd_lengths_allocate_nothing(small, things):
    for offset in (56, 64, 72):
        whole = bytearray(things["ciphertexts"][0].to_bytes())
        whole[offset : offset + 8] = (2**62).to_bytes(8, "little")
        with pytest.raises(cl.errors.FileFormatError):
            cl.from_bytes(whole, small.params)


def test_from_bytes_takes_any_contiguous_buffer(small, things):
    ct = things["ciphertexts"][0]
    raw = ct.to_bytes()
    whole = np.frombuffer(raw, dtype=np.uint8)
    shifted = np.frombuffer(b"x" + raw, dtype=np.uint8)[1:]
    for buffer in (whole, raw, bytearray(raw), memoryview(raw), shifted, np.frombuffer(raw, dtype=np.uint64), np.frombuffer(raw, "S1")):
        assert cl.from_bytes(buffer, small.params).to_bytes() == raw
    with pytest.raises(TypeError):
        cl.from_bytes(whole[::2], small.params)
    for wrong in ("text", 3, None, [1, 2]):
        with pytest.raises(TypeError):
            cl.from_bytes(wrong, small.params)


def test_saving_where_nothing_can_be_written_leaves_nothing(small, tmp_path):
    ct = small.key.encrypt([1.0])
    with pytest.raises(cl.errors.MissingFileError):
        ct.save(tmp_path / "absent" / "file")
    with pytest.raises(cl.errors.FileAccessError):
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
    blob = bytearray(small.key.encrypt([1.0]).to_bytes())
    start = blob.index(b"bodies", 256)  # the table is last; the section before it holds residues
    blob[start // 2] ^= 1
    path.write_bytes(blob)
    assert cl.inspect(path, verify=False)["kind"] == "ciphertexts"
    with pytest.raises(cl.errors.FileFormatError, match="corrupted"):
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


def as_bytes(path):
    return os.fsencode(path)


class PathLike:
    """A path as libraries define their own, of text or of bytes."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


def test_paths_of_every_kind_are_taken(small, things, tmp_path):
    path = tmp_path / "f\u00efle"
    kinds = (path, str(path), as_bytes(path), PathLike(str(path)), PathLike(as_bytes(path)))
    small.key.save(path)
    for thing, cls in things.values():
        for kind in kinds:
            path.unlink()
            size = thing.save(kind)
            assert cl.inspect(kind)["bytes"] == size == path.stat().st_size
            assert type(cl.load(kind, small.params)) is type(cls.load(kind, small.params)) is cls
    for kind in kinds:
        path.unlink()
        small.key.save(kind)
        small.key.save(kind, overwrite=True)
        assert cl.SecretKey.load(kind, small.params).key_id == small.key.key_id
        path.unlink()
        small.params.save(kind)
        assert cl.Params.load(kind, allow_insecure=True) == small.params
        path.write_text(small.params.to_toml(), encoding="utf-8")
        assert cl.Params.from_file(kind, allow_insecure=True) == small.params
    # A name that is no text in any encoding.
    raw = as_bytes(tmp_path) + b"/\xff\xfe"
    small.params.save(raw)
    assert cl.Params.load(raw, allow_insecure=True) == small.params
    assert raw.rsplit(b"/", 1)[1] in os.listdir(as_bytes(tmp_path))
    for wrong in (5, None, 1.5, ["file"], object()):
        with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not"):
            cl.load(wrong, small.params)
        with pytest.raises(TypeError, match=r"expected str, bytes or os\.PathLike object, not"):
            small.params.save(wrong)


@pytest.mark.parametrize("as_path", [str, as_bytes])
def test_errors_of_the_system_are_told_as_python_s_own(small, tmp_path, as_path):
    file, folder, absent = tmp_path / "file", tmp_path / "folder", tmp_path / "absent"
    folder.mkdir()
    file.write_bytes(b"old")
    loop, pipe = tmp_path / "loop", tmp_path / "pipe"
    loop.symlink_to(loop)
    os.mkfifo(pipe)
    ct = small.key.encrypt([1.0])
    cases = [
        (lambda path: cl.load(path), absent, errno.ENOENT),
        (lambda path: cl.inspect(path), absent, errno.ENOENT),
        (lambda path: cl.load(path), folder, errno.EISDIR),
        (lambda path: cl.load(path), file / "deeper", errno.ENOTDIR),
        (lambda path: cl.load(path), loop, errno.ELOOP),
        (lambda path: cl.load(path), pipe, errno.EINVAL),
        (lambda path: cl.SecretKey.load(path, small.params), absent, errno.ENOENT),
        (lambda path: cl.Params.from_file(path), absent, errno.ENOENT),
        (lambda path: cl.Params.from_file(path), folder, errno.EISDIR),
        (lambda path: cl.Params.load(path), absent, errno.ENOENT),
        (ct.save, folder, errno.EISDIR),
        (ct.save, absent / "deeper", errno.ENOENT),
        (ct.save, file / "deeper", errno.ENOTDIR),
        (ct.save, loop, errno.ELOOP),
        (small.params.save, folder, errno.EISDIR),
        (small.key.save, absent / "deeper", errno.ENOENT),
    ]
    for call, path, number in cases:
        with pytest.raises(cl.errors.FileAccessError) as caught:
            call(as_path(path))
        error = caught.value
        assert isinstance(error, OSError)
        assert isinstance(error, FileNotFoundError) == (number == errno.ENOENT)
        for each in (error, pickle.loads(pickle.dumps(error))):
            assert type(each) is type(error)
            assert (each.errno, each.filename, each.strerror) == (number, str(path), os.strerror(number))
            assert str(path) in str(each)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop", "pipe"]


def test_a_secret_key_in_the_way_is_an_os_error_too(small, tmp_path):
    path = tmp_path / "key"
    small.key.save(path)
    with pytest.raises(cl.errors.FileAccessError, match="holds a secret key") as caught:
        small.params.save(path)
    assert (caught.value.errno, caught.value.filename) == (errno.EEXIST, str(path))


def test_a_disk_that_fills_up_on_the_way_loses_nothing(tmp_path):
    command = [sys.executable, "-W", "error", Path(__file__).parent / "full_disk.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # Six kinds of files, new ones and old ones, with room for three shares of each, and three messages to an inbox.
    assert int(done.stdout) == 6 * 2 * 3 + 3


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_told_and_the_target_stays(small, tmp_path):
    path = tmp_path / "full"
    try:
        # The superuser gets a device of their own: a test that fails must not replace the system's.
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
        path.open("wb").close()
    except OSError:
        path = "/dev/full"
    with pytest.raises(cl.errors.FileAccessError, match="No space left on device") as caught:
        small.key.encrypt([1.0]).save(path)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))
    assert stat.S_ISCHR(os.lstat(path).st_mode)


def test_saving_to_a_pipe_streams(small, tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got = []
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()))
    reader.start()
    ct = small.key.encrypt(np.arange(5.0))
    size = ct.save(path)
    reader.join()
    assert len(got[0]) == size
    assert small.error(cl.from_bytes(got[0], small.params), np.arange(5.0)) < 1e-6
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


def test_saving_follows_links_and_keeps_modes(small, tmp_path):
    link, file = tmp_path / "link", tmp_path / "file"
    link.symlink_to("file")
    for mode in (0o600, 0o644, 0o640):
        small.params.save(link)
        file.chmod(mode)
        small.params.save(link)
        assert link.is_symlink()
        assert stat.S_IMODE(file.lstat().st_mode) == mode
        assert cl.Params.load(file, allow_insecure=True) == small.params
    assert sorted(os.listdir(tmp_path)) == ["file", "link"]


SHRINKING = """
import os, sys, threading
import clathrate as cl

path, rounds = sys.argv[1], int(sys.argv[2])
params = cl.Params.preset("insecure_small")
whole = open(path, "rb").read()
stop = False

def change():
    count = 0
    while not stop:
        count += 1
        os.truncate(path, count * 7919 % len(whole))
        open(path, "wb").write(whole)

thread = threading.Thread(target=change)
thread.start()
told = 0
for _ in range(rounds):
    try:
        cl.load(path, params)
    except cl.errors.FileFormatError:
        told += 1
stop = True
thread.join()
print("told", told)
"""


def test_a_file_that_shrinks_while_it_is_loaded_is_an_error_and_no_crash(small, tmp_path):
    small.keys.save(tmp_path / "keys")
    program = subprocess.run(
        [sys.executable, "-c", SHRINKING, str(tmp_path / "keys"), "300"], capture_output=True, text=True, timeout=300, check=False
    )
    assert program.returncode == 0, program.stderr
    assert int(program.stdout.split()[1]) > 0


def test_text_in_place_of_a_list_is_told(small):
    sizes = {"degree": 1024, "log2_scale": 40, "insecure": True}
    for steps in ("60,40", "60", b"60", bytearray(b"60"), ["60", 40], [[30, "30"], 40], 60, None):
        with pytest.raises(TypeError, match=r"use a list with the bits of each step, such as \[60, 40\] or \[\[30, 30\], 40\]; got "):
            cl.Params(steps=steps, **sizes)
    for name in ("special", "temporary"):
        for wrong in ("1,2", b"\x01", 1, ["one"]):
            with pytest.raises(TypeError, match=r"use a list of numbers, such as \[45.4, 45\]; got "):
                cl.Params(steps=[60, 40], **{name: wrong}, **sizes)
        with pytest.raises(ValueError, match=r"a prime of 1\.5 bits: at degree 1024 primes have 12 to 60 bits"):
            cl.Params(steps=[60, 40], **{name: [1.5]}, **sizes)
    calls = [
        lambda wrong: cl.keys.Needs(rotations=wrong),
        lambda wrong: cl.keys.Needs(ranks=wrong),
        small.encrypt([1.0]).rotate_many,
        small.keys.derive,
    ]
    for call in calls:
        for wrong in ("1,2", b"\x01", 1, ["one"], [1.5]):
            with pytest.raises(TypeError, match=r"use a list of whole numbers, such as \[1, 2\]; got "):
                call(wrong)
    with pytest.raises(TypeError) as caught:
        cl.Params(steps="9" * 10_000, **sizes)
    assert len(str(caught.value)) < 300
    # Lists of every kind are taken.
    for steps in ([50, 40], (50, 40), np.array([50, 40]), [(50,), np.int64(40)], range(50, 38, -10)):
        assert cl.Params(steps=steps, special=(51,), **sizes).max_level == 1


def test_files_page_reads_the_format_by_its_own_table(capsys):
    page = (Path(__file__).resolve().parents[2] / "docs/files.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(snippet, {})
    first, *sections = capsys.readouterr().out.splitlines()
    assert first == "b'CLATHRAT' 1 5 insecure_small 5 True True"
    # A fresh ciphertext: the seed of its mask, and 1024 residues for each of the six steps' primes.
    assert [line.split()[:2] for line in sections] == [["seeds", "0"], ["bodies", "0"]]
    lengths = [int(line.split()[2]) for line in sections]
    assert lengths[0] == 32
    assert lengths[1] % (8 * 1024) == 0


def storable(small, name: str) -> tuple[object, bool]:
    """Something with `save`, and whether it overwrites by default."""
    matmul = cl.Params.preset("insecure_matmul")
    if name == "PreparedMatrix":
        owner = cl.SecretKey.generate(matmul)
        plan = cl.plans.MatrixPlan(matmul, np.eye(2), columns=3, method="prepared")
        return plan.prepare(owner.evaluation_keys(plan.needs)), True
    if name == "PreparedSamples":
        owner = cl.SecretKey.generate(cl.Params.preset("insecure_boot"))
        plan = cl.plans.SamplesPlan(owner.params, 2)
        receiver = cl.clients.Receiver(owner.params, cl.clients.LightClient(owner, plan=plan).introduction, owner.authentication_key())
        return cl.plans.PreparedSamples(plan, owner.evaluation_keys(plan.needs), receiver, 0), True
    things = {
        "Params": small.params,
        "SecretKey": small.key,
        "PublicKey": small.key.public_key(),
        "AuthenticationKey": small.key.authentication_key(),
        "LightClient": cl.clients.LightClient(small.key),
        "EvaluationKeys": small.keys,
        "Ciphertext": small.key.encrypt([1.0]),
        "LinearTransformPlan": cl.plans.LinearTransform(np.eye(4)[::-1]).plan(small.params),
        "Program": cl.compile(lambda x: x + 1, cl.Input((3,), bound=1.0), params=small.params),
    }
    return things[name], name != "SecretKey"


STORED = [name for place in (cl, cl.plans, cl.keys, cl.clients) for name in place.__all__ if hasattr(getattr(place, name), "save")]


def test_there_is_something_to_store():
    assert len(STORED) >= 8


@pytest.mark.parametrize("name", STORED)
def test_one_rule_says_what_is_overwritten(small, tmp_path, name):
    thing, replaces = storable(small, name)
    path, other = tmp_path / "file", b"something else"
    assert inspect.signature(thing.save).parameters["overwrite"].default is replaces
    path.write_bytes(other)
    refused = [{"overwrite": False}] if replaces else [{"overwrite": False}, {}]
    for options in refused:
        with pytest.raises(
            cl.errors.FileAccessError, match=r"file exists: save to another path, or replace the file with `overwrite=True`"
        ) as caught:
            thing.save(path, **options)
        assert (caught.value.errno, caught.value.filename) == (errno.EEXIST, str(path))
        assert path.read_bytes() == other
        assert [file.name for file in tmp_path.iterdir()] == ["file"]
    # What the message says.
    size = thing.save(path, overwrite=True)
    assert path.stat().st_size == size
    assert path.read_bytes() != other
    assert thing.save(tmp_path / "new", overwrite=False) == size
    if replaces:
        path.write_bytes(other)
        assert thing.save(path) == size
    # A secret key is replaced by one alone.
    secret = tmp_path / "secret"
    small.key.save(secret)
    before = secret.read_bytes()
    if name != "SecretKey":
        for options in ({}, {"overwrite": True}, {"overwrite": False}):
            with pytest.raises(cl.errors.FileAccessError, match="holds a secret key"):
                thing.save(secret, **options)
        assert secret.read_bytes() == before
