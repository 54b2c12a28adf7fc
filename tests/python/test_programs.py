"""Programs: a function compiled once gives the function's numbers within its stated errors, with the keys and levels that it predicts."""

from __future__ import annotations

import json
import math
import pathlib
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
import pytest
from conftest import Party
from forging import forged
from hypothesis import strategies as st

import clathrate as cl

Function = Callable[..., Any]

# Random programs before a commit, and with --full.
FEW, MANY = 25, 600


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, size=shape)


def flattened(results: Any) -> list[Any]:
    """The arrays among results, in their order."""
    if isinstance(results, dict):
        return [array for part in results.values() for array in flattened(part)]
    if isinstance(results, (list, tuple)):
        return [array for part in results for array in flattened(part)]
    return [results]


def check(function: Function, *data: np.ndarray, **options: Any) -> cl.Program:
    """The function compiled and run, beside the function of the arrays and what the program predicts."""
    described = [cl.Input(array.shape, bound=max(float(np.abs(array).max()), 1e-3), is_complex=np.iscomplexobj(array)) for array in data]
    program = cl.compile(function, *described, **options)
    owner = cl.SecretKey.generate(program)
    inputs = owner.encrypt(program, *data)
    results = program.run(owner.keys(program), *(inputs if isinstance(inputs, list) else [inputs]))
    expected = flattened(function(*data))
    found, decrypted = flattened(results), flattened(owner.decrypt(results))
    assert len(found) == len(program.results) == len(expected)
    for array, numbers_of, forecast, right in zip(found, decrypted, program.results, expected, strict=True):
        shape = array.shape if not isinstance(array, cl.types.TransposedCiphertext) else array.T.shape
        level = array.level if not isinstance(array, cl.types.TransposedCiphertext) else array.T.level
        assert (shape, level) == (forecast.shape, forecast.level)
        assert numbers_of.shape == np.shape(right)
        error = np.abs(numbers_of - right).max()
        assert forecast.error_bound is None or error <= forecast.error_bound, (error, forecast.error_bound)
        if forecast.bound is not None:
            assert np.abs(right).max() <= forecast.bound * (1 + 1e-9)
    return program


