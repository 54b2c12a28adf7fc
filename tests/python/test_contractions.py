"""Sums of products of two encrypted arrays in slots, or of an encrypted and a plain one, beside NumPy: on each layout, with the keys, the
level and the error of the dry run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clathrate as cl

RNG = np.random.default_rng(3)
X, Y, S = (RNG.uniform(-1, 1, shape) for shape in ((3, 4), (4, 5), (4, 4)))
U, V = RNG.uniform(-1, 1, 3), RNG.uniform(-1, 1, 4)
LAYOUTS = [{}, {"lanes": "most"}]


@pytest.fixture(scope="module")
def key() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_deep"))  # 256 slots


def check(key: cl.SecretKey, f: Callable[..., Any], arrays: tuple[Any, ...], **options: Any) -> int:
    """`f` of each choice of encrypted and plain arrays; the levels that it takes at most."""
    most = 0
    for chosen in itertools.product((True, False), repeat=len(arrays)):
        if not any(chosen):
            continue

        def of_encrypted(*encrypted: Any, chosen: tuple[bool, ...] = chosen) -> Any:
            rest = iter(encrypted)
            return f(*[next(rest) if is_encrypted else array for array, is_encrypted in zip(arrays, chosen, strict=True)])

        inputs = [array for array, is_encrypted in zip(arrays, chosen, strict=True) if is_encrypted]
        found = cl.plans.trace(of_encrypted, *[array.shape for array in inputs], params=key.params, encoding="slots", bound=1.0, **options)
        keys = key.evaluation_keys(found.needs)
        result = of_encrypted(*[key.encrypt(array, encoding="slots", bound=1.0, **options).with_keys(keys) for array in inputs])
        expected = f(*arrays)
        assert result.shape == found.result.shape == np.shape(expected), chosen
        assert result.level == found.result.level, chosen
        error = np.abs(key.decrypt(result) - expected).max()
        whole = result.T if isinstance(result, cl.types.TransposedCiphertext) else result
        assert error <= min(whole.error_bound, 1e-5), chosen
        most = max(most, found.inputs[0].level - result.level)
    return most


@pytest.mark.parametrize("options", LAYOUTS)
@pytest.mark.parametrize(
    ("subscripts", "arrays"),
    [
        ("ij,jk->ik", (X, Y)),
        ("ij,jk", (X, Y)),
        ("ij,kj->ik", (X, X)),
        ("ij,ij->", (X, X)),
        ("ij,ij->i", (X, X)),
        ("i,i->", (V, V)),
        ("i,j->ij", (U, V)),
        ("i,j->ji", (U, V)),
        ("ij,j->i", (X, V)),
        ("ij,i->j", (X, U)),
        ("ij,jk->", (X, Y)),
        ("ii,ij->j", (S, Y)),
        ("ij,jk->k", (X, Y)),
        ("ij,j->ij", (X, V)),
        ("i,ij,j->", (U, X, V)),
        ("ij,jk,kl->il", (X, Y, Y.T)),
        ("ij->ji", (X,)),
        ("ii->i", (S,)),
        ("ii->", (S,)),
        ("ij->", (X,)),
        ("ij->j", (X,)),
        ("ij->i", (X,)),
        ("ji", (X,)),
    ],
)
def test_sums_by_labels_are_numpys(key, subscripts, arrays, options):
    check(key, lambda *each: np.einsum(subscripts, *each), arrays, **options)


@pytest.mark.parametrize("options", LAYOUTS)
@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (np.trace, (S,)),
        (np.diagonal, (X,)),
        (lambda x: np.diagonal(x, -1), (X,)),
        (np.diag, (S,)),
        (np.diag, (V,)),
        (lambda x: np.diag(x, 2), (V,)),
        (np.tril, (S,)),
        (lambda x: np.triu(x, 1), (X,)),
        (np.kron, (U, V)),
        (np.cov, (X,)),
        (lambda x: np.cov(x, rowvar=False), (X,)),
        (np.cov, (V,)),
        (np.average, (X,)),
        (lambda x: np.average(x, axis=1, weights=V), (X,)),
        (lambda x: np.average(x, weights=np.abs(X)), (X,)),
        (lambda x: np.broadcast_to(x, (3, 4)), (V,)),
        (lambda x: np.column_stack([x, x[::-1]]), (V,)),
        (lambda x: np.stack([x, x], axis=1), (V,)),
        (lambda x, y: np.tensordot(x, y, 1), (X, Y)),
        (lambda x, y: np.tensordot(x, y, ([1], [1])), (X, X)),
        (np.inner, (X, X)),
        (np.inner, (X, V)),
    ],
)
def test_functions_that_are_sums_of_products_are_numpys(key, f, arrays, options):
    check(key, f, arrays, **options)


@pytest.mark.parametrize("options", LAYOUTS)
@pytest.mark.parametrize(
    ("f", "arrays"),
    [
        (lambda x: x.T + x, (S,)),
        (lambda x: x + x.T, (S,)),
        (lambda x: x.T - x, (S,)),
        (lambda x: x.T * x, (S,)),
        (lambda x: x * x.T, (S,)),
        (lambda x: x.T * x.T, (S,)),
        (lambda x: x.T * 2.5, (X,)),
        (lambda x: x.T * X.T, (X,)),
        (lambda x: X.T * x.T, (X,)),
        (lambda x: x.T.sum(axis=0), (X,)),
        (lambda x: np.sum(x.T, axis=1), (X,)),
        (lambda x: np.concatenate([x.T, x]), (S,)),
        (lambda x: x.T**2, (X,)),
        (lambda x: x.T.reshape(-1), (X,)),
        (lambda x: Y.T @ x.T, (X,)),
        (lambda x: x.T @ X, (X,)),
        (lambda v, x: v @ x, (U, X)),
        (lambda x, v: x @ v, (X, V)),
        (lambda x, y: x.T @ y, (X, X)),
        (lambda x, y: x @ y.T, (X, X)),
        (lambda x, y: x.T @ y.T, (Y, X)),
    ],
)
def test_transposed_matrices_in_slots_are_arrays(key, f, arrays, options):
    check(key, f, arrays, **options)


def test_products_of_matrices_of_any_shape_take_two_levels(key):
    rng = np.random.default_rng(11)
    for case in range(24):
        rows, inner, columns = (int(size) for size in rng.integers(1, 12, 3))
        x, y = rng.uniform(-1, 1, (rows, inner)), rng.uniform(-1, 1, (inner, columns))
        assert check(key, lambda x, y: x @ y, (x, y), **LAYOUTS[case % 2]) <= 2


def test_results_may_be_longer_than_a_polynomial(key):
    rng = np.random.default_rng(12)
    for shapes in (((20, 2), (2, 30)), ((2, 3), (3, 300)), ((300,), (300, 2)), ((40, 9), (9,))):
        check(key, lambda x, y: x @ y, tuple(rng.uniform(-1, 1, shape) for shape in shapes), lanes="most")


class InSlots(np.ndarray):
    """A plain array with the method that converts an encrypted one."""

    def to_slots(self) -> InSlots:
        return self


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: x.to_slots() @ y.to_slots().T,
        lambda x, y: x.to_slots() @ y.T,
        lambda x, y: x.to_slots()[:, ::-1],
        lambda x, y: x.to_slots() + y.to_slots()[::-1],
    ],
)
def test_arrays_that_were_in_coefficients_are_factors(key, f):
    """Their slots are in bit-reversed order."""
    keys = key.keys_for(f, X.shape, X.shape, encoding="coefficients", bound=1.0)
    x, y = (key.encrypt(X * factor, encoding="coefficients", bound=1.0).with_keys(keys) for factor in (1.0, 0.5))
    a, b = ((X * factor).view(InSlots) for factor in (1.0, 0.5))
    result = f(x, y)
    assert np.abs(key.decrypt(result) - np.asarray(f(a, b))).max() <= min(result.error_bound, 1e-5)


@pytest.mark.parametrize("size", [300, 400])
def test_large_products_name_the_limit_and_the_other_encoding(key, size):
    x, y = (key.encrypt(np.ones((size, size)), encoding="slots") for _ in range(2))
    with pytest.raises(cl.errors.DataError, match=r"at most .* encrypt both matrices in coefficients"):
        x @ y
    with pytest.raises(cl.errors.DataError, match="at most "):
        np.einsum("ij,jk->ik", x, y)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: np.einsum("ij,jk->ik", x), "has 2 for 1"),
        (lambda x: np.einsum("ijk->i", x), "stands for an array of 3 axes, and this one has the shape \\(3, 4\\)"),
        (lambda x: np.einsum("ij,ij->ij", x, np.ones((3, 5))), 'with the label "j" have 4 and 5 numbers'),
        (lambda x: np.einsum("ij->ii", x), "each once"),
        (lambda x: np.einsum("ij->k", x), "some of those of the operands"),
        (lambda x: np.einsum("...j->...", x), r"no \"\.\.\.\""),
        (lambda x: np.einsum(x, [0, 1], [1]), "as one string first"),
        (lambda x: x @ np.ones(3), "do not fit"),
        (lambda x: x @ x, "as many rows on the right as columns on the left"),
        (lambda x: np.ones((2, 4)) @ x, "needs 3 columns"),
        (lambda x: np.full((2, 3), np.nan) @ x, r"nan at index \(0, 0\)"),
        (lambda x: np.average(x, weights=[1.0, -1.0, 0.0], axis=0), None),
    ],
)
def test_wrong_labels_and_shapes_are_named(key, wrong, message):
    x = key.encrypt(X, encoding="slots", lanes="most")
    if message is None:
        with pytest.raises(ZeroDivisionError, match="sum to zero"):
            wrong(x)
        return
    with pytest.raises((TypeError, cl.ClathrateError), match=message):
        wrong(x)


def test_the_explanation_of_a_plain_matrix_names_what_the_product_takes(key):
    x = key.encrypt(X, encoding="slots", lanes="most")
    text = x.explain_matmul(np.ones((2, 3)))
    keys = key.keys_for(lambda x: np.ones((2, 3)) @ x, X.shape, encoding="slots", lanes="most")
    product = np.ones((2, 3)) @ x.with_keys(keys)
    assert f"level {x.level} to {product.level}" in text
    assert f"{x.layout.lanes} rows share a polynomial" in text
    with pytest.raises(cl.errors.ShapeError, match="needs 3 columns"):
        x.explain_matmul(np.ones((2, 4)))


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("vecdot", (3, 1), (3, 4)), ("vecdot", (4,), (1,)), ("matvec", (2, 4), (1,)), ("vecmat", (1,), (4, 2))],
)
def test_axes_of_sums_do_not_broadcast(name, left, right):
    function = getattr(np, name, None)
    if function is None:
        pytest.skip("NumPy does not have it")
    params = cl.Params.preset("insecure_small")
    x = cl.SecretKey.generate(params).encrypt(np.ones(left), bound=1.0)
    with pytest.raises(ValueError, match="mismatch"):
        function(np.ones(left), np.ones(right))
    with pytest.raises(cl.errors.ShapeError, match="axes of one length"):
        function(x, np.ones(right))


PRODUCTS = [
    ("ij,kj->ik", lambda n: [(n(), n())] * 2),
    ("ki,kj->ij", lambda n: [(n(), n())] * 2),
    ("ij,jk->ik", lambda n: [(n(), n()), (n(), n())]),
    ("ij,jk->ki", lambda n: [(n(), n()), (n(), n())]),
    ("bij,bkj->bik", lambda n: [(3, n() // 2 + 1, n() // 2 + 1)] * 2),
    ("bij,bjk->bik", lambda n: [(n() // 4 + 1, n() // 2 + 1, n() // 2 + 1)] * 2),
    ("bij,kj->bik", lambda n: [(2, n() // 2 + 1, n()), (n() // 2 + 1, n())]),
    ("kbi,kbj->ijb", lambda n: [(n(), 2, 3), (n(), 2, 4)]),
    ("ki,k->i", lambda n: [(n(), 7), (n(),)]),
    ("ij,ij->j", lambda n: [(n(), n())] * 2),
]


def sized(labels: str, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The shapes, in which axes with one label have one length."""
    sizes: dict[str, int] = {}
    operands = labels.split("->")[0].split(",")
    return [
        tuple(sizes.setdefault(label, size) for label, size in zip(own, shape, strict=True))
        for own, shape in zip(operands, shapes, strict=True)
    ]


