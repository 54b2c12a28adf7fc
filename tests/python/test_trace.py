"""Traces: what they say is what the computation does."""

from __future__ import annotations

import operator

import numpy as np
import pytest
from conftest import largest_rms

import clathrate as cl

W = np.linspace(-1, 1, 6).reshape(2, 3)
V = np.linspace(0.5, 1.5, 3 * 8).reshape(3, 8)


def inner_sum(x):
    for step in (4, 2, 1):
        x = x + x.rotate(step)
    return x


class Clear:
    """An array with a ciphertext's methods."""

    __array_ufunc__ = None

    def __init__(self, array):
        self.array = array

    def _with(self, other, operation, swap=False):
        other = other.array if isinstance(other, Clear) else np.asarray(other)
        return Clear(operation(other, self.array) if swap else operation(self.array, other))

    __add__ = __radd__ = lambda self, other: self._with(other, operator.add)
    __mul__ = __rmul__ = multiply = lambda self, other: self._with(other, operator.mul)

    def __sub__(self, other):
        return self._with(other, operator.sub)

    def __rsub__(self, other):
        return self._with(other, operator.sub, swap=True)

    def __truediv__(self, other):
        return self._with(other, operator.truediv)

    def __rmatmul__(self, other):
        return self._with(other, operator.matmul, swap=True)

    def __neg__(self):
        return Clear(-self.array)

    __pos__ = rescale = lambda self: self

    def __pow__(self, exponent):
        return Clear(self.array**exponent)

    def matmul(self, weights, weight_scale):
        return self.__rmatmul__(weights)

    def drop_to_level(self, level):
        return self

    def rotate(self, steps):
        return Clear(np.roll(self.array, -steps, axis=-1))

    def rotate_many(self, steps):
        return [self.rotate(step) for step in steps]

    def conj(self):
        return Clear(self.array.conj())


CIRCUITS = {
    "linear": lambda x, y: x + y * 2 - 3.5,
    "plain product": lambda x, y: (x * V).rescale() + y,
    "product": lambda x, y: (x * y).rescale(),
    "fused product": lambda x, y: x.multiply(y) - x,
    "square": lambda x, y: (x**2).rescale() * 0.25 + y,
    "cube": lambda x, y: ((x * y).rescale() * x).rescale(),
    "lazy sum": lambda x, y: (x * y + y * V).rescale(),
    "unscaled plus fresh": lambda x, y: x * V + y,
    "rotations": lambda x, y: inner_sum(x) + y.rotate(8) + y.rotate(-1),
    "hoisted": lambda x, y: sum(x.rotate_many([1, 2, 3]), y),
    "conjugate": lambda x, y: (x * 1j).rescale().conj() + y,
    "division": lambda x, y: (x / 3).rescale() + (y / V).rescale(),
    "late rotation": lambda x, y: ((x * y).rescale() * y).rescale().rotate(3),
    "both levels": lambda x, y: (x.rotate(1) * y).rescale().rotate(1),
    "unscaled plus lower": lambda x, y: y.conj() * 0.5 + ((x * y).rescale() * x).rescale(),
    "unscaled plus next": lambda x, y: (x * y).rescale() - y * V,
    "drop unscaled": lambda x, y: (x * V).drop_to_level(2) + y * V,
    "drop": lambda x, y: x.drop_to_level(1) * y,
    "matrix": lambda x, y: (W @ (x + y)).rescale(),
    "matrix of integers": lambda x, y: (x + y).matmul(np.ones((4, 3), dtype=int), weight_scale=1.0),
    "negative": lambda x, y: -(1 - x) + [[1], [2], [3]] - y,
    "nothing": lambda x, y: +x,
}


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("preset", ["insecure_tiny", "insecure_rank2"])
def test_traced_needs_suffice_and_results_agree(rng, name, preset):
    circuit = CIRCUITS[name]
    params = cl.Params.preset(preset)
    trace = cl.plans.trace(circuit, (3, 8), (3, 8), params=params, encoding="slots")
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(trace.needs)
    x, y = (key.encrypt(rng.normal(size=(3, 8)), encoding="slots").with_keys(keys) for _ in range(2))
    result = circuit(x, y)
    # The numbers too: a circuit whose levels and scales agree could still wrap around.
    clear = circuit(Clear(key.decrypt(x)), Clear(key.decrypt(y)))
    assert np.max(np.abs(key.decrypt(result) - clear.array)) < 1e-5
    for attribute in ("shape", "ndim", "size", "encoding", "level", "is_complex"):
        assert getattr(result, attribute) == getattr(trace.result, attribute), attribute
    assert result.scale == pytest.approx(trace.result.scale, rel=1e-9)


