"""Plans of products: every method, rows with masks of their own, chains, limits."""

import numpy as np
import pytest

import clathrate as cl

METHODS = ["exact", "by rows", "prepared"]


@pytest.fixture(scope="module")
def owner():
    return cl.SecretKey.generate(cl.Params.preset("insecure_matmul"))


@pytest.fixture(scope="module")
def deep():
    return cl.SecretKey.generate(cl.Params.preset("insecure_small"))


@pytest.mark.parametrize(("rows", "inner", "columns"), [(1, 1, 1), (3, 40, 5), (17, 33, 129), (2, 5, 600), (64, 64, 16)])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("masks", ["shared", "own"])
def test_every_method_multiplies(owner, rng, rows, inner, columns, method, masks):
    weights, data = rng.uniform(-1, 1, (rows, inner)), rng.uniform(-1, 1, (inner, columns))
    plan = cl.plans.MatrixPlan(owner.params, weights, columns, method=method, masks=masks)
    keys = owner.evaluation_keys(plan.needs)
    matrix = plan.prepare(keys)
    assert (plan.method, matrix.method, plan.shape, matrix.shape) == (method, method, (rows, inner), (rows, inner))
    encryptor = owner if masks == "shared" else owner.public_key()
    array = encryptor.encrypt(data, **plan.encryption)
    # The matrix finds keys of its own, and those that are attached.
    for operand in (array, array.with_keys(keys)):
        product = matrix @ operand
        assert (product.shape, product.level, product.secret) == ((rows, columns), 0, "main")
        assert product.layout.lanes == array.layout.lanes
        error = np.sqrt(np.mean((owner.decrypt(product) - weights @ data) ** 2))
        assert error < (2 if rows * columns > 20 else 5) * 2.0**-plan.precision_bits
    assert matrix.explain() in plan.explain()
    assert (plan.key_bytes > 0) == (method == "prepared") == (plan.preparation_seconds > 0)


@pytest.mark.parametrize("methods", [("exact", "exact"), ("by rows", "by rows"), ("exact", "prepared"), (None, None)])
def test_products_are_factors_of_products(deep, rng, methods):
    first, second = rng.uniform(-1, 1, (12, 20)), rng.uniform(-1, 1, (7, 12))
    bias, data = rng.uniform(-1, 1, (12, 1)), rng.uniform(-1, 1, (20, 30))
    one = cl.plans.MatrixPlan(deep.params, first, 30, level=2, method=methods[0])
    x = deep.encrypt(data, **one.encryption)
    lanes = x.layout.lanes
    two = cl.plans.MatrixPlan(deep.params, second, 30, level=1, lanes=lanes, masks="own", method=methods[1])
    keys = deep.evaluation_keys(one.needs | two.needs)
    hidden = one.prepare(keys) @ x + np.broadcast_to(bias, (12, 30))
    result = two.prepare(keys) @ hidden
    assert abs(deep.decrypt(result) - second @ (first @ data + bias)).max() < 1e-4


def test_the_choice_follows_the_limits(owner, rng):
    weights = rng.uniform(-1, 1, (64, 64))
    plan = cl.plans.MatrixPlan(owner.params, weights, 64)
    assert cl.plans.MatrixPlan(owner.params, weights, 64, key_bytes=0).method == "by rows"
    assert len(cl.plans.MatrixPlan(owner.params, weights, 64, key_bytes=0).needs.to_dict()["rotations"]) == 0
    assert cl.plans.MatrixPlan(owner.params, weights, 64, uses=1).method != "prepared"
    assert "for 1 product" in cl.plans.MatrixPlan(owner.params, weights, 64, uses=1).explain()
    assert cl.plans.MatrixPlan(owner.params, weights, 64, uses=2**40).method == plan.method
    for method in METHODS:
        assert method in plan.explain()
        assert cl.plans.MatrixPlan(owner.params, weights, 64, method=method).seconds >= plan.seconds
    assert plan.owner_key_bytes + plan.key_bytes > 0
    assert "products=" in repr(plan)


def test_a_plan_without_keys_needs_none(owner, rng):
    weights, data = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (4, 50))
    plan = cl.plans.MatrixPlan(owner.params, weights, 50, key_bytes=0)
    matrix = plan.prepare()
    assert abs(owner.decrypt(matrix @ owner.encrypt(data, **plan.encryption)) - weights @ data).max() < 1e-4
    with pytest.raises(cl.errors.DataError, match="keep the numbers"):
        matrix.save("matrix.clt")


