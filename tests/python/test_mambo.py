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
    plan = cl.plans.MamboPlan(params, weights, columns, is_complex=is_complex)
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


def test_the_fastest_number_of_bodies_is_taken(params: cl.Params) -> None:
    weights = np.full((16, 32), 1 / 32)
    alone = cl.plans.MamboPlan(params, weights)
    fastest = cl.plans.MamboPlan(params, weights, bodies="fastest")
    assert (alone.bodies, cl.plans.MamboPlan(params, weights, bodies=4).bodies) == (1, 4)
    assert fastest.bodies > 1
    assert fastest.seconds < alone.seconds
    # With room for the keys of all.
    roomy = cl.plans.MamboPlan(params, weights, bodies="fastest", key_bytes=2**30)
    for m in (2, 4, 8, 16, 32):
        assert roomy.seconds <= 1.001 * cl.plans.MamboPlan(params, weights, bodies=m, key_bytes=2**30).seconds
    with pytest.raises(cl.errors.DataError, match=r'`bodies`.*use a whole number or "fastest"'):
        cl.plans.MamboPlan(params, weights, bodies="most")
    for wrong in (0, -1, 65):
        with pytest.raises((cl.errors.DataError, cl.errors.ParamsError), match="bodies"):
            cl.plans.MamboPlan(params, weights, bodies=wrong)
    with pytest.raises(TypeError):
        cl.plans.MamboPlan(params, weights, bodies=1.5)


def test_the_short_form_is_the_same_product(params: cl.Params, owner: cl.SecretKey) -> None:
    weights = np.random.default_rng(2).uniform(-1, 1, (4, 4)) / 4
    plan = cl.plans.MamboPlan(params, weights, columns=128)
    keys = owner.evaluation_keys(plan.needs)
    x = owner.encrypt(np.linspace(-1, 1, 512).reshape(1, 512), **plan.encryption)
    short = owner.decrypt(cl.plans.mambo(weights, x.with_keys(keys), columns=128))
    assert abs(short - owner.decrypt(plan.prepare(keys) @ x)).max() < 1e-5
    with pytest.raises(cl.errors.MissingKeyError):
        cl.plans.mambo(weights, x, columns=128)


@pytest.mark.parametrize(("preset", "level"), [("insecure_boot", 4), ("insecure_boot_last", 2)])
def test_products_before_bootstraps_are_numpys(preset: str, level: int) -> None:
    params = cl.Params.preset(preset)
    owner = cl.SecretKey.generate(params)
    rng = np.random.default_rng(5)
    weights, x = rng.uniform(-1, 1, (2, 9)) / 9, rng.uniform(-1, 1, (9, 1024))
    plan = cl.plans.MamboPlan(params, weights, columns=1024, placement="before")
    assert (plan.placement, plan.input_level, plan.input_shape, plan.output_shape) == ("before", level, (9, 1024), (2, 1024))
    y = plan.prepare(owner.evaluation_keys(plan.needs)) @ owner.encrypt(x, **plan.encryption)
    assert (y.shape, y.level) == ((2, 1024), plan.output_level)
    assert abs(owner.decrypt(y) - weights @ x).max() < 1e-4
    assert plan.explain().startswith("2 x 9 matrix before a bootstrap")
    # Few rows of many: before is the faster one, and on the other chain the only one.
    assert cl.plans.MamboPlan(params, weights, columns=1024, placement="fastest").placement == "before"


