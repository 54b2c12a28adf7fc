"""Equal rows are equal polynomials, and so have equal noise, which adds up in sums of rows."""

import numpy as np
import pytest

import clathrate as cl

ROWS, COLUMNS = 16, 64
WEIGHTS = np.random.default_rng(0).uniform(-1, 1, 1024)
MATRIX = np.random.default_rng(1).normal(size=(COLUMNS, COLUMNS)) / 8


def of_all_rows(x):
    """The sum of four rows in each row, by sums with the rows at other places."""
    x = x + np.roll(x, 2, axis=0)
    return x + np.roll(x, 1, axis=0)


def turned(x):
    for steps in (3, -3) * 20:
        x = np.roll(x, -steps, axis=-1) if isinstance(x, np.ndarray) else x.rotate(steps)
    return x


# Arrays that have equal rows, with the shape of what they are made of, and how that is encrypted.
MADE = {
    "one row stacked": (lambda x: np.stack([x] * ROWS), (COLUMNS,), {}),
    "one row taken again and again": (lambda x: x[[0] * ROWS], (3, COLUMNS), {}),
    "one row of a polynomial": (lambda x: x[[0] * ROWS], (4, COLUMNS), {"lanes": "most"}),
    "a row broadcast": (lambda x: np.broadcast_to(x, (ROWS, COLUMNS)), (COLUMNS,), {}),
    "sums of all rows": (of_all_rows, (4, COLUMNS), {}),
    "means by a matrix": (lambda x: np.full((ROWS, 4), 0.25) @ x, (4, COLUMNS), {}),
    "rows joined": (lambda x: np.concatenate([x] * 4), (4, COLUMNS), {}),
    "rows joined in other orders": (
        lambda x: np.concatenate([x, np.roll(x, 1, axis=0), np.roll(x, 2, axis=0), x]),
        (4, COLUMNS),
        {},
    ),
    "one row stacked and turned": (lambda x: turned(np.stack([x] * ROWS)), (COLUMNS,), {}),
    "one row turned and stacked": (lambda x: np.stack([turned(x)] * ROWS), (COLUMNS,), {}),
    "long rows": (lambda x: np.stack([x] * ROWS), (512,), {}),
    "rows in other orders": (lambda x: np.stack([x] * ROWS)[:, ::-1], (COLUMNS,), {}),
    "rows of their own": (lambda x: x, (ROWS, COLUMNS), {}),
    "rows of their own in lanes": (lambda x: x, (ROWS, COLUMNS), {"lanes": "most"}),
}
# What is done to them, before all rows are added.
DONE = {
    "a roll": lambda x: np.roll(x, 3, axis=1),
    "rolls": lambda x: np.roll(np.roll(x, 3, axis=1) + 1, 5, axis=1),
    "squares": lambda x: x * x,
    "weights": lambda x: x * WEIGHTS[: x.shape[1]],
    "a number": lambda x: x * 0.3,
    "a matrix": lambda x: x @ MATRIX if x.shape[1] == COLUMNS else x,
    "sums of rows": lambda x: x.sum(axis=1, keepdims=True) * 0.1,
    "a cubic": lambda x: 1.5 * x - 0.5 * x**3,
    "squares of differences": lambda x: (x - x.mean(axis=0)) ** 2 + np.roll(x, 1, axis=1),
}


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


@pytest.mark.parametrize("done", DONE)
@pytest.mark.parametrize("made", MADE)
def test_errors_of_equal_rows_add_up_as_stated(deep, made, done):
    params, key = deep
    make, shape, options = MADE[made]
    options = {"bound": 1.0, "encoding": "slots", **options}

    def f(x):
        return DONE[done](make(x)).sum(axis=0)

    found = cl.plans.trace(f, cl.Input(shape, **options), params=params)
    keys, public, rng = key.evaluation_keys(found.needs), key.public_key(), np.random.default_rng(3)
    # Sums of whole rows have few different errors, which are known from many runs alone.
    errors = []
    for _ in range(64 if done == "sums of rows" else 4):
        data = rng.uniform(-1, 1, shape)
        result = f(public.encrypt(data, **options).with_keys(keys))
        errors.append(np.ravel(key.decrypt(result) - f(data)))
        assert np.abs(errors[-1]).max() <= result.error_bound <= 1.001 * found.result.error_bound
    # How sums of moved rows fall together is not known but bounded; what is in the lanes of a polynomial may come from any of them.
    ratio = np.sqrt(np.mean(np.square(errors))) / found.result.error_rms
    # The noise of moves counts as if all numbers of a row had the same, so that sums of moved numbers are estimated too large.
    moved = (made, done) == ("rows in other orders", "sums of rows")
    assert (1 / 6 if moved else 1 / 4) < ratio < (5 if made == "sums of all rows" else 2.5)