FUNCTIONS: dict[str, tuple[Function, tuple[np.ndarray, ...]]] = {
    "a mean of squares": (lambda x: ((x - x.mean()) ** 2).mean() + 0.5, (numbers(100),)),
    "statistics": (lambda x: {"mean": x.mean(axis=0), "var": x.var(axis=0)}, (numbers(64, 30),)),
    "small matrices": (lambda a, b: a @ b, (numbers(8, 8), numbers(8, 8, seed=1))),
    "a stack of matrices": (lambda a, b: a @ b, (numbers(4, 3, 5), numbers(4, 5, 2, seed=1))),
    "a plain matrix": (lambda x: numbers(7, 64, seed=2) @ x, (numbers(64, 30),)),
    "a plain matrix on the right": (lambda x: x @ numbers(30, 4, seed=2), (numbers(64, 30),)),
    "a matrix and a vector": (lambda x: numbers(16, 300, seed=2) @ x, (numbers(300),)),
    "several results": (lambda x, y: (x + y, [x * y, x - 1]), (numbers(20), numbers(20, seed=1))),
    "differences": (lambda x: x[1:] - x[:-1], (numbers(300),)),
    "a convolution": (lambda x: np.convolve(x, [0.5, 0.25, 0.25], mode="valid"), (numbers(200),)),
    "a covariance": (lambda x: np.cov(x, rowvar=False), (numbers(20, 4),)),
    "einsum": (lambda a, b: np.einsum("ij,kj->ik", a, b), (numbers(4, 6), numbers(3, 6, seed=1))),
    "a polynomial": (cl.plans.Polynomial([0.5, 1.0, 0.0, -0.25]), (numbers(50),)),
    "a power": (lambda x: x**20, (numbers(50),)),
    "complex numbers": (lambda x: (x * np.conj(x)).sum(), (numbers(20) + 1j * numbers(20, seed=1),)),
    "axes": (lambda x: np.transpose(x, (1, 0, 2)).sum(axis=2), (numbers(2, 3, 4),)),
    "joined": (lambda x, y: np.concatenate([x, y * 2.0]), (numbers(5), numbers(3, seed=1))),
    "a choice": (lambda x, y: np.where(np.arange(6) % 2 == 0, x, y), (numbers(6), numbers(6, seed=1))),
    "integers": (lambda x: 3 * x - 2, (numbers(10),)),
    "logistic regression": (lambda x: cl.functions.sigmoid(x @ numbers(8, seed=3), error=1e-4), (numbers(40, 8),)),
    "a softmax": (lambda x: cl.functions.softmax(x, bound=1.0), (numbers(4),)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_gives_the_numbers_of_its_function(name: str) -> None:
    function, data = FUNCTIONS[name]
    program = check(function, *data, error=1e-3)
    assert all(own.error_bound is None or own.error_bound <= 1e-3 for own in program.results)
    assert program.params.security_bits >= 128
    # The same operations on plain numbers.
    found = program.check(*data)
    assert found.outside == ()
    assert found.difference <= 2e-3
    # A file and a pickle are the same program.
    again = cl.from_bytes(program.to_bytes())
    assert again.explain().splitlines()[:4] == program.explain().splitlines()[:4]
    assert (again.graph(), again.results, again.needs) == (program.graph(), program.results, program.needs)
    assert pickle.loads(pickle.dumps(program)).graph() == program.graph()


class Tree:
    """A random function of one or two arrays: steps on values, which are applied to NumPy's arrays and to encrypted ones."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        shape = draw(st.sampled_from([(1,), (2,), (5,), (40,), (257,), (3, 4), (1, 6), (6, 1), (2, 3, 4)]))
        self.data = [numbers(*shape, seed=draw(st.integers(0, 9)))]
        if draw(st.booleans()):
            self.data.append(numbers(*shape, seed=draw(st.integers(10, 19))))
        self.steps: list[tuple[str, Function, tuple[int, ...]]] = []
        values: list[np.ndarray] = list(self.data)
        for _ in range(draw(st.integers(1, 6))):
            name, step, operands = self.step(draw, values)
            result = np.asarray(step(*(values[own] for own in operands)))
            if result.size > 600 or np.abs(result).max() > 1e4:
                continue
            self.steps.append((name, step, operands))
            values.append(result)

    def step(self, draw: Callable[[Any], Any], values: list[np.ndarray]) -> tuple[str, Function, tuple[int, ...]]:
        place = draw(st.integers(0, len(values) - 1))
        x = values[place]
        alike = [own for own, value in enumerate(values) if value.shape == x.shape]
        other = draw(st.sampled_from(alike))
        plain = numbers(*x.shape, seed=draw(st.integers(20, 29)))
        factor = draw(st.sampled_from([2.0, -0.5, 0.25]))
        axis = draw(st.integers(0, x.ndim - 1)) if x.ndim else None
        choices: list[tuple[str, Function, tuple[int, ...]]] = [
            ("x + y", lambda x, y: x + y, (place, other)),
            ("x - y", lambda x, y: x - y, (place, other)),
            ("x * y", lambda x, y: x * y, (place, other)),
            ("x * plain", lambda x: x * plain, (place,)),
            ("plain - x", lambda x: plain - x, (place,)),
            (f"{factor} * x + 1", lambda x: factor * x + 1, (place,)),
            ("x ** 3", lambda x: x**3, (place,)),
            ("-3 * x", lambda x: -3 * x, (place,)),
            (f"sum({axis})", lambda x: x.sum(axis=axis), (place,)),
            (f"mean({axis})", lambda x: x - x.mean(axis=axis, keepdims=True), (place,)),
            ("var", lambda x: x.var(), (place,)),
        ]
        if x.ndim:
            choices += [
                ("x.reshape(-1)", lambda x: x.reshape(-1), (place,)),
                ("flip", lambda x: np.flip(x, axis=axis), (place,)),
                ("roll", lambda x: np.roll(x, 2, axis=axis), (place,)),
                ("beside itself", lambda x: np.concatenate([x, x], axis=axis), (place,)),
            ]
        if x.ndim == 2:
            matrix = numbers(3, x.shape[0], seed=draw(st.integers(30, 39)))
            choices += [
                ("x @ x.T", lambda x: np.einsum("ij,kj->ik", x, x), (place,)),
                ("M @ x", lambda x: matrix @ x, (place,)),
                ("x @ M.T", lambda x: x @ numbers(x.shape[1], 2, seed=3), (place,)),
            ]
        return draw(st.sampled_from(choices))

    def __call__(self, *arrays: Any) -> Any:
        values = list(arrays)
        for _, step, operands in self.steps:
            values.append(step(*(values[own] for own in operands)))
        return values[-1], values[len(arrays)]

    def __repr__(self) -> str:
        return f"{[array.shape for array in self.data]}: {[(name, operands) for name, _, operands in self.steps]}"


@st.composite
def trees(draw: Callable[[Any], Any]) -> Tree:
    return Tree(draw)


def assert_right(tree: Tree) -> None:
    if tree.steps:
        check(tree, *tree.data)


@hypothesis.settings(max_examples=FEW, deadline=None, derandomize=True, database=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(trees())
def test_random_programs(tree: Tree) -> None:
    assert_right(tree)


@pytest.mark.full
@hypothesis.settings(max_examples=MANY, deadline=None, database=None, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(trees())
def test_many_random_programs(tree: Tree) -> None:
    assert_right(tree)


def test_sample_data_gives_bounds_with_a_margin() -> None:
    X = numbers(30, 4) * 8
    program = cl.compile(lambda x: x.mean(axis=0), X, error=1e-4)
    (own,) = program.inputs
    assert own.bound == pytest.approx(1.5 * np.abs(X).max())
    assert (own.name, own.shape, own.is_complex) == ("x", (30, 4), False)


def test_what_a_function_may_not_do_is_refused_when_it_is_compiled() -> None:
    x = cl.Input((4,), bound=1.0)
    with pytest.raises(TypeError, match="cannot be compared"):
        cl.compile(lambda x: x if x.sum() > 0 else -x, x)
    with pytest.raises(TypeError, match="return encrypted arrays"):
        cl.compile(lambda x: 3.0, x)
    with pytest.raises(TypeError, match="return encrypted arrays"):
        cl.compile(lambda x: None, x)
    with pytest.raises(cl.errors.DataError, match="at least one input that is encrypted"):
        cl.compile(lambda: 1.0)
    with pytest.raises(cl.errors.DataError, match="decides about places"):
        cl.compile(lambda x: x, cl.Input((4,), bound=1.0, copies=2))
    with pytest.raises(cl.errors.DataError, match="above 0"):
        cl.compile(lambda x: x * x, x, error=0.0)
    with pytest.raises(cl.errors.DataError, match="not finite"):
        cl.compile(lambda x: x * x, np.array([1.0, np.nan]))
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    y = owner.encrypt(numbers(4), bound=1.0)
    with pytest.raises(cl.ClathrateError, match=r"encrypted already|symbol"):
        cl.compile(lambda x: x + y, x)
    with pytest.raises(cl.ClathrateError, match="depends on parameters"):
        cl.compile(lambda x: x.to_rank(2), x)


def logistic(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def many(x: Any) -> Any:
    function = cl.functions.tanh if isinstance(x, cl.Ciphertext) else np.tanh
    return sum(function(x * (place / 20)) for place in range(1, 20))


X, W = numbers(64, seed=8), numbers(10, 64, seed=9)

# Functions without an error of their own, beside the functions that they stand for.
APPROXIMATED: dict[str, tuple[Function, Function]] = {
    "a sigmoid of a product": (lambda x: cl.functions.sigmoid(W @ x), lambda x: logistic(W @ x)),
    "two of different weight": (lambda x: 100 * cl.functions.sigmoid(x) + cl.functions.tanh(x), lambda x: 100 * logistic(x) + np.tanh(x)),
    "one in another": (lambda x: cl.functions.gelu(4 * cl.functions.sigmoid(x) - 2), lambda x: gelu(4 * logistic(x) - 2)),
    "a kink": (lambda x: cl.functions.relu(x).mean(), lambda x: np.maximum(x, 0.0).mean()),
    "two kinks": (
        lambda x: cl.functions.maximum(x[:32], x[32:]) - cl.functions.absolute(x[:32]),
        lambda x: np.maximum(x[:32], x[32:]) - np.abs(x[:32]),
    ),
    "a square": (lambda x: cl.functions.exp(x) ** 2, lambda x: np.exp(2 * x)),
    "a deviation": (lambda x: cl.functions.std(x, domain=(0.3, 1.0)), lambda x: np.std(x)),
    "a norm": (lambda x: cl.functions.norm(x, domain=(2.0, 8.0)), np.linalg.norm),
    "several results": (lambda x: (cl.functions.exp(x), 1e-3 * cl.functions.tanh(x)), lambda x: (np.exp(x), 1e-3 * np.tanh(x))),
    "a row of shares": (lambda x: cl.functions.softmax(x[:7]), lambda x: np.exp(x[:7]) / np.exp(x[:7]).sum()),
    "many": (many, many),
}


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1.0 + np.vectorize(math.erf)(x / math.sqrt(2.0)))


@pytest.mark.parametrize("error", [0.05, 1e-3])
@pytest.mark.parametrize("name", APPROXIMATED)
def test_errors_of_functions_are_chosen_by_the_error_of_the_results(name: str, error: float) -> None:
    function, exact = APPROXIMATED[name]
    program = cl.compile(function, cl.Input((64,), bound=1.0), error=error)
    owner = cl.SecretKey.generate(program)
    results = flattened(owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, X))))
    for forecast, found, right in zip(program.results, results, flattened(exact(X)), strict=True):
        assert forecast.error_bound is not None
        assert np.abs(found - right).max() <= forecast.error_bound <= error
    check = program.check(X)
    assert check.error_bound is not None
    assert check.difference <= check.error_bound
    assert check.outside == ()


def test_a_smaller_error_takes_polynomials_of_higher_degree() -> None:
    programs = [cl.compile(lambda x: cl.functions.sigmoid(x), cl.Input((64,), bound=8.0), error=error) for error in (1e-2, 1e-5, 1e-8)]
    errors = [float(program.graph().split("error=")[1].split(",")[0]) for program in programs]
    assert all(0.2 * error <= own <= 0.5 * error for own, error in zip(errors, (1e-2, 1e-5, 1e-8), strict=True)), errors
    assert programs[0].seconds < programs[1].seconds < programs[2].seconds
    # A stated error is kept, and named where it is too large.
    stated = cl.compile(lambda x: cl.functions.sigmoid(x, error=1e-4), cl.Input((64,), bound=8.0), error=1e-2)
    assert "error=0.0001" in stated.graph()
    with pytest.raises(cl.errors.ParamsError, match=r"allow an error of .*, or smaller errors of the functions"):
        cl.compile(lambda x: cl.functions.sigmoid(x, error=1e-4), cl.Input((64,), bound=8.0), error=1e-5)
    assert "  functions   sigmoid within 1e-4\n" in stated.explain()
    # Without an error, functions have their usual one.
    assert "error=0.001" in cl.compile(lambda x: cl.functions.sigmoid(x), cl.Input((64,), bound=8.0)).graph()


def test_relative_errors_refer_to_the_largest_number() -> None:
    def function(x: Any) -> Any:
        y = cl.functions.exp(3 * x) if isinstance(x, cl.Ciphertext) else np.exp(3 * x)
        return y, 1e-3 * (x * x)

    x = numbers(64, seed=8)
    largest = [float(np.abs(part).max()) for part in function(x)]
    by_bounds = cl.compile(function, cl.Input((64,), bound=1.0), relative_error=1e-4)
    assert all(own.error_bound <= 1e-4 * own.bound for own in by_bounds.results)
    by_sample = cl.compile(function, x, relative_error=1e-4)
    assert all(own.error_bound <= 1e-4 * size for own, size in zip(by_sample.results, largest, strict=True))
    owner = cl.SecretKey.generate(by_sample)
    found = owner.decrypt(by_sample.run(owner.keys(by_sample), owner.encrypt(by_sample, x)))
    for own, right, size in zip(found, function(x), largest, strict=True):
        assert np.abs(own - right).max() <= 1e-4 * size
    both = cl.compile(function, x, relative_error=1e-4, error=1e-9)
    assert all(own.error_bound <= 1e-9 for own in both.results)
    with pytest.raises(cl.errors.DataError, match="relative_error"):
        cl.compile(function, x, relative_error=0.0)
    with pytest.raises(cl.errors.DataError, match="other than zero in every result"):
        cl.compile(lambda x: x - x, x, relative_error=1e-4)
    with pytest.raises(cl.errors.DataError, match=r"it raised AttributeError.*give an `Input` with a bound"):
        cl.compile(lambda x: x.rotate(1), x, relative_error=1e-4)
    with pytest.raises(cl.errors.ParamsError, match="declare a bound on every input"), pytest.warns(cl.errors.BoundWarning):
        cl.compile(lambda x: x * x, (64,), relative_error=1e-4)


def test_an_error_beyond_reach_names_the_best_one() -> None:
    with pytest.raises(cl.errors.ParamsError, match=r"allow an error of \d"):
        cl.compile(lambda x: x**8, cl.Input((4,), bound=1.0), error=1e-25)
    with pytest.raises(cl.errors.ParamsError, match="more than"):
        cl.compile(lambda x: x**8, cl.Input((4,), bound=1.0), key_bytes=1000)
    with pytest.raises(cl.errors.ParamsError, match="more than"):
        cl.compile(lambda x: x**8, cl.Input((4,), bound=1.0), memory=1000)


def test_inputs_keys_and_programs_belong_together() -> None:
    program = cl.compile(lambda x, y: x * y, cl.Input((3,), bound=1.0), cl.Input((3,), bound=1.0))
    owner = cl.SecretKey.generate(program)
    keys = owner.keys(program)
    x, y = owner.encrypt(program, numbers(3), numbers(3, seed=1))
    with pytest.raises(cl.errors.DataError, match="takes 2 arrays, x, y, and 1 were given"):
        program.run(keys, x)
    with pytest.raises(TypeError, match="encrypt it for the program"):
        program.run(keys, x, numbers(3))  # type: ignore[arg-type]
    with pytest.raises(cl.errors.DataError, match="takes 2 arrays, x, y, and 1 were given"):
        owner.encrypt(program, numbers(3))
    with pytest.raises(cl.errors.DataError, match=r"shape \(3,\), and an array of shape \(4,\)"):
        owner.encrypt(program, numbers(3), numbers(4))
    with pytest.raises(cl.errors.DataError, match="largest magnitude"):
        owner.encrypt(program, numbers(3), 2 * np.ones(3))
    with pytest.raises(cl.ClathrateError):
        program.run(None, x, y)
    other = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    with pytest.raises(cl.errors.WrongParamsError, match=r"compile it with `params=secret_key\.params`"):
        other.keys(program)
    stranger = cl.SecretKey.generate(program)
    with pytest.raises(cl.errors.WrongSecretError):
        program.run(stranger.keys(program), x, y)
    # A public key encrypts for the program, too.
    public = owner.public_key().encrypt(program, numbers(3), numbers(3, seed=1))
    assert np.allclose(owner.decrypt(program.run(keys, *public)), numbers(3) * numbers(3, seed=1), atol=1e-5)


def test_results_are_arrays_that_go_on() -> None:
    """Programs and operators mix: results carry the keys."""
    program = cl.compile(lambda x: x * x, cl.Input((4,), bound=1.0), params=cl.Params.preset("n13"))
    owner = cl.SecretKey.generate(program)
    result = program.run(owner.keys(program), owner.encrypt(program, numbers(4)))
    assert np.allclose(owner.decrypt(result + 1), numbers(4) ** 2 + 1, atol=1e-5)


def test_check_counts_what_is_outside() -> None:
    program = cl.compile(lambda x: cl.functions.exp(2.0 * x, error=1e-4), cl.Input((3,), bound=1.0))
    assert program.check([0.5, -1.0, 0.25]).outside == ()
    found = program.check([0.5, -3.0, 2.0])
    assert found.outside[0] == "x: 2 of 3 numbers beyond 1, up to 3"
    assert len(found.outside) >= 2
    with pytest.raises(cl.errors.DataError, match="takes 1 array"):
        program.check([1.0], [2.0])


def test_debug_decrypts_each_value() -> None:
    weights = numbers(5, 20)
    program = cl.compile(lambda x: (cl.functions.silu(weights @ x, error=1e-3, domain=(-20, 20)) * 2.0).sum(), cl.Input((20,), bound=1.0))
    owner = cl.SecretKey.generate(program)
    stages = program.debug(owner, numbers(20))
    assert [stage.operation.split("(")[0] for stage in stages] == ["x", "v1 = map_rows", "v2 = smooth", "v3 = mul", "v4 = sum"]
    assert all(stage.largest < 1e-5 and stage.rms <= stage.largest for stage in stages)
    assert [stage.level for stage in stages] == sorted((stage.level for stage in stages), reverse=True)


def test_stages_have_their_names() -> None:
    def function(x: Any) -> Any:
        with x.stage("centre"):
            x = x - x.mean()
        return x * x

    program = cl.compile(function, cl.Input((10,), bound=1.0))
    assert "# centre" in program.graph().splitlines()[0]
    assert "centre" in program.explain()


def test_the_command_runs_programs(tmp_path: pathlib.Path) -> None:
    program = cl.compile(
        lambda x, w: {"sum": (x * w).sum(), "all": x + w}, cl.Input((9,), bound=1.0), cl.Input((9,), bound=1.0), error=1e-5
    )
    program.save(tmp_path / "f.program")
    np.save(tmp_path / "x.npy", numbers(9))
    np.save(tmp_path / "w.npy", numbers(9, seed=1))

    def run(line: str) -> subprocess.CompletedProcess[str]:
        arguments = [sys.executable, "-m", "clathrate", *line.split()]
        return subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    for line in [
        "keygen --params f.program --program --secret sk.clt --evaluation k.clt",
        "encrypt --params f.program --key sk.clt --as x --input x.npy --output x.clt",
        "encrypt --params f.program --key sk.clt --as w --input w.npy --output w.clt",
        "run f.program --keys k.clt --input x.clt --input w.clt --output s.clt --output a.clt",
        "decrypt --params f.program --secret sk.clt --input s.clt --output s.npy",
        "decrypt --params f.program --secret sk.clt --input a.clt --output a.npy",
    ]:
        done = run(line)
        assert done.returncode == 0, done.stderr
    assert abs(np.load(tmp_path / "s.npy") - numbers(9) @ numbers(9, seed=1)) < 1e-5
    assert np.allclose(np.load(tmp_path / "a.npy"), numbers(9) + numbers(9, seed=1), atol=1e-5)
    shown = run("inspect f.program").stdout
    assert "v2 = mul(x, w)" in shown
    assert "bits of security" in shown
    assert "has no input" in run("encrypt --params f.program --key sk.clt --as z --input x.npy --output z.clt").stderr
    assert "2 results, sum, all" in run("run f.program --keys k.clt --input x.clt --input w.clt --output s.clt").stderr
    assert "names the preset n13" in run("keygen --params n13 --program --secret s2.clt --evaluation k2.clt").stderr
    assert not (tmp_path / "z.clt").exists()
    # The remedies of both refusals: a plain array as it is, and rows in place of a view.
    cl.compile(lambda x, w: x * w, cl.Input((9,), bound=1.0), cl.Input((9,), bound=1.0, plain=True), params=program.params).save(
        tmp_path / "p.program"
    )
    cl.compile(lambda x: x.T, cl.Input((3, 3), bound=1.0)).save(tmp_path / "view.program")
    cl.compile(lambda x: x.T.to_rows(), cl.Input((3, 3), bound=1.0)).save(tmp_path / "rows.program")
    assert "by --plain" in run("encrypt --params p.program --key sk.clt --as w --input w.npy --output z.clt").stderr
    np.save(tmp_path / "m.npy", numbers(3, 3))
    for line in [
        "encrypt --params p.program --key sk.clt --as x --input x.npy --output px.clt",
        "run p.program --input px.clt --plain w.npy --output pw.clt",
        "decrypt --params p.program --secret sk.clt --input pw.clt --output pw.npy",
        "keygen --params rows.program --program --secret rs.clt --evaluation rk.clt",
        "encrypt --params rows.program --key rs.clt --as x --input m.npy --output m.clt",
        "run rows.program --keys rk.clt --input m.clt --output t.clt",
        "decrypt --params rows.program --secret rs.clt --input t.clt --output t.npy",
    ]:
        done = run(line)
        assert done.returncode == 0, done.stderr
    assert np.allclose(np.load(tmp_path / "pw.npy"), numbers(9) * numbers(9, seed=1), atol=1e-4)
    assert np.allclose(np.load(tmp_path / "t.npy"), numbers(3, 3).T, atol=1e-4)
    assert "`x.T.to_rows()`" in run("run view.program --input m.clt --output v.clt").stderr
    # The file is the package's.
    assert cl.load(tmp_path / "f.program").graph() == program.graph()


def test_deep_functions_bootstrap() -> None:
    def function(x: Any) -> Any:
        for _ in range(6):
            x = x * x
        return x

    params = cl.Params.preset("insecure_boot")
    program = cl.compile(function, cl.Input((512,), bound=1.0), params=params)
    assert program.bootstrap_below is not None
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, numbers(512))))
    bound = program.results[0].error_bound
    assert bound is not None
    assert np.abs(found - numbers(512) ** 64).max() <= bound


def test_a_function_is_compiled_once() -> None:
    weights = numbers(3, 5)
    x = cl.Input((5,), bound=1.0)
    program = cl.compile(lambda x: weights @ x, x)
    assert cl.compile(lambda y: weights.copy() @ y, x)._native is not program._native
    again = cl.compile(lambda x: weights.copy() @ x, x)
    assert again._native is program._native
    weights[0, 0] += 1.0
    assert cl.compile(lambda x: weights @ x, x)._native is not program._native
    # The program keeps the numbers that it was compiled with.
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, np.ones(5))))
    assert np.allclose(found, numbers(3, 5) @ np.ones(5), atol=1e-4)


def test_missing_keys_are_made_beside_others() -> None:
    params = cl.Params.preset("n13")
    first = cl.compile(lambda x: x * x, cl.Input((8,), bound=1.0), params=params)
    second = cl.compile(lambda x: x.sum() * x, cl.Input((8,), bound=1.0), params=params)
    owner = cl.SecretKey.generate(params)
    keys = owner.keys(first)
    assert not keys.missing(first)
    missing = keys.missing(second)
    assert missing
    both = keys | owner.evaluation_keys(missing)
    assert not both.missing(second)
    x = numbers(8)
    for program, function in ((first, lambda x: x * x), (second, lambda x: x.sum() * x)):
        assert np.allclose(owner.decrypt(program.run(both, owner.encrypt(program, x))), function(x), atol=1e-5)
    other = cl.compile(lambda x: x * x, cl.Input((8,), bound=1.0))
    with pytest.raises(cl.errors.WrongParamsError, match="make keys for the program"):
        keys.missing(other)


def test_operations_are_steps_of_progress() -> None:
    program = cl.compile(lambda x: (x * x + 1.0).sum(), cl.Input((8,), bound=1.0))
    owner = cl.SecretKey.generate(program)
    keys, x = owner.keys(program), owner.encrypt(program, numbers(8))
    seen: list[tuple[int, int]] = []
    program.run(keys, x, progress=lambda done, total: seen.append((done, total)))
    # A step is a share of the predicted time.
    assert seen[0] == (0, 1000)
    assert seen[-1] == (1000, 1000)
    assert len(seen) >= 5
    assert {total for _, total in seen} == {1000}
    with pytest.raises(cl.errors.CancelledError):
        program.run(keys, x, progress=lambda done, total: done < 1)


def test_plain_inputs_are_given_when_a_program_runs() -> None:
    def function(x: Any, weights: Any, bias: Any) -> Any:
        return cl.functions.sigmoid(x @ weights + bias, error=1e-3, domain=(-21, 21))

    data, weights, bias = numbers(5, 20), numbers(20, 3, seed=1), numbers(3, seed=2)
    inputs = (cl.Input((5, 20), bound=1.0), cl.Input((20, 3), bound=1.0, plain=True), cl.Input((3,), bound=1.0, plain=True))
    program = cl.compile(function, *inputs, error=1e-2)
    assert [own.plain for own in program.inputs] == [False, True, True]
    assert len(program.to_bytes()) < 5000
    owner = cl.SecretKey.generate(program)
    keys, x = owner.keys(program), owner.encrypt(program, data)
    for factor in (1.0, -0.5):
        found = owner.decrypt(program.run(keys, x, factor * weights, bias))
        assert np.abs(found - function(data, factor * weights, bias)).max() < 1e-2
    assert program.check(data, weights, bias).outside == ()
    assert program.debug(owner, data, weights, bias, keys=keys)[-1].largest < 1e-2
    with pytest.raises(cl.ClathrateError, match="compile it with a larger bound"):
        program.run(keys, x, 2 * weights, bias)
    with pytest.raises(cl.ClathrateError, match="give finite numbers"):
        program.run(keys, x, np.full((20, 3), np.nan), bias)
    with pytest.raises(cl.errors.DataError, match="takes 3 arrays"):
        program.run(keys, x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: x * (2.0 * w),
        lambda x, w: x + w[::-1],
        lambda x, w: np.sin(w) * x,
        lambda x, w: np.asarray(w) * x,
        lambda x, w: cl.functions.sigmoid(w) * x,
        lambda x, w: np.ones(20) * w,
        lambda x, w: cl.plans.Polynomial([0.0, 1.0])(w) * x,
        lambda x, w: x * float(w[0]),
        lambda x, w: x * max(w),
        lambda x, w: x * w.mean(),
    ],
)
def test_numbers_of_plain_inputs_are_not_read(function: Function) -> None:
    with pytest.raises(TypeError, match="has no numbers while the program is compiled"):
        cl.compile(function, cl.Input((20,), bound=1.0), cl.Input((20,), bound=1.0, plain=True))


def test_plain_inputs_have_a_bound_and_are_no_divisors() -> None:
    with pytest.raises(cl.errors.DataError, match="bound of a plain input"):
        cl.compile(lambda x, w: x * w, cl.Input((4,), bound=1.0), cl.Input((4,), plain=True))
    with pytest.raises(cl.ClathrateError, match="give its inverse as the input"):
        cl.compile(lambda x, w: x / w, cl.Input((4,), bound=1.0), cl.Input((4,), bound=1.0, plain=True))
    with pytest.raises(cl.errors.DataError, match="at least one input that is encrypted"):
        cl.compile(lambda w: w, cl.Input((4,), bound=1.0, plain=True))


def test_plain_inputs_of_another_program_are_refused() -> None:
    x, w = cl.Input((4,), bound=4.0), cl.Input((4,), bound=4.0, plain=True)
    kept: list[Any] = []
    first = cl.compile(lambda x, w: (kept.append(w), x * w)[1], x, w)
    with pytest.raises(cl.ClathrateError, match="symbol of another program"):
        cl.compile(lambda x, v: x * kept[0], x, cl.Input((1,), bound=9.0, plain=True))
    with pytest.raises(cl.ClathrateError, match="symbol of another program"):
        cl.compile(lambda x: x * kept[0], x)
    owner = cl.SecretKey.generate(first)
    encrypted = owner.encrypt(first, numbers(4)).with_keys(owner.keys(first))
    for use in (lambda: encrypted * kept[0], lambda: encrypted + kept[0], lambda: encrypted.dot(kept[0])):
        with pytest.raises(TypeError, match="has no numbers"):
            use()
    with pytest.raises(TypeError, match="has no numbers"):
        cl.plans.trace(lambda x: x * kept[0], (4,), params=cl.Params.preset("insecure_small"), bound=1.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x * 2 if k == 1 else x,
        lambda x, k: x * 2 if k != 1 else x,
        lambda x, k: x * 2 if k in (1, 2) else x,
        lambda x, k: x * {1: 2}.get(k, 7),
        lambda x, k: x * 2 if k < 1 else x,
        lambda x, k: x * abs(k),
        lambda x, k: x * -k,
        lambda x, k: x * float(k),
        lambda x, k: x * sum(k),
    ],
)
def test_functions_do_not_decide_by_plain_inputs(function: Function) -> None:
    with pytest.raises(TypeError, match=r"has no numbers|unhashable"):
        cl.compile(function, cl.Input((4,), bound=4.0), cl.Input((), bound=9.0, plain=True))


@pytest.mark.parametrize("name", ["level", "scale", "degree", "layout", "rank", "nbytes", "error_bound", "error_rms"])
def test_figures_of_a_recording_are_no_constants(name: str) -> None:
    with pytest.raises(cl.errors.DataError, match=f"`{name}` depends on parameters"):
        cl.compile(lambda x: (getattr(x, name), x * 2.0)[1], cl.Input((4,), bound=4.0))


def test_views_have_their_shape_and_no_file() -> None:
    program = cl.compile(lambda x: x.T, cl.Input((2, 3), bound=1.0))
    assert program.results[0].shape == (3, 2)
    owner = cl.SecretKey.generate(program)
    found = program.run(owner.keys(program), owner.encrypt(program, numbers(2, 3)))
    assert found.shape == (3, 2)
    assert np.allclose(owner.decrypt(found), numbers(2, 3).T, atol=1e-5)


def test_plain_matrices_may_have_zeros() -> None:
    program = cl.compile(lambda x, W: W @ x, cl.Input((16,), bound=1.0), cl.Input((16, 16), bound=4.0, plain=True))
    owner = cl.SecretKey.generate(program)
    keys, x = owner.keys(program), numbers(16)
    cyphertext = owner.encrypt(program, x)
    matrices = [np.roll(np.eye(16), 3, axis=1), np.eye(16)[::-1], np.zeros((16, 16)), np.tri(16), np.diag(numbers(16)), np.eye(16, k=5)]
    for matrix in matrices:
        assert np.allclose(owner.decrypt(program.run(keys, cyphertext, matrix)), matrix @ x, atol=1e-4)


def test_check_counts_plain_numbers_and_what_is_no_number() -> None:
    program = cl.compile(lambda x, w: x * w, cl.Input((4,), bound=4.0), cl.Input((4,), bound=4.0, plain=True))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert program.check(x, x).outside == ()
    assert "w: 1 of 4 numbers beyond 4, up to 5" in program.check(x, [5.0, 1.0, 1.0, 1.0]).outside
    assert program.check(x, [1.0, np.nan, 1.0, 1.0]).outside
    assert program.check([1.0, np.nan, 1.0, 1.0], x).outside
    with pytest.raises(cl.errors.DataError, match="is real, and complex numbers were given"):
        program.check(x, 1j * x)


def test_inputs_that_cannot_be_are_refused_at_once() -> None:
    program = cl.compile(lambda x: x * 2.0, cl.Input((4,), bound=4.0))
    owner = cl.SecretKey.generate(program)
    with pytest.raises(cl.errors.DataError, match="is real, and complex numbers were given"):
        owner.encrypt(program, [1j] * 4)
    for shape in ((-1,), (0,), (3, 0)):
        with pytest.raises(cl.errors.DataError, match="axes have at least one number"):
            cl.compile(lambda x: x, cl.Input(shape, bound=1.0))
    # A list is sample data, a tuple of whole numbers is a shape.
    assert cl.compile(lambda x: x, [1, 2, 3]).inputs[0].shape == (3,)
    assert cl.compile(lambda x: x, (2, 3)).inputs[0].shape == (2, 3)
    with pytest.raises(TypeError, match="which are strings"):
        cl.compile(lambda x: {1: x, "1": x}, cl.Input((4,), bound=1.0))
    with pytest.raises(TypeError, match="several arrays for a program alone"):
        owner.encrypt(numbers(4), "slots", None, None, None, numbers(4))


def test_a_program_is_refused_by_its_own_budget_alone() -> None:
    """Dry runs on the way to a program, at higher levels, may take more than it does."""
    params = cl.Params.preset("n14")
    for function, shape in ((lambda x: (x * x).sum(), (4000,)), (lambda x: np.full((4, 300), 0.1) @ x, (300,))):
        for given in ({"params": params}, {"error": 1e-4}):
            x = cl.Input(shape, bound=1.0)
            free = cl.compile(function, x, **given)
            bytes_of_all = free.key_bytes + free.peak_bytes + free.plaintext_bytes
            tight = cl.compile(function, x, **given, key_bytes=free.key_bytes, memory=bytes_of_all)
            assert tight.key_bytes <= free.key_bytes
            with pytest.raises(cl.errors.ParamsError, match="more than"):
                cl.compile(function, x, **given, key_bytes=1000)


def test_budgets_that_are_too_small_say_by_how_much() -> None:
    with pytest.raises(cl.errors.ParamsError, match=r"the closest: .*the evaluation keys take \d+\.\d MiB, more than"):
        cl.compile(lambda x: (x * x).sum() * x, cl.Input((10,), bound=1.0), key_bytes=100)
    # What it says would do does.
    function, x = lambda x: np.ones((40, 100)) @ (x * x), cl.Input((100,), bound=1.0)
    with pytest.raises(cl.errors.ParamsError, match="MiB, more than") as caught:
        cl.compile(function, x, error=1e-3, key_bytes=1 << 20)
    least = float(str(caught.value).split("the evaluation keys take ")[1].split()[0])
    assert cl.compile(function, x, error=1e-3, key_bytes=int((least + 0.1) * 2**20)).key_bytes <= (least + 0.1) * 2**20


def test_the_owner_has_a_part_without_the_model(tmp_path: pathlib.Path) -> None:
    """The server's weights and operations stay with the server; the owner makes the same keys and the same encryptions."""
    weights = numbers(20, 64, seed=3)
    program = cl.compile(
        lambda x, b: {"scores": cl.functions.sigmoid(weights @ x), "sum": x.sum() + b},
        cl.Input((64,), bound=1.0),
        cl.Input((1,), bound=1.0, plain=True),
        error=1e-3,
    )
    program.split(tmp_path / "new" / "parts")
    folder = tmp_path / "new" / "parts"
    part, server = cl.load(folder / "owner.program"), cl.load(folder / "server.program")
    assert isinstance(part, cl.types.OwnerPart)
    assert isinstance(server, cl.Program)
    assert (folder / "owner.program").stat().st_size < 8192 < (folder / "server.program").stat().st_size
    for name in ("inputs", "results", "needs", "level", "key_bytes"):
        assert getattr(part, name) == getattr(program, name), name
    assert part.params == program.params
    for again in (cl.from_bytes(part.to_bytes()), pickle.loads(pickle.dumps(part)), program.for_owner()):
        assert again.to_bytes() == part.to_bytes()
    owner = cl.SecretKey.generate(part)
    keys = owner.keys(part)
    assert keys.missing(program) == cl.keys.Needs()
    data = numbers(64, seed=4)
    for encrypt in (owner.encrypt, owner.public_key().encrypt):
        results = owner.decrypt(server.run(keys, encrypt(part, data), np.array([0.5])))
        assert np.abs(results["scores"] - logistic(weights @ data)).max() <= 1e-3
        assert abs(results["sum"] - (data.sum() + 0.5)).max() <= 1e-3
    with pytest.raises(cl.errors.DataError, match="takes 1 array"):
        owner.encrypt(part, data, data)
    with pytest.raises(cl.errors.FileAccessError, match="exists"):
        program.split(folder, overwrite=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(cl.errors.FileAccessError, match="cannot be made"):
        program.split(tmp_path / "file")
    with pytest.raises(cl.errors.FileFormatError, match="owner's part of a program"):
        cl.Program.load(folder / "owner.program")


def test_parts_of_owners_that_contradict_themselves_are_refused(small: Party, tmp_path: pathlib.Path) -> None:
    """Files with right digests: they are refused, or are parts that encrypt."""
    program = cl.compile(lambda x, y: [x * y, x.sum()], cl.Input((40,), bound=1.0), cl.Input((40,), bound=1.0), params=small.params)
    data = program.for_owner().to_bytes()
    changes: dict[str, Any] = {
        "level": [99, -1, 1 << 70],
        "inputs": [
            [],
            [{"name": "x", "shape": [1 << 40, 1 << 40], "encoding": "slots"}],
            [{"name": "x", "shape": [0], "encoding": "slots"}],
            3,
        ],
        "results": [[], [{}], None],
        "arrangement": [{"array": 7}, {"list": []}, "array"],
        "needs": [{"operations": [["rotate", 3]]}, {}, 5],
        "spec": [{}, 1],
    }
    for name, values in changes.items():
        for value in values:

            def change(metadata: dict[str, Any], _: dict[str, bytes], name: str = name, value: Any = value) -> None:
                metadata[name] = value

            with pytest.raises(cl.ClathrateError):
                cl.from_bytes(forged(data, change), allow_insecure=True)
    for place in range(0, len(data), 7):
        with pytest.raises(cl.ClathrateError):
            cl.from_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], allow_insecure=True)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: cl.functions.sigmoid(x, error=1e-4), 1e-5),
        (lambda x: cl.functions.sigmoid(x, error=3e-7) * cl.functions.tanh(x, error=2e-3), 1e-7),
        (lambda x: (100 * cl.functions.sigmoid(x, error=1e-3)).mean(), 1e-2),
        (lambda x: x**8, 1e-25),
    ],
)
def test_the_error_that_a_refusal_names_is_within_reach(function: Function, error: float) -> None:
    described = cl.Input((64,), bound=1.0)
    with pytest.raises(cl.errors.ParamsError) as caught:
        cl.compile(function, described, error=error)
    named = re.search(r"the closest: .*?allow an error of ([0-9.e+-]+)", str(caught.value))
    assert named is not None, caught.value
    bound = cl.compile(function, described, error=float(named[1])).results[0].error_bound
    assert bound is not None
    # And not far above what is there.
    assert 0.5 * float(named[1]) < bound <= float(named[1])


