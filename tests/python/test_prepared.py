"""Prepared matrices: shapes, precision, keys, what does not fit."""

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner():
    return cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "bodies"),
    [(1, 1, 1, None), (3, 40, 5, None), (40, 3, 300, 2), (17, 33, 129, None), (1, 50, 256, 7), (64, 64, 64, 1)],
)
@pytest.mark.parametrize("products", [1, 2])
def test_products_are_numpys(owner, rng, rows, inner, columns, bodies, products):
    weights, data = rng.uniform(-1, 1, (rows, inner)), rng.uniform(-1, 1, (inner, columns))
    plan = cl.plans.MatrixPlan(owner.params, weights, columns, bodies=bodies, products=products)
    assert (plan.shape, plan.products, plan.level) == ((rows, inner), products, 1)
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    assert matrix.shape == (rows, inner)
    assert matrix.key_bytes == plan.key_bytes
    encrypted = owner.encrypt(data, **plan.encryption)
    product = matrix @ encrypted
    assert (product.shape, product.level, product.secret) == ((rows, columns), 0, "main")
    error = np.sqrt(np.mean((owner.decrypt(product) - weights @ data) ** 2))
    # Few numbers may lie further out.
    assert error < (2 if rows * columns > 20 else 5) * 2.0**-plan.precision_bits


def test_arrays_brought_under_a_mask_are_multiplied(owner, rng):
    weights, data = rng.uniform(-1, 1, (5, 12)), rng.uniform(-1, 1, (12, 60))
    plan = cl.plans.MatrixPlan(owner.params, weights, 60, method="prepared", bodies=3)
    needs = plan.needs | cl.keys.Needs(shared_mask=3)
    keys = owner.evaluation_keys(needs)
    encrypted = owner.encrypt(data, lanes="most").with_keys(keys).share_mask(3)
    assert encrypted.layout.lanes == 4
    assert encrypted.secret == "bodies:3"
    product = plan.prepare(keys) @ encrypted
    assert abs(owner.decrypt(product) - weights @ data).max() < 1e-4
    # The product is an ordinary array, under one secret: it adds to others of its kind.
    assert abs(owner.decrypt(product + product) - 2 * weights @ data).max() < 2e-4


@pytest.mark.parametrize("trusted_map", [False, True])
def test_prepared_matrices_have_files(owner, rng, tmp_path, trusted_map):
    weights, data = rng.uniform(-1, 1, (9, 20)), rng.uniform(-1, 1, (20, 60))
    plan = cl.plans.MatrixPlan(owner.params, weights, 60, method="prepared", bodies=2)
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    encrypted = owner.encrypt(data, **plan.encryption)
    path = tmp_path / "matrix.clt"
    assert matrix.save(path) == path.stat().st_size > matrix.key_bytes
    again = cl.plans.PreparedMatrix.load(path, owner.params, trusted_map=trusted_map)
    assert (again.shape, again.key_bytes, again.explain()) == (matrix.shape, matrix.key_bytes, matrix.explain())
    assert (again @ encrypted).to_bytes() == (matrix @ encrypted).to_bytes()
    assert repr(cl.load(path, owner.params)) == repr(matrix)
    assert cl.inspect(path)["kind"] == "a prepared matrix"
    with pytest.raises(TypeError, match="pass the parameters too"):
        cl.load(path)
    with pytest.raises(cl.errors.WrongParamsError):
        cl.plans.PreparedMatrix.load(path, cl.Params.preset("insecure_small"))
    with pytest.raises(cl.errors.FileFormatError):
        cl.plans.LinearTransformPlan.load(path, owner.params)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(cl.errors.FileFormatError):
        cl.plans.PreparedMatrix.load(path, owner.params, trusted_map=trusted_map)


