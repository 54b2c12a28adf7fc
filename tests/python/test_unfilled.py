"""Every public operation on arrays that do not fill their ciphertexts, in every layout, beside NumPy.

What is not tried here is tried in the file that `ELSEWHERE` names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
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
RNG, RNG_OF_PLANS = np.random.default_rng(5), np.random.default_rng(6)
MATRIX, OTHER = RNG.uniform(-1, 1, (3, 5)), RNG.uniform(-1, 1, (3, 5))
VECTOR = RNG.uniform(-1, 1, 5)
POSITIVE = RNG.uniform(1, 2, (3, 5))
ROW = RNG.uniform(-1, 1, 3)
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
    "__rmatmul__": [both(lambda x: WEIGHTS @ x, MATRIX)],
    "__getitem__": [
        both(lambda x: x[1], MATRIX),
        both(lambda x: x[:, 2:4], MATRIX),
        both(lambda x: x[1:3], MATRIX),
        both(lambda x: x[:, [3, 1]], MATRIX, on=SLOTS),
        both(lambda x: x[::-2], VECTOR, on=SLOTS),
        both(lambda x: x[3], VECTOR, on=SLOTS),
        both(lambda x: x[1:4], VECTOR),
    ],
    "__len__": [both(lambda x: x * len(x), MATRIX)],
    "T": [both(lambda x: x.T, MATRIX)],
    "conj": [both(lambda x: x.conj(), MATRIX + 1j * OTHER)],
    "real_part": [both(lambda x: x.real_part(), MATRIX + 1j * OTHER, numpy=np.real), both(lambda x: x.real_part(), MATRIX, numpy=np.real)],
    "imaginary_part": [
        both(lambda x: x.imaginary_part(), MATRIX + 1j * OTHER, numpy=np.imag),
        both(lambda x: x.imaginary_part(), MATRIX, numpy=np.imag),
    ],
    "dot": [both(lambda x, y: x.dot(y), VECTOR, VECTOR[::-1].copy()), both(lambda x: x.dot(TALL), MATRIX)],
    "sum": [both(lambda x, axis=axis: x.sum(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.sum(), VECTOR)],
    "prod": [both(lambda x: x.prod(axis=0), MATRIX), both(lambda x: x.prod(keepdims=True), MATRIX), both(lambda x: x.prod(), VECTOR)]
    + [both(lambda x, kept=kept: x.prod(axis=1, keepdims=kept), MATRIX) for kept in (False, True)],
    "mean": [both(lambda x, axis=axis: x.mean(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.mean(), VECTOR)],
    "var": [both(lambda x, axis=axis: x.var(axis=axis, keepdims=True), MATRIX) for axis in (None, 0, 1)]
    + [both(lambda x: x.var(), VECTOR)],
    "sum_rows": [both(lambda x: x.sum_rows(), MATRIX, numpy=lambda x: x.sum(axis=1, keepdims=True))],
    "transpose": [both(lambda x: x.reshape(3, 1, 5).transpose(2, 1, 0), MATRIX, on=SLOTS), both(lambda x: x.transpose(0), VECTOR)],
    "swapaxes": [both(lambda x: x.reshape(3, 1, 5).swapaxes(0, -1), MATRIX, on=SLOTS)],
    "reshape": [both(lambda x: x.reshape(1, 5), VECTOR), both(lambda x: x.reshape(-1, 1), VECTOR, on=SLOTS)],
    "rotate": [both(lambda x: x.rotate(1), VECTOR, on=SLOTS, numpy=lambda x: np.append(x[1:], 0))],
    "rotate_many": [both(lambda x: sum(x.rotate_many([0, 1])), VECTOR, on=SLOTS, numpy=lambda x: x + np.append(x[1:], 0))],
    "repeat_column": [both(lambda x: x.repeat_column(4), MATRIX[:, :1].copy(), on=("slots",), numpy=lambda x: np.repeat(x, 4, axis=1))],
    "clear_padding": [both(lambda x: (x + 1).clear_padding().sum(), VECTOR, numpy=lambda x: (x + 1).sum())],
    "to_slots": [both(lambda x: x.to_slots(), MATRIX, numpy=np.copy)],
    "to_coefficients": [both(lambda x: x.to_coefficients(), MATRIX, on=ALONE, numpy=np.copy)],
    "drop_to_level": [both(lambda x: x.drop_to_level(2), MATRIX, numpy=np.copy)],
    "rescale": [both(lambda x: (x * 0.5).rescale(), MATRIX, numpy=lambda x: x * 0.5)],
    "matmul": [both(lambda x: x.matmul(WEIGHTS), MATRIX, numpy=lambda x: WEIGHTS @ x)],
    "multiply": [both(lambda x, y: x.multiply(y), MATRIX, OTHER, on=SLOTS, numpy=lambda x, y: x * y)],
    "TransposedCiphertext.__add__": [both(lambda x, y: x.T + y.T, MATRIX, OTHER), both(lambda x: x.T + ROW, MATRIX)],
    "TransposedCiphertext.__radd__": [both(lambda x: ROW + x.T, MATRIX)],
    "TransposedCiphertext.__sub__": [both(lambda x, y: x.T - y.T, MATRIX, OTHER), both(lambda x: x.T - 1, MATRIX)],
    "TransposedCiphertext.__rsub__": [both(lambda x: 1 - x.T, MATRIX)],
    "TransposedCiphertext.__mul__": [both(lambda x: x.T * 0.5, MATRIX)],
    "TransposedCiphertext.__rmul__": [both(lambda x: 0.5 * x.T, MATRIX)],
    "TransposedCiphertext.__truediv__": [both(lambda x: x.T / 4, MATRIX)],
    "TransposedCiphertext.__neg__": [both(lambda x: -x.T, MATRIX)],
    "TransposedCiphertext.__pos__": [both(lambda x: +x.T, MATRIX)],
    "TransposedCiphertext.__getitem__": [both(lambda x: x.T[:, 1:3], MATRIX)],
    "TransposedCiphertext.__len__": [both(lambda x: x.T * len(x.T), MATRIX)],
    "TransposedCiphertext.__matmul__": [
        both(lambda x: x.T @ WEIGHTS.T, MATRIX),
        both(lambda x, y: x.T @ y, MATRIX, OTHER),
    ],
    "TransposedCiphertext.__rmatmul__": [both(lambda x: TALL.T @ x.T, MATRIX)],
    "TransposedCiphertext.matmul": [both(lambda x, y: x.T.matmul(y), MATRIX, OTHER, numpy=lambda x, y: x.T @ y)],
    "TransposedCiphertext.to_rows": [both(lambda x: x.T.to_rows(), MATRIX, numpy=lambda x: x.T)],
    "TransposedCiphertext.rescale": [both(lambda x: (x.T * 0.5).rescale(), MATRIX, numpy=lambda x: x.T * 0.5)],
    "cl.functions.absolute": [both(lambda x: cl.functions.absolute(x, bound=1, error=0.2), MATRIX)],
    "cl.functions.relu": [both(lambda x: cl.functions.relu(x, bound=1, error=0.2), MATRIX)],
    "cl.functions.maximum": [both(lambda x, y: cl.functions.maximum(x, y, bound=1, error=0.5), MATRIX, OTHER)],
    "cl.functions.minimum": [both(lambda x, y: cl.functions.minimum(x, y, bound=1, error=0.5), MATRIX, OTHER)],
    "cl.functions.sign": [both(lambda x: cl.functions.sign(x, margin=0.3, error=0.1), POSITIVE / 2)],
    **{
        f"cl.functions.{name}": [
            both(lambda x, name=name: getattr(cl.functions, name)(x, domain=(-1, 1), error=1e-3), MATRIX, tolerance=1e-3)
        ]
        for name in ("exp", "gelu", "sigmoid", "silu", "tanh")
    },
    **{
        f"cl.functions.{name}": [
            both(lambda x, name=name: getattr(cl.functions, name)(x, domain=(1, 2), error=1e-3), POSITIVE, tolerance=1e-3)
        ]
        for name in ("inverse", "inverse_sqrt", "log", "sqrt")
    },
    "cl.functions.norm": [
        both(
            lambda x, axis=axis: cl.functions.norm(x, axis, domain=(0.5, 8), keepdims=True),
            POSITIVE,
            numpy=lambda x, axis=axis: np.sqrt((x * x).sum(axis=axis, keepdims=True)),
            tolerance=1e-3,
        )
        for axis in (None, 0, 1)
    ]
    + [both(lambda x: cl.functions.norm(x, domain=(0.5, 3)), VECTOR, numpy=np.linalg.norm, tolerance=1e-3)],
    "cl.functions.std": [
        both(
            lambda x, axis=axis: cl.functions.std(x, axis, domain=(0.6, 1.0), ddof=1, keepdims=True),
            WIDE,
            numpy=lambda x, axis=axis: x.std(axis=axis, ddof=1, keepdims=True),
            tolerance=1e-3,
        )
        for axis in (None, 0, 1)
    ]
    + [both(lambda x: cl.functions.std(x, domain=(0.4, 0.7)), VECTOR, numpy=np.std, tolerance=1e-3)],
    "cl.functions.concatenate": [
        both(lambda x, y: cl.functions.concatenate([x, y]), VECTOR, VECTOR[:3].copy(), on=SLOTS, numpy=lambda x, y: np.concatenate([x, y]))
    ],
    "cl.functions.hstack": [
        both(lambda x, y: cl.functions.hstack([x, y]), MATRIX, OTHER[:, :2].copy(), on=SLOTS, numpy=lambda x, y: np.hstack([x, y]))
    ],
    "cl.functions.stack": [both(lambda x, y: cl.functions.stack([x, y]), VECTOR, VECTOR[::-1].copy(), numpy=lambda x, y: np.stack([x, y]))],
    "cl.functions.vstack": [both(lambda x, y: cl.functions.vstack([x, y]), MATRIX, OTHER, numpy=lambda x, y: np.vstack([x, y]))],
    "cl.functions.where": [both(lambda x, y: cl.functions.where(MASK, x, y), MATRIX, OTHER)],
}


# What takes parameters, plans or files of its own, by the file of its tests, which have arrays that do not fill their ciphertexts.
ELSEWHERE = {
    "convolutions.py": "cl.functions.avg_pool2d cl.functions.conv2d",
    "approximations.py": "cl.functions.softmax",
    "arrays.py": "flood_bits",
    "bodies.py": "share_mask split_mask to_bytes cl.from_bytes with_keys",
    "bootstrap.py": "bootstrap",
    "bounds.py": "with_bound",
    "devices.py": "cl.set_device_memory_limit to SecretKey.to PublicKey.to EvaluationKeys.to",
    "encrypted_matrices.py": "to_rows Receiver.reply LightClient.decrypt",
    "files.py": "save load cl.load cl.inspect",
    "mambo.py": "explain_matmul cl.plans.mambo cl.plans.bootstrap_batch",
    "matrix_plan.py": "change_secret",
    "packing.py": "to_lwe pack",
    "repeat.py": "cl.repeat",
    "programs.py": "cl.compile SecretKey.keys EvaluationKeys.missing",
    "progress.py": "cl.progress",
    "ranks.py": "to_rank to_mlwe to_rlwe",
    "runtime.py": "cl.doctor cl.set_threads cl.get_threads",
    "samples.py": "LightClient.save LightClient.load AuthenticationKey.save AuthenticationKey.load SecretKey.authentication_key "
    "bootstrap_samples cl.plans.bootstrap_samples SecretKey.with_outside_secret SamplesPlan.outside_scale "
    "SamplesPlan.outside_samples Inbox.introduce Inbox.accept Inbox.take Inbox.done Inbox.give_back Inbox.__len__",
    "sharing.py": "same_as SecretKey.with_share_budget SecretKey.tag",
    "switching.py": "cl.tune",
    "trace.py": "cl.plans.trace stage",
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


# Keys, plans and prepared things: the test of each, which calls it.
CALLED: dict[str, Callable[..., None]] = {}


def calls(names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Marks a test as the one that calls these methods, "Class.method", on arrays that do not fill their ciphertexts."""

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        CALLED.update(dict.fromkeys(names.split(), test))
        return test

    return mark