@pytest.mark.parametrize("labels", [labels for labels, _ in PRODUCTS])
@pytest.mark.parametrize("seed", range(3))
def test_products_of_all_sizes_are_numpys_wherever_numbers_lie(key, labels, seed, pytestconfig):
    """Also for arrays in several polynomials, of one array with itself, and of complex numbers."""
    shapes_of = dict(PRODUCTS)[labels]
    for case in range(12 if pytestconfig.getoption("--full") else 2):
        rng = np.random.default_rng([seed, case, *labels.encode()])
        is_complex = (seed + case) % 3 == 2
        shapes = sized(labels, shapes_of(lambda rng=rng: int(rng.choice([1, 2, 3, 5, 8, 13, 20, 33]))))
        arrays = [rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0) for shape in shapes]
        same = shapes[0] == shapes[1] and rng.integers(2) == 1
        bound = 1.5
        lanes = [{}, {"lanes": "most"}][int(rng.integers(2))]
        options = {"encoding": "slots", "bound": bound, **lanes}

        def f(x: Any, y: Any = None, same: bool = same) -> Any:
            return np.einsum(labels, x, x if same else y)

        given = arrays[:1] if same else arrays
        kinds = {"is_complex": True} if is_complex else {}
        found = cl.plans.trace(f, *[cl.Input(x.shape, **options, **kinds) for x in given], params=key.params)
        keys = key.evaluation_keys(found.needs)
        result = f(*[key.encrypt(x, **options).with_keys(keys) for x in given])
        expected = f(*given)
        assert (result.shape, result.level) == (expected.shape, found.result.level)
        assert np.abs(key.decrypt(result) - expected).max() <= result.error_bound <= 1.001 * found.result.error_bound, (shapes, same, lanes)