@pytest.mark.parametrize("name", ["linear", "unscaled plus fresh", "unscaled plus lower", "unscaled plus next", "cube", "drop"])
def test_traces_agree_at_a_small_scale(rng, name):
    steps, special = [[30, 30], 28, 28, 28, 28], [42, 42]
    params = cl.Params(degree=64, steps=steps, special=special, log2_scale=28, insecure=True)
    key = cl.SecretKey.generate(params)
    trace = cl.plans.trace(CIRCUITS[name], (3, 8), (3, 8), params=params, encoding="slots")
    keys = key.evaluation_keys(trace.needs)
    x, y = (key.encrypt(rng.uniform(-1, 1, (3, 8)), encoding="slots").with_keys(keys) for _ in range(2))
    result, clear = CIRCUITS[name](x, y), CIRCUITS[name](Clear(key.decrypt(x)), Clear(key.decrypt(y)))
    assert (result.level, result.scale) == (trace.result.level, pytest.approx(trace.result.scale, rel=1e-9))
    assert np.max(np.abs(key.decrypt(result) - clear.array)) < 1e-3


def test_traced_needs_are_necessary(rng):
    params = cl.Params.preset("insecure_tiny")
    circuit = CIRCUITS["late rotation"]
    needs = cl.plans.trace(circuit, (8,), (8,), params=params).needs
    assert needs.to_dict() == {"relinearise": params.max_level, "rotations": {3: params.max_level - 2}}
    key = cl.SecretKey.generate(params)
    x = key.encrypt(rng.uniform(-1, 1, 8))
    for less in (cl.keys.Needs(relinearise=True), cl.keys.Needs(rotations=[3])):
        with pytest.raises(cl.errors.MissingKeyError):
            circuit(*(x.with_keys(key.evaluation_keys(less)),) * 2)
    with pytest.raises(cl.errors.LevelError):
        circuit(*(x.with_keys(key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[3], level=0))),) * 2)


def test_levels_of_a_key_are_the_highest_it_is_used_at():
    params = cl.Params.preset("insecure_tiny")
    assert cl.plans.trace(CIRCUITS["both levels"], (8,), (8,), params=params).needs.to_dict()["rotations"] == {1: params.max_level}
    assert cl.plans.trace(CIRCUITS["both levels"], (8,), (8,), params=params, level=2).needs.to_dict()["rotations"] == {1: 2}


def test_rotations_by_the_period_need_no_key():
    params = cl.Params.preset("insecure_tiny")
    assert not cl.plans.trace(lambda x: x.rotate(8) + x.rotate(0) + x.rotate(-16), (5,), params=params).needs


@pytest.mark.parametrize(
    ("circuit", "error"),
    [
        (lambda x: x**100, cl.errors.LevelError),
        (lambda x: x.drop_to_level(0) * x, cl.errors.LevelError),
        (lambda x: x.drop_to_level(0) * 0.5, cl.errors.LevelError),
        (lambda x: x.drop_to_level(1).drop_to_level(2), cl.errors.LevelError),
        (lambda x: x + np.ones(3), cl.errors.ShapeError),
        (lambda x: x * np.ones((8, 2)), cl.errors.ShapeError),
        (lambda x: np.ones((2, 7)) @ x, cl.errors.ShapeError),
        (lambda x: x @ np.ones((7, 2)), cl.errors.ShapeError),
        (lambda x: x.sum(axis=1), cl.errors.DataError),
        (lambda x: x + "a", TypeError),
        (lambda x: x * np.array(["a"]), TypeError),
        (lambda x: 1 / x, TypeError),
        (lambda x: x / 0, ZeroDivisionError),
        (lambda x: x**0.5, ValueError),
        (lambda x: x == 1, TypeError),
        (lambda x: 1 if x else 0, TypeError),
        (lambda x: float(x), TypeError),
        (lambda x: np.asarray(x), TypeError),
    ],
)
def test_traces_and_ciphertexts_raise_the_same_errors(circuit, error):
    params = cl.Params.preset("insecure_tiny")
    with pytest.raises(error):
        cl.plans.trace(circuit, (8,), params=params)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True))
    with pytest.raises(error):
        circuit(key.encrypt(np.ones(8)).with_keys(keys))


