"""Arrays in coefficients that become arrays in slots, and back, by themselves or on request."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import Party, check, largest_rms, numbers, party

import clathrate as cl

SQUARE = numbers(5, 4, seed=12)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * x,
        lambda x: x**3 - x,
        lambda x: x * x + x.sum() if isinstance(x, np.ndarray) else x * x + x.to_slots().sum(),
        lambda x: (SQUARE.T @ x) * (SQUARE.T @ x + 1.0),
        lambda x: x.var(axis=0),
        lambda x: x.var(axis=1),
    ],
)
@pytest.mark.parametrize("shape", [(5, 3), (5, 700), (5, 1024), (5, 1500)])
def test_products_convert_coefficients_by_themselves(deep: Party, function, shape) -> None:
    check(deep, function, numbers(*shape), encoding="coefficients", tolerance=1e-4)


def test_conversions_between_slots_and_coefficients(deep: Party) -> None:
    def there_and_back(x):
        return (x.to_coefficients() + 0.25).to_slots() if isinstance(x, cl.Ciphertext) else x + 0.25

    for data in (numbers(5), numbers(512), numbers(700), numbers(3, 20), numbers(5) + 1j * numbers(5, seed=2), numbers(1)):
        y = check(deep, there_and_back, data, encoding="slots", tolerance=1e-4)
        assert (y.encoding, y.layout.order, y.is_complex) == ("slots", "natural", np.iscomplexobj(data))
    weights = numbers(4, 3, seed=9)
    product = check(
        deep, lambda x: weights @ (x.to_coefficients() if isinstance(x, cl.Ciphertext) else x), numbers(3, 600), encoding="slots"
    )
    assert product.layout.order == "bit-reversed"
    x = deep.key.encrypt(numbers(5), encoding="coefficients")
    assert x.to_coefficients().layout == x.layout
    found = cl.plans.trace(lambda x: x.to_slots(), (5, 1024), params=deep.params, encoding="coefficients", bound=1.0)
    data = np.sign(numbers(5, 1024))
    keys = deep.key.evaluation_keys(found.needs)
    results = [deep.key.public_key().encrypt(data, encoding="coefficients").with_keys(keys).to_slots() for _ in range(12)]
    errors = np.stack([deep.key.decrypt(result) for result in results]) - data
    assert np.abs(errors).max() <= found.result.error_bound < 30 * largest_rms(errors)
    assert found.result.bound == 1.0
    with pytest.raises(cl.errors.MissingKeyError):
        x.to_slots()
    for call, error in (
        (lambda: x.to_slots(levels=0), cl.errors.DataError),
        (lambda: x.to_slots(levels=-1), cl.errors.DataError),
        (lambda: x.to_slots(levels=99), cl.errors.DataError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", level=1).to_slots(levels=2), cl.errors.LevelError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", level=0).to_slots(), cl.errors.LevelError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="coefficients", lanes=4).to_slots(), cl.errors.ShapeError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="slots", lanes=4).to_coefficients(), cl.errors.ShapeError),
        (lambda: deep.key.encrypt(numbers(4, 5), encoding="slots", bodies=2).to_coefficients(), cl.errors.ShapeError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients", order="bit-reversed").to_slots(), cl.errors.ShapeError),
        (lambda: deep.key.encrypt(numbers(5), encoding="coefficients").to_lwe().to_slots(), cl.errors.ShapeError),
    ):
        with pytest.raises(error):
            call()


@pytest.fixture(scope="module")
def deep() -> Party:
    return party("insecure_deep")