def test_dry_runs_know_prepared_products(owner, rng):
    weights, data = rng.uniform(-1, 1, (5, 12)), rng.uniform(-1, 1, (12, 60))
    plan = cl.plans.MatrixPlan(owner.params, weights, 60, method="prepared")
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    found = cl.plans.trace(lambda x: matrix @ x, (12, 60), params=owner.params, bound=1.0, **plan.encryption)
    product = matrix @ owner.encrypt(data, **plan.encryption)
    assert (found.result.shape, found.result.level, found.result.scale) == (product.shape, product.level, product.scale)
    error = np.sqrt(np.mean((owner.decrypt(product) - weights @ data) ** 2))
    assert error < found.result.error_bound < 1e-4
    assert plan.needs.to_dict()["others"]


@pytest.mark.parametrize("name", ["insecure_small", "insecure_tiny", "insecure_deep"])
def test_other_parameters_are_precise_or_refused(rng, name):
    params = cl.Params.preset(name)
    owner = cl.SecretKey.generate(params)
    weights, data = rng.uniform(0, 1, (4, 30)), rng.uniform(-1, 1, (30, 6))
    plan = cl.plans.MatrixPlan(params, weights, 6, method="prepared")
    assert plan.level == 1
    product = plan.prepare(owner.evaluation_keys(plan.needs)) @ owner.encrypt(data, **plan.encryption)
    error = np.sqrt(np.mean((owner.decrypt(product) - weights @ data) ** 2))
    assert error < 2 * 2.0**-plan.precision_bits < 1e-3
    with pytest.raises(cl.errors.DataError, match="lower level"):
        cl.plans.MatrixPlan(params, weights, 6, level=params.max_level, method="prepared")
    assert cl.plans.MatrixPlan(params, weights, 6, level=params.max_level).method != "prepared"


def test_integer_and_float32_weights(owner):
    data = np.arange(12.0).reshape(4, 3)
    for weights in (np.eye(4, dtype=np.int64)[::-1], np.eye(4, dtype=np.float32)[::-1], [[0, 0, 0, 1], [0, 0, 1, 0]]):
        plan = cl.plans.MatrixPlan(owner.params, weights, 3)
        product = plan.prepare(owner.evaluation_keys(plan.needs)) @ owner.encrypt(data, **plan.encryption)
        assert abs(owner.decrypt(product) - np.asarray(weights) @ data).max() < 1e-5


def test_plans_tell_what_they_take(owner, rng):
    weights = rng.uniform(-1, 1, (8, 64))
    plan = cl.plans.MatrixPlan(owner.params, weights, 64, method="prepared")
    one, two = (cl.plans.MatrixPlan(owner.params, weights, 64, method="prepared", products=products) for products in (1, 2))
    assert one.precision_bits < two.precision_bits
    assert plan.seconds > 0
    assert plan.key_bytes > 0
    assert cl.plans.MatrixPlan(owner.params, weights, 64, method="prepared", precision_bits=one.precision_bits - 0.1).products == 1
    assert cl.plans.MatrixPlan(owner.params, weights, 64, method="prepared", precision_bits=one.precision_bits + 0.1).products == 2
    assert "8 x 64" in plan.explain()
    assert "8 x 64" in repr(plan)
    fewer = cl.plans.MatrixPlan(owner.params, weights, 64, method="prepared", bodies=4)
    assert fewer.key_bytes == 4 * plan.key_bytes
    assert plan.encryption == {"encoding": "coefficients", "level": 1, "bodies": 16, "axis": "rows", "lanes": 4}
    assert cl.plans.MatrixPlan(owner.params, [[1.0]], 1, method="prepared").key_bytes < 2**16