def test_traces_find_the_keys_of_products_with_matrices():
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    matrix, x = np.arange(16.0).reshape(2, 8) / 16, np.linspace(-1, 1, 8)
    for circuit in (lambda x: matrix @ x, lambda x: x @ matrix.T):
        keys = key.evaluation_keys(cl.plans.trace(circuit, (8,), params=params).needs)
        got = key.decrypt(circuit(key.encrypt(x).with_keys(keys)))
        np.testing.assert_allclose(got, matrix @ x, atol=1e-4)


def test_traces_of_coefficients_refuse_slot_operations():
    params = cl.Params.preset("insecure_tiny")
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
        cl.plans.trace(lambda x: x.rotate(1), (2, 3), params=params)
    explicit = cl.Params.preset("insecure_tiny", cl.Runtime(rescale="explicit"))
    for circuit in (lambda x: x * x, lambda x: x * np.ones((2, 3)), lambda x: x * 1j, lambda x: x.conj()):
        with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
            cl.plans.trace(circuit, (2, 3), params=explicit)
        assert cl.plans.trace(circuit, (2, 3), params=params).result.encoding == "slots", "converted"
    with pytest.raises(cl.errors.ShapeError, match='needs the encoding "slots"'):
        cl.plans.trace(lambda x: x + 1j, (2, 3), params=params)
    assert cl.plans.trace(lambda x: x + 1j, (2, 3), params=params, encoding="coefficients", is_complex=True).result.is_complex
    with pytest.raises(cl.errors.ShapeError, match="split the array"):
        cl.plans.trace(lambda x: x.rotate(1), (33,), params=params)


def test_symbols_are_not_stored(tmp_path):
    symbol = cl.plans.trace(lambda x: x, (8,), params=cl.Params.preset("insecure_tiny")).result
    for store in (lambda: symbol.save(tmp_path / "symbol.clt"), symbol.to_bytes):
        with pytest.raises(cl.errors.DataError, match="symbol"):
            store()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("shape", [(0,), (2, 0), (1, 1, 1, 1, 1, 2, 3), (-1,)])
def test_traces_of_impossible_shapes_are_refused(shape):
    with pytest.raises(cl.errors.DataError):
        cl.plans.trace(lambda x: x, shape, params=cl.Params.preset("insecure_tiny"))


def test_traces_take_what_encrypt_takes():
    params = cl.Params.preset("insecure_tiny")
    trace = cl.plans.trace(lambda x: x, (8,), params=params, level=2, scale=2.0**30, is_complex=True)
    assert (trace.result.level, trace.result.scale, trace.result.is_complex) == (2, 2.0**30, True)
    for level in (-1, 9):
        with pytest.raises(cl.errors.LevelError):
            cl.plans.trace(lambda x: x, (8,), params=params, level=level)
    with pytest.raises(cl.errors.ScaleError):
        cl.plans.trace(lambda x: x, (8,), params=params, scale=2.0**500)


def staged(x, weights):
    with x.stage("matrix"):
        y = (weights @ x).rescale()
    with y.stage("square"):
        y = y.multiply(y)
        with y.stage("turn"):
            y = y + y.rotate(1)
    return y - 0.5