def test_what_no_plan_fits_is_refused(owner, rng):
    weights, data = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (4, 50))
    with pytest.raises(cl.errors.DataError, match=r"45.0 bits: allow one of these: .*by rows: 2\d"):
        cl.plans.MatrixPlan(owner.params, weights, 50, precision_bits=45)
    with pytest.raises(cl.errors.DataError, match="bytes of keys"):
        cl.plans.MatrixPlan(owner.params, weights, 50, key_bytes=10, method="prepared")
    for arguments in ({"method": "fast"}, {"masks": "mine"}, {"uses": 0}, {"uses": -1}, {"key_bytes": -1}, {"lanes": 3}, {"lanes": 64}):
        with pytest.raises(cl.errors.DataError):
            cl.plans.MatrixPlan(owner.params, weights, 50, **arguments)
    with pytest.raises(cl.errors.MissingKeyError):
        cl.plans.MatrixPlan(owner.params, weights, 50, method="prepared").prepare()
    plan = cl.plans.MatrixPlan(owner.params, weights, 50, method="exact")
    matrix = plan.prepare()
    with pytest.raises(cl.errors.MissingKeyError):
        matrix @ owner.encrypt(data, **plan.encryption)
    with pytest.raises(cl.errors.LevelError):
        cl.plans.MatrixPlan(owner.params, weights, 50, level=0)
    low = owner.encrypt(data, level=0, encoding="coefficients")
    with pytest.raises(cl.errors.DataError, match="level 1"):
        matrix @ low


def test_immediate_products_split_masks_and_explain(owner, rng):
    weights, data = rng.uniform(-1, 1, (3, 4)), rng.uniform(-1, 1, (4, 50))
    shared = owner.encrypt(data, bodies=2, axis="rows", lanes=2)
    with pytest.raises(cl.errors.ShapeError, match="split_mask"):
        weights @ shared
    with pytest.raises(cl.errors.ShapeError, match="split_mask"):
        shared.explain_matmul(weights)
    shared = shared.with_keys(owner.evaluation_keys(cl.keys.Needs(shared_mask=2)))
    assert abs(owner.decrypt((weights @ shared).rescale()) - weights @ data).max() < 1e-4
    text = shared.explain_matmul(weights)
    assert "split" in text
    assert "come apart" in text
    with pytest.raises(cl.errors.ShapeError):
        shared.explain_matmul(weights.T)
    with pytest.raises(cl.errors.DataError):
        shared.explain_matmul(weights * np.nan)
    # A dry run finds the keys.
    found = cl.plans.trace(lambda x: weights @ x, (4, 50), params=owner.params, encoding="coefficients", bodies=2, axis="rows")
    assert found.needs.shared_masks == [2]


@pytest.mark.parametrize("bodies", [6, 8, 16])
def test_masks_are_shared_in_rounds(owner, rng, bodies):
    data = rng.uniform(-1, 1, (40, 20))
    x = owner.encrypt(data)
    plan = cl.plans.MatrixPlan(owner.params, np.eye(40), 20, masks="own", bodies=bodies, lanes=1, method="prepared")
    keys = owner.evaluation_keys(plan.needs)
    shared = x.with_keys(keys).share_mask(bodies)
    assert shared.bodies == bodies
    assert abs(owner.decrypt(shared) - data).max() < 1e-5


def test_options_that_do_not_go_together_are_refused(owner):
    weights = np.eye(4)
    for arguments in (
        {"method": "exact", "products": 1},
        {"method": "by rows", "products": 2},
        {"method": "exact", "bodies": 2},
        {"method": "by rows", "lanes": 4},
        {"lanes": 0},
        {"lanes": 0, "method": "by rows"},
    ):
        with pytest.raises(cl.errors.DataError, match=r"prepared products|one row in a polynomial|power of two"):
            cl.plans.MatrixPlan(owner.params, weights, 50, **arguments)
    assert cl.plans.MatrixPlan(owner.params, weights, 50, bodies=2).method == "prepared"


@pytest.mark.parametrize("name", ["insecure_rank2", "insecure_rank3", "insecure_dpad"])
def test_higher_ranks_are_multiplied_by_rows(rng, name):
    params = cl.Params.preset(name)
    owner = cl.SecretKey.generate(params)
    weights, data = rng.uniform(-1, 1, (5, 9)), rng.uniform(-1, 1, (9, 4))
    plan = cl.plans.MatrixPlan(params, weights, 4)
    assert plan.method == "by rows"
    product = plan.prepare() @ owner.encrypt(data, **plan.encryption)
    assert abs(owner.decrypt(product) - weights @ data).max() < 1e-4
    for arguments in ({"lanes": 2}, {"method": "exact"}):
        with pytest.raises(cl.errors.ShapeError, match="rank 1 alone"):
            cl.plans.MatrixPlan(params, weights, 4, **arguments)


