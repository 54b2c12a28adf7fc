"""Random programs that move numbers in slots, beside NumPy: on every layout, with the keys, the level and the bound of the dry run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clathrate as cl

Step = tuple[str, Callable[[Any], Any]]
SHAPES = [(1,), (2,), (3,), (7,), (33,), (255,), (256,), (257,), (700,), (3, 5), (1, 9), (9, 1), (12, 40), (2, 300), (40, 3), (5, 256)]
# Programs before a commit, and with --full.
FEW, MANY = 60, 1500


def of_rows(shape: tuple[int, ...], index: Any) -> Callable[[Any], Any]:
    """What picks along the last axis."""
    return (lambda x: x[:, index]) if len(shape) == 2 else (lambda x: x[index])


def step(rng: np.random.Generator, shape: tuple[int, ...]) -> Step:
    """A random step for an array of this shape, with its name."""
    width, size, rows = shape[-1], int(np.prod(shape)), len(shape) == 2
    kind = rng.integers(18)
    if kind <= 2:
        start, end = sorted(int(place) for place in rng.integers(0, width + 1, 2))
        start = min(start, width - 1)
        end = max(end, start + 1)
        return f"[{start}:{end}]", of_rows(shape, slice(start, end))
    if kind == 3:
        stride = int(rng.choice([2, 3, -1, -2, 5]))
        return f"[::{stride}]", of_rows(shape, slice(None, None, stride))
    if kind == 4:
        places = rng.integers(0, width, int(rng.integers(1, 9)))
        return f"{places.tolist()}", of_rows(shape, places)
    if kind == 5 and rows:
        places = rng.integers(0, shape[0], int(rng.integers(1, 6)))
        return f"rows {places.tolist()}", lambda x: x[places]
    if kind == 6:
        first = int(rng.choice([count for count in range(1, size + 1) if size % count == 0]))
        return f"reshape({first}, {size // first})", lambda x: x.reshape(first, size // first)
    if kind == 7:
        return "reshape(-1)", lambda x: x.reshape(-1)
    if kind == 8:
        before, behind = (int(count) for count in rng.integers(0, 6, 2))
        return f"pad({before}, {behind})", lambda x: np.pad(x, ((0, 0), (before, behind)) if rows else (before, behind))
    if kind == 9:
        steps = int(rng.integers(-size, size))
        return f"roll({steps})", lambda x: np.roll(x, steps, axis=-1 if rows else None)
    if kind == 10:
        count = int(rng.integers(1, width + 1))
        pick = of_rows(shape, slice(None, count))
        return f"beside its first {count}", lambda x: np.concatenate([x, pick(x)], axis=len(shape) - 1)
    if kind == 11:
        matrix = rng.normal(size=(int(rng.choice([1, 2, 5, 40, 300])), width)) / np.sqrt(width)
        return f"{len(matrix)} x {width} matrix", lambda x: x @ matrix.T if rows else matrix @ x
    if kind == 12 and not rows and size <= 40:
        count = int(rng.integers(1, min(size, 8) + 1))
        return f"outer product with its first {count}", lambda x: np.outer(x, x[:count])
    if kind == 13 and rows:
        column = rng.uniform(-1, 1, (shape[0], 1))
        return "plus a column", lambda x: x + column
    if kind == 14 and rows:
        return "transposed", lambda x: x.T + np.zeros(shape[::-1])
    if kind == 15 and rows and shape[0] <= 12 and width <= 40:
        return "times its transpose", lambda x: x @ x.T * (1 / width)
    if kind == 16 and rows:
        matrix = rng.normal(size=(int(rng.choice([1, 2, 5, 17])), shape[0])) / np.sqrt(shape[0])
        return f"a matrix of {len(matrix)} rows times it", lambda x: matrix @ x
    if kind == 17 and rows and shape[0] == width:
        return "its diagonal", np.diagonal
    return "plus its reverse", lambda x: x + of_rows(shape, slice(None, None, -1))(x)


def program(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[str, Callable[[Any], Any]]:
    """Up to three steps, one after the other."""
    steps: list[Step] = []
    sample = np.ones(shape)
    for _ in range(rng.integers(1, 4)):
        name, function = step(rng, sample.shape)
        result = function(sample)
        if result.size <= 3000:
            steps.append((name, function))
            sample = result

    def all_steps(x: Any) -> Any:
        for _, function in steps:
            x = function(x)
        return x

    return ", ".join(name for name, _ in steps), all_steps


@pytest.mark.parametrize("places", [[225], [3, 290], list(range(0, 300, 7)), [299, 0] * 20])
def test_errors_of_chosen_numbers_are_within_their_bound(places: list[int]) -> None:
    """The diagonals of a choice leave their rounding errors of all other numbers, which sums of copies add."""
    params, rng = cl.Params.preset("insecure_deep"), np.random.default_rng(5)
    key = cl.SecretKey.generate(params)
    for f in (lambda x: x[places], lambda x: x[places].sum(), lambda x: x[places] + x[places][::-1]):
        keys = key.keys_for(f, (300,), bound=1.0)
        errors = []
        for _ in range(12):
            x = rng.choice([-1.0, 1.0], 300)
            result = f(key.encrypt(x, bound=1.0).with_keys(keys))
            errors.append(np.abs(key.decrypt(result) - f(x)).max() / result.error_bound)
        # So few numbers and runs reach a third of a bound at most, and not less than a tenth of a percent.
        assert 1e-3 < max(errors) < 1 / 2


def test_random_moves_are_numpys(pytestconfig: pytest.Config) -> None:
    params = cl.Params.preset("insecure_deep")  # 256 slots
    key, refused = cl.SecretKey.generate(params), []
    count = MANY if pytestconfig.getoption("--full") else FEW
    for seed in range(count):
        rng = np.random.default_rng([7, seed])
        shape = SHAPES[rng.integers(len(SHAPES))]
        options: dict[str, Any] = {"encoding": "slots", "bound": 1.5}
        if len(shape) == 2 and rng.random() < 0.5:
            options["lanes"] = "most"
        if len(shape) == 1 and rng.random() < 0.3:
            options["capacity"] = 1 << int(rng.integers(9))
        is_complex = bool(rng.random() < 0.25)
        name, f = program(rng, shape)
        what = f"{seed}: {shape}, {options}: {name}"
        x = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0.0)
        try:
            found = cl.plans.trace(f, shape, params=params, is_complex=is_complex, **options)
        except cl.errors.DataError as error:
            refused.append(f"{what}: {error}")
            continue
        result = f(key.encrypt(x, **options).with_keys(key.evaluation_keys(found.needs)))
        expected = f(x)
        assert result.shape == expected.shape, what
        assert (result.level, result.layout) == (found.result.level, found.result.layout), what
        assert result.error_bound <= 1.001 * found.result.error_bound, what
        error = np.abs(key.decrypt(result) - expected).max()
        assert error <= min(result.error_bound, 1e-4), what
    # Numbers that would move by too many distances are refused, and nothing else.
    assert all("at most 2048" in text for text in refused), refused
    assert len(refused) <= count // 50, refused
