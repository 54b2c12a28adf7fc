"""Plain matrix times encrypted matrix."""

from __future__ import annotations

import numpy as np
import pytest

import clathrate as cl

# Bits left of a product at this set: the weights' rounding at 2^24 dominates, a few units times sqrt(inner).
TOLERANCE = 1e-5


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(1, 1, 1), (3, 1, 5), (1, 9, 3), (7, 20, 300), (20, 7, 256), (5, 33, 257), (2, 3, 1000)]
)
def test_any_rectangular_shape_agrees_with_numpy(flat, rng, rows, inner, columns):
    weights, data = rng.uniform(-1, 1, (rows, inner)), rng.uniform(-1, 1, (inner, columns))
    product = (weights @ flat.key.encrypt(data)).rescale()
    assert product.shape == (rows, columns)
    assert product.scale == flat.params.scale(0)
    assert flat.error(product, weights @ data) < TOLERANCE


@pytest.mark.parametrize("name", ["insecure_rank2", "insecure_rank3"])
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_every_rank_and_encoding_agrees_with_numpy(rng, name, encoding):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    weights, data = rng.normal(size=(4, 6)), rng.normal(size=(6, 600))
    product = (weights @ key.encrypt(data, encoding=encoding)).rescale()
    assert product.encoding == encoding
    assert np.max(np.abs(key.decrypt(product) - weights @ data)) < TOLERANCE


@pytest.mark.parametrize(
    "view",
    [
        np.asfortranarray,
        lambda w: w[::2, ::-1],
        lambda w: w.astype(np.float32),
        lambda w: w.astype(np.float16),
        lambda w: (8 * w).astype(np.int64),
        lambda w: (8 * w).astype(np.int8),
        lambda w: w > 0,
        lambda w: w.tolist(),
        lambda w: np.asmatrix(w) if hasattr(np, "asmatrix") else w,
    ],
    ids=["fortran", "strided", "float32", "float16", "int64", "int8", "bool", "list", "matrix"],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_any_layout_and_dtype_of_weights_works(flat, rng, view):
    weights, data = view(rng.uniform(-1, 1, (6, 10))), rng.uniform(-1, 1, (10, 30))
    assert flat.error((weights @ flat.key.encrypt(data)).rescale(), np.asarray(weights, dtype=np.float64) @ data) < TOLERANCE


def test_integer_weights_need_no_level(flat, rng):
    weights, data = rng.integers(-5, 6, (4, 8)), rng.uniform(-1, 1, (8, 20))
    ct = flat.key.encrypt(data, level=0)
    product = ct.matmul(weights, weight_scale=1.0)
    assert (product.level, product.scale) == (0, ct.scale)
    assert flat.error(product, weights @ data) < TOLERANCE


def test_weight_scale_of_the_caller_is_used(flat, rng):
    weights, data = rng.uniform(-1, 1, (4, 8)), rng.uniform(-1, 1, (8, 20))
    product = flat.key.encrypt(data).matmul(weights, weight_scale=2.0**10)
    assert product.scale == flat.params.scale() * 2.0**10
    # Rounding weights at 2^10: at most 8 * 2^-11.
    assert flat.error(product, weights @ data) < 8 * 2.0**-11
    assert flat.error(product, np.round(weights * 2**10) / 2**10 @ data) < 1e-8
    for scale in (0.0, -2.0, np.nan, np.inf):
        with pytest.raises(cl.errors.ScaleError, match="positive number"):
            flat.key.encrypt(data).matmul(weights, weight_scale=scale)


def test_linear_layers_chain_with_bias(small, rng):
    first, second, data, bias = rng.normal(size=(8, 5)), rng.normal(size=(2, 8)), rng.normal(size=(5, 50)), rng.normal(size=(8, 1))
    hidden = (first @ small.key.encrypt(data)).rescale() + bias
    assert small.error((second @ hidden).rescale(), second @ (first @ data + bias)) < TOLERANCE


@pytest.mark.parametrize("shape", [(3, 4), (5, 6), (1, 1)])
def test_weights_that_do_not_fit_say_what_would(flat, shape):
    with pytest.raises(cl.errors.ShapeError, match="needs 5 columns"):
        np.ones(shape) @ flat.key.encrypt(np.ones((5, 3)))


def test_vectors_say_how_to_become_matrices(flat):
    ct = flat.key.encrypt(np.ones((5, 3)))
    assert np.abs(flat.key.decrypt(np.ones(5) @ ct) - 5.0).max() < 1e-3
    with pytest.raises(cl.errors.ShapeError, match=r"`\[x\.dot\(row\) for row in W\]`"):
        np.ones((2, 5)) @ flat.key.encrypt(np.ones(5), encoding="coefficients")
    with pytest.raises(cl.errors.MissingKeyError, match=r"`\[x\.dot\(row\) for row in W\]`"):
        np.ones((2, 5)) @ flat.key.encrypt(np.ones(5))
    with pytest.raises(cl.errors.ShapeError):
        np.ones((2, 5, 5)) @ ct


@pytest.mark.parametrize("shape", [(0, 5), (3, 0)])
def test_empty_weights_are_refused(flat, shape):
    with pytest.raises((cl.errors.DataError, cl.errors.ShapeError)):
        np.ones(shape) @ flat.key.encrypt(np.ones((5, 3)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_not_finite_weights_are_refused_with_their_index(flat, bad):
    weights = np.ones((2, 5))
    weights[1, 3] = bad
    with pytest.raises(cl.errors.DataError, match=r"at index \(1, 3\)"):
        weights @ flat.key.encrypt(np.ones((5, 3)))


def test_weights_too_large_are_refused(flat):
    with pytest.raises(cl.errors.DataError, match="scale the matrix down"):
        np.full((2, 5), 1e12) @ flat.key.encrypt(np.ones((5, 3)))


def test_complex_and_text_weights_are_type_errors(flat):
    ct = flat.key.encrypt(np.ones((5, 3)))
    with pytest.raises(TypeError, match="real and imaginary"):
        np.full((2, 5), 1j) @ ct
    with pytest.raises(TypeError):
        np.full((2, 5), "a") @ ct


def test_level_zero_is_refused(flat):
    with pytest.raises(cl.errors.LevelError, match="level 1 or higher"):
        np.ones((2, 5)) @ flat.key.encrypt(np.ones((5, 3)), level=0)


def test_ciphertext_on_the_left_says_to_transpose(flat):
    ct = flat.key.encrypt(np.ones((5, 3)))
    with pytest.raises(cl.errors.MissingKeyError, match=r"X_transposed\.T @ W"):
        ct @ np.ones((3, 2))
    with pytest.raises(cl.errors.ShapeError, match="both operands are matrices"):
        ct @ ct
