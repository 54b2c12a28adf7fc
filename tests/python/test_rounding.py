"""Arrays whose scaled coefficients lie at one place between two integers: rounding to the nearest would err in one direction everywhere."""

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner():
    params = cl.Params.preset("n13")
    return params, cl.SecretKey.generate(params)


def slots_of(coefficients):
    """The slots of the polynomial with these coefficients: slot j is its value at zeta^(5^j), zeta = exp(i pi / n)."""
    degree = len(coefficients)
    half = degree // 2
    twisted = (coefficients[:half] + 1j * coefficients[half:]) * np.exp(1j * np.pi * np.arange(half) / degree)
    values = np.fft.ifft(twisted) * half
    exponents = [pow(5, j, 2 * degree) for j in range(half)]
    return values[(np.array(exponents) - 1) // 4]


def meeting(degree, fraction, slot=0):
    """Slots of coefficients of this magnitude, with the signs that add up in one slot."""
    angles = np.pi * np.arange(degree) * pow(5, slot, 2 * degree) / degree
    return slots_of(np.where(np.cos(angles) >= 0, fraction, -fraction))


def spike(count, share, slot=0):
    """Zeros and one number, whose coefficients are below 1/2."""
    numbers = np.zeros(count)
    numbers[slot] = share * count / 2
    return numbers


def arrays(degree):
    return {
        "one number": spike(degree // 2, 0.98),
        "one number elsewhere": -spike(degree // 2, 0.98, 1234),
        "a smaller one": spike(degree // 2, 0.5),
        "an imaginary one": 1j * spike(degree // 2, 0.98),
        "signs of a slot": meeting(degree, 0.49),
        "signs of another slot": meeting(degree, 0.49, 77),
        "large numbers with signs of a slot": 1e3 * slots_of(np.arange(degree) % 7 - 3.0) + meeting(degree, 0.49),
    }


NAMES = list(arrays(8192))


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_encryption_are_within_their_bounds(owner, name):
    params, key = owner
    numbers = arrays(params.degree)[name]
    scale = key.encrypt(numbers).scale
    encrypted = key.encrypt(numbers / scale, bound=1.0)
    error = np.abs(key.decrypt(encrypted) - numbers / scale)
    assert error.max() < encrypted.error_bound
    # Rounded to the nearest, nothing would be left of the numbers that are too small for the scale.
    if name.startswith("signs"):
        assert np.abs(numbers).max() / scale > encrypted.error_bound
    # On average over encryptions, the numbers come back.
    found = np.mean([key.decrypt(key.encrypt(numbers / scale, bound=1.0)) for _ in range(16)], axis=0)
    assert np.abs(found - numbers / scale).max() < encrypted.error_bound / 3


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_plain_arrays_are_within_their_bounds(owner, name):
    params, key = owner
    numbers = arrays(params.degree)[name]
    count = numbers.size
    zeros = key.encrypt(np.zeros(count), bound=1.0)
    plain = numbers / zeros.scale
    once, often, others, total = zeros + plain, zeros, zeros, 0
    for i in range(40):
        often = often + plain
        others = others + plain * (1 - i / 1000)
        total = total + plain * (1 - i / 1000)
    for found, want in ((once, plain), (often, 40 * plain), (others, total)):
        error = key.decrypt(found) - want
        assert np.abs(error).max() < found.error_bound
        assert found.error_rms / 2 < np.sqrt(np.mean(np.abs(error) ** 2)) < 2 * found.error_rms


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_factors_are_within_their_bounds(owner, name):
    params, key = owner
    numbers = arrays(params.degree)[name]
    # So large that the error of the factor is larger than that of the encryption.
    x = key.encrypt(np.full(numbers.size, 1e4), bound=1e4)
    factor = 1.0 + numbers * x.scale / (x * np.ones(numbers.size)).scale
    product = x * factor
    error = np.abs(key.decrypt(product) - 1e4 * factor)
    assert error.max() < product.error_bound


def test_equal_numbers_in_coefficients_have_different_errors(owner):
    _params, key = owner
    for number in (0.3, 0.5 + 0.25 * 2.0**-40, 0.1):
        encrypted = key.encrypt(np.full(4096, number), bound=1.0, encoding="coefficients")
        total = encrypted.with_keys(key.keys_for(lambda x: x.sum(), (4096,), bound=1.0, encoding="coefficients")).sum()
        assert abs(key.decrypt(total) - 4096 * number) < total.error_bound


def test_equal_arrays_are_encoded_alike_whoever_encodes_them(owner, rng):
    _params, key = owner
    x = key.encrypt(rng.uniform(-1, 1, 300), bound=1.0)
    weights = rng.uniform(-1, 1, 300)
    assert (x * weights).same_as(x * weights.copy())
    assert (x + weights).same_as(x + weights.copy())
    # Zeros of either sign are one number.
    zeros = np.where(np.arange(300) % 2, 0.0, weights)
    assert (x * zeros).same_as(x * np.where(zeros == 0, -0.0, zeros))


def test_bodies_of_a_mask_are_multiplied_by_one_factor(owner, rng):
    _params, key = owner
    table = key.encrypt(rng.uniform(-1, 1, (2, 300)), bound=1.0, encoding="slots", bodies=2)
    for weights in (rng.uniform(-1, 1, 300), rng.uniform(-1, 1, 300) + 1j * rng.uniform(-1, 1, 300)):
        product = table * np.tile(weights, (2, 1))
        assert np.abs(key.decrypt(product) - key.decrypt(table) * weights).max() < 1e-6


def test_arrays_that_agree_in_a_polynomial_have_different_errors(owner):
    """Their errors are added in squares, so they must not be equal where the arrays are."""
    params, key = owner
    terms = 60
    count = params.degree // 2
    u = np.random.default_rng(5).uniform(-1, 1, count)
    x = key.encrypt(np.zeros(count + 1), bound=1.0)
    table = key.encrypt(np.zeros((2, count)), bound=1.0, encoding="slots")
    longer = [np.append(u, i / 100) for i in range(terms)]
    rows = [np.stack([u, np.roll(u, i)]) for i in range(terms)]
    for start, arrays_of in ((x, longer), (table, rows)):
        total = start - start
        for array in arrays_of:
            total = total + array
        error = key.decrypt(total) - sum(arrays_of)
        assert np.abs(error).max() < total.error_bound
        assert total.error_rms / 2 < np.sqrt(np.mean(error**2)) < 2 * total.error_rms


REPEATED = {
    "one number": lambda n: ((n,), np.full(n, 0.3), {}),
    "one number, of both parts": lambda n: ((n,), np.full(n, 0.3 - 0.2j), {}),
    "signs in turn": lambda n: ((n,), np.where(np.arange(n) % 2, 0.3, -0.7), {}),
    "rows of lanes": lambda n: ((n // 32, 32), np.random.default_rng(1).uniform(-1, 1, 32), {"lanes": "most"}),
    "equal rows": lambda n: ((64, 16), np.random.default_rng(1).uniform(-1, 1, 16), {}),
    "many polynomials of lanes": lambda n: ((n // 4, 16), np.random.default_rng(1).uniform(-1, 1, 16), {"lanes": "most"}),
}


@pytest.mark.parametrize("name", REPEATED)
def test_errors_of_plain_numbers_that_repeat_are_as_stated(owner, name, rng):
    """The polynomials of such arrays have few coefficients, and the errors of their slots repeat."""
    params, key = owner
    shape, plain, options = REPEATED[name](params.degree // 2)
    large = rng.uniform(-1e6, 1e6, shape)
    x = key.encrypt(large, bound=1e6, encoding="slots", **options)
    found = {"product": [], "sum": [], "sum of rows": []}
    for i in range(8):
        factor = plain * (1 + i / 100)
        full = np.broadcast_to(factor, shape)
        product = x * factor
        zeros = x - x
        total = zeros + factor
        found["product"].append((product, large * full))
        found["sum"].append((total, full))
        if len(shape) == 2:
            keys = key.keys_for(lambda v: v.sum(axis=0), shape, bound=1e6, encoding="slots", **options)
            found["sum of rows"].append((total.with_keys(keys).sum(axis=0), full.sum(axis=0)))
    for kind, results in found.items():
        errors = [np.abs(key.decrypt(result) - want) for result, want in results]
        assert all(error.max() < result.error_bound for error, (result, _) in zip(errors, results, strict=True)), kind
        if results:
            measured = np.sqrt(np.mean([np.mean(error**2) for error in errors]))
            stated = results[0][0].error_rms
            # Rotations of nothing have no noise.
            assert (kind == "sum of rows" and "lanes" in options) or stated / 2 < measured, kind
            assert measured < 2 * stated, kind


def test_maps_of_many_arrays_have_one_rounding():
    """The rounding of diagonals is the same for all arrays that a map is applied to, and adds to itself."""
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    rng = np.random.default_rng(11)
    worst = 0.0
    for _ in range(10):
        weights = rng.uniform(-1, 1, (2, 2))
        numbers = 1e6 * rng.choice([-1.0, 1.0], 2)
        transform = cl.plans.LinearTransform(weights)
        keys = key.keys_for(lambda x, transform=transform: transform(x), (2,), bound=1e6, encoding="slots")
        total = None
        for _ in range(30):
            mapped = transform(key.encrypt(numbers, bound=1e6, encoding="slots").with_keys(keys))
            total = mapped if total is None else total + mapped
        worst = max(worst, np.abs(key.decrypt(total) - 30 * weights @ numbers).max() / total.error_bound)
    assert worst < 1


def test_factors_that_are_rounded_alike_add_up(owner):
    _params, key = owner
    x = key.encrypt(np.full(4, 1e5), bound=1e5)
    scale = (x * np.ones(4)).scale / x.scale
    total, want = None, 0.0
    for i in range(200):
        factor = (np.floor(scale * (0.5 + i / 1000)) + 0.49) / scale
        term = x * factor
        total, want = (term, 1e5 * factor) if total is None else (total + term, want + 1e5 * factor)
    assert np.abs(key.decrypt(total) - want).max() < total.error_bound
