"""Every public operation on arrays that do not fill their ciphertexts, in every layout, beside NumPy.

What is not tried here is tried in the file that `ELSEWHERE` names.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import Party, party

import clathrate as cl

LAYOUTS = {
    "slots": {"encoding": "slots"},
    "coefficients": {"encoding": "coefficients"},
    "lanes": {"encoding": "slots", "lanes": "most"},
}
ALONE = ("slots", "coefficients")
SLOTS = ("slots", "lanes")
RNG = np.random.default_rng(5)
MATRIX, OTHER = RNG.uniform(-1, 1, (3, 5)), RNG.uniform(-1, 1, (3, 5))
VECTOR = RNG.uniform(-1, 1, 5)
POSITIVE = RNG.uniform(1, 2, (3, 5))
WEIGHTS, TALL = RNG.uniform(-1, 1, (4, 3)), RNG.uniform(-1, 1, (5, 2))
# Rows and columns have deviations between 0.6 and 1, with the unbiased estimate.
WIDE = np.array([[-1.0, 0.4, 0.9, -0.3, 0.5], [0.2, -0.6, 0.1, 0.8, -1.0], [0.9, 0.7, -0.8, -0.9, 0.1]])
MASK = np.array([True, False, True, True, False])


@pytest.fixture(scope="module")
def deep() -> Party:
    return party("insecure_deep")


def both(function, *arrays, on=tuple(LAYOUTS), numpy=None, tolerance=1e-4):
    """A case: a function of encrypted arrays, the same of plain ones, the arrays, and the layouts that it works in."""
    return function, numpy or function, arrays, on, tolerance


CASES = {
    "__add__": [both(lambda x, y: x + y, MATRIX, OTHER), both(lambda x: x + VECTOR, MATRIX), both(lambda x: x + 2, VECTOR)],
    "__radd__": [both(lambda x: 2 + x, MATRIX)],
    "__sub__": [both(lambda x, y: x - y, MATRIX, OTHER), both(lambda x, v: x - v, MATRIX, VECTOR)],
    "__rsub__": [both(lambda x: 1 - x, VECTOR)],
    "__mul__": [both(lambda x, y: x * y, MATRIX, OTHER), both(lambda x: x * 0.5, MATRIX), both(lambda x, v: x * v, MATRIX, VECTOR)],
    "__rmul__": [both(lambda x: 3 * x, VECTOR)],
    "__truediv__": [both(lambda x: x / 4, MATRIX), both(lambda x: x / POSITIVE[0], MATRIX)],
    "__pow__": [both(lambda x: x**3, MATRIX)],
    "__neg__": [both(lambda x: -x, MATRIX)],
    "__pos__": [both(lambda x: +x, MATRIX)],
    "__matmul__": [
        both(lambda x: x @ TALL, MATRIX),
        both(lambda x: x @ TALL[:, 0], MATRIX, on=SLOTS),
        both(lambda x, v: x @ v, MATRIX, VECTOR, on=SLOTS),
    ],
    "__rmatmul__": [both(lambda x: WEIGHTS @ x, MATRIX, on=ALONE)],
    "__getitem__": [
        both(lambda x: x[1], MATRIX),
        both(lambda x: x[:, 2:4], MATRIX),
        both(lambda x: x[1:3], MATRIX, on=ALONE),
        both(lambda x: x[3], VECTOR, on=SLOTS),
        both(lambda x: x[1:4], VECTOR),
    ],
    "__len__": [both(lambda x: x * len(x), MATRIX)],
    "T": [both(lambda x: x.T, MATRIX)],
    "conj": [both(lambda x: x.conj(), MATRIX + 1j * OTHER, on=SLOTS)],
    "dot": [both(lambda x, y: x.dot(y), VECTOR, VECTOR[::-1].copy()), both(lambda x: x.dot(TALL), MATRIX)],
    "sum": [both(lambda x, axis=axis: x.sum(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.sum(), VECTOR)],
    "mean": [both(lambda x, axis=axis: x.mean(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.mean(), VECTOR)],
    "var": [both(lambda x, axis=axis: x.var(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.var(), VECTOR)],
    "sum_rows": [both(lambda x: x.sum_rows(), MATRIX, numpy=lambda x: x.sum(axis=1, keepdims=True))],
    "reshape": [both(lambda x: x.reshape(1, 5), VECTOR), both(lambda x: x.reshape(-1, 1), VECTOR, on=SLOTS)],
    "rotate": [both(lambda x: x.rotate(1), VECTOR, on=SLOTS, numpy=lambda x: np.append(x[1:], 0))],
    "rotate_many": [both(lambda x: sum(x.rotate_many([0, 1])), VECTOR, on=SLOTS, numpy=lambda x: x + np.append(x[1:], 0))],
    "repeat_column": [both(lambda x: x.repeat_column(4), MATRIX[:, :1].copy(), on=("slots",), numpy=lambda x: np.repeat(x, 4, axis=1))],
    "clear_padding": [both(lambda x: (x + 1).clear_padding().sum(), VECTOR, numpy=lambda x: (x + 1).sum())],
    "to_slots": [both(lambda x: x.to_slots(), MATRIX, numpy=np.copy)],
    "to_coefficients": [both(lambda x: x.to_coefficients(), MATRIX, on=ALONE, numpy=np.copy)],
    "drop_to_level": [both(lambda x: x.drop_to_level(2), MATRIX, numpy=np.copy)],
    "rescale": [both(lambda x: (x * 0.5).rescale(), MATRIX, numpy=lambda x: x * 0.5)],
    "matmul": [both(lambda x: x.matmul(WEIGHTS), MATRIX, on=ALONE, numpy=lambda x: WEIGHTS @ x)],
    "multiply": [both(lambda x, y: x.multiply(y), MATRIX, OTHER, on=SLOTS, numpy=lambda x, y: x * y)],
    "cl.absolute": [both(lambda x: cl.absolute(x, bound=1, error=0.2), MATRIX)],
    "cl.relu": [both(lambda x: cl.relu(x, bound=1, error=0.2), MATRIX)],
    "cl.maximum": [both(lambda x, y: cl.maximum(x, y, bound=1, error=0.5), MATRIX, OTHER)],
    "cl.minimum": [both(lambda x, y: cl.minimum(x, y, bound=1, error=0.5), MATRIX, OTHER)],
    "cl.sign": [both(lambda x: cl.sign(x, margin=0.3, error=0.1), POSITIVE / 2)],
    **{
        f"cl.{name}": [both(lambda x, name=name: getattr(cl, name)(x, domain=(-1, 1), error=1e-3), MATRIX, tolerance=1e-3)]
        for name in ("exp", "gelu", "sigmoid", "silu", "tanh")
    },
    **{
        f"cl.{name}": [both(lambda x, name=name: getattr(cl, name)(x, domain=(1, 2), error=1e-3), POSITIVE, tolerance=1e-3)]
        for name in ("inverse", "inverse_sqrt", "log", "sqrt")
    },
    "cl.norm": [
        both(
            lambda x, axis=axis: cl.norm(x, axis, domain=(0.5, 8), keepdims=True),
            POSITIVE,
            numpy=lambda x, axis=axis: np.sqrt((x * x).sum(axis=axis, keepdims=True)),
            tolerance=1e-3,
        )
        for axis in (None, 0, 1)
    ]
    + [both(lambda x: cl.norm(x, domain=(0.5, 3)), VECTOR, numpy=np.linalg.norm, tolerance=1e-3)],
    "cl.std": [
        both(
            lambda x, axis=axis: cl.std(x, axis, domain=(0.6, 1.0), ddof=1, keepdims=True),
            WIDE,
            numpy=lambda x, axis=axis: x.std(axis=axis, ddof=1, keepdims=True),
            tolerance=1e-3,
        )
        for axis in (None, 0, 1)
    ]
    + [both(lambda x: cl.std(x, domain=(0.4, 0.7)), VECTOR, numpy=np.std, tolerance=1e-3)],
    "cl.concatenate": [
        both(lambda x, y: cl.concatenate([x, y]), VECTOR, VECTOR[:3].copy(), on=SLOTS, numpy=lambda x, y: np.concatenate([x, y]))
    ],
    "cl.hstack": [both(lambda x, y: cl.hstack([x, y]), MATRIX, OTHER[:, :2].copy(), on=("slots",), numpy=lambda x, y: np.hstack([x, y]))],
    "cl.stack": [both(lambda x, y: cl.stack([x, y]), VECTOR, VECTOR[::-1].copy(), numpy=lambda x, y: np.stack([x, y]))],
    "cl.vstack": [both(lambda x, y: cl.vstack([x, y]), MATRIX, OTHER, on=ALONE, numpy=lambda x, y: np.vstack([x, y]))],
    "cl.where": [both(lambda x, y: cl.where(MASK, x, y), MATRIX, OTHER)],
}


# What takes parameters, plans or files of its own, by the file of its tests, which have arrays that do not fill their ciphertexts.
ELSEWHERE = {
    "arrays.py": "flood_bits",
    "bodies.py": "share_mask split_mask to_bytes cl.from_bytes with_keys",
    "bootstrap.py": "bootstrap bootstrap_pair",
    "encrypted_matrices.py": "to_rows cl.reply",
    "everyday.py": "cl.softmax cl.set_threads cl.get_threads",
    "files.py": "save load cl.load cl.inspect",
    "mambo.py": "explain_matmul cl.mambo cl.bootstrap_batch",
    "matrix_plan.py": "change_secret",
    "params.py": "cl.preset_names",
    "packing.py": "to_lwe pack",
    "progress.py": "cl.progress",
    "ranks.py": "to_rank to_mlwe to_rlwe",
    "runtime.py": "cl.doctor",
    "samples.py": "bootstrap_samples cl.bootstrap_samples",
    "switching.py": "cl.tune",
    "trace.py": "cl.trace stage",
}


@pytest.mark.parametrize(("name", "layout"), [(name, layout) for name in CASES for layout in LAYOUTS])
def test_beside_numpy(deep: Party, name: str, layout: str) -> None:
    options = LAYOUTS[layout]
    for function, plain, arrays, on, tolerance in CASES[name]:
        shapes, is_complex = [array.shape for array in arrays], any(np.iscomplexobj(array) for array in arrays)
        if layout not in on:
            with pytest.raises((cl.ClathrateError, TypeError)):
                deep.key.keys_for(function, *shapes, is_complex=is_complex, **options)
            continue
        keys = deep.key.keys_for(function, *shapes, is_complex=is_complex, **options)
        found = deep.key.decrypt(function(*(deep.key.encrypt(array, **options).with_keys(keys) for array in arrays)))
        expected = plain(*arrays)
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)


def test_nothing_public_is_left_out() -> None:
    methods = {name for name in vars(cl.Ciphertext) if inspect.isroutine(getattr(cl.Ciphertext, name)) and not name.startswith("_")}
    operators = {
        name for name in vars(cl.Ciphertext) if re.fullmatch(r"__(r?(add|sub|mul|matmul)|truediv|pow|neg|pos|getitem|len)__", name)
    }
    functions = {f"cl.{name}" for name in cl.__all__ if inspect.isroutine(getattr(cl, name))}
    elsewhere = {name: file for file, names in ELSEWHERE.items() for name in names.split()}
    assert (methods | operators | functions) - set(CASES) - set(elsewhere) == set()
    for name, file in elsewhere.items():
        text = (Path(__file__).parent / f"test_{file}").read_text(encoding="utf-8")
        assert re.search(rf"(?<!\w){re.escape(name)}\(" if name.startswith("cl.") else rf"\.{name}\b", text), (
            f"{name} is not called in test_{file}"
        )
