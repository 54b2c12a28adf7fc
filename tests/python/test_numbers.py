"""Numbers that must not be wrong silently: large means, declared bounds, errors beside what is stated, over programs and layouts."""

import math
import os
import subprocess
import sys

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


FUNCTIONS = {
    "sigmoid": (cl.sigmoid, lambda t: 1 / (1 + np.exp(-t))),
    "tanh": (cl.tanh, np.tanh),
    "relu": (lambda x: cl.relu(x, error=0.2), lambda t: np.maximum(t, 0)),
    "absolute": (lambda x: cl.absolute(x, error=0.2), np.abs),
    "sign": (lambda x: cl.sign(x, margin=2.0, error=0.05), np.sign),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_the_interval_of_the_declared_bound(name):
    params = cl.Params.preset("n15")
    f, want = FUNCTIONS[name]
    x = np.array([20.0, -20.0, 3.0])
    assert np.abs(f(x) - want(x)).max() < 0.21
    found = cl.trace(f, x.shape, params=params, bound=20.0)
    assert found.result.bound is not None
    assert found.result.bound < 25


@pytest.mark.parametrize(
    "f",
    [
        lambda x: cl.sigmoid(x, domain=(-8, 8)),
        lambda x: cl.relu(x, bound=1, error=0.05),
        lambda x: cl.sign(x, margin=0.1, bound=1.0),
        lambda x: cl.inverse(x, domain=(0.5, 2.0)),
        lambda x: cl.log(x, domain=(0.5, 2.0)),
        lambda x: cl.softmax(x, bound=1.0),
    ],
)
def test_intervals_that_do_not_hold_the_numbers_are_refused(deep, f):
    params, key = deep
    x = np.array([20.0, 15.0, 3.0])
    with pytest.raises(cl.DataError, match=r"numbers may be as large as 2\.000e1"):
        cl.trace(f, x.shape, params=params, bound=20.0)
    keys = key.keys_for(f, x.shape)
    with pytest.raises(cl.DataError, match=r"numbers may be as large as 2\.000e1"):
        f(key.encrypt(x, bound=20.0).with_keys(keys))
    with pytest.raises(cl.DataError, match="is outside"):
        f(x)
    # The remedy: a bound that fits the numbers where they are smaller.
    f(key.encrypt([0.6, 0.9, 0.7], bound=20.0).with_keys(keys).with_bound(1.0))


@pytest.mark.parametrize("size", [1.0, 2.0, 8.0, 100.0])
def test_bootstraps_divide_numbers_by_their_bound(size):
    params = cl.Params.preset("insecure_boot")
    plan = cl.BootstrapPlan(params)
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
        with pytest.raises(cl.DataError, match="bootstrap at a higher level"):
            key.encrypt(x, level=plan.input_level, bound=size).with_keys(keys).bootstrap(plan)


SLOTS, COEFFICIENTS = {"encoding": "slots"}, {"encoding": "coefficients"}
LANES = {"encoding": "slots", "lanes": "most"}
WEIGHTS = np.random.default_rng(3).normal(size=(5, 6))
PROGRAMS = {
    "product": (lambda x, y: x * y, 2, (300,), {}),
    "power": (lambda x: x**4, 1, (300,), {}),
    "sum of products": (lambda x, y: x * y + 0.5 * x - y, 2, (300,), {}),
    "differences from the mean": (lambda x: x - x.mean(), 1, (200,), {}),
    "selection": (lambda x: x[10:200] * 2.0, 1, (300,), {}),
    "plain matrix": (lambda x: WEIGHTS @ x, 1, (6, 50), {}),
    "columns": (lambda x: x.var(axis=0), 1, (60, 20), {"encoding": "slots", "lanes": "most"}),
    "variances of rows": (lambda x: x.var(axis=1), 1, (64, 20), {"encoding": "slots", "lanes": "most"}),
    "variances of full rows": (lambda x: x.var(axis=1), 1, (16, 64), {"encoding": "slots", "lanes": "most"}),
    "variance": (lambda x: x.var(), 1, (300,), {}),
    "variance of few numbers": (lambda x: x.var(), 1, (100,), {}),
    "variance of half a polynomial": (lambda x: x.var(), 1, (128,), {}),
    "variance written by hand": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (300,), {}),
    "the same, of few numbers": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (10,), {}),
    "the same, of a polynomial": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (256,), {}),
    "variance of a table": (lambda x: x.var(), 1, (6, 50), SLOTS),
    "variances of a table's columns": (lambda x: ((x - x.mean(axis=0)) ** 2).mean(axis=0), 1, (40, 31), SLOTS),
    "variance of means": (lambda x: x.mean(axis=0).var(), 1, (10, 100), {}),
    "rows": (lambda x: (x * x).sum(axis=1), 1, (100, 5), {"encoding": "slots", "lanes": "most"}),
    "polynomial": (lambda x: cl.sigmoid(8 * x), 1, (300,), {}),
    "polynomial of high degree": (cl.Polynomial.fit(lambda t: np.sin(6 * t) * np.exp(t), 31), 1, (300,), {}),
    "joined": (lambda x: np.concatenate([x[:50], x[100:150]]), 1, (300,), {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_are_within_twice_what_is_stated_and_below_their_bounds(deep, name):
    params, _ = deep
    f, count, shape, options = PROGRAMS[name]
    found = cl.trace(f, *[shape] * count, params=params, bound=1.0, **options)

    def rms(errors):
        return np.sqrt(np.mean(np.square(errors)))

    # A few hundred errors of each kind, under four keys: errors that are products of errors depend on the key, and large ones are few.
    times = max(4, 60 // math.prod(found.result.shape))
    rng = np.random.default_rng(11)
    # Which numbers are the worst depends on the program: large ones of one sign or of both, or small ones.
    signs = np.resize([1.0, -1.0], shape)
    kinds = [[-np.ones(shape), np.ones(shape)], [signs, -signs], [np.zeros(shape)] * 2]
    if name == "columns":
        # Rows that share polynomials: the means' noise differs from lane to lane.
        kinds.append([np.where(np.arange(60) % 8 < 4, 1.0, -1.0)[:, np.newaxis] * np.ones(shape)])
    # The noise of the mean, whose sum is by rotations by halves, differs the most between the halves.
    kinds.append([np.where(np.arange(shape[-1]) < shape[-1] / 2, 1.0, -1.0) * np.ones(shape)] * 2)
    typical, worst, alone = [], [[] for _ in kinds], []
    for key in (cl.SecretKey.generate(params) for _ in range(4)):
        keys, public = key.evaluation_keys(found.needs), key.public_key()

        def errors(*arrays, key=key, keys=keys, public=public):
            result = f(*(public.encrypt(array, bound=1.0, **options).with_keys(keys) for array in arrays))
            assert result.bound == pytest.approx(found.result.bound)
            return key.decrypt(result) - f(*arrays)

        typical += [errors(*(rng.uniform(-1, 1, shape) for _ in range(count))) for _ in range(times)]
        for some, arrays in zip(worst, kinds, strict=True):
            some += [errors(*arrays[:count]) for _ in range(times)]
        if found.result.shape == shape:
            # Or one number against all others, where it is.
            places = (np.arange(math.prod(shape)).reshape(shape) == place for place in range(50))
            alone += [errors(*[np.where(there, 1.0, -1.0)] * count)[there] for there in places]
    assert found.result.error_rms / 2 < rms(typical) < 2 * found.result.error_rms
    assert max(np.abs(some).max() for some in [typical, *worst]) <= found.result.error_bound
    assert found.result.error_bound <= 30 * max(rms(some) for some in [*worst, alone] if len(some))


EVERY_SECOND = np.resize([1.0, 0.0], 256)


def rows_of(x):
    """The transpose, as rows that others are added to."""
    return x.T if isinstance(x, np.ndarray) else x.T.to_rows()


def rolled(x, steps):
    return np.roll(x, -steps) if isinstance(x, np.ndarray) else x.rotate(steps)


def below(x, bound):
    return x if isinstance(x, np.ndarray) else x.with_bound(bound)


# Differences in which errors seem to cancel and do not: the errors of other numbers, of places without a number, or of what is no
# constant. Each with the arrays' shapes and bounds.
DIFFERING = [np.random.default_rng(7).uniform(-1, 1, 256) - constant for constant in np.linspace(-1, 1, 100)]


def there_and_back(x):
    return rolled(rolled(x, 1), -1)


def converted(x):
    return x.to_coefficients().to_slots() if isinstance(x, cl.Ciphertext) else x


def differences_of_turned(x, count=4):
    return x - rolled(x, count)


def squares(x):
    return x * x


def less_mean(x):
    return x - x.mean()


def one_alone(shape, bound):
    """One number on one side of all others."""
    x = np.full(shape, -bound if bound > 0 else 0.0)
    x.flat[0] = bound
    return x


SEEMING = {
    "mask": (lambda x: x * EVERY_SECOND - x, [((256,), 1.0)], {}),
    "where": (lambda x: np.where(EVERY_SECOND > 0, x, 0.0) - x, [((256,), 1.0)], {}),
    "mask of large numbers": (lambda x: x * (100 * EVERY_SECOND) - 100 * x, [((256,), 1e-3)], {}),
    "mask that is added": (lambda x: (x + 2 * EVERY_SECOND) * x - 2 * x, [((256,), 0.01)], {}),
    "identity matrix": (lambda x: x * np.eye(8) - x, [((8, 8), 1.0)], {}),
    "rows in lanes": (lambda x: x[0] - x[1], [((4, 30), 1.0)], LANES),
    "squares of differences in lanes": (
        lambda x: (x[0] - x[1]) ** 2 + (x[2] - x[3]) ** 2,
        [((4, 30), 1.0)],
        LANES,
    ),
    "parts in coefficients": (lambda x: x[:100] - x[100:200], [((400,), 1.0)], COEFFICIENTS),
    "columns in coefficients": (lambda x: x[:, :5] - x[:, 5:10], [((7, 12), 1.0)], COEFFICIENTS),
    "whole polynomials": (lambda x: x[:256] - x[256:], [((512,), 1.0)], SLOTS),
    "whole polynomials of rows": (lambda x: x[:, :256] - x[:, 256:], [((3, 512), 1.0)], SLOTS),
    "sum with places behind": (lambda x: ((x - 10) ** 2 + 20 * x).sum(), [((130,), 0.01)], SLOTS),
    "sum of full polynomials": (lambda x: ((x - 10) ** 2 + 20 * x).sum(), [((256,), 0.01)], SLOTS),
    "sum of two polynomials": (lambda x: (x * np.full(257, 10.0) - 10 * x).sum(), [((257,), 1.0)], SLOTS),
    "sum in lanes": (
        lambda x: (x * np.full((5, 33), 100.0) - 100 * x).sum(axis=0),
        [((5, 33), 1.0)],
        LANES,
    ),
    "bound of what is no constant": (lambda x, z: 100 * (z * below(x + 1, 1.0)) - 100 * z, [((256,), -1.0), ((256,), 1e-3)], {}),
    "joined constants": (lambda x, z: 10 * (z * np.concatenate([x * 0 + 1, x * 0])) - 10 * z, [((128,), 1.0), ((256,), 1.0)], {}),
    "transpose": (lambda x: rows_of(100 * x) - 100 * x, [((16, 16), 1.0)], {}),
    "sums as a column and as a row": (lambda x: 1000 * (x.sum(axis=1, keepdims=True) - x.sum(axis=1)), [((16, 20), 1.0)], SLOTS),
    "turns by a whole period": (lambda x: sum(rolled(x, 1 + 256 * count) for count in range(12)), [((256,), 1.0)], SLOTS),
    "turns in two steps": (lambda x: sum(rolled(rolled(x, count), 13 - count) for count in range(13)), [((256,), 1.0)], SLOTS),
    "sums of what was turned there and back": (lambda x: there_and_back(1000 * x).sum() / 16 - (1000 * x).sum(), [((256,), 1.0)], SLOTS),
    "means of what was turned there and back": (lambda x: 16 * there_and_back(1000 * x).mean() - (1000 * x).sum(), [((256,), 1.0)], SLOTS),
    "sums behind other encodings": (lambda x: converted(1000 * x).sum() / 8 - (1000 * x).sum(), [((64,), 1.0)], SLOTS),
    "sums of few numbers in many places": (lambda x, y: differences_of_turned(y + 1000 * x.sum()), [((4,), 1.0), ((256,), 1.0)], SLOTS),
    "the same, of half a polynomial": (lambda x, y: differences_of_turned(y + 1000 * x.sum(), 128), [((128,), 1.0), ((256,), 1.0)], SLOTS),
    "sums in a polynomial": (lambda x: differences_of_turned(x + 1000 * x.sum(), 128), [((256,), 1.0)], SLOTS),
    "variances of sums of few numbers": (
        lambda x, y: (y * np.repeat([1.0, -1.0], 128) + (1000 * x).sum()).var(),
        [((100,), 1e-5), ((256,), 1.0)],
        SLOTS,
    ),
    "variances of few numbers in many places": (
        lambda x, y: differences_of_turned(y + 1000 * x.var(), 64),
        [((100,), 1.0), ((256,), 1.0)],
        SLOTS,
    ),
    "variances of variances": (lambda x, y: (y * 1e-3 + squares(less_mean(x)).mean()).var(), [((100,), 1.0), ((256,), 1.0)], SLOTS),
    "a part of differences from the mean": (lambda x: squares(less_mean(x)[:130]).sum(), [((256,), 1.0)], SLOTS),
    "such differences under a mask": (lambda x: (less_mean(x) * np.repeat([1.0, 0.0], 128)).sum(), [((256,), 1.0)], SLOTS),
    "their squares under a mask": (lambda x: (squares(less_mean(x)) * np.repeat([1.0, 0.0], 128)).sum(), [((256,), 1.0)], SLOTS),
    "turned differences times others": (lambda x: (rolled(less_mean(x), 128) * less_mean(x)).sum(), [((256,), 1.0)], SLOTS),
    "differences with a number": (lambda x: ((less_mean(x) + 0.5) * less_mean(x)).sum(), [((256,), 1.0)], SLOTS),
    "squares of such": (lambda x: squares(less_mean(x) + 0.5).sum(), [((100,), 1.0)], SLOTS),
    "differences times other numbers": (lambda x, y: (less_mean(x) * (y + x.sum())).sum(), [((256,), 1.0), ((256,), 1.0)], SLOTS),
    "differences times sums of few": (lambda x, y: (less_mean(x) * (x + 1000 * y.sum())).sum(), [((256,), 1.0), ((4,), 1.0)], SLOTS),
    "differences from means along the other axis": (
        lambda x: squares(x - x.mean(axis=1)).sum(axis=1, keepdims=True),
        [((16, 16), 1.0)],
        SLOTS,
    ),
    "a product of differences along two axes": (
        lambda x: ((x - x.mean(axis=0)) * (x - x.mean(axis=1, keepdims=True))).sum(),
        [((16, 20), 1.0)],
        SLOTS,
    ),
    "differences from twice the mean": (lambda x: squares(x - 2 * x.mean()).sum(), [((256,), 1.0)], SLOTS),
    "differences from another mean": (lambda x, y: squares(x - y.mean()).sum(), [((256,), 1.0), ((256,), 1.0)], SLOTS),
    "polynomials of differences": (lambda x: (squares(less_mean(x)) * less_mean(x) + less_mean(x)).sum(), [((100,), 1.0)], SLOTS),
    "terms that differ by a constant": (lambda x: sum((w for w in DIFFERING), x), [((256,), 1.0)], SLOTS),
    "such terms alone": (lambda x: sum((w for w in DIFFERING), x) - x, [((256,), 1.0)], SLOTS),
    "factors that differ by a constant": (lambda x: sum(x * (1e-4 * w) for w in DIFFERING), [((256,), 1.0)], SLOTS),
}


@pytest.mark.parametrize("name", SEEMING)
def test_errors_that_seem_to_cancel_are_below_their_bounds(deep, name):
    params, key = deep
    f, arrays, options = SEEMING[name]
    found = cl.trace(f, *(cl.Input(shape, bound=abs(bound), **options) for shape, bound in arrays), params=params)
    keys, rng = key.evaluation_keys(found.needs), np.random.default_rng(3)
    for encrypted in (key, key.public_key()):
        for of in (lambda shape, bound: rng.uniform(min(bound, 0), abs(bound) if bound > 0 else 0, shape), np.full, one_alone):
            for _ in range(4):
                clear = [of(shape, bound) for shape, bound in arrays]
                result = f(
                    *(
                        encrypted.encrypt(x, bound=abs(bound), **options).with_keys(keys)
                        for x, (_, bound) in zip(clear, arrays, strict=True)
                    )
                )
                errors = key.decrypt(result) - f(*clear)
                assert np.abs(errors).max() <= result.error_bound <= found.result.error_bound * 1.0001


ONE_SIGN = np.abs(np.random.default_rng(0).normal(size=(64, 32))) / 8
STOCHASTIC = np.random.default_rng(0).uniform(size=(32, 32))
STOCHASTIC /= STOCHASTIC.sum(axis=0)
CENTRED = np.eye(64) - 1 / 64
LAYER = np.random.default_rng(1).normal(size=(32, 32)) / 6


def of_half_the_lanes(rows, columns):
    """Ones in the first half of the lanes, as many as a polynomial has, and their negatives in the others."""
    lanes = min(rows, 256 // (1 << (columns - 1).bit_length()))
    return np.where(np.arange(rows) % lanes < lanes / 2, 1.0, -1.0)[:, np.newaxis] * np.ones((rows, columns))


PLUS_MINUS = np.repeat([1.0, -1.0], 128)
# The noise of sums of rows that share polynomials differs from lane to lane, and is nearly the same in neighbouring ones: programs in
# which it adds up, each with numbers, bounds and options.
LANE_BY_LANE = {
    "sums of squares": (lambda x: squares(x - x.mean(axis=0)).sum(axis=0), [(of_half_the_lanes(256, 2), 1.0, LANES)]),
    "of single columns": (lambda x: squares(x - x.mean(axis=0)).sum(axis=0), [(of_half_the_lanes(256, 1), 1.0, LANES)]),
    "a covariance": (
        lambda x, y: ((x - x.mean(axis=0)) * (y - y.mean(axis=0))).sum(axis=0),
        [(of_half_the_lanes(128, 2), 1.0, LANES), (np.zeros((128, 2)), 1.0, LANES)],
    ),
    "variances with sums of rows": (
        lambda x, y: (x + 1000 * y.sum(axis=0)).var(axis=0),
        [(of_half_the_lanes(64, 32), 1.0, LANES), (np.zeros((64, 32)), 1e-6, LANES)],
    ),
    "differences times sums of rows": (
        lambda x, y: ((x - x.mean(axis=0)) * (1000 * y[:32].sum(axis=0))).sum(axis=0),
        [(of_half_the_lanes(64, 32), 1.0, LANES), (np.zeros((64, 32)), 1e-6, LANES)],
    ),
    "a variance with a total": (
        lambda x, y: (y + 1000 * x.sum()).var(),
        [(np.zeros((256, 4)), 1e-9, LANES), (PLUS_MINUS, 1.0, SLOTS)],
    ),
    "a total in each of many": (lambda x, y: (y + x.sum()).sum(), [(np.zeros((256, 1)), 1e-9, LANES), (np.zeros(256), 1e-9, SLOTS)]),
    "sums in each of many": (lambda x, y: (y + x.sum(axis=0)).sum(), [(np.zeros((100, 1)), 1e-9, LANES), (np.zeros(256), 1e-9, SLOTS)]),
    "one row in each of many": (lambda x, y: (y + 1000 * x[3]).sum(), [(np.zeros((64, 1)), 1e-9, LANES), (np.zeros(256), 1.0, SLOTS)]),
    "one row in each of very many": (
        lambda x, y: (y + 1000 * x[3]).sum(),
        [(np.zeros((64, 1)), 1e-9, LANES), (np.zeros(8192), 1e-9, SLOTS)],
    ),
}


@pytest.mark.parametrize("name", LANE_BY_LANE)
def test_noise_of_lanes_is_neither_one_nor_many(deep, name):
    params, key = deep
    f, arrays = LANE_BY_LANE[name]
    found = cl.trace(f, *(cl.Input(x.shape, bound=bound, **options) for x, bound, options in arrays), params=params)
    errors, clear = [], f(*(x for x, _, _ in arrays))
    for key in (cl.SecretKey.generate(params) for _ in range(3)):
        keys = key.evaluation_keys(found.needs)
        for _ in range(5):
            result = f(*(key.encrypt(x, bound=bound, **options).with_keys(keys) for x, bound, options in arrays))
            errors.append(np.ravel(key.decrypt(result) - clear))
            assert result.error_bound <= found.result.error_bound * 1.0001
    # A bound has seven deviations of normal errors, and twenty of products.
    assert found.result.error_bound > (6 if name.startswith("one row") else 15) * np.sqrt(np.mean(np.square(errors)))


def approximation(sign):
    return cl.Polynomial.fit(lambda t: sign * np.sin(2 * t), 7)


ALTERNATING = np.resize([1.0, -1.0], 256)
# Numbers that are as large as others, and are others, and their means: each with the numbers at which the result is the largest.
ALIKE = {
    "signs": (lambda x: squares(x * ALTERNATING - (x * -ALTERNATING).mean()).sum(), ALTERNATING),
    "masks": (lambda x: squares(x * EVERY_SECOND - (x * (1 - EVERY_SECOND)).mean()).sum(), ALTERNATING),
    "matrices": (lambda x: squares(x @ np.full((16, 16), 1 / 16) - (x @ np.full((16, 16), -1 / 16)).mean()).sum(), np.ones(16)),
    "polynomials": (lambda x: squares(approximation(1)(x) - approximation(-1)(x).mean()).sum(), np.full(256, 0.8)),
    "axes": (lambda x: squares(x @ STOCHASTIC - (STOCHASTIC @ x).mean(axis=0)).sum(axis=0), np.eye(32)),
}


@pytest.mark.parametrize("name", ALIKE)
def test_numbers_of_one_size_are_not_taken_for_each_other(deep, name):
    params, key = deep
    f, x = ALIKE[name]
    found = cl.trace(f, x.shape, params=params, bound=1.0, encoding="slots")
    result = f(key.encrypt(x, bound=1.0, encoding="slots").with_keys(key.evaluation_keys(found.needs)))
    assert np.abs(key.decrypt(result)).max() <= result.bound * 1.0001
    assert np.abs(key.decrypt(result) - f(x)).max() <= result.error_bound


EVEN = np.random.default_rng(5).uniform(-1, 1, (1000, 4))
FACTORS = -np.ones((16, 16))
FACTORS[:, 0] = 1.0
ONES = np.ones((16, 16))
# Products of encrypted matrices, whose factors meet at other places than their own: each with numbers and their bound.
PRODUCTS = {
    "sums along the left factor's columns": (
        lambda x, y: (converted_to_coefficients(x - x.mean(axis=1, keepdims=True)).T @ converted_to_coefficients(y)).sum(
            axis=1, keepdims=True
        ),
        [FACTORS, ONES],
        SLOTS,
        1.0,
    ),
    "a matrix and one with the opposite errors": (lambda x: (1 + 1000 * x).T @ (1 - 1000 * x), [np.zeros((16, 16))], COEFFICIENTS, 1e-5),
    "the same by rows": (lambda x: (1 + 1000 * x) @ (1 - 1000 * x).T, [np.zeros((4, 4))], COEFFICIENTS, 1e-5),
    "a product less the mean of its transpose": (
        lambda x, y: (x.T @ y - (y.T @ x).mean(axis=0)).sum(axis=0),
        [ONES, FACTORS],
        COEFFICIENTS,
        1.0,
    ),
    "a matrix less its mean as a product": (lambda x: (x - (x.T @ (x * 0 + 1)) * (1 / 16)).sum(axis=0), [FACTORS], COEFFICIENTS, 1.0),
    "a product less its transpose": (lambda x, y: x.T @ y - y.T @ x, [EVEN[:16].repeat(4, axis=1), ONES], COEFFICIENTS, 1.0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_encrypted_matrices_have_their_own_numbers_and_errors(deep, name):
    params, key = deep
    f, arrays, options, bound = PRODUCTS[name]
    found = cl.trace(f, *(x.shape for x in arrays), params=params, bound=bound, **options)
    assert np.abs(f(*arrays)).max() <= found.result.bound * (1 + 1e-9)
    keys, public = key.evaluation_keys(found.needs), key.public_key()
    errors = []
    for _ in range(4):
        result = f(*(public.encrypt(x, bound=bound, **options).with_keys(keys) for x in arrays))
        errors.append(key.decrypt(result) - f(*arrays))
        assert result.error_bound <= found.result.error_bound * 1.0001
    assert found.result.error_bound > 6 * np.sqrt(np.mean(np.square(errors)))


def converted_to_coefficients(x):
    return x.to_coefficients() if isinstance(x, cl.Ciphertext) else x


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork processes")
def test_forked_processes_give_their_arrays_names_of_their_own(deep, tmp_path):
    """What two workers encrypt with one public key has two errors."""
    params, key = deep
    key.public_key().save(tmp_path / "key.clat")
    program = (
        "import os, sys\nimport numpy as np\nimport clathrate as cl\n"
        "params = cl.Params.preset('insecure_deep')\npublic = cl.PublicKey.load(sys.argv[1] + '/key.clat', params)\n"
        "public.encrypt(np.zeros(200), bound=1.0)\n"
        "for worker in 'ab':\n    if (child := os.fork()) == 0:\n"
        "        public.encrypt(np.zeros(200), bound=1.0).save(f'{sys.argv[1]}/{worker}.clat')\n        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], check=True)
    x, y = (cl.Ciphertext.load(tmp_path / f"{worker}.clat", params) for worker in "ab")
    errors = key.decrypt(x - y)
    assert np.abs(errors).max() <= (x - y).error_bound
    assert (x - y).error_rms == pytest.approx(math.sqrt(2) * x.error_rms)


@pytest.mark.parametrize("name", ["insecure_dpad", "insecure_deep"])
def test_dry_runs_state_no_smaller_errors_than_runs_with_the_keys_that_they_ask_for(name):
    """Keys for low levels alone have larger errors than keys for all levels, on some chains."""
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    public = key.public_key()
    for level in (3, 4, 6):
        for f in (lambda x: x.sum(), lambda x: x - x.mean(), lambda x: x.rotate(1) + x, lambda x: (x * x).sum()):
            found = cl.trace(f, (100,), params=params, bound=1.0, encoding="slots", level=level)
            x = public.encrypt(np.ones(100), bound=1.0, encoding="slots", level=level)
            result = f(x.with_keys(key.evaluation_keys(found.needs)))
            for own, stated in ((result.error_rms, found.result.error_rms), (result.error_bound, found.result.error_bound)):
                assert 0.5 * stated <= own <= stated * (1 + 1e-6)


@pytest.mark.parametrize("count", [100, 200, 300])
def test_smaller_noise_has_no_larger_bound(deep, count):
    """A dry run takes the noise of the public key; under the secret key others are the errors that matter most."""
    params, key = deep

    def of_sum(x):
        z = x + x.sum()
        return (z - z.mean()).var()

    def of_variance(x):
        z = x * x.var()
        return (z - z.mean()).var()

    for f in (of_sum, of_variance):
        found = cl.trace(f, (count,), params=params, bound=1.0, encoding="slots")
        keys = key.evaluation_keys(found.needs)
        for encrypted in (key, key.public_key()):
            result = f(encrypted.encrypt(np.linspace(-1, 1, count), bound=1.0, encoding="slots").with_keys(keys))
            assert result.error_rms <= found.result.error_rms * 1.001
            assert result.error_bound <= found.result.error_bound * 1.001


AFTER_BOOTSTRAPS = {
    "numbers": lambda x: x,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "variance": lambda x: x.var(),
    "mean of squares": lambda x: (x**2).mean(),
    "cubic": lambda x: x**3 - x,
}


@pytest.mark.parametrize("bound", [1.0, 0.3])
@pytest.mark.parametrize("name", AFTER_BOOTSTRAPS)
def test_bootstrapped_numbers_and_their_sums_have_the_errors_that_are_stated(name, bound):
    """A part of the modular reduction's error follows from the number, so it adds up in sums and in products with the numbers."""
    params, g = cl.Params.preset("insecure_boot"), AFTER_BOOTSTRAPS[name]

    def f(x):
        return g(x.bootstrap())

    found = cl.trace(f, (300,), params=params, bound=bound)
    rng, typical, worst = np.random.default_rng(5), [], []
    for key in (cl.SecretKey.generate(params) for _ in range(3)):
        keys, public = key.evaluation_keys(found.needs), key.public_key()

        def error(x, key=key, keys=keys, public=public):
            result = f(public.encrypt(x, bound=bound).with_keys(keys, bootstrap_below=found.bootstrap_below))
            return key.decrypt(result) - g(x)

        typical += [error(rng.uniform(-bound, bound, 300)) for _ in range(4)]
        worst += [error(np.full(300, share * bound)) for share in (1.0, -1.0, 0.7, 0.0)] + [error(np.resize([bound, -bound], 300))]
    assert found.result.error_rms / 2 < np.sqrt(np.mean(np.square(typical))) < 2 * found.result.error_rms
    assert max(np.abs(typical).max(), np.abs(worst).max()) <= found.result.error_bound


def test_few_bootstrapped_numbers_have_small_errors_in_all_slots_that_repeat_them():
    """Two rounds correct numbers: what differs between the slots that repeat one must be small, too."""
    params = cl.Params.preset("insecure_boot_last")
    key = cl.SecretKey.generate(params)
    rng = np.random.default_rng(4)

    def boot(x):
        return x if isinstance(x, np.ndarray) else x.bootstrap()

    def centred_twice(x):
        for _ in range(2):
            x = x - 0.3 * x.mean()
        return x

    programs = [
        (lambda m, z: boot(m) + z, [((), 1.0), ((64,), 1e-9)]),
        (lambda c, y: boot(c) * y, [((20, 1), 1.0), ((20, 16), 1.0)]),
        (centred_twice, [((64,), 1.0)]),
    ]
    for f, arrays in programs:
        found = cl.trace(f, *(cl.Input(shape, bound=bound, encoding="slots") for shape, bound in arrays), params=params)
        keys = key.evaluation_keys(found.needs)
        for _ in range(4):
            clear = [np.array(rng.uniform(-bound, bound, shape)) for shape, bound in arrays]
            encrypted = [key.encrypt(x, bound=bound, encoding="slots") for x, (_, bound) in zip(clear, arrays, strict=True)]
            result = f(*(x.with_keys(keys, bootstrap_below=found.bootstrap_below) for x in encrypted))
            assert np.abs(key.decrypt(result) - f(*clear)).max() <= result.error_bound


def test_bounds_of_joined_arrays_are_those_of_the_largest(deep):
    """Two products with masks of one weight differ in their bounds."""
    params, key = deep
    first, second = np.repeat([1.0, 0.0], [10, 90]), np.roll(np.repeat([1.0, 0.0], [10, 90]), 50)

    def f(x):
        joined = np.concatenate([below(x * first, 0.01), x * second])
        return joined * joined * joined

    x = np.ones((1, 100))
    x[0, :10] = 0.01
    found = cl.trace(f, x.shape, params=params, bound=1.0)
    result = f(key.encrypt(x, bound=1.0).with_keys(key.evaluation_keys(found.needs)))
    assert result.bound == found.result.bound == pytest.approx(1.0)
    assert np.abs(key.decrypt(result) - f(x)).max() <= result.error_bound


@pytest.mark.parametrize("scale", [1.0, 0.001])
def test_plain_sums_leave_the_noise_of_rotations_as_it_is(deep, scale):
    """Adding plain numbers changes no mask, so the noise of switches is the same, and adds up."""
    params, key = deep

    def f(x):
        return sum(rolled(x * scale + count, 1) for count in range(40))

    found = cl.trace(f, (256,), params=params, bound=1.0)
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(2)
    arrays = [rng.uniform(-1, 1, 256) for _ in range(8)]
    errors = np.stack([key.decrypt(f(public.encrypt(x, bound=1.0).with_keys(keys))) - f(x) for x in arrays])
    assert found.result.error_rms / 2 < np.sqrt(np.mean(errors**2)) < 2 * found.result.error_rms
    assert np.abs(errors).max() <= found.result.error_bound


PLACES = np.arange(256)
SHUFFLED = [np.random.default_rng(seed).permutation(32) for seed in (1, 2)]
# Programs whose errors depend on each other, or whose numbers do: with the lengths of their inputs.
DEPENDENT = {
    "the sum of a product with weights of one sign": (lambda x: (x @ ONE_SIGN).sum(), [64]),
    "weights of one sign there and back": (lambda x: x @ ONE_SIGN @ ONE_SIGN.T, [64]),
    "weights of one sign three times": (lambda x: x @ ONE_SIGN[:32] @ ONE_SIGN[:32] @ ONE_SIGN[:32], [32]),
    "the sum of such a product as a factor": (lambda x, y: (x @ ONE_SIGN).sum() * y, [64, 20]),
    "a stochastic matrix twice": (lambda x: x @ STOCHASTIC @ STOCHASTIC, [32]),
    "squares in such a matrix": (lambda x: (x * x) @ STOCHASTIC @ STOCHASTIC, [32]),
    "the mean of moving averages": (lambda x: np.convolve(x, np.ones(9) / 9, mode="valid").mean(), [200]),
    "the sum of running sums": (lambda x: np.cumsum(x).sum(), [100]),
    "a choice of signs": (lambda x: np.where(PLACES < 64, x, -x), [256]),
    "choices of multiples": (lambda x: np.where(PLACES < 50, 3 * x, np.where(PLACES < 150, 2 * x, x)), [256]),
    "a choice of two arrays": (lambda x, y: np.where(PLACES % 2 == 0, x, y), [256, 256]),
    "the sum of a choice": (lambda x: np.where(PLACES < 128, 1 - x * x, x).sum(), [256]),
    "the fifth power of a slice": (lambda x: x[:100] ** 5, [256]),
    "the fifth power of turned numbers": (lambda x: rolled(x, 3) ** 5, [256]),
    "the fifth power of a product": (lambda x, y: (x * y) ** 5, [256, 256]),
    "the fourth power of sums": (lambda x: (x @ ONE_SIGN[:32] * 0.2) ** 4, [32]),
    "the sum of a part of what adds up to zero": (lambda x: (x @ CENTRED)[:16].sum(), [64]),
    "the sum of such numbers, half of them zeros": (lambda x: ((x @ CENTRED) * (np.arange(64) < 32)).sum(), [64]),
    "a choice of the signs of such numbers": (lambda x: np.where(np.arange(64) % 2, x @ CENTRED, -(x @ CENTRED)).sum(), [64]),
    "a slice of a cubic": (lambda x: (1.5 * x - 0.5 * x**3)[:20], [256]),
    "a cubic in a matrix": (lambda x: (0.5 + 0.9 * x - 0.4 * x**3) @ ONE_SIGN, [64]),
    "a masked polynomial": (lambda x: (8 * x**4 - 8 * x**2 + 1) * (PLACES % 2), [256]),
    "a turned polynomial": (lambda x: rolled(8 * x**4 - 8 * x**2 + 1, 5), [256]),
    "a polynomial and another array": (lambda x, y: 8 * x**4 - 8 * x**2 + y, [256, 256]),
    "a cubic of turned numbers twice": (lambda x: cubic(cubic(rolled(x, 3))), [256]),
    "a cubic of a difference": (lambda x, y: cubic(cubic((x - y) * 0.5)), [256, 256]),
    "differences from a mean times one number": (lambda x, y: ((x - x.mean()) * y[:1]).sum(), [256, 256]),
    "permutations": (lambda x: x @ np.eye(32)[SHUFFLED[0]] - x @ np.eye(32)[SHUFFLED[1]], [32]),
    "two polynomials": (lambda x: approximation(1)(x) - approximation(-1)(x), [256]),
    "two layers": (lambda x: layer(layer(x @ LAYER) @ LAYER) @ LAYER, [32]),
    "sums of pairs": (lambda *arrays: in_pairs(arrays), [100] * 64),
}


def cubic(x):
    return 1.5 * x - 0.5 * x**3


def layer(x):
    return 0.1 + 0.5 * x + 0.25 * x**2


def in_pairs(arrays):
    return arrays[0] if len(arrays) == 1 else in_pairs(arrays[: len(arrays) // 2]) + in_pairs(arrays[len(arrays) // 2 :])


@pytest.mark.parametrize("name", DEPENDENT)
def test_typical_errors_are_those_of_errors_that_depend_on_each_other(deep, name):
    params, key = deep
    f, lengths = DEPENDENT[name]
    found = cl.trace(f, *((length,) for length in lengths), params=params, bound=1.0, encoding="slots")
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(3)
    # What few numbers come out of varies more from run to run, and all of a result's errors may be of one size.
    runs = 2 if len(lengths) > 2 else 24 if found.result.size > 64 else 200
    errors = []
    for _ in range(runs):
        arrays = [rng.uniform(-1, 1, length) for length in lengths]
        result = f(*(public.encrypt(x, bound=1.0, encoding="slots").with_keys(keys) for x in arrays))
        errors.append(np.ravel(key.decrypt(result) - f(*arrays)))
    assert found.result.error_rms / 2 < np.sqrt(np.mean(np.square(errors))) < 2 * found.result.error_rms
    assert np.abs(errors).max() <= found.result.error_bound


# Differences of arrays that are as large as each other.
ALIKE_BUT_OTHERS = {
    "one mask and the other": lambda x: x * (PLACES % 2) - x * (1 - PLACES % 2),
    "sums under two masks": lambda x: (x * (PLACES < 128)).sum() - (x * (PLACES >= 128)).sum(),
    "filters that are mirrored": lambda x: np.convolve(x, [1, 2, 3], mode="valid") - np.convolve(x, [3, 2, 1], mode="valid"),
}


@pytest.mark.parametrize("name", ALIKE_BUT_OTHERS)
def test_errors_of_different_arrays_do_not_seem_to_cancel(deep, name):
    params, key = deep
    f = ALIKE_BUT_OTHERS[name]
    found = cl.trace(f, (256,), params=params, bound=1.0, encoding="slots")
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(3)
    arrays = [rng.uniform(-1, 1, 256) for _ in range(40)]
    errors = [key.decrypt(f(public.encrypt(x, bound=1.0, encoding="slots").with_keys(keys))) - f(x) for x in arrays]
    assert np.sqrt(np.mean(np.square(errors))) < 2 * found.result.error_rms < 8 * np.sqrt(np.mean(np.square(errors)))


POLYNOMIALS = {
    "difference of powers": lambda x: x**4 - x**2,
    "cubic": lambda x: (x**3 - x) * 0.5,
    "fifth power": lambda x: x**5,
    "all powers": lambda x: x**3 + x**2 - x,
    "logistic": lambda x: 3.5 * x * (1 - x),
    "difference of squares": lambda x: (1 - x) * (1 + x),
    "Horner": lambda x: ((2 * x + 1) * x - 1) * x,
    "Chebyshev": lambda x: 16 * x**5 - 20 * x**3 + 5 * x,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_written_by_hand_have_the_errors_that_are_stated(deep, name):
    """The error of `x**3 - x` is `3 x**2 - 1` times that of `x`: powers of one array make each other's errors smaller or larger."""
    params, key = deep
    f, shape = POLYNOMIALS[name], (400,)
    keys, public = key.evaluation_keys(cl.trace(f, shape, params=params, bound=2.0).needs), key.public_key()
    for bound in (1.0, 2.0):
        found = cl.trace(f, shape, params=params, bound=bound)

        def errors(*arrays, bound=bound):
            return np.stack([key.decrypt(f(public.encrypt(x, bound=bound).with_keys(keys))) - f(x) for x in arrays])

        rng = np.random.default_rng(7)
        typical = errors(*(rng.uniform(-bound, bound, shape) for _ in range(4)))
        assert 0.7 < np.sqrt(np.mean(typical**2)) / found.result.error_rms < 1.4
        # Which numbers are the worst depends on the polynomial.
        alike = errors(*(np.full(shape, value) for value in np.linspace(-bound, bound, 9)))
        assert max(np.abs(typical).max(), np.abs(alike).max()) <= found.result.error_bound
        assert found.result.error_bound <= 30 * np.sqrt(np.mean(alike**2, axis=1)).max()


def test_polynomials_of_complex_numbers_have_errors_under_their_bound(deep):
    """The error of `16 x**5 - 20 x**3 + 5 x` is 145 times that of `x` at 1j, and 25 times at most on the real line."""
    params, key = deep
    x, f = np.full(400, 1j), POLYNOMIALS["Chebyshev"]
    found = cl.trace(f, x.shape, params=params, bound=1.0, is_complex=True)
    keys = key.evaluation_keys(found.needs)
    result = f(key.public_key().encrypt(x, bound=1.0).with_keys(keys))
    errors = np.abs(key.decrypt(result) - f(x))
    assert result.error_bound == pytest.approx(found.result.error_bound)
    assert 0.03 * result.error_bound < np.sqrt(np.mean(errors**2))
    assert errors.max() <= result.error_bound


def test_jobs_of_the_usual_presets_do_not_get_bootstraps():
    choice = cl.Params.for_circuit(lambda x: ((x - x.mean()) ** 2).mean() + 0.5, (1000,), error=1e-6)
    assert not choice.params.name.startswith("boot")


BOUNDED = {
    "a number": (lambda x: x * 0.001, None),
    "a quotient": (lambda x: x / 3, None),
    "a mean": (lambda x: x.mean(), None),
    "lower levels": (lambda x: x.drop_to_level(1), lambda v: v),
    "running sums": (np.cumsum, None),
    "a slice": (lambda x: x[1:2], None),
    "a product and a sum": (lambda x: x * 1.7 - 0.3, None),
}


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize(("shape", "bound"), [((2,), 1e5), ((3,), 1e6), ((40,), 4e15), ((300,), 10.0)])
def test_errors_of_plain_factors_are_within_the_bound_for_rows_of_any_length(name, shape, bound, rng):
    """Numbers repeat in the slots of a polynomial, and what is wrong with a factor is wrong in all of them."""
    function, plain = BOUNDED[name]
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    options = {"encoding": "slots", "level": 3, "bound": bound}
    found = cl.trace(function, shape, params=params, **options)
    keys = key.evaluation_keys(found.needs)
    errors = []
    for _ in range(6):
        numbers = rng.choice([-bound, bound], shape)
        result = function(key.encrypt(numbers, **options).with_keys(keys))
        exact = (plain or function)(numbers)
        assert np.abs(key.decrypt(result) - exact).max() <= result.error_bound
        assert result.error_bound <= found.result.error_bound
        errors.append(np.ravel(key.decrypt(result) - exact))
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 6 * result.error_rms


HALVES = np.where(np.arange(512) < 256, 1.0, -1.0)
SHARES = np.array([0.1, 0.2, 0.3, 0.7])
# Errors that add up, and do not cancel: of equal numbers, of numbers times equal factors, of what is there several times.
ADDING_UP = {
    "variances of two halves": (lambda x: x.var(axis=1), [np.stack([HALVES, HALVES])], 1.0),
    "the variance of small multiples": (lambda x: (x * 1e-6).var(), [np.array([1e6, -1e6, 1e6])], 1e6),
    "variances of joined multiples": (
        lambda x, y: np.vstack([x * 1000.1, y * 1000.1]).var(axis=1),
        [np.resize([1e-3, -1e-3], 4)] * 2,
        1e-3,
    ),
    "variances of joined sums": (lambda x, y: np.vstack([x.sum(axis=0), y.sum(axis=0)]).var(axis=0), [EVEN[:50], EVEN[50:100]], 1.0),
    "the variance of multiples by a sum": (lambda x: (x * x.sum()).var(), [EVEN[:, 0]], 1.0),
    "one row many times": (lambda x: x[[0] * 1000].sum(axis=0), [np.ones((3, 4))], 1.0),
    "equal weights": (lambda x: np.full((1, 1000), 0.1) @ x, [np.full((1000, 2), 1e6)], 1e6),
    "equal weights of a row": (lambda x: x @ np.full(500, 0.1), [np.full(500, 1e6)], 1e6),
    "equal factors": (lambda x: (x * SHARES).sum(axis=0), [np.full((1000, 4), 1e6)], 1e6),
    "equal terms": (lambda x: (x + SHARES).sum(axis=0), [np.full((1000, 4), 0.1)], 1.0),
    "equal rows": (lambda x: x.sum(axis=0), [np.full((10_000, 4), 0.1)], 1.0),
    "sums of parts": (lambda x: sum(x[:rows].sum(axis=0) for rows in range(1, 65)), [EVEN[:64]], 1.0),
    "multiples of a product": (lambda x: sum((rows * WEIGHTS) @ x for rows in range(1, 33)), [EVEN[:6]], 1.0),
    "running sums": (lambda x: np.cumsum(x, axis=0).sum(axis=0), [EVEN[:64]], 1.0),
    "rows one by one": (lambda x: sum(x[row] for row in range(64)), [EVEN[:64]], 1.0),
    "differences of multiples": (lambda x: 3 * x - 2 * x, [EVEN[:, 0]], 1.0),
    "sums of squares": (lambda x: ((x * x) * 1e-3).sum(), [1e6 * EVEN[:, 0]], 1e6),
    "an eighth power": (lambda x: x * x * x * x, [EVEN[:, 0]], 1.0),
}
# Those that are not spread evenly, whose errors are not typical; and sums of sums, of which the dependence is not known but bounded.
NOT_TYPICAL = {
    name for name in ADDING_UP if name.startswith(("variances", "the variance", "equal", "running sums", "sums of parts", "multiples of"))
}


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("name", ADDING_UP)
def test_errors_that_add_up_are_within_the_bound(name, encoding):
    f, arrays, bound = ADDING_UP[name]
    if (name, encoding) == ("the variance of multiples by a sum", "coefficients"):
        pytest.skip("single numbers in coefficients do not multiply arrays")
    params = cl.Params.preset("insecure_deep" if encoding == "coefficients" else "insecure_small")
    key = cl.SecretKey.generate(params)
    options = {"encoding": encoding, "bound": bound}
    found = cl.trace(f, *(array.shape for array in arrays), params=params, **options)
    keys = key.evaluation_keys(found.needs)
    # So many that a root mean square of single numbers is known well enough.
    runs = 3 if name in NOT_TYPICAL else 16
    results = [f(*(key.encrypt(array, **options).with_keys(keys) for array in arrays)) for _ in range(runs)]
    errors = np.stack([key.decrypt(result) for result in results]) - f(*arrays)
    assert np.abs(errors).max() <= min(result.error_bound for result in results)
    # Under the secret key errors are smaller, and nearer to normal.
    assert max(result.error_bound for result in results) <= 1.001 * found.result.error_bound
    assert name in NOT_TYPICAL or 1 / 3 < np.sqrt(np.mean(errors**2)) / results[0].error_rms < 2


def test_a_mask_does_not_hide_the_error_of_a_mean():
    """What all numbers have alike is no error of a variance, unless some of them are multiplied by zero."""
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    mask = np.repeat([1.0, 0.0], 200)

    def f(x, y):
        total = (1000 * x).sum()
        return ((y + (total.with_bound(1.0) if isinstance(total, cl.Ciphertext) else total)) * mask).var()

    arrays = np.full(400, 1 / 400_000), np.ones(400)
    keys = key.keys_for(f, (400,), (400,), encoding="slots", bound=1.0)
    for _ in range(5):
        result = f(*(key.public_key().encrypt(array, encoding="slots", bound=1.0).with_keys(keys) for array in arrays))
        assert abs(key.decrypt(result) - f(*arrays)) <= result.error_bound


@pytest.mark.parametrize("shape", [(7, 61), (7, 64), (8, 33), (3, 120)])
def test_sums_of_means_in_lanes_are_within_the_bound(shape):
    """What a mask leaves of sums is nearly the same in all places of a row."""
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    options = {"encoding": "slots", "lanes": "most", "bound": 1.0}

    def centred(x):
        return (x - x.mean(axis=1, keepdims=True)).sum(axis=1, keepdims=True)

    def product(x):
        return (x * x.mean(axis=1, keepdims=True)).sum(axis=1)

    def total(x):
        return x.sum()

    for f in (centred, product, total):
        keys = key.keys_for(f, shape, **options)
        for data in (np.ones(shape), np.random.default_rng(3).uniform(-1, 1, shape)):
            result = f(key.encrypt(data, **options).with_keys(keys))
            assert np.abs(key.decrypt(result) - f(data)).max() <= result.error_bound


def test_arrays_that_share_a_factor_share_its_rounding():
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    for encoding in ("slots", "coefficients"):
        options = {"encoding": encoding, "bound": 1e4}
        result = sum(key.encrypt(np.full(4, 1e4), **options) * 0.1 for _ in range(200))
        assert np.abs(key.decrypt(result) - 200 * (1e4 * 0.1)).max() <= result.error_bound


def test_whole_matrices_have_no_rounding(rng):
    params = cl.Params.preset("insecure_small")
    for options in ({"encoding": "coefficients"}, {"encoding": "slots"}):
        for function in (lambda x: np.ones((2, 5), int) @ x, lambda x: np.cumsum(x, axis=0)):
            found = cl.trace(function, (5, 8), params=params, bound=1.0, **options)
            assert found.result.error_rms < 1e-9
    assert cl.Params.for_circuit(lambda x: np.cumsum(x, axis=0), (5, 8), error=1e-3, bound=1.0).trace.result.error_bound < 1e-3


def test_slices_and_joins_of_slots_count_what_masks_leave(rng):
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    options = {"encoding": "slots", "bound": 100.0}
    slices = lambda x: x[7:8]  # noqa: E731
    keys = key.keys_for(slices, (200,), **options) | key.keys_for(lambda *parts: cl.hstack(parts), *[(16,)] * 12, **options)
    for _ in range(20):
        numbers = rng.choice([-100.0, 100.0], (12, 16))
        x = key.encrypt(rng.choice([-100.0, 100.0], 200), **options).with_keys(keys)
        parts = cl.hstack([key.encrypt(row, **options).with_keys(keys) for row in numbers])
        for result, exact in ((slices(x), key.decrypt(x).round()[7:8]), (parts, numbers.ravel())):
            assert np.abs(key.decrypt(result) - exact).max() <= result.error_bound


def test_polynomials_of_complex_numbers_keep_a_bound(rng):
    """Without one a bootstrap behind them would take any number for one of magnitude 1."""
    params = cl.Params.preset("insecure_boot")
    key = cl.SecretKey.generate(params)
    poly = cl.Polynomial([0.1, 0.5, 0.0, 0.25])
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
        found = cl.trace(bootstrapped, (8,), params=params, is_complex=True, bound=100.0)
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
    found = cl.trace(lambda x: x.bootstrap(), (8,), params=params, bound=bound)
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
        (lambda x: cl.Polynomial([0.1, 0.5, 0.0, 0.25])(x) * 0.5, (8,), 2.0),
    ]:
        found = cl.trace(function, shape, params=params, bound=bound)
        x = key.encrypt(rng.uniform(-bound, bound, shape), bound=bound)
        x = x.with_keys(key.evaluation_keys(found.needs), bootstrap_below=found.bootstrap_below)
        assert function(x).level == found.result.level
