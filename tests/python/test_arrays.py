"""Arrays in and out: dtypes, strides, shapes, values."""

from __future__ import annotations

import numpy as np
import pytest

import clathrate as cl

# Fresh encryption at scale 2^40 and degree 1024: errors near 2^-33; a dozen standard deviations are below this.
TOLERANCE = 1e-8


@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("shape", [(), (1,), (3,), (512,), (513,), (1024,), (1025,), (3000,), (1, 1), (4, 7), (3, 1030), (7, 1)])
def test_encrypt_any_shape_keeps_it(small, rng, encoding, shape):
    data = rng.normal(size=shape)
    ct = small.key.encrypt(data, encoding=encoding)
    assert ct.shape == shape
    assert ct.ndim == len(shape)
    assert ct.size == data.size
    assert ct.encoding == encoding
    out = small.key.decrypt(ct)
    assert out.dtype == np.float64
    assert out.flags.writeable
    assert small.error(ct, data) < TOLERANCE


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float16",
        "float32",
        "float64",
        "longdouble",
        ">f8",
        ">i4",
    ],
)
def test_encrypt_any_real_dtype_works(small, dtype):
    data = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    assert small.error(small.key.encrypt(data), data.astype(np.float64)) < TOLERANCE


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_encrypt_complex_goes_to_slots_and_comes_back_complex(small, rng, dtype):
    data = (rng.normal(size=(3, 50)) + 1j * rng.normal(size=(3, 50))).astype(dtype)
    ct = small.key.encrypt(data)
    assert ct.encoding == "slots"
    assert ct.is_complex
    assert small.key.decrypt(ct).dtype == np.complex128
    assert small.error(ct, data) < TOLERANCE


def test_encrypt_complex_in_coefficients_takes_pairs(small, rng):
    data = rng.normal(size=(3, 50)) + 1j * rng.normal(size=(3, 50))
    ct = small.key.encrypt(data, encoding="coefficients")
    assert (ct.encoding, ct.is_complex) == ("coefficients", True)
    assert small.key.decrypt(ct).dtype == np.complex128
    assert small.error(ct, data) < TOLERANCE


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[::2, ::3],
        lambda a: a[::-1, ::-1],
        lambda a: np.asfortranarray(a),
        lambda a: a.T,
        lambda a: np.broadcast_to(a[0], (4, a.shape[1])),
        lambda a: a.astype(np.float32)[:, 1:],
        lambda a: np.rec.fromarrays([a, a], names="x,y").x,
        lambda a: np.frombuffer(b"x" + a.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(a.shape),
    ],
    ids=["strided", "negative", "fortran", "transposed", "broadcast", "float32", "record", "unaligned"],
)
def test_encrypt_any_memory_layout_gives_the_same_numbers(small, rng, view):
    data = view(rng.normal(size=(6, 30)))
    assert small.error(small.key.encrypt(data), np.array(data, dtype=np.float64)) < TOLERANCE


@pytest.mark.parametrize(
    ("data", "expected"),
    [(3, 3.0), (2.5, 2.5), (True, 1.0), (np.float32(0.25), 0.25), ([1, 2], [1, 2]), ((1.5, -2), [1.5, -2]), ([[1], [2]], [[1], [2]])],
)
def test_encrypt_python_numbers_and_lists_work(small, data, expected):
    assert small.error(small.key.encrypt(data), np.array(expected)) < TOLERANCE


def test_encrypt_copies_its_input(small):
    data = np.ones(5)
    ct = small.key.encrypt(data)
    data[:] = 100
    assert small.error(ct, np.ones(5)) < TOLERANCE
    first, second = small.key.decrypt(ct), small.key.decrypt(ct)
    first[:] = 7
    assert np.max(np.abs(second - 1)) < TOLERANCE


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_encrypt_not_finite_names_the_index(small, bad):
    data = np.zeros((4, 5))
    data[2, 3] = bad
    with pytest.raises(cl.errors.DataError, match=r"at index \(2, 3\)"):
        small.key.encrypt(data)
    with pytest.raises(cl.errors.DataError, match=r"at index 13"):
        small.key.encrypt(data.ravel())
    with pytest.raises(ValueError, match=str(bad)):
        small.key.encrypt(bad)
    with pytest.raises(cl.errors.DataError, match="at index 1"):
        small.key.encrypt([1j, bad + 1j])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_encrypt_empty_is_refused(small, shape):
    with pytest.raises(cl.errors.DataError, match="has no entries"):
        small.key.encrypt(np.empty(shape))


@pytest.mark.parametrize("shape", [(1, 1, 1, 1, 1, 1, 1), (2, 1, 3, 1, 1, 2, 2)])
def test_encrypt_more_than_six_axes_is_refused(small, shape):
    with pytest.raises(cl.errors.DataError, match="at most 6 axes"):
        small.key.encrypt(np.zeros(shape))


