"""Declared bounds on the numbers of ciphertexts, and refusals of what might wrap around."""

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner():
    return cl.SecretKey.generate(cl.Params.preset("matmul"))


def test_product_that_would_wrap_around_is_refused(owner):
    x = owner.encrypt(np.array([[1.0]]))
    with pytest.raises(cl.DataError, match=r"add up to 5\.000e4.*room for.*scale the matrix down"):
        np.array([[5e4]]) @ x
    # Integers are not rescaled: at level 1 there is room for them.
    assert owner.decrypt(np.array([[50000]]) @ x) == pytest.approx(5e4)
    with pytest.raises(cl.DataError, match="add up to"):
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
    with pytest.raises(cl.DataError, match=r"as large as 4\.000e4 here.*room for"):
        x * 4
    with pytest.raises(cl.DataError, match="room for"):
        np.array([[4.0]]) @ owner.encrypt(np.array([[1.0]]), bound=1e4)
    assert owner.decrypt(x) == pytest.approx(1.0)


def test_numbers_above_the_bound_are_refused(owner):
    with pytest.raises(cl.DataError, match="the declared bound is 2e0"):
        owner.encrypt([1.0, -3.0], bound=2)
    for bound in [0, -1, float("nan"), float("inf")]:
        with pytest.raises(cl.DataError, match="the bound on the numbers"):
            owner.encrypt([1.0], bound=bound)
    with pytest.raises(cl.DataError, match="room for"):
        owner.encrypt([1.0], bound=1e30)


def test_dry_runs_refuse_inputs_without_room(owner):
    with pytest.raises(cl.DataError, match="room for"):
        cl.trace(lambda x: x, (3,), params=owner.params, bound=1e30)
    with pytest.raises(cl.DataError, match="room for"):
        cl.trace(lambda x: x, cl.Input((3,), level=0, bound=1e8), params=owner.params)


def test_chosen_parameters_have_room_for_the_inputs():
    choice = cl.Params.for_circuit(lambda x: x + 1.0, (3,), bound=1e12)
    secret = cl.SecretKey.generate(choice.params)
    x = np.array([1e12, -3e11, 0.0])
    assert np.allclose(secret.decrypt(secret.encrypt(x, bound=1e12) + 1.0), x + 1.0, atol=1.0)
