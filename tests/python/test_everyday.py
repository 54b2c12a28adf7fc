"""Everyday operations against NumPy, on arrays that do not fill their polynomials: shapes that broadcast, reductions, powers, functions.

No rescale is called: operators do it where it is needed.
"""

from __future__ import annotations

import math
import os
import re
import signal
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from conftest import Party, party

import clathrate as cl

TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def owner() -> Party:
    return party("insecure_small")


def numbers(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=shape)


def check(owner: Party, function, *arrays: np.ndarray, tolerance: float = TOLERANCE, **options: object) -> cl.Ciphertext:
    """The function of encrypted arrays with exactly the keys that its dry run finds, beside the function of the arrays."""
    keys = owner.key.keys_for(function, *(array.shape for array in arrays), is_complex=any(np.iscomplexobj(a) for a in arrays), **options)
    result = function(*(owner.key.encrypt(array, **options).with_keys(keys) for array in arrays))
    expected = function(*arrays)
    decrypted = owner.key.decrypt(result)
    assert decrypted.shape == np.shape(expected), (decrypted.shape, np.shape(expected))
    np.testing.assert_allclose(decrypted, expected, atol=tolerance)
    return result


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x * x,
        lambda x: (x * x + x) * x - 0.5,
        lambda x: x * x + x * 0.3 + x,
        lambda x: (x * 0.5) * (x * 0.25) + 2 * x,
        lambda x: ((x * x) * (x * x)) * 0.5 + x,
        lambda x: x**5 - x**4 / 3,
        lambda x: (x * x)[()] if isinstance(x, np.ndarray) else (x * x)[...],
    ],
)
def test_levels_take_care_of_themselves(owner: Party, function) -> None:
    check(owner, function, numbers(5))


def test_a_sum_of_products_is_rescaled_once_and_where_it_is_used(owner: Party) -> None:
    x, y = (owner.encrypt(numbers(5, seed=seed)) for seed in (1, 2))
    total = x * y + y * y + x
    assert (total.level, math.log2(total.scale)) == (x.level, pytest.approx(80, abs=0.1)), "a sum leaves products as they are"
    assert (total * x).level == x.level - 1
    assert total.rescale().rescale().level == x.level - 1, "an array that has its level's scale is returned as it is"
    assert total.drop_to_level(2).scale == owner.params.scale(2)