def near(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-4) -> None:
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, atol=tolerance, rtol=0)


@calls(
    "SecretKey.generate SecretKey.encrypt SecretKey.decrypt SecretKey.decrypt_to_share SecretKey.public_key SecretKey.save SecretKey.load "
    "PublicKey.encrypt PublicKey.save PublicKey.load PublicKey.to_bytes"
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_keys_encrypt_and_decrypt(tmp_path: Path, layout: str) -> None:
    params, options = cl.Params.preset("insecure_small"), LAYOUTS[layout]
    key = cl.SecretKey.generate(params)
    key.save(tmp_path / "secret")
    public = key.public_key()
    public.save(tmp_path / "public")
    keys = (key, cl.SecretKey.load(tmp_path / "secret", params))
    publics = (public, cl.PublicKey.load(tmp_path / "public", params), cl.from_bytes(public.to_bytes(), params))
    for data in (MATRIX, VECTOR, MATRIX[:1], VECTOR[:1]):
        for encryptor in (*keys, *publics):
            x = encryptor.encrypt(data, **options)
            for decryptor in keys:
                near(decryptor.decrypt(x), data)
                near(decryptor.decrypt_to_share(x, 10, honest_evaluator=True), data, 1e-3)


@calls("SecretKey.evaluation_keys SecretKey.keys_for EvaluationKeys.derive EvaluationKeys.drop_derived")
@calls("EvaluationKeys.save EvaluationKeys.load EvaluationKeys.to_bytes TransposedCiphertext.with_keys")
def test_evaluation_keys_serve(deep: Party, tmp_path: Path) -> None:
    params = deep.params

    def product(x, y):
        return x @ y

    keys = deep.key.keys_for(product, (5, 3), (3, 5), encoding="coefficients")
    same = deep.key.evaluation_keys(cl.plans.trace(product, (5, 3), (3, 5), params=params, encoding="coefficients").needs)
    keys.save(tmp_path / "keys")
    prepared = cl.EvaluationKeys.load(tmp_path / "keys", params)
    prepared.derive([params.max_level])
    dropped = cl.from_bytes(keys.to_bytes(), params)
    dropped.derive([params.max_level])
    dropped.drop_derived()
    view, y = deep.key.encrypt(MATRIX, encoding="coefficients").T, deep.key.encrypt(OTHER, encoding="coefficients")
    for each in (keys, same, prepared, dropped):
        near(deep.key.decrypt(view.with_keys(each) @ y), MATRIX.T @ OTHER)


@calls("SecretKey.relative")
def test_relatives_encrypt(deep: Party) -> None:
    params = cl.Params.preset("insecure_dpad")
    key = cl.SecretKey.generate(params)
    relative = key.relative(params.at_rank(2))
    x = relative.encrypt(VECTOR, level=0)
    assert x.rank == 2
    near(key.decrypt(x), VECTOR)
    near(relative.decrypt(x + x), 2 * VECTOR)


@calls("LinearTransform.from_diagonals LinearTransform.plan LinearTransform.__call__")
@calls("LinearTransformPlan.__call__ LinearTransformPlan.encode LinearTransformPlan.save LinearTransformPlan.load")
def test_linear_maps(deep: Party, tmp_path: Path) -> None:
    for transform, matrix in (
        (cl.plans.LinearTransform(WEIGHTS[:, :3]), WEIGHTS),
        (
            cl.plans.LinearTransform.from_diagonals({0: [0.5], 1: [1.0, 2.0, 3.0, 4.0]}, 4),
            np.diag([0.5] * 4) + np.diag([1.0, 2.0, 3.0], 1) + np.diag([4.0], -3),
        ),
    ):
        plan = transform.plan(deep.params)
        plan.encode()
        plan.save(tmp_path / "plan")
        data = np.linspace(-1, 1, matrix.shape[1])
        # Three or four numbers, in a capacity of four of 512 slots.
        x = deep.key.encrypt(data, capacity=transform.slots).with_keys(deep.key.evaluation_keys(plan.needs))
        for apply in (plan, transform, cl.plans.LinearTransformPlan.load(tmp_path / "plan", deep.params)):
            near(deep.key.decrypt(apply(x)), matrix @ data)
        near(transform(data), matrix @ data, 1e-12)


@calls("Polynomial.fit Polynomial.plan Polynomial.__call__ PolynomialPlan.__call__ PolynomialPlan.explain")
@pytest.mark.parametrize("layout", SLOTS)
def test_polynomials(deep: Party, layout: str) -> None:
    polynomial = cl.plans.Polynomial.fit(np.cos, 9, domain=(-1, 1))
    plan = polynomial.plan(deep.params)
    assert plan.explain().to_dict()["degree"] == plan.degree
    keys = deep.key.evaluation_keys(plan.needs)
    for data in (MATRIX, VECTOR):
        x = deep.key.encrypt(data, **LAYOUTS[layout]).with_keys(keys)
        for apply in (plan, polynomial):
            # What the constant makes of the padding enters no sum.
            y = apply(x)
            near(deep.key.decrypt(y), np.cos(data))
        sums = deep.key.keys_for(lambda x: polynomial(x).sum(), data.shape, **LAYOUTS[layout])
        near(deep.key.decrypt(polynomial(x.with_keys(sums)).sum()), np.cos(data).sum())


@calls("MatrixPlan.explain MatrixPlan.prepare PreparedMatrix.explain PreparedMatrix.matmul PreparedMatrix.__matmul__")
@calls("PreparedMatrix.save PreparedMatrix.load")
@pytest.mark.parametrize("method", ["exact", "by rows", "prepared"])
@pytest.mark.parametrize("masks", ["shared", "own"])
def test_planned_products(tmp_path: Path, method: str, masks: str) -> None:
    key = cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))
    plan = cl.plans.MatrixPlan(key.params, WEIGHTS, 5, method=method, masks=masks)
    keys = key.evaluation_keys(plan.needs)
    matrix = plan.prepare(keys)
    assert matrix.explain() in plan.explain()
    x = key.encrypt(MATRIX, **plan.encryption)
    for product in (matrix @ x, matrix.matmul(x)):
        near(key.decrypt(product), WEIGHTS @ MATRIX)
    if method == "prepared":
        matrix.save(tmp_path / "matrix")
        loaded = cl.plans.PreparedMatrix.load(tmp_path / "matrix", key.params)
        near(key.decrypt(loaded @ x.with_keys(keys)), WEIGHTS @ MATRIX)


