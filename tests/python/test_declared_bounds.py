"""Functions and bootstraps take the bound that is declared for the numbers, or refuse it."""

import numpy as np
import pytest
from programs import below

import clathrate as cl


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


FUNCTIONS = {
    "sigmoid": (cl.functions.sigmoid, lambda t: 1 / (1 + np.exp(-t))),
    "tanh": (cl.functions.tanh, np.tanh),
    "relu": (lambda x: cl.functions.relu(x, error=0.2), lambda t: np.maximum(t, 0)),
    "absolute": (lambda x: cl.functions.absolute(x, error=0.2), np.abs),
    "sign": (lambda x: cl.functions.sign(x, margin=2.0, error=0.05), np.sign),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_interval_of_the_declared_bound(name):
    params = cl.Params.preset("n15")
    f, want = FUNCTIONS[name]
    x = np.array([20.0, -20.0, 3.0])
    assert np.abs(f(x) - want(x)).max() < 0.21
    found = cl.plans.trace(f, x.shape, params=params, bound=20.0)
    assert found.result.bound is not None
    assert found.result.bound < 25


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cl.functions.sigmoid(x, domain=(-8, 8)),
        lambda x: cl.functions.relu(x, bound=1, error=0.05),
        lambda x: cl.functions.sign(x, margin=0.1, bound=1.0),
        lambda x: cl.functions.inverse(x, domain=(0.5, 2.0)),
        lambda x: cl.functions.log(x, domain=(0.5, 2.0)),
        lambda x: cl.functions.softmax(x, bound=1.0),
    ],
)
def test_intervals_that_do_not_hold_the_numbers_are_refused(deep, f):
    params, key = deep
    x = np.array([20.0, 15.0, 3.0])
    with pytest.raises(cl.errors.DataError, match=r"numbers may be as large as 2\.000e1"):
        cl.plans.trace(f, x.shape, params=params, bound=20.0)
    keys = key.keys_for(f, x.shape)
    with pytest.raises(cl.errors.DataError, match=r"numbers may be as large as 2\.000e1"):
        f(key.encrypt(x, bound=20.0).with_keys(keys))
    with pytest.raises(cl.errors.DataError, match="far off outside"):
        f(x)
    # The remedy: a bound that fits the numbers where they are smaller.
    f(key.encrypt([0.6, 0.9, 0.7], bound=20.0).with_keys(keys).with_bound(1.0))


@pytest.mark.parametrize("size", [1.0, 2.0, 8.0, 100.0])
def test_bootstraps_divide_numbers_by_their_bound(size):
    params = cl.Params.preset("insecure_boot")
    plan = cl.plans.BootstrapPlan(params)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(plan.needs)
    x = np.linspace(-size, size, plan.slots)
    level = plan.input_level + 1
    fresh = key.encrypt(x, level=level, bound=size).with_keys(keys).bootstrap(plan)
    errors = np.abs(key.decrypt(fresh) - x)
    assert errors.max() <= fresh.error_bound
    assert fresh.error_bound < 1e-4 * size
    assert fresh.bound == pytest.approx(size)
    if size > 1:
        with pytest.raises(cl.errors.DataError, match="bootstrap at a higher level"):
            key.encrypt(x, level=plan.input_level, bound=size).with_keys(keys).bootstrap(plan)


def test_bounds_of_joined_arrays_are_those_of_the_largest(deep):
    """Two products with masks of one weight differ in their bounds."""
    params, key = deep
    first, second = np.repeat([1.0, 0.0], [10, 90]), np.roll(np.repeat([1.0, 0.0], [10, 90]), 50)

    def f(x):
        joined = np.concatenate([below(x * first, 0.01), x * second])
        return joined * joined * joined

    x = np.ones((1, 100))
    x[0, :10] = 0.01
    found = cl.plans.trace(f, x.shape, params=params, bound=1.0)
    result = f(key.encrypt(x, bound=1.0).with_keys(key.evaluation_keys(found.needs)))
    assert result.bound == found.result.bound == pytest.approx(1.0)
    assert np.abs(key.decrypt(result) - f(x)).max() <= result.error_bound


def test_polynomials_of_complex_numbers_keep_a_bound(rng):
    """Without one a bootstrap behind them would take any number for one of magnitude 1."""
    params = cl.Params.preset("insecure_boot")
    key = cl.SecretKey.generate(params)
    poly = cl.plans.Polynomial([0.1, 0.5, 0.0, 0.25])
    numbers = np.linspace(-1.5, 1.5, 8) * (1 + 1j)
    x = key.encrypt(numbers, bound=3.0).with_keys(key.keys_for(poly, (8,), is_complex=True, bound=3.0))
    result = poly(x)
    exact = 0.1 + 0.5 * numbers + 0.25 * numbers**3
    assert np.abs(exact).max() <= result.bound <= 0.1 + 1.5 + 0.25 * 27 + 1e-9
    assert np.abs(key.decrypt(result) - exact).max() < 1e-3

    def bootstrapped(x):
        return (np.roll(poly(x), 1) * 0.5).bootstrap()

    wide = np.linspace(-70, 70, 8) * (1 + 1j)
    try:
        found = cl.plans.trace(bootstrapped, (8,), params=params, is_complex=True, bound=100.0)
        result = bootstrapped(key.encrypt(wide, bound=100.0).with_keys(key.evaluation_keys(found.needs)))
    except cl.ClathrateError:
        return
    exact = np.roll(0.1 + 0.5 * wide + 0.25 * wide**3, 1) * 0.5
    assert np.abs(key.decrypt(result) - exact).max() < 1e-2 * np.abs(exact).max()


@pytest.mark.parametrize("name", ["insecure_boot", "insecure_boot_last"])
@pytest.mark.parametrize("bound", [3.0, 1e3, 1e4, 7e4, 2e5])
def test_bootstraps_divide_by_any_bound_or_refuse_before_the_run(name, bound, rng):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    numbers = rng.uniform(-bound, bound, 8)
    found = cl.plans.trace(lambda x: x.bootstrap(), (8,), params=params, bound=bound)
    result = key.encrypt(numbers, bound=bound).with_keys(key.evaluation_keys(found.needs)).bootstrap()
    assert result.level == found.result.level
    assert np.abs(key.decrypt(result) - numbers).max() <= result.error_bound <= 0.05 * bound


@pytest.mark.parametrize("name", ["insecure_boot", "insecure_boot_last"])
def test_what_runs_without_a_bootstrap_is_traced(name, rng):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    for function, shape, bound in [
        (lambda x: x.var(), (3,), 100.0),
        (lambda x: (x * 0.1 + 1) * x, (5,), 2.0),
        (lambda x: cl.plans.Polynomial([0.1, 0.5, 0.0, 0.25])(x) * 0.5, (8,), 2.0),
    ]:
        found = cl.plans.trace(function, shape, params=params, bound=bound)
        x = key.encrypt(rng.uniform(-bound, bound, shape), bound=bound)
        x = x.with_keys(key.evaluation_keys(found.needs), bootstrap_below=found.bootstrap_below)
        assert function(x).level == found.result.level