def test_the_explicit_mode_leaves_rescales_to_the_caller() -> None:
    runtime = cl.Runtime(rescale="explicit")
    params = cl.Params.preset("insecure_small", runtime)
    assert (params.runtime.rescale, cl.Runtime().rescale) == ("explicit", "automatic")
    key = cl.SecretKey.generate(params)
    x = key.encrypt(numbers(5)).with_keys(key.evaluation_keys(cl.Needs(relinearise=True)))
    product = x * x
    with pytest.raises(cl.DataError, match="rescale it first"):
        _ = product * 0.5
    with pytest.raises(cl.LevelError, match="nothing to rescale"):
        x.rescale()
    assert (product.rescale() * x).level == x.level - 1
    table = np.arange(15.0).reshape(3, 5)
    for axes in ({}, {"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        # What is inside an operation is rescaled there, and its last product by the caller.
        keys = key.keys_for(lambda v, axes=axes: v.var(**axes), table.shape, encoding="slots")
        variance = key.encrypt(table, encoding="slots").with_keys(keys).var(**axes).rescale()
        assert np.abs(key.decrypt(variance) - table.var(**axes)).max() < 1e-4
    with pytest.raises(cl.DataError, match="automatic"):
        cl.Runtime(rescale="sometimes")  # type: ignore[arg-type]


def test_the_type_of_a_number_says_whether_a_product_takes_a_level(owner: Party) -> None:
    x = owner.encrypt([1.0, -2.0])
    for whole in (3, np.int64(3), np.array(3), True):
        assert (x * whole).scale == x.scale
    for fraction in (3.0, np.float32(3), np.array(3.0)):
        assert (x * fraction).rescale().level == x.level - 1
    assert (x / 1).rescale().level == x.level - 1
    with pytest.raises(cl.DataError, match=r"1\.0000e200"):
        _ = x * 10**200


@pytest.mark.parametrize("rows", [1, 3, 8])
@pytest.mark.parametrize("columns", [1, 3, 8, 37])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_sums_and_means_of_matrices(owner: Party, rows: int, columns: int, axis: int | None, keepdims: bool) -> None:
    data = numbers(rows, columns)
    check(owner, lambda x: x.sum(axis=axis, keepdims=keepdims), data, encoding="slots")
    check(owner, lambda x: x.mean(axis=axis, keepdims=keepdims), data, encoding="slots")
    if keepdims or axis in (None, 0) or rows == 1:
        check(owner, lambda x: x.sum(axis=axis, keepdims=keepdims), data, encoding="coefficients")
        check(owner, lambda x: x.mean(axis=axis, keepdims=keepdims), data, encoding="coefficients")


@pytest.mark.parametrize(
    ("right", "words"),
    [
        (numbers(5), r"the right matrix has two axes, and 5 rows\. Make the vector a column, `w.reshape\(-1, 1\)`"),
        (numbers(4), r"the right matrix has two axes, and 5 rows$"),
    ],
)
def test_products_of_coefficients_with_vectors_say_what_to_do(owner: Party, right: np.ndarray, words: str) -> None:
    x = owner.encrypt(numbers(3, 5), encoding="coefficients")
    with pytest.raises(cl.ShapeError, match=words):
        x @ right
    with pytest.raises(cl.ShapeError, match="Encrypt the vector as a column" if len(right) == 5 else "columns on the left$"):
        x @ owner.encrypt(right, encoding="coefficients")
    check(owner, lambda x: x @ numbers(5).reshape(-1, 1), numbers(3, 5), encoding="coefficients")


def test_sums_of_rows_in_coefficients_stay_a_column(owner: Party) -> None:
    x = owner.key.encrypt(numbers(3, 4), encoding="coefficients")
    with pytest.raises(cl.ShapeError, match="keepdims=True"):
        x.sum(axis=1)
    with pytest.raises(cl.DataError, match="2 axes"):
        x.sum(axis=2)


@pytest.mark.parametrize("options", [{}, {"order": "bit-reversed"}, {"capacity": 64}])
@pytest.mark.parametrize("is_complex", [False, True])
def test_sums_of_coefficients_of_every_layout(owner: Party, options: dict, is_complex: bool) -> None:
    slots = owner.params.degree
    for columns in (1, 5, 64, slots + 7):
        data = numbers(2, columns) + (1j * numbers(2, columns, seed=5) if is_complex else 0)
        encrypted = owner.key.encrypt(data, encoding="coefficients", **options)
        total = owner.key.decrypt(encrypted.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(total, data.sum(axis=1, keepdims=True), atol=1e-4)


def test_sums_of_rows_that_share_a_polynomial(owner: Party) -> None:
    data = numbers(8, 5)
    lanes = owner.key.encrypt(data, encoding="coefficients", lanes=4)
    np.testing.assert_allclose(owner.key.decrypt(lanes.sum(axis=1, keepdims=True)), data.sum(axis=1, keepdims=True), atol=TOLERANCE)
    with pytest.raises(cl.ShapeError, match="to_mlwe"):
        lanes.sum(axis=0)
    bodies = owner.key.encrypt(data, encoding="coefficients", bodies=4, axis="rows")
    np.testing.assert_allclose(owner.key.decrypt(bodies.sum(axis=1, keepdims=True)), data.sum(axis=1, keepdims=True), atol=TOLERANCE)
    with pytest.raises(cl.ShapeError, match="split_mask"):
        bodies.sum(axis=0)


@pytest.mark.parametrize("shape", [(1,), (5,), (8,), (3, 5), (4, 8), (2, 37)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_statistics(owner: Party, shape: tuple[int, ...], axis: int | None) -> None:
    data = numbers(*shape)
    check(owner, lambda x: x.var(axis=axis), data, encoding="slots")
    check(owner, lambda x: x.var(axis=axis, keepdims=True), data, encoding="slots")
    if np.size(data.sum(axis=axis)) < data.size and data.shape[0] > 1:
        check(owner, lambda x: x.var(axis=axis, ddof=1), data, encoding="slots")


def test_complex_variance_and_covariance(owner: Party) -> None:
    data = numbers(3, 5) + 1j * numbers(3, 5, seed=2)
    result = check(owner, lambda x: x.var(axis=1), data, encoding="slots")
    assert result.is_complex

    def covariance(x, y):
        return ((x - x.mean()) * (y - y.mean())).mean()

    check(owner, covariance, numbers(11), numbers(11, seed=3))


def test_the_padding_never_enters_a_sum(owner: Party) -> None:
    """The mean is in every slot, also in those beyond the array's length."""
    check(owner, lambda x: (x - x.mean()).sum(), numbers(5))
    check(owner, lambda x: ((x - x.mean()) * (x - x.mean())).sum(), numbers(5))
    check(owner, lambda x: (x - x.mean(axis=1, keepdims=True)).sum(axis=1), numbers(3, 5), encoding="slots")
    explicit = cl.Params.preset("insecure_small", cl.Runtime(rescale="explicit"))
    key = cl.SecretKey.generate(explicit)
    x = key.encrypt(numbers(5)).with_keys(key.evaluation_keys(cl.Needs(rotations=[1, 2, 4])))
    centred = x - x.mean().rescale()
    with pytest.raises(cl.ShapeError, match="clear_padding"):
        centred.sum()


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


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_inner_products(owner: Party, encoding: str) -> None:
    weights = numbers(11, seed=4)
    check(owner, lambda x: x.dot(weights), numbers(11), encoding=encoding)
    check(owner, lambda x: x @ weights, numbers(11), encoding=encoding)
    check(owner, lambda x: x @ weights.tolist(), numbers(11), encoding=encoding)
    with pytest.raises(cl.ShapeError, match="one length"):
        owner.encrypt(numbers(11), encoding=encoding).dot(weights[:5])
    if encoding == "slots":
        check(owner, lambda x: weights @ x, numbers(11), encoding=encoding)
        check(owner, lambda x, y: x @ y, numbers(11), numbers(11, seed=2), encoding=encoding)
        check(owner, lambda x: x.dot(weights * 1j), numbers(11), encoding=encoding)


@pytest.mark.parametrize("exponent", range(0, 16))
def test_powers(owner: Party, exponent: int) -> None:
    result = check(owner, lambda x: x**exponent, numbers(5))
    taken = math.ceil(math.log2(exponent)) if exponent else 0
    assert result.rescale().level == owner.params.max_level - taken


@pytest.mark.parametrize("exponent", [-1, 0.5, "2", 1e30])
def test_refused_powers(owner: Party, exponent: object) -> None:
    with pytest.raises(ValueError, match="whole exponent"):
        _ = owner.encrypt([1.0]) ** exponent  # type: ignore[operator]
    with pytest.raises(cl.LevelError):
        _ = owner.encrypt([0.5]) ** 1000


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


WEIGHTS = numbers(5, seed=11)
SQUARE = numbers(5, 4, seed=12)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(),
        lambda x: x.sum(axis=0),
        lambda x: x.sum(axis=1),
        lambda x: x.sum(axis=1, keepdims=True),
        lambda x: x.mean(),
        lambda x: x.mean(axis=0),
        lambda x: x.mean(axis=1),
        lambda x: x.var(axis=0),
        lambda x: x.var(axis=0, ddof=1, keepdims=True),
        lambda x: x.var(axis=1),
        lambda x: x.var(),
        lambda x: x - x.mean(axis=0),
        lambda x: x - x.mean(axis=1, keepdims=True),
        lambda x: (x - x.mean(axis=0)).sum(axis=0),
        lambda x: (x - x.mean(axis=1, keepdims=True)).sum(axis=1),
        lambda x: x - x.mean(),
        lambda x: (x * x).mean(axis=0) - x.mean(axis=0) ** 2,
        lambda x: x * WEIGHTS + 1,
        lambda x: x @ WEIGHTS,
        lambda x: x @ SQUARE,
        lambda x: (x @ WEIGHTS) * 2.0 - 1,
        lambda x: x * (x @ WEIGHTS).reshape(-1, 1),
        lambda x: (x * ((x @ WEIGHTS) ** 2).reshape(-1, 1)).sum(axis=0),
        lambda x: x[0],
        lambda x: x[-1] * x[1],
        lambda x: x - x[2],
        lambda x: x**3 - x,
        lambda x: 1 / 3 - x,
    ],
)
@pytest.mark.parametrize("rows", [3, 8, 150])
def test_rows_that_share_polynomials_in_slots(owner: Party, function, rows: int) -> None:
    x = check(owner, function, numbers(rows, 5), encoding="slots", lanes="most", tolerance=1e-4)
    assert x.layout.bundles <= 3, "a polynomial has 512 slots"


def test_encrypted_vectors_with_rows_that_share_polynomials(owner: Party) -> None:
    for function in (lambda x, w: x @ w, lambda x, w: x * w - w, lambda x, w: (x * w).mean(axis=1) + 1):
        check(owner, function, numbers(9, 5), numbers(5, seed=2), encoding="slots", lanes="most")
    # A vector of one number for each row says where sums of rows have theirs.
    x, labels = numbers(9, 5), numbers(9, seed=3)
    scores = lambda x: x @ WEIGHTS  # noqa: E731
    keys = owner.key.keys_for(scores, (9, 5), encoding="slots", lanes="most")
    found = scores(owner.key.encrypt(x, encoding="slots", lanes="most").with_keys(keys))
    places = {"capacity": found.layout.capacity, "copies": found.layout.copies}
    encrypted = owner.key.encrypt(labels, encoding="slots", level=found.level, **places)
    np.testing.assert_allclose(owner.key.decrypt(found - encrypted), x @ WEIGHTS - labels, atol=1e-4)
    with pytest.raises(cl.ShapeError, match="laid out"):
        _ = found - owner.key.encrypt(labels)
    with pytest.raises(cl.ShapeError, match="5 columns"):
        _ = owner.key.encrypt(x, encoding="slots", lanes="most") @ labels


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        lambda x: x**3 - x,
        lambda x: x * x + x.sum() if isinstance(x, np.ndarray) else x * x + x.to_slots().sum(),
        lambda x: (SQUARE.T @ x) * (SQUARE.T @ x + 1.0),
        lambda x: x.var(axis=0),
        lambda x: x.var(axis=1),
    ],
)
@pytest.mark.parametrize("shape", [(5, 3), (5, 700), (5, 1024), (5, 1500)])
def test_products_convert_coefficients_by_themselves(deep: Party, function, shape) -> None:
    check(deep, function, numbers(*shape), encoding="coefficients", tolerance=1e-4)


def test_conversions_between_slots_and_coefficients(deep: Party) -> None:
    def there_and_back(x):
        return (x.to_coefficients() + 0.25).to_slots() if isinstance(x, cl.Ciphertext) else x + 0.25

    for data in (numbers(5), numbers(512), numbers(700), numbers(3, 20), numbers(5) + 1j * numbers(5, seed=2), numbers(1)):
        y = check(deep, there_and_back, data, encoding="slots", tolerance=1e-4)
        assert (y.encoding, y.layout.order, y.is_complex) == ("slots", "natural", np.iscomplexobj(data))
    weights = numbers(4, 3, seed=9)
    product = check(
        deep, lambda x: weights @ (x.to_coefficients() if isinstance(x, cl.Ciphertext) else x), numbers(3, 600), encoding="slots"
    )
    assert product.layout.order == "bit-reversed"
    x = deep.key.encrypt(numbers(5), encoding="coefficients")
    assert x.to_coefficients().layout == x.layout
    found = cl.trace(lambda x: x.to_slots(), (5, 1024), params=deep.params, encoding="coefficients", bound=1.0)
    data = np.sign(numbers(5, 1024))
    y = deep.key.public_key().encrypt(data, encoding="coefficients").with_keys(deep.key.evaluation_keys(found.needs)).to_slots()
    errors = deep.key.decrypt(y) - data
    assert np.abs(errors).max() <= found.result.error_bound < 30 * np.sqrt(np.mean(errors**2))
    assert found.result.bound == 1.0
    with pytest.raises(cl.MissingKeyError):
        x.to_slots()
    for call, error in (
        (lambda: x.to_slots(levels=0), cl.DataError),
        (lambda: x.to_slots(levels=-1), cl.DataError),
        (lambda: x.to_slots(levels=99), cl.DataError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", level=1).to_slots(levels=2), cl.LevelError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", level=0).to_slots(), cl.LevelError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="coefficients", lanes=4).to_slots(), cl.ShapeError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="slots", lanes=4).to_coefficients(), cl.ShapeError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="slots", bodies=2).to_coefficients(), cl.ShapeError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", order="bit-reversed").to_slots(), cl.ShapeError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients").to_lwe().to_slots(), cl.ShapeError),
    ):
        with pytest.raises(error):
            call()


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