@pytest.fixture(scope="module")
def boot() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_boot"))


@calls("MamboPlan.explain MamboPlan.prepare MamboMatrix.matmul MamboMatrix.__matmul__")
def test_products_inside_bootstraps(boot: cl.SecretKey) -> None:
    data = RNG_OF_PLANS.uniform(-1, 1, (5, 16))
    weights = RNG_OF_PLANS.uniform(-1, 1, (3, 5)) / 5
    plan = cl.plans.MamboPlan(boot.params, weights, 16)
    assert "3 x 5 matrix" in plan.explain()
    # 80 numbers in 512 slots.
    padded = np.zeros(plan.input_shape)
    padded.reshape(-1)[: data.size] = data.reshape(-1)
    matrix = plan.prepare(boot.evaluation_keys(plan.needs))
    x = boot.encrypt(padded, **plan.encryption)
    for product in (matrix @ x, matrix.matmul(x)):
        found = boot.decrypt(product).reshape(-1)
        near(found[:48].reshape(3, 16), weights @ data)
        near(found[48:], np.zeros(len(found) - 48))


@calls("BootstrapPlan.explain")
def test_bootstraps(boot: cl.SecretKey) -> None:
    for shape, slots in (((5,), 512), ((3, 5), 512), ((5,), 8), ((3, 5), 16)):
        plan = cl.plans.BootstrapPlan(boot.params, slots=slots, is_complex=False)
        assert "modular reduction" in plan.explain()
        keys = boot.evaluation_keys(plan.needs)
        data = RNG_OF_PLANS.uniform(-1, 1, shape)
        x = boot.encrypt(data, level=plan.input_level, capacity=slots, encoding="slots").with_keys(keys)
        near(boot.decrypt(x.bootstrap(plan)), data)


