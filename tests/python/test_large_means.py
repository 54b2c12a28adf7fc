"""Sums, means and variances of numbers with a large mean are those of NumPy, however the numbers lie."""

import math

import numpy as np
import pytest

import clathrate as cl

# How arrays lie: every kind of place, with and without room behind the numbers.
LAYOUTS = {
    "rows": {"encoding": "slots"},
    "lanes": {"encoding": "slots", "lanes": "most"},
    "capacity": {"encoding": "slots", "capacity": 64},
}
REDUCTIONS = {
    "sum": lambda x, **axis: x.sum(**axis),
    "mean": lambda x, **axis: x.mean(**axis),
    "var": lambda x, **axis: x.var(**axis),
    "squares": lambda x, **axis: (x * x).sum(**axis),
    "centred": lambda x, **axis: ((x - x.mean(**axis, keepdims=True)) ** 2).mean(**axis),
    "third moment": lambda x, **axis: ((x - x.mean(**axis, keepdims=True)) ** 3).mean(**axis),
}


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


def computed(key, f, *arrays, bound=None, **options):
    keys = key.keys_for(f, *(array.shape for array in arrays), bound=bound, **options)
    return f(*(key.encrypt(array, bound=bound, **options).with_keys(keys) for array in arrays))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(40,), (9, 5), (3, 37)])
def test_reductions_of_numbers_with_a_large_mean_are_those_of_numpy(deep, rng, name, shape, layout):
    _params, key = deep
    if len(shape) == 1 and layout == "lanes":
        layout = "capacity"
    axes = [{}] if len(shape) == 1 else [{}, {"axis": 0}, {"axis": 1}]
    for mean in (1.0, 1e3, 1e6):
        x = mean + rng.normal(size=shape)
        for axis in axes:
            want = REDUCTIONS[name](x, **axis)
            found = key.decrypt(computed(key, lambda v, axis=axis: REDUCTIONS[name](v, **axis), x, **LAYOUTS[layout]))
            size = np.abs(x).max() ** (2 if name == "squares" else 1) * x.size
            tolerance = 1e-8 * size if name in ("sum", "mean", "squares") else 0.02
            assert np.abs(found - want).max() < tolerance, (mean, axis, found, want)


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize(("shape", "axis"), [((1,), None), ((1,), 0), ((1, 1), None), ((1, 1), 0), ((1, 1), 1), ((3, 1), 1), ((1, 3), 0)])
def test_a_single_number_is_its_mean(deep, shape, axis, encoding):
    _, key = deep
    numbers = np.linspace(0.5, 1, math.prod(shape)).reshape(shape)
    for f in (lambda x: x.var(axis=axis), lambda x: x - x.mean(axis=axis, keepdims=True)):
        result = computed(key, f, numbers, bound=1.0, encoding=encoding)
        assert result.shape == np.shape(f(numbers))
        assert np.abs(key.decrypt(result)).max() <= result.error_bound < 1e-6


def test_variances_of_large_means_are_right_whatever_room_is_behind_the_numbers(rng):
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    for count in (3, 400, 511, 512):
        x = 1e6 + rng.normal(size=count)
        assert abs(float(key.decrypt(computed(key, lambda v: v.var(), x))) - x.var()) < 0.01, count
        both = computed(key, lambda v, w: ((v - v.mean()) * (w - w.mean())).mean(), x, x[::-1].copy())
        assert abs(float(key.decrypt(both)) - np.cov(x, x[::-1], bias=True)[0, 1]) < 0.02, count


def test_what_masks_leave_behind_the_numbers_does_not_enter_variances(rng):
    """Half of the places are behind the numbers, where the mean times the rounding of a mask is 0.15."""
    params = cl.Params.preset("n14")
    key = cl.SecretKey.generate(params)
    x = 1e6 + rng.normal(size=params.slot_count // 2 + 1)
    for f in (lambda v: v.var(), lambda v: v.var(keepdims=True), lambda v: v.reshape(1, -1).var(axis=None)):
        assert np.abs(key.decrypt(computed(key, f, x)) - x.var()).max() < 1e-4
    rows = np.stack([x, x[::-1] + 1])
    for axes in ({"axis": 1}, {"axis": 1, "keepdims": True}, {}):
        found = key.decrypt(computed(key, lambda v, axes=axes: v.var(**axes), rows, encoding="slots"))
        assert np.abs(found - rows.var(**axes)).max() < 1e-4
    # The rounding of 1 / n, of a mean of 1e8, is 0.3.
    x = 1e8 + rng.normal(size=8000)
    assert abs(float(key.decrypt(computed(key, lambda v: v.var(), x))) - x.var()) < 0.01
