"""Pickles: in band and out of band, here and in a fresh process."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest

import clathrate as cl


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_each_kind_pickles_in_band(small, rng, protocol):
    data = rng.normal(size=(2, 30))
    for thing in (small.key.encrypt(data), small.key.encrypt(data, encoding="slots") + 1, small.keys, small.key.public_key()):
        again = pickle.loads(pickle.dumps(thing, protocol=protocol))
        assert type(again) is type(thing)
        assert again.params == small.params
        assert again.key_id == thing.key_id
        assert np.array_equal(again.to_bytes(), thing.to_bytes())


def test_protocol_5_moves_the_data_out_of_band(small, rng):
    for thing in (small.key.encrypt(rng.normal(size=(20, 30))), small.keys, small.key.public_key()):
        buffers: list[pickle.PickleBuffer] = []
        stream = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        assert len(buffers) == 1
        assert len(stream) < 1000
        assert buffers[0].raw().nbytes == thing.to_bytes().nbytes
        for arrived in (buffers, [buffers[0].raw()], [bytes(buffers[0].raw())], [bytearray(buffers[0].raw())]):
            assert np.array_equal(pickle.loads(stream, buffers=arrived).to_bytes(), thing.to_bytes())


def test_ciphertexts_of_one_stream_share_their_params(small):
    first, second = pickle.loads(pickle.dumps([small.key.encrypt([1.0]), small.key.encrypt([2.0])]))
    assert first.params is second.params
    assert small.error(first + second, [3.0]) < 1e-6


def test_attached_keys_stay_behind(small):
    ct = small.encrypt([1.0, 2.0])
    again = pickle.loads(pickle.dumps(ct))
    assert again.keys is None
    assert small.error((again.with_keys(small.keys) ** 2).rescale(), [1.0, 4.0]) < 1e-6
    assert len(pickle.dumps(ct)) < small.keys.nbytes / 4


def test_damaged_pickles_are_errors(small):
    buffers: list[pickle.PickleBuffer] = []
    stream = pickle.dumps(small.key.encrypt([1.0]), protocol=5, buffer_callback=buffers.append)
    raw = bytes(buffers[0].raw())
    with pytest.raises(cl.FileFormatError, match="truncated"):
        pickle.loads(stream, buffers=[raw[:-1]])
    with pytest.raises(cl.FileFormatError):
        pickle.loads(stream, buffers=[raw[:-100] + bytes(100)])
    with pytest.raises(cl.WrongParamsError):
        pickle.loads(stream, buffers=[bytes(cl.SecretKey.generate(cl.Params.preset("insecure_tiny")).encrypt([1.0]).to_bytes())])


WORKER = """
import pickle, sys
import numpy as np
weights, ct, keys = pickle.load(sys.stdin.buffer)
assert ct.params == keys.params
result = (weights @ ct).rescale().with_keys(keys)
pickle.dump((result, (result * result).rescale().rotate(1)), sys.stdout.buffer)
"""


def test_a_fresh_process_computes_on_pickles_alone(small, rng):
    weights, data = rng.normal(size=(3, 4)), rng.normal(size=(4, 16))
    task = pickle.dumps((weights, small.key.encrypt(data, encoding="slots"), small.keys))
    done = subprocess.run([sys.executable, "-c", WORKER], input=task, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    product, square = pickle.loads(done.stdout)
    assert small.error(product, weights @ data) < 1e-6
    assert small.error(square, np.roll((weights @ data) ** 2, -1, axis=1)) < 1e-5


def test_exceptions_pickle(small):
    with pytest.raises(cl.ShapeError) as caught:
        small.encrypt([1.0, 2.0]) + np.ones(3)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is cl.ShapeError
    assert str(again) == str(caught.value)
    with pytest.raises(cl.MissingFileError) as missing:
        cl.load("/nonexistent/file")
    assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)
    assert "/nonexistent/file" in str(missing.value)