@calls("PackingPlan.explain")
def test_packed_samples() -> None:
    key = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    for method in ("rows", "column"):
        plan = cl.plans.PackingPlan(key.params, count=5, method=method, level=1)
        assert method in plan.explain()
        samples = key.encrypt(VECTOR, level=1, encoding="coefficients").to_lwe()
        near(key.decrypt(samples.with_keys(key.evaluation_keys(plan.needs)).pack(plan)), VECTOR)


@calls("SamplesPlan.explain SamplesPlan.needs_of LightClient.encrypt LightClient.precompute LightClient.to_bytes LightClient.from_bytes")
@calls("Receiver.receive PreparedSamples.bootstrap PreparedSamples.save PreparedSamples.take")
def test_numbers_of_light_clients(boot: cl.SecretKey, tmp_path: Path) -> None:
    plan = cl.plans.SamplesPlan(boot.params, 5, device=1)
    assert "5 numbers" in plan.explain()
    keys = boot.evaluation_keys(plan.needs_of([1]))
    client = cl.clients.LightClient(boot, plan=plan, precision_bits=24)
    again = cl.clients.LightClient.from_bytes(client.to_bytes())
    again.precompute(5)
    messages = [again.encrypt([number]) for number in VECTOR]
    receiver = cl.clients.Receiver(boot.params, again.introduction, boot.authentication_key())
    found = boot.decrypt(receiver.receive(messages).with_keys(keys).bootstrap_samples(plan))
    near(found, VECTOR)
    cl.plans.PreparedSamples(plan, keys, receiver, 0).save(tmp_path / "masks")
    prepared = cl.plans.PreparedSamples.take(tmp_path / "masks", plan, keys, receiver)
    near(boot.decrypt(prepared.bootstrap(messages)), VECTOR)


