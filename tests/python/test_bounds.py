"""Declared bounds on the numbers of ciphertexts, and refusals of what might wrap around."""

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner():
    return cl.SecretKey.generate(cl.Params.preset("matmul"))


def test_product_that_would_wrap_around_is_refused(owner):
    x = owner.encrypt(np.array([[1.0]]))
    with pytest.raises(cl.errors.DataError, match=r"add up to 5\.000e4.*room for.*scale the matrix down"):
        np.array([[5e4]]) @ x
    # Integers are not rescaled: at level 1 there is room for them.
    assert owner.decrypt(np.array([[50000]]) @ x) == pytest.approx(5e4)
    with pytest.raises(cl.errors.DataError, match="add up to"):
        np.array([[50000]]) @ owner.encrypt(np.array([[1.0]]), level=0)
    assert owner.decrypt(np.array([[1e4]]) @ x) == pytest.approx(1e4)


def test_bounds_are_carried_through_operators_and_files(owner, tmp_path):
    x = owner.encrypt(np.array([[1.0, -2.0], [3.0, 0.5]]), bound=4)
    assert x.bound == 4.0
    assert (x + x).bound == 8.0
    assert (x - 1).bound == 5.0
    assert (-x * 3).bound == 12.0
    assert (np.array([[1.0, -2.0]]) @ x).bound == 12.0
    assert x.sum(axis=0).bound == 8.0
    assert owner.public_key().encrypt([1.0], bound=2).bound == 2.0
    assert owner.encrypt([1.0]).bound is None
    path = tmp_path / "x.clt"
    x.save(path)
    assert cl.load(path, owner.params).bound == 4.0
    assert cl.from_bytes(x.to_bytes(), owner.params).bound == 4.0


def test_what_might_wrap_around_is_refused_before_it_is_computed(owner):
    x = owner.encrypt(np.array([[1.0]]), bound=1e4, level=0)
    with pytest.raises(cl.errors.DataError, match=r"as large as 4\.000e4 here.*room for"):
        x * 4
    with pytest.raises(cl.errors.DataError, match="room for"):
        np.array([[4.0]]) @ owner.encrypt(np.array([[1.0]]), bound=1e4)
    assert owner.decrypt(x) == pytest.approx(1.0)


def test_numbers_above_the_bound_are_refused(owner):
    with pytest.raises(cl.errors.DataError, match="the declared bound is 2e0"):
        owner.encrypt([1.0, -3.0], bound=2)
    for bound in [0, -1, float("nan"), float("inf")]:
        with pytest.raises(cl.errors.DataError, match="the bound on the numbers"):
            owner.encrypt([1.0], bound=bound)
    with pytest.raises(cl.errors.DataError, match="room for"):
        owner.encrypt([1.0], bound=1e30)


def test_dry_runs_refuse_inputs_without_room(owner):
    with pytest.raises(cl.errors.DataError, match="room for"):
        cl.plans.trace(lambda x: x, (3,), params=owner.params, bound=1e30)
    with pytest.raises(cl.errors.DataError, match="room for"):
        cl.plans.trace(lambda x: x, cl.Input((3,), level=0, bound=1e8), params=owner.params)


def test_chosen_parameters_have_room_for_the_inputs():
    choice = cl.Params.for_circuit(lambda x: x + 1.0, (3,), bound=1e12)
    secret = cl.SecretKey.generate(choice.params)
    x = np.array([1e12, -3e11, 0.0])
    assert np.allclose(secret.decrypt(secret.encrypt(x, bound=1e12) + 1.0), x + 1.0, atol=1.0)


def test_bounds_can_be_declared_anew(owner):
    x = owner.encrypt([0.5, -0.25], bound=1.0)
    assert (x + x).bound == 2.0
    assert (x + x).with_bound(1.0).bound == 1.0
    assert x.with_bound(None).bound is None
    found = cl.plans.trace(lambda a: (a + a).with_bound(1.0), (2,), params=owner.params, bound=1.0)
    assert found.result.bound == 1.0
    for bound, words in [(0, "the bound on the numbers"), (float("nan"), "the bound on the numbers"), (1e30, "room for")]:
        with pytest.raises(cl.errors.DataError, match=words):
            x.with_bound(bound)


def test_bootstraps_refuse_numbers_that_are_declared_too_large():
    params = cl.Params.preset("insecure_boot")
    key = cl.SecretKey.generate(params)
    plan = cl.plans.BootstrapPlan(params)
    keys = key.evaluation_keys(plan.needs)
    x = key.encrypt(np.full(512, 0.5), level=plan.input_level, bound=1.5).with_keys(keys)
    for work in (lambda: x.bootstrap(plan), lambda: cl.plans.bootstrap_batch([x, x], plan)):
        with pytest.raises(cl.errors.DataError, match=r"by the declared bound they may be as large as 1\.5"):
            work()
    assert np.allclose(key.decrypt(x.with_bound(1.0).bootstrap(plan)), 0.5, atol=1e-3)


