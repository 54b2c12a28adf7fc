"""Shapes that broadcast, indices, and arrays that are joined and selected from, beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import TOLERANCE, Party, check, numbers

import clathrate as cl


@pytest.mark.parametrize(
    ("left", "right"),
    [((), (5,)), ((1,), (5,)), ((5,), (3, 5)), ((1, 5), (3, 5)), ((3, 1), (3, 5)), ((3, 1), (1, 5)), ((1, 1), (5,)), ((5,), (1, 5))],
)
def test_shapes_broadcast(owner: Party, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    a, b = numbers(*left), numbers(*right, seed=2)
    for function in (lambda x, y: x + y, lambda x, y: y - x, lambda x, y: x * y):
        check(owner, function, a, b, encoding="slots")
        # Plain numbers on one side.
        check(owner, lambda x, f=function: f(x, b), a, encoding="slots")
        check(owner, lambda y, f=function: f(a, y), b, encoding="slots")


def test_shapes_that_do_not_broadcast(owner: Party) -> None:
    x, y = owner.encrypt(numbers(5)), owner.encrypt(numbers(4))
    for combine in (lambda: x + y, lambda: x * y, lambda: x - numbers(4), lambda: x * numbers(2, 3)):
        with pytest.raises(cl.errors.ShapeError, match="axis by axis"):
            combine()


def test_rows_of_coefficients_broadcast(owner: Party) -> None:
    row, matrix = numbers(5), numbers(3, 5, seed=2)
    x, y = (owner.key.encrypt(data, encoding="coefficients") for data in (row, matrix))
    assert owner.error(x + y, row + matrix) < TOLERANCE
    with pytest.raises(cl.errors.ShapeError):
        _ = y + owner.key.encrypt(numbers(3, 1), encoding="coefficients")


def test_reshape(owner: Party) -> None:
    x = owner.key.encrypt(numbers(5)).with_keys(owner.key.keys_for(lambda x: x.sum(), (5,)))
    assert [y.shape for y in (x.reshape(1, 5), x.reshape((1, -1)), x.reshape(-1), x.sum(keepdims=True).reshape(()))] == [
        (1, 5),
        (1, 5),
        (5,),
        (),
    ]
    column = x.reshape(-1, 1)
    assert (column.shape, column.layout.lanes, column.reshape(-1).layout == x.layout) == ((5, 1), 8, True)
    for shape in ((2, 3), (-1, -1), (0,), (-2,), (2**40, 2**40), (1, 1, 1, 1, 1, 1, 5)):
        with pytest.raises(cl.ClathrateError):
            x.reshape(shape)


def test_where_and_stacks(owner: Party) -> None:
    mask = np.array([True, False, True, True, False])
    check(
        owner, lambda x, y: (cl.functions.where if isinstance(x, cl.Ciphertext) else np.where)(mask, x, y), numbers(5), numbers(5, seed=2)
    )
    check(owner, lambda x: (cl.functions.where if isinstance(x, cl.Ciphertext) else np.where)(mask, x, 0.25), numbers(5))
    check(owner, lambda x: (cl.functions.where if isinstance(x, cl.Ciphertext) else np.where)(mask, numbers(5, seed=7), x), numbers(5))
    check(
        owner,
        lambda x, y: (cl.functions.where if isinstance(x, cl.Ciphertext) else lambda c, a, b: b + c * (a - b))(x, x, y),
        numbers(5),
        numbers(5),
    )
    with pytest.raises(cl.errors.DataError, match="True and False"):
        cl.functions.where([0.5], owner.encrypt([1.0]), 0.0)
    check(owner, lambda x, y: (cl.functions.stack if isinstance(x, cl.Ciphertext) else np.stack)([x, y]), numbers(5), numbers(5, seed=2))
    matrices = numbers(2, 5), numbers(3, 5, seed=2)
    check(
        owner,
        lambda x, y: (cl.functions.concatenate if isinstance(x, cl.Ciphertext) else np.concatenate)([x, y]),
        *matrices,
        encoding="slots",
    )
    with pytest.raises(cl.errors.ShapeError, match="no axis 1"):
        cl.functions.concatenate([owner.encrypt([1.0])], axis=1)
    with pytest.raises(cl.errors.ShapeError, match="vstack"):
        cl.functions.stack([owner.key.encrypt(matrices[0])])


def joined(parts, axis=0):
    return (cl.functions.concatenate if isinstance(parts[0], cl.Ciphertext) else np.concatenate)(parts, axis=axis)


def test_arrays_side_by_side(owner: Party) -> None:
    wide, narrow = owner.key.encrypt([1.0, 2.0, 3.0], capacity=64), owner.key.encrypt([4.0, 5.0])
    keys = owner.key.evaluation_keys(cl.keys.Needs(rotations=[-3]))
    np.testing.assert_allclose(
        owner.key.decrypt(cl.functions.hstack([wide.with_keys(keys), narrow])), [1.0, 2.0, 3.0, 4.0, 5.0], atol=TOLERANCE
    )
    check(owner, lambda x: joined([x[:, :2].sum(axis=0)] * 2), numbers(9, 5), encoding="slots", lanes="most")
    check(owner, lambda x, y: joined([x, y]), numbers(5), numbers(3, seed=2))
    check(owner, lambda x, y: joined([x, y, x * y.sum()]), numbers(8), numbers(8, seed=2))
    check(owner, lambda x: joined([x, x - x.mean()]), numbers(200))
    check(owner, lambda x, y: joined([x, y], axis=1), numbers(3, 5), numbers(3, 2, seed=2), encoding="slots")
    check(owner, lambda x, y: joined([x, y], axis=-1), numbers(3), 1j * numbers(2, seed=2))
    assert owner.key.decrypt(cl.functions.hstack([owner.encrypt([1.0])])).round(4) == [1.0]
    for shapes, match in (
        (((2, 3), (3, 3)), "as many rows"),
        (((3,), (1, 3)), "as many rows"),
    ):
        with pytest.raises(cl.errors.ShapeError, match=match):
            cl.functions.hstack([owner.key.encrypt(numbers(*np.atleast_1d(shape)), encoding="slots") for shape in shapes])
    with pytest.raises(cl.errors.ShapeError, match="slots"):
        cl.functions.hstack([owner.key.encrypt(numbers(3), encoding="coefficients")] * 2)


@pytest.mark.parametrize("index", [slice(2, 4), slice(None, 3), slice(-1, None), slice(1, 2), 0, -1, np.int64(3), slice(0, 5)])
def test_entries_in_slots(owner: Party, index) -> None:
    picked = check(owner, lambda x: x[index], numbers(5))
    assert picked.layout.padding == "zero"
    check(owner, lambda x: (x - x.mean())[index] * 2.0 + x[index], numbers(5))
    check(owner, lambda x: x[index], numbers(700))


WEIGHTS = np.random.default_rng(3).normal(size=(7, 1300)) / 30
ACROSS = {
    "a slice": lambda x: x[400:900],
    "a slice from a polynomial's start": lambda x: x[512:1100] * 2.0,
    "all but the last": lambda x: x[:-1],
    "differences": lambda x: x[1:] - x[:-1],
    "the sum of a slice": lambda x: x[:600].sum() + x[300:1200].sum(),
    "the variance of a slice": lambda x: x[300:1200].var(),
    "a power of a slice": lambda x: x[100:1000] ** 3,
    "a slice of a slice": lambda x: x[100:1200][500:1000],
    "a slice of a sum": lambda x: (x + x[::1] * x)[200:800],
    "a moving average": lambda x: sum(x[i : 1300 - 7 + i] for i in range(8)) / 8,
    "the same slice twice": lambda x: x[1:513] - x[513:1025],
    "end to end": lambda x: np.concatenate([x, x[:300], x]),
    "rolled": lambda x: np.roll(x, 3),
    "rolled to the left": lambda x: np.roll(x, -700),
    "flipped": lambda x: np.flip(x),
    "padded": lambda x: np.pad(x, (5, 300)),
    "padded by polynomials": lambda x: np.pad(x[:3], (600, 600)),
    "appended": lambda x: np.append(x, x[:3]),
    "tiled": lambda x: np.tile(x[:400], 3),
    "filtered": lambda x: np.convolve(x, [0.5, 0.25, 0.25], mode="valid"),
    "filtered to the same length": lambda x: np.convolve(x, [0.5, 0.25, 0.25, 1.0], mode="same"),
    "times a matrix": lambda x: WEIGHTS @ x,
    "times a matrix of few rows and many zeros": lambda x: (WEIGHTS * (np.arange(1300) % 3 == 0)) @ x,
    "rows times a matrix of few columns": lambda x: x.reshape(2, 650) @ WEIGHTS[:5, :650].T,
    "times a tall matrix": lambda x: WEIGHTS.T @ (WEIGHTS @ x) / 100,
    "a row times a matrix": lambda x: x[:300] @ WEIGHTS[:, :300].T,
    "times zeros": lambda x: np.zeros((300, 1300)) @ x,
    "times complex numbers": lambda x: (1j * WEIGHTS) @ x,
    "times its transpose": lambda x: WEIGHTS[:, :256].T @ x[:7],
    "in blocks of zeros": lambda x: np.kron(np.eye(2), WEIGHTS[:, :650]) @ x,
    "in rows of zeros": lambda x: np.concatenate([WEIGHTS, np.zeros((300, 1300)), WEIGHTS]) @ x,
    "every other number": lambda x: x[::7],
    "backwards": lambda x: x[600::-3],
    "numbers in any order": lambda x: x[[3, 1299, 3, 500]] * x[[1, 2, 3, 4]],
    "numbers by a mask": lambda x: x[np.arange(1300) % 100 == 7],
    "a matrix": lambda x: x.reshape(13, 100).sum(axis=0),
    "a matrix of long rows": lambda x: x.reshape(2, 650)[1],
    "rows of a matrix": lambda x: x.reshape(50, 26)[3:7] * x[:26],
    "an outer product": lambda x: x[:12].reshape(-1, 1) * x[5:10],
    "np.outer": lambda x: np.outer(x[:12], x[5:10]) + np.outer(x[:12], np.arange(5)) + np.outer(np.arange(12), x[:5]),
    "a column and a row": lambda x: x[:30].reshape(-1, 1) + x[600:620].reshape(1, -1),
    "rows that share polynomials, side by side": lambda x: np.concatenate([x[:60].reshape(6, 10)] * 2, axis=1),
    "rows that share polynomials, padded": lambda x: np.pad(x[:60].reshape(6, 10), ((0, 0), (2, 9))),
    "longer images of rows that share polynomials": lambda x: x[:60].reshape(6, 10) @ WEIGHTS[:, :10].T @ WEIGHTS[:, :300],
    "columns in any order": lambda x: x[:600].reshape(3, 200)[:, [7, 3, 199]],
    "every other column": lambda x: x[:60].reshape(6, 10)[:, ::3] * x[:60].reshape(6, 10)[:, 1:5],
    "a matrix and back": lambda x: x.reshape(26, 50).reshape(1300) - x,
}


@pytest.mark.parametrize("name", ACROSS)
def test_slices_cross_polynomials(name) -> None:
    f, params, x = ACROSS[name], cl.Params.preset("insecure_deep"), numbers(1300)
    key = cl.SecretKey.generate(params)
    keys = key.keys_for(f, x.shape, bound=1.0)
    found = cl.plans.trace(f, x.shape, params=params, bound=1.0).result
    result = f(key.encrypt(x, bound=1.0).with_keys(keys))
    error = np.abs(key.decrypt(result) - f(x)).max()
    assert error <= min(result.error_bound, TOLERANCE)
    assert result.error_bound <= 1.001 * found.error_bound
    assert (result.shape, result.level) == (found.shape, found.level)


@pytest.mark.parametrize("shift", [3, -3, 0, 600])
def test_long_vectors_are_rolled_and_filtered_by_slices(monkeypatch, shift) -> None:
    monkeypatch.setattr("clathrate._linear._LONG", 100)
    params, x, weights = cl.Params.preset("insecure_deep"), numbers(700), np.array([0.5, 0.25, 0.25, 1.0])
    key = cl.SecretKey.generate(params)
    functions = [lambda x: np.roll(x, shift)]
    for mode in ("valid", "same", "full"):
        functions.append(lambda x, mode=mode: np.convolve(x, weights[: 4 - shift % 2], mode=mode))
        functions.append(lambda x, mode=mode: np.correlate(x, weights[: 4 - shift % 2], mode=mode))
    for f in functions:
        keys = key.keys_for(f, x.shape, bound=1.0)
        result = f(key.encrypt(x, bound=1.0).with_keys(keys))
        assert result.shape == f(x).shape
        assert np.abs(key.decrypt(result) - f(x)).max() <= min(result.error_bound, TOLERANCE)


def test_columns_in_slots(owner: Party) -> None:
    for placing in ({}, {"lanes": "most"}):
        for columns in (slice(2, 4), slice(None, 3), slice(1, None), slice(4, 5)):
            check(owner, lambda x, columns=columns: x[:, columns], numbers(9, 5), encoding="slots", **placing)
            check(owner, lambda x, columns=columns: x[3, columns], numbers(9, 5), encoding="slots", **placing)
        check(owner, lambda x: x[:, 1:3] * x[:, 3:], numbers(9, 5), encoding="slots", **placing)
    long = owner.key.encrypt(numbers(700))
    assert owner.error(long[512:], numbers(700)[512:]) < TOLERANCE, "a whole polynomial takes no key"
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        _ = owner.encrypt(numbers(5))[5]
    with pytest.raises(cl.errors.MissingKeyError):
        _ = owner.key.encrypt(numbers(5))[1]


def test_products_and_others_are_stacked(owner: Party) -> None:
    x = owner.encrypt(numbers(5))
    assert owner.error(cl.functions.stack([x * x, x]), np.stack([numbers(5) ** 2, numbers(5)])) < TOLERANCE
    assert cl.functions.stack([x * x, x * x]).level == x.level, "products stay as they are"


def test_numbers_that_are_not_selected_may_be_anything(owner: Party) -> None:
    kept = cl.functions.where([True, False, True], owner.encrypt([1.0, 2.0, 3.0]), [np.nan, 5.0, np.inf])
    assert owner.error(kept, [1.0, 5.0, 3.0]) < TOLERANCE


def test_arrays_tell_the_type_of_their_numbers(owner: Party) -> None:
    for data in (np.ones(3), np.ones(3) * 1j):
        assert owner.encrypt(data).dtype == owner.key.decrypt(owner.encrypt(data)).dtype


@pytest.mark.parametrize("lanes", [None, "most"])
def test_integers_pick_columns_and_entries_in_slots(lanes, rng):
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    x = rng.uniform(-1, 1, (9, 5))
    options = {"encoding": "slots", "lanes": lanes}

    def circuit(a):
        return a[:, 2] * a[:, -1] + a[1, 2] + a[-1, -2], a[3, 1]

    keys = key.keys_for(lambda a: sum(part.sum() for part in circuit(a)), x.shape, **options)
    found = circuit(key.encrypt(x, **options).with_keys(keys))
    for got, expected in zip(found, circuit(x), strict=True):
        assert got.shape == expected.shape
        assert np.allclose(key.decrypt(got), expected, atol=1e-6)
    ct = key.encrypt(x, **options).with_keys(keys)
    for index in [(slice(None), 5), (1, -6)]:
        with pytest.raises(IndexError, match="out of bounds for 5"):
            ct[index]
