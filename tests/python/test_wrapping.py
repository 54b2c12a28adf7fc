"""The classes of the package in front of those of the extension."""

from __future__ import annotations

import inspect
import pickle
import sys
import timeit

import numpy as np
import pytest
from conftest import Party

import clathrate as cl
from clathrate import _native
from clathrate._wrapping import _FRONTS

# Dry runs give figures to the package alone.
WITHOUT_FRONT = {"FunctionRecording", "PlainSymbol", "RecordedFunction", "Recording", "Stage"}


def test_each_class_of_the_extension_has_one_in_front_of_it():
    natives = {thing for thing in vars(_native).values() if inspect.isclass(thing)}
    assert {native.__name__ for native in natives - set(_FRONTS)} == WITHOUT_FRONT
    for native, front in _FRONTS.items():
        assert (front.__name__, native.__module__) == (native.__name__, "clathrate._native")
        # Where a class says it is, it is found.
        assert getattr(sys.modules[front.__module__], front.__name__) is front


def test_classes_have_no_attributes_and_no_heirs():
    for front in _FRONTS.values():
        assert not hasattr(object.__new__(front), "__dict__"), front
        with pytest.raises(TypeError, match="is not an acceptable base type"):
            type("Heir", (front,), {})


def test_what_methods_alone_make_is_not_constructed():
    for made in (cl.Ciphertext, cl.SecretKey, cl.types.Layout, cl.types.Explanation, cl.types.Comparison):
        with pytest.raises(TypeError, match=f"cannot create '{made.__module__}.{made.__name__}' instances"):
            made()


def objects(small: Party) -> list[object]:
    boot = cl.Params.preset("insecure_boot")
    ct = small.encrypt(np.ones((2, 3)), encoding="slots")
    matrix = cl.plans.MatrixPlan(small.params, np.eye(4), 5)
    plans = [
        cl.plans.LinearTransform(np.eye(4)).plan(small.params),
        cl.plans.Polynomial([1.0, 2.0]).plan(small.params),
        cl.plans.BootstrapPlan(boot),
        cl.plans.MamboPlan(boot, np.eye(8) / 2, 64),
        cl.plans.PackingPlan(small.params),
        cl.plans.SamplesPlan(boot, 4),
        matrix,
    ]
    keys = [small.key, small.keys, small.key.public_key(), small.key.authentication_key(), cl.clients.LightClient(small.key)]
    read = [cl.from_bytes(ct.to_bytes(), small.params), pickle.loads(pickle.dumps(ct))]
    return [small.params, small.params.runtime, ct, ct.T, ct.layout, cl.keys.Needs(relinearise=True), *plans, *keys, *read]


def test_no_object_of_the_extension_is_given_away(small: Party):
    for thing in objects(small):
        for name, _ in inspect.getmembers(type(thing), lambda member: isinstance(member, property)):
            value = getattr(thing, name)
            for part in value if isinstance(value, list | tuple) else [value]:
                assert type(part).__module__ != "clathrate._native", (thing, name)
        assert getattr(sys.modules[type(thing).__module__], type(thing).__name__) is type(thing), thing


def test_parameters_and_keys_are_one_object_wherever_they_are_shared(small: Party):
    ct = small.encrypt([1.0])
    assert ct.params is small.params
    assert (ct + 1).params is small.params
    assert (ct * ct).keys is small.keys
    assert small.keys.params is small.params


def test_a_call_takes_microseconds_more_than_that_of_the_extension(small: Party):
    ct = small.encrypt([1.0])
    native, count = ct._native, 2000
    for call, bare in ((lambda: ct.level, lambda: native.level), (lambda: ct.params, lambda: native.params)):
        front, back = (min(timeit.repeat(each, number=count, repeat=5)) / count for each in (call, bare))
        assert front - back < 2e-5
