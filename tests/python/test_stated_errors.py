"""Errors are near what is stated, and below their bounds: products, reductions, polynomials, plain factors and bootstraps."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import largest_rms
from programs import SLOTS, WEIGHTS

import clathrate as cl


@pytest.fixture(scope="module")
def deep():
    params = cl.Params.preset("insecure_deep")
    return params, cl.SecretKey.generate(params)


PROGRAMS = {
    "product": (lambda x, y: x * y, 2, (300,), {}),
    "power": (lambda x: x**4, 1, (300,), {}),
    "sum of products": (lambda x, y: x * y + 0.5 * x - y, 2, (300,), {}),
    "differences from the mean": (lambda x: x - x.mean(), 1, (200,), {}),
    "selection": (lambda x: x[10:200] * 2.0, 1, (300,), {}),
    "plain matrix": (lambda x: WEIGHTS @ x, 1, (6, 50), {}),
    "columns": (lambda x: x.var(axis=0), 1, (60, 20), {"encoding": "slots", "lanes": "most"}),
    "variances of rows": (lambda x: x.var(axis=1), 1, (64, 20), {"encoding": "slots", "lanes": "most"}),
    "variances of full rows": (lambda x: x.var(axis=1), 1, (16, 64), {"encoding": "slots", "lanes": "most"}),
    "variance": (lambda x: x.var(), 1, (300,), {}),
    "variance of few numbers": (lambda x: x.var(), 1, (100,), {}),
    "variance of half a polynomial": (lambda x: x.var(), 1, (128,), {}),
    "variance written by hand": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (300,), {}),
    "the same, of few numbers": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (10,), {}),
    "the same, of a polynomial": (lambda x: ((x - x.mean()) ** 2).mean(), 1, (256,), {}),
    "variance of a table": (lambda x: x.var(), 1, (6, 50), SLOTS),
    "variances of a table's columns": (lambda x: ((x - x.mean(axis=0)) ** 2).mean(axis=0), 1, (40, 31), SLOTS),
    "variance of means": (lambda x: x.mean(axis=0).var(), 1, (10, 100), {}),
    "rows": (lambda x: (x * x).sum(axis=1), 1, (100, 5), {"encoding": "slots", "lanes": "most"}),
    # Its error is the difference from the function, so it has that of the approximation.
    "function": (lambda x: cl.functions.sigmoid(8 * x) if isinstance(x, cl.Ciphertext) else 1 / (1 + np.exp(-8 * x)), 1, (300,), {}),
    "function of two": (lambda x, y: cl.functions.tanh(x + y) if isinstance(x, cl.Ciphertext) else np.tanh(x + y), 2, (300,), {}),
    "precise function": (lambda x: cl.functions.exp(x, error=1e-7) if isinstance(x, cl.Ciphertext) else np.exp(x), 1, (300,), {}),
    "polynomial": (cl.plans.Polynomial.fit(lambda t: 1 / (1 + np.exp(-8 * t)), 17), 1, (300,), {}),
    "polynomial of high degree": (cl.plans.Polynomial.fit(lambda t: np.sin(6 * t) * np.exp(t), 31), 1, (300,), {}),
    "joined": (lambda x: np.concatenate([x[:50], x[100:150]]), 1, (300,), {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_are_within_twice_what_is_stated_and_below_their_bounds(deep, name, full):
    params, _ = deep
    f, count, shape, options = PROGRAMS[name]
    found = cl.plans.trace(f, *[shape] * count, params=params, bound=1.0, **options)

    def rms(errors):
        return np.sqrt(np.mean(np.square(errors)))

    # Some dozen errors of each kind, under four keys: errors that are products of errors depend on the key, and large ones are few.
    times = max(4, (60 if full else 30) // math.prod(found.result.shape))
    few = max(4, (60 if full else 20) // math.prod(found.result.shape))
    rng = np.random.default_rng(11)
    # Which numbers are the worst depends on the program: large ones of one sign or of both, or small ones.
    signs = np.resize([1.0, -1.0], shape)
    kinds = [[-np.ones(shape), np.ones(shape)], [signs, -signs], [np.zeros(shape)] * 2]
    if name == "columns":
        # Rows that share polynomials: the means' noise differs from lane to lane.
        kinds.append([np.where(np.arange(60) % 8 < 4, 1.0, -1.0)[:, np.newaxis] * np.ones(shape)])
    # The noise of the mean, whose sum is by rotations by halves, differs the most between the halves.
    kinds.append([np.where(np.arange(shape[-1]) < shape[-1] / 2, 1.0, -1.0) * np.ones(shape)] * 2)
    typical, worst, alone = [], [[] for _ in kinds], []  # a list of errors for each key
    for key in (cl.SecretKey.generate(params) for _ in range(4)):
        keys, public = key.evaluation_keys(found.needs), key.public_key()

        def errors(*arrays, key=key, keys=keys, public=public):
            result = f(*(public.encrypt(array, bound=1.0, **options).with_keys(keys) for array in arrays))
            assert result.bound == pytest.approx(found.result.bound)
            return key.decrypt(result) - f(*arrays)

        typical += [errors(*(rng.uniform(-1, 1, shape) for _ in range(count))) for _ in range(times)]
        for some, arrays in zip(worst, kinds, strict=True):
            some.append(np.stack([errors(*arrays[:count]) for _ in range(few)]))
        if found.result.shape == shape:
            # Or one number against all others, where it is.
            places = (np.arange(math.prod(shape)).reshape(shape) == place for place in range(50))
            alone.append(np.stack([errors(*[np.where(there, 1.0, -1.0)] * count)[there] for there in places]))
    assert found.result.error_rms / 2 < rms(typical) < 2 * found.result.error_rms
    assert max(np.abs(some).max() for some in [typical, *worst]) <= found.result.error_bound
    assert found.result.error_bound <= 30 * max(largest_rms(some) for some in [*worst, alone] if len(some))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork processes")
def test_forked_processes_give_their_arrays_names_of_their_own(deep, tmp_path):
    """What two workers encrypt with one public key has two errors."""
    params, key = deep
    key.public_key().save(tmp_path / "key.clat")
    program = (
        "import os, sys\nimport numpy as np\nimport clathrate as cl\n"
        "params = cl.Params.preset('insecure_deep')\npublic = cl.PublicKey.load(sys.argv[1] + '/key.clat', params)\n"
        "public.encrypt(np.zeros(200), bound=1.0)\n"
        "for worker in 'ab':\n    if (child := os.fork()) == 0:\n"
        "        public.encrypt(np.zeros(200), bound=1.0).save(f'{sys.argv[1]}/{worker}.clat')\n        os._exit(0)\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, str(tmp_path)], check=True)
    x, y = (cl.Ciphertext.load(tmp_path / f"{worker}.clat", params) for worker in "ab")
    errors = key.decrypt(x - y)
    assert np.abs(errors).max() <= (x - y).error_bound
    assert (x - y).error_rms == pytest.approx(math.sqrt(2) * x.error_rms)


@pytest.mark.parametrize("name", ["insecure_dpad", "insecure_deep"])
def test_dry_runs_state_no_smaller_errors_than_runs_with_the_keys_that_they_ask_for(name):
    """Keys for low levels alone have larger errors than keys for all levels, on some chains."""
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    public = key.public_key()
    for level in (3, 4, 6):
        for f in (lambda x: x.sum(), lambda x: x - x.mean(), lambda x: x.rotate(1) + x, lambda x: (x * x).sum()):
            found = cl.plans.trace(f, (100,), params=params, bound=1.0, encoding="slots", level=level)
            x = public.encrypt(np.ones(100), bound=1.0, encoding="slots", level=level)
            result = f(x.with_keys(key.evaluation_keys(found.needs)))
            for own, stated in ((result.error_rms, found.result.error_rms), (result.error_bound, found.result.error_bound)):
                assert 0.5 * stated <= own <= stated * (1 + 1e-6)


@pytest.mark.parametrize("count", [100, 200, 300])
def test_smaller_noise_has_no_larger_bound(deep, count):
    """A dry run takes the noise of the public key; under the secret key others are the errors that matter most."""
    params, key = deep

    def of_sum(x):
        z = x + x.sum()
        return (z - z.mean()).var()

    def of_variance(x):
        z = x * x.var()
        return (z - z.mean()).var()

    for f in (of_sum, of_variance):
        found = cl.plans.trace(f, (count,), params=params, bound=1.0, encoding="slots")
        keys = key.evaluation_keys(found.needs)
        for encrypted in (key, key.public_key()):
            result = f(encrypted.encrypt(np.linspace(-1, 1, count), bound=1.0, encoding="slots").with_keys(keys))
            assert result.error_rms <= found.result.error_rms * 1.001
            assert result.error_bound <= found.result.error_bound * 1.001


AFTER_BOOTSTRAPS = {
    "numbers": lambda x: x,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "variance": lambda x: x.var(),
    "mean of squares": lambda x: (x**2).mean(),
    "cubic": lambda x: x**3 - x,
}


@pytest.mark.parametrize("bound", [1.0, 0.3])
@pytest.mark.parametrize("name", AFTER_BOOTSTRAPS)
def test_bootstrapped_numbers_and_their_sums_have_the_errors_that_are_stated(name, bound):
    """A part of the modular reduction's error follows from the number, so it adds up in sums and in products with the numbers."""
    params, g = cl.Params.preset("insecure_boot"), AFTER_BOOTSTRAPS[name]

    def f(x):
        return g(x.bootstrap())

    found = cl.plans.trace(f, (300,), params=params, bound=bound)
    rng, typical, worst = np.random.default_rng(5), [], []
    for key in (cl.SecretKey.generate(params) for _ in range(3)):
        keys, public = key.evaluation_keys(found.needs), key.public_key()

        def error(x, key=key, keys=keys, public=public):
            result = f(public.encrypt(x, bound=bound).with_keys(keys, bootstrap_below=found.bootstrap_below))
            return key.decrypt(result) - g(x)

        typical += [error(rng.uniform(-bound, bound, 300)) for _ in range(4)]
        worst += [error(np.full(300, share * bound)) for share in (1.0, -1.0, 0.7, 0.0)] + [error(np.resize([bound, -bound], 300))]
    assert found.result.error_rms / 2 < np.sqrt(np.mean(np.square(typical))) < 2 * found.result.error_rms
    assert max(np.abs(typical).max(), np.abs(worst).max()) <= found.result.error_bound


