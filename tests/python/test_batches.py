"""Programs of many items at once: what each item gets is what the function gives for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from test_passes import SHIFT, VECTOR, M, W, clear, trees, value

import clathrate as cl
from clathrate._program import mapped_results

ITEM = cl.Input((3, 4), bound=1.0)
WEIGHTS = cl.Input((4,), bound=1.0, plain=True)


def spread(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: (x - x.mean()) * 2 + 1,
        lambda x: x.sum(axis=0) - x.mean(axis=1).sum(),
        lambda x: x.sum(axis=-1, keepdims=True) * x,
        lambda x: x.var(axis=0) + x.prod(axis=0),
        lambda x: x + x[0],
        lambda x: x[1:, 1:3] * x[:-1, :2],
        lambda x: x[0, 1] * x[2] + x[:, 1].sum(),
        lambda x: x[[2, 0]],
        lambda x: x.T @ x,
        lambda x: x @ x.T,
        lambda x: x @ SHIFT,
        lambda x: x @ M,
        lambda x: W[:, :3] @ x,
        lambda x: x @ x[0],
        lambda x: x[0] @ x[1],
        lambda x: np.roll(x, 1, axis=0) * 0.5 + np.flip(x),
        lambda x: np.diff(x, axis=1) * 0.25,
        lambda x: x.reshape(2, 6)[1],
        lambda x: np.concatenate([x, 2 * x], axis=0),
        lambda x: np.concatenate([x, 2 * x], axis=1),
        lambda x: np.pad(x, 1),
        lambda x: np.repeat(x, 2, axis=1),
        lambda x: np.transpose(x).sum(axis=0),
        lambda x: np.einsum("ij,kj->ik", x, x),
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.polyval([0.5, 1.0, 2.0], x) - x**3,
        lambda x: cl.functions.sigmoid(x @ M),
        lambda x: cl.functions.relu(x),
        lambda x: cl.functions.maximum(x, 0.25),
        lambda x: cl.functions.softmax(x),
        lambda x: cl.functions.std(x, axis=0, domain=(0.01, 1)),
        lambda x: cl.functions.norm(x, axis=1, domain=(0.01, 2)),
        lambda x: np.where([True, False, True, True], x, x[0]),
        lambda x: {"a": x.sum(), "b": (x[0], x[:, 0] * 2)},
    ],
)
def test_each_item_gets_what_the_function_gives(function):
    one = cl.compile(function, ITEM)
    many = cl.compile(function, ITEM, batch=5)
    data = spread(5, 3, 4)
    assert many.inputs[0].shape == (5, 3, 4)
    assert [own.shape for own in many.results] == [(5, *own.shape) for own in one.results]
    expected = [clear(one, item) for item in data]
    for place, found in enumerate(clear(many, data)):
        assert np.abs(found - np.stack([own[place] for own in expected])).max() <= 1e-12


def test_a_batch_is_encrypted_run_and_decrypted():
    def function(x, w, b):
        return x * w, (x @ b).sum()

    inputs = (VECTOR, cl.Input((4,), bound=1.0), WEIGHTS)
    program = cl.compile(function, *inputs, batch=6, error=1e-4)
    x, w, b = spread(6, 4), spread(6, 4, seed=1), spread(4, seed=2)
    assert [own.shape for own in program.inputs] == [(6, 4), (6, 4), (4,)]
    owner = cl.SecretKey.generate(program)
    first, second = owner.decrypt(list(program.run(owner.keys(program), *owner.encrypt(program, x, w), b)))
    assert np.abs(first - x * w).max() <= 1e-4
    assert np.abs(second - x @ b).max() <= 1e-4
    check = program.check(x, w, b)
    assert check.outside == ()
    assert check.difference <= 1e-12


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda x, y: x @ y, [(2, 3, 4), (4, 5)]),
        (lambda x, y: x @ y, [(4,), (2, 4, 5)]),
        (lambda x, y: x @ y, [(3, 4), (2, 4, 5)]),
        (lambda x, y: x @ y, [(2, 3, 4), (4,)]),
        (lambda x, y: x @ y, [(1, 3, 4), (4, 5)]),
        (lambda x, y: x @ y, [(2, 1, 3, 4), (3, 4, 2)]),
        (lambda x, y: np.swapaxes(x, -1, -2) @ y, [(2, 4, 3), (4, 5)]),
        (lambda x, y: x + y, [(2, 3), (3,)]),
        (lambda x, y: x.T, [(3, 4), (1,)]),
        (lambda x, y: {"own": (x, x.T), "other": [(x @ y).T]}, [(2, 2), (2, 2)]),
    ],
)
def test_items_with_different_numbers_of_axes(function, shapes, batch):
    inputs = [cl.Input(shape, bound=1.0) for shape in shapes]
    program = cl.compile(function, *inputs, batch=batch)
    data = [spread(batch, *shape, seed=place) for place, shape in enumerate(shapes)]
    owner = cl.SecretKey.generate(program)
    results = arrays_of(program.run(owner.keys(program), *owner.encrypt(program, *data)))
    items = [arrays_of(function(*item)) for item in zip(*data, strict=True)]
    for found, result, right in zip(results, program.results, map(np.stack, zip(*items, strict=True)), strict=True):
        assert found.shape == result.shape == right.shape
        assert np.abs(owner.decrypt(found) - right).max() <= result.error_bound


def arrays_of(results):
    """The arrays among the results of a function."""
    found = []
    mapped_results(found.append, results)
    return found


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(trees(3))
def test_random_functions_of_items(tree):
    def function(x, y):
        return value(tree, x, y) + 0.0 * x

    program = cl.compile(function, VECTOR, VECTOR, batch=3)
    x, y = spread(2, 3, 4)
    expected = np.stack([function(*items) for items in zip(x, y, strict=True)])
    (found,) = clear(program, x, y)
    assert np.abs(found - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())


def test_throughput_takes_as_many_items_as_make_one_cheapest():
    def function(x):
        return W @ x

    one, many = cl.compile(function, VECTOR), cl.compile(function, VECTOR, objective="throughput")
    items = many.inputs[0].shape[0]
    assert many.inputs[0].shape == (items, 4)
    assert many.results[0].shape == (items, 3)
    assert items >= 1000
    assert many._native.price / items < one._native.price / 100
    assert cl.compile(function, VECTOR, objective="throughput", batch=7).inputs[0].shape == (7, 4)


def test_bad_batches_are_refused():
    with pytest.raises(cl.errors.DataError, match=r"`batch`.*1 or more"):
        cl.compile(lambda x: x * 2, VECTOR, batch=0)
    with pytest.raises(cl.errors.DataError, match=r"`objective`.*latency"):
        cl.compile(lambda x: x * 2, VECTOR, objective="speed")
    with pytest.raises(TypeError):
        cl.compile(lambda x: x * 2, VECTOR, batch=1.5)
    six = cl.Input((1, 2, 1, 2, 1, 2), bound=1.0)
    with pytest.raises(cl.errors.ClathrateError, match="axes"):
        cl.compile(lambda x: x * 2, six, batch=2)
