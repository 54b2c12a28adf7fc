"""Products of plain matrices with rows in slots: of any form, with no more diagonals than the shorter side has numbers."""

import numpy as np
import pytest

import clathrate as cl

# Rows and columns; a polynomial of the parameters has 256 slots, so some rows take several.
SIZES = [
    (1, 1),
    (1, 60),
    (2, 3),
    (5, 5),
    (3, 2),
    (10, 60),
    (60, 10),
    (2, 256),
    (256, 2),
    (3, 1000),
    (1000, 3),
    (300, 10),
    (40, 1000),
    (1000, 300),
]
RNG = np.random.default_rng(5)
BAND = sum(np.diag(RNG.uniform(-1, 1, 200 - abs(shift)), shift) for shift in (-1, 0, 1))
FORMS = {
    **{f"{rows} x {columns}": RNG.uniform(-1, 1, (rows, columns)) / columns**0.5 for rows, columns in SIZES},
    "of few diagonals": BAND,
    "wide, of few diagonals": BAND[:20],
    "tall, of few diagonals": BAND[:, :20],
    "complex, wide": RNG.uniform(-1, 1, (6, 100)) + 1j * RNG.uniform(-1, 1, (6, 100)),
    "complex, tall": RNG.uniform(-1, 1, (100, 6)) + 1j * RNG.uniform(-1, 1, (100, 6)),
    "half of it zeros": RNG.uniform(-1, 1, (20, 600)) * (np.arange(600) < 300),
    "zeros": np.zeros((7, 30)),
}
AFTER = {"": lambda y: y, "summed": lambda y: y.sum(axis=-1), "again": lambda y: y @ AGAIN[y.shape[-1]]}
AGAIN = {matrix.shape[0]: RNG.uniform(-1, 1, (matrix.shape[0], 9)) / 30 for matrix in FORMS.values()}


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


@pytest.mark.parametrize("many", [False, True], ids=["a vector", "rows"])
@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("form", FORMS)
def test_products_are_numpys_within_their_errors(deep, form, after, many):
    params, key = deep
    matrix = FORMS[form]
    shape = (3, matrix.shape[1]) if many else (matrix.shape[1],)

    def f(x):
        return AFTER[after](x @ matrix.T)

    found = cl.plans.trace(f, cl.Input(shape, bound=1.0, encoding="slots"), params=params)
    keys, rng, errors = key.evaluation_keys(found.needs), np.random.default_rng(2), []
    for _ in range(4):
        data = rng.uniform(-1, 1, shape)
        result = f(key.public_key().encrypt(data, bound=1.0, encoding="slots").with_keys(keys))
        errors.append(np.ravel(np.abs(key.decrypt(result) - f(data))))
        assert errors[-1].max() <= result.error_bound <= 1.001 * found.result.error_bound
    assert result.shape == f(data).shape
    # Few numbers of one run are known badly. What a matrix and another one leave of one error is that of no typical matrix.
    ratio = np.sqrt(np.mean(np.square(errors))) / found.result.error_rms
    assert ratio < (4 if after else 2.5 if errors[0].size > 2 else 4)
    assert not matrix.any() or ratio > (1 / 16 if after else 0.25 if errors[0].size > 8 else 0.1)


# Rows, columns, the most diagonals, and the most rotations by other distances.
FEW = [(8192, 128, 256, 32), (2000, 384, 512, 64), (10, 300, 16, 16), (10, 65_536, 16 * 16, 24), (10, 64, 16, 12), (64, 16, 16, 12)]


@pytest.mark.parametrize(("rows", "columns", "diagonals", "rotations"), FEW)
def test_diagonals_are_no_more_than_the_shorter_side(rows, columns, diagonals, rotations):
    matrix = np.random.default_rng(1).uniform(-1, 1, (rows, columns)) / columns**0.5
    params = cl.Params.preset("n13")
    found = cl.plans.trace(lambda x: x @ matrix.T, cl.Input((columns,), bound=1.0, encoding="slots"), params=params)
    # Two products, of the mask and of the body, for each prime of the level and of the keys; and those of the keys.
    primes = params.max_level + 1 + 1
    assert len(found.needs.rotations) <= rotations
    assert found.hadamard_products <= 2 * primes * diagonals + 40 * primes * rotations * max(1, columns // 4096)