CLASSES = (
    cl.SecretKey,
    cl.PublicKey,
    cl.keys.AuthenticationKey,
    cl.EvaluationKeys,
    cl.types.TransposedCiphertext,
    cl.plans.LinearTransform,
    cl.plans.LinearTransformPlan,
    cl.plans.Polynomial,
    cl.plans.PolynomialPlan,
    cl.plans.BootstrapPlan,
    cl.plans.MatrixPlan,
    cl.plans.PreparedMatrix,
    cl.plans.MamboPlan,
    cl.plans.MamboMatrix,
    cl.plans.PackingPlan,
    cl.plans.SamplesPlan,
    cl.plans.PreparedSamples,
    cl.clients.LightClient,
    cl.clients.Receiver,
    cl.clients.Inbox,
)
OPERATORS = re.compile(r"__(r?(add|sub|mul|matmul)|truediv|pow|neg|pos|getitem|len|call)__")


def defined(owner: type) -> set[str]:
    """The names that a class of the package defines, and its mixins."""
    return {name for base in owner.__mro__ if base.__module__.startswith("clathrate") for name in vars(base)}


def public_names(owner: type) -> set[str]:
    """Methods, and operators that do not only refuse."""
    members = {name for name in defined(owner) if inspect.isroutine(getattr(owner, name)) and not name.startswith("_")}
    refusing = {"__pow__"} if owner is cl.types.TransposedCiphertext else set()
    return members | {name for name in defined(owner) if OPERATORS.fullmatch(name)} - refusing