@pytest.mark.parametrize(
    ("function", "bound", "data"),
    [
        (lambda x: cl.functions.exp(x), 4.0, [4.0, -4.0, 0.0]),
        (lambda x: cl.functions.inverse_sqrt(x * x + 0.5, domain=(0.5, 2.0)), 1.0, [0.0, 0.0, 1e-3]),
        (lambda x: cl.functions.relu(x) + cl.functions.maximum(x, -x), 1.0, [1.0, -1.0, 0.0]),
    ],
)
def test_numbers_at_their_bounds_are_inside(function: Function, bound: float, data: list[float]) -> None:
    program = cl.compile(function, cl.Input((3,), bound=bound), error=2e-2)
    assert program.check(data).outside == ()


def test_keywords_beside_a_program_are_refused() -> None:
    program = cl.compile(lambda x: x * x, cl.Input((3,), bound=1.0))
    owner = cl.SecretKey.generate(program)
    for key, name, value in [(owner, "bound", 9.0), (owner, "order", "bit_reversed"), (owner.public_key(), "lanes", 2)]:
        with pytest.raises(TypeError, match=f"leave out `{name}`"):
            key.encrypt(program, [0.5, 0.5, 0.5], **{name: value})


def test_plain_vectors_before_matrices_name_a_remedy_that_works() -> None:
    def function(x: Any, w: Any) -> Any:
        return w @ x

    matrix, vector = cl.Input((4, 3), bound=1.0), cl.Input((4,), bound=1.0, plain=True)
    with pytest.raises(cl.errors.ShapeError, match=re.escape("cl.Input((1, 4), .., plain=True)")):
        cl.compile(function, matrix, vector)
    program = cl.compile(function, matrix, cl.Input((1, 4), bound=1.0, plain=True))
    owner = cl.SecretKey.generate(program)
    x, w = numbers(4, 3), numbers(1, 4)
    assert np.allclose(owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, x), w)), w @ x, atol=1e-4)