def test_columns_in_slots(owner: Party) -> None:
    for placing in ({}, {"lanes": "most"}):
        for columns in (slice(2, 4), slice(None, 3), slice(1, None), slice(4, 5)):
            check(owner, lambda x, columns=columns: x[:, columns], numbers(9, 5), encoding="slots", **placing)
            check(owner, lambda x, columns=columns: x[3, columns], numbers(9, 5), encoding="slots", **placing)
        check(owner, lambda x: x[:, 1:3] * x[:, 3:], numbers(9, 5), encoding="slots", **placing)
    long = owner.key.encrypt(numbers(700))
    with pytest.raises(cl.ShapeError, match="start and end at a multiple of 512"):
        _ = long[100:600]
    assert owner.error(long[512:], numbers(700)[512:]) < TOLERANCE, "a whole polynomial takes no key"
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        _ = owner.encrypt(numbers(5))[5]
    with pytest.raises(cl.MissingKeyError):
        _ = owner.key.encrypt(numbers(5))[1]


def test_key_sets_join_and_tell_their_size(owner: Party) -> None:
    product, turn = cl.Needs(relinearise=True), cl.Needs(rotations=[3])
    keys = owner.key.evaluation_keys(product) | owner.key.evaluation_keys(turn)
    assert (keys.has_relinearisation, keys.rotations) == (True, [3])
    assert keys.nbytes == (product | turn).nbytes(owner.params)
    x = owner.key.encrypt(numbers(8)).with_keys(keys)
    assert owner.error((x * x).rotate(3), np.roll(numbers(8) ** 2, -3)) < TOLERANCE
    low = owner.key.evaluation_keys(cl.Needs(relinearise=True, level=1))
    assert (low | keys).nbytes == keys.nbytes, "of keys of one name the one for more levels stays"
    with pytest.raises(cl.WrongSecretError):
        _ = keys | cl.SecretKey.generate(owner.params).evaluation_keys(turn)
    with pytest.raises(TypeError, match="params"):
        owner.key.keys_for(lambda x: x, (3,), params=owner.params)


