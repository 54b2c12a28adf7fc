"""Linear transforms and bootstrapping from Python."""

import numpy as np
import pytest

import clathrate as cl
from clathrate.errors import CancelledError, DataError, LevelError, MissingKeyError, ParamsError, ShapeError


@pytest.fixture(scope="module")
def owner() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_boot"))


@pytest.mark.parametrize("shape", [(8, 8), (3, 20), (20, 3)])
@pytest.mark.parametrize("is_complex", [False, True])
def test_a_map_is_the_product_with_its_matrix(small, rng, shape, is_complex):
    matrix = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)
    transform = cl.plans.LinearTransform(matrix)
    row = rng.uniform(-1, 1, shape[1])
    assert transform.shape == shape
    np.testing.assert_allclose(transform(row), matrix @ row, atol=1e-12)
    params, secret_key = small.params, small.key
    plan = transform.plan(params)
    keys = secret_key.evaluation_keys(plan.needs)
    ciphertext = secret_key.encrypt(row, capacity=transform.slots).with_keys(keys)
    np.testing.assert_allclose(secret_key.decrypt(plan(ciphertext)), matrix @ row, atol=1e-4)
    np.testing.assert_allclose(secret_key.decrypt(transform(ciphertext)), matrix @ row, atol=1e-4)
    assert plan.nbytes > 0
    assert plan.input_level == params.max_level


def test_diagonals_and_their_refusals(small):
    shift = cl.plans.LinearTransform.from_diagonals({-1: [1.0], 2: [0.5, 1j]}, 8)
    x = np.arange(8.0)
    np.testing.assert_allclose(shift(x), np.roll(x, 1) + np.tile([0.5, 1j], 4) * np.roll(x, -2))
    assert shift.shifts == [2, 7]
    for diagonals, slots in [({0: [1.0, 2.0, 3.0]}, 8), ({0: [1.0]}, 6), ({0: [np.nan]}, 8), ({0: [1.0] * 16}, 8)]:
        with pytest.raises(DataError):
            cl.plans.LinearTransform.from_diagonals(diagonals, slots)
    with pytest.raises(ShapeError, match="two axes"):
        cl.plans.LinearTransform(np.ones(3))
    with pytest.raises(DataError, match="zero"):
        cl.plans.LinearTransform(np.zeros((2, 2))).plan(small.params)
    with pytest.raises(LevelError):
        cl.plans.LinearTransform(np.eye(2)).plan(small.params, level=0)
    with pytest.raises(MissingKeyError):
        cl.plans.LinearTransform(np.ones((2, 2)))(small.key.encrypt([1.0, 2.0]))


@pytest.mark.parametrize("slots", [512, 16])
@pytest.mark.parametrize("is_complex", [False, True])
def test_bootstrapped_numbers_are_the_numbers(owner, rng, slots, is_complex):
    plan = cl.plans.BootstrapPlan(owner.params, slots=slots, is_complex=is_complex)
    keys = owner.evaluation_keys(plan.needs)
    x = rng.uniform(-1, 1, (2, slots)) + (1j * rng.uniform(-1, 1, (2, slots)) if is_complex else 0)
    low = owner.encrypt(x, level=plan.input_level, capacity=slots, encoding="slots").with_keys(keys)
    fresh = low.bootstrap(plan)
    assert (fresh.level, fresh.shape) == (plan.output_level, (2, slots))
    assert plan.log2_failure < -128
    np.testing.assert_allclose(owner.decrypt(fresh), x, atol=2**-14)
    np.testing.assert_allclose(owner.decrypt(low.bootstrap()), x, atol=2**-14)
    np.testing.assert_allclose(owner.decrypt((fresh * fresh).rescale()), x * x, atol=2**-12)
    assert "modular reduction" in plan.explain()


def test_what_cannot_be_bootstrapped_is_refused_with_the_reason(owner, small):
    with pytest.raises(ParamsError, match="segment"):
        cl.plans.BootstrapPlan(small.params)
    with pytest.raises(DataError, match="power of two"):
        cl.plans.BootstrapPlan(owner.params, slots=48)
    plan = cl.plans.BootstrapPlan(owner.params, slots=16)
    x = owner.encrypt(np.ones(16), level=plan.input_level)
    with pytest.raises(MissingKeyError):
        x.bootstrap(plan)
    with pytest.raises(MissingKeyError, match=r"needs \d+ keys, .* GiB.*plan.needs"):
        x.with_keys(owner.evaluation_keys(cl.keys.Needs(relinearise=True))).bootstrap(plan)
    with pytest.raises(LevelError):
        owner.encrypt(np.ones(16), level=plan.input_level - 1).bootstrap(plan)
    with pytest.raises(ShapeError, match="capacity of 16"):
        owner.encrypt(np.ones(8), level=plan.input_level).bootstrap(plan)


