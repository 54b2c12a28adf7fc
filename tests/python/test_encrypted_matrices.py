"""Products of encrypted matrices, transposed views, rows of encrypted matrices, and light clients."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def tiny() -> cl.Params:
    return cl.Params.preset("insecure_tiny")


@pytest.fixture(scope="module")
def owner(tiny: cl.Params) -> cl.SecretKey:
    return cl.SecretKey.generate(tiny)


@pytest.fixture(scope="module")
def keys(tiny: cl.Params, owner: cl.SecretKey) -> cl.EvaluationKeys:
    needs = cl.trace(lambda x, y: (x @ y, x.T @ x), (5, 7), (7, 6), params=tiny, encoding="coefficients").needs
    return owner.evaluation_keys(needs)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def encrypted(owner: cl.SecretKey, x: np.ndarray, keys: cl.EvaluationKeys | None = None) -> cl.Ciphertext:
    return owner.encrypt(x, encoding="coefficients").with_keys(keys)


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 1, 1), (5, 7, 6), (64, 3, 65), (2, 130, 1)])
def test_products_are_those_of_numpy(owner: cl.SecretKey, keys: cl.EvaluationKeys, rows: int, inner: int, columns: int) -> None:
    A, B = numbers(rows, inner), numbers(inner, columns, seed=1)
    x, xt, y = encrypted(owner, A, keys), encrypted(owner, A.T, keys), encrypted(owner, B)
    for product in (xt.T @ y, x @ y, xt.T.matmul(y, progress=False), x @ encrypted(owner, B.T, keys).T):
        assert isinstance(product, cl.Ciphertext)
        assert product.shape == (rows, columns)
        np.testing.assert_allclose(owner.decrypt(product.rescale()), A @ B, atol=1e-7)
    both = xt.T @ encrypted(owner, B.T, keys).T
    assert isinstance(both, cl.TransposedCiphertext)
    np.testing.assert_allclose(owner.decrypt(both.rescale()), A @ B, atol=1e-7)


def test_plain_factors_on_both_sides(owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    A, W = numbers(5, 7), numbers(7, 3, seed=2)
    view = encrypted(owner, A.T).T
    np.testing.assert_allclose(owner.decrypt((view @ W).rescale()), A @ W, atol=1e-8)
    np.testing.assert_allclose(owner.decrypt((encrypted(owner, A, keys) @ W).rescale()), A @ W, atol=1e-7)
    np.testing.assert_allclose(owner.decrypt((W.T @ view.with_keys(keys).T).rescale()), W.T @ A.T, atol=1e-8)
    np.testing.assert_allclose(owner.decrypt((numbers(2, 5) @ view.with_keys(keys)).rescale()), numbers(2, 5) @ A, atol=1e-7)
    with pytest.raises(cl.MissingKeyError, match="needs no key"):
        encrypted(owner, A) @ W
    with pytest.raises(cl.ShapeError):
        view @ W.T


def test_views_compute_as_numpy_does(owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    A = numbers(4, 6)
    view = encrypted(owner, A.T, keys).T
    assert (view.shape, view.T.shape, view.level, view.scale) == ((4, 6), (6, 4), view.T.level, view.T.scale)
    row = numbers(6, seed=3)
    for got, expected in [
        (view + row, A + row),
        (row + view, A + row),
        (view - A, A - A),
        (1 - view, 1 - A),
        (view * 3, A * 3),
        (2.0 * view, A * 2),
        (-view, -A),
        (view + view, A + A),
        (view[:, 2:5], A[:, 2:5]),
        (view[:, ::-1], A[:, ::-1]),
        (view[..., [1, 1]], A[:, [1, 1]]),
        (view.to_rows(), A),
        ((view * 0.5).rescale(), A / 2),
    ]:
        assert got.shape == expected.shape
        np.testing.assert_allclose(owner.decrypt(got if got.scale < 2**50 else got.rescale()), expected, atol=1e-7)
    assert repr(view).endswith(".T")
    vector = encrypted(owner, row)
    assert vector.T is vector
    for refused in (lambda: view[0], lambda: view + view.T, lambda: view.T[:, 0], lambda: view[:, :, 0]):
        with pytest.raises(TypeError):
            refused()


def test_rows_are_picked_and_joined_as_by_numpy(owner: cl.SecretKey) -> None:
    A, B = numbers(5, 70), numbers(2, 70, seed=1)
    x, y = encrypted(owner, A), owner.encrypt(B, encoding="coefficients", level=2)
    mask = np.array([True, False, True, False, True])
    for index in (slice(1, 3), 2, -1, [3, 0, 3], mask, (slice(None, None, 2), slice(None)), ...):
        np.testing.assert_allclose(owner.decrypt(x[index]), A[index], atol=1e-8)
    whole = cl.vstack([x, y, x[0]])
    assert whole.level == 2
    np.testing.assert_allclose(owner.decrypt(whole), np.vstack([A, B, A[0]]), atol=1e-8)
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(cl.DataError):
        x[[]]
    with pytest.raises(TypeError, match="transposed"):
        x[:, 3]
    with pytest.raises(TypeError):
        owner.encrypt([1.0, 2.0])[0]
    with pytest.raises(cl.DataError):
        cl.vstack([])
    with pytest.raises(cl.ShapeError):
        cl.vstack([x, owner.encrypt(numbers(2, 69), encoding="coefficients")])
    with pytest.raises(cl.ShapeError, match="to_mlwe"):
        owner.encrypt(numbers(4, 8), encoding="coefficients", lanes="most")[1]
    with pytest.raises(cl.ShapeError):
        owner.encrypt(numbers(4, 8), bodies=2, axis="rows")[1]


def test_rows_that_share_polynomials_are_multiplied_and_packed(tiny: cl.Params, owner: cl.SecretKey) -> None:
    A, B = numbers(6, 5), numbers(6, 8, seed=1)
    plan = cl.PackingPlan(tiny, degree=8, method="column")
    needs = cl.trace(lambda x, y: (x.T @ y, x.T.to_rows()), (6, 5), (6, 8), params=tiny, lanes="most", encoding="coefficients").needs
    keys = owner.evaluation_keys(needs | plan.needs)
    x, y = (owner.encrypt(z, encoding="coefficients", lanes="most").with_keys(keys) for z in (A, B))
    product = (x.T @ y).rescale()
    assert product.degree == 8
    np.testing.assert_allclose(owner.decrypt(product), A.T @ B, atol=1e-7)
    packed = product.pack(plan, lanes=True)
    assert packed.degree == tiny.degree
    np.testing.assert_allclose(owner.decrypt(packed), A.T @ B, atol=1e-7)
    np.testing.assert_allclose(owner.decrypt(x.T.to_rows()), A.T, atol=1e-7)
    for columns in (1, 2):
        z = owner.encrypt(numbers(6, columns), encoding="coefficients", lanes="most").with_keys(keys)
        if columns == 1:
            with pytest.raises(cl.ShapeError, match="without lanes"):
                z.T.to_rows()
        else:
            np.testing.assert_allclose(owner.decrypt(z.T.to_rows()), numbers(6, columns).T, atol=1e-7)


def test_views_refuse_what_ciphertexts_refuse(owner: cl.SecretKey) -> None:
    view = encrypted(owner, numbers(3, 4)).T
    masked = np.ma.masked_array(np.ones((4, 3)), mask=np.eye(4, 3))
    for refused in (lambda: view + masked, lambda: masked - view, lambda: view @ masked.T):
        with pytest.raises((TypeError, cl.DataError)):
            refused()
    for refused in (
        lambda: view + np.ones((7, 9)),
        lambda: view @ np.ones(3),
        lambda: view @ np.ones((4, 4)),
        lambda: view @ [[1.0], [2.0]],
    ):
        with pytest.raises(cl.ShapeError):
            refused()
    for refused in (
        lambda: np.asarray(view),
        lambda: bool(view),
        lambda: list(view),
        lambda: view + object(),
        lambda: view @ [[1.0], [2.0, 3.0]],
    ):
        with pytest.raises((TypeError, ValueError)):
            refused()
    client = cl.LightClient(owner)
    for counter in (-1, 2**64, 1.5):
        with pytest.raises(cl.DataError, match="out of range"):
            client.encrypt([1.0], counter=counter)


def test_products_say_what_does_not_fit(tiny: cl.Params, owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    x = encrypted(owner, numbers(3, 4), keys)
    with pytest.raises(cl.ShapeError, match="columns on the left"):
        x @ x
    with pytest.raises(cl.ShapeError, match="columns on the left"):
        x.T @ x.T.T[:2]
    with pytest.raises(cl.ShapeError, match="coefficients"):
        x.T @ owner.encrypt(numbers(3, 4), encoding="slots")
    with pytest.raises(cl.MissingKeyError):
        encrypted(owner, numbers(3, 4)).T @ encrypted(owner, numbers(3, 4))
    few = owner.evaluation_keys(cl.Needs(relinearise=True, rotations=[1]))
    with pytest.raises(cl.MissingKeyError, match="conjugate"):
        encrypted(owner, numbers(3, 4), few).T @ x
    with pytest.raises(cl.CancelledError):
        x.T.matmul(x, progress=lambda done, _: done < 2)
    with pytest.raises(cl.WrongSecretError):
        x.T @ encrypted(cl.SecretKey.generate(tiny), numbers(3, 4))
    with pytest.raises(TypeError):
        x.matmul(x)


def test_weights_larger_than_a_block_are_read_in_rows(owner: cl.SecretKey, tmp_path: Path) -> None:
    rows, inner = 4100, 2060
    mapped = np.lib.format.open_memmap(tmp_path / "weights.npy", mode="w+", dtype=np.float64, shape=(rows, inner))
    mapped[:] = 0
    mapped[:, 1], mapped[4099, 7] = np.linspace(-1, 1, rows), 0.5
    mapped.flush()
    weights = np.load(tmp_path / "weights.npy", mmap_mode="r")
    X = numbers(inner, 2)
    seen: list[tuple[int, int]] = []
    product = encrypted(owner, X).matmul(weights, progress=lambda done, total: seen.append((done, total)))
    np.testing.assert_allclose(owner.decrypt(product.rescale()), weights @ X, atol=1e-7)
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    bad = np.array(weights)
    bad[4098, 3] = np.inf
    with pytest.raises(cl.DataError, match="4098"):
        encrypted(owner, X).matmul(bad)


def test_traces_predict_the_error_of_products(tiny: cl.Params, owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    trace = cl.trace(lambda x, y: (x.T @ y).rescale(), (7, 5), (7, 6), params=tiny, encoding="coefficients", bound=1.0)
    A, B = numbers(7, 5), numbers(7, 6, seed=4)
    product = (encrypted(owner, A, keys).T @ encrypted(owner, B)).rescale()
    error = np.sqrt(np.mean((owner.decrypt(product) - A.T @ B) ** 2))
    assert error < trace.result.error_bound
    assert trace.result.shape == product.shape


def test_light_clients_send_numbers(tiny: cl.Params, owner: cl.SecretKey) -> None:
    client = cl.LightClient(owner, precision_bits=16)
    receiver = cl.Receiver(tiny, client.introduction)
    readings = numbers(3, 4)
    messages = [client.encrypt(reading) for reading in readings]
    assert len(messages[0]) == 12 + (4 * client.bits_per_number + 7) // 8
    samples = receiver.receive(messages, shape=(3, 4))
    plan = cl.PackingPlan(tiny, level=0)
    packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    np.testing.assert_allclose(owner.decrypt(packed), readings, atol=1e-4)
    np.testing.assert_allclose(client.decrypt(cl.reply(packed)), readings.ravel(), atol=1e-4)
    assert client.next_counter == 12
    with pytest.raises(cl.DataError, match="twice"):
        client.encrypt([1.0], counter=3)
    for bad in (b"", b"x" * 40, messages[0][:-1], messages[0] + b"\x00"):
        with pytest.raises(cl.DataError):
            receiver.receive([bad])
    with pytest.raises(cl.DataError):
        cl.Receiver(tiny, b"CLLI")
    with pytest.raises(cl.DataError):
        client.decrypt(b"CLLR\x01")
    with pytest.raises(cl.DataError):
        client.encrypt([float("nan")])
    with pytest.raises(TypeError):
        client.encrypt([1j])
    with pytest.raises(TypeError):
        pickle.dumps(client)
    assert "secret" not in repr(client)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_client_is_refused(owner: cl.SecretKey) -> None:
    client = cl.LightClient(owner)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            client.encrypt([1.0])
            os.write(writer, b"a message")
        except cl.DataError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    said = os.read(reader, 1000).decode()
    os.close(reader)
    assert "forked process" in said
    assert client.encrypt([1.0])