def test_parameters_for_a_circuit() -> None:
    def circuit(x):
        return (x * x).mean()

    choice = cl.Params.for_circuit(circuit, (1000,), error=1e-4)
    assert choice.params.security_bits >= 128
    assert choice.trace.result.error_bound <= 1e-4
    assert f"* {choice.params.name}" in choice.explain()
    key = cl.SecretKey.generate(choice.params)
    data = numbers(1000)
    x = key.encrypt(data).with_keys(key.evaluation_keys(choice.trace.needs))
    assert abs(key.decrypt(circuit(x)) - circuit(data)) < 1e-4
    with pytest.raises(cl.ParamsError, match="no preset runs"):
        cl.Params.for_circuit(circuit, (1000,), error=1e-30)
    with pytest.raises(cl.DataError, match="above 0"):
        cl.Params.for_circuit(circuit, (1000,), error=-1)


def squares(x, times: int):
    for _ in range(times):
        x = x * x
    return x


def products(x, times: int):
    result = x
    for _ in range(times):
        result = result * x
    return result


def test_where_no_preset_runs_a_circuit_a_chain_is_built() -> None:
    begin = time.monotonic()
    choice = cl.Params.for_circuit(lambda x: squares(x, 12), (1000,), error=1e-6)
    assert time.monotonic() - begin < 60
    assert choice.params.name == "custom"
    assert choice.params.security_bits >= 128
    assert choice.params.max_level >= 12
    assert choice.trace.result.error_bound <= 1e-6
    assert "12 levels of" in choice.candidates["custom"]
    # A set that bootstraps runs it, too, and takes longer.
    assert float(choice.candidates["boot_precise"].split(" s,")[0]) > 5 * choice.trace.seconds
    assert choice.explain().count("* custom") == 1
    assert choice.params.warnings == []
    # More levels than any preset has.
    deep = cl.Params.for_circuit(lambda x: products(x, 50), (1000,)).params
    assert deep.max_level >= 50 > max(cl.Params.preset(name).max_level for name in ("n16", "klss_n16", "level_aware"))
    assert deep.security_bits >= 128


@pytest.mark.parametrize("security", [192, 256])
def test_chains_are_as_secure_as_asked_for_and_compute(security: int) -> None:
    def circuit(x):
        return (x * x).mean()

    choice = cl.Params.for_circuit(circuit, (1000,), error=1e-4, security=security)
    assert choice.params.security_bits >= security
    assert not choice.params.insecure
    assert choice.trace.result.error_bound <= 1e-4
    key = cl.SecretKey.generate(choice.params)
    data = numbers(1000)
    x = key.encrypt(data).with_keys(key.evaluation_keys(choice.trace.needs))
    assert abs(key.decrypt(circuit(x)) - circuit(data)) < 1e-4