def test_progress_tells_the_stages_and_can_stop(owner):
    plan = cl.plans.BootstrapPlan(owner.params, slots=16)
    x = owner.encrypt(np.ones(16), level=plan.input_level).with_keys(owner.evaluation_keys(plan.needs))
    told = []
    x.bootstrap(plan, progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 6) for done in range(7)]
    with pytest.raises(CancelledError):
        x.bootstrap(plan, progress=lambda done, _: done < 3)


def test_a_trace_finds_the_keys_of_a_bootstrap(owner):
    traced = cl.plans.trace(lambda x: x.bootstrap(), (512,), params=owner.params)
    keys = owner.evaluation_keys(traced.needs)
    x = np.linspace(-1, 1, 512)
    np.testing.assert_allclose(owner.decrypt(owner.encrypt(x).with_keys(keys).bootstrap()), x, atol=2**-14)


def test_rounds_add_precision_and_take_levels(owner, rng):
    one, two = (cl.plans.BootstrapPlan(owner.params, rounds=rounds) for rounds in (1, 2))
    assert cl.plans.BootstrapPlan(owner.params).rounds == one.rounds == 1
    assert (two.rounds, two.output_level) == (2, one.output_level - 1)
    assert two.precision_bits > one.precision_bits + 10
    assert two.log2_failure == pytest.approx(one.log2_failure + 1)
    assert two.needs == one.needs
    x = rng.uniform(-1, 1, 512)
    low = owner.encrypt(x, level=two.input_level).with_keys(owner.evaluation_keys(two.needs))
    told = []
    fresh = low.bootstrap(two, progress=lambda done, total: told.append((done, total)))
    error = np.sqrt(np.mean((owner.decrypt(fresh) - owner.decrypt(low)) ** 2))
    assert -np.log2(error) == pytest.approx(two.precision_bits, abs=0.3)
    assert told[0] == (0, 12)
    assert told[-1] == (12, 12)
    with pytest.raises(DataError, match="use 1 to 3"):
        cl.plans.BootstrapPlan(owner.params, rounds=9)


def test_a_trace_bounds_the_error_behind_a_bootstrap(owner):
    plan = cl.plans.BootstrapPlan(owner.params)
    trace = cl.plans.trace(lambda x: x.bootstrap(plan), (512,), params=owner.params, encoding="slots", bound=1.0)
    assert trace.inputs[0].error_bound < trace.result.error_bound < 1e-4
    larger = cl.plans.trace(lambda x: x.bootstrap(plan), (512,), params=owner.params, encoding="slots", bound=8.0)
    assert trace.result.error_bound < larger.result.error_bound < 16 * trace.result.error_bound
    assert larger.result.bound == pytest.approx(8.0)


def power(x):
    """x to the 32nd, which takes five levels of the three that there are."""
    for _ in range(5):
        x = (x * x).rescale()
    return x


def test_operators_bootstrap_where_levels_run_out(owner, rng):
    trace = cl.plans.trace(power, (512,), params=owner.params, level=6)
    lowest, highest = owner.params.application_levels
    assert (lowest, highest) == (3, 6)
    assert trace.bootstrap_below in range(lowest, highest)
    keys = owner.evaluation_keys(trace.needs)
    x = rng.uniform(0.8, 1, 512)
    y = power(owner.encrypt(x, level=6).with_keys(keys, bootstrap_below=trace.bootstrap_below))
    assert y.level == trace.result.level
    np.testing.assert_allclose(owner.decrypt(y), x**32, atol=1e-3)
    # Without being told to, and without the keys, nothing is bootstrapped.
    low = owner.encrypt(x, level=3)
    assert (low.with_keys(keys) * low).level == 3
    assert (low.with_keys(keys, bootstrap_below=3) * low).level == 6
    assert (low * 0.5).level == 3
    plain = owner.encrypt(x, level=6).with_keys(owner.evaluation_keys(cl.keys.Needs(relinearise=True)), bootstrap_below=3)
    for _ in range(3):
        plain = (plain * plain).rescale()
    assert plain.level == lowest
    assert (plain * plain).level == lowest
    with pytest.raises(cl.errors.DataError, match="3 to 5"):
        owner.encrypt(x, level=6).with_keys(keys, bootstrap_below=2)
    other = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    relinearise = other.evaluation_keys(cl.keys.Needs(relinearise=True))
    with pytest.raises(cl.errors.ParamsError, match="cannot be bootstrapped"):
        other.encrypt(x[:8]).with_keys(relinearise, bootstrap_below=2)
    assert other.params.application_levels is None


