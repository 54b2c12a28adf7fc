"""NumPy's own functions and operators on ciphertexts: the same as in the clear, or an error that says what to use."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import clathrate as cl
from clathrate import _numpy


def old_matrix():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.matrix([[1.0, 1.0, 1.0]])


def matrix_of(x):
    return cl.SecretKey.generate(x.params).encrypt(np.ones((2, 3)), encoding="coefficients")


@pytest.fixture(scope="module")
def params():
    return cl.Params.preset("insecure_deep")


@pytest.fixture(scope="module")
def key(params):
    return cl.SecretKey.generate(params)


FUNCTIONS = [
    (lambda x: np.sum(x), (7,)),
    (lambda x: np.sum(x, axis=(0, 1)), (2, 5)),
    (lambda x: np.mean(x, (1,), keepdims=True), (2, 5)),
    (lambda x: np.var(x, ddof=1), (7,)),
    (lambda x: np.dot(x, x), (7,)),
    (lambda x: np.dot(np.arange(7.0), x), (7,)),
    (lambda x: np.inner(np.arange(7.0), x), (7,)),
    (lambda x: np.dot(2.5, x), (7,)),
    (lambda x: np.matmul(np.ones((3, 2)), x), (2, 5)),
    (lambda x: np.matmul(x, np.arange(5.0)), (2, 5)),
    (lambda x: np.concatenate([x, x]), (7,)),
    (lambda x: np.concatenate((x, x), axis=1), (2, 5)),
    (lambda x: np.stack([x, x]), (7,)),
    (lambda x: np.hstack([x, x]), (7,)),
    (lambda x: np.vstack([x, x]), (2, 5)),
    (lambda x: np.where(np.arange(7) % 2 == 0, x, 0.5), (7,)),
    (lambda x: np.where(np.arange(7) % 2 == 0, -1.0, x), (7,)),
    (lambda x: np.reshape(x, (1, 7)), (7,)),
    (lambda x: np.reshape(x, -1), (1, 7)),
    (lambda x: np.add(np.arange(7.0), x), (7,)),
    (lambda x: np.subtract(np.arange(7.0), x), (7,)),
    (lambda x: np.subtract(x, np.arange(7.0)), (7,)),
    (lambda x: np.multiply(x, x), (7,)),
    (lambda x: np.divide(x, np.full(7, 2.0)), (7,)),
    (lambda x: np.power(x, 3), (7,)),
    (lambda x: np.negative(np.positive(x)), (7,)),
    (lambda x: np.conjugate(x), (7,)),
    (lambda x: np.float64(2.5) * x + np.arange(7) - np.float32(0.5), (7,)),
]


@pytest.mark.parametrize(("function", "shape"), FUNCTIONS)
def test_functions_give_what_they_give_in_the_clear(params, key, rng, function, shape):
    x = rng.uniform(-1, 1, shape)
    keys = key.keys_for(function, cl.Input(shape, encoding="slots"))
    result = function(key.encrypt(x, encoding="slots").with_keys(keys))
    expected = function(x)
    assert isinstance(result, cl.Ciphertext)
    assert result.shape == np.shape(expected)
    assert np.allclose(key.decrypt(result), expected, atol=1e-6)


def test_views_of_transposed_arrays_are_taken(params, key, rng):
    x, w = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (3, 2))
    ct = key.encrypt(x, encoding="coefficients")
    assert np.shape(np.transpose(ct)) == (4, 3)
    assert np.ndim(ct.T) == 2
    assert (np.size(ct.T), np.size(ct, 1)) == (12, 4)
    assert np.allclose(key.decrypt(np.matmul(ct.T, w).rescale()), x.T @ w, atol=1e-5)
    assert np.allclose(key.decrypt(np.dot(ct.T, w).rescale()), x.T @ w, atol=1e-5)
    assert np.allclose(key.decrypt(np.dot(2.0, ct.T).T.rescale()), 2 * x, atol=1e-5)
    with pytest.raises(TypeError, match="the other axis of the ciphertext itself"):
        np.sum(ct.T)


def test_types_of_numpy_numbers_decide_levels(key):
    ct = key.encrypt([1.0, 2.0])
    assert (np.int64(3) * ct).rescale is not None
    assert np.multiply(np.int64(3), ct).scale == ct.scale
    assert (np.int64(3) * ct).scale == ct.scale
    assert (np.arange(2) * ct).shape == (2,)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.std(x), r"np\.std does not take ciphertexts: use `cl\.functions\.std\(x, domain="),
        (lambda x: np.linalg.norm(x), r"np\.linalg\.norm .* use `cl\.functions\.norm"),
        (lambda x: np.exp(x), r"np\.exp .* use `cl\.functions\.exp`"),
        (lambda x: np.maximum(x, 0), r"cl\.functions\.relu"),
        (lambda x: np.sort(x), r"np\.sort .* decrypt it first"),
        (lambda x: np.array_equal(x, x), "cannot be compared exactly"),
        (lambda x: np.allclose(x, x), "cannot be compared exactly"),
        (lambda x: np.ones(3) < x, "a ciphertext cannot be compared"),
        (lambda x: np.add.reduce(x), r"np\.add\.reduce does not take"),
        (lambda x: np.add(x, x, out=np.zeros(3)), "cannot be written into an array"),
        (lambda x: np.add(x, x, where=np.ones(3, bool)), "takes no where"),
        (lambda x: np.sum(x, initial=1.0), r"np\.sum of ciphertexts: .*unexpected keyword argument 'initial'"),
        (lambda x: np.sum(x, dtype=float), "has no `dtype` and no `out`"),
        (lambda x: np.stack([x, x], axis=2), "has no axis 2"),
        (lambda x: np.transpose(x, (1,)), "name each of them once"),
        (lambda x: np.asarray(x), r"is no array of numbers: .*`secret_key\.decrypt\(ct\)`"),
        (lambda x: np.concatenate([x, x], axis=None), "takes an axis, and not None"),
        (lambda x: old_matrix() * x, r"np\.matrix.*np\.asarray"),
        (lambda x: x * old_matrix(), r"np\.matrix.*np\.asarray"),
        (lambda x: np.conj(matrix_of(x).T), "of a transposed ciphertext"),
        (lambda x: np.power(matrix_of(x).T, 2), "no power is taken of the view of a transposed matrix"),
        (lambda x: abs(x), r"use `cl\.functions\.absolute`"),
        (lambda x: 2**x, r"a ciphertext is no exponent: use `cl\.functions\.exp`"),
        (lambda x: x**x, r"a ciphertext is no exponent: use `cl\.functions\.exp`"),
        (lambda x: x < 1, r"cannot be compared: .*`cl\.functions\.sign`"),
        (lambda x: x.__setitem__(0, 1.0), r"does not change: .*`cl\.functions\.where"),
        (lambda x: x.__delitem__(0), "does not change"),
    ],
)
def test_what_has_no_counterpart_says_what_to_use(key, function, words):
    with pytest.raises(TypeError, match=words):
        function(key.encrypt([1.0, 2.0, 3.0]))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("max", r"take `cl\.functions\.maximum\(x, x\.rotate\(step\)\)`"),
        ("std", r"use `cl\.functions\.std"),
        ("flatten", r"by `x\.reshape\(-1\)`"),
        ("conjugate", r"use `x\.conj\(\)`"),
        ("mT", r"use `x\.swapaxes\(-1, -2\)`"),
        ("real", r"use `x\.real_part\(\)`"),
        ("fill", "does not change"),
        ("cumsum", r"use `np\.cumsum\(x\)`"),
        ("sort", "decrypt it first"),
        ("astype", "as they were encrypted"),
        ("tofile", r"use `x\.save\(path\)`"),
    ],
)
def test_methods_of_arrays_that_are_missing_say_what_to_use(key, name, words):
    ct = key.encrypt([[1.0, 2.0, 3.0]])
    for array in (ct, ct.T):
        assert not hasattr(array, name)
        before = ": " if array is ct else r"\. Of the ciphertext itself, before `\.T`: "
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'{before}.*{words}"):
            getattr(array, name)


def test_attributes_that_are_missing_are_missing_as_everywhere(key):
    ct = key.encrypt([[1.0, 2.0, 3.0]])
    for array in (ct, ct.T):
        with pytest.raises(AttributeError) as raised:
            array.rotat  # noqa: B018
        assert str(raised.value) == f"'{type(array).__name__}' object has no attribute 'rotat'"
        assert (raised.value.name, raised.value.obj is array) == ("rotat", True)
    with pytest.raises(AttributeError, match=r"compute with the ciphertext itself and transpose the result"):
        ct.T.sum  # noqa: B018
    with pytest.raises(AttributeError, match=r"take it of the ciphertext itself, before `\.T`"):
        ct.T.ndim  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'strides'$"):
        ct.strides  # noqa: B018
    assert not hasattr(ct, "\ud800")
    assert (len(ct), len(ct.T)) == (1, 3)


def test_transposed_ciphertexts_are_not_compared(key):
    view = key.encrypt([[1.0, 2.0, 3.0]]).T
    for compare in (lambda: view == view, lambda: view != 1, lambda: view < 1, lambda: np.ones(3) < view):
        with pytest.raises(TypeError, match=r"cannot be compared: .*`cl\.functions\.sign`"):
            compare()


def test_real_and_imaginary_parts_are_numpys(key):
    keys = key.evaluation_keys(cl.keys.Needs(conjugate=True))
    numbers = np.array([[0.5 - 0.25j, -1.0 + 2.0j, 3.0j], [1.0, -0.125j, 0.75 + 0.5j]])
    x = key.encrypt(numbers, encoding="slots", bound=4.0).with_keys(keys)
    for function in (np.real, np.imag):
        part = function(x)
        assert (part.dtype, part.shape, part.bound) == (np.float64, (2, 3), 4.0)
        found = key.decrypt(part)
        assert found.dtype == np.float64
        assert abs(found - function(numbers)).max() < 1e-5
        assert part.rescale().level == x.level - 1
        of_real = function(key.encrypt(numbers.real, encoding="slots"))
        assert of_real.level == x.level
        assert abs(key.decrypt(of_real) - function(numbers.real)).max() < 1e-5
    without = key.encrypt(numbers, encoding="slots")
    with pytest.raises(cl.errors.MissingKeyError, match="conjugat"):
        without.real_part()


def test_functions_of_real_numbers_refuse_complex_ones(key):
    ct = key.encrypt([0.5 + 0.5j, 0.25], encoding="slots")
    functions = [
        cl.functions.absolute,
        cl.functions.relu,
        cl.functions.exp,
        cl.functions.gelu,
        cl.functions.sigmoid,
        cl.functions.softmax,
        lambda x: cl.functions.sign(x, margin=0.1),
    ]
    functions += [
        lambda x: cl.functions.maximum(x, 0.5),
        lambda x: cl.functions.minimum(0.5, x),
        lambda x: cl.functions.sqrt(x, domain=(0.1, 1)),
        lambda x: cl.functions.norm(x, domain=(0.1, 1)),
    ]
    for function in functions:
        for x in (ct, np.array([0.5 + 0.5j, 0.25])):
            with pytest.raises(cl.errors.DataError, match=r"of complex numbers: take it of `x\.real_part\(\)`"):
                function(x)


def test_arrays_do_not_take_encrypted_numbers_in_place(key):
    total = np.zeros(3)
    with pytest.raises(TypeError, match=r"write `x = x \+ ct` for `x \+= ct`"):
        total += key.encrypt([1.0, 2.0, 3.0])
    assert not total.any()


@pytest.mark.parametrize("axis", [(2,), (0, 2), (-3,), (0, 0), (0, -2), ()])
def test_axes_that_are_not_there_are_refused(key, axis):
    ct = key.encrypt(np.ones((2, 3)), encoding="slots")
    for reduction in (np.sum, np.mean, np.var):
        with pytest.raises(cl.errors.DataError, match="`axis`"):
            reduction(ct, axis=axis)


@pytest.mark.parametrize("exponent", [np.complex128(1j), np.complex64(2 + 1j), np.timedelta64(2), 1j, 0.5, -1, True + 0j])
def test_exponents_are_whole_numbers(key, exponent):
    ct = key.encrypt([1.0, 2.0])
    for power in (lambda: ct**exponent, lambda: np.power(ct, exponent)):
        with pytest.raises(ValueError, match="has a whole exponent"):
            power()


def test_rolls_are_joins_of_their_parts(params, key):
    x = np.arange(1.0, 6.0)

    def rolled(x):
        return cl.functions.hstack([x[-2:], x[:-2]])

    ct = key.encrypt(x).with_keys(key.keys_for(rolled, x.shape))
    assert np.allclose(key.decrypt(rolled(ct)), np.roll(x, 2), atol=1e-6)


def test_every_function_of_numpys_has_a_counterpart_a_remedy_or_a_reason():
    """The page of NumPy's functions, which a program writes, says of none that nothing is known of it."""
    from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

    known = {_numpy._name(function) for function in _numpy._FUNCTIONS} | _numpy.UNIVERSAL
    names = {_numpy._name(function) for function in get_overridable_numpy_array_functions()}
    names |= {each.__name__ for each in get_overridable_numpy_ufuncs() if getattr(np, each.__name__, None) is each}
    # Other modules are of records, text and polynomials.
    names = {name for name in names if "." not in name or name.startswith(("fft.", "linalg.", "lib.scimath.", "lib.stride_tricks."))}
    unknown = [name for name in names - known if "no function here stands for it" in _numpy._instead(name)]
    assert len(names) > 300, len(names)
    assert not unknown, unknown