def test_few_bootstrapped_numbers_have_small_errors_in_all_slots_that_repeat_them(full):
    """Two rounds correct numbers: what differs between the slots that repeat one must be small, too."""
    params = cl.Params.preset("insecure_boot_last")
    key = cl.SecretKey.generate(params)
    rng = np.random.default_rng(4)

    def boot(x):
        return x if isinstance(x, np.ndarray) else x.bootstrap()

    def centred_twice(x):
        for _ in range(2):
            x = x - 0.3 * x.mean()
        return x

    programs = [
        (lambda m, z: boot(m) + z, [((), 1.0), ((64,), 1e-9)]),
        (lambda c, y: boot(c) * y, [((20, 1), 1.0), ((20, 16), 1.0)]),
        (centred_twice, [((64,), 1.0)]),
    ]
    for f, arrays in programs:
        found = cl.plans.trace(f, *(cl.Input(shape, bound=bound, encoding="slots") for shape, bound in arrays), params=params)
        keys = key.evaluation_keys(found.needs)
        for _ in range(4 if full else 1):
            clear = [np.array(rng.uniform(-bound, bound, shape)) for shape, bound in arrays]
            encrypted = [key.encrypt(x, bound=bound, encoding="slots") for x, (_, bound) in zip(clear, arrays, strict=True)]
            result = f(*(x.with_keys(keys, bootstrap_below=found.bootstrap_below) for x in encrypted))
            assert np.abs(key.decrypt(result) - f(*clear)).max() <= result.error_bound


