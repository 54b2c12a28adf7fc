"""Operators on ciphertexts: what NumPy users expect, and clear refusals of the rest."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import clathrate as cl

TOLERANCE = 1e-6


@pytest.fixture
def data(rng):
    return rng.normal(size=(3, 40)), rng.normal(size=(3, 40))


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("operation", [operator.add, operator.sub])
def test_sums_of_ciphertexts_arrays_and_numbers_agree_with_numpy(each_rank, data, encoding, operation):
    x, y = data
    cx, cy = (each_rank.encrypt(v, encoding=encoding) for v in data)
    assert each_rank.error(operation(cx, cy), operation(x, y)) < TOLERANCE
    for other in (y, y[0], y[:, :1], y[:1], y.tolist(), 2, -0.75, np.float32(1.5), np.int8(-3), np.array(0.5), True):
        assert each_rank.error(operation(cx, other), operation(x, other)) < TOLERANCE
        assert each_rank.error(operation(other, cx), operation(other, x)) < TOLERANCE


def test_products_agree_with_numpy(each_rank, data):
    x, y = data
    cx, cy = (each_rank.encrypt(v, encoding="slots") for v in data)
    assert each_rank.error((cx * cy).rescale(), x * y) < TOLERANCE
    assert each_rank.error(cx.multiply(cy), x * y) < TOLERANCE
    assert each_rank.error((cx**2).rescale(), x * x) < TOLERANCE
    for other in (y, y[0], y[:, :1], y.tolist(), -0.75, np.float32(1.5)):
        assert each_rank.error((cx * other).rescale(), x * other) < TOLERANCE
        assert each_rank.error((other * cx).rescale(), x * other) < TOLERANCE


def test_products_with_integers_cost_no_level(small, data):
    cx = small.encrypt(data[0])
    for factor in (2, -3, 0, np.int64(5), True):
        product = cx * factor
        assert (product.level, product.scale) == (cx.level, cx.scale)
        assert small.error(product, data[0] * factor) < TOLERANCE


def test_quotients_by_numbers_and_arrays_agree_with_numpy(small, data):
    x, y = data
    cx = small.encrypt(x, encoding="slots")
    assert small.error((cx / 4.0).rescale(), x / 4.0) < TOLERANCE
    assert small.error((cx / (2 + np.abs(y))).rescale(), x / (2 + np.abs(y))) < TOLERANCE
    with pytest.raises(ZeroDivisionError):
        cx / 0
    with pytest.raises(cl.errors.DataError, match=r"the divisor is 0 at index \(0, 0\): it has no finite inverse"):
        cx / np.zeros(40)
    with pytest.raises(cl.errors.DataError, match=r"the divisor is 1e-320 at index \(\): it has no finite inverse"):
        cx / 1e-320
    with pytest.raises(cl.errors.DataError, match="finite"):
        cx / np.nan
    with pytest.raises(cl.errors.DataError, match="finite"):
        cx / np.inf
    for divide in (lambda: 1 / cx, lambda: y / cx, lambda: cx / cx):
        with pytest.raises(TypeError, match="no divisor"):
            divide()


def test_negation_and_unary_plus(small, data):
    cx = small.encrypt(data[0])
    assert small.error(-cx, -data[0]) < TOLERANCE
    assert +cx is cx


def test_complex_operands_make_complex_results(small, data):
    x, y = data
    cx = small.encrypt(x, encoding="slots")
    assert not cx.is_complex
    for result, expected in (
        (cx + 1j * y, x + 1j * y),
        ((cx * 1j).rescale(), 1j * x),
        (2j - cx, 2j - x),
        ((cx * (1j * y)).rescale(), 1j * x * y),
    ):
        assert result.is_complex
        assert small.error(result, expected) < TOLERANCE


def test_complex_operands_need_slots_or_complex_coefficients(small, data):
    cx = small.encrypt(data[0], encoding="coefficients")
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
        cx + 1j
    pairs = small.encrypt(data[0] + 0j, encoding="coefficients")
    assert small.error(pairs + 1j, data[0] + 1j) < 1e-7
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
        cx * 1j


def test_rotations_turn_rows_left(each_rank, rng):
    for columns in (1, 5, 8, 64):
        x = rng.normal(size=(2, columns))
        ct = each_rank.encrypt(x, encoding="slots")
        period = 1 << (columns - 1).bit_length()
        padded = np.pad(x, ((0, 0), (0, period - columns)))
        steps = [0, 1, -2, 4, period, 1 + 3 * period]
        for step, rotated in zip(steps, ct.rotate_many(steps), strict=True):
            expected = np.roll(padded, -step, axis=1)[:, :columns]
            assert each_rank.error(rotated, expected) < TOLERANCE
            assert each_rank.error(ct.rotate(step), expected) < TOLERANCE
    assert ct.rotate_many([]) == []


def test_conjugation(each_rank, rng):
    x = rng.normal(size=20) + 1j * rng.normal(size=20)
    assert each_rank.error(each_rank.encrypt(x).conj(), x.conj()) < TOLERANCE


def test_deep_circuits_keep_scales_and_levels_exact(each_rank, rng):
    x, y = rng.uniform(-1, 1, 30), rng.uniform(-1, 1, 30)
    cx, cy = each_rank.encrypt(x), each_rank.encrypt(y)
    cube = (cx * cy).rescale()
    cube = (cube * cx).rescale()
    total = cube + cx * 2 - y + 0.5
    assert total.level == each_rank.params.max_level - 2
    assert total.scale == each_rank.params.scale(total.level)
    assert each_rank.error(total, x * y * x + 2 * x - y + 0.5) < TOLERANCE


def test_unscaled_products_meet_fresh_operands(small, data):
    x, y = data
    cx = small.encrypt(x, encoding="slots")
    assert small.error((cx * y + cx).rescale(), x * y + x) < TOLERANCE


@pytest.mark.parametrize("shape", [(4,), (2, 40), (3, 41), (1, 2, 40), (5, 3, 41), (1, 1, 1, 1, 1, 1, 40), (0,), (3, 0)])
def test_arrays_that_do_not_broadcast_are_refused(small, data, shape):
    cx = small.encrypt(data[0], encoding="slots")
    for operation in (operator.add, operator.sub, operator.mul, operator.truediv):
        with pytest.raises(cl.ClathrateError, match=r"axis by axis|at most 6 axes|empty"):
            operation(cx, np.ones(shape))
    with pytest.raises(cl.ClathrateError):
        np.ones(shape) - cx


def test_arrays_enlarge_the_result(small):
    keys = small.key.evaluation_keys(cl.keys.Needs())
    assert small.error(small.key.encrypt([1.0]).with_keys(keys) + np.arange(3), [1.0, 2.0, 3.0]) < TOLERANCE
    assert small.error((small.encrypt(1.5) * np.ones(1)), [1.5]) < TOLERANCE


def test_operands_of_other_shape_encoding_params_or_secret_are_refused(small, flat, data):
    cx = small.encrypt(data[0], encoding="slots")
    with pytest.raises(cl.errors.ShapeError, match="axis by axis"):
        cx + small.encrypt(data[0][:2], encoding="slots")
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots", and "coefficients" was given'):
        cx + small.encrypt(data[0], encoding="coefficients")
    with pytest.raises(cl.errors.WrongParamsError, match="other parameters"):
        cx - flat.encrypt(data[0], encoding="slots")
    stranger = cl.SecretKey.generate(small.params)
    with pytest.raises(cl.errors.WrongSecretError, match="belongs to secret"):
        cx + stranger.encrypt(data[0], encoding="slots")
    with pytest.raises(cl.errors.WrongSecretError):
        cx * stranger.encrypt(data[0], encoding="slots")


def test_coefficients_have_no_element_wise_products_or_rotations(small, data):
    cx = small.encrypt(data[0], encoding="coefficients")
    for operation in (lambda: cx * cx, lambda: cx * data[1], lambda: cx**2, lambda: cx.rotate(1), lambda: cx.conj()):
        with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots", and "coefficients" was given'):
            operation()


def test_not_finite_operands_are_refused_with_their_index(small, data):
    cx = small.encrypt(data[0], encoding="slots")
    bad = np.zeros((3, 40))
    bad[1, 7] = np.inf
    for operation in (lambda: cx + bad, lambda: bad - cx, lambda: cx * bad):
        with pytest.raises(cl.errors.DataError, match=r"inf at index \(1, 7\)"):
            operation()
    with pytest.raises(cl.errors.DataError, match="nan"):
        cx * np.nan
    with pytest.raises(cl.errors.DataError, match="nan"):
        cx + float("nan")


def test_values_too_large_for_the_level_are_refused(small):
    ct = small.encrypt([1.0], level=0)
    with pytest.raises(cl.errors.DataError, match="scale the data down"):
        ct + 1e9
    with pytest.raises(cl.errors.DataError, match="scale the data down"):
        ct * (1 << 40)
    with pytest.raises(cl.errors.DataError, match="beyond double precision"):
        ct * 10**400


def test_levels_too_low_are_refused(small):
    ct = small.encrypt([1.0], level=0)
    for operation in (lambda: ct * 0.5, lambda: ct * [0.5], lambda: ct.multiply(ct)):
        with pytest.raises((cl.errors.LevelError, cl.errors.ScaleError), match="level"):
            operation()
    with pytest.raises(cl.errors.LevelError, match="level 1 or higher"):
        ct.multiply(ct)
    with pytest.raises(cl.errors.LevelError, match="levels only go down"):
        ct.drop_to_level(3)
    for level in (-1, 99):
        with pytest.raises(cl.errors.LevelError, match="out of range"):
            ct.drop_to_level(level)


def test_drop_to_level_keeps_the_numbers_and_shrinks(small, data):
    ct = small.encrypt(data[0])
    low = ct.drop_to_level(1)
    assert (low.level, low.scale) == (1, small.params.scale(1))
    assert low.nbytes * 2 < ct.nbytes
    assert small.error(low, data[0]) < TOLERANCE
    assert small.error(low + ct, 2 * data[0]) < TOLERANCE


def test_products_and_rotations_without_keys_say_how_to_get_them(small):
    ct = small.key.encrypt([1.0, 2.0])
    assert ct.keys is None
    for operation in (lambda: ct * ct, lambda: ct**2, lambda: ct.rotate(1), lambda: ct.conj(), lambda: ct.multiply(ct)):
        with pytest.raises(cl.errors.MissingKeyError, match="with_keys"):
            operation()
    with pytest.raises(LookupError):
        ct.rotate(1)


def test_missing_keys_name_those_there_are(small):
    ct = small.encrypt(np.arange(100.0))
    with pytest.raises(cl.errors.MissingKeyError, match="rotation by 6 needs a key, and the attached keys have 1, 4, -2"):
        ct.rotate(6)
    bare = small.key.encrypt(np.arange(100.0)).with_keys(small.key.evaluation_keys(cl.keys.Needs(rotations=[3])))
    with pytest.raises(cl.errors.MissingKeyError, match="relinearise"):
        bare * bare
    with pytest.raises(cl.errors.MissingKeyError, match="conjugate"):
        bare.conj()


def test_results_inherit_keys_from_either_operand(small):
    with_keys, without = small.encrypt([1.0, 2.0]), small.key.encrypt([3.0, 4.0])
    for result in (with_keys + without, without + with_keys, without - with_keys, without * with_keys, 2 - with_keys, -with_keys):
        assert result.keys is not None
    assert small.error((without * with_keys).rescale(), [3.0, 8.0]) < TOLERANCE
    assert (without + without).keys is None
    assert with_keys.with_keys(None).keys is None


def test_keys_of_other_params_or_secret_are_refused(small, flat):
    ct = small.key.encrypt([1.0])
    with pytest.raises(cl.errors.WrongParamsError):
        ct.with_keys(flat.keys)
    stranger = cl.SecretKey.generate(small.params)
    with pytest.raises(cl.errors.WrongSecretError):
        ct.with_keys(stranger.evaluation_keys(cl.keys.Needs(rotations=[1])))


def test_keys_for_lower_levels_serve_there_only(small):
    keys = small.key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1], level=2))
    assert keys.nbytes < small.keys.nbytes
    x = np.array([1.0, 2.0])
    low = small.key.encrypt(x, level=2).with_keys(keys)
    assert small.error((low * low).rescale(), x * x) < TOLERANCE
    assert small.error(low.rotate(1), [2.0, 1.0]) < TOLERANCE
    with pytest.raises(cl.errors.LevelError, match="level"):
        small.key.encrypt(x).with_keys(keys).rotate(1)


def test_powers_have_whole_exponents(small):
    ct = small.encrypt([1.0])
    for exponent in (0.5, -1, np.ones(2), "2"):
        with pytest.raises(ValueError, match="whole exponent"):
            ct**exponent
    with pytest.raises(TypeError):
        2**ct


@pytest.mark.parametrize(
    "operation",
    [
        lambda ct: ct == ct,
        lambda ct: ct != 1,
        lambda ct: ct < 1,
        lambda ct: ct >= 1,
        lambda ct: ct > np.ones(2),
        lambda ct: np.ones(2) == ct,
        lambda ct: bool(ct),
        lambda ct: float(ct),
        lambda ct: int(ct),
        lambda ct: complex(ct),
        lambda ct: list(ct),
        lambda ct: 1 in ct,
        lambda ct: np.asarray(ct),
        lambda ct: np.array([ct]),
        lambda ct: np.array(ct, dtype=object),
        lambda ct: hash(ct),
        lambda ct: np.add(np.ones(2), ct, out=np.ones(2)),
        lambda ct: np.sin(ct),
        lambda ct: np.kron(np.ones((2, 2)), ct),
        lambda ct: ct + "a",
        lambda ct: None * ct,
        lambda ct: ct % 2,
        lambda ct: ct // 2,
        lambda ct: ct + np.array(["a", "b"]),
        lambda ct: ct.matmul(ct),
    ],
)
def test_what_encryption_cannot_do_is_a_type_error(small, operation):
    with pytest.raises(TypeError):
        operation(small.encrypt([1.0, 2.0]))


def test_in_place_operators_make_new_objects(small):
    first = ct = small.encrypt([1.0])
    ct += 1
    assert ct is not first
    assert small.error(first, [1.0]) < TOLERANCE
    assert small.error(ct, [2.0]) < TOLERANCE


def test_objects_are_immutable(small):
    ct = small.encrypt([1.0])
    for thing, name in ((ct, "level"), (ct, "shape"), (ct, "new"), (small.params, "degree"), (small.keys, "nbytes"), (small.key, "params")):
        with pytest.raises(AttributeError):
            setattr(thing, name, 1)
        with pytest.raises(AttributeError):
            delattr(thing, name)
    assert ct.params is small.params
    assert ct.shape == (1,)


def test_len_is_that_of_the_first_axis(small):
    assert len(small.encrypt(np.ones((3, 2)))) == 3
    with pytest.raises(TypeError, match="no length"):
        len(small.encrypt(1.0))


def test_extreme_steps_are_reduced_or_refused(small):
    ct = small.encrypt([1.0, 2.0])
    for step in (2**62 - 1, -(2**62) + 1, 2**61):
        assert small.error(ct.rotate(step), [2.0, 1.0] if step % 2 else [1.0, 2.0]) < TOLERANCE
    for step in (2**62, 2**63 - 1, -(2**63), 10**40, -(10**40)):
        with pytest.raises(cl.errors.DataError, match="62 bits"):
            ct.rotate(step)
        with pytest.raises(cl.errors.DataError, match="62 bits"):
            cl.keys.Needs(rotations=[step])
    with pytest.raises(TypeError):
        ct.rotate(1.5)


def test_results_beyond_their_modulus_are_refused_where_one_of_them_shows_it():
    params = cl.Params.preset("insecure_matmul")
    key = cl.SecretKey.generate(params)
    # Results from 20 000 to 200 000, where the last level holds 16 384: two of three wrap to where it shows.
    pixels, weights = np.full((784, 4), 255.0), np.linspace(0.1, 1.0, 10)[:, None] * np.ones(784)
    product = (weights @ key.encrypt(pixels)).rescale()
    with pytest.raises(cl.errors.DataError, match="wrapped around"):
        key.decrypt(product)
    with pytest.raises(cl.errors.DataError, match="wrapped around"):
        key.decrypt_to_share(product, 10, honest_evaluator=True)
    scaled = (weights @ key.encrypt(pixels / 255)).rescale()
    assert np.abs(key.decrypt(scaled) - weights @ pixels / 255).max() < 1e-2