def test_traces_cost_what_their_stages_cost():
    params = cl.Params.preset("insecure_small")
    trace = cl.plans.trace(lambda x: staged(x, W), (3, 8), params=params, encoding="slots")
    assert [stage.name for stage in trace.stages] == ["matrix", "square", "square/turn", "operations"]
    matrix, square, turn, rest = trace.stages
    for figure in ("transforms", "hadamard_products", "multiply_adds", "key_bytes"):
        figures = [getattr(stage, figure) for stage in trace.stages]
        assert all(isinstance(value, int) and value >= 0 for value in figures)
        assert sum(figures) == getattr(trace, figure) > 0
    assert sum(stage.seconds for stage in trace.stages) == pytest.approx(trace.seconds)
    assert all(stage.seconds > 0 for stage in trace.stages)
    # One or more floating-point products modulo each prime, of 2 x 3 weights with the coefficients of two polynomials.
    primes = sum(len(step) for step in params.primes["steps"])
    products, rest_of_it = divmod(matrix.multiply_adds, 2 * 3 * 2 * params.degree)
    assert rest_of_it == 0
    assert products >= primes
    assert (matrix.key_bytes, square.multiply_adds, rest.key_bytes) == (0, 0, 0)
    # The number that is subtracted is encoded once for each of the two rows.
    assert rest.transforms == 2 * sum(len(step) for step in params.primes["steps"][: trace.result.level + 1])
    # A rescale transforms each prime of each polynomial of the two rows once.
    assert matrix.transforms == 2 * 2 * primes
    assert square.key_bytes > 0
    assert turn.key_bytes > 0


def test_costs_grow_with_the_array_and_do_not_depend_on_the_run():
    params = cl.Params.preset("insecure_rank2")
    needed = [cl.plans.trace(lambda x: (x.rotate(1) * x).rescale(), (rows, 8), params=params, encoding="slots") for rows in (1, 3, 3)]
    one, three, again = needed
    for figure in ("transforms", "hadamard_products", "key_bytes", "peak_bytes"):
        assert getattr(three, figure) == getattr(again, figure) > 2 * getattr(one, figure) > 0
    assert three.transforms == 3 * one.transforms
    assert three.seconds == again.seconds == pytest.approx(3 * one.seconds)
    assert three.multiply_adds == 0


def test_costs_of_nothing_are_none():
    trace = cl.plans.trace(lambda x: x, (8,), params=cl.Params.preset("insecure_tiny"))
    assert (trace.stages, trace.seconds, trace.transforms, trace.hadamard_products) == ((), 0.0, 0, 0)
    assert (trace.multiply_adds, trace.key_bytes) == (0, 0)
    assert trace.peak_bytes > 0
    assert "all" in trace.explain()


def test_peak_memory_is_what_ciphertexts_take(rng):
    params = cl.Params.preset("insecure_tiny")
    key = cl.SecretKey.generate(params)
    x = key.encrypt(rng.normal(size=(3, 8)), encoding="slots")
    assert cl.plans.trace(lambda x: x, (3, 8), params=params, encoding="slots").peak_bytes == x.nbytes
    # The operand, and the result beside it.
    twice = cl.plans.trace(lambda x: x + x, (3, 8), params=params, encoding="slots")
    assert twice.peak_bytes == x.nbytes + (x + x).nbytes
    large = cl.plans.trace(lambda x: np.ones((40, 3)) @ x, (3, 8), params=params, encoding="slots")
    assert large.peak_bytes == x.nbytes + (np.ones((40, 3)) @ x).nbytes


