"""Sums, means, variances and inner products beside those of NumPy, on arrays that do not fill their polynomials."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import TOLERANCE, Party, check, numbers

import clathrate as cl


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
    with pytest.raises(cl.errors.ShapeError, match=words):
        x @ right
    with pytest.raises(cl.errors.ShapeError, match="Encrypt the vector as a column" if len(right) == 5 else "columns on the left$"):
        x @ owner.encrypt(right, encoding="coefficients")
    check(owner, lambda x: x @ numbers(5).reshape(-1, 1), numbers(3, 5), encoding="coefficients")


def test_sums_of_rows_in_coefficients_stay_a_column(owner: Party) -> None:
    x = owner.key.encrypt(numbers(3, 4), encoding="coefficients")
    with pytest.raises(cl.errors.ShapeError, match="keepdims=True"):
        x.sum(axis=1)
    with pytest.raises(cl.errors.DataError, match="2 axes"):
        x.sum(axis=2)


def test_sums_of_rows_that_are_repeated_too_seldom_are_repeated_as_a_column(owner: Party) -> None:
    for function in (lambda x, y: y - x.sum(axis=1, keepdims=True), lambda x, y: y * x.sum(axis=1).reshape(-1, 1)):
        check(owner, function, numbers(9, 9), numbers(9, 20, seed=2), encoding="slots", lanes="most")


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
    with pytest.raises(cl.errors.ShapeError, match="to_mlwe"):
        lanes.sum(axis=0)
    bodies = owner.key.encrypt(data, encoding="coefficients", bodies=4, axis="rows")
    np.testing.assert_allclose(owner.key.decrypt(bodies.sum(axis=1, keepdims=True)), data.sum(axis=1, keepdims=True), atol=TOLERANCE)
    with pytest.raises(cl.errors.ShapeError, match="split_mask"):
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
    x = key.encrypt(numbers(5)).with_keys(key.evaluation_keys(cl.keys.Needs(rotations=[1, 2, 4])))
    centred = x - x.mean().rescale()
    with pytest.raises(cl.errors.ShapeError, match="clear_padding"):
        centred.sum()


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_inner_products(owner: Party, encoding: str) -> None:
    weights = numbers(11, seed=4)
    check(owner, lambda x: x.dot(weights), numbers(11), encoding=encoding)
    check(owner, lambda x: x @ weights, numbers(11), encoding=encoding)
    check(owner, lambda x: x @ weights.tolist(), numbers(11), encoding=encoding)
    with pytest.raises(cl.errors.ShapeError, match="one length"):
        owner.encrypt(numbers(11), encoding=encoding).dot(weights[:5])
    if encoding == "slots":
        check(owner, lambda x: weights @ x, numbers(11), encoding=encoding)
        check(owner, lambda x, y: x @ y, numbers(11), numbers(11, seed=2), encoding=encoding)
        check(owner, lambda x: x.dot(weights * 1j), numbers(11), encoding=encoding)


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
    # Numbers at other places come to them.
    keys = owner.key.keys_for(lambda x, y: scores(x) - y, (9, 5), cl.Input((9,), lanes=None), encoding="slots", lanes="most")
    found = scores(owner.key.encrypt(x, encoding="slots", lanes="most").with_keys(keys))
    np.testing.assert_allclose(owner.key.decrypt(found - owner.key.encrypt(labels)), x @ WEIGHTS - labels, atol=1e-4)
    with pytest.raises(cl.errors.ShapeError, match="5 columns"):
        _ = owner.key.encrypt(x, encoding="slots", lanes="most") @ labels


def test_means_are_no_larger_than_the_numbers_on_the_way(owner: Party) -> None:
    found = cl.plans.trace(lambda x: x.mean(), (1000,), params=owner.params, bound=1.0, encoding="coefficients")
    assert found.result.bound <= 1.001


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