@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda x: x.T @ x, (100, 4)),
        (lambda x: x.T @ x, (250, 7)),
        (lambda x: x @ x.T, (5, 200)),
        (lambda x: x @ x.T, (3, 700)),
        (lambda x: np.cov(x, rowvar=False), (60, 3)),
        (lambda x: np.cov(x.T), (60, 3)),
    ],
)
@pytest.mark.parametrize("magnitude", [1.0, 30.0])
@pytest.mark.parametrize("lanes", LAYOUTS)
def test_typical_errors_of_products_with_themselves(key, f, shape, magnitude, lanes):
    """Sums of squares are large, and so is what the rounding of masks makes of them."""
    options = {"encoding": "slots", "bound": magnitude, **lanes}
    found = cl.plans.trace(f, cl.Input(shape, **options), params=key.params)
    keys, rng = key.evaluation_keys(found.needs), np.random.default_rng(0)
    errors = []
    for _ in range(12):
        x = rng.uniform(-magnitude, magnitude, shape)
        result = f(key.encrypt(x, **options).with_keys(keys))
        errors.append(key.decrypt(result) - f(x))
        assert np.abs(errors[-1]).max() <= result.error_bound <= 1.001 * found.result.error_bound
    assert 1 / 4 < np.sqrt(np.mean(np.square(errors))) / result.error_rms < 2.5