@pytest.mark.parametrize("preset", ["insecure_small", "insecure_rank2", "insecure_deep"])
def test_errors_are_what_is_stated(rng, preset):
    params = cl.Params.preset(preset)
    shape = (3, params.slot_count)
    trace = cl.plans.trace(lambda x: staged(x, W), shape, params=params, encoding="slots", bound=1.0)
    key = cl.SecretKey.generate(params)
    data = rng.uniform(-1, 1, shape)
    keys = key.evaluation_keys(trace.needs)

    def errors_on(data, public):
        y = W @ data
        clear = y * y + np.roll(y * y, -1, axis=1) - 0.5
        result = staged(public.encrypt(data, encoding="slots").with_keys(keys), W)
        # Of data without a declared bound nothing is known behind a product.
        assert (result.error_rms, result.error_bound, result.bound) == (None, None, None)
        return clear, key.decrypt(result) - clear

    def rms(errors):
        return np.sqrt(np.mean(errors**2))

    clear, errors = errors_on(data, key.public_key())
    stated, bound = trace.result.error_rms, trace.result.error_bound
    assert stated / 2 < rms(errors) < 2 * stated
    # A row of the product is largest where all terms of it are.
    row = np.argmax(np.abs(W).sum(axis=1))
    worst = np.stack([errors_on(np.sign(W[row])[:, np.newaxis] * np.ones(shape), key.public_key())[1] for _ in range(8)])
    assert max(np.abs(errors).max(), np.abs(worst).max()) <= bound < 30 * largest_rms(worst[:, row])
    assert np.max(np.abs(clear)) <= trace.result.bound < 100
    # The inputs carry bounds as well, and larger numbers have larger ones.
    assert trace.inputs[0].bound == 1.0
    assert 0 < trace.inputs[0].error_bound < bound
    larger = cl.plans.trace(lambda x: staged(x, W), shape, params=params, encoding="slots", bound=10.0).result
    assert larger.error_bound > bound
    assert larger.bound > trace.result.bound
    # With a declared bound data say what the dry run says.
    again = key.public_key().encrypt(data, encoding="slots", bound=1.0).with_keys(key.evaluation_keys(trace.needs))
    same = staged(again, W)
    assert same.bound == trace.result.bound
    np.testing.assert_allclose([same.error_rms, same.error_bound], [stated, bound], rtol=0.05)


def test_errors_without_a_bound_on_the_numbers_are_unknown_and_bounds_beyond_a_domain_are_refused():
    params = cl.Params.preset("insecure_deep")
    polynomial = cl.plans.Polynomial([0.0, 1.0, 0.5])
    unknown = cl.plans.trace(lambda x, y: polynomial(x) + y, (8,), (8,), params=params)
    assert unknown.result.bound is None
    assert unknown.seconds > 0
    within = cl.plans.trace(polynomial, (8,), params=params, bound=1.0).result
    assert 0 < within.error_rms < within.error_bound < 1e-6
    # Powers of larger numbers are what they are, and an approximation is refused outside of its domain.
    beyond = cl.plans.trace(polynomial, (8,), params=params, bound=2.0).result
    assert 4.0 <= beyond.bound <= 4.2
    fit = cl.plans.Polynomial.fit(np.cos, 5)
    with pytest.raises(cl.errors.DataError, match="from -1 to 1: give a domain from -2 to 2"):
        cl.plans.trace(fit, (8,), params=params, bound=2.0)
    # Unbounded numbers times zero are zero.
    for zero in (0, np.zeros(8)):
        nothing = cl.plans.trace(lambda x, zero=zero: polynomial(x) * zero, (8,), params=params).result
        assert nothing.bound == 0.0
        assert nothing.error_bound is None or nothing.error_bound >= 0
    turned = cl.plans.trace(lambda x: (x * 1j).rescale(), (8,), params=params, bound=1.0, is_complex=True, level=2, scale=2.0**35).result
    assert 0 < turned.error_bound < 1e-3


@pytest.mark.parametrize("bound", [0, -1.0, np.inf, np.nan])
def test_bounds_that_are_none_are_refused(bound):
    with pytest.raises(cl.errors.DataError, match="the bound on the numbers"):
        cl.plans.trace(lambda x: x, (8,), params=cl.Params.preset("insecure_tiny"), bound=bound)


def test_costs_as_text_have_a_line_for_each_stage():
    trace = cl.plans.trace(lambda x: staged(x, W), (3, 8), params=cl.Params.preset("insecure_small"), encoding="slots")
    head, *lines = trace.explain().splitlines()
    assert head.split() == ["stage", "milliseconds", "transforms", "Hadamard", "products", "multiply-adds", "MiB", "of", "keys"]
    assert [line.split()[0] for line in lines[:5]] == ["matrix", "square", "square/turn", "operations", "all"]
    _, milliseconds, *counts, mib = lines[4].split()
    assert [int(count) for count in counts] == [trace.transforms, trace.hadamard_products, trace.multiply_adds]
    assert float(milliseconds) == pytest.approx(trace.seconds * 1e3, abs=1e-3)
    assert float(mib) == pytest.approx(trace.key_bytes / 2**20, abs=0.01)
    assert f"{trace.peak_bytes / 2**20:.2f} MiB at once" in lines[5]


