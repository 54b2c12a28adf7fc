"""What an error advises works: each wrong use beside a part of its message and the advice, which is run and compared with NumPy."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import clathrate as cl
from clathrate import _linear, _numpy, _remedies

X = np.array([0.25, -0.5, 0.75, 0.125, -0.875, 0.5])
Y = np.linspace(-0.5, 0.5, 6)
EIGHT = np.linspace(0.5, 1.25, 8)
M = np.arange(12.0).reshape(3, 4) / 12
S = np.arange(16.0).reshape(4, 4) / 16
W = np.linspace(-1, 1, 18).reshape(3, 6)
SLOTS, DENSE, LANES = {"encoding": "slots"}, {"encoding": "coefficients"}, {"encoding": "slots", "lanes": "most"}


@pytest.fixture(scope="module")
def key() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_deep"))


def encrypted(key: cl.SecretKey, function: Callable[..., Any], arrays: tuple[np.ndarray, ...], options: dict[str, Any]) -> Any:
    """The arrays, encrypted, with the keys that a function of them needs."""
    is_complex = any(np.iscomplexobj(array) for array in arrays)
    keys = key.keys_for(function, *(array.shape for array in arrays), is_complex=is_complex, **options)
    return [key.encrypt(array, **options).with_keys(keys) for array in arrays]


def numbers(key: cl.SecretKey, result: Any) -> Any:
    return [numbers(key, part) for part in result] if isinstance(result, list) else key.decrypt(result)


def check(
    key: cl.SecretKey, function: Callable[..., Any], expected: Any, arrays: tuple[np.ndarray, ...], options: dict[str, Any], atol: float
) -> None:
    found = numbers(key, function(*encrypted(key, function, arrays, options)))
    for own, wanted in zip(found, expected, strict=True) if isinstance(found, list) else [(found, expected)]:
        assert np.shape(own) == np.shape(wanted)
        np.testing.assert_allclose(own, wanted, atol=atol, rtol=0)


# --- functions of NumPy that just work

WORKS = [
    (np.cumsum, X, SLOTS),
    (lambda x: np.cumsum(x, axis=0), M, SLOTS),
    (lambda x: np.cumsum(x, axis=1), M, SLOTS),
    (lambda x: np.cumsum(x, axis=0), M, DENSE),
    (np.diff, X, SLOTS),
    (np.diff, X, DENSE),
    (lambda x: np.diff(x, n=2), X, SLOTS),
    (lambda x: np.diff(x, axis=0), M, DENSE),
    (lambda x: np.diff(x, axis=1), M, DENSE),
    (np.ediff1d, X, SLOTS),
    (np.flip, X, SLOTS),
    (np.flip, M, SLOTS),
    (np.flipud, M, DENSE),
    (np.fliplr, M, SLOTS),
    (lambda x: np.roll(x, 2), X, SLOTS),
    (lambda x: np.roll(x, -1, axis=0), M, DENSE),
    (lambda x: np.roll(x, 1, axis=1), M, SLOTS),
    (lambda x: np.convolve(x, [0.5, 0.25], "valid"), X, SLOTS),
    (lambda x: np.convolve([0.5, 0.25], x), X, SLOTS),
    (lambda x: np.convolve(x, [0.5, 0.25, 1.0], "same"), X, SLOTS),
    (lambda x: np.correlate(x, [0.5, 0.25]), X, SLOTS),
    (np.gradient, X, SLOTS),
    (lambda x: np.trapezoid(x, dx=0.5), X, SLOTS),
    (np.fft.fft, EIGHT, SLOTS),
    (np.fft.ifft, EIGHT, SLOTS),
    (np.fft.rfft, EIGHT, SLOTS),
    (lambda x: np.fft.fft(x, axis=1), S, SLOTS),
    (lambda x: np.take(x, [3, 0, 3]), X, SLOTS),
    (lambda x: np.take(x, [2, 0], axis=0), M, DENSE),
    (lambda x: np.take(x, [2, 0], axis=1), M, SLOTS),
    (lambda x: np.compress([True, False, True], x, axis=0), M, DENSE),
    (lambda x: np.delete(x, 1), X, SLOTS),
    (lambda x: np.repeat(x, 2, axis=0), M, DENSE),
    (lambda x: np.split(x, 2), X, SLOTS),
    (lambda x: np.split(x, [1, 4]), X, DENSE),
    (lambda x: np.array_split(x, 2, axis=1), M, SLOTS),
    (lambda x: np.vsplit(x, 3), M, DENSE),
    (lambda x: np.hsplit(x, 2), M, SLOTS),
    (lambda x: np.append(x, x[:2]), X, SLOTS),
    (lambda x: np.append(x, x[:2], axis=0), M, DENSE),
    (lambda x: np.tile(x, 3), X, SLOTS),
    (lambda x: np.pad(x, 2), X, SLOTS),
    (lambda x: np.pad(x, ((0, 0), (3, 1))), M, SLOTS),
    (lambda x: np.outer(x, x), X, SLOTS),
    (lambda x: np.outer(X, x), X, SLOTS),
    (lambda x: x[[3, 1, 2, 3]], X, SLOTS),
    (lambda x: x[::2], X, SLOTS),
    (lambda x: x[::-1], X, SLOTS),
    (lambda x: x[X > 0], X, SLOTS),
    (lambda x: x[:, [2, 0]], M, SLOTS),
    (lambda x: x[[2, 0], [1, 3]], M, SLOTS),
    (lambda x: x[1, ::-1], M, SLOTS),
    (lambda x: x - x.sum(axis=1).reshape(-1, 1), M, SLOTS),
    (lambda x: x.reshape(4, 3), M, SLOTS),
    (np.prod, EIGHT, SLOTS),
    (lambda x: np.prod(x, axis=0), M, LANES),
    (lambda x: np.prod(x, axis=1), M, LANES),
    (np.prod, M, LANES),
    (np.prod, X, SLOTS),
    (lambda x: np.prod(x, axis=0), M, SLOTS),
    (lambda x: np.prod(x, axis=1), M, SLOTS),
    (lambda x: np.prod(x, axis=1, keepdims=True), M, SLOTS),
    (lambda x: np.prod(x + 1), S, SLOTS),
    (np.rot90, M, SLOTS),
    (lambda x: np.rollaxis(x, 1), M, SLOTS),
    (lambda x: np.take_along_axis(x, np.array([[3, 0], [1, 1], [0, 2]]), axis=1), M, SLOTS),
    (np.fft.fftshift, M, SLOTS),
    (np.fft.ifftshift, X, SLOTS),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 3), X, SLOTS),
    (lambda x: np.extract(M > 0, x), M, SLOTS),
    (np.diagflat, X, SLOTS),
    (lambda x: np.unstack(x, axis=1)[2], M, SLOTS),
    (lambda x: np.dstack([x, x]), M, SLOTS),
    (lambda x: np.dsplit(x.reshape(1, 3, 4), 2), M, SLOTS),
    (np.atleast_3d, M, SLOTS),
    (lambda x: np.cumulative_sum(x, include_initial=True), X, SLOTS),
    (lambda x: np.cumulative_sum(x, axis=0, include_initial=True), M, SLOTS),
    (lambda x: np.broadcast_arrays(x, M)[0], M[:1], SLOTS),
    (lambda x: np.insert(x, [1, 4], [9.0, 8.0]), X, SLOTS),
    (lambda x: np.insert(x, 1, 5.0, axis=0), M, SLOTS),
    (lambda x: np.cross(x[:, :3], M[:, 1:]), M, SLOTS),
    (lambda x: np.cross(x, x[::-1]), M[:, :3], SLOTS),
    (lambda x: np.linalg.cross(x, x[::-1]), M[:, :3], SLOTS),
    (np.linalg.diagonal, S, SLOTS),
    (np.linalg.trace, S, SLOTS),
    (np.linalg.matrix_transpose, M, SLOTS),
    (lambda x: np.linalg.matmul(x, S), M, SLOTS),
    (lambda x: np.linalg.matrix_power(x * 0.5, 3), S, SLOTS),
    (lambda x: np.linalg.multi_dot([x, S, x.T * 0.1]), M, SLOTS),
    (lambda x: np.linalg.outer(x, x), X, SLOTS),
    (lambda x: np.linalg.tensordot(x, S, axes=1), M, SLOTS),
    (lambda x: np.linalg.vecdot(x, M), M, SLOTS),
    (lambda x: np.vecdot(x, x), M, SLOTS),
    (lambda x: np.matvec(S, x), M, SLOTS),
    (lambda x: np.vecmat(x, S), M, SLOTS),
    (lambda x: np.matrix_transpose(x) * 2.0, M, SLOTS),
    (np.square, X, SLOTS),
    (lambda x: np.vdot(x, x), X, SLOTS),
    (lambda x: np.polyval([1.0, 2.0, 3.0], x), X, SLOTS),
    (np.copy, X, SLOTS),
    (np.ravel, X, SLOTS),
    (lambda x: np.expand_dims(x, 0), X, SLOTS),
    (lambda x: np.squeeze(np.expand_dims(x, 0)), X, SLOTS),
    (np.atleast_2d, X, DENSE),
    (lambda x: x[None, :], X, SLOTS),
    (lambda x: x[np.newaxis], X, DENSE),
    (lambda x: x[..., None], X, SLOTS),
    (lambda x: x[1:3, None], X, SLOTS),
    (lambda x: x[1][None, :], M, DENSE),
    (lambda x: x[None, 1], M, DENSE),
]


@pytest.mark.parametrize(("function", "array", "options"), WORKS)
def test_functions_that_just_work(key, function, array, options):
    check(key, function, function(array), (array,), options, 1e-4)


def test_every_linear_function_is_tried():
    tried = {
        name
        for function, _, _ in WORKS
        for name in (getattr(function, "__code__", None) and function.__code__.co_names) or [function.__name__]
    }
    missing = {name for name in (function.__name__ for function in _linear.FUNCTIONS) if name not in tried}
    assert missing <= {"atleast_1d"}


def test_products_need_the_keys_of_a_tree_alone(key):
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1, 2, 4]))
    found = np.prod(key.encrypt(EIGHT).with_keys(keys))
    assert found.shape == ()
    assert abs(key.decrypt(found) - EIGHT.prod()) < 1e-6
    assert found.rescale().level == key.params.max_level - 3


@pytest.mark.parametrize(
    "function",
    [lambda x: x[1], lambda x: x[[0, 2]], lambda x: x.sum(axis=0), lambda x: np.concatenate([x, x])],
    ids=["row", "rows", "sum", "joined"],
)
def test_rows_that_share_polynomials_in_coefficients_are_taken_apart_as_the_message_says(key, function):
    ct = key.encrypt(M, encoding="coefficients", lanes=2)
    with pytest.raises(cl.errors.ShapeError, match=r"to_mlwe\(\d+\)") as caught:
        function(ct)
    rank = int(re.search(r"to_mlwe\((\d+)\)", str(caught.value))[1])
    assert np.abs(key.decrypt(function(ct.to_mlwe(rank))) - function(M)).max() < 1e-6


def test_shapes_and_kinds_are_known(key):
    x, z = key.encrypt(M, encoding="slots"), key.encrypt(M + 1j, encoding="slots")
    assert (np.isrealobj(x), np.iscomplexobj(x), np.iscomplexobj(z)) == (True, False, True)


# --- advice


class Advice(NamedTuple):
    """A wrong use, a part of its message, and what the message says to do, beside what that is to give."""

    wrong: Callable[..., Any]
    message: str
    remedy: Callable[..., Any]
    expected: Any
    arrays: tuple[np.ndarray, ...] = (X,)
    options: dict[str, Any] = SLOTS
    atol: float = 1e-4


def smooth(name: str, low: float, high: float) -> Advice:
    function, data = getattr(np, name), np.linspace(low, high, 6)
    return Advice(
        lambda x: function(x),
        f"`cl.plans.Polynomial.fit(np.{name}, domain=(lowest, highest), error=1e-3)(x)`",
        lambda x: cl.plans.Polynomial.fit(function, domain=(low, high), error=1e-3)(x),
        function(data),
        (data,),
        atol=2e-3,
    )


ADVICE = {
    "max": Advice(
        np.max,
        "`cl.functions.maximum(x, x.rotate(step))`",
        lambda x: cl.functions.maximum(x, x.rotate(1))[0],
        0.7,
        (np.array([0.2, 0.7]),),
        atol=2e-2,
    ),
    "min": Advice(
        np.min,
        "`cl.functions.minimum(x, x.rotate(step))`",
        lambda x: cl.functions.minimum(x, x.rotate(1))[0],
        0.2,
        (np.array([0.2, 0.7]),),
        atol=2e-2,
    ),
    "cumprod": Advice(
        np.cumprod,
        "`[x[: i + 1].prod() for i in range(len(x))]`",
        lambda x: [x[: i + 1].prod() for i in range(len(x))],
        list(np.cumprod(EIGHT[:4])),
        (EIGHT[:4],),
    ),
    "fabs": Advice(np.fabs, "`cl.functions.absolute`", lambda x: cl.functions.absolute(x, bound=1.0), np.abs(X), atol=2e-2),
    "float_power": Advice(lambda x: np.float_power(x, 3), "`x**n`", lambda x: x**3, X**3),
    "nancumsum": Advice(np.nancumsum, "`np.cumsum(x)`", np.cumsum, np.cumsum(X)),
    "block": Advice(
        lambda x, y: np.block([[x, y], [y, x]]),
        "`cl.functions.vstack([top, bottom])`",
        lambda x, y: cl.functions.vstack([cl.functions.hstack([x, y]), cl.functions.hstack([y, x])]),
        np.block([[X, Y], [Y, X]]),
        (X, Y),
    ),
    "meshgrid": Advice(
        lambda x: np.meshgrid(x, np.ones(3))[0], "`x + np.zeros((3, 1))`", lambda x: x + np.zeros((3, 1)), np.meshgrid(X, np.ones(3))[0]
    ),
    "polyadd": Advice(lambda x, y: np.polyadd(x, y), "`x + y`", lambda x, y: x + y, np.polyadd(X, Y), (X, Y)),
    "polysub": Advice(lambda x, y: np.polysub(x, y), "`x - y`", lambda x, y: x - y, np.polysub(X, Y), (X, Y)),
    "polymul": Advice(
        lambda x: np.polymul(x, [1.0, 2.0]), "`np.convolve(x, weights)`", lambda x: np.convolve(x, [1.0, 2.0]), np.polymul(X, [1.0, 2.0])
    ),
    "polyder": Advice(np.polyder, "`x[:-1] *", lambda x: x[:-1] * np.arange(len(x) - 1, 0, -1), np.polyder(X)),
    "polyint": Advice(np.polyint, "`np.append(x /", lambda x: np.append(x / np.arange(len(x), 0, -1), x[:1] * 0), np.polyint(X)),
    "vander": Advice(
        lambda x: np.vander(x, 3, increasing=True),
        "`np.stack([x * 0 + 1, x, x * x], axis=1)`",
        lambda x: np.stack([x * 0 + 1, x, x * x], axis=1),
        np.vander(X, 3, increasing=True),
    ),
    "fft2": Advice(
        np.fft.fft2, "`np.swapaxes`", lambda x: np.swapaxes(np.fft.fft(np.swapaxes(np.fft.fft(x), 0, 1)), 0, 1), np.fft.fft2(S), (S,)
    ),
    "hypot": Advice(
        lambda x, y: np.hypot(x, y),
        "`cl.functions.sqrt(x * x + y * y, domain=(lowest, highest))`",
        lambda x, y: cl.functions.sqrt(x * x + y * y, domain=(0.1, 1.5), error=1e-2),
        np.hypot(EIGHT / 2, 0.5),
        (EIGHT / 2, np.full(8, 0.5)),
        atol=2e-2,
    ),
    "heaviside": Advice(
        lambda x: np.heaviside(x, 0.5),
        "`(cl.functions.sign(x, margin=1e-2) + 1) * 0.5`",
        lambda x: (cl.functions.sign(x, margin=1e-1) + 1) * 0.5,
        np.heaviside(X, 0.5),
        atol=1e-2,
    ),
    "interp": Advice(
        lambda x: np.interp(x, [-1, 0, 1], [1, 0, 1]),
        "`cl.plans.Polynomial.fit(lambda t: np.interp(t, xp, fp), domain=(lowest, highest), error=1e-1)(x)`",
        lambda x: cl.plans.Polynomial.fit(lambda t: np.interp(t, [-1, 0, 1], [1, 0, 1]), domain=(-1, 1), error=1e-1)(x),
        np.abs(X),
        atol=0.11,
    ),
    "clip": Advice(
        lambda x: np.clip(x, -0.25, 0.25),
        "use `cl.functions.maximum(cl.functions.minimum(x, high), low)`",
        lambda x: cl.functions.maximum(x, -0.25, bound=1.0),
        np.maximum(X, -0.25),
        atol=2e-2,
    ),
    "deg2rad": Advice(np.deg2rad, "`x * (np.pi / 180)`", lambda x: x * (np.pi / 180), np.deg2rad(X)),
    "degrees": Advice(np.degrees, "`x * (180 / np.pi)`", lambda x: x * (180 / np.pi), np.degrees(X), atol=1e-3),
    "nansum": Advice(np.nansum, "`x.sum()`", lambda x: x.sum(), X.sum()),
    "nanmean": Advice(np.nanmean, "`x.mean()`", lambda x: x.mean(), X.mean()),
    "sin": smooth("sin", -1, 1),
    "cos": smooth("cos", -1, 1),
    "arctan": smooth("arctan", -1, 1),
    "log1p": smooth("log1p", 0, 1),
    "cbrt": smooth("cbrt", 0.5, 1),
    # what has no name of its own is linear, smooth, or for the owner
    "iteration": Advice(
        lambda x: list(x), "`[x[i:i + 1] for i in range(len(x))]`", lambda x: [x[i : i + 1] for i in range(len(x))], list(X.reshape(-1, 1))
    ),
    "iteration in coefficients": Advice(
        lambda x: list(x),
        "`[x[i:i + 1] for i in range(len(x))]`",
        lambda x: [x[i : i + 1] for i in range(len(x))],
        list(X.reshape(-1, 1)),
        options=DENSE,
    ),
    "iteration over a view": Advice(lambda x: list(x.T), "`x.T.to_rows()`", lambda x: x.T.T[0], M[0], (M,), DENSE),
    # products
    "matrix times vector": Advice(
        lambda x: W @ x, "`[x.dot(row) for row in W]`", lambda x: [x.dot(row) for row in W], list(W @ X), options=DENSE
    ),
    "matrix times vector as one array": Advice(
        lambda x: W @ x,
        "`cl.functions.stack([x.dot(row).reshape(1) for row in W])`",
        lambda x: cl.functions.stack([x.dot(row).reshape(1) for row in W]),
        (W @ X).reshape(-1, 1),
        options=DENSE,
    ),
    # views
    "absolute of a view": Advice(
        lambda x: abs(x.T), "compute with the ciphertext itself", lambda x: cl.functions.absolute(x, bound=1.0).T, M.T, (M,), atol=2e-2
    ),
    "sum with a view": Advice(lambda x: x + x.T, "take `.T` of both", lambda x: x.T + x.T, 2 * S.T, (S,), DENSE),
    "objects": Advice(
        lambda x: x + np.array(list(Y), dtype=object),
        "`x.astype(float)`",
        lambda x: x + np.array(list(Y), dtype=object).astype(float),
        X + Y,
    ),
    "masked": Advice(
        lambda x: np.ma.array(Y, mask=Y > 0) + x,
        "`x.filled(0)`",
        lambda x: np.ma.array(Y, mask=Y > 0).filled(0) + x,
        X + np.where(Y > 0, 0, Y),
    ),
    "masked on the right": Advice(
        lambda x: x + np.ma.array(Y, mask=Y > 0),
        "`x.filled(0)`",
        lambda x: x + np.ma.array(Y, mask=Y > 0).filled(0),
        X + np.where(Y > 0, 0, Y),
    ),
}


@pytest.mark.parametrize("name", ADVICE)
def test_advice_is_given_and_works(key, name):
    advice = ADVICE[name]
    with pytest.raises((TypeError, ValueError)) as caught:
        advice.wrong(*(key.encrypt(array, **advice.options) for array in advice.arrays))
    assert advice.message in str(caught.value)
    check(key, advice.remedy, advice.expected, advice.arrays, advice.options, advice.atol)


def test_a_view_divides_by_numbers(key):
    x = key.encrypt(M, **DENSE)
    np.testing.assert_allclose(key.decrypt(+x.T / 2), M.T / 2, atol=1e-5)
    for wrong in (lambda: x.T / x, lambda: 1 / x.T):
        with pytest.raises(TypeError, match=r"a ciphertext is no divisor: multiply by `cl\.functions\.inverse"):
            wrong()
    for wrong in (lambda: 2**x.T, lambda: x**x.T):
        with pytest.raises(TypeError, match=r"is no exponent: use `cl\.functions\.exp`|no power is taken"):
            wrong()
    with pytest.raises(TypeError, match="does not change"):
        x.T[0] = 1.0


@pytest.mark.parametrize(
    "function",
    [
        cl.functions.sigmoid,
        cl.functions.relu,
        lambda x: cl.functions.where(np.ones((4, 3)), x, 0.0),
        lambda x: cl.plans.Polynomial([0.0, 1.0, 1.0])(x),
        np.asarray,
    ],
)
def test_no_error_is_pythons_own_words_about_a_view(key, function):
    with pytest.raises(TypeError) as caught:
        function(key.encrypt(M, **DENSE).T)
    assert "clathrate.types.TransposedCiphertext" not in str(caught.value)
    assert "compute with the ciphertext itself" in str(caught.value)


# --- lists of ciphertexts

ROWS = np.random.default_rng(0).uniform(0.5, 1.5, (3, 5))


@pytest.mark.parametrize(
    ("wrong", "advice"),
    [
        (lambda cts, path: np.mean(cts, axis=0), "`sum(cts) / len(cts)`"),
        (lambda cts, path: np.sum(cts, axis=0), "`sum(cts)`"),
        (lambda cts, path: np.std(cts, axis=0), "`cl.functions.stack(cts)`"),
        (lambda cts, path: np.array(cts), "`cl.functions.stack(cts)`"),
        (lambda cts, path: np.array(cts, dtype=object), "`cl.functions.stack(cts)`"),
        (lambda cts, path: np.asarray([[cts[0]], [cts[1]]]), "`cl.functions.stack(cts)`"),
        (lambda cts, path: np.savez(path / "a.npz", cts), "`pickle.dump(cts, file)`"),
        (lambda cts, path: np.save(path / "a.npy", cts), "`pickle.dump(cts, file)`"),
        (lambda cts, path: np.savez(path / "a.npz", x=cts[0]), "`x.save(path)`"),
    ],
)
def test_lists_name_what_does_it(key, tmp_path, wrong, advice):
    cts = [key.encrypt(row) for row in ROWS]
    with pytest.raises(TypeError) as caught:
        wrong(cts, tmp_path)
    assert advice in str(caught.value)
    assert "decrypt it first" not in str(caught.value)


def test_what_is_named_for_lists_works(key, tmp_path):
    cts = [key.encrypt(row) for row in ROWS]
    np.testing.assert_allclose(key.decrypt(sum(cts)), ROWS.sum(axis=0), atol=1e-6)
    np.testing.assert_allclose(key.decrypt(sum(cts) / len(cts)), ROWS.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(key.decrypt(cl.functions.stack(cts)), ROWS, atol=1e-6)
    with (tmp_path / "cts").open("wb") as file:
        pickle.dump(cts, file)
    with (tmp_path / "cts").open("rb") as file:
        np.testing.assert_allclose(key.decrypt(pickle.load(file)[2]), ROWS[2], atol=1e-6)


# --- arguments of the wrong kind


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda key: key.decrypt(X), "a Ciphertext, and a ndarray was given: these numbers are in the clear already"),
        (lambda key: key.decrypt(key.encrypt(X).to_bytes()), r"`cl\.from_bytes\(data, params\)`"),
        (lambda key: key.decrypt("a.clt"), r"`cl\.load\(path, params\)`"),
        (lambda key: key.decrypt(None), "a NoneType was given"),
        (lambda key: key.encrypt(X).with_keys(key), r"a SecretKey was given: .*`secret_key\.keys_for\(function, x\.shape\)`"),
        (lambda key: key.encrypt(X).with_keys(cl.keys.Needs(relinearise=True)), r"`secret_key\.evaluation_keys\(needs\)`"),
        (lambda key: key.encrypt(M).T.with_keys("keys"), r"`cl\.load\(path, params\)`"),
        (lambda key: key.encrypt(X).rotate(1.5), r"use a whole number, such as 2; got 1\.5"),
        (lambda key: key.encrypt(X).rotate("1"), "use a whole number, such as 2; got '1'"),
        (lambda key: key.encrypt(X, level=1.0), r"use a whole number, such as 2; got 1\.0"),
        (lambda key: key.encrypt(X, scale="big"), r"use a real number, such as 0\.5; got 'big'"),
        (lambda key: cl.plans.trace(lambda x: x, (3,), params="n14"), r"`cl\.Params\.preset\(\"n14\"\)`"),
    ],
)
def test_arguments_of_another_type_are_told_in_words(key, wrong, words):
    with pytest.raises(TypeError, match=words) as caught:
        wrong(key)
    assert "extract" not in str(caught.value)
    assert "variant" not in str(caught.value)


def test_parameters_that_do_not_bootstrap_name_those_that_do():
    with pytest.raises(cl.errors.ParamsError, match=r'take a preset for bootstraps, such as "boot_default"'):
        cl.plans.BootstrapPlan(cl.Params.preset("n14"))
    assert {"boot_default", "boot_n15"} <= set(cl.Params.preset_names())


def test_keys_of_complex_numbers_name_the_option(key):
    def magnitudes(x):
        return x.var()

    z = X + 1j * Y
    keys = key.keys_for(magnitudes, z.shape)
    with pytest.raises(cl.errors.MissingKeyError, match="`is_complex=True`"):
        magnitudes(key.encrypt(z).with_keys(keys))
    keys = key.keys_for(magnitudes, z.shape, is_complex=True)
    assert abs(key.decrypt(magnitudes(key.encrypt(z).with_keys(keys))) - z.var()) < 1e-4


def test_tensors_of_types_that_numpy_does_not_have_name_a_conversion_that_has():
    import sys
    import types

    source = (
        "class Tensor:\n    dtype = 'torch.bfloat16'\n"
        "    def __array__(self, dtype=None, copy=None):\n        raise TypeError('Got unsupported ScalarType BFloat16')\n"
    )
    module = types.ModuleType("torch")
    sys.modules["torch"] = module
    try:
        exec(source, module.__dict__)
    finally:
        del sys.modules["torch"]
    ct = cl.SecretKey.generate(cl.Params.preset("insecure_small")).encrypt([1.0])
    with pytest.raises(TypeError, match=r"`x\.detach\(\)\.cpu\(\)\.float\(\)\.numpy\(\)`"):
        ct + module.Tensor()


def test_every_name_that_is_advised_is_there():
    """All that a table advises is code of NumPy's, of this package, or of Python's."""
    import re

    for text in _remedies.INSTEAD.values():
        for code in re.findall(r"`([^`]*)`", text):
            if re.match(r"\w+=|\.", code):  # an argument, or an attribute of a result
                continue
            compile(code.replace("..", "0"), code, "exec")
            for name in re.findall(r"\bcl\.(\w+(?:\.\w+)?)", code):
                found: Any = cl
                for part in name.split("."):
                    found = getattr(found, part)
            for name in re.findall(r"\bnp\.(\w+)", code):
                assert hasattr(np, name)
            for name in re.findall(r"\bx\.(\w+)\(", code):
                assert hasattr(cl.Ciphertext, name), code
    assert _numpy.INSTEAD is _remedies.INSTEAD