def test_products_inside_bootstraps_refuse_weights_that_wrap_around_before_the_work():
    params = cl.Params.preset("insecure_boot")
    owner = cl.SecretKey.generate(params)
    plan = cl.plans.MamboPlan(params, [[2000.0]], columns=512, method="by rows")
    large = plan.prepare(owner.evaluation_keys(plan.needs))
    steps = []
    x = owner.encrypt(np.full(512, 1e-5), **plan.encryption)
    with pytest.raises(cl.errors.DataError, match="declare a bound below 1"):
        large.matmul(x, progress=lambda done, total: steps.append(done) or True)
    assert not steps
    small = owner.encrypt(np.full(512, 1e-5), bound=2e-5, **plan.encryption)
    assert np.allclose(owner.decrypt(large @ small), 0.02, atol=1e-3)
    with pytest.raises(cl.errors.DataError, match="may be as large as 2"):
        large @ owner.encrypt(np.full(512, 1e-5), bound=2.0, **plan.encryption)


def test_parts_and_joins_keep_their_bounds(owner):
    x = owner.encrypt(np.ones((4, 3)), bound=4.0, encoding="coefficients")
    assert [x[0].bound, x[1:3].bound, x[:, 1:].bound, x[0].reshape(1, 3).bound] == [4.0] * 4
    y = owner.encrypt(np.ones((4, 3)), bound=8.0, encoding="coefficients")
    assert cl.functions.vstack([x, y]).bound == 8.0
    assert cl.functions.vstack([x, owner.encrypt(np.ones((4, 3)), encoding="coefficients")]).bound is None
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    slots = {"encoding": "slots", "bound": 4.0}
    for lanes in (None, "most"):

        def circuit(a):
            return [cl.functions.hstack([a[0], a[1]]), a[0], a[:, 1]]

        keys = key.keys_for(lambda a: sum(part.sum() for part in circuit(a)), (4, 3), lanes=lanes, encoding="slots")
        z = key.encrypt(np.ones((4, 3)), lanes=lanes, **slots).with_keys(keys)
        assert [part.bound for part in circuit(z)][:2] == [4.0] * 2
    low = key.encrypt([[4096.0] * 3] * 2, bound=4096.0, level=0)
    with pytest.raises(cl.errors.DataError, match="room for"):
        low[0] * 12288


def test_products_of_large_errors_are_within_the_bound():
    params = cl.Params.preset("insecure_deep")
    x = np.where(np.arange(200) % 2, 1.0, -1.0)

    def power(degree):
        return cl.plans.Polynomial([0.0] * degree + [1.0], basis="chebyshev")

    tiny = cl.plans.Polynomial([0.0, 0.0, 1.0, 1.0, 1.0])
    cases = [
        # The noise times the square of the degree is about one.
        *((power(degree), x, 1.0, 2.0**bits) for degree, bits in ((63, 16), (127, 18), (255, 20))),
        # The noise is larger than the numbers.
        *((tiny, x * 1e-4, 1e-4, 2.0**bits) for bits in (14, 16, 18)),
    ]
    for _ in range(3):
        owner = cl.SecretKey.generate(params)
        keys = owner.evaluation_keys(cl.keys.Needs(relinearise=True))
        for polynomial, data, bound, scale in cases:
            result = polynomial(owner.encrypt(data, bound=bound, scale=scale).with_keys(keys))
            assert np.abs(owner.decrypt(result) - polynomial(data)).max() <= result.error_bound
        # The numbers are up to 1 by the caller's word, and the approximation is off by 0.1.
        y = cl.functions.sigmoid(8 * owner.encrypt(x, bound=1.0).with_keys(keys), error=0.1).with_bound(1.0)
        result = power(31)(y)
        assert np.abs(owner.decrypt(result) - power(31)(1 / (1 + np.exp(-8 * x)))).max() <= result.error_bound


def test_remedies_for_functions_of_numbers_above_zero_work():
    x = cl.Input((20,), bound=3.0)
    for function in (cl.functions.log, cl.functions.sqrt, cl.functions.inverse, cl.functions.inverse_sqrt):
        with pytest.raises(cl.errors.DataError, match=r"give a domain from 0\.5 to 3,"):
            cl.compile(lambda v, function=function: function(v, domain=(0.5, 2.0)), x)
        assert cl.compile(lambda v, function=function: function(v, domain=(0.5, 3.0)), x).results[0].bound
