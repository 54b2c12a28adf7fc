"""Large numbers beside small ones: the small ones keep the precision that is stated for them, wherever they lie, whatever is computed."""

from __future__ import annotations

import numpy as np
import pytest

import clathrate as cl

LARGE = [1.0, 1e3, 1e6, 1e10, 4.0e15, 1e20]
SPEC = {"degree": 1024, "steps": [[60, 60], [50], [50]], "special": [60, 60], "log2_scale": 50, "insecure": True}


@pytest.fixture(scope="module")
def params() -> cl.Params:
    return cl.Params(**SPEC)


@pytest.fixture(scope="module")
def key(params: cl.Params) -> cl.SecretKey:
    return cl.SecretKey.generate(params)


def stated(params: cl.Params, shape: tuple[int, ...], largest: float, **options: object) -> float:
    """What a dry run states for fresh numbers."""
    bound = cl.plans.trace(lambda x: x, shape, params=params, bound=largest, **options).result.error_bound
    assert bound is not None
    return bound


def table(rows: int, columns: int, largest: float) -> np.ndarray:
    """Random numbers in [-1, 1), those of the first of every three columns times `largest`."""
    numbers = np.random.default_rng(7).uniform(-1, 1, (rows, columns))
    numbers[:, ::3] *= largest
    return numbers


@pytest.mark.parametrize("largest", LARGE)
@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "slots"},
        {"encoding": "slots", "lanes": "most"},
        {"encoding": "coefficients"},
        {"encoding": "coefficients", "lanes": "most"},
    ],
)
def test_encrypted_tables(params: cl.Params, key: cl.SecretKey, options: dict[str, str], largest: float) -> None:
    numbers = table(9, 5, largest)
    bound = stated(params, numbers.shape, largest, encoding=options["encoding"])
    for owner in (key, key.public_key()):
        error = np.abs(key.decrypt(owner.encrypt(numbers, **options)) - numbers)
        assert error[:, 1:3].max() < 8 * bound
        assert error[:, 4].max() < 8 * bound
        # Large numbers, too, but for the last bit of a double.
        assert (error <= 8 * bound + np.spacing(np.abs(numbers))).all()


@pytest.mark.parametrize("largest", LARGE)
def test_complex_vectors(params: cl.Params, key: cl.SecretKey, largest: float) -> None:
    numbers = table(1, 60, largest)[0] + 1j * table(2, 60, largest)[1]
    bound = stated(params, numbers.shape, 2 * largest, encoding="slots")
    error = np.abs(key.decrypt(key.encrypt(numbers)) - numbers)
    assert error[1::3].max() < 12 * bound
    assert error[2::3].max() < 12 * bound


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e6, 4e11])
def test_plain_operands(params: cl.Params, key: cl.SecretKey, largest: float) -> None:
    operand = table(1, 60, largest)[0]
    x = np.random.default_rng(8).uniform(-1, 1, 60)
    bound = stated(params, x.shape, 1.0, encoding="slots")
    ct = key.encrypt(x).with_keys(key.evaluation_keys(cl.keys.Needs()))
    for found, exact, factor in ((ct + operand, x + operand, 1.0), (ct * operand, x * operand, 1.0 + np.abs(operand))):
        error = np.abs(key.decrypt(found) - exact)
        assert (error <= 16 * bound * factor + 2 * np.spacing(np.abs(exact))).all()


def test_one_large_number_of_a_preset() -> None:
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    numbers = np.array([[4.0e15, 0.5], [5.0e15, 0.25], [4.0e14, 0.75]])
    bound = stated(params, numbers.shape, 5e15, encoding="slots")
    for options in ({"encoding": "slots"}, {"encoding": "slots", "lanes": "most"}, {"encoding": "slots", "bound": 5e15}):
        found = key.decrypt(key.encrypt(numbers, **options))
        assert np.abs(found[:, 1] - numbers[:, 1]).max() < 8 * bound
        assert (found[:, 0] == numbers[:, 0]).all()