def test_bounds_of_dry_runs_hold_for_equal_weights(deep):
    # Equal weights have equal rounding errors, which add up for numbers of one sign.
    weights, data = np.full((13, 39), 1 / 3), np.ones((39, 25))
    for masks in ("shared", "own"):
        plan = cl.plans.MatrixPlan(deep.params, weights, 25, masks=masks, method="prepared")
        keys = deep.evaluation_keys(plan.needs)
        matrix = plan.prepare(keys)
        found = cl.plans.trace(lambda x, matrix=matrix: matrix @ x, (39, 25), params=deep.params, bound=1.0, **plan.encryption)
        product = matrix @ deep.encrypt(data, **plan.encryption).with_keys(keys)
        error = np.sqrt(np.mean((deep.decrypt(product) - weights @ data) ** 2))
        assert error < found.result.error_bound < 1e-4
        assert found.result.error_bound > 2.0**-plan.precision_bits


def test_speed_costs_few_bits_unless_asked_for(rng):
    params = cl.Params.preset("insecure_deep")
    weights = rng.uniform(-1, 1, (17, 51))
    for level in range(1, params.max_level + 1):
        free = cl.plans.MatrixPlan(params, weights, 4, level=level)
        exact = cl.plans.MatrixPlan(params, weights, 4, level=level, method="exact")
        assert free.precision_bits > exact.precision_bits - 4.1


def test_explanations_say_what_fits(owner):
    text = cl.plans.MatrixPlan(owner.params, 1e6 * np.ones((3, 4)), 5, method="by rows").explain()
    assert "results up to" in text
    assert "give 4.0e6 at most" in text


def test_devices_are_packed_and_answered(deep, rng):
    params, data = deep.params, rng.uniform(-1, 1, 24)
    client = cl.clients.LightClient(deep, level=1, device=7)
    receiver = cl.clients.Receiver(params, client.introduction, deep.authentication_key())
    samples = receiver.receive([client.encrypt(part) for part in data.reshape(4, 6)], shape=(4, 6))
    assert (client.device, samples.secret) == (7, "device:7")
    plan = cl.plans.PackingPlan(params, level=1, device=7)
    assert "device:7" in plan.explain()
    packed = samples.with_keys(deep.evaluation_keys(plan.needs)).pack(plan)
    assert packed.secret == "main"
    mean = (np.full((1, 4), 0.25) @ packed).rescale()
    keys = deep.evaluation_keys(
        cl.plans.trace(lambda x: x.change_secret("device:7"), (1, 6), params=params, encoding="coefficients", level=0).needs
    )
    answer = receiver.reply(mean.with_keys(keys).change_secret("device:7"))
    assert abs(client.decrypt(answer) - data.reshape(4, 6).mean(axis=0)).max() < 1e-4
    for other in (cl.clients.LightClient(deep, level=1, device=8), cl.clients.LightClient(deep, level=1)):
        with pytest.raises(cl.errors.DataError, match="device:7"):
            other.decrypt(answer)
    with pytest.raises(cl.errors.MissingKeyError, match="device=7"):
        samples.with_keys(deep.evaluation_keys(cl.plans.PackingPlan(params, level=1).needs)).pack(plan)
    other = cl.clients.LightClient(deep, level=1, device=8)
    theirs = cl.clients.Receiver(params, other.introduction, deep.authentication_key()).receive([other.encrypt(data)], shape=(4, 6))
    with pytest.raises(cl.errors.WrongSecretError, match="PackingPlan"):
        samples + theirs
    for device in (-1, 2**62, 2**63, 2**64 - 1, 10**30):
        with pytest.raises(cl.errors.DataError, match="device"):
            cl.clients.LightClient(deep, device=device)
        with pytest.raises(cl.errors.DataError, match="device"):
            cl.plans.PackingPlan(params, device=device)
    assert cl.clients.LightClient(deep, device=2**62 - 1).device == 2**62 - 1
    with pytest.raises(cl.errors.ShapeError, match="row method"):
        cl.plans.PackingPlan(params, device=7, method="rows")
    with pytest.raises(cl.errors.LevelError):
        cl.plans.PackingPlan(params, level=99)
    with pytest.raises(cl.errors.DataError, match="name of a secret"):
        packed.change_secret("device:07")
    assert packed.change_secret("main").secret == "main"
