"""Passes: what a function becomes, and that it computes the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clathrate as cl
from clathrate._clear import Clear

PASSES = ("common", "polynomials", "maps", "products", "factors")
RNG = np.random.default_rng(5)
W = RNG.normal(size=(3, 4)) / 4
M = RNG.normal(size=(4, 2)) / 4
SHIFT, SCALE = RNG.normal(size=4), 1 + RNG.uniform(size=4)
VECTOR, MATRIX = cl.Input((4,), bound=1.0), cl.Input((5, 4), bound=1.0)


def clear(program, *data):
    """The results of a program without encryption."""
    own = Clear(program._native, exact=True)
    values = own.values([np.asarray(array) for array in data])
    return [values[result] for result in own.results]


def graphs(function, *inputs, passes, **options):
    """The operations with some passes and with none."""
    return tuple(cl.compile(function, *inputs, passes=own, **options).graph().splitlines() for own in (passes, ()))


@pytest.mark.parametrize(
    ("name", "function", "inputs", "operations"),
    [
        ("common", lambda x: (x * x) * SHIFT + (x * x).sum(), [VECTOR], ["mul", "mul", "sum", "add"]),
        ("common", lambda x, y: x * y - y * x * 0.5, [VECTOR, VECTOR], ["mul", "mul", "sub"]),
        ("polynomials", lambda x: 1 + 0.5 * x + 0.25 * x**2 - 0.1 * x**3, [VECTOR], ["polynomial"]),
        ("polynomials", lambda x: (x - 0.5) * (x + 0.5) * (2 - x) / 3, [VECTOR], ["polynomial"]),
        ("polynomials", lambda x: x * x + 1, [VECTOR], ["mul", "add"]),
        ("maps", lambda x: 0.25 * np.roll(x, 1) + 0.5 * x - 0.25 * np.roll(x, -1), [VECTOR], ["mapped"]),
        ("maps", lambda x: (x[1:, 1:] - x[:-1, :-1] + x[1:, :-1].T.T) / 3, [cl.Input((5, 4), bound=1.0, lanes=True)], ["mapped"]),
        ("maps", lambda x: x[1:] - x[:-1], [VECTOR], ["pick_entries", "pick_entries", "sub"]),
        ("products", lambda x: x * x * x * x * x, [VECTOR], ["power"]),
        ("products", lambda x, y: x * x * x * y * y, [VECTOR, VECTOR], ["mul"] * 4),
        ("factors", lambda x: (x * 0.3) * 0.7, [VECTOR], ["mul"]),
        ("factors", lambda x: x * 4 / 4 + x.sum(), [VECTOR], ["sum", "add"]),
        ("factors", lambda x: W @ ((x - SHIFT) / SCALE), [VECTOR], ["map_rows", "add"]),
        ("factors", lambda x: ((x - SHIFT) / SCALE) @ M, [MATRIX], ["map_rows", "add"]),
        ("factors", lambda x: ((0.5 - x) * SCALE) @ SHIFT, [MATRIX], ["times_vector", "add"]),
        ("factors", lambda x: ((W @ x) / 8 + 0.5) * 0.1 - 0.25, [VECTOR], ["map_rows", "add"]),
        ("factors", lambda x: (x @ M + M[0]) * M[1], [MATRIX], ["map_rows", "add"]),
        ("factors", lambda x: (x * 0.5).mean(), [VECTOR], ["mul", "sum"]),
        ("factors", lambda x, y: (0.5 * x) * y * 0.5, [VECTOR, VECTOR], ["mul", "mul"]),
        ("factors", lambda x: cl.functions.tanh(W @ x, domain=(-3, 3)), [VECTOR], ["map_rows", "smooth"]),
        ("factors", lambda x: 0.5 * np.polyval([0.1, 0.5, 1.0], x), [VECTOR], ["polynomial"]),
    ],
)
def test_what_a_function_becomes(name, function, inputs, operations):
    with_pass, without = graphs(function, *inputs, passes=[name])
    assert [line.split(" = ")[1].split("(")[0] for line in with_pass] == operations
    data = [np.random.default_rng(place).uniform(-1, 1, own.shape) for place, own in enumerate(inputs)]
    expected = function(*data) if name != "factors" or "smooth" not in operations else np.tanh(W @ data[0])
    for passes in ([name], None, ()):
        (found,) = clear(cl.compile(function, *inputs, passes=passes), *data)
        assert np.abs(found - expected).max() <= 1e-13
    assert len(without) >= len(with_pass)


def test_scales_of_functions_are_multiplied_into_matrices():
    def function(x):
        return cl.functions.tanh(W @ x + 0.25, domain=(-3, 3))

    program, plain = cl.compile(function, VECTOR, error=1e-3), cl.compile(function, VECTOR, error=1e-3, passes=())
    assert program.level == plain.level - 1
    assert "unit=3.0" in program.graph()
    x = np.random.default_rng(0).uniform(-1, 1, 4)
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, x)))
    assert np.abs(found - np.tanh(W @ x + 0.25)).max() <= program.results[0].error_bound <= 1e-3
    check = program.check(x)
    assert 0 < check.difference < 1e-3
    assert check.outside == ()


def test_explain_says_what_each_pass_saved():
    def function(x):
        return W @ ((x - SHIFT) / SCALE) + (x * x * x * x).sum()

    program = cl.compile(function, VECTOR)
    assert "passes      products saved 1 level" in program.explain()
    assert "factors saved 1 operation" in program.explain()
    assert "passes" not in cl.compile(function, VECTOR, passes=()).explain()
    assert "passes" not in cl.from_bytes(program.to_bytes()).explain()


def test_a_pass_that_does_not_help_is_not_kept():
    # A factor of a value that is needed without it, too, takes its level anyway.
    def function(x):
        y = W @ x
        return y, y * 0.3

    assert graphs(function, VECTOR, passes=["factors"])[0] == graphs(function, VECTOR, passes=())[1]


def test_what_compiles_as_it_is_written_compiles_with_passes():
    def function(x):
        return -0.0354 - (x * (x * 0.9438)) / 4

    plain = cl.compile(function, cl.Input((2,), bound=1.0), passes=())
    for factor in (1.001, 1.01, 1.1, 2.0):
        error = factor * plain.results[0].error_bound
        program = cl.compile(function, cl.Input((2,), bound=1.0), params=plain.params, error=error)
        assert program.results[0].error_bound <= error


def test_names_of_passes_are_checked():
    with pytest.raises(cl.errors.DataError, match="common, polynomials, maps, products, factors"):
        cl.compile(lambda x: x * x, VECTOR, passes=["everything"])


def test_circuits_of_operators_have_levels_for_the_function_as_it_is_written():
    def function(x):
        return x * x * x * x * x

    choice = cl.Params.for_circuit(function, (4,), bound=1.0, error=1e-3)
    owner = cl.SecretKey.generate(choice.params)
    keys = owner.evaluation_keys(choice.trace.needs)
    x = owner.encrypt([0.5, -1.0, 0.25, 1.0], bound=1.0).with_keys(keys)
    assert np.abs(owner.decrypt(function(x)) - np.array([0.5, -1.0, 0.25, 1.0]) ** 5).max() < 1e-3


NUMBERS = st.sampled_from([0.5, -0.25, 2, 3, 1 / 3, -1.0, 4.0])
VECTORS = st.sampled_from([SHIFT, SCALE, W[0]])


def trees(depth):
    """Functions of two vectors of four numbers that mix what passes look for."""
    leaves = st.sampled_from(["x", "y"])
    if depth == 0:
        return leaves
    below = trees(depth - 1)
    return st.one_of(
        leaves,
        st.tuples(st.sampled_from(["+", "-", "*"]), below, below),
        st.tuples(st.sampled_from(["+", "-", "*", "/", "r-"]), below, st.one_of(NUMBERS, VECTORS)),
        st.tuples(st.sampled_from(["roll", "flip", "square", "negate", "shift", "matrix", "share"]), below),
    )


def value(tree, x, y):
    if isinstance(tree, str):
        return x if tree == "x" else y
    kind, *parts = tree
    first = value(parts[0], x, y)
    if len(parts) == 1:
        return {
            "roll": lambda: np.roll(first, 1),
            "flip": lambda: np.flip(first),
            "square": lambda: first * first,
            "negate": lambda: -first,
            "shift": lambda: first[[1, 2, 3, 0]] * 0.5 + first,
            "matrix": lambda: (W[:, :3].T @ (W @ first)).sum() * first,
            "share": lambda: first * 0.5 + first.mean(),
        }[kind]()
    second = value(parts[1], x, y) if isinstance(parts[1], (str, tuple)) else parts[1]
    return {
        "+": lambda: first + second,
        "-": lambda: first - second,
        "r-": lambda: second - first,
        "*": lambda: first * second,
        "/": lambda: first / second,
    }[kind]()


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(trees(4))
def test_random_functions_compute_the_same(tree):
    def function(x, y):
        return value(tree, x, y) + 0.0 * x

    x, y = np.random.default_rng(1).uniform(-1, 1, (2, 4))
    expected = function(x, y)
    plain = cl.compile(function, VECTOR, VECTOR, passes=())
    for passes in [None, *[[own] for own in PASSES]]:
        program = cl.compile(function, VECTOR, VECTOR, passes=passes)
        (found,) = clear(program, x, y)
        assert np.abs(found - expected).max() <= 1e-11 * max(1.0, np.abs(expected).max())
        assert program.level <= plain.level