def test_products_in_smaller_rings_are_numpys(params: cl.Params, owner: cl.SecretKey) -> None:
    rng = np.random.default_rng(6)
    weights, x = rng.uniform(-1, 1, (16, 16)) / 16, rng.uniform(-1, 1, (1, 512))
    found = {}
    for ring in (256, 1024):
        plan = cl.plans.MamboPlan(params, weights, columns=32, method="exact", ring=ring)
        assert plan.ring == ring
        found[ring] = plan.prepare(owner.evaluation_keys(plan.needs)) @ owner.encrypt(x, **plan.encryption)
        assert abs(owner.decrypt(found[ring]).reshape(16, 32) - weights @ x.reshape(16, 32)).max() < 1e-4
    # Rows of coefficients at level 1 have such products without a bootstrap, too.
    weights, rows = rng.uniform(-1, 1, (8, 8)), rng.uniform(-1, 1, (8, 64))
    plans = [cl.plans.MatrixPlan(params, weights, columns=64, method="exact", ring=ring) for ring in (None, 256, 1024)]
    assert plans[0].ring < 1024
    for plan in plans:
        product = plan.prepare(owner.evaluation_keys(plan.needs)) @ owner.encrypt(rows, **plan.encryption)
        assert abs(owner.decrypt(product) - weights @ rows).max() < 1e-5
    with pytest.raises(cl.ClathrateError, match="degree 8"):
        cl.plans.MatrixPlan(params, weights, columns=64, ring=8)


def test_operators_put_products_inside_bootstraps_where_levels_run_out(params: cl.Params, owner: cl.SecretKey) -> None:
    rng = np.random.default_rng(7)
    weights, x = rng.uniform(-1, 1, (3, 5)) / 5, rng.uniform(-1, 1, (5, 500))

    def layer(x: cl.Ciphertext) -> cl.Ciphertext:
        return (weights @ x).rescale()

    trace = cl.plans.trace(layer, (5, 500), params=params, encoding="slots", level=3)
    keys = owner.evaluation_keys(trace.needs)
    low = owner.encrypt(x, encoding="slots", level=3)
    attached = low.with_keys(keys, bootstrap_below=trace.bootstrap_below)
    assert attached.explain_matmul(weights).startswith("3 x 5 matrix inside a bootstrap")
    high = layer(attached)
    assert (high.shape, high.level) == ((3, 500), 5)
    assert abs(owner.decrypt(high) - weights @ x).max() < 1e-4
    # Nothing bootstraps without being told to.
    assert (weights @ low).level == 3
    assert low.with_keys(keys).explain_matmul(weights).startswith("3 x 5 matrix times")


def test_products_that_may_be_beyond_1_by_their_bound_are_refused(params: cl.Params, owner: cl.SecretKey) -> None:
    plan = cl.plans.MamboPlan(params, np.full((2, 2), 0.9))
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    numbers = np.full((2, plan.columns), 0.5)
    with pytest.raises(
        cl.errors.DataError, match=r"numbers of magnitude at most 1, and by the declared bound they may be as large as 1\.[89]"
    ):
        matrix @ owner.encrypt(numbers, **plan.encryption, bound=1.0)
    result = matrix @ owner.encrypt(numbers, **plan.encryption, bound=0.5)
    assert abs(owner.decrypt(result) - 0.9).max() <= result.error_bound < 1e-5
    assert 0.9 <= result.bound < 1


def test_what_does_not_fit_is_refused(params: cl.Params, owner: cl.SecretKey) -> None:
    for arguments, part in [
        ({"weights": np.eye(2), "columns": 3}, "power of two"),
        ({"weights": np.eye(2), "columns": 1023}, "up to 512"),
        ({"weights": np.eye(2), "columns": 256, "placement": "before"}, "multiple of 512"),
        ({"weights": np.eye(2), "placement": "behind"}, "inside"),
        ({"weights": np.eye(2), "columns": 256, "uses": 0}, "1 or more"),
        ({"weights": np.eye(2), "columns": 256, "method": "prepared", "ring": 512}, "exact products"),
        ({"weights": np.eye(2), "method": "fast"}, "by rows"),
        ({"weights": np.full((2, 2), np.nan)}, "nan"),
        ({"weights": np.eye(2), "bodies": 65}, "1 to 64"),
    ]:
        with pytest.raises(cl.errors.DataError, match=part):
            cl.plans.MamboPlan(params, **arguments)
    with pytest.raises(cl.errors.ParamsError):
        cl.plans.MamboPlan(cl.Params.preset("insecure_small"), np.eye(2))
    plan = cl.plans.MamboPlan(params, np.eye(2) / 2)
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    with pytest.raises(cl.errors.ShapeError, match=r"X\.reshape\(-1, 512\)"):
        matrix @ owner.encrypt(np.zeros((3, 512)), **plan.encryption)
    steps: list[tuple[int, int]] = []
    x = owner.encrypt(np.full((2, 512), 0.5), **plan.encryption)
    matrix.matmul(x, progress=lambda done, all_: steps.append((done, all_)))
    assert steps
    assert steps[-1][0] == steps[-1][1]
    with pytest.raises(cl.errors.CancelledError):
        matrix.matmul(x, progress=lambda done, all_: False)


