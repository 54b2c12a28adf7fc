"""Errors that depend on each other, so that they add up: under one key, of one factor, in the lanes of one polynomial."""

import numpy as np
import pytest
from programs import EVEN, LANES, PLACES, SLOTS, STOCHASTIC, WEIGHTS, approximation, rolled, squares

import clathrate as cl


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


ONE_SIGN = np.abs(np.random.default_rng(0).normal(size=(64, 32))) / 8
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
    found = cl.plans.trace(f, *(cl.Input(x.shape, bound=bound, **options) for x, bound, options in arrays), params=params)
    errors, clear = [], f(*(x for x, _, _ in arrays))
    # The errors of products are far from normal, so few numbers need many runs for a root mean square that is known within a fifth.
    runs = 5 if found.result.size >= 32 else 40
    for key in (cl.SecretKey.generate(params) for _ in range(3)):
        keys = key.evaluation_keys(found.needs)
        for _ in range(runs):
            result = f(*(key.encrypt(x, bound=bound, **options).with_keys(keys) for x, bound, options in arrays))
            errors.append(np.ravel(key.decrypt(result) - clear))
            assert result.error_bound <= found.result.error_bound * 1.0001
    # A bound has seven deviations of normal errors, and twenty of products.
    assert found.result.error_bound > (6 if name.startswith("one row") else 15) * np.sqrt(np.mean(np.square(errors)))


@pytest.mark.parametrize("scale", [1.0, 0.001])
def test_plain_sums_leave_the_noise_of_rotations_as_it_is(deep, scale):
    """Adding plain numbers changes no mask, so the noise of switches is the same, and adds up."""
    params, key = deep

    def f(x):
        return sum(rolled(x * scale + count, 1) for count in range(40))

    found = cl.plans.trace(f, (256,), params=params, bound=1.0)
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(2)
    arrays = [rng.uniform(-1, 1, 256) for _ in range(8)]
    errors = np.stack([key.decrypt(f(public.encrypt(x, bound=1.0).with_keys(keys))) - f(x) for x in arrays])
    assert found.result.error_rms / 2 < np.sqrt(np.mean(errors**2)) < 2 * found.result.error_rms
    assert np.abs(errors).max() <= found.result.error_bound


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
    found = cl.plans.trace(f, *((length,) for length in lengths), params=params, bound=1.0, encoding="slots")
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
    "one row in many places": (lambda x: x[np.tile(np.arange(4), (60, 128))].sum(axis=0), [EVEN[0]], 1.0),
    "an eighth power": (lambda x: x * x * x * x, [EVEN[:, 0]], 1.0),
}
# Those that are not spread evenly, whose errors are not typical; and sums of sums, of which the dependence is not known but bounded.
NOT_TYPICAL = {
    name
    for name in ADDING_UP
    if name.startswith(("variances", "the variance", "equal", "running sums", "sums of parts", "multiples of", "one row in"))
}


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("name", ADDING_UP)
def test_errors_that_add_up_are_within_the_bound(name, encoding):
    f, arrays, bound = ADDING_UP[name]
    if encoding == "coefficients" and name in ("the variance of multiples by a sum", "one row in many places"):
        pytest.skip("single numbers in coefficients do not multiply arrays, and numbers stay in their order")
    params = cl.Params.preset("insecure_deep" if encoding == "coefficients" else "insecure_small")
    key = cl.SecretKey.generate(params)
    options = {"encoding": encoding, "bound": bound}
    found = cl.plans.trace(f, *(array.shape for array in arrays), params=params, **options)
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