POLYNOMIALS = {
    "difference of powers": lambda x: x**4 - x**2,
    "cubic": lambda x: (x**3 - x) * 0.5,
    "fifth power": lambda x: x**5,
    "all powers": lambda x: x**3 + x**2 - x,
    "logistic": lambda x: 3.5 * x * (1 - x),
    "difference of squares": lambda x: (1 - x) * (1 + x),
    "Horner": lambda x: ((2 * x + 1) * x - 1) * x,
    "Chebyshev": lambda x: 16 * x**5 - 20 * x**3 + 5 * x,
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials_written_by_hand_have_the_errors_that_are_stated(deep, name):
    """The error of `x**3 - x` is `3 x**2 - 1` times that of `x`: powers of one array make each other's errors smaller or larger."""
    params, key = deep
    f, shape = POLYNOMIALS[name], (400,)
    keys, publics = key.evaluation_keys(cl.plans.trace(f, shape, params=params, bound=2.0).needs), [key.public_key() for _ in range(4)]
    for bound in (1.0, 2.0):
        found = cl.plans.trace(f, shape, params=params, bound=bound)

        def errors(*arrays, bound=bound):
            encrypted = [[public.encrypt(x, bound=bound).with_keys(keys) for public in publics] for x in arrays]
            return np.stack([np.concatenate([key.decrypt(f(ct)) - f(x) for ct in own]) for x, own in zip(arrays, encrypted, strict=True)])

        rng = np.random.default_rng(7)
        typical = errors(*(rng.uniform(-bound, bound, shape) for _ in range(4)))
        assert 0.7 < np.sqrt(np.mean(typical**2)) / found.result.error_rms < 1.4
        # Which numbers are the worst depends on the polynomial.
        alike = errors(*(np.full(shape, value) for value in np.linspace(-bound, bound, 9)))
        assert max(np.abs(typical).max(), np.abs(alike).max()) <= found.result.error_bound
        assert found.result.error_bound <= 30 * max(largest_rms(np.split(own, len(publics))) for own in alike)


def test_polynomials_of_complex_numbers_have_errors_under_their_bound(deep):
    """The error of `16 x**5 - 20 x**3 + 5 x` is 145 times that of `x` at 1j, and 25 times at most on the real line."""
    params, key = deep
    x, f = np.full(400, 1j), POLYNOMIALS["Chebyshev"]
    found = cl.plans.trace(f, x.shape, params=params, bound=1.0, is_complex=True)
    keys = key.evaluation_keys(found.needs)
    result = f(key.public_key().encrypt(x, bound=1.0).with_keys(keys))
    errors = np.abs(key.decrypt(result) - f(x))
    assert result.error_bound == pytest.approx(found.result.error_bound)
    assert 0.03 * result.error_bound < np.sqrt(np.mean(errors**2))
    assert errors.max() <= result.error_bound


BOUNDED = {
    "a number": (lambda x: x * 0.001, None),
    "a quotient": (lambda x: x / 3, None),
    "a mean": (lambda x: x.mean(), None),
    "lower levels": (lambda x: x.drop_to_level(1), lambda v: v),
    "running sums": (np.cumsum, None),
    "a slice": (lambda x: x[1:2], None),
    "a product and a sum": (lambda x: x * 1.7 - 0.3, None),
}


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize(("shape", "bound"), [((2,), 1e5), ((3,), 1e6), ((40,), 4e15), ((300,), 10.0)])
def test_errors_of_plain_factors_are_within_the_bound_for_rows_of_any_length(name, shape, bound, rng):
    """Numbers repeat in the slots of a polynomial, and what is wrong with a factor is wrong in all of them."""
    function, plain = BOUNDED[name]
    params = cl.Params.preset("insecure_small")
    key = cl.SecretKey.generate(params)
    options = {"encoding": "slots", "level": 3, "bound": bound}
    found = cl.plans.trace(function, shape, params=params, **options)
    keys = key.evaluation_keys(found.needs)
    errors = []
    for _ in range(6):
        numbers = rng.choice([-bound, bound], shape)
        result = function(key.encrypt(numbers, **options).with_keys(keys))
        exact = (plain or function)(numbers)
        assert np.abs(key.decrypt(result) - exact).max() <= result.error_bound
        assert result.error_bound <= found.result.error_bound
        errors.append(np.ravel(key.decrypt(result) - exact))
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 6 * result.error_rms


def test_whole_matrices_have_no_rounding(rng):
    params = cl.Params.preset("insecure_small")
    for options in ({"encoding": "coefficients"}, {"encoding": "slots"}):
        for function in (lambda x: np.ones((2, 5), int) @ x, lambda x: np.cumsum(x, axis=0)):
            found = cl.plans.trace(function, (5, 8), params=params, bound=1.0, **options)
            assert found.result.error_rms < 1e-9
    assert cl.Params.for_circuit(lambda x: np.cumsum(x, axis=0), (5, 8), error=1e-3, bound=1.0).trace.result.error_bound < 1e-3


def test_slices_and_joins_of_slots_count_what_masks_leave(rng):
    params = cl.Params.preset("insecure_deep")
    key = cl.SecretKey.generate(params)
    options = {"encoding": "slots", "bound": 100.0}
    slices = lambda x: x[7:8]  # noqa: E731
    keys = key.keys_for(slices, (200,), **options) | key.keys_for(lambda *parts: cl.functions.hstack(parts), *[(16,)] * 12, **options)
    for _ in range(20):
        numbers = rng.choice([-100.0, 100.0], (12, 16))
        x = key.encrypt(rng.choice([-100.0, 100.0], 200), **options).with_keys(keys)
        parts = cl.functions.hstack([key.encrypt(row, **options).with_keys(keys) for row in numbers])
        for result, exact in ((slices(x), key.decrypt(x).round()[7:8]), (parts, numbers.ravel())):
            assert np.abs(key.decrypt(result) - exact).max() <= result.error_bound
