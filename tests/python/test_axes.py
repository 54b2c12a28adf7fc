"""Arrays of three to six axes in slots, beside NumPy: with the keys, the level and the error of the dry run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clathrate as cl

RNG = np.random.default_rng(21)


def numbers(*shape: int) -> Any:
    return RNG.uniform(-1, 1, shape)


A, B, C, D = numbers(2, 3, 4), numbers(2, 4, 5), numbers(3, 4), numbers(2, 2, 3, 2)
ROW, WEIGHTS, STACK = numbers(4), numbers(5, 4), numbers(2, 5, 3)


@pytest.fixture(scope="module")
def key() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_deep"))  # 256 slots


def check(key: cl.SecretKey, f: Callable[..., Any], arrays: list[Any], **options: Any) -> cl.Ciphertext:
    found = cl.plans.trace(f, *[array.shape for array in arrays], params=key.params, encoding="slots", bound=1.0, **options)
    keys = key.evaluation_keys(found.needs)
    result = f(*[key.encrypt(array, encoding="slots", bound=1.0, **options).with_keys(keys) for array in arrays])
    expected = f(*arrays)
    assert result.shape == found.result.shape == np.shape(expected)
    assert result.level == found.result.level
    error = np.abs(key.decrypt(result) - expected).max()
    whole = result.T if isinstance(result, cl.types.TransposedCiphertext) else result
    assert error <= min(whole.error_bound, 1e-5)
    return result


CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "x + x": (lambda x: x + x, [A]),
    "a matrix for each": (lambda x, y: x + y, [A, C]),
    "a row for each": (lambda x, y: x * y, [A, ROW]),
    "a column for each": (lambda x, y: x * y, [A, numbers(3, 1)]),
    "a number for each": (lambda x, y: x * y, [A, numbers(2, 1, 1)]),
    "a row in the middle": (lambda x, y: x - y, [A, numbers(2, 1, 4)]),
    "both repeated": (lambda x, y: x * y, [numbers(2, 1, 4), numbers(3, 1)]),
    "plain numbers": (lambda x: x * C + A[:, :1, :], [A]),
    "a power": (lambda x: x**2 + x, [A]),
    "where": (lambda x: np.where(A > 0, x, 0.0), [A]),
    "six axes": (lambda x: x.sum(axis=(0, 2, 5)), [numbers(2, 1, 3, 2, 1, 2)]),
    "sum": (lambda x: x.sum(), [A]),
    "sum 0": (lambda x: x.sum(axis=0), [A]),
    "sum 1": (lambda x: x.sum(axis=1), [A]),
    "sum 2": (lambda x: x.sum(axis=2), [A]),
    "sum -1, kept": (lambda x: x.sum(axis=-1, keepdims=True), [A]),
    "sum 0 1": (lambda x: x.sum(axis=(0, 1)), [A]),
    "sum 0 1, kept": (lambda x: x.sum(axis=(0, 1), keepdims=True), [A]),
    "sum 1 2": (lambda x: x.sum(axis=(1, 2)), [A]),
    "sum 0 2, kept": (lambda x: x.sum(axis=(0, 2), keepdims=True), [A]),
    "sum of all, kept": (lambda x: x.sum(keepdims=True), [A]),
    "mean": (lambda x: x.mean(), [A]),
    "mean 1": (lambda x: x.mean(axis=1), [A]),
    "mean 0 1, kept": (lambda x: x.mean(axis=(0, 1), keepdims=True), [A]),
    "mean 0 2": (lambda x: np.mean(x, axis=(0, 2)), [A]),
    "differences from a mean": (lambda x: x - x.mean(axis=1, keepdims=True), [A]),
    "variance": (lambda x: x.var(), [A]),
    "variance 1": (lambda x: x.var(axis=1), [A]),
    "variance 2, kept": (lambda x: x.var(axis=2, keepdims=True), [A]),
    "variance 0 1": (lambda x: x.var(axis=(0, 1), ddof=1), [A]),
    "x[0]": (lambda x: x[0], [A]),
    "x[:, 1]": (lambda x: x[:, 1], [A]),
    "x[..., 1]": (lambda x: x[..., 1], [A]),
    "x[:, 1:, ::2]": (lambda x: x[:, 1:, ::2], [A]),
    "x[1, 2, 3]": (lambda x: x[1, 2, 3], [A]),
    "x[[1, 0]]": (lambda x: x[[1, 0]], [A]),
    "x[:, None]": (lambda x: x[:, None], [A]),
    "x[::-1, :, ::-1]": (lambda x: x[::-1, :, ::-1], [A]),
    "x[:, mask]": (lambda x: x[:, np.array([True, False, True])], [A]),
    "T": (lambda x: x.T, [A]),
    "transpose": (lambda x: np.transpose(x, (1, 0, -1)), [A]),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), [A]),
    "transpose by its method": (lambda x: x.transpose(1, 0, -1) + x.transpose((1, 0, 2)), [A]),
    "all axes reversed by the method": (lambda x: x.transpose(), [A]),
    "swapaxes by its method": (lambda x: x.swapaxes(-1, 0), [A]),
    "swapaxes": (lambda x: np.swapaxes(x, 1, 2), [A]),
    "swapaxes of a matrix": (lambda x: np.swapaxes(x, 0, -1), [C]),
    "reshape (6, 4)": (lambda x: x.reshape(6, 4), [A]),
    "reshape (4, 6)": (lambda x: x.reshape(4, 6), [A]),
    "reshape -1": (lambda x: x.reshape(-1), [A]),
    "reshape of a matrix": (lambda x: x.reshape(2, 2, 3), [C]),
    "reshape of a vector": (lambda x: x.reshape(2, 1, 2), [ROW]),
    "concatenate 0": (lambda x: np.concatenate([x, x]), [A]),
    "concatenate 1": (lambda x: np.concatenate([x, x[:, :1]], axis=1), [A]),
    "concatenate 2": (lambda x: np.concatenate([x, x[..., :1]], axis=-1), [A]),
    "stack 0": (lambda x: np.stack([x, x]), [A]),
    "stack 2": (lambda x: np.stack([x, 2 * x], axis=2), [A]),
    "stack of matrices": (lambda x: np.stack([x, x]), [C]),
    "stack of matrices -1": (lambda x: np.stack([x, x], axis=-1), [C]),
    "flip": (lambda x: np.flip(x, 1), [A]),
    "flip of all": (lambda x: np.flip(x), [A]),
    "roll": (lambda x: np.roll(x, 1, axis=2), [A]),
    "roll of all": (lambda x: np.roll(x, 3), [A]),
    "roll of two axes": (lambda x: np.roll(x, (1, 2), axis=(0, 2)), [A]),
    "roll of a matrix": (lambda x: np.roll(x, 3), [C]),
    "repeat": (lambda x: np.repeat(x, 2, axis=1), [A]),
    "repeat of all": (lambda x: np.repeat(x, 2), [C]),
    "tile": (lambda x: np.tile(x, (1, 2, 1)), [A]),
    "tile of a matrix": (lambda x: np.tile(x, 2), [C]),
    "pad": (lambda x: np.pad(x, 1), [A]),
    "pad of a matrix": (lambda x: np.pad(x, ((1, 2), (0, 1))), [C]),
    "diff": (lambda x: np.diff(x, axis=1), [A]),
    "cumsum 1": (lambda x: np.cumsum(x, axis=1), [A]),
    "cumsum 2": (lambda x: np.cumsum(x, axis=2), [A]),
    "take": (lambda x: np.take(x, [0, 2], axis=1), [A]),
    "take of all": (lambda x: np.take(x, [[0, 7], [2, 2]]), [C]),
    "delete": (lambda x: np.delete(x, 1, axis=1), [A]),
    "delete of all": (lambda x: np.delete(x, [1, 5]), [C]),
    "split": (lambda x: np.split(x, 3, axis=1)[1], [A]),
    "expand_dims": (lambda x: np.expand_dims(x, 1), [A]),
    "squeeze": (lambda x: np.squeeze(x[:, :1]), [A]),
    "matrices by matrices": (lambda x, y: x @ y, [A, B]),
    "matrices by a matrix": (lambda x, y: x @ y, [A, B[0]]),
    "a matrix by matrices": (lambda x, y: x @ y, [C, B]),
    "matrices by a vector": (lambda x, y: x @ y, [A, ROW]),
    "a vector by matrices": (lambda x, y: x @ y, [numbers(3), A]),
    "stacks that repeat": (lambda x, y: x @ y, [D, numbers(2, 1, 2, 3)]),
    "matrices by a plain matrix": (lambda x: x @ WEIGHTS.T, [A]),
    "matrices by a plain vector": (lambda x: x @ ROW, [A]),
    "plain matrices by matrices": (lambda x: STACK @ x, [A]),
    "a plain matrix by matrices": (lambda x: STACK[0] @ x, [A]),
    "plain stacks that repeat": (lambda x: STACK[:, None] @ x, [numbers(1, 2, 3, 2)]),
    "matrices by plain matrices": (lambda x: x @ B, [A]),
    "a matrix by plain matrices": (lambda x: x @ B, [C]),
    "matmul": (lambda x, y: np.matmul(x, y), [A, B]),
    "bij,bjk->bik": (lambda x, y: np.einsum("bij,bjk->bik", x, y), [A, B]),
    "bij,bjk->ikb": (lambda x, y: np.einsum("bij,bjk->ikb", x, y), [A, B]),
    "bij->jbi": (lambda x: np.einsum("bij->jbi", x), [A]),
    "bij,kj->bik": (lambda x: np.einsum("bij,kj->bik", x, WEIGHTS), [A]),
    "bij,kb->ijk": (lambda x: np.einsum("bij,kb->ijk", x, C[:, :2]), [A]),
    "bij->i": (lambda x: np.einsum("bij->i", x), [A]),
    "bij,bij->b": (lambda x, y: np.einsum("bij,bij->b", x, y), [A, A[::-1]]),
    "hstack": (lambda x: np.hstack([x, x[:, :2]]), [A]),
    "vstack": (lambda x: np.vstack([x, x]), [A]),
    "dot": (lambda x, y: np.dot(x, y), [A, B]),
    "dot with a matrix": (lambda x, y: x.dot(y), [A, B[0]]),
    "dot with a plain vector": (lambda x: x.dot(ROW), [A]),
    "by a transposed matrix": (lambda x, y: x @ y.T, [A, C]),
    "average": (lambda x: np.average(x, axis=1, weights=np.abs(A)), [A]),
    "product 0 1": (lambda x: x.prod(axis=(0, 1)), [A]),
    "product": (lambda x: x.prod(), [A]),
    "product 1": (lambda x: x.prod(axis=1), [A]),
    "product 0 2, kept": (lambda x: x.prod(axis=(0, 2), keepdims=True), [A]),
    "fft": (lambda x: np.fft.fft(x), [A]),
    "tril": (lambda x: np.tril(x), [A]),
    "kron": (lambda x, y: np.kron(x, y), [C, C[:2, :2]]),
}


@pytest.mark.parametrize("options", [{}, {"lanes": 1}])
@pytest.mark.parametrize("name", CASES)
def test_functions_are_numpys(key, name, options):
    f, arrays = CASES[name]
    check(key, f, arrays, **options)


W300, S4 = numbers(2, 300) / 100, numbers(4, 4)
PLANE, PHASES = numbers(2, 3), np.exp(2j * np.pi * RNG.random((2, 3)))
MASK = np.array([[True, False, True], [False, True, True]])
MORE: dict[str, tuple[Callable[..., Any], list[Any], dict[str, Any]]] = {
    "cov of complex numbers": (np.cov, [PHASES], {}),
    "cov of one variable": (np.cov, [numbers(1, 5)], {}),
    "cov of one column": (lambda x: np.cov(x, rowvar=False), [numbers(5, 1)], {}),
    "vdot of matrices": (lambda x, y: np.vdot(x, y), [C, C[::-1]], {}),
    "vdot of stacks": (lambda x: np.vdot(A, x), [A], {}),
    "ediff1d of a matrix": (np.ediff1d, [PLANE], {}),
    "hsplit of a stack": (lambda x: np.hsplit(x, 3)[1], [A], {}),
    "None and lists": (lambda x: x[None, [0, 1], [1, 2]], [PLANE], {}),
    "None between lists": (lambda x: x[[0, 1], None, [1, 2]], [PLANE], {}),
    "lists apart": (lambda x: x[None, 0, :, [0, 1]], [A], {}),
    "lists, a range and None": (lambda x: x[[0, 1], 1:2, None, [0, 1]], [A], {}),
    "a mask of a matrix": (lambda x: x[MASK], [PLANE], {}),
    "a mask of two axes": (lambda x: x[MASK], [A], {}),
    "a mask of all axes": (lambda x: x[A > 0], [A], {}),
    "a list of two axes": (lambda x: x[[[0, 1], [1, 0]], None], [PLANE], {}),
    "a list of two axes and a range": (lambda x: x[[[0, 2], [1, 1]], 1:3], [C], {}),
    "insert of complex numbers": (lambda x: np.insert(x, 1, np.array([0.5j])), [PHASES[0]], {}),
    "insert of three": (lambda x: np.insert(x, 1, [0.1, 0.2, 0.3]), [ROW], {}),
    "insert above a column": (lambda x: np.insert(x, 0, 0.5, axis=0), [numbers(3, 1)], {}),
    "complex weights": (lambda x: np.average(x, weights=np.array([1, 1j, 2]), axis=1), [PLANE], {}),
    "weights that sum to zero in all": (lambda x: np.average(x, axis=1, weights=[[1.0, 1.0, 1.0], [-1.0, -1.0, -1.0]]), [PLANE], {}),
    "weights of two axes": (lambda x: np.average(x, axis=(0, 1), weights=np.abs(PLANE)), [A], {}),
    "zeros above a column": (lambda x: np.pad(x, [(1, 0), (0, 0)]), [numbers(3, 1)], {}),
    "zeros in a stack of columns": (lambda x: np.pad(x, [(0, 0), (1, 1), (0, 0)]), [numbers(2, 2, 1)], {}),
    "joined products": (lambda x: np.vstack([x * 0.5, x * 0.5]), [numbers(5, 2, 2)], {}),
    "joined squares": (lambda x, y: np.concatenate([x * x, y * y]), [numbers(3, 5), numbers(6, 5)], {"lanes": "most"}),
    "a view by a vector": (lambda x: x.T @ ROW[:2], [PLANE], {}),
    "a view with a new axis": (lambda x: x.T[None], [PLANE], {}),
    "a view's last row": (lambda x: x.T[-1, None], [PLANE], {}),
    "rows of a view": (lambda x: x.T[[0, 2]], [PLANE], {"lanes": "most"}),
    "a view backwards": (lambda x: x.T[::-1], [PLANE], {}),
    "a sum by a matrix": (lambda x: x.sum(axis=-1) @ C, [C], {"lanes": "most"}),
    "a matrix by a column": (lambda x: C.T @ x[:, 1], [C], {"lanes": "most"}),
    "a filtered column": (lambda x: np.convolve(x[:, 1], [0.5, 0.25]), [C], {"lanes": "most"}),
    "roll of two axes by one": (lambda x: np.roll(x, 1, axis=(0, 1)), [PLANE], {}),
    "tensordot over one axis": (lambda x, y: np.tensordot(x, y, np.int64(1)), [C, C.T], {}),
    "linalg.trace of a stack": (np.linalg.trace, [D[..., :2, :]], {}),
    "diagonal of a stack": (lambda x: np.diagonal(x, 1), [A], {}),
    "append of matrices": (lambda x: np.append(x, x), [PLANE], {}),
    "a matrix by a reversed vector": (lambda x: W300 @ x, [numbers(300)], {"order": "bit-reversed"}),
    "a matrix by small polynomials": (lambda x: W300 @ x, [numbers(300)], {"order": "bit-reversed", "capacity": 64}),
    "a square matrix by a reversed vector": (lambda x: S4 @ x, [ROW], {"order": "bit-reversed"}),
}


@pytest.mark.parametrize("name", MORE)
def test_shapes_and_orders_that_are_easily_overlooked(key, name):
    f, arrays, options = MORE[name]
    inputs = [cl.Input(array.shape, is_complex=np.iscomplexobj(array), encoding="slots", bound=1.0, **options) for array in arrays]
    found = cl.plans.trace(f, *inputs, params=key.params)
    keys = key.evaluation_keys(found.needs)
    result = f(*[key.encrypt(array, encoding="slots", bound=1.0, **options).with_keys(keys) for array in arrays])
    expected = f(*arrays)
    assert result.shape == found.result.shape == np.shape(expected)
    assert np.abs(key.decrypt(result) - expected).max() <= min(result.error_bound, 1e-4)


def test_matrices_by_vectors_that_were_in_coefficients(key):
    for count in (257, 511, 600):
        x, weights = numbers(count), numbers(3, count) / 100
        keys = key.keys_for(lambda x, weights=weights: weights @ x.to_slots(), x.shape, encoding="coefficients", bound=1.0)
        result = weights @ key.encrypt(x, encoding="coefficients", bound=1.0).with_keys(keys).to_slots()
        assert np.abs(key.decrypt(result) - weights @ x).max() <= min(result.error_bound, 1e-4)


def test_matrices_of_a_stack_share_polynomials_and_products(key):
    x = key.encrypt(numbers(4, 4, 4), encoding="slots")
    # 256 slots for each product of two numbers of all matrices.
    assert (x.layout.lanes, x.nbytes) == (16, key.encrypt(numbers(4), encoding="slots").nbytes)
    one, four = (
        cl.plans.trace(lambda x, y: x @ y, shape, shape, params=key.params, encoding="slots", lanes="most") for shape in ((4, 4), (4, 4, 4))
    )
    assert four.transforms <= 1.5 * one.transforms
    check(key, lambda x, y: x @ y, [numbers(4, 4, 4), numbers(4, 4, 4)])


def test_arrays_of_three_axes_have_files(key, tmp_path):
    x = key.encrypt(A)
    assert x.encoding == "slots"
    x.save(tmp_path / "x.clt")
    again = cl.Ciphertext.load(tmp_path / "x.clt", key.params)
    assert again.shape == A.shape
    assert np.abs(key.decrypt(again) - A).max() < 1e-6


def test_coefficients_of_three_axes_are_added(key):
    x = key.encrypt(A, encoding="coefficients")
    assert np.abs(key.decrypt((x + x * 0.5)[1]) - 1.5 * A[1]).max() < 1e-5
    with pytest.raises(TypeError, match="in slots"):
        x[:, :, 1:]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x.sum(axis=3), "has 3 axes"),
        (lambda x: x.sum(axis=(0, 0)), "there twice"),
        (lambda x: x + np.ones((2, 2, 4)), "axis by axis"),
        (lambda x: x @ np.ones((3, 4, 2)), 'label "p" have 2 and 3'),
        (lambda x: x @ x, "as many rows on the right|to be the same"),
        (lambda x: np.transpose(x, (0, 1)), "each of them once"),
        (lambda x: x.transpose(0, 1), "each of them once"),
        (lambda x: x.reshape(1, 1, 1, 1, 1, 2, 12), "6 axes|stay where they are"),
        (lambda x: np.concatenate([x, x.reshape(3, 2, 4)], axis=2), "other axes are equal"),
        (lambda x: np.stack([x, x], axis=4), "no axis 4"),
        (lambda x: x[0, 0, 0, 0], "too many indices"),
        (lambda x: x[5], "out of bounds"),
        (np.diag, "takes a matrix"),
        (np.cov, "a vector or a matrix"),
        (lambda x: np.fft.fft(x, axis=1), "last axis"),
    ],
)
def test_what_does_not_fit_is_named(key, wrong, message):
    with pytest.raises((TypeError, IndexError, cl.ClathrateError), match=message):
        wrong(key.encrypt(A))
