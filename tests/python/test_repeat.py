"""`repeat`: what a loop computes, with the same choices for all calls."""

import json
from collections import Counter

import numpy as np
import pytest
from test_passes import clear

import clathrate as cl

X = np.random.default_rng(0).normal(size=(20, 4)) / 3
Y = (np.random.default_rng(1).uniform(size=20) < 0.5) * 1.0
VECTOR = cl.Input((4,), bound=1.0)


def step(w):
    return (w - X.T @ (cl.functions.sigmoid(X @ w, domain=(-4, 4)) - Y) / 20).with_bound(1.0)


def looped(times):
    def function(w):
        for _ in range(times):
            w = step(w)
        return w

    return function


def origins(program):
    return [node.get("origin") for node in json.loads(program._native.parts()[0])]


def test_a_repeated_step_computes_what_a_loop_does():
    program = cl.compile(lambda w: cl.repeat(3, step, w), VECTOR, error=1e-2)
    loop = cl.compile(looped(3), VECTOR, error=1e-2)
    assert program.graph().count("\n") == loop.graph().count("\n")
    w = np.random.default_rng(2).uniform(-0.5, 0.5, 4)
    assert np.abs(clear(program, w)[0] - clear(loop, w)[0]).max() <= 1e-13
    owner = cl.SecretKey.generate(program)
    found = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, w)))
    assert np.abs(found - clear(program, w)[0]).max() <= 1e-2


def test_all_calls_but_the_first_are_alike():
    program = cl.compile(lambda w: cl.repeat(4, step, w), VECTOR, error=1e-2, passes=())
    found = origins(program)
    counts = Counter(own for own in found if own is not None)
    assert set(counts.values()) == {3}
    assert len(found) == 4 * len(counts)
    # Functions of all alike calls have one error.
    errors = {line.split("error=")[1].split(",")[0] for line in program.graph().splitlines()[len(counts) :] if "smooth" in line}
    assert len(errors) == 1
    # Files keep what is alike.
    assert origins(cl.from_bytes(program.to_bytes())) == found
    # Passes keep it, too.
    assert Counter(own for own in origins(cl.compile(lambda w: cl.repeat(4, step, w), VECTOR, error=1e-2)) if own is not None)


def test_parts_within_parts_are_alike():
    def inner(w):
        return cl.repeat(3, lambda v: v * v - 0.5, w) * 0.5

    program = cl.compile(lambda w: cl.repeat(3, inner, w), VECTOR, passes=())
    counts = Counter(own for own in origins(program) if own is not None)
    # Of the first outer call only the inner calls two and three are alike; the others are so in each of two calls.
    assert sorted(counts.values()) == [2, 2, 2, 2, 2, 4, 4]
    w = np.linspace(-1, 1, 4)
    expected = w
    for _ in range(3):
        for _ in range(3):
            expected = expected * expected - 0.5
        expected = expected * 0.5
    assert np.abs(clear(program, w)[0] - expected).max() <= 1e-13


def test_several_arrays_and_arrays_that_are_not_encrypted_yet():
    def function(x):
        return cl.repeat(3, lambda a, b: (a + b, b * x), np.zeros(4), x)

    x = np.linspace(-1, 1, 4)
    a, b = clear(cl.compile(function, VECTOR), x)
    assert np.abs(a - (x + x**2 + x**3)).max() <= 1e-13
    assert np.abs(b - x**4).max() <= 1e-13
    # Plain arrays, and arrays that are encrypted already.
    plain = function(x)
    assert np.abs(plain[0] - a).max() <= 1e-13
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_deep"))
    ct = owner.encrypt(x, bound=1.0).with_keys(owner.evaluation_keys(cl.keys.Needs(relinearise=True)))
    assert np.abs(owner.decrypt(function(ct)[1]) - x**4).max() <= 1e-3
    assert cl.repeat(0, step, x) is x


def test_bad_repeats_are_refused():
    with pytest.raises(cl.errors.DataError, match="`times` is -1"):
        cl.repeat(-1, step, X)
    with pytest.raises(TypeError):
        cl.repeat(1.5, step, X)
    with pytest.raises(cl.errors.DataError, match="at least one array"):
        cl.repeat(2, step)
    with pytest.raises(cl.errors.DataError, match="takes 1 arrays and returned 2"):
        cl.repeat(2, lambda w: (w, w), X)
    with pytest.raises(cl.errors.DataError, match="takes 1 arrays and returned 2"):
        cl.compile(lambda w: cl.repeat(3, lambda v: (v, v) if v is not w else v * 2, w), VECTOR)
