"""Packing of samples from Python: numbers arrive, plans keep their limits, refusals name the remedy."""

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner():
    return cl.SecretKey.generate(cl.Params.preset("insecure_small"))


@pytest.mark.parametrize("method", ["rows", "column", [16], (64, 8), None])
@pytest.mark.parametrize("shape", [(1,), (5,), (1024,), (2, 1030)])
def test_samples_become_a_ciphertext(owner, rng, method, shape):
    plan = cl.plans.PackingPlan(owner.params, count=shape[-1], method=method, level=1)
    x = rng.uniform(-1, 1, shape)
    samples = owner.encrypt(x, level=1, encoding="coefficients").to_lwe()
    packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    assert (samples.degree, packed.degree, packed.rank, packed.level, packed.shape) == (1, 1024, 1, 1, shape)
    error = np.sqrt(np.mean((owner.decrypt(packed) - x) ** 2))
    # Few numbers scatter: the error of one is beyond 1.2 deviations often enough.
    assert error < 2.0 ** (-plan.precision_bits) * max(1.2, 1 + 4 / np.sqrt(x.size))


def test_samples_of_a_middle_degree_are_packed(owner, rng):
    plan = cl.plans.PackingPlan(owner.params, degree=64, method="column")
    assert (plan.degree, plan.method) == (64, "column")
    x = rng.uniform(-1, 1, 700)
    samples = owner.encrypt(x, encoding="coefficients").to_mlwe(16)
    packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    np.testing.assert_allclose(owner.decrypt(packed), x, atol=1e-7)


def test_plans_keep_the_limit_on_keys(owner):
    free = cl.plans.PackingPlan(owner.params, count=1024)
    few = cl.plans.PackingPlan(owner.params, count=1024, key_bytes=free.key_bytes // 2)
    assert few.key_bytes <= free.key_bytes // 2
    assert few.seconds >= free.seconds > 0
    keys = owner.evaluation_keys(few.needs)
    assert keys.nbytes == few.key_bytes
    text = free.explain()
    assert "\n* " in text
    assert "rows" in text
    assert free.method in repr(free)


def test_what_does_not_fit_is_refused(owner):
    with pytest.raises(cl.errors.DataError, match="allow at least"):
        cl.plans.PackingPlan(owner.params, key_bytes=1000)
    with pytest.raises(cl.errors.DataError, match="falling powers of two from 512 to 2"):
        cl.plans.PackingPlan(owner.params, method=[8, 16])
    with pytest.raises(cl.errors.DataError, match='"rows", "column"'):
        cl.plans.PackingPlan(owner.params, method="diagonal")
    with pytest.raises(TypeError, match="whole numbers"):
        cl.plans.PackingPlan(owner.params, method=3.5)
    with pytest.raises(cl.errors.ParamsError):
        cl.plans.PackingPlan(owner.params, degree=3)
    with pytest.raises(cl.errors.LevelError):
        cl.plans.PackingPlan(owner.params, level=99)
    plan = cl.plans.PackingPlan(owner.params, method="column", level=0)
    samples = owner.encrypt([1.0, 2.0], level=0, encoding="coefficients").to_lwe()
    with pytest.raises(cl.errors.MissingKeyError):
        samples.pack(plan)
    other = owner.evaluation_keys(cl.plans.PackingPlan(owner.params, method=[16], level=0).needs)
    with pytest.raises(cl.errors.MissingKeyError, match="PackingPlan"):
        samples.with_keys(other).pack(plan)
    # Keys up to a level do not serve a higher one.
    high = owner.encrypt([1.0], level=2, encoding="coefficients").to_lwe()
    with pytest.raises(cl.errors.LevelError, match="up to 0"):
        high.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    with pytest.raises(cl.ClathrateError):
        owner.encrypt([1.0], encoding="coefficients").with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