STACKS = [
    ("bik,bjk->bij", (5, 8, 8), (5, 8, 8)),
    ("bik,bkj->bij", (3, 16, 4), (3, 4, 13)),
    ("bik,bkj->bij", (2, 16, 7), (2, 7, 9)),
    ("bki,bkj->bji", (2, 4, 16), (2, 4, 8)),
    ("ik,kj->ij", (40, 7), (7, 9)),
    ("abik,bakj->abij", (2, 3, 8, 5), (3, 2, 5, 6)),
]


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("lanes", LAYOUTS)
@pytest.mark.parametrize(("labels", "left", "right"), STACKS)
def test_errors_of_stacks_of_products_are_as_stated(key, labels, left, right, lanes, is_complex):
    options = {"encoding": "slots", "bound": 1.5, **lanes}

    def f(x: Any, y: Any) -> Any:
        return np.einsum(labels, x, y)

    found = cl.plans.trace(f, *[cl.Input(shape, **options, is_complex=is_complex) for shape in (left, right)], params=key.params)
    keys, rng = key.evaluation_keys(found.needs), np.random.default_rng(0)
    errors = []
    for _ in range(6):
        x, y = (rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0) for shape in (left, right))
        result = f(key.encrypt(x, **options).with_keys(keys), key.encrypt(y, **options).with_keys(keys))
        assert (result.shape, result.level) == (f(x, y).shape, found.result.level)
        errors.append(np.abs(key.decrypt(result) - f(x, y)))
        assert errors[-1].max() <= result.error_bound <= 1.001 * found.result.error_bound
    assert 1 / 4 < np.sqrt(np.mean(np.square(errors))) / result.error_rms < 2.5


