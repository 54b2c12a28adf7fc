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
        with pytest.raises(cl.ShapeError, match="axis by axis"):
            combine()


def test_rows_of_coefficients_broadcast(owner: Party) -> None:
    row, matrix = numbers(5), numbers(3, 5, seed=2)
    x, y = (owner.key.encrypt(data, encoding="coefficients") for data in (row, matrix))
    assert owner.error(x + y, row + matrix) < TOLERANCE
    with pytest.raises(cl.ShapeError):
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
    for shape in ((2, 3), (-1, -1), (0,), (-2,), (2**40, 2**40), (1, 1, 5)):
        with pytest.raises(cl.ClathrateError):
            x.reshape(shape)


def test_where_and_stacks(owner: Party) -> None:
    mask = np.array([True, False, True, True, False])
    check(owner, lambda x, y: (cl.where if isinstance(x, cl.Ciphertext) else np.where)(mask, x, y), numbers(5), numbers(5, seed=2))
    check(owner, lambda x: (cl.where if isinstance(x, cl.Ciphertext) else np.where)(mask, x, 0.25), numbers(5))
    check(owner, lambda x: (cl.where if isinstance(x, cl.Ciphertext) else np.where)(mask, numbers(5, seed=7), x), numbers(5))
    check(
        owner, lambda x, y: (cl.where if isinstance(x, cl.Ciphertext) else lambda c, a, b: b + c * (a - b))(x, x, y), numbers(5), numbers(5)
    )
    with pytest.raises(cl.DataError, match="True and False"):
        cl.where([0.5], owner.encrypt([1.0]), 0.0)
    check(owner, lambda x, y: (cl.stack if isinstance(x, cl.Ciphertext) else np.stack)([x, y]), numbers(5), numbers(5, seed=2))
    matrices = numbers(2, 5), numbers(3, 5, seed=2)
    check(owner, lambda x, y: (cl.concatenate if isinstance(x, cl.Ciphertext) else np.concatenate)([x, y]), *matrices, encoding="slots")
    with pytest.raises(cl.ShapeError, match="no axis 1"):
        cl.concatenate([owner.encrypt([1.0])], axis=1)
    with pytest.raises(cl.ShapeError, match="vstack"):
        cl.stack([owner.key.encrypt(matrices[0])])


def joined(parts, axis=0):
    return (cl.concatenate if isinstance(parts[0], cl.Ciphertext) else np.concatenate)(parts, axis=axis)


def test_arrays_side_by_side(owner: Party) -> None:
    wide, narrow = owner.key.encrypt([1.0, 2.0, 3.0], capacity=64), owner.key.encrypt([4.0, 5.0])
    keys = owner.key.evaluation_keys(cl.Needs(rotations=[-3]))
    np.testing.assert_allclose(owner.key.decrypt(cl.hstack([wide.with_keys(keys), narrow])), [1.0, 2.0, 3.0, 4.0, 5.0], atol=TOLERANCE)
    check(owner, lambda x: joined([x[:, :2].sum(axis=0)] * 2), numbers(9, 5), encoding="slots", lanes="most")
    check(owner, lambda x, y: joined([x, y]), numbers(5), numbers(3, seed=2))
    check(owner, lambda x, y: joined([x, y, x * y.sum()]), numbers(8), numbers(8, seed=2))
    check(owner, lambda x: joined([x, x - x.mean()]), numbers(200))
    check(owner, lambda x, y: joined([x, y], axis=1), numbers(3, 5), numbers(3, 2, seed=2), encoding="slots")
    check(owner, lambda x, y: joined([x, y], axis=-1), numbers(3), 1j * numbers(2, seed=2))
    assert owner.key.decrypt(cl.hstack([owner.encrypt([1.0])])).round(4) == [1.0]
    for shapes, match in (
        ((300, 300), "600 numbers do not fit the 512 slots"),
        (((2, 3), (3, 3)), "as many rows"),
        (((3,), (1, 3)), "as many rows"),
    ):
        with pytest.raises(cl.ShapeError, match=match):
            cl.hstack([owner.key.encrypt(numbers(*np.atleast_1d(shape)), encoding="slots") for shape in shapes])
    with pytest.raises(cl.ShapeError, match="slots"):
        cl.hstack([owner.key.encrypt(numbers(3), encoding="coefficients")] * 2)


@pytest.mark.parametrize("index", [slice(2, 4), slice(None, 3), slice(-1, None), slice(1, 2), 0, -1, np.int64(3), slice(0, 5)])
def test_entries_in_slots(owner: Party, index) -> None:
    picked = check(owner, lambda x: x[index], numbers(5))
    assert picked.layout.padding == "zero"
    check(owner, lambda x: (x - x.mean())[index] * 2.0 + x[index], numbers(5))
    check(owner, lambda x: x[index], numbers(700))


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
}


@pytest.mark.parametrize("name", ACROSS)
def test_slices_cross_polynomials(name) -> None:
    f, params, x = ACROSS[name], cl.Params.preset("insecure_deep"), numbers(1300)
    key = cl.SecretKey.generate(params)
    keys = key.keys_for(f, x.shape, bound=1.0)
    found = cl.trace(f, x.shape, params=params, bound=1.0).result
    result = f(key.encrypt(x, bound=1.0).with_keys(keys))
    error = np.abs(key.decrypt(result) - f(x)).max()
    assert error <= min(result.error_bound, TOLERANCE)
    assert result.error_bound <= 1.001 * found.error_bound
    assert (result.shape, result.level) == (found.shape, found.level)


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
    with pytest.raises(cl.MissingKeyError):
        _ = owner.key.encrypt(numbers(5))[1]


def test_products_and_others_are_stacked(owner: Party) -> None:
    x = owner.encrypt(numbers(5))
    assert owner.error(cl.stack([x * x, x]), np.stack([numbers(5) ** 2, numbers(5)])) < TOLERANCE
    assert cl.stack([x * x, x * x]).level == x.level, "products stay as they are"


def test_numbers_that_are_not_selected_may_be_anything(owner: Party) -> None:
    kept = cl.where([True, False, True], owner.encrypt([1.0, 2.0, 3.0]), [np.nan, 5.0, np.inf])
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