def test_a_trace_places_the_bootstrap_by_price(owner):
    """An array that is used several times at too low a level is bootstrapped once, before, if that costs less."""

    def branches(x):
        y = (x * x).rescale()
        # Each branch is one level too long for what is left of y.
        return [((y * y).rescale() * number).rescale() for number in (0.5, 0.25, 0.125)]

    late = cl.plans.trace(branches, (512,), params=owner.params, level=5, bootstrap_below=3)
    best = cl.plans.trace(branches, (512,), params=owner.params, level=5)
    assert late.bootstrap_below == 3
    assert best.bootstrap_below == 4
    assert best.seconds < 0.6 * late.seconds
    assert "automatic bootstrap" in best.explain()
    # Where levels suffice, nothing is bootstrapped.
    assert cl.plans.trace(branches, (512,), params=owner.params, level=6).bootstrap_below is None


def test_real_arrays_are_bootstrapped_in_pairs(owner, rng):
    plan = cl.plans.BootstrapPlan(owner.params, slots=512)
    keys = owner.evaluation_keys(plan.needs)
    x, y = rng.uniform(-1, 1, (2, 512))
    fresh = cl.plans.bootstrap_batch([owner.encrypt(x, level=3).with_keys(keys), owner.encrypt(y, level=3)], plan)
    for array, expected in zip(fresh, (x, y), strict=True):
        assert array.level == plan.output_level
        np.testing.assert_allclose(owner.decrypt(array), expected, atol=2**-14)
    rows = rng.uniform(-1, 1, (5, 512))
    np.testing.assert_allclose(owner.decrypt(owner.encrypt(rows, level=3, encoding="slots").with_keys(keys).bootstrap()), rows, atol=2**-14)


def test_keys_of_a_bootstrap_fit_into_the_bytes_that_are_given(owner, rng):
    free = cl.plans.BootstrapPlan(owner.params)
    few = cl.plans.BootstrapPlan(owner.params, key_bytes=free.key_bytes // 2)
    keys = owner.evaluation_keys(few.needs)
    assert few.key_bytes <= free.key_bytes // 2
    x = rng.uniform(-1, 1, 512)
    fresh = owner.encrypt(x, level=3).with_keys(keys).bootstrap(few)
    np.testing.assert_allclose(owner.decrypt(fresh), x, atol=2**-14)
    with pytest.raises(cl.errors.DataError, match="allow at least"):
        cl.plans.BootstrapPlan(owner.params, key_bytes=1000)
    plan = cl.plans.LinearTransform(np.eye(16)[::-1] + np.eye(16)).plan(owner.params, keys=2)
    assert len(plan.rotations) <= 2
    with pytest.raises(cl.errors.DataError, match="allow at least"):
        cl.plans.LinearTransform(np.eye(16)[::-1]).plan(owner.params, key_bytes=1)


def test_needs_name_the_keys_that_only_a_bootstrap_has(owner):
    others = cl.plans.BootstrapPlan(owner.params).needs.to_dict()["others"]
    assert any("raise the modulus" in name for name in others)
    assert any("change the secret from" in name and level == 0 for name, level in others.items())
    assert "others" not in cl.keys.Needs(relinearise=True, shared_mask=2).to_dict()


def test_traces_of_operations_that_take_several_levels_find_a_place(owner, rng):
    polynomial = cl.plans.Polynomial([0, 0.4, 0.5])

    def repeated(x):
        for _ in range(4):
            x = polynomial(x)
        return x

    for params, level in [(owner.params, 6), (cl.Params.preset("insecure_boot_last"), 4)]:
        trace = cl.plans.trace(repeated, (512,), params=params, level=level)
        lowest, highest = params.application_levels
        assert trace.bootstrap_below in range(lowest, highest)
        assert trace.result.level >= lowest
    few = cl.plans.trace(power, (8,), params=owner.params, level=6, capacity=8)
    assert few.bootstrap_below is not None


def test_limits_of_memory_are_numbers(owner, monkeypatch):
    needs = cl.plans.BootstrapPlan(owner.params).needs
    for limit in ("abc", "-1", "1e9"):
        monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", limit)
        with pytest.raises(cl.errors.DataError, match="whole number of bytes"):
            owner.evaluation_keys(needs)
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "1000000")
    with pytest.raises(cl.errors.NotEnoughMemoryError, match="GiB are free"):
        owner.evaluation_keys(needs)
    with pytest.raises(MemoryError):
        owner.evaluation_keys(needs)
    monkeypatch.setenv("CLATHRATE_MEMORY_LIMIT", "")
    assert owner.evaluation_keys(cl.keys.Needs(relinearise=True)).has_relinearisation


