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
    table = key.encrypt(rng.uniform(-1, 1, (3, 300)), bound=1.0, encoding="slots")
    # Equal rows become equal polynomials.
    rows = [(table * np.tile(weights, (3, 1)))[i] for i in range(3)]
    for i, row in enumerate(rows):
        assert row.same_as(table[i] * weights)