def test_batches_choose_their_bodies(params: cl.Params, owner: cl.SecretKey) -> None:
    alone = cl.plans.BootstrapPlan(params)
    plan = cl.plans.BootstrapPlan(params, batch=16)
    assert alone.bodies == 1
    assert plan.bodies > 1
    assert plan.key_bytes <= 3 * alone.key_bytes
    assert "for 16 polynomials, a star marks the choice" in plan.explain()
    assert cl.plans.BootstrapPlan(params, batch=16, key_bytes=alone.key_bytes).key_bytes <= alone.key_bytes
    rows = np.random.default_rng(3).uniform(-1, 1, (5, 512))
    low = owner.encrypt(rows, encoding="slots", level=plan.input_level).with_keys(owner.evaluation_keys(plan.needs))
    fresh = low.bootstrap(plan)
    assert (fresh.shape, fresh.level) == (rows.shape, plan.output_level)
    assert abs(owner.decrypt(fresh) - rows).max() < 1e-4
    with pytest.raises(cl.errors.DataError, match="leave out"):
        cl.plans.BootstrapPlan(params, bodies=2, batch=4)
    with pytest.raises(cl.errors.DataError, match="one polynomial or more"):
        cl.plans.BootstrapPlan(params, batch=0)
    with pytest.raises(cl.errors.DataError, match="1 to 64"):
        cl.plans.BootstrapPlan(params, bodies=65)
    # A secure set without bits to spare has no such keys.
    with pytest.raises(cl.errors.SecurityError, match="fewer than 2 bodies"):
        cl.plans.BootstrapPlan(cl.Params.preset("boot_n15"), bodies=2)


def test_arrays_are_bootstrapped_together(params: cl.Params, owner: cl.SecretKey) -> None:
    plan = cl.plans.BootstrapPlan(params, batch=4)
    keys = owner.evaluation_keys(plan.needs)
    rng = np.random.default_rng(8)
    values = [rng.uniform(-1, 1, shape) for shape in [(2, 512), (500,), (2, 600)]]
    arrays = [owner.encrypt(x, encoding="slots", level=level) for x, level in zip(values, (3, 5, 3), strict=True)]
    fresh = cl.plans.bootstrap_batch([arrays[0].with_keys(keys), *arrays[1:]], plan)
    for own, x in zip(fresh, values, strict=True):
        assert (own.shape, own.level) == (x.shape, plan.output_level)
        assert abs(owner.decrypt(own) - x).max() < 1e-4
    first = arrays[0].with_keys(keys)
    with pytest.raises(cl.errors.LevelError, match="array 1 of the batch"):
        cl.plans.bootstrap_batch([first, owner.encrypt(values[1], encoding="slots", level=2)], plan)
    with pytest.raises(cl.errors.ShapeError, match=r"array 2 of the batch: .*complex"):
        cl.plans.bootstrap_batch([first, arrays[1], owner.encrypt(1j * values[1], encoding="slots", level=3)], plan)
    with pytest.raises(cl.errors.WrongSecretError, match="array 1 of the batch"):
        cl.plans.bootstrap_batch([first, cl.SecretKey.generate(params).encrypt(values[1], encoding="slots", level=3)], plan)
    with pytest.raises(cl.errors.DataError):
        cl.plans.bootstrap_batch([], plan)
    with pytest.raises(TypeError, match="list of ciphertexts"):
        cl.plans.bootstrap_batch(first, plan)  # type: ignore[arg-type]
    with pytest.raises(cl.errors.MissingKeyError):
        cl.plans.bootstrap_batch(arrays, plan)