@pytest.mark.parametrize("trusted_map", [False, True])
def test_plans_of_linear_transforms_have_files(small, tmp_path, trusted_map):
    matrix = np.random.default_rng(3).uniform(-1, 1, (16, 16))
    plan = cl.plans.LinearTransform(matrix).plan(small.params)
    row = np.linspace(-1, 1, 16)
    ct = small.key.encrypt(row).with_keys(small.key.evaluation_keys(plan.needs))
    assert plan.nbytes == 0
    assert plan.encode() == plan.nbytes
    path = tmp_path / "plan.clt"
    assert plan.save(path) == path.stat().st_size > plan.nbytes > 0
    again = cl.plans.LinearTransformPlan.load(path, small.params, trusted_map=trusted_map)
    assert (again.nbytes, again.rotations, again.input_level) == (plan.nbytes, plan.rotations, plan.input_level)
    assert again(ct).to_bytes() == plan(ct).to_bytes()
    assert repr(cl.load(path, small.params)) == repr(plan)
    with pytest.raises(TypeError, match="pass the parameters too"):
        cl.load(path)
    with pytest.raises(cl.errors.WrongParamsError):
        cl.plans.LinearTransformPlan.load(path, cl.Params.preset("insecure_deep"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(cl.errors.FileFormatError):
        cl.plans.LinearTransformPlan.load(path, small.params, trusted_map=trusted_map)


def test_plans_may_keep_nothing(small):
    plan = cl.plans.LinearTransform(np.eye(16)[::-1]).plan(small.params, on_the_fly=True)
    ct = small.key.encrypt(np.arange(16) / 16).with_keys(small.key.evaluation_keys(plan.needs))
    assert np.allclose(small.key.decrypt(plan(ct)), np.arange(16)[::-1] / 16, atol=1e-4)
    assert plan.nbytes == 0
    with pytest.raises(cl.errors.DataError, match="on_the_fly"):
        plan.encode()


def test_arcsines_are_odd_and_take_levels():
    params = cl.Params.preset("insecure_boot")
    with pytest.raises(cl.errors.DataError, match="odd number from 3 to 15"):
        cl.plans.BootstrapPlan(params, arcsine=4)
    # Eight levels are those of the polynomial and of three double angles; an arcsine leaves fewer double angles, which is too imprecise.
    with pytest.raises(cl.errors.ParamsError):
        cl.plans.BootstrapPlan(params, arcsine=3)


@pytest.mark.parametrize("is_complex", [False, True])
def test_rows_in_slots_multiply_with_matrices_on_both_sides(small, rng, is_complex):
    matrix = rng.uniform(-1, 1, (8, 8)) + (1j * rng.uniform(-1, 1, (8, 8)) if is_complex else 0)
    needs = cl.keys.Needs(rotations=range(1, 8))
    keys = small.key.evaluation_keys(needs)
    x, rows = rng.uniform(-1, 1, 8), rng.uniform(-1, 1, (3, 8))
    vector = small.key.encrypt(x).with_keys(keys)
    np.testing.assert_allclose(small.key.decrypt(matrix @ vector), matrix @ x, atol=1e-4)
    np.testing.assert_allclose(small.key.decrypt(vector @ matrix), x @ matrix, atol=1e-4)
    several = small.key.encrypt(rows, encoding="slots").with_keys(keys)
    np.testing.assert_allclose(small.key.decrypt(several @ matrix), rows @ matrix, atol=1e-4)
    assert (several @ matrix).level == several.level - 1
    tall = rng.uniform(-1, 1, (8, 3))
    np.testing.assert_allclose(small.key.decrypt(vector @ tall), x @ tall, atol=1e-4)
    assert (vector @ tall).shape == (3,)


def test_products_with_rows_in_slots_refuse_what_does_not_fit(small):
    vector = small.key.encrypt(np.ones(8))
    with pytest.raises(MissingKeyError):
        np.ones((8, 8)) @ vector
    with pytest.raises(ShapeError):
        np.ones((8, 7)) @ vector
    with pytest.raises(ShapeError):
        vector @ np.ones((7, 8))
    with pytest.raises(ShapeError, match=r"8 numbers .* 1"):
        vector @ np.ones((8, 1, 1))
    with pytest.raises(ShapeError, match="one length"):
        vector @ np.ones(7)
    with pytest.raises(MissingKeyError, match="needs no key"):
        small.key.encrypt(np.ones((8, 8)), encoding="coefficients") @ np.ones((8, 8))
    with pytest.raises(MissingKeyError):
        vector @ small.key.encrypt(np.ones((8, 8)))
