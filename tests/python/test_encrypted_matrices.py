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
    needs = cl.plans.trace(lambda x, y: (x @ y, x.T @ x), (5, 7), (7, 6), params=tiny, encoding="coefficients").needs
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
    assert isinstance(both, cl.types.TransposedCiphertext)
    np.testing.assert_allclose(owner.decrypt(both.rescale()), A @ B, atol=1e-7)


def test_plain_factors_on_both_sides(owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    A, W = numbers(5, 7), numbers(7, 3, seed=2)
    view = encrypted(owner, A.T).T
    np.testing.assert_allclose(owner.decrypt((view @ W).rescale()), A @ W, atol=1e-8)
    np.testing.assert_allclose(owner.decrypt((encrypted(owner, A, keys) @ W).rescale()), A @ W, atol=1e-7)
    np.testing.assert_allclose(owner.decrypt((W.T @ view.with_keys(keys).T).rescale()), W.T @ A.T, atol=1e-8)
    np.testing.assert_allclose(owner.decrypt((numbers(2, 5) @ view.with_keys(keys)).rescale()), numbers(2, 5) @ A, atol=1e-7)
    with pytest.raises(cl.errors.MissingKeyError, match="needs no key"):
        encrypted(owner, A) @ W
    with pytest.raises(cl.errors.ShapeError):
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
    whole = cl.functions.vstack([x, y, x[0]])
    assert whole.level == 2
    np.testing.assert_allclose(owner.decrypt(whole), np.vstack([A, B, A[0]]), atol=1e-8)
    with pytest.raises(IndexError):
        x[5]
    with pytest.raises(cl.errors.DataError):
        x[[]]
    with pytest.raises(cl.errors.DataError):
        cl.functions.vstack([])
    with pytest.raises(cl.errors.ShapeError):
        cl.functions.vstack([x, owner.encrypt(numbers(2, 69), encoding="coefficients")])
    with pytest.raises(cl.errors.ShapeError, match="to_mlwe"):
        owner.encrypt(numbers(4, 8), encoding="coefficients", lanes="most")[1]
    with pytest.raises(cl.errors.ShapeError):
        owner.encrypt(numbers(4, 8), bodies=2, axis="rows")[1]


RANGES = [slice(3, 9), slice(-5, None), slice(None, 7), slice(None, -60), slice(64, 100), slice(64, 69, 1), slice(-1, None), slice(None)]


@pytest.mark.parametrize("columns", RANGES)
def test_columns_are_picked_as_by_numpy(owner: cl.SecretKey, columns: slice) -> None:
    A, z = numbers(5, 70), numbers(70, seed=1) + 1j * numbers(70, seed=2)
    x = encrypted(owner, A)
    mask = np.array([True, False, True, False, True])
    for rows in (slice(None), slice(1, 3), 2, -1, [3, 0, 3, 4, 1, 1], mask, ...):
        got = x[rows, columns]
        assert got.shape == A[rows, columns].shape
        np.testing.assert_allclose(owner.decrypt(got), A[rows, columns], atol=1e-8)
    np.testing.assert_allclose(owner.decrypt(x.T[columns]), A.T[columns], atol=1e-8)
    np.testing.assert_allclose(owner.decrypt(x.T[columns, [4, 0]]), A.T[columns, [4, 0]], atol=1e-8)
    np.testing.assert_allclose(owner.decrypt(x.T[columns, 1:3]), A.T[columns, 1:3], atol=1e-8)
    np.testing.assert_allclose(owner.decrypt(x[1][columns]), A[1][columns], atol=1e-8)
    # 64 complex numbers take two polynomials.
    if len(range(70)[columns]) <= 32 and range(70)[columns].start // 32 == (range(70)[columns].stop - 1) // 32:
        vector = owner.encrypt(z, encoding="coefficients")
        np.testing.assert_allclose(owner.decrypt(vector[columns]), z[columns], atol=1e-8)
        np.testing.assert_allclose(owner.decrypt(vector[..., columns]), z[columns], atol=1e-8)


def test_everything_is_picked_from_every_array(owner: cl.SecretKey) -> None:
    A = numbers(4, 8)
    for array in (owner.encrypt(A, encoding="coefficients", lanes="most"), owner.encrypt(A, encoding="slots"), owner.encrypt(A, bodies=2)):
        for index in (..., slice(None), (slice(None), slice(None)), (..., slice(None))):
            np.testing.assert_allclose(owner.decrypt(array[index]), A, atol=1e-8)
    single = owner.encrypt(0.5)
    assert owner.decrypt(single[...]) == owner.decrypt(single)
    assert single.shape == ()


def test_picked_columns_compute(tiny: cl.Params, owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    A, B, W = numbers(5, 20), numbers(5, 30, seed=1), numbers(3, 5, seed=2)
    x, y = encrypted(owner, A, keys)[:, 4:11], encrypted(owner, B, keys)[:, 22:28]
    assert x.layout.padding == "dirty"
    np.testing.assert_allclose(owner.decrypt((x.T @ y).rescale()), A[:, 4:11].T @ B[:, 22:28], atol=1e-7)
    np.testing.assert_allclose(owner.decrypt((W @ x).rescale()), W @ A[:, 4:11], atol=1e-7)
    np.testing.assert_allclose(owner.decrypt((x.T @ W.T).rescale()), A[:, 4:11].T @ W.T, atol=1e-7)
    np.testing.assert_allclose(owner.decrypt(x.T.to_rows()), A[:, 4:11].T, atol=1e-7)
    np.testing.assert_allclose(owner.decrypt(x + 1.5), A[:, 4:11] + 1.5, atol=1e-8)
    fresh = encrypted(owner, numbers(2, 7, seed=3))
    np.testing.assert_allclose(owner.decrypt(cl.functions.vstack([x, fresh])), np.vstack([A[:, 4:11], numbers(2, 7, seed=3)]), atol=1e-8)
    found = cl.plans.trace(lambda x: x[1:3, 4:11], (5, 20), params=tiny, encoding="coefficients", bound=1.0)
    assert found.result.shape == (2, 7)
    assert found.result.bound == 1.0
    assert not found.needs.rotations
    # Rows in lanes keep their lanes.
    lanes = owner.encrypt(A, encoding="coefficients", lanes="most")
    part = lanes[:, 17:19]
    assert part.layout.lanes == lanes.layout.lanes
    np.testing.assert_allclose(owner.decrypt(part), A[:, 17:19], atol=1e-8)
    np.testing.assert_allclose(owner.decrypt((W @ part).rescale()), W @ A[:, 17:19], atol=1e-7)
    again = cl.from_bytes(part.to_bytes(), tiny)
    np.testing.assert_array_equal(owner.decrypt(again), owner.decrypt(part))
    client = cl.clients.LightClient(owner)
    receiver = cl.clients.Receiver(tiny, client.introduction, owner.authentication_key())
    np.testing.assert_allclose(client.decrypt(receiver.reply(encrypted(owner, A).drop_to_level(0)[0, 3:5])), A[0, 3:5], atol=1e-4)


def test_columns_that_cannot_be_picked_say_what_to_do(owner: cl.SecretKey) -> None:
    x = encrypted(owner, numbers(3, 70))
    v = encrypted(owner, numbers(70))
    for refused, message in [
        (lambda: x[:, 3], r"`x\[:, 3:4\]` instead of `x\[:, 3\]`"),
        (lambda: x[1, -1], r"`x\[:, -1:\]`"),
        (lambda: x[:, np.int64(-3)], r"`x\[:, -3:-2\]`"),
        (lambda: x[:, ::2], r"x.T.to_rows\(\)\[columns\]"),
        (lambda: x[:, ::-1], "without steps"),
        (lambda: x[:, [1, 2]], "encrypt the transposed matrix"),
        (lambda: x[:, True], "without steps"),
        (lambda: x[:, np.ones(70, bool)], "without steps"),
        (lambda: x[:, :, 1:2], "index of 3 parts for an array of 2 axes"),
        (lambda: x[..., ...], "at most one"),
        (lambda: v[3], r"`x\[3:4\]` instead of `x\[3\]`"),
        (lambda: v[[1, 2]], "take each as a range"),
        (lambda: v[::2], "take each as a range"),
        (lambda: v[1:2, 0], "index of 2 parts for an array of 1 axis"),
        (lambda: x.T[3], r"`x.T\[3:4\]` instead of `x.T\[3\]`"),
        (lambda: x.T[[1, 2]], r"x.T.to_rows\(\)\[rows\]"),
        (lambda: owner.encrypt(0.5)[0], "index of 1 part for an array of 0 axes"),
        (lambda: x[:, 1.5:3], "slice indices must be integers"),
    ]:
        with pytest.raises(TypeError, match=message):
            refused()
    assert x[:, None].shape == (3, 1, 70)
    for refused in (lambda: x[:, 3:3], lambda: x[:, 5:2], lambda: x[:, 90:99], lambda: v[70:], lambda: x.T[4:4]):
        with pytest.raises(cl.errors.DataError, match="no entries"):
            refused()
    with pytest.raises(cl.errors.ShapeError, match=r"a multiple of 64.*x.T.to_rows\(\)"):
        x[:, 60:66]
    with pytest.raises(cl.errors.ShapeError, match=r"a multiple of 64.*one column"):
        v[60:66]
    with pytest.raises(cl.errors.MissingKeyError):
        owner.encrypt(numbers(2, 8), encoding="slots")[:, 2:4]
    with pytest.raises(cl.errors.ShapeError, match="split_mask"):
        owner.encrypt(numbers(2, 150), encoding="coefficients", bodies=2, axis="chunks")[:, 64:70]


def test_vstack_says_what_it_takes(owner: cl.SecretKey) -> None:
    x = encrypted(owner, numbers(3, 4))
    for refused, message in [
        (lambda: cl.functions.vstack(x), r"a list of ciphertexts, `cl.functions.vstack\(\[x, y\]\)`, and a Ciphertext"),
        (lambda: cl.functions.vstack(x.T), "a TransposedCiphertext was given"),
        (lambda: cl.functions.vstack(3), "an? int was given"),
        (lambda: cl.functions.vstack(None), "NoneType"),
        (lambda: cl.functions.vstack([x, x.T]), r"part 1 is a view of a transposed matrix: take its rows by `x.T.to_rows\(\)`"),
        (lambda: cl.functions.vstack([numbers(1, 4), x]), "part 0 is a ndarray: encrypt it first"),
        (lambda: cl.functions.vstack([x, [1.0, 2.0]]), "part 1 is a list: encrypt it first"),
        (lambda: cl.functions.vstack(numbers(2, 4)), "part 0 is a ndarray"),
    ]:
        with pytest.raises(TypeError, match=message):
            refused()
    np.testing.assert_allclose(owner.decrypt(cl.functions.vstack((x, x[1]))), np.vstack([numbers(3, 4), numbers(3, 4)[1]]), atol=1e-8)


def test_rows_that_share_polynomials_are_multiplied_and_packed(tiny: cl.Params, owner: cl.SecretKey) -> None:
    A, B = numbers(6, 5), numbers(6, 8, seed=1)
    plan = cl.plans.PackingPlan(tiny, degree=8, method="column")
    needs = cl.plans.trace(lambda x, y: (x.T @ y, x.T.to_rows()), (6, 5), (6, 8), params=tiny, lanes="most", encoding="coefficients").needs
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
            with pytest.raises(cl.errors.ShapeError, match="without lanes"):
                z.T.to_rows()
        else:
            np.testing.assert_allclose(owner.decrypt(z.T.to_rows()), numbers(6, columns).T, atol=1e-7)


def test_views_refuse_what_ciphertexts_refuse(owner: cl.SecretKey) -> None:
    view = encrypted(owner, numbers(3, 4)).T
    masked = np.ma.masked_array(np.ones((4, 3)), mask=np.eye(4, 3))
    for refused in (lambda: view + masked, lambda: masked - view, lambda: view @ masked.T):
        with pytest.raises((TypeError, cl.errors.DataError)):
            refused()
    for refused in (
        lambda: view + np.ones((7, 9)),
        lambda: view @ np.ones(3),
        lambda: view @ np.ones((4, 4)),
        lambda: view @ [[1.0], [2.0]],
    ):
        with pytest.raises(cl.errors.ShapeError):
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
    client = cl.clients.LightClient(owner)
    for counter in (-1, 2**64, 1.5):
        with pytest.raises(cl.errors.DataError, match="out of range"):
            client.encrypt([1.0], counter=counter)


def test_products_say_what_does_not_fit(tiny: cl.Params, owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    x = encrypted(owner, numbers(3, 4), keys)
    with pytest.raises(cl.errors.ShapeError, match="columns on the left"):
        x @ x
    with pytest.raises(cl.errors.ShapeError, match="columns on the left"):
        x.T @ x.T.T[:2]
    with pytest.raises(cl.errors.MissingKeyError):
        owner.encrypt(numbers(3, 4), encoding="slots").T @ owner.encrypt(numbers(3, 4), encoding="slots")
    with pytest.raises(cl.errors.MissingKeyError):
        encrypted(owner, numbers(3, 4)).T @ encrypted(owner, numbers(3, 4))
    few = owner.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1]))
    with pytest.raises(cl.errors.MissingKeyError, match="conjugate"):
        encrypted(owner, numbers(3, 4), few).T @ x
    with pytest.raises(cl.errors.CancelledError):
        x.T.matmul(x, progress=lambda done, _: done < 2)
    with pytest.raises(cl.errors.WrongSecretError):
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
    with pytest.raises(cl.errors.DataError, match="4098"):
        encrypted(owner, X).matmul(bad)