def test_twelve_heads_are_multiplied_in_slots():
    """Queries and keys of 128 tokens, as transformers have them, compile; smaller stacks above are encrypted, too."""
    query, key = np.random.default_rng(0).uniform(-1, 1, (2, 12, 128, 32))
    program = cl.compile(lambda x, y: x @ y.swapaxes(1, 2), *[cl.Input((12, 128, 32), bound=1.0)] * 2, error=1e-2)
    assert program.results[0].shape == (12, 128, 128)
    assert program.key_bytes < 1 << 30
    assert program.seconds < 10
    part = program.check(query, key)
    assert part.difference < 1e-9
    assert not part.outside


def test_products_of_long_columns_and_of_long_rows_take_few_keys():
    """They take a rotation for each distance between columns, or rows, and two levels."""
    for f, shape, most in [(lambda x: x.T @ x, (1000, 8), 30), (lambda x: x @ x.T, (8, 1000), 60), (lambda x: x @ x.T, (7, 4000), 20)]:
        program = cl.compile(f, cl.Input(shape, bound=1.0), error=1e-3)
        assert program.params.max_level == 2
        assert program.key_bytes < most * 1.7 * 2**20, (shape, program.key_bytes)
        assert program.seconds < 0.5, (shape, program.seconds)


def test_stacks_of_matrices_that_numpy_broadcasts(key):
    x, y = RNG.uniform(-1, 1, (2, 1, 3, 4)), RNG.uniform(-1, 1, (3, 4, 2))
    check(key, lambda x, y: x @ y, (x, y), lanes="most")
    check(key, lambda x, y: x @ y, (x[:1], y[0]), lanes="most")
    # An operand whose axes were exchanged is read as it is.
    program = cl.compile(lambda x, y: x @ np.swapaxes(y, 1, 2), cl.Input((2, 3, 4), bound=1.0), cl.Input((2, 5, 4), bound=1.0), error=1e-3)
    assert "permuted" not in program.graph()
    assert "einsum" in program.graph()