def test_no_method_of_keys_and_plans_is_left_out() -> None:
    names = {f"{owner.__name__}.{name}" for owner in CLASSES for name in public_names(owner)}
    elsewhere = {name for names in ELSEWHERE.values() for name in names.split()}
    assert names - set(CASES) - set(CALLED) - elsewhere == set()
    # Nothing that is not there is said to be called, and every test calls what it says.
    assert {name for name in (*CASES, *CALLED, *elsewhere) if re.match(r"[A-Z]\w+\.", name)} - names == set()
    for name, test in CALLED.items():
        method = name.split(".")[1]
        if not OPERATORS.fullmatch(method):
            assert re.search(rf"\.{method}\(", inspect.getsource(test)), f"{name} is not called in {test.__name__}"


def test_no_plan_is_left_out() -> None:
    plans = {
        name
        for place in (cl, cl.keys, cl.plans, cl.types)
        for name in place.__all__
        if name.endswith(("Plan", "Key", "Keys")) or name.startswith(("Prepared", "Transposed"))
    }
    assert plans <= {owner.__name__ for owner in CLASSES}


def test_nothing_public_is_left_out() -> None:
    names = defined(cl.Ciphertext)
    methods = {name for name in names if inspect.isroutine(getattr(cl.Ciphertext, name)) and not name.startswith("_")}
    operators = {name for name in names if OPERATORS.fullmatch(name)}
    places = {"cl": cl, "cl.functions": cl.functions, "cl.plans": cl.plans}
    functions = {f"{at}.{name}" for at, place in places.items() for name in place.__all__ if inspect.isroutine(getattr(place, name))}
    elsewhere = {name: file for file, names in ELSEWHERE.items() for name in names.split()}
    assert (methods | operators | functions) - set(CASES) - set(elsewhere) == set()
    for name, file in elsewhere.items():
        text = (Path(__file__).parent / f"test_{file}").read_text(encoding="utf-8")
        method = name.split(".")[-1]
        call = rf"(?<!\w){re.escape(name)}\(" if name.startswith("cl.") else rf"\.{method}\b"
        assert OPERATORS.fullmatch(method) or re.search(call, text), f"{name} is not called in test_{file}"