def test_chains_have_the_levels_that_arrays_are_encrypted_at() -> None:
    choice = cl.Params.for_circuit(lambda x: x * x, (1000,), security=192, level=5)
    assert (choice.params.max_level, choice.trace.inputs[0].level) == (5, 5)
    # Five levels for one array, and one more where the other one's product is rescaled; the other's level says nothing of them.
    choice = cl.Params.for_circuit(lambda x, y: squares(x, 5) + y, (1000,), cl.Input((1000,), level=0), security=192)
    assert choice.params.max_level in (5, 6)
    assert choice.trace.inputs[1].level == 0


@pytest.mark.parametrize("security", [-1, 257, np.nan, np.inf])
def test_securities_outside_of_the_table_are_refused(security: float) -> None:
    with pytest.raises(cl.DataError, match=r"`security` is .*: use a number of bits from 0 to 256"):
        cl.Params.for_circuit(lambda x: x + 1, (3,), security=security)


def test_impossible_circuits_tell_the_nearest_reason() -> None:
    with pytest.raises(
        cl.ParamsError, match=r"the closest: degree \d+: an error of 1e-30 takes a scale of .*: allow an error of"
    ) as caught:
        cl.Params.for_circuit(lambda x: (x * x).mean(), (1000,), error=1e-30)
    allowed = float(str(caught.value).split("allow an error of ")[1].split()[0])
    # What it says works.
    assert cl.Params.for_circuit(lambda x: (x * x).mean(), (1000,), error=allowed).trace.result.error_bound <= allowed
    with pytest.raises(cl.ParamsError, match=r"at most \d+ levels of 28 bits fit the \d+ bits of modulus that 128 bits of security allow"):
        cl.Params.for_circuit(lambda x: products(x, 80), (1000,), error=1e-12)
    with pytest.raises(
        cl.ParamsError, match=r"degree 65536, \d+ levels .* are \d+ bits of modulus, and 128 bits of security allow 17\d\d\b"
    ):
        cl.Params.for_circuit(lambda x: products(x, 45), (1000,), error=1e-12)
    # A polynomial is what it is outside of its interval, too; what approximates a function there is refused.
    cube = cl.Polynomial([0.0, 1.0, 0.0, 1.0])
    assert cl.Params.for_circuit(cube, (1000,), error=1e-3, bound=2.0).trace.result.bound == 10.0
    with pytest.raises(cl.ParamsError, match=r"numbers may be as large as 2\.0+e0, and the polynomial is made for those from -1 to 1"):
        cl.Params.for_circuit(cl.Polynomial.fit(np.tanh, 7), (1000,), error=1e-3, bound=2.0)


SMOOTH = [
    (cl.sigmoid, lambda t: 1 / (1 + np.exp(-t)), (-8.0, 8.0)),
    (cl.tanh, np.tanh, (-4.0, 4.0)),
    (cl.silu, lambda t: t / (1 + np.exp(-t)), (-8.0, 8.0)),
    (cl.gelu, lambda t: 0.5 * t * (1 + np.vectorize(math.erf)(t / 2**0.5)), (-8.0, 8.0)),
    (cl.exp, np.exp, (-4.0, 4.0)),
    (cl.log, np.log, (0.1, 2.0)),
    (cl.inverse, lambda t: 1 / t, (0.25, 3.0)),
    (cl.sqrt, np.sqrt, (0.01, 1.0)),
    (cl.inverse_sqrt, lambda t: 1 / np.sqrt(t), (0.1, 1.0)),
]


@pytest.mark.parametrize(("function", "exact", "domain"), SMOOTH)
@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-6])
def test_smooth_functions_reach_the_error(function, exact, domain: tuple[float, float], error: float) -> None:
    x = np.linspace(*domain, 9973)
    assert np.abs(function(x, error=error, domain=domain) - exact(x)).max() <= 1.01 * error


@pytest.mark.parametrize(("margin", "error", "bound"), [(0.5, 1e-2, 1.0), (0.1, 1e-3, 1.0), (1e-3, 1e-6, 1.0), (0.01, 1e-2, 8.0)])
def test_signs_reach_the_error(margin: float, error: float, bound: float) -> None:
    x = np.concatenate([np.geomspace(margin, bound, 4999), np.linspace(margin, bound, 4999)])
    for sign in (-1, 1):
        assert np.abs(cl.sign(sign * x, margin=margin, error=error, bound=bound) - sign).max() <= 1.01 * error
    near = cl.sign(np.linspace(0, margin, 99), margin=margin, error=error, bound=bound)
    assert near.min() >= -1e-9
    assert near.max() <= 1 + 1.01 * error