@pytest.mark.parametrize(
    "data",
    [
        np.array([object()]),
        np.array(["a"]),
        "text",
        b"bytes",
        None,
        {"a": 1},
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.zeros(2, dtype=[("x", "f8")]),
        np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    ],
    ids=["object", "str array", "str", "bytes", "None", "dict", "dates", "structured", "masked"],
)
def test_encrypt_what_is_no_number_is_a_type_error(small, data):
    with pytest.raises(TypeError):
        small.key.encrypt(data)


def test_encrypt_a_ciphertext_is_a_type_error(small):
    ct = small.key.encrypt([1.0])
    with pytest.raises(TypeError, match="a ciphertext is no array of numbers"):
        small.key.encrypt(ct)
    with pytest.raises(TypeError, match=r"cl\.functions\.stack\(cts\)"):
        small.key.encrypt([ct, ct])


def test_encrypt_ragged_lists_are_refused(small):
    with pytest.raises(cl.errors.DataError, match="no array"):
        small.key.encrypt([[1], [2, 3]])


def test_encrypt_values_too_large_for_the_scale_are_refused(small):
    with pytest.raises(cl.errors.DataError, match="scale the data down"):
        small.key.encrypt([1e9], level=0)
    with pytest.raises(cl.errors.DataError, match="scale the data down"):
        small.key.encrypt([1e300])
    with pytest.raises(cl.errors.DataError, match="beyond double precision"):
        small.key.encrypt(10**400)


def test_encrypt_wide_python_integers_are_numbers(small):
    value = 2**70
    assert abs(small.key.decrypt(small.key.encrypt(value)) / value - 1) < 1e-12


def test_encrypt_level_and_scale_are_kept(small):
    ct = small.key.encrypt([1.0, 2.0], level=2, scale=2.0**35)
    assert (ct.level, ct.scale) == (2, 2.0**35)
    assert small.error(ct, [1.0, 2.0]) < 1e-6
    assert small.key.encrypt([1.0]).level == small.params.max_level
    assert small.key.encrypt([1.0], level=3).scale == small.params.scale(3)


@pytest.mark.parametrize("level", [-1, 6, 10**30, -(10**30)])
def test_encrypt_level_out_of_range_is_refused(small, level):
    with pytest.raises(cl.errors.LevelError, match="use 0 to 5"):
        small.key.encrypt([1.0], level=level)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.5, np.nan, np.inf, 2.0**300])
def test_encrypt_scale_out_of_range_is_refused(small, scale):
    with pytest.raises(cl.errors.ScaleError):
        small.key.encrypt([1.0], scale=scale)


def test_encrypt_unknown_encoding_is_refused(small):
    with pytest.raises(cl.errors.DataError, match='use "slots" or "coefficients"'):
        small.key.encrypt([1.0], encoding="bits")


def test_public_key_encrypts_for_the_secret_key(each_rank, rng):
    public = each_rank.key.public_key()
    data = rng.normal(size=(2, 40))
    ct = public.encrypt(data)
    assert public.key_id == each_rank.key.key_id == ct.key_id
    assert each_rank.error(ct, data) < 1e-7
    with pytest.raises(cl.errors.DataError, match=r"\(0, 0\)"):
        public.encrypt([[np.nan]])


def test_decrypt_to_share_adds_the_noise_asked_for(small):
    ct = small.key.encrypt(np.zeros(1024), encoding="coefficients")
    noise = small.key.decrypt_to_share(ct, 30, honest_evaluator=True) * small.params.scale()
    # Uniform in [-2^29, 2^29): its standard deviation is 2^30 / sqrt(12), that of 1024 samples within a tenth.
    assert abs(np.std(noise) / (2**30 / 12**0.5) - 1) < 0.1
    assert np.max(np.abs(noise)) < 2**29 + 2**12
    for bits in (0, 119, -1, 10**30):
        with pytest.raises(cl.errors.DataError, match="flood_bits"):
            small.key.decrypt_to_share(ct, bits, honest_evaluator=True)


def test_flood_bits_follow_the_error_bound_and_the_query_budget(small):
    ct = small.key.encrypt(np.linspace(-1, 1, 16), scale=2.0**90)
    bits = ct.flood_bits(2.0**-85, queries=16, statistical_bits=20)
    assert ct.flood_bits(2.0**-85, queries=32, statistical_bits=20) == bits + 1
    assert small.key.decrypt_to_share(ct, bits, honest_evaluator=True).shape == (16,)
    with pytest.raises(cl.errors.DataError, match="error_bound"):
        ct.flood_bits(-1.0)
    with pytest.raises(cl.errors.DataError, match="correct bits"):
        ct.flood_bits(1.0, statistical_bits=80)
