"""Products inside bootstraps and batches of bootstraps: shapes, chains, keys, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def params() -> cl.Params:
    return cl.Params.preset("insecure_boot")


@pytest.fixture(scope="module")
def owner(params: cl.Params) -> cl.SecretKey:
    return cl.SecretKey.generate(params)


@pytest.mark.parametrize(("rows", "inner", "columns", "is_complex"), [(3, 2, 512, False), (8, 24, 64, True), (40, 16, 32, False)])
def test_products_are_numpys(params: cl.Params, owner: cl.SecretKey, rows: int, inner: int, columns: int, is_complex: bool) -> None:
    rng = np.random.default_rng(1)
    weights = rng.uniform(-1, 1, (rows, inner)) / inner
    plan = cl.MamboPlan(params, weights, columns, is_complex=is_complex)
    assert (plan.shape, plan.columns) == ((rows, inner), columns)
    assert plan.input_shape == (-(-inner * columns // 512), 512)
    assert plan.output_shape == (-(-rows * columns // 512), 512)
    x = rng.uniform(-1, 1, (inner, columns)) + (1j * rng.uniform(-1, 1, (inner, columns)) if is_complex else 0)
    padded = np.zeros(plan.input_shape, dtype=x.dtype)
    padded.reshape(-1)[: x.size] = x.reshape(-1)
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    y = matrix @ owner.encrypt(padded, **plan.encryption)
    assert (y.shape, y.level) == (plan.output_shape, plan.output_level)
    found = owner.decrypt(y)
    assert np.iscomplexobj(found) == is_complex
    assert abs(found.reshape(-1)[: rows * columns].reshape(rows, columns) - weights @ x).max() < 1e-4
    assert plan.seconds > plan.product_seconds > 0
    assert plan.precision_bits > 18
    assert matrix.plan.method == plan.method
    assert f"{rows} x {inner} matrix inside a bootstrap" in plan.explain()


def test_the_short_form_is_the_same_product(params: cl.Params, owner: cl.SecretKey) -> None:
    weights = np.random.default_rng(2).uniform(-1, 1, (4, 4)) / 4
    plan = cl.MamboPlan(params, weights, columns=128)
    keys = owner.evaluation_keys(plan.needs)
    x = owner.encrypt(np.linspace(-1, 1, 512).reshape(1, 512), **plan.encryption)
    short = owner.decrypt(cl.mambo(weights, x.with_keys(keys), columns=128))
    assert abs(short - owner.decrypt(plan.prepare(keys) @ x)).max() < 1e-5
    with pytest.raises(cl.MissingKeyError):
        cl.mambo(weights, x, columns=128)


def test_what_does_not_fit_is_refused(params: cl.Params, owner: cl.SecretKey) -> None:
    for arguments, part in [
        ({"weights": np.eye(2), "columns": 3}, "power of two"),
        ({"weights": np.eye(2), "columns": 1024}, "up to 512"),
        ({"weights": np.eye(2), "method": "fast"}, "by rows"),
        ({"weights": np.full((2, 2), np.nan)}, "NaN"),
        ({"weights": np.eye(2), "bodies": 65}, "1 to 64"),
    ]:
        with pytest.raises(cl.DataError, match=part):
            cl.MamboPlan(params, **arguments)
    with pytest.raises(cl.ParamsError):
        cl.MamboPlan(cl.Params.preset("insecure_small"), np.eye(2))
    plan = cl.MamboPlan(params, np.eye(2) / 2)
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    with pytest.raises(cl.ShapeError, match=r"X\.reshape\(-1, 512\)"):
        matrix @ owner.encrypt(np.zeros((3, 512)), **plan.encryption)
    steps: list[tuple[int, int]] = []
    x = owner.encrypt(np.full((2, 512), 0.5), **plan.encryption)
    matrix.matmul(x, progress=lambda done, all_: steps.append((done, all_)))
    assert steps
    assert steps[-1][0] == steps[-1][1]
    with pytest.raises(cl.CancelledError):
        matrix.matmul(x, progress=lambda done, all_: False)


def test_batches_choose_their_bodies(params: cl.Params, owner: cl.SecretKey) -> None:
    alone = cl.BootstrapPlan(params)
    plan = cl.BootstrapPlan(params, batch=16)
    assert alone.bodies == 1
    assert plan.bodies > 1
    assert plan.key_bytes <= 3 * alone.key_bytes
    assert "for 16 polynomials, a star marks the choice" in plan.explain()
    assert cl.BootstrapPlan(params, batch=16, key_bytes=alone.key_bytes).key_bytes <= alone.key_bytes
    rows = np.random.default_rng(3).uniform(-1, 1, (5, 512))
    low = owner.encrypt(rows, encoding="slots", level=plan.input_level).with_keys(owner.evaluation_keys(plan.needs))
    fresh = low.bootstrap(plan)
    assert (fresh.shape, fresh.level) == (rows.shape, plan.output_level)
    assert abs(owner.decrypt(fresh) - rows).max() < 1e-4
    with pytest.raises(cl.DataError, match="leave out"):
        cl.BootstrapPlan(params, bodies=2, batch=4)
    with pytest.raises(cl.DataError, match="one polynomial or more"):
        cl.BootstrapPlan(params, batch=0)
    with pytest.raises(cl.DataError, match="1 to 64"):
        cl.BootstrapPlan(params, bodies=65)
    # A secure set without bits to spare has no such keys.
    with pytest.raises(cl.SecurityError, match="fewer than 2 bodies"):
        cl.BootstrapPlan(cl.Params.preset("boot_n15"), bodies=2)