def test_what_does_not_fit_is_refused(owner, rng):
    weights, data = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (4, 50))
    plan = cl.plans.MatrixPlan(owner.params, weights, 50, method="prepared")
    matrix = plan.prepare(owner.evaluation_keys(plan.needs))
    with pytest.raises(cl.errors.DataError, match="reach"):
        cl.plans.MatrixPlan(owner.params, weights, 50, precision_bits=45, method="prepared")
    for arguments in ({"products": 3}, {"products": 0}, {"bodies": 0}, {"bodies": 5000}, {"precision_bits": float("nan")}):
        with pytest.raises(cl.errors.DataError):
            cl.plans.MatrixPlan(owner.params, weights, 50, **arguments)
    for bad in (np.full((3, 4), np.inf), np.zeros((0, 4))):
        with pytest.raises(cl.errors.DataError):
            cl.plans.MatrixPlan(owner.params, bad, 50)
    with pytest.raises(cl.errors.DataError):
        cl.plans.MatrixPlan(owner.params, weights, 0)
    with pytest.raises(cl.errors.ShapeError):
        cl.plans.MatrixPlan(owner.params, weights[0], 50)
    with pytest.raises(TypeError):
        cl.plans.MatrixPlan(owner.params, weights * 1j, 50)
    for level in (0, 2):
        with pytest.raises(cl.errors.LevelError):
            cl.plans.MatrixPlan(owner.params, weights, 50, level=level)
    with pytest.raises(cl.errors.MissingKeyError):
        plan.prepare(owner.evaluation_keys(cl.keys.Needs(relinearise=True)))
    with pytest.raises(cl.errors.CancelledError):
        plan.prepare(owner.evaluation_keys(plan.needs), progress=lambda done, total: False)
    with pytest.raises(cl.errors.ShapeError, match="do not share masks"):
        matrix @ owner.encrypt(data)
    with pytest.raises(cl.errors.ShapeError, match="prepared for 4 rows"):
        matrix @ owner.encrypt(data[:3], **plan.encryption)
    stranger = cl.SecretKey.generate(owner.params)
    with pytest.raises(cl.errors.WrongSecretError):
        matrix @ stranger.encrypt(data, **plan.encryption)
    for product in (lambda: matrix @ data, lambda: data.T @ matrix, lambda: 2 @ matrix):
        with pytest.raises(TypeError):
            product()


def test_lanes_are_refused_where_there_is_no_room(owner):
    data = np.zeros((4, 50))
    assert owner.encrypt(data, lanes="most").layout.lanes == 4
    for lanes in (3, 8, 0, -2, 2**70, "all"):
        with pytest.raises(cl.errors.DataError):
            owner.encrypt(data, lanes=lanes)
    assert owner.encrypt(data, encoding="slots", lanes=2).layout.lanes == 2
    with pytest.raises(cl.errors.DataError):
        owner.encrypt(data, encoding="slots", lanes=4)
    with pytest.raises(cl.errors.DataError, match="leave it out"):
        owner.encrypt(data, capacity=128, lanes=2)
    with pytest.raises(TypeError, match="lanes"):
        owner.encrypt(data, lanes=2.5)
    apart = owner.encrypt(data, lanes=4).to_mlwe(4)
    assert apart.layout.lanes == 1
    assert apart.degree == 64


@pytest.mark.parametrize(("rows", "inner", "columns"), [(3, 4, 50), (1, 1, 1), (20, 9, 128), (2, 300, 7)])
def test_rows_that_share_polynomials_are_multiplied_and_packed_again(owner, rng, rows, inner, columns):
    weights, data = rng.uniform(-1, 1, (rows, inner)), rng.uniform(-1, 1, (inner, columns))
    encrypted = owner.encrypt(data, lanes="most")
    product = (weights @ encrypted).rescale()
    assert (product.shape, product.layout.lanes, product.degree) == ((rows, columns), 1, 256 // encrypted.layout.lanes)
    assert abs(owner.decrypt(product) - weights @ data).max() < 1e-4
    plan = cl.plans.PackingPlan(owner.params, degree=product.degree, method="column")
    packed = product.with_keys(owner.evaluation_keys(plan.needs)).pack(plan, lanes=True)
    assert (packed.degree, packed.layout.lanes) == (256, encrypted.layout.lanes)
    assert abs(owner.decrypt(packed) - weights @ data).max() < 1e-4
    plan = cl.plans.PackingPlan(owner.params, degree=product.degree, method="rows")
    product = product.with_keys(owner.evaluation_keys(plan.needs))
    with pytest.raises(cl.errors.ShapeError, match="column"):
        product.pack(plan, lanes=True)
