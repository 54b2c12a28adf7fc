"""Arrays of parameters that bootstrap start at the highest level of the application; operands of different scales meet on any chain."""

from __future__ import annotations

import functools
import operator

import numpy as np
import pytest

import clathrate as cl

BOOTSTRAPPING = [name for name in cl.Params.preset_names() if cl.Params.preset(name).application_levels]
SMALL = [name for name in BOOTSTRAPPING if name.startswith("insecure")]

EXPRESSIONS = {
    "difference with a product": lambda x: x - 0.5 * (x * x),
    "mean of squares": lambda x: (x * x).mean(),
    "step of a descent": lambda x: x - 0.5 * (x * x).mean(axis=0),
    "steps in a row": lambda x: functools.reduce(lambda v, _: v * 0.9 + v * v * 0.1, range(3), x),
    "sum of all kinds": lambda x: x + x * 0.5 + x * x - 2 * x + 1.0,
    "variance": lambda x: x.var(),
    "powers": lambda x: x**3 + x**2 - x,
    "plain arrays": lambda x: x * np.linspace(-1, 1, x.shape[-1]) - x,
    "selection": lambda x: cl.functions.where(np.arange(x.shape[-1]) % 2 == 0, x, x * x),
    "concatenation": lambda x: cl.functions.concatenate([x, x * x, x * 0.5]) if x.ndim == 2 else x * x,
    "inner product": lambda x: x @ x if x.ndim == 1 else (x * x).sum(axis=1),
    "function": lambda x: cl.plans.Polynomial([0.1, 0.5, 0.0, 0.2])(x) - x,
}


def levels(params):
    highest = params.application_levels[1]
    return [None, highest, highest + 1, params.max_level]


@pytest.mark.parametrize("name", BOOTSTRAPPING)
def test_fresh_arrays_start_at_the_highest_level_of_the_application(name):
    params = cl.Params.preset(name)
    highest = params.application_levels[1]
    for encoding in ("slots", "coefficients"):
        assert cl.plans.trace(lambda x: x, (4,), params=params, encoding=encoding).result.level == highest
    assert cl.plans.trace(lambda x: x, (4,), params=params, level=params.max_level).result.level == params.max_level
    assert cl.plans.trace(lambda x: x * x, (4,), params=params).needs.to_dict()["relinearise"] == highest
    assert cl.plans.Polynomial([0.0, 1.0, 1.0]).plan(params).input_level == highest
    assert cl.plans.LinearTransform(np.eye(4) / 2).plan(params).input_level == highest


@pytest.mark.parametrize("name", SMALL)
def test_keys_and_arrays_of_owners_start_there_too(name):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    highest = params.application_levels[1]
    assert key.encrypt([0.5]).level == key.public_key().encrypt([0.5]).level == highest
    assert (
        key.encrypt([0.5], level=params.max_level).level
        == key.public_key().encrypt([0.5], level=params.max_level).level
        == params.max_level
    )
    x = key.encrypt([0.5]).with_keys(key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1])))
    assert (x * x).level == x.rotate(1).level == highest
    assert (key.encrypt([0.5]).with_keys(key.keys_for(lambda x: x * x * x, (1,))) ** 3).level == highest - 1


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_run_at_every_level_of_the_bootstrap(name, expression):
    params = cl.Params.preset(name)
    function = EXPRESSIONS[expression]
    for shape in ((100,),):
        options = {"params": params, "encoding": "slots"}
        found = {level: cl.plans.trace(function, shape, level=level, **options).result for level in levels(params)}
        assert len({(result.level, round(float(np.log2(result.scale)), 6)) for result in found.values()}) == 1, found


@pytest.mark.parametrize("name", SMALL)
def test_expressions_give_their_numbers_at_every_level_of_the_bootstrap(name, rng):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    for shape in ((60,),):
        numbers = rng.uniform(-1, 1, shape)
        for expression, function in EXPRESSIONS.items():
            for level in levels(params):
                trace = cl.plans.trace(function, shape, params=params, level=level, encoding="slots")
                keys = key.evaluation_keys(trace.needs)
                x = key.encrypt(numbers, level=level, encoding="slots").with_keys(keys, bootstrap_below=trace.bootstrap_below)
                result = function(x)
                assert (result.level, result.shape) == (trace.result.level, trace.result.shape), expression
                clear = CLEAR.get(expression, function)(numbers)
                np.testing.assert_allclose(key.decrypt(result), clear, atol=2e-3, err_msg=f"{expression} at {level}")


