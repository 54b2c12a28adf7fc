"""Levels that take care of themselves: when products are rescaled, what takes a level, and powers."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from conftest import TOLERANCE, Party, check, numbers

import clathrate as cl


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
    x = key.encrypt(numbers(5)).with_keys(key.evaluation_keys(cl.keys.Needs(relinearise=True)))
    product = x * x
    with pytest.raises(cl.errors.DataError, match="rescale it first"):
        _ = product * 0.5
    with pytest.raises(cl.errors.LevelError, match="nothing to rescale"):
        x.rescale()
    assert (product.rescale() * x).level == x.level - 1
    table = np.arange(15.0).reshape(3, 5)
    for axes in ({}, {"axis": 0}, {"axis": 1}, {"axis": 1, "keepdims": True}):
        # What is inside an operation is rescaled there, and its last product by the caller.
        keys = key.keys_for(lambda v, axes=axes: v.var(**axes), table.shape, encoding="slots")
        variance = key.encrypt(table, encoding="slots").with_keys(keys).var(**axes).rescale()
        assert np.abs(key.decrypt(variance) - table.var(**axes)).max() < 1e-4
    with pytest.raises(cl.errors.DataError, match="automatic"):
        cl.Runtime(rescale="sometimes")  # type: ignore[arg-type]


def test_the_type_of_a_number_says_whether_a_product_takes_a_level(owner: Party) -> None:
    x = owner.encrypt([1.0, -2.0])
    for whole in (3, np.int64(3), np.array(3), True):
        assert (x * whole).scale == x.scale
    for fraction in (3.0, np.float32(3), np.array(3.0)):
        assert (x * fraction).rescale().level == x.level - 1
    assert (x / 1).rescale().level == x.level - 1
    with pytest.raises(cl.errors.DataError, match=r"1\.0000e200"):
        _ = x * 10**200


@pytest.mark.parametrize("exponent", range(0, 16))
def test_powers(owner: Party, exponent: int) -> None:
    result = check(owner, lambda x: x**exponent, numbers(5))
    taken = math.ceil(math.log2(exponent)) if exponent else 0
    assert result.rescale().level == owner.params.max_level - taken


@pytest.mark.parametrize("exponent", [-1, 0.5, "2", 1e30])
def test_refused_powers(owner: Party, exponent: object) -> None:
    with pytest.raises(ValueError, match="whole exponent"):
        _ = owner.encrypt([1.0]) ** exponent  # type: ignore[operator]
    with pytest.raises(cl.errors.LevelError):
        _ = owner.encrypt([0.5]) ** 1000


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
    with pytest.raises(cl.errors.DataError, match="weight_scale"):
        _ = numbers(2, 3) @ x


@pytest.mark.parametrize("factor", [2, 0.5, np.float64(0.5), np.array(2.0), Fraction(1, 2), Decimal("0.5")])
def test_views_are_multiplied_by_any_number(owner: Party, factor) -> None:
    data = numbers(3, 4)
    view = owner.key.encrypt(data).T * factor
    assert owner.error(view.T, data * float(np.asarray(factor, dtype=float).reshape(-1)[0])) < TOLERANCE


@pytest.mark.parametrize("factor", [1e-10, np.full(3, 1e-9)])
def test_factors_that_rounding_would_lose_are_refused(owner: Party, factor) -> None:
    x = owner.encrypt([1.0, 2.0, 3.0])
    with pytest.raises(cl.errors.DataError, match="would be lost"):
        _ = x * factor
    with pytest.raises(cl.errors.DataError, match="weight_scale"):
        _ = np.full((1, 3), 1e-10) @ owner.key.encrypt(np.ones((3, 2)))
    assert owner.error(x * 0.0, np.zeros(3)) < TOLERANCE
    assert owner.error(x * np.array([1e-12, 1.0, 0.0]), [0.0, 2.0, 0.0]) < TOLERANCE, "one that is large enough keeps the others' scale"


def test_bounds_make_overflows_errors_before_they_happen() -> None:
    params = cl.Params.preset("insecure_small")
    # The lowest level has room for 2^18 at the scale 2^40.
    cl.plans.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params, bound=100.0)
    with pytest.raises(cl.errors.DataError, match="by the bound on the inputs"):
        cl.plans.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params, bound=1000.0)
    cl.plans.trace(lambda x: x.drop_to_level(0) * 1000, (5,), params=params)
