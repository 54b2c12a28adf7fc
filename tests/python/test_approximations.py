"""Functions that polynomials approximate, of plain and of encrypted numbers, beside the functions themselves."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from conftest import Party, check, numbers, party

import clathrate as cl

SMOOTH = [
    (cl.functions.sigmoid, lambda t: 1 / (1 + np.exp(-t)), (-8.0, 8.0)),
    (cl.functions.tanh, np.tanh, (-4.0, 4.0)),
    (cl.functions.silu, lambda t: t / (1 + np.exp(-t)), (-8.0, 8.0)),
    (cl.functions.gelu, lambda t: 0.5 * t * (1 + np.vectorize(math.erf)(t / 2**0.5)), (-8.0, 8.0)),
    (cl.functions.exp, np.exp, (-4.0, 4.0)),
    (cl.functions.log, np.log, (0.1, 2.0)),
    (cl.functions.inverse, lambda t: 1 / t, (0.25, 3.0)),
    (cl.functions.sqrt, np.sqrt, (0.01, 1.0)),
    (cl.functions.inverse_sqrt, lambda t: 1 / np.sqrt(t), (0.1, 1.0)),
]


@pytest.mark.parametrize(("function", "exact", "domain"), SMOOTH)
@pytest.mark.parametrize("error", [1e-1, 1e-3, 1e-6])
def test_smooth_functions_reach_the_error(function, exact, domain: tuple[float, float], error: float) -> None:
    x = np.linspace(*domain, 9973)
    assert np.abs(function(x, error=error, domain=domain) - exact(x)).max() <= 1.01 * error


@pytest.mark.parametrize(("margin", "error", "bound"), [(0.5, 1e-2, 1.0), (0.1, 1e-3, 1.0), (1e-3, 1e-6, 1.0), (0.01, 1e-2, 8.0)])
def test_signs_reach_the_error(margin: float, error: float, bound: float) -> None:
    x = np.concatenate([np.geomspace(margin, bound, 4999), np.linspace(margin, bound, 4999)])
    for sign in (-1, 1):
        assert np.abs(cl.functions.sign(sign * x, margin=margin, error=error, bound=bound) - sign).max() <= 1.01 * error
    near = cl.functions.sign(np.linspace(0, margin, 99), margin=margin, error=error, bound=bound)
    assert near.min() >= -1e-9
    assert near.max() <= 1 + 1.01 * error


@pytest.mark.parametrize("error", [0.1, 0.01, 1e-4])
@pytest.mark.parametrize("bound", [1.0, 5.0])
def test_functions_with_a_kink_reach_the_error(error: float, bound: float) -> None:
    x = np.linspace(-bound, bound, 9973)
    assert np.abs(cl.functions.relu(x, error=error, bound=bound) - np.maximum(x, 0)).max() <= 1.01 * error
    assert np.abs(cl.functions.absolute(x, error=error, bound=bound) - np.abs(x)).max() <= 1.01 * error
    y = x[::-1] ** 3 / bound**2
    assert np.abs(cl.functions.maximum(x, y, error=error, bound=bound) - np.maximum(x, y)).max() <= 1.01 * error
    assert np.abs(cl.functions.minimum(x, y, error=error, bound=bound) - np.minimum(x, y)).max() <= 1.01 * error


@pytest.mark.parametrize("count", [1, 2, 5, 16, 300])
@pytest.mark.parametrize("error", [0.5, 1e-1, 1e-3])
@pytest.mark.parametrize("bound", [0.5, 2.0, 3.0])
def test_softmax_reaches_the_error(count: int, error: float, bound: float) -> None:
    x = np.random.default_rng(3).uniform(-bound, bound, size=(200, count))
    x[0], x[1], x[2] = -bound, bound, np.where(np.arange(count) == 0, bound, -bound)
    exact = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
    assert np.abs(cl.functions.softmax(x, error=error, bound=bound) - exact).max() <= error


@pytest.fixture(scope="module")
def deep() -> Party:
    return party("insecure_deep")


def test_functions_of_encrypted_numbers(deep: Party) -> None:
    x, y = numbers(5), numbers(5, seed=2)
    for function in (
        lambda t: cl.functions.sigmoid(4 * t),
        lambda t: cl.functions.gelu(t, domain=(-2, 2)),
        lambda t: cl.functions.inverse(t + 2, domain=(1, 3)),
        lambda t: cl.functions.relu(t, error=0.05),
        lambda t: cl.functions.sign(t * t + 0.25, margin=0.25, bound=1.25),
    ):
        check(deep, function, x, tolerance=1e-4)
    check(deep, lambda s, t: cl.functions.maximum(s, t, error=0.05), x, y, tolerance=1e-4)
    check(deep, lambda t: cl.functions.softmax(t, error=0.01, bound=1.0), x, tolerance=1e-3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cl.functions.inverse(1.0, domain=(-1, 1)), "above 0"),
        (lambda: cl.functions.log(1.0, domain=(0, 1)), "above 0"),
        (lambda: cl.functions.sign(0.5, margin=2.0), "not below the bound"),
        (lambda: cl.functions.sign(0.5, margin=0.0), "above 0"),
        (lambda: cl.functions.sign(0.5, margin=1e-15, error=1e-9), "widen the margin"),
        (lambda: cl.functions.relu(0.5, error=-1), "above 0"),
        (lambda: cl.functions.sigmoid(0.5, error=0.0), "above 0"),
        (lambda: cl.functions.exp(0.5, domain=(-700, 700)), "degree 511"),
    ],
)
def test_functions_that_cannot_be_planned(call, words: str) -> None:
    with pytest.raises(cl.errors.DataError, match=words):
        call()


def test_a_fit_to_an_error_takes_the_least_degree() -> None:
    found = cl.plans.Polynomial.fit(np.exp, domain=(-1, 1), error=1e-5)
    x = np.linspace(-1, 1, 999)
    assert np.abs(found(x) - np.exp(x)).max() <= 1e-5
    assert np.abs(cl.plans.Polynomial.fit(np.exp, found.degree - 1)(x) - np.exp(x)).max() > 1e-5
    for arguments in ({}, {"degree": 5, "error": 1e-3}):
        with pytest.raises(TypeError, match="either a degree or an error"):
            cl.plans.Polynomial.fit(np.exp, **arguments)


@pytest.mark.parametrize(("margin", "error"), [(0.1, 1e-2), (1e-3, 1e-3), (1e-4, 1e-4)])
def test_signs_bear_noise_at_the_ends(margin: float, error: float) -> None:
    x = np.concatenate([np.geomspace(margin, 1, 4999), np.linspace(margin, 1, 4999)])
    noisy = np.minimum(x * (1 + 1e-5), 1 + 1e-5)
    assert np.abs(cl.functions.sign(noisy, margin=margin, error=error) - 1).max() <= 2 * error


def test_dry_runs_bound_the_errors_of_compositions() -> None:
    params = cl.Params.preset("insecure_deep")
    for circuit in (
        lambda x: cl.functions.sign(x, margin=0.1, error=1e-2),
        lambda x: cl.functions.relu(x, error=0.05),
        lambda x: cl.functions.softmax(x, error=0.1, bound=0.5),
    ):
        found = cl.plans.trace(circuit, (5,), params=params, bound=0.5)
        assert found.result.error_bound < 1.0, found.result.error_bound


def test_what_is_in_the_padding_does_not_spoil_polynomials_and_powers(deep: Party) -> None:
    x = 100 + numbers(5)
    check(
        deep,
        lambda x: (
            cl.plans.Polynomial.fit(np.tanh, 15, domain=(-4, 4))(x - x.mean()) if isinstance(x, cl.Ciphertext) else np.tanh(x - x.mean())
        ),
        x,
        tolerance=0.02,
    )
    check(deep, lambda x: (x - x.mean()) ** 5, x, tolerance=1e-2)


def test_lists_are_arrays_to_functions() -> None:
    assert np.abs(cl.functions.maximum([1.0, -1.0], [0.5, 0.5]) - [1.0, 0.5]).max() < 0.02
    assert np.abs(cl.functions.relu([0.5, -0.5], error=1e-4) - [0.5, 0.0]).max() < 2e-4
    assert abs(cl.functions.relu(0.5, error=0.6) - 0.5) <= 0.6
    with pytest.raises(cl.errors.ShapeError, match="at least one axis"):
        cl.functions.softmax(0.5)
    with pytest.raises(cl.errors.DataError, match="not below 1"):
        cl.functions.softmax([0.5], error=2.0)


@pytest.mark.parametrize(("bound", "error"), [(8.0, 1e-3), (4.0, 1e-6), (400.0, 0.1)])
def test_a_softmax_out_of_reach_tells_a_bound_and_an_error_within(owner: Party, bound: float, error: float) -> None:
    x = owner.key.encrypt(np.zeros(3))
    tolerance = f"{error:g}".replace("e-0", "e-")
    with pytest.raises(
        cl.errors.DataError, match=rf"softmax of 3 numbers with `bound` {bound:g} and `error` {tolerance}: .*lower `bound` to"
    ) as caught:
        cl.functions.softmax(x, bound=bound, error=error)
    message = str(caught.value)
    lower = float(re.search(r"lower `bound` to (\S+);", message).group(1))
    data = np.array([-lower, 0.3, lower])
    expected = np.exp(data) / np.exp(data).sum()
    assert 1.0 < lower < bound
    assert np.abs(cl.functions.softmax(data, bound=lower, error=error) - expected).max() < error
    larger = re.search(r"raise `error` to (\S+)$", message)
    if bound == 4.0:
        within = float(larger.group(1))
        data = np.array([-bound, 0.3, bound])
        assert np.abs(cl.functions.softmax(data, bound=bound, error=within) - np.exp(data) / np.exp(data).sum()).max() < within
    else:
        assert larger is None
        assert message.endswith("no `error` below 1 is within reach of this bound")


def test_norms_and_deviations_of_plain_numbers_are_those_of_numpy() -> None:
    data = numbers(4, 6)
    for axis in (None, 0, 1):
        for keepdims in (False, True):
            found = cl.functions.norm(data, axis, domain=(0.3, 8), keepdims=keepdims)
            np.testing.assert_allclose(found, np.linalg.norm(data, axis=axis, keepdims=keepdims), atol=1e-3)
            found = cl.functions.std(data, axis, domain=(0.1, 3), keepdims=keepdims, ddof=1)
            np.testing.assert_allclose(found, data.std(axis=axis, keepdims=keepdims, ddof=1), atol=1e-3)


def test_norms_and_deviations_refuse_what_they_cannot_be(owner: Party) -> None:
    encrypted = owner.key.encrypt(np.array([1.0, 1j]))
    for function in (cl.functions.norm, cl.functions.std):
        for x in (encrypted, [1.0, 1j]):
            with pytest.raises(cl.errors.DataError, match=r"of complex numbers: take it of `x\.real_part\(\)`"):
                function(x, domain=(0.5, 1))
        with pytest.raises(cl.errors.DataError, match="above 0"):
            function([1.0, 2.0], domain=(0, 1))


def test_a_maximum_is_no_larger_than_both_may_be():
    """The remedy for `np.max`: maxima of an array and its rotations, whose bounds do not grow."""
    params = cl.Params(name="maxima", degree=1024, steps=[[35.0, 35.0], *([[45.0]] * 40)], special=[48.0] * 3, log2_scale=45, insecure=True)
    owner = cl.SecretKey.generate(params)

    def largest(x):
        for step in (2, 1):
            x = cl.functions.maximum(x, x.rotate(step), error=0.05)
        return x

    keys = owner.keys_for(largest, (4,), bound=1.0)
    x = np.array([0.25, -1.0, 0.9, 0.5])
    y = largest(owner.encrypt(x, bound=1.0).with_keys(keys))
    assert 1.0 <= y.bound <= 1.1 + 1e-9
    assert abs(owner.decrypt(y)[0] - 0.9) < 0.1
    low = cl.functions.minimum(owner.encrypt(x, bound=1.0).with_keys(keys), 0.5, error=0.05)
    assert low.bound <= 1.05 + 1e-9