CLEAR = {
    "selection": lambda x: np.where(np.arange(x.shape[-1]) % 2 == 0, x, x * x),
    "concatenation": lambda x: np.concatenate([x, x * x, x * 0.5]) if x.ndim == 2 else x * x,
    "function": lambda x: 0.1 + 0.5 * x + 0.2 * x**3 - x,
}


@pytest.mark.parametrize(
    "sizes",
    [
        {"steps": [60, 40, 40, 40, 40, 40], "special": [51, 51], "log2_scale": 40},
        # Steps that match the scale badly, and steps of two sizes.
        {"steps": [60, 36, 43, 38, 41, 42], "special": [51, 51], "log2_scale": 40},
        {"steps": [[30, 30], 30, 30, 30, 30, 30], "special": [42], "log2_scale": 28},
        {"steps": [55, 50, 50, 50, 34, 34, 34], "special": [51, 51], "log2_scale": 42},
    ],
    ids=["even", "uneven", "short", "two sizes"],
)
@pytest.mark.filterwarnings("ignore")
def test_operands_of_any_scales_meet(sizes, rng):
    params = cl.Params(degree=512, insecure=True, **sizes)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    a, b = rng.uniform(-1, 1, (2, 3, 8))
    scale = sizes["log2_scale"]
    operations = [
        operator.add,
        operator.sub,
        lambda x, y: cl.functions.concatenate([x, y]),
        lambda x, y: cl.functions.where(a > 0, x, y),
        lambda x, y: x * 0.5 + y * y,
    ]
    clear = [
        operator.add,
        operator.sub,
        lambda x, y: np.concatenate([x, y]),
        lambda x, y: np.where(a > 0, x, y),
        lambda x, y: x * 0.5 + y * y,
    ]
    met = 0
    for bits in (scale - 0.7, scale + 0.3, scale + 3.14, scale + 8):
        for level in (params.max_level, params.max_level - 2, 2):
            x = key.encrypt(a, scale=2.0**bits, level=level, encoding="slots").with_keys(keys)
            for y in (key.encrypt(b, encoding="slots"), key.encrypt(b, level=level, encoding="slots") * 0.75 / 0.75):
                for left, right, first, second in ((x, y, a, b), (y, x, b, a)):
                    for operation, wanted in zip(operations, clear, strict=True):
                        try:
                            result = operation(left.with_keys(keys), right.with_keys(keys))
                        except cl.errors.LevelError:
                            assert level == 2, (bits, level)
                            continue
                        met += 1
                        np.testing.assert_allclose(key.decrypt(result), wanted(first, second), atol=1e-2 if scale < 30 else 1e-4)
    assert met > 100


def test_a_trace_takes_a_level_that_works_where_the_lowest_does_not():
    params = cl.Params.preset("insecure_boot")
    lowest = params.application_levels[0]

    def picky(x):
        for _ in range(3):
            x = (x * x).rescale()
        # Without a bootstrap before the last product, this is above where the array is.
        return x.drop_to_level(lowest + 1)

    with pytest.raises(cl.errors.LevelError):
        cl.plans.trace(picky, (8,), params=params, bootstrap_below=lowest)
    found = cl.plans.trace(picky, (8,), params=params)
    assert found.bootstrap_below is not None
    assert found.bootstrap_below > lowest


def test_a_trace_that_no_level_serves_says_what_each_of_them_lacks():
    params = cl.Params.preset("insecure_boot")
    deep = cl.plans.Polynomial(np.full(41, 0.02))
    with pytest.raises(
        cl.errors.LevelError, match="level 9 would be needed, and arrays under these parameters have levels up to 6: lower the degree"
    ):
        cl.plans.trace(lambda x: deep(x * x), (8,), params=params)
    seen = []

    def different(x):
        seen.append(x)
        x = (x * x).rescale()
        x = (x * x).rescale()
        x = (x * x).rescale()
        return x.drop_to_level(x.level + len(seen))

    with pytest.raises(
        cl.errors.LevelError,
        match=r"cannot drop from level \d to level \d: .*\(so with bootstraps below level 3; below 4: cannot .*; below 5: cannot",
    ):
        cl.plans.trace(different, (8,), params=params)
    # Without a bootstrap, and with bootstraps below each of three levels.
    assert len(seen) == 4


def test_deep_circuits_find_parameters_that_bootstrap():
    squarings = lambda x: functools.reduce(lambda v, _: v * v, range(60), x)  # noqa: E731
    choice = cl.Params.for_circuit(squarings, (100,), error=1e-2, bound=0.5)
    assert choice.params.application_levels
    assert choice.trace.bootstrap_below is not None