@pytest.mark.parametrize("error", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("bound", [1.0, 5.0])
def test_functions_with_a_kink_reach_the_error(error: float, bound: float) -> None:
    x = np.linspace(-bound, bound, 9973)
    assert np.abs(cl.relu(x, error=error, bound=bound) - np.maximum(x, 0)).max() <= 1.01 * error
    assert np.abs(cl.absolute(x, error=error, bound=bound) - np.abs(x)).max() <= 1.01 * error
    y = x[::-1] ** 3 / bound**2
    assert np.abs(cl.maximum(x, y, error=error, bound=bound) - np.maximum(x, y)).max() <= 1.01 * error
    assert np.abs(cl.minimum(x, y, error=error, bound=bound) - np.minimum(x, y)).max() <= 1.01 * error


@pytest.mark.parametrize("count", [1, 2, 5, 16, 300])
@pytest.mark.parametrize("error", [0.5, 1e-1, 1e-3])
@pytest.mark.parametrize("bound", [0.5, 2.0, 3.0])
def test_softmax_reaches_the_error(count: int, error: float, bound: float) -> None:
    x = np.random.default_rng(3).uniform(-bound, bound, size=(200, count))
    x[0], x[1], x[2] = -bound, bound, np.where(np.arange(count) == 0, bound, -bound)
    exact = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    assert np.abs(cl.softmax(x, error=error, bound=bound) - exact).max() <= error


@pytest.fixture(scope="module")
def deep() -> Party:
    return party("insecure_deep")


def test_functions_of_encrypted_numbers(deep: Party) -> None:
    x, y = numbers(5), numbers(5, seed=2)
    for function in (
        lambda t: cl.sigmoid(4 * t),
        lambda t: cl.gelu(t, domain=(-2, 2)),
        lambda t: cl.inverse(t + 2, domain=(1, 3)),
        lambda t: cl.relu(t, error=0.05),
        lambda t: cl.sign(t * t + 0.25, margin=0.25, bound=1.25),
    ):
        check(deep, function, x, tolerance=1e-4)
    check(deep, lambda s, t: cl.maximum(s, t, error=0.05), x, y, tolerance=1e-4)
    check(deep, lambda t: cl.softmax(t, error=0.01, bound=1.0), x, tolerance=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cl.inverse(1.0, domain=(-1, 1)), "above 0"),
        (lambda: cl.log(1.0, domain=(0, 1)), "above 0"),
        (lambda: cl.sign(0.5, margin=2.0), "not below the bound"),
        (lambda: cl.sign(0.5, margin=0.0), "above 0"),
        (lambda: cl.sign(0.5, margin=1e-15, error=1e-9), "widen the margin"),
        (lambda: cl.relu(0.5, error=-1), "above 0"),
        (lambda: cl.sigmoid(0.5, error=0.0), "above 0"),
        (lambda: cl.exp(0.5, domain=(-700, 700)), "degree 511"),
    ],
)
def test_functions_that_cannot_be_planned(call, words: str) -> None:
    with pytest.raises(cl.DataError, match=words):
        call()


def test_a_fit_to_an_error_takes_the_least_degree() -> None:
    found = cl.Polynomial.fit(np.exp, domain=(-1, 1), error=1e-5)
    x = np.linspace(-1, 1, 999)
    assert np.abs(found(x) - np.exp(x)).max() <= 1e-5
    assert np.abs(cl.Polynomial.fit(np.exp, found.degree - 1)(x) - np.exp(x)).max() > 1e-5
    for arguments in ({}, {"degree": 5, "error": 1e-3}):
        with pytest.raises(TypeError, match="either a degree or an error"):
            cl.Polynomial.fit(np.exp, **arguments)


def test_the_number_of_threads() -> None:
    before = cl.get_threads()
    try:
        cl.set_threads(2)
        assert (cl.get_threads(), cl.Params.preset("insecure_tiny").runtime.threads) == (2, 2)
        assert cl.Params.preset("insecure_tiny", cl.Runtime(threads=1)).runtime.threads == 1
        with pytest.raises(cl.DataError, match="4096"):
            cl.set_threads(0)
    finally:
        cl.set_threads(None)
    assert cl.get_threads() == before


@pytest.mark.parametrize(
    "whole", [np.array([[1, 2, -3]]), [[1, 2, -3]], np.array([[True, False, True]]), np.array([[1, 2, 3]], dtype=np.uint8)]
)
def test_matrices_of_integers_take_no_level(owner: Party, whole) -> None:
    data = numbers(3, 4)
    x = owner.key.encrypt(data)
    product = whole @ x
    assert (product.level, product.scale) == (x.level, x.scale)
    assert owner.error(product, np.array(whole) @ data) < TOLERANCE
    bottom = owner.key.encrypt(data, level=0)
    assert owner.error(whole @ bottom, np.array(whole) @ data) < TOLERANCE
    view = x.T @ np.array(whole).T
    assert (view.level, view.scale) == (x.level, x.scale)
    listed = x.T @ np.array(whole).T.tolist()
    assert (listed.level, listed.scale) == (x.level, x.scale)
    real = np.array(whole, dtype=float) @ x
    assert real.rescale().level == x.level - 1


def test_a_scale_without_room_for_weights_names_the_remedy(owner: Party) -> None:
    x = owner.key.encrypt(numbers(3, 4), scale=2.0**78)
    with pytest.raises(cl.DataError, match="weight_scale"):
        _ = numbers(2, 3) @ x


@pytest.mark.parametrize(("margin", "error"), [(0.1, 1e-2), (1e-3, 1e-3), (1e-4, 1e-4)])
def test_signs_bear_noise_at_the_ends(margin: float, error: float) -> None:
    x = np.concatenate([np.geomspace(margin, 1, 4999), np.linspace(margin, 1, 4999)])
    noisy = np.minimum(x * (1 + 1e-5), 1 + 1e-5)
    assert np.abs(cl.sign(noisy, margin=margin, error=error) - 1).max() <= 2 * error


def test_dry_runs_bound_the_errors_of_compositions() -> None:
    params = cl.Params.preset("insecure_deep")
    for circuit in (
        lambda x: cl.sign(x, margin=0.1, error=1e-2),
        lambda x: cl.relu(x, error=0.05),
        lambda x: cl.softmax(x, error=0.1, bound=0.5),
    ):
        found = cl.trace(circuit, (5,), params=params, bound=0.5)
        assert found.result.error_bound < 1.0, found.result.error_bound


def test_what_is_in_the_padding_does_not_spoil_polynomials_and_powers(deep: Party) -> None:
    x = 100 + numbers(5)
    check(
        deep,
        lambda x: cl.Polynomial.fit(np.tanh, 15, domain=(-4, 4))(x - x.mean()) if isinstance(x, cl.Ciphertext) else np.tanh(x - x.mean()),
        x,
        tolerance=0.02,
    )
    check(deep, lambda x: (x - x.mean()) ** 5, x, tolerance=1e-2)


