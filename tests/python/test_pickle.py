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
        assert again.to_bytes() == thing.to_bytes()


def test_protocol_5_moves_the_data_out_of_band(small, rng):
    for thing in (small.key.encrypt(rng.normal(size=(20, 30))), small.keys, small.key.public_key()):
        buffers: list[pickle.PickleBuffer] = []
        stream = pickle.dumps(thing, protocol=5, buffer_callback=buffers.append)
        assert len(buffers) == 1
        assert len(stream) < 1000
        assert buffers[0].raw().nbytes == len(thing.to_bytes())
        for arrived in (buffers, [buffers[0].raw()], [bytes(buffers[0].raw())], [bytearray(buffers[0].raw())]):
            assert pickle.loads(stream, buffers=arrived).to_bytes() == thing.to_bytes()


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
    with pytest.raises(cl.errors.FileFormatError, match="truncated"):
        pickle.loads(stream, buffers=[raw[:-1]])
    with pytest.raises(cl.errors.FileFormatError):
        pickle.loads(stream, buffers=[raw[:-100] + bytes(100)])
    with pytest.raises(cl.errors.WrongParamsError):
        pickle.loads(stream, buffers=[cl.SecretKey.generate(cl.Params.preset("insecure_tiny")).encrypt([1.0]).to_bytes()])


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
    with pytest.raises(cl.errors.ShapeError) as caught:
        small.encrypt([1.0, 2.0]) + np.ones(3)
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is cl.errors.ShapeError
    assert str(again) == str(caught.value)
    with pytest.raises(cl.errors.MissingFileError) as missing:
        cl.load("/nonexistent/file")
    assert str(pickle.loads(pickle.dumps(missing.value))) == str(missing.value)
    assert "/nonexistent/file" in str(missing.value)


W = np.linspace(-1, 1, 12).reshape(3, 4)


def plans() -> dict[str, object]:
    small, boot = cl.Params.preset("insecure_small"), cl.Params.preset("insecure_boot")
    transform = cl.plans.LinearTransform(W)
    encoded = transform.plan(small, level=3)
    encoded.encode()
    return {
        "LinearTransform": transform,
        "LinearTransform of diagonals": cl.plans.LinearTransform.from_diagonals({0: [0.5], -1: [1.0, 2.0j, 3.0, 4.0]}, 8),
        "LinearTransformPlan": transform.plan(small, keys=2),
        "LinearTransformPlan, encoded": encoded,
        "PolynomialPlan": cl.plans.Polynomial([1.0, 0.0, 2.0, 0.5]).plan(small, level=4),
        "MatrixPlan": cl.plans.MatrixPlan(small, W, 5, method="by rows"),
        "BootstrapPlan": cl.plans.BootstrapPlan(boot, slots=8, is_complex=False),
        "MamboPlan": cl.plans.MamboPlan(boot, W / 4, 16),
        "PackingPlan": cl.plans.PackingPlan(small, count=5, level=1),
        "SamplesPlan": cl.plans.SamplesPlan(boot, 8, degree=8),
    }


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_plans_and_maps_pickle(protocol):
    made = plans()
    for name, plan in made.items():
        again = pickle.loads(pickle.dumps(plan, protocol=protocol))
        assert type(again) is type(plan), name
        assert repr(again) == repr(plan), name
        for figure in ("needs", "shape", "slots", "input_level", "output_level", "method", "level", "columns", "nbytes", "shifts"):
            if hasattr(plan, figure):
                assert getattr(again, figure) == getattr(plan, figure), (name, figure)
    kinds = {type(plan).__name__ for plan in made.values()}
    assert {name for name in cl.plans.__all__ if name.endswith("Plan")} <= kinds