def test_forged_programs_cost_little_and_state_what_functions_need() -> None:
    params = cl.Params.preset("insecure_deep")
    program = cl.compile(lambda x: np.pad(cl.functions.sigmoid(x), 2), cl.Input((10,), bound=1.0), params=params)

    def changed(change: Callable[[dict[str, Any]], None]) -> bytes:
        def of_graph(_: dict[str, Any], sections: dict[str, bytes]) -> None:
            graph = json.loads(sections["graph"])
            for node in graph["nodes"]:
                if isinstance(node["operation"], dict):
                    change(node["operation"])
            sections["graph"] = json.dumps(graph, separators=(",", ":")).encode()

        return forged(program.to_bytes(), of_graph)

    for size in (10**7, 3 * 10**7, 2**33):
        begin = time.monotonic()
        with pytest.raises(cl.errors.ClathrateError, match="numbers of a value of a program"):
            cl.from_bytes(changed(lambda own, size=size: own.get("pad_columns", {}).update(before=size)), allow_insecure=True)
        assert time.monotonic() - begin < 2
    for field in ("domain", "error"):
        with pytest.raises(cl.errors.FileFormatError, match="states no interval or no error"):
            cl.from_bytes(changed(lambda own, field=field: own.get("smooth", {}).pop(field, None)), allow_insecure=True)


@pytest.mark.parametrize("error", [10, 3, 1, 0.5, 0.2, 0.1, 0.05, 0.01, 1e-3])
def test_functions_of_functions_compile_at_every_error(error):
    # The interval of the outer function follows the error that is chosen for the inner one.
    def function(v):
        return cl.functions.tanh(5 * cl.functions.tanh(3 * v))

    program = cl.compile(function, cl.Input((50,), bound=1.0), error=error)
    x = np.linspace(-1, 1, 50)
    assert program.check(x).difference <= program.results[0].error_bound <= error


def test_numbers_that_approximations_left_a_little_outside_are_checked():
    def function(v):
        return cl.functions.inverse(cl.functions.sqrt(v, domain=(0.25, 1)).with_bound(1.0), domain=(0.5, 1))

    for error in (1, 0.05, 0.01, 0.002):
        program = cl.compile(function, cl.Input((200,), bound=1.0), error=error)
        check = program.check(np.linspace(0.25, 1, 200))
        assert check.difference <= program.results[0].error_bound
        assert check.outside == ()