def test_means_are_no_larger_than_the_numbers_on_the_way(owner: Party) -> None:
    found = cl.trace(lambda x: x.mean(), (1000,), params=owner.params, bound=1.0, encoding="coefficients")
    assert found.result.bound <= 1.001


def test_products_and_others_are_stacked(owner: Party) -> None:
    x = owner.encrypt(numbers(5))
    assert owner.error(cl.stack([x * x, x]), np.stack([numbers(5) ** 2, numbers(5)])) < TOLERANCE
    assert cl.stack([x * x, x * x]).level == x.level, "products stay as they are"


def test_numbers_that_are_not_selected_may_be_anything(owner: Party) -> None:
    kept = cl.where([True, False, True], owner.encrypt([1.0, 2.0, 3.0]), [np.nan, 5.0, np.inf])
    assert owner.error(kept, [1.0, 5.0, 3.0]) < TOLERANCE


def test_lists_are_arrays_to_functions() -> None:
    assert np.abs(cl.maximum([1.0, -1.0], [0.5, 0.5]) - [1.0, 0.5]).max() < 0.02
    assert np.abs(cl.relu([0.5, -0.5], error=1e-4) - [0.5, 0.0]).max() < 2e-4
    assert abs(cl.relu(0.5, error=0.6) - 0.5) <= 0.6
    with pytest.raises(cl.ShapeError, match="at least one axis"):
        cl.softmax(0.5)
    with pytest.raises(cl.DataError, match="not below 1"):
        cl.softmax([0.5], error=2.0)


@pytest.mark.parametrize(("bound", "error"), [(8.0, 1e-3), (4.0, 1e-6), (400.0, 0.1)])
def test_a_softmax_out_of_reach_tells_a_bound_and_an_error_within(owner: Party, bound: float, error: float) -> None:
    x = owner.key.encrypt(np.zeros(3))
    with pytest.raises(
        cl.DataError, match=rf"softmax of 3 numbers with `bound` {bound:g} and `error` {error:g}: .*lower `bound` to"
    ) as caught:
        cl.softmax(x, bound=bound, error=error)
    message = str(caught.value)
    lower = float(re.search(r"lower `bound` to (\S+);", message).group(1))
    data = np.array([-lower, 0.3, lower])
    expected = np.exp(data) / np.exp(data).sum()
    assert 1.0 < lower < bound
    assert np.abs(cl.softmax(data, bound=lower, error=error) - expected).max() < error
    larger = re.search(r"raise `error` to (\S+)$", message)
    if bound == 4.0:
        within = float(larger.group(1))
        data = np.array([-bound, 0.3, bound])
        assert np.abs(cl.softmax(data, bound=bound, error=within) - np.exp(data) / np.exp(data).sum()).max() < within
    else:
        assert larger is None
        assert message.endswith("no `error` below 1 is within reach of this bound")


def test_norms_and_deviations_of_plain_numbers_are_those_of_numpy() -> None:
    data = numbers(4, 6)
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            found = cl.norm(data, axis, domain=(0.3, 8), keepdims=keepdims)
            np.testing.assert_allclose(found, np.linalg.norm(data, axis=axis, keepdims=keepdims), atol=1e-3)
            found = cl.std(data, axis, domain=(0.1, 3), keepdims=keepdims, ddof=1)
            np.testing.assert_allclose(found, data.std(axis=axis, keepdims=keepdims, ddof=1), atol=1e-3)


def test_norms_and_deviations_refuse_what_they_cannot_be(owner: Party) -> None:
    encrypted = owner.key.encrypt(np.array([1.0, 1j]))
    for function in (cl.norm, cl.std):
        for x in (encrypted, [1.0, 1j]):
            with pytest.raises(cl.DataError, match=r"of complex numbers: take it of `x\.real_part\(\)`"):
                function(x, domain=(0.5, 1))
        with pytest.raises(cl.DataError, match="above 0"):
            function([1.0, 2.0], domain=(0, 1))


def test_rows_without_memory_are_refused(owner: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    x = owner.key.encrypt(numbers(5), encoding="slots")
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "100000000")
    with pytest.raises(MemoryError, match="check the shapes"):
        _ = x + np.ones((10**5, 5))


def test_errors_of_arguments_are_no_fault_of_presets() -> None:
    for options in ({"bound": -1.0}, {"encoding": "bits"}):
        with pytest.raises(cl.DataError):
            cl.Params.for_circuit(lambda x: x + 1, (3,), **options)


