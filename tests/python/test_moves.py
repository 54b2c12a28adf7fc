"""Moves of all numbers by one distance are one rotation: no level, no mask, one key."""

from __future__ import annotations

import numpy as np
import pytest

import clathrate as cl

SLOTS = 512  # of insecure_small
LANES = {"lanes": "most"}
# Shape, how it is encrypted, the axes whose rolls are one rotation.
FULL = [
    ((SLOTS,), {}, [0]),
    ((SLOTS // 2,), {}, [0]),
    ((8,), {}, [0]),
    ((3, SLOTS), {}, [1]),
    ((8, 16), LANES, [0]),
    ((4, 8, 16), LANES, [0]),
]
REST = [
    ((100,), {}),
    ((SLOTS - 1,), {}),
    ((SLOTS + 1,), {}),
    ((2 * SLOTS,), {}),
    ((3, 16), LANES),
    ((8, 16), LANES),
    ((2, 20), {}),
    ((4, 8, 16), LANES),
]


def rolled(owner, shape, options, axis, steps, is_complex=False):
    """An array before and after, the keys, and whether all is right."""
    rng = np.random.default_rng(abs(steps))
    values = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)

    def function(x):
        return np.roll(x, steps, axis)

    options = {"encoding": "slots", **options}
    trace = cl.plans.trace(function, shape, params=owner.key.params, bound=2.0, is_complex=is_complex, **options)
    x = owner.key.encrypt(values, bound=2.0, **options).with_keys(owner.key.evaluation_keys(trace.needs))
    y = function(x)
    error = np.abs(owner.key.decrypt(y) - function(values)).max()
    assert error < y.error_bound < 1e-6, (shape, axis, steps, error, y.error_bound)
    # A dry run takes fresh encryptions with a public key, whose errors are larger.
    assert y.level == trace.result.level
    assert y.error_bound <= trace.result.error_bound
    return x, y, trace


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize(("shape", "options", "axes"), FULL)
def test_rolls_of_full_rows_are_one_rotation(small, shape, options, axes, is_complex):
    for axis in axes:
        for steps in (1, -3, shape[axis] // 2):
            x, y, trace = rolled(small, shape, options, axis, steps, is_complex)
            assert y.level == x.level
            assert str(trace.needs).count("rotate") == 1, trace.needs


@pytest.mark.parametrize(("shape", "options"), REST)
def test_other_rolls_take_masks(small, shape, options):
    for axis in range(len(shape)):
        for steps in (1, -3, shape[axis] - 1):
            rolled(small, shape, options, axis, steps)


@pytest.mark.parametrize("length", [100, 300])
def test_numbers_beside_the_room_are_not_rotated_into_it(small, length):
    # The sum of a slice leaves numbers in the padding; a rotation alone would bring them among the others.
    values = np.random.default_rng(0).uniform(-1, 1, SLOTS)

    def function(x):
        return np.roll(x[:length], 7)

    keys = small.key.keys_for(function, (SLOTS,), bound=1.0, encoding="slots")
    y = function(small.key.encrypt(values, bound=1.0, encoding="slots").with_keys(keys))
    assert np.abs(small.key.decrypt(y) - function(values)).max() < y.error_bound


def test_rolls_of_more_polynomials_than_one_choice_moves(small):
    trace = cl.plans.trace(lambda x: np.roll(x, 5), (600_000,), params=small.key.params, bound=1.0, encoding="slots")
    assert trace.result.shape == (600_000,)
