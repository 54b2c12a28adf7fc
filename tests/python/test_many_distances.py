"""Numbers that move by more distances than one map has diagonals for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clathrate as cl

rng = np.random.default_rng(20261130)
SHUFFLED, CHOSEN, OF_TWO = rng.permutation(5000), rng.integers(0, 5000, 5000), rng.permutation(9000)
CUBE = (16, 18, 20)

# The name, the function, the shape of its array, and whether its numbers are complex.
Job = tuple[str, Callable[[Any], Any], tuple[int, ...], bool]
JOBS: list[Job] = [
    ("a permutation", lambda x: x[SHUFFLED], (5000,), False),
    ("a permutation of complex numbers", lambda x: x[SHUFFLED], (5000,), True),
    ("any numbers, some of them several times", lambda x: x[CHOSEN], (5000,), False),
    ("numbers of two polynomials", lambda x: x[OF_TWO], (9000,), False),
    ("axes in another order", lambda x: x.transpose(2, 0, 1), CUBE, False),
    ("rows of a matrix and their numbers", lambda x: x.reshape(5000)[SHUFFLED].reshape(50, 100), (100, 50), False),
    ("a product behind it", lambda x: x[SHUFFLED] * x, (5000,), False),
]


@pytest.mark.parametrize("job", JOBS, ids=[job[0] for job in JOBS])
def test_numbers_move_by_any_distances(job: Job) -> None:
    _, function, shape, is_complex = job
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = cl.compile(function, cl.Input(shape, bound=1.0, is_complex=is_complex), error=1e-3)
    owner = cl.SecretKey.generate(program)
    own = np.random.default_rng(1)
    x = own.uniform(-0.7, 0.7, shape) + (1j * own.uniform(-0.7, 0.7, shape) if is_complex else 0.0)
    result = program.run(owner.keys(program), owner.encrypt(program, x))
    predicted = program.results[0]
    assert result.shape == predicted.shape == function(x).shape
    assert result.level == predicted.level
    assert predicted.error_bound is not None
    assert predicted.error_bound <= 1e-3
    assert np.abs(owner.decrypt(result) - function(x)).max() <= predicted.error_bound


def test_three_levels_are_enough_and_two_are_not() -> None:
    params = cl.Params.preset("n14")
    key = cl.SecretKey.generate(params)
    options: dict[str, Any] = {"encoding": "slots", "level": 3, "bound": 1.0}
    x = np.linspace(-1, 1, 5000)
    shuffled = key.encrypt(x, **options).with_keys(key.keys_for(lambda y: y[SHUFFLED], (5000,), **options))[SHUFFLED]
    assert shuffled.level == 0
    assert np.abs(key.decrypt(shuffled) - x[SHUFFLED]).max() <= shuffled.error_bound
    with pytest.raises(cl.errors.LevelError):
        cl.plans.trace(lambda y: y[SHUFFLED], (5000,), params=params, encoding="slots", level=2)


def test_too_many_distances_in_all_steps_are_refused_with_their_number() -> None:
    order = np.random.default_rng(2).permutation(60_000)
    with pytest.raises(cl.errors.DataError, match="at most 2048"):
        cl.plans.trace(lambda x: x[order], (60_000,), params=cl.Params.preset("n13"), encoding="slots", level=2)
