"""Parameters that are chosen for a circuit: chains of its own, presets that bootstrap, and circuits that nothing runs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from conftest import numbers

import clathrate as cl


def test_parameters_for_a_circuit() -> None:
    def circuit(x):
        return (x * x).mean()

    choice = cl.Params.for_circuit(circuit, (1000,), error=1e-4)
    assert choice.params.security_bits >= 128
    assert choice.trace.result.error_bound <= 1e-4
    assert choice.explain().startswith(f"{choice.params.name}: degree {choice.params.degree}")
    key = cl.SecretKey.generate(choice.params)
    data = numbers(1000)
    x = key.encrypt(data).with_keys(key.evaluation_keys(choice.trace.needs))
    assert abs(key.decrypt(circuit(x)) - circuit(data)) < 1e-4
    with pytest.raises(cl.errors.ParamsError, match="no parameters run"):
        cl.Params.for_circuit(circuit, (1000,), error=1e-30)
    with pytest.raises(cl.errors.DataError, match="above 0"):
        cl.Params.for_circuit(circuit, (1000,), error=-1)


def squares(x, times: int):
    for _ in range(times):
        x = x * x
    return x


def products(x, times: int):
    result = x
    for _ in range(times):
        result = result * x
    return result


def test_a_chain_is_built_for_a_circuit() -> None:
    begin = time.monotonic()
    choice = cl.Params.for_circuit(lambda x: squares(x, 12), (1000,), error=1e-6)
    assert time.monotonic() - begin < 60
    assert choice.params.name == "compiled"
    assert choice.params.security_bits >= 128
    assert choice.params.max_level >= 12
    assert choice.trace.result.error_bound <= 1e-6
    assert any("12 levels of" in name for name in choice.candidates)
    assert choice.params.warnings == []
    # More levels than any preset has.
    deep = cl.Params.for_circuit(lambda x: products(x, 50), (1000,)).params
    assert deep.max_level >= 50 > max(cl.Params.preset(name).max_level for name in ("n16", "klss_n16", "level_aware"))
    assert deep.security_bits >= 128


@pytest.mark.parametrize("security", [192, 256])
def test_chains_are_as_secure_as_asked_for_and_compute(security: int) -> None:
    def circuit(x):
        return (x * x).mean()

    choice = cl.Params.for_circuit(circuit, (1000,), error=1e-4, security=security)
    assert choice.params.security_bits >= security
    assert not choice.params.insecure
    assert choice.trace.result.error_bound <= 1e-4
    key = cl.SecretKey.generate(choice.params)
    data = numbers(1000)
    x = key.encrypt(data).with_keys(key.evaluation_keys(choice.trace.needs))
    assert abs(key.decrypt(circuit(x)) - circuit(data)) < 1e-4


def test_places_and_levels_are_not_searched_for() -> None:
    for options in ({"level": 5}, {"copies": 2}, {"capacity": 8}, {"bodies": 2}):
        with pytest.raises(TypeError, match="is no option of a search for parameters"):
            cl.Params.for_circuit(lambda x: x * x, (1000,), **options)
    with pytest.raises(TypeError, match="`level` is no option"):
        cl.Params.for_circuit(lambda x, y: x + y, (10,), cl.Input((10,), level=0))


@pytest.mark.parametrize("security", [-1, 257, np.nan, np.inf])
def test_securities_outside_of_the_table_are_refused(security: float) -> None:
    with pytest.raises(cl.errors.DataError, match=r"`security` is .*: use a number of bits from 0 to 256"):
        cl.Params.for_circuit(lambda x: x + 1, (3,), security=security)


def test_impossible_circuits_tell_the_nearest_reason() -> None:
    with pytest.raises(cl.errors.ParamsError, match=r"the closest: the error may be .*, more than 1e-30: allow an error of") as caught:
        cl.Params.for_circuit(lambda x: (x * x).mean(), (1000,), error=1e-30)
    allowed = float(str(caught.value).split("allow an error of ")[1].split()[0])
    # What it says works.
    assert cl.Params.for_circuit(lambda x: (x * x).mean(), (1000,), error=allowed).trace.result.error_bound <= allowed
    with pytest.raises(cl.errors.ParamsError, match=r"more than 1e-12: allow an error of"):
        cl.Params.for_circuit(lambda x: products(x, 80), (1000,), error=1e-12)
    with pytest.raises(
        cl.errors.ParamsError, match=r"degree 65536, \d+ levels of 28 bits, .* bits of modulus, and 192 bits of security allow 11\d\d\b"
    ):
        cl.Params.for_circuit(lambda x: products(x, 45), (1000,), security=192)
    # A polynomial is what it is outside of its interval, too; what approximates a function there is refused.
    cube = cl.plans.Polynomial([0.0, 1.0, 0.0, 1.0])
    assert cl.Params.for_circuit(cube, (1000,), error=1e-3, bound=2.0).trace.result.bound == 10.0
    with pytest.raises(cl.errors.DataError, match=r"numbers may be as large as 2\.0+e0, and the polynomial is made for those from -1 to 1"):
        cl.Params.for_circuit(cl.plans.Polynomial.fit(np.tanh, 7), (1000,), error=1e-3, bound=2.0)


def test_errors_of_arguments_are_no_fault_of_presets() -> None:
    for options in ({"bound": -1.0}, {"encoding": "bits"}):
        with pytest.raises(cl.errors.DataError):
            cl.Params.for_circuit(lambda x: x + 1, (3,), **options)


def test_jobs_of_the_usual_presets_do_not_get_bootstraps():
    choice = cl.Params.for_circuit(lambda x: ((x - x.mean()) ** 2).mean() + 0.5, (1000,), error=1e-6)
    assert not choice.params.name.startswith("boot")
