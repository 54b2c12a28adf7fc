"""Several bodies under one mask: what NumPy computes, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import clathrate as cl

BODIES = [1, 2, 7]
ROTATIONS = [1, -2]
SHAPES = {"rows": (5, 16), "chunks": (3, 200)}


@pytest.fixture(scope="module", params=[(64, 1), (32, 2)])
def owner(request) -> cl.SecretKey:
    """Rank 1 at degree 64, and rank 2 at degree 32."""
    degree, rank = request.param
    steps, special = [[30, 30], 40, 40], [42, 42]
    return cl.SecretKey.generate(cl.Params(degree=degree, rank=rank, steps=steps, special=special, log2_scale=40, insecure=True))


def keys_for(owner: cl.SecretKey, bodies: int) -> cl.EvaluationKeys:
    of_bodies = cl.keys.Needs(rotations=ROTATIONS, conjugate=True, bodies=bodies)
    return owner.evaluation_keys(cl.keys.Needs(rotations=ROTATIONS, conjugate=True, shared_mask=bodies) | of_bodies)


def assert_holds(owner: cl.SecretKey, ct: cl.Ciphertext, expected: np.ndarray, tolerance: float = 1e-6) -> None:
    found = owner.decrypt(ct)
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected)) < tolerance


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize("axis", ["rows", "chunks"])
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_arrays_decrypt_to_what_was_encrypted_and_linear_operations_are_numpys(owner, rng, bodies, axis, encoding, is_complex):
    shape = SHAPES[axis]

    def numbers() -> np.ndarray:
        return rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)

    a, b = numbers(), numbers()
    x, y = (owner.encrypt(data, encoding, bodies=bodies, axis=axis) for data in (a, b))
    assert (x.bodies, x.secret, x.encoding, x.is_complex) == (bodies, f"bodies:{bodies}", encoding, is_complex)
    for result, expected in (
        (x, a),
        (x + y, a + b),
        (x - y, a - b),
        (-x, -a),
        (x + b, a + b),
        (b - x, b - a),
        (3 * x, 3 * a),
        ((x * 0.25).rescale(), 0.25 * a),
        (x.drop_to_level(1) + y, a + b),
    ):
        assert (result.secret, result.bodies) == (f"bodies:{bodies}", bodies)
        assert_holds(owner, result, expected)


@pytest.mark.parametrize("bodies", BODIES)
def test_products_with_plain_numbers_serve_all_bodies_of_a_mask(owner, rng, bodies):
    data, row = rng.uniform(-1, 1, (5, 16)), rng.uniform(-1, 1, 16)
    x = owner.encrypt(data, "slots", bodies=bodies, axis="rows")
    assert_holds(owner, (x * row).rescale(), data * row)
    # Factors that differ between the rows of one mask would need masks of their own.
    if bodies == 1:
        assert_holds(owner, (x * data).rescale(), data * data)
    else:
        with pytest.raises(cl.errors.ShapeError, match=f"{bodies} bodies share a mask.*differ from body to body.*split_mask"):
            x * data


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_matrix_products_combine_rows_whose_chunks_share_a_mask(owner, rng, bodies, encoding):
    data, weights = rng.uniform(-1, 1, (3, 200)), rng.uniform(-1, 1, (4, 3))
    x = owner.encrypt(data, encoding, bodies=bodies, axis="chunks")
    product = (weights @ x).rescale()
    assert (product.shape, product.layout.axis, product.bodies) == ((4, 200), "chunks", bodies)
    assert_holds(owner, product, weights @ data)
    across = owner.encrypt(data, encoding, bodies=bodies, axis="rows")
    if bodies == 1:
        assert_holds(owner, (weights @ across).rescale(), weights @ data)
    else:
        with pytest.raises(cl.errors.ShapeError, match=f"{bodies} bodies share a mask.*different secrets.*split_mask.*chunks"):
            weights @ across


@pytest.mark.parametrize("bodies", BODIES)
def test_rotations_and_conjugation_are_numpys(owner, rng, bodies):
    data = rng.uniform(-1, 1, (5, 16)) + 1j * rng.uniform(-1, 1, (5, 16))
    x = owner.encrypt(data, "slots", bodies=bodies, axis="rows").with_keys(keys_for(owner, bodies))
    for steps, rotated in zip(ROTATIONS, x.rotate_many(ROTATIONS), strict=True):
        assert_holds(owner, rotated, np.roll(data, -steps, axis=1))
        assert_holds(owner, x.rotate(steps), np.roll(data, -steps, axis=1))
    assert_holds(owner, x.conj(), data.conj())


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize("axis", ["rows", "chunks"])
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_masks_are_shared_and_split_again(owner, rng, bodies, axis, encoding):
    data = rng.uniform(-1, 1, SHAPES[axis])
    x = owner.encrypt(data, encoding).with_keys(keys_for(owner, bodies))
    shared = x.share_mask(bodies, axis=axis)
    assert (shared.secret, shared.bodies) == (f"bodies:{bodies}", bodies)
    assert shared.layout == owner.encrypt(data, encoding, bodies=bodies, axis=axis).layout
    assert_holds(owner, shared, data)
    # What the mask holds is added to what was encrypted under it.
    assert_holds(owner, shared + owner.encrypt(data, encoding, bodies=bodies, axis=axis), 2 * data)
    split = shared.split_mask()
    assert (split.secret, split.bodies, split.layout) == ("main", 1, x.layout)
    assert_holds(owner, split, data)
    assert_holds(owner, split + x, 2 * data)


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize("axis", ["rows", "chunks"])
def test_files_bytes_and_pickles_keep_layout_and_secret(owner, rng, tmp_path, bodies, axis):
    data = rng.uniform(-1, 1, SHAPES[axis])
    ct = owner.encrypt(data, "slots", bodies=bodies, axis=axis, order="bit-reversed")
    ct.save(tmp_path / "ct.clt")
    metadata = cl.inspect(tmp_path / "ct.clt")["metadata"]
    assert metadata["secret"] == f"bodies:{bodies}"
    assert metadata["layout"].get("bodies", 1) == bodies
    assert metadata["layout"]["order"] == "bit-reversed"
    for again in (
        cl.Ciphertext.load(tmp_path / "ct.clt", owner.params),
        cl.from_bytes(ct.to_bytes(), owner.params),
        pickle.loads(pickle.dumps(ct)),
    ):
        assert (again.layout, again.secret, again.bodies) == (ct.layout, ct.secret, bodies)
        np.testing.assert_array_equal(owner.decrypt(again), owner.decrypt(ct))


def test_more_bodies_take_less_memory_and_smaller_files(owner):
    data = np.zeros((14, 32))
    arrays = [owner.encrypt(data, "coefficients", bodies=bodies, axis="rows") for bodies in (1, 2, 7)]
    memory = [ct.nbytes for ct in arrays]
    files = [len((-ct).to_bytes()) for ct in arrays]
    assert memory == sorted(memory, reverse=True)
    assert files == sorted(files, reverse=True)
    # k polynomials of the mask for each m bodies.
    rank = owner.params.rank
    assert memory[2] * (rank + 1) * 7 == memory[0] * (rank + 7)


def test_layouts_tell_where_numbers_are():
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_tiny"))
    layout = owner.encrypt(np.zeros((5, 70)), "slots", bodies=2, axis="rows").layout
    fields = ("rows", "columns", "encoding", "degree", "capacity", "chunks", "stride", "components", "bodies", "axis", "order", "padding")
    found = tuple(getattr(layout, field) for field in fields)
    assert found == (5, 70, "slots", 64, 32, 3, 1, 1, 2, "rows", "natural", "zero")
    # Rows 4 and 5 share masks, of which row 5 does not exist; a row takes three chunks.
    assert (layout.bundles, layout.place(4, 69), layout.is_complex) == (9, (8, 0, 5), False)
    assert layout.imaginary_place(4, 69) is None
    assert repr(layout) == "32 real numbers in slots of degree 64, 2 rows under one mask"
    chunks = owner.encrypt(np.zeros((2, 70)), "slots", bodies=2, order="bit-reversed").layout
    assert (chunks.axis, chunks.place(1, 33)) == ("chunks", (2, 1, 16))
    pairs = owner.encrypt(np.zeros(5, dtype=complex), "coefficients", capacity=8).layout
    assert (pairs.stride, pairs.place(0, 3), pairs.imaginary_place(0, 3)) == (4, (0, 0, 12), (0, 0, 44))
    assert len({layout, chunks, owner.encrypt(np.zeros((5, 70)), "slots", bodies=2, axis="rows").layout}) == 2
    assert layout != chunks
    assert layout != "layout"
    for row, column in ((5, 0), (0, 70), (-1, 0), (0, -1), (2**70, 0)):
        with pytest.raises(cl.errors.DataError, match=r"the array has (5|70), counted from 0"):
            layout.place(row, column)
        with pytest.raises(cl.errors.DataError, match=r"the array has (5|70), counted from 0"):
            layout.imaginary_place(row, column)


def test_places_are_a_bijection_with_numbers():
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_tiny"))
    data = np.zeros((3, 70), dtype=complex)
    for bodies, axis, order in ((2, "rows", "natural"), (2, "chunks", "bit-reversed"), (5, "chunks", "natural")):
        ct = owner.encrypt(data, "coefficients", bodies=bodies, axis=axis, order=order)
        for layout in (ct.layout, ct.to_mlwe(4).layout, ct.to_lwe().layout):
            real = [layout.place(row, column) for row in range(3) for column in range(70)]
            imaginary = [layout.imaginary_place(row, column) for row in range(3) for column in range(70)]
            assert len({*real, *imaginary}) == 2 * data.size
            for bundle, body, index in real + imaginary:
                assert bundle < layout.bundles
                assert body < bodies
                assert index < layout.degree


def test_samples_of_bodies_decrypt_and_join_again(owner, rng):
    data = rng.uniform(-1, 1, (3, 40))
    for bodies in (None, 2, 7):
        ct = owner.encrypt(data, "coefficients", bodies=bodies, axis="rows")
        samples = ct.to_lwe()
        assert (samples.degree, samples.rank, samples.layout.capacity) == (1, owner.params.degree * owner.params.rank, 1)
        assert_holds(owner, samples, data)
        assert_holds(owner, samples + samples, 2 * data)
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "coefficients"'):
        owner.encrypt(data, "slots").to_lwe()


def test_padding_is_dirty_after_a_rotation_until_it_is_cleared(owner, rng):
    data = rng.uniform(-1, 1, (3, 11))
    row = np.zeros((3, 16))
    row[:, :11] = data
    for bodies in (None, 2):
        needs = cl.keys.Needs(rotations=[1]) if bodies is None else cl.keys.Needs(rotations=[1], bodies=bodies)
        x = owner.encrypt(data, "slots", bodies=bodies).with_keys(owner.evaluation_keys(needs))
        turned = x.rotate(1)
        assert (x.layout.padding, turned.layout.padding) == ("zero", "dirty")
        assert x.clear_padding().scale == x.scale
        assert_holds(owner, turned, np.roll(row, -1, axis=1)[:, :11])
        for refused in (lambda turned=turned: turned.rotate(1), lambda turned=turned: turned.rotate_many([1, 0])):
            with pytest.raises(cl.errors.ShapeError, match=r"rows of 11 entries in 16 places.*clear_padding"):
                refused()
        cleared = turned.clear_padding().rescale()
        assert cleared.layout.padding == "zero"
        expected = np.roll(row, -1, axis=1)
        expected[:, 11:] = 0
        assert_holds(owner, cleared.rotate(1), np.roll(expected, -1, axis=1)[:, :11])
        with pytest.raises(cl.errors.LevelError):
            turned.drop_to_level(0).clear_padding()


@pytest.mark.parametrize("bodies", BODIES)
def test_products_of_ciphertexts_and_other_secrets_are_refused_with_the_remedy(owner, rng, bodies):
    data = rng.uniform(-1, 1, (5, 16))
    x = owner.encrypt(data, "slots", bodies=bodies, axis="rows")
    plain = owner.encrypt(data, "slots")
    for product in (lambda: x * x, lambda: x.multiply(x), lambda: x**2):
        with pytest.raises(cl.errors.WrongSecretError, match=f'no keys under the secret "bodies:{bodies}".*split_mask'):
            product()
    with pytest.raises(cl.errors.WrongSecretError, match=rf'"bodies:{bodies}" and "main".*`ct.share_mask\(...\)` or `ct.split_mask\(\)`'):
        x + plain
    with pytest.raises(cl.errors.WrongSecretError, match="split_mask"):
        x.with_keys(keys_for(owner, bodies)).share_mask(2)
    with pytest.raises(cl.errors.ShapeError, match='under the secret "main"'):
        plain.split_mask()
    if bodies > 1:
        with pytest.raises(cl.errors.ShapeError, match="laid out differently"):
            x + owner.encrypt(data, "slots", bodies=bodies, axis="chunks")


def test_missing_keys_name_the_needs_that_make_them(owner):
    x = owner.encrypt(np.ones((5, 16)), "slots", bodies=2)
    plain = owner.encrypt(np.ones((5, 16)), "slots")
    for call in (lambda: x.rotate(1), lambda: x.conj(), lambda: x.split_mask(), lambda: plain.share_mask(2)):
        with pytest.raises(cl.errors.MissingKeyError, match="the ciphertext carries none"):
            call()
    keys = owner.evaluation_keys(cl.keys.Needs(relinearise=True))
    x, plain = x.with_keys(keys), plain.with_keys(keys)
    for call, needs in (
        (lambda: x.rotate(3), r"cl\.keys\.Needs\(rotations=\[3\], bodies=2\)"),
        (
            lambda: x.rotate_many([3, 5]),
            r"`secret_key\.keys_for\(function, x\.shape, bodies=2\)`, .*`cl\.keys\.Needs\(rotations=\[3\], bodies=2\)`",
        ),
        (lambda: x.conj(), r"cl\.keys\.Needs\(conjugate=True, bodies=2\)"),
        (lambda: x.split_mask(), r"cl\.keys\.Needs\(shared_mask=2\)"),
        (lambda: plain.share_mask(3), r"cl\.keys\.Needs\(shared_mask=3\)"),
        (lambda: plain.rotate(3), r"cl\.keys\.Needs\(rotations=\[3\]\)"),
    ):
        with pytest.raises(cl.errors.MissingKeyError, match=needs):
            call()


def test_conversions_of_bodies_name_what_finds_their_keys(rng):
    params = cl.Params.preset("insecure_dpad")
    owner, data = cl.SecretKey.generate(params), rng.uniform(-1, 1, (3, 4))
    x = owner.encrypt(data, "slots", level=2, bodies=2)
    with pytest.raises(cl.errors.MissingKeyError) as caught:
        x.with_keys(owner.evaluation_keys(cl.keys.Needs(to_rlwe=True))).to_rlwe()
    remedy = str(caught.value).split("`")[1]
    assert remedy == "secret_key.keys_for(function, x.shape, bodies=2)"
    keys = eval(remedy, {"secret_key": owner, "function": lambda x: x.to_rlwe(), "x": x})
    assert_holds(owner, x.with_keys(keys).to_rlwe(), data)


def test_arguments_out_of_range_are_refused_with_numbers():
    owner = cl.SecretKey.generate(cl.Params.preset("insecure_tiny"))
    data = np.ones((2, 8))
    ct = owner.encrypt(data, "slots")
    for bodies in (0, -3, 4097, 2**70):
        for call in (
            lambda bodies=bodies: owner.encrypt(data, bodies=bodies),
            lambda bodies=bodies: ct.share_mask(bodies),
            lambda bodies=bodies: cl.keys.Needs(shared_mask=bodies),
            lambda bodies=bodies: cl.keys.Needs(rotations=[1], bodies=bodies),
        ):
            with pytest.raises(cl.errors.DataError, match="use 1 to 4096 bodies under one mask"):
                call()
    for capacity in (0, -1, 12, 64, 2**70):
        with pytest.raises(cl.errors.DataError, match="power of two"):
            owner.encrypt(data, "slots", capacity=capacity)
    for call in (lambda: owner.encrypt(data, bodies=2, axis="columns"), lambda: ct.share_mask(2, axis="columns")):
        with pytest.raises(cl.errors.DataError, match='`axis` is "columns": use "rows", "chunks" or None'):
            call()
    with pytest.raises(cl.errors.DataError, match='`order` is "reversed": use "natural" or "bit-reversed"'):
        owner.encrypt(data, order="reversed")
    for wrong in ({"bodies": 1.5}, {"axis": 1}, {"capacity": "8"}, {"order": None}):
        with pytest.raises(TypeError):
            owner.encrypt(data, **wrong)
    with pytest.raises(TypeError):
        owner.encrypt(data, "slots", None, None, None, 2)


def test_needs_state_what_bodies_need():
    needs = (
        cl.keys.Needs(shared_mask=7, level=2) | cl.keys.Needs(rotations=[1, -2], conjugate=True, bodies=7) | cl.keys.Needs(shared_mask=2)
    )
    assert needs.shared_masks == [2, 7]
    assert (needs.rotations, needs.conjugate, needs.relinearise) == ([], False, False)
    assert needs.to_dict() == {
        "rotations": {},
        "share_mask": {2: None, 7: 2},
        "split_mask": {2: None, 7: 2},
        "bodies": {7: {"rotations": {-2: None, 1: None}, "conjugate": None}},
    }
    for told in ("take 7 bodies apart: level 2", "bring 2 bundles under one mask: top", "rotate 7 bodies under one mask by 1: top"):
        assert told in repr(needs)
    assert "change the secret" not in repr(needs)
    assert pickle.loads(pickle.dumps(needs)) == needs
    assert needs == needs | cl.keys.Needs(shared_mask=7, level=1)
    for more in ({"relinearise": True}, {"power_rotations": True}):
        with pytest.raises(cl.errors.DataError, match=r"`bodies` is 7.*split_mask"):
            cl.keys.Needs(rotations=[1], bodies=7, **more)
    with pytest.raises(cl.errors.DataError, match=r"`bodies` is 7.*`shared_mask=7`"):
        cl.keys.Needs(bodies=7)


@pytest.mark.parametrize("bodies", BODIES)
def test_traces_of_bodies_tell_exactly_the_keys(owner, rng, bodies):
    def circuit(x: cl.Ciphertext, y: cl.Ciphertext) -> cl.Ciphertext:
        return (x + y.share_mask(bodies, axis="rows")).rotate(1).conj().split_mask()

    found = cl.plans.trace(
        lambda y: circuit(y.share_mask(bodies, axis="rows"), y).drop_to_level(1), (5, 16), params=owner.params, encoding="slots"
    )
    top = owner.params.max_level
    assert found.needs.to_dict() == {
        "rotations": {},
        "share_mask": {bodies: top},
        "split_mask": {bodies: top},
        "bodies": {bodies: {"rotations": {1: top}, "conjugate": top}},
    }
    data = rng.uniform(-1, 1, (5, 16)) + 1j * rng.uniform(-1, 1, (5, 16))
    y = owner.encrypt(data, "slots").with_keys(owner.evaluation_keys(found.needs))
    result = circuit(y.share_mask(bodies, axis="rows"), y).drop_to_level(1)
    assert (result.layout.bodies, result.secret, result.scale) == (1, "main", found.result.scale)
    assert_holds(owner, result, 2 * np.roll(data, -1, axis=1).conj())
    # Symbols of what an encryption of several bodies gives.
    traced = cl.plans.trace(lambda x: x.rotate(-2), (5, 16), params=owner.params, encoding="slots", bodies=bodies, axis="rows")
    assert traced.inputs[0].layout == owner.encrypt(data.real, "slots", bodies=bodies, axis="rows").layout
    assert traced.needs == cl.keys.Needs(rotations=[-2], bodies=bodies, level=top)
    with pytest.raises(cl.errors.WrongSecretError, match="split_mask"):
        cl.plans.trace(lambda x: x * x, (5, 16), params=owner.params, encoding="slots", bodies=bodies)


def test_public_keys_encrypt_for_shared_masks(owner, rng):
    data = rng.uniform(-1, 1, (5, 16))
    x = owner.public_key().encrypt(data, "slots").with_keys(owner.evaluation_keys(cl.keys.Needs(shared_mask=7)))
    assert_holds(owner, x.share_mask(7), data)


def test_repr_tells_other_secrets_than_the_main_one(owner):
    assert 'secret="bodies:2"' in repr(owner.encrypt([1.0], bodies=2))
    assert "secret" not in repr(owner.encrypt([1.0]))


@pytest.mark.parametrize("bodies", [None, 1, 2])
@pytest.mark.parametrize("columns", [1, 5, 8, 700])
def test_rows_are_summed_and_columns_repeated(bodies, columns):
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    data = np.random.default_rng(3).normal(size=(3, columns))
    many = {"encoding": "slots", "bodies": bodies, "axis": "rows"}
    trace = cl.plans.trace(lambda x: x.sum_rows().repeat_column(6), data.shape, params=params, **many)
    ct = key.encrypt(data, **many).with_keys(key.evaluation_keys(trace.needs))
    total = ct.sum_rows()
    assert total.shape == (3, 1)
    np.testing.assert_allclose(key.decrypt(total), data.sum(axis=-1, keepdims=True), atol=1e-4)
    repeated = total.repeat_column(6)
    assert repeated.layout.padding == "dirty"
    np.testing.assert_allclose(key.decrypt(repeated), np.broadcast_to(data.sum(axis=-1, keepdims=True), (3, 6)), atol=1e-4)
    with pytest.raises(cl.errors.ShapeError, match="clear_padding"):
        repeated.sum_rows()
    for wrong, remedy in ((0, "1 or more"), (-1, "1 or more"), (10**400, "fewer than 2")):
        with pytest.raises(cl.errors.DataError, match=remedy):
            total.repeat_column(wrong)
    if columns > 1:
        with pytest.raises(cl.errors.MissingKeyError, match="a rotation needs evaluation keys"):
            key.encrypt(data, **many).sum_rows()
        with pytest.raises(cl.errors.ShapeError, match="one column"):
            ct.repeat_column(6)
