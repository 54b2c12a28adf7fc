"""Polynomials: NumPy's conventions in the clear, the same values encrypted, plans that say what will happen."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import clathrate as cl


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def deep():
    """Degree 512, levels 0 to 9."""
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    return params, key, key.evaluation_keys(cl.keys.Needs(relinearise=True))


@pytest.mark.parametrize("domain", [(-1.0, 1.0), (0.0, 5.0), (-3.0, -2.0)])
@pytest.mark.parametrize("basis", ["power", "chebyshev"])
def test_in_the_clear_they_are_numpys(rng, basis, domain):
    coefficients = rng.normal(size=9)
    numpy_class = {"power": np.polynomial.Polynomial, "chebyshev": np.polynomial.Chebyshev}[basis]
    ours, theirs = cl.plans.Polynomial(coefficients, basis, domain), numpy_class(coefficients, domain=domain)
    x = rng.uniform(*domain, size=(3, 4))
    assert ours(x) == pytest.approx(theirs(x), abs=1e-12)
    assert ours(x + 1j) == pytest.approx(theirs(x + 1j), rel=1e-12)
    assert ours(0.5) == pytest.approx(theirs(0.5), rel=1e-12)
    assert isinstance(ours(0.5), float)
    assert ours([1, 2]).shape == (2,)


def test_fits_are_numpys_interpolants():
    ours = cl.plans.Polynomial.fit(sigmoid, 17, domain=(-4, 4))
    theirs = np.polynomial.Chebyshev.interpolate(sigmoid, 17, domain=(-4, 4))
    assert (ours.basis, ours.degree, ours.domain) == ("chebyshev", 17, (-4.0, 4.0))
    assert ours.coefficients == pytest.approx(theirs.coef, abs=1e-14)


def test_fits_take_functions_of_arrays_of_numbers_and_constants():
    assert cl.plans.Polynomial.fit(math.exp, 12)(0.3) == pytest.approx(math.exp(0.3), abs=1e-12)
    assert cl.plans.Polynomial.fit(lambda x: x if x > 0 else -x, 4).degree == 4
    assert cl.plans.Polynomial.fit(lambda x: 2.5, 3)(0.1) == pytest.approx(2.5)
    with pytest.raises(cl.errors.DataError, match=r"inf at x = 0\.92.*finite"):
        cl.plans.Polynomial.fit(lambda x: np.full_like(x, np.inf), 3)
    with pytest.raises(cl.errors.DataError, match=r"NaN at x = -0\.38"):
        cl.plans.Polynomial.fit(lambda x: np.where(x < 0, np.nan, x), 3)
    with pytest.raises(cl.errors.ShapeError, match="3 values for 5 points"):
        cl.plans.Polynomial.fit(lambda x: np.ones(3), 4)
    with pytest.raises(ZeroDivisionError):
        cl.plans.Polynomial.fit(lambda x: 1 // 0, 3)


@pytest.mark.parametrize("basis", ["power", "chebyshev"])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 8, 16, 31, 63])
def test_encrypted_values_are_the_clear_ones(deep, rng, degree, basis):
    params, key, keys = deep
    coefficients = rng.normal(size=degree + 1)
    p = cl.plans.Polynomial(coefficients / np.abs(coefficients).sum(), basis)
    x = rng.uniform(-1, 1, params.slot_count)
    plan = p.plan(params)
    y = p(key.encrypt(x).with_keys(keys))
    assert params.max_level - y.level == plan.depth == math.ceil(math.log2(degree + 1))
    assert y.scale == params.scale(y.level)
    assert np.max(np.abs(key.decrypt(y) - p(x))) < 6 * plan.error < 1e-4


def test_sigmoid_of_a_matrix(deep, rng):
    _, key, keys = deep
    x = rng.uniform(-8, 8, (5, 100))
    p = cl.plans.Polynomial.fit(sigmoid, 31, domain=(-8, 8))
    y = p(key.encrypt(x, encoding="slots").with_keys(keys))
    assert y.shape == x.shape
    assert np.max(np.abs(key.decrypt(y) - sigmoid(x))) < 5e-6


def test_products_not_rescaled_yet_are_taken_as_they_are(deep, rng):
    _, key, keys = deep
    x = rng.uniform(-1, 1, 50)
    ct = key.encrypt(x).with_keys(keys)
    p = cl.plans.Polynomial([0.1, 0.5, 0.2, 0.1])
    assert np.max(np.abs(key.decrypt(p(ct * ct)) - p(x * x))) < 1e-6


def test_plans_say_what_they_do_and_carry_it_out(deep, rng):
    params, key, keys = deep
    p = cl.plans.Polynomial.fit(sigmoid, 15, domain=(-8, 8))
    plan = p.plan(params, level=6)
    assert (plan.input_level, plan.output_level, plan.depth) == (6, 1, 5)
    # Found by search: four powers and three sums; the products of a sum share its relinearisation.
    assert (plan.products, plan.relinearisations) == (8, 7)
    figures = plan.explain().to_dict()
    assert (figures["depth"], figures["products"], figures["powers"]) == (plan.depth, plan.products, plan.powers)
    assert "8 products of ciphertexts, 7 relinearisations" in str(plan.explain())
    assert plan.needs == cl.keys.Needs(relinearise=True, level=5)
    assert plan.relinearisations + plan.rescales <= len(figures["nodes"])
    assert sum(node["products"] for node in figures["nodes"]) == plan.products
    x = rng.uniform(-8, 8, 9)
    y = plan(key.encrypt(x).with_keys(keys))
    assert y.level == 1
    assert np.max(np.abs(key.decrypt(y) - p(x))) < 6 * plan.error
    with pytest.raises(cl.errors.LevelError, match="level 6"):
        plan(key.encrypt(x, level=5).with_keys(keys))


def test_traces_give_the_plans_needs(deep, rng):
    params, key, _ = deep
    p = cl.plans.Polynomial.fit(np.tanh, 9, domain=(-3, 3))
    trace = cl.plans.trace(p, (20,), params=params)
    assert trace.needs == p.plan(params).needs
    x = rng.uniform(-3, 3, 20)
    y = p(key.encrypt(x).with_keys(key.evaluation_keys(trace.needs)))
    assert (y.level, y.scale) == (trace.result.level, trace.result.scale)
    assert np.max(np.abs(key.decrypt(y) - p(x))) < 1e-6


def test_composed_with_other_operations(deep, rng):
    params, key, _ = deep

    def circuit(x):
        return cl.plans.Polynomial([0.5, 0.25, 0.25])(x.rotate(1)) + x * 2

    keys = key.evaluation_keys(cl.plans.trace(circuit, (8,), params=params).needs)
    x = rng.uniform(-1, 1, 8)
    rolled = np.roll(x, -1)
    expected = 0.5 + 0.25 * rolled + 0.25 * rolled**2 + 2 * x
    assert np.max(np.abs(key.decrypt(circuit(key.encrypt(x).with_keys(keys))) - expected)) < 1e-6


def test_too_few_levels_keys_or_slots_are_errors_with_a_remedy(deep):
    params, key, keys = deep
    p = cl.plans.Polynomial(np.full(41, 0.02), "chebyshev", domain=(-9, 9))
    ct = key.encrypt(np.ones(3), level=4).with_keys(keys)
    with pytest.raises(cl.errors.LevelError, match="degree 40 takes 7 levels here, the ciphertext is at level 4"):
        p(ct)
    with pytest.raises(cl.errors.LevelError):
        p.plan(params, level=4)
    with pytest.raises(cl.errors.LevelError):
        p.plan(params, level=10)
    with pytest.raises(cl.errors.MissingKeyError, match="with_keys"):
        p(key.encrypt(np.ones(3)))
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
        p(key.encrypt(np.ones((2, 3))).with_keys(keys))
    with pytest.raises(cl.errors.DataError, match="scale the data down"):
        cl.plans.Polynomial([1.0, 1e30, 1.0]).plan(params, level=2)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([],), cl.errors.DataError),
        (([1, np.nan],), cl.errors.DataError),
        ((np.ones(513),), cl.errors.DataError),
        ((np.ones((2, 2)),), cl.errors.ShapeError),
        (([1], "fourier"), cl.errors.DataError),
        (([1], "power", (1, 1)), cl.errors.DataError),
        (([1], "power", (0, np.inf)), cl.errors.DataError),
        ((["a"],), TypeError),
    ],
)
def test_what_is_no_polynomial_is_refused(arguments, error):
    with pytest.raises(error):
        cl.plans.Polynomial(*arguments)


def test_complex_coefficients_give_complex_results_at_no_more_levels(deep, rng):
    params, key, keys = deep
    coefficients = rng.normal(size=12) + 1j * rng.normal(size=12)
    coefficients /= np.abs(coefficients).sum()
    x = rng.uniform(-1, 1, params.slot_count)
    for basis, theirs in (("power", np.polynomial.Polynomial), ("chebyshev", np.polynomial.Chebyshev)):
        p = cl.plans.Polynomial(coefficients, basis)
        assert p.is_complex
        assert p(x) == pytest.approx(theirs(coefficients)(x), abs=1e-12)
        assert p(0.5j) == pytest.approx(theirs(coefficients)(0.5j), abs=1e-12)
        assert isinstance(p(0.5), complex)
        y = p(key.encrypt(x).with_keys(keys))
        plan = p.plan(params)
        assert params.max_level - y.level == plan.depth == cl.plans.Polynomial(coefficients.real, basis).plan(params).depth == 4
        assert np.max(np.abs(key.decrypt(y) - p(x))) < 6 * plan.error < 1e-4
        assert p == pickle.loads(pickle.dumps(p))
        assert hash(p) == hash(cl.plans.Polynomial(coefficients, basis))
        assert p != cl.plans.Polynomial(coefficients.conj(), basis)
        assert p.coefficients == pytest.approx(coefficients)
    # Zero imaginary parts make a real polynomial.
    real = cl.plans.Polynomial(np.array([1, 2], dtype=complex))
    assert not real.is_complex
    assert real == cl.plans.Polynomial([1, 2])
    assert real.coefficients.dtype == np.float64


def test_complex_functions_are_fitted():
    p = cl.plans.Polynomial.fit(lambda x: np.exp(1j * np.pi * x), 24)
    assert p(0.25) == pytest.approx(np.exp(0.25j * np.pi), abs=1e-12)
    assert cl.plans.Polynomial.fit(lambda x: complex(0, 1) if x > 0 else 0.5, 4).is_complex


def test_plans_say_what_they_drop():
    params = cl.Params.preset("insecure_deep")
    p = cl.plans.Polynomial.fit(sigmoid, 511, domain=(-8, 8))
    plan = p.plan(params)
    assert p.degree > 400
    assert plan.degree < 256
    assert plan.dropped > 300
    assert f"degree {plan.degree} of {p.degree} given, {plan.dropped} negligible coefficients dropped" in repr(plan)
    assert f"{plan.dropped} coefficients below 2^-50 of the largest, as rounding errors" in str(plan.explain())
    assert "dropped" not in repr(cl.plans.Polynomial([0.1, 0.2, 0.3]).plan(params))


def test_they_compare_hash_print_and_pickle():
    p = cl.plans.Polynomial([1, 2, 3], "chebyshev", (0, 4))
    assert p == pickle.loads(pickle.dumps(p)) == cl.plans.Polynomial([1.0, 2.0, 3.0], basis="chebyshev", domain=(0, 4))
    assert hash(p) == hash(pickle.loads(pickle.dumps(p)))
    assert p != cl.plans.Polynomial([1, 2, 3])
    assert repr(p) == "Polynomial(degree 2, chebyshev basis on [0, 4])"


@pytest.mark.parametrize("domain", [(1e4, 1e4 + 1), (-1000.0, 1000.0), (0.0, 1e5)])
def test_errors_stay_below_their_bound_far_from_zero(domain):
    params = cl.Params.preset("insecure_deep")
    sk = cl.SecretKey.generate(params)
    keys = sk.evaluation_keys(cl.keys.Needs(relinearise=True))
    x = np.random.default_rng(5).uniform(*domain, params.slot_count)
    for polynomial in (cl.plans.Polynomial([1e-3, 1e-3], domain=domain), cl.plans.Polynomial([0.1, 0.2, 0.7], "chebyshev", domain)):
        error = sk.decrypt(polynomial(sk.encrypt(x).with_keys(keys))) - polynomial(x)
        assert np.max(np.abs(error)) < 6 * polynomial.plan(params).error