def test_pickled_maps_and_plans_compute_the_same(small):
    for plan in plans().values():
        again = pickle.loads(pickle.dumps(plan))
        if isinstance(plan, cl.plans.LinearTransform):
            row = np.arange(1.0, plan.shape[1] + 1)
            assert np.array_equal(again(row), plan(row))
        elif isinstance(plan, cl.plans.LinearTransformPlan | cl.plans.PolynomialPlan):
            x = small.key.encrypt([0.5, 0.25, -0.5, 1.0]).with_keys(small.key.evaluation_keys(plan.needs))
            assert again(x).to_bytes() == plan(x).to_bytes()


def test_arrays_that_change_do_not_change_pickles_of_plans():
    weights = W.copy()
    key = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    plan = cl.plans.MatrixPlan(key.params, weights, 5, method="by rows")
    weights[:] = 0
    x = np.linspace(-1, 1, 20).reshape(4, 5)
    again = pickle.loads(pickle.dumps(plan))
    found = key.decrypt(again.prepare() @ key.encrypt(x, **again.encryption))
    assert abs(found - W @ x).max() < 1e-4


@pytest.mark.parametrize(
    "options",
    [{}, {"encoding": "slots", "lanes": "most"}, {"encoding": "slots", "bodies": 2}, {"encoding": "coefficients", "order": "bit-reversed"}],
)
def test_layouts_pickle(small, options):
    layout = small.key.encrypt(np.ones((4, 3)), **options).layout
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout
    assert (hash(again), again.place(3, 2), repr(again)) == (hash(layout), layout.place(3, 2), repr(layout))


@pytest.mark.parametrize("bound", [None, 1.0])
def test_traces_pickle_with_their_symbols(small, bound):
    found = cl.plans.trace(lambda x, y: {"product": x * y, "view": y.T}, (3, 4), (3, 4), params=small.params, encoding="slots", bound=bound)
    again = pickle.loads(pickle.dumps(found))
    assert (again.needs, again.stages, again.peak_bytes, again.explain()) == (found.needs, found.stages, found.peak_bytes, found.explain())
    pairs = [*zip(again.inputs, found.inputs, strict=True), (again.result["product"], found.result["product"])]
    for own, symbol in pairs:
        assert own.params == symbol.params
        for figure in ("shape", "level", "scale", "encoding", "layout", "secret", "bound", "error_rms", "error_bound"):
            assert getattr(own, figure) == getattr(symbol, figure), figure
    assert again.result["view"].shape == (4, 3)
    # A symbol goes on in a dry run of its own.
    assert (again.result["product"] * again.result["product"]).rescale().level == found.result["product"].rescale().level - 1


def test_views_pickle(small):
    x = np.arange(6.0).reshape(2, 3)
    again = pickle.loads(pickle.dumps(small.key.encrypt(x, encoding="coefficients").T))
    assert np.allclose(small.key.decrypt(again), x.T, atol=1e-6)


def test_a_ciphertext_in_a_worker_says_how_keys_come_to_it(small, tmp_path):
    ct = pickle.loads(pickle.dumps(small.encrypt([1.0, 2.0])))
    with pytest.raises(cl.errors.MissingKeyError) as caught:
        ct * ct
    message = str(caught.value)
    for part in (
        "files and pickles leave them out",
        "`ct = ct.with_keys(keys)`",
        "`keys = cl.load(path, params)`",
        "`keys = secret_key.keys_for(function, x.shape)`",
    ):
        assert part in message
    # The advice, for a worker and for the owner.
    small.keys.save(tmp_path / "keys")
    keys = cl.load(tmp_path / "keys", ct.params)
    assert small.error(ct.with_keys(keys) * ct, [1.0, 4.0]) < 1e-6
    keys = small.key.keys_for(lambda x: x * x, ct.shape)
    assert small.error(ct.with_keys(keys) * ct, [1.0, 4.0]) < 1e-6


def test_bytes_are_bytes(small):
    for thing in (small.key.encrypt([1.0]), small.keys, small.key.public_key()):
        data = thing.to_bytes()
        assert type(data) is bytes
        assert cl.from_bytes(data, small.params).to_bytes() == data
