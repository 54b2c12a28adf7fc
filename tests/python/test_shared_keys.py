"""One copy of evaluation keys for several processes: expanded files, mapped."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from forging import forged, parsed

import clathrate as cl

WORKER = """
import sys
import clathrate as cl

folder = sys.argv[1]

def private():
    # Pages of a file that nothing wrote to are shared, also where only one process has them now.
    lines = [line.split() for line in open("/proc/self/smaps_rollup")]
    return sum(int(line[1]) for line in lines if line[0] == "Private_Dirty:") / 1024

program = cl.load(folder + "/f.program")
before = private()
keys = cl.EvaluationKeys.load(folder + "/" + sys.argv[2], program.params, trusted_map=True)
print("loaded", flush=True)
sys.stdin.readline()
print(private() - before, flush=True)
x = cl.load(folder + "/x.clt", program.params)
program.run(keys, x).save(folder + "/" + sys.argv[3])
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    W = np.random.default_rng(0).normal(size=(256, 256)) / 16
    program = cl.compile(lambda x: W @ x, cl.Input((256,), bound=1.0), params=cl.Params.preset("n14"))
    owner = cl.SecretKey.generate(program)
    keys = owner.keys(program)
    program.save(folder / "f.program")
    keys.save(folder / "keys.clt")
    keys.save(folder / "expanded.clt", expanded=True)
    x = np.linspace(-1, 1, 256)
    owner.encrypt(program, x).save(folder / "x.clt")
    return folder, program, owner, keys, W @ x


@pytest.mark.skipif(not pathlib.Path("/proc/self/smaps_rollup").exists(), reason="needs Linux's account of memory")
def test_processes_share_one_copy_of_expanded_keys(made):
    folder, program, owner, keys, expected = made
    size = keys.nbytes / 2**20
    assert size > 20
    private = {}
    for name in ("keys.clt", "expanded.clt"):
        command = [sys.executable, "-c", WORKER, str(folder), name]
        workers = [
            subprocess.Popen([*command, f"y{index}.clt"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for index in range(2)
        ]
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "loaded\n"
        # Both have the keys now.
        found = [worker.communicate("go\n", timeout=120)[0] for worker in workers]
        private[name] = max(float(text) for text in found)
        results = [cl.load(folder / f"y{index}.clt", program.params) for index in range(2)]
        assert results[0].to_bytes() == results[1].to_bytes()
        assert np.abs(owner.decrypt(results[0]) - expected).max() < 1e-3
    # Each process has the keys of the usual file, and hardly anything of the expanded one.
    assert private["keys.clt"] > 0.8 * size
    assert private["expanded.clt"] < 0.2 * size


def test_expanded_files_are_the_same_keys(made):
    folder, program, _owner, keys, _ = made
    x = cl.load(folder / "x.clt", program.params)
    expected = program.run(keys, x).to_bytes()
    for trusted_map in (False, True):
        again = cl.EvaluationKeys.load(folder / "expanded.clt", program.params, trusted_map=trusted_map)
        assert program.run(again, x).to_bytes() == expected
        assert (again.key_id, again.nbytes, again.to_bytes()) == (keys.key_id, keys.nbytes, keys.to_bytes())
        assert not again.missing(program)
    assert cl.load(folder / "expanded.clt", program.params).to_bytes() == keys.to_bytes()


def test_damaged_expanded_files_are_refused(made, tmp_path):
    folder, program, _, _, _ = made
    whole = (folder / "expanded.clt").read_bytes()
    path = tmp_path / "damaged.clt"
    places = np.random.default_rng(1).integers(len(whole), size=20)
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        for trusted_map in (False, True):
            with pytest.raises(cl.errors.ClathrateError):
                cl.EvaluationKeys.load(path, program.params, trusted_map=trusted_map)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(cl.errors.ClathrateError):
        cl.EvaluationKeys.load(path, program.params, trusted_map=True)


def test_forged_expanded_files_are_refused(made, tmp_path):
    folder, program, _, _, _ = made
    whole = (folder / "expanded.clt").read_bytes()
    path = tmp_path / "forged.clt"

    def not_expanded(metadata, sections):
        metadata["expanded"] = False

    def too_large(metadata, sections):
        sections["key0"] = b"\xff" * len(sections["key0"])

    def shorter(metadata, sections):
        sections["key0"] = sections["key0"][:-64]

    def higher(metadata, sections):
        metadata["keys"][0]["level"] += 1

    for change in (not_expanded, too_large, shorter, higher):
        path.write_bytes(forged(whole, change))
        for trusted_map in (False, True):
            with pytest.raises(cl.errors.ClathrateError):
                cl.EvaluationKeys.load(path, program.params, trusted_map=trusted_map)
    _, metadata, _ = parsed(whole)
    assert metadata["expanded"] is True