@pytest.mark.parametrize("factor", [2, 0.5, np.float64(0.5), np.array(2.0), Fraction(1, 2), Decimal("0.5")])
def test_views_are_multiplied_by_any_number(owner: Party, factor) -> None:
    data = numbers(3, 4)
    view = owner.key.encrypt(data).T * factor
    assert owner.error(view.T, data * float(np.asarray(factor, dtype=float).reshape(-1)[0])) < TOLERANCE


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_process_computes_with_threads_of_its_own() -> None:
    params = cl.Params.preset("insecure_small", cl.Runtime(threads=3))
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.Needs(relinearise=True))
    x = key.encrypt(numbers(5)).with_keys(keys)
    expected = key.decrypt(x * x)
    child = os.fork()
    if child == 0:
        # Nothing of pytest runs here.
        same = np.array_equal(key.decrypt(x * x), expected)
        os._exit(0 if same else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process hangs")


def test_notebooks_show_tables(owner: Party) -> None:
    choice = cl.Params.for_circuit(lambda x: x * x, (3,))
    x = owner.encrypt([1.0, 2.0])
    shown = [owner.params, x, x * x, owner.params.switching_report(), cl.Polynomial([0.0, 1.0, 1.0]).plan(owner.params)]
    for thing in [*shown, cl.PackingPlan(owner.params)]:
        text = thing._repr_html_()
        assert text.startswith("<table>"), thing
        assert text.count("<tr>") > 2, thing
        assert text.count("<tr>") == text.count("</tr>"), thing
    assert "a product to be rescaled" in (x * x)._repr_html_()
    for thing in (choice, choice.trace):
        assert thing._repr_html_().startswith("<pre>")


def test_arrays_tell_the_type_of_their_numbers(owner: Party) -> None:
    for data in (np.ones(3), np.ones(3) * 1j):
        assert owner.encrypt(data).dtype == owner.key.decrypt(owner.encrypt(data)).dtype


@pytest.mark.parametrize("factor", [1e-10, np.full(3, 1e-9)])
def test_factors_that_rounding_would_lose_are_refused(owner: Party, factor) -> None:
    x = owner.encrypt([1.0, 2.0, 3.0])
    with pytest.raises(cl.DataError, match="would be lost"):
        _ = x * factor
    with pytest.raises(cl.DataError, match="weight_scale"):
        _ = np.full((1, 3), 1e-10) @ owner.key.encrypt(np.ones((3, 2)))
    assert owner.error(x * 0.0, np.zeros(3)) < TOLERANCE
    assert owner.error(x * np.array([1e-12, 1.0, 0.0]), [0.0, 2.0, 0.0]) < TOLERANCE, "one that is large enough keeps the others' scale"


def test_bounds_make_overflows_errors_before_they_happen() -> None:
    params = cl.Params.preset("insecure_small")
    # The lowest level has room for 2^18 at the scale 2^40.
    cl.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params, bound=100.0)
    with pytest.raises(cl.DataError, match="by the bound on the inputs"):
        cl.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params, bound=1000.0)
    cl.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params)


def test_arrays_that_memory_does_not_hold_are_refused_before_the_work(owner: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "100000000")
    for key in (owner.key, owner.key.public_key()):
        with pytest.raises(MemoryError, match="transpose it"):
            key.encrypt(np.ones((60_000, 10)), encoding="slots")
    monkeypatch.delenv("CLATHRATE_MEMORY_LIMIT")
    assert owner.error(owner.key.encrypt(np.ones((10, 600)), encoding="slots"), np.ones((10, 600))) < TOLERANCE


def test_results_are_shared_by_the_documented_path() -> None:
    params = cl.Params(
        degree=1024, steps=[[40, 40, 40], [34.6, 34.7, 34.7]], special=[48, 48], log2_scale=104, insecure=True, name="share_small"
    )
    key = cl.SecretKey.generate(params)
    data = numbers(100)
    found = cl.trace(lambda x: (x * x).rescale(), (100,), params=params, bound=1.0)
    x = key.encrypt(data, bound=1.0).with_keys(key.evaluation_keys(found.needs))
    result = (x * x).rescale()
    bits = found.result.flood_bits(queries=100, correct_bits=12)
    # A dry run takes encryption with a public key into account, which has the larger error.
    assert bits - 8 < result.flood_bits(queries=100, correct_bits=12) <= bits
    # Decryption to doubles rounds far more than the computation did.
    assert found.result.error_bound > 2.0**-53
    with pytest.raises(cl.DataError, match="correct bits"):
        result.flood_bits(found.result.error_bound, queries=100, correct_bits=0)
    shared = key.decrypt_to_share(result, bits, honest_evaluator=True)
    assert 1e-12 < np.abs(shared - data**2).max() < 2**-10
    with pytest.raises(cl.DataError, match="correct bits"):
        result.flood_bits(queries=100, correct_bits=60)
    small = cl.SecretKey.generate(cl.Params.preset("insecure_small")).encrypt(data)
    with pytest.raises(cl.DataError, match="share_n14"):
        small.flood_bits(1e-8)


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


def test_numpy_reductions_take_ciphertexts(rng):
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    x = rng.uniform(-1, 1, 7)

    def circuit(a):
        return np.sum(a) + np.mean(a) + np.var(a, ddof=1)

    ct = key.encrypt(x).with_keys(key.keys_for(circuit, x.shape))
    assert np.allclose(key.decrypt(circuit(ct)), circuit(x), atol=1e-6)
    for wrong in ({"dtype": float}, {"out": x}):
        with pytest.raises(TypeError, match="has no `dtype` and no `out`"):
            np.sum(ct, **wrong)


def test_divisions_by_ciphertexts_name_what_does_it():
    ct = cl.SecretKey.generate(cl.Params.preset("insecure_tiny")).encrypt([1.0, 2.0])
    for wrong in (lambda: 1 / ct, lambda: ct / ct):
        with pytest.raises(TypeError, match=r"cl\.inverse"):
            wrong()
    with pytest.raises(ValueError, match=r"cl\.sqrt"):
        ct**0.5


def test_views_say_how_they_are_multiplied():
    ct = cl.SecretKey.generate(cl.Params.preset("insecure_small")).encrypt(np.ones((2, 3)), encoding="coefficients")
    for factor in (ct, ct.T, np.ones((3, 2)), [1.0, 2.0]):
        with pytest.raises(TypeError, match="multiplied and divided by a single number, and multiplied by a matrix with `@`"):
            ct.T * factor
    assert (ct.T * 2).shape == (3, 2)
