"""Errors that seem to cancel and do not: of other numbers, of places without a number, of arrays that are as large as each other."""

import numpy as np
import pytest
from programs import COEFFICIENTS, EVEN, LANES, PLACES, SLOTS, STOCHASTIC, approximation, below, rolled, squares

import clathrate as cl


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


EVERY_SECOND = np.resize([1.0, 0.0], 256)


def rows_of(x):
    """The transpose, as rows that others are added to."""
    return x.T if isinstance(x, np.ndarray) else x.T.to_rows()


# Differences in which errors seem to cancel and do not: the errors of other numbers, of places without a number, or of what is no
# constant. Each with the arrays' shapes and bounds.
DIFFERING = [np.random.default_rng(7).uniform(-1, 1, 256) - constant for constant in np.linspace(-1, 1, 100)]


def there_and_back(x):
    return rolled(rolled(x, 1), -1)


def converted(x):
    return x.to_coefficients().to_slots() if isinstance(x, cl.Ciphertext) else x


def differences_of_turned(x, count=4):
    return x - rolled(x, count)


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
def test_errors_that_seem_to_cancel_are_below_their_bounds(deep, name, full):
    params, key = deep
    f, arrays, options = SEEMING[name]
    found = cl.plans.trace(f, *(cl.Input(shape, bound=abs(bound), **options) for shape, bound in arrays), params=params)
    keys, rng = key.evaluation_keys(found.needs), np.random.default_rng(3)
    for encrypted in (key, key.public_key()):
        for of in (lambda shape, bound: rng.uniform(min(bound, 0), abs(bound) if bound > 0 else 0, shape), np.full, one_alone):
            for _ in range(4 if full else 2):
                clear = [of(shape, bound) for shape, bound in arrays]
                result = f(
                    *(
                        encrypted.encrypt(x, bound=abs(bound), **options).with_keys(keys)
                        for x, (_, bound) in zip(clear, arrays, strict=True)
                    )
                )
                errors = key.decrypt(result) - f(*clear)
                assert np.abs(errors).max() <= result.error_bound <= found.result.error_bound * 1.0001


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
    found = cl.plans.trace(f, x.shape, params=params, bound=1.0, encoding="slots")
    result = f(key.encrypt(x, bound=1.0, encoding="slots").with_keys(key.evaluation_keys(found.needs)))
    assert np.abs(key.decrypt(result)).max() <= result.bound * 1.0001
    assert np.abs(key.decrypt(result) - f(x)).max() <= result.error_bound


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
def test_products_of_encrypted_matrices_have_their_own_numbers_and_errors(deep, name, full):
    params, key = deep
    f, arrays, options, bound = PRODUCTS[name]
    found = cl.plans.trace(f, *(x.shape for x in arrays), params=params, bound=bound, **options)
    assert np.abs(f(*arrays)).max() <= found.result.bound * (1 + 1e-9)
    keys = key.evaluation_keys(found.needs)
    errors = []
    for _ in range(8 if full else 3):
        public = key.public_key()
        result = f(*(public.encrypt(x, bound=bound, **options).with_keys(keys) for x in arrays))
        errors.append(key.decrypt(result) - f(*arrays))
        assert result.error_bound <= found.result.error_bound * 1.0001
    assert found.result.error_bound > 6 * np.sqrt(np.mean(np.square(errors)))


def converted_to_coefficients(x):
    return x.to_coefficients() if isinstance(x, cl.Ciphertext) else x


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
    found = cl.plans.trace(f, (256,), params=params, bound=1.0, encoding="slots")
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(3)
    arrays = [rng.uniform(-1, 1, 256) for _ in range(40)]
    errors = [key.decrypt(f(public.encrypt(x, bound=1.0, encoding="slots").with_keys(keys))) - f(x) for x in arrays]
    assert np.sqrt(np.mean(np.square(errors))) < 2 * found.result.error_rms < 8 * np.sqrt(np.mean(np.square(errors)))


# Numbers whose means differ from place to place, by plain arrays, joins and zeros.
STEPS = 100.0 * (np.arange(17) % 2)
APART = {
    "variance of what has steps": lambda x: (x + STEPS).var(),
    "squares of what has steps": lambda x: ((x + STEPS) - (x + STEPS).mean()) ** 2,
    "variance of what is padded": lambda x: np.pad(x + 100, 5).var(),
    "differences of steps": lambda x: np.diff(x + STEPS) ** 2,
    "covariance of rows far apart": lambda x: np.cov(np.stack([x, 1e4 - x]), rowvar=False),
    "variance of what is joined": lambda x: np.concatenate([x, x + 100, x]).var(),
}


@pytest.mark.parametrize("name", APART)
def test_numbers_with_different_means_have_the_errors_that_are_stated(deep, name):
    params, owner = deep
    function = APART[name]
    keys = owner.keys_for(function, (17,), bound=1.0)
    squares_of_errors = []
    for seed in range(30):
        x = np.random.default_rng(seed).uniform(-1, 1, 17)
        y = function(owner.encrypt(x, bound=1.0).with_keys(keys))
        errors = owner.decrypt(y) - function(x)
        assert np.abs(errors).max() <= y.error_bound
        squares_of_errors.append(np.mean(errors**2))
    measured = np.sqrt(np.mean(squares_of_errors))
    assert 0.5 < measured / y.error_rms < 2
    assert params == owner.params