def test_stages_on_ciphertexts_change_nothing_and_close_where_a_stage_fails(rng):
    params = cl.Params.preset("insecure_tiny")
    key = cl.SecretKey.generate(params)
    x = key.encrypt(rng.normal(size=8))
    with x.stage("sum") as nothing:
        y = x + x
    assert nothing is None
    assert np.allclose(key.decrypt(y), 2 * key.decrypt(x), atol=1e-6)

    def failing(x):
        with pytest.raises(ZeroDivisionError), x.stage("failing"):
            x / 0
        return x + 1

    assert [stage.name for stage in cl.plans.trace(failing, (8,), params=params).stages] == ["operations"]
    with pytest.raises(TypeError):
        x.stage(3)


def test_arrays_have_options_of_their_own(rng):
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    weights = rng.uniform(-1, 1, 5)

    def residual(x, labels):
        return x @ weights - labels

    places = {"encoding": "slots", "lanes": "most"}
    # Rows share polynomials, and their scores are in all slots of a row: labels that are not are brought to them.
    assert cl.plans.trace(residual, (9, 5), (9,), params=params, **places).needs.rotations
    labels = cl.Input((9,), copies=8, level=3)
    found = cl.plans.trace(residual, (9, 5), labels, params=params, bound=1.0, **places)
    assert [array.level for array in found.inputs] == [params.max_level, 3]
    assert [array.bound for array in found.inputs] == [1.0, 1.0]
    keys = key.keys_for(residual, (9, 5), labels, **places)
    table, truth = rng.uniform(-1, 1, (9, 5)), rng.uniform(0, 1, 9)
    x, y = key.encrypt(table, **places).with_keys(keys), key.encrypt(truth, copies=8, level=3, **places)
    result = residual(x, y)
    assert (result.level, result.layout) == (found.result.level, found.result.layout)
    np.testing.assert_allclose(key.decrypt(result), table @ weights - truth, atol=1e-4)


def test_options_of_an_array_go_before_those_of_all():
    params = cl.Params.preset("insecure_small")
    own = {"encoding": "coefficients", "lanes": None, "bound": 4.0, "level": 1}, {"is_complex": True, "scale": 2.0**30}
    common = {"encoding": "slots", "lanes": "most", "bound": 1.0, "level": 2}
    found = cl.plans.trace(lambda x, y, z: x, (3, 5), *(cl.Input((3, 5), **options) for options in own), params=params, **common)
    assert [array.encoding for array in found.inputs] == ["slots", "coefficients", "slots"]
    assert [array.level for array in found.inputs] == [2, 1, 2]
    assert [array.is_complex for array in found.inputs] == [False, False, True]
    assert [array.bound for array in found.inputs] == [1.0, 4.0, 1.0]
    assert found.inputs[2].scale == 2.0**30 != found.inputs[0].scale
    assert [array.layout.lanes > 1 for array in found.inputs] == [True, False, True]


def test_inputs_are_shapes():
    shape = cl.Input([np.int64(3), 5], level=2)
    assert (len(shape), tuple(shape), shape[0], shape[1:], shape.shape, shape.options) == (2, (3, 5), 3, (5,), (3, 5), {"level": 2})
    assert repr(shape) == "Input((3, 5), level=2)"
    assert shape == cl.Input((3, 5), level=2) != cl.Input((3, 5))
    with pytest.raises(TypeError, match="`lane` is no option of a single array: use encoding, level"):
        cl.Input((3,), lane=4)
    with pytest.raises(TypeError, match="`params`"):
        cl.Input((3,), params=cl.Params.preset("insecure_tiny"))
    found = cl.plans.trace(lambda x, y: x + y, (3,), cl.Input((3,), level=0), params=cl.Params.preset("n13"))
    assert [array.level for array in found.inputs] == [found.inputs[0].params.max_level, 0]