def test_traces_predict_the_error_of_products(tiny: cl.Params, owner: cl.SecretKey, keys: cl.EvaluationKeys) -> None:
    trace = cl.plans.trace(lambda x, y: (x.T @ y).rescale(), (7, 5), (7, 6), params=tiny, encoding="coefficients", bound=1.0)
    A, B = numbers(7, 5), numbers(7, 6, seed=4)
    product = (encrypted(owner, A, keys).T @ encrypted(owner, B)).rescale()
    error = np.sqrt(np.mean((owner.decrypt(product) - A.T @ B) ** 2))
    assert error < trace.result.error_bound
    assert trace.result.shape == product.shape


def test_light_clients_send_numbers(tiny: cl.Params, owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner, precision_bits=16)
    receiver = cl.clients.Receiver(tiny, client.introduction, owner.authentication_key())
    readings = numbers(3, 4)
    messages = [client.encrypt(reading) for reading in readings]
    assert len(messages[0]) == 28 + (4 * client.bits_per_number + 7) // 8
    samples = receiver.receive(messages, shape=(3, 4))
    plan = cl.plans.PackingPlan(tiny, level=0)
    packed = samples.with_keys(owner.evaluation_keys(plan.needs)).pack(plan)
    np.testing.assert_allclose(owner.decrypt(packed), readings, atol=1e-4)
    np.testing.assert_allclose(client.decrypt(receiver.reply(packed)), readings.ravel(), atol=1e-4)
    assert client.next_counter == 12
    with pytest.raises(cl.errors.DataError, match="twice"):
        client.encrypt([1.0], counter=3)
    for bad in (b"", b"x" * 40, messages[0][:-1], messages[0] + b"\x00"):
        with pytest.raises(cl.errors.DataError):
            receiver.receive([bad])
    with pytest.raises(cl.errors.DataError):
        cl.clients.Receiver(tiny, b"CLLI", owner.authentication_key())
    with pytest.raises(cl.errors.DataError):
        client.decrypt(b"CLLR\x01")
    with pytest.raises(cl.errors.DataError):
        client.encrypt([float("nan")])
    with pytest.raises(TypeError):
        client.encrypt([1j])
    with pytest.raises(TypeError):
        pickle.dumps(client)
    assert "secret" not in repr(client)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_client_is_refused(owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            client.encrypt([1.0])
            os.write(writer, b"a message")
        except cl.errors.DataError as error:
            os.write(writer, str(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    said = os.read(reader, 1000).decode()
    os.close(reader)
    assert "forked process" in said
    assert client.encrypt([1.0])
