"""Whole numbers that no machine word and no double holds: refused like any other number out of range, never with an OverflowError."""

from __future__ import annotations

import math

import numpy as np
import pytest

import clathrate as cl

HUGE = 10**400
SPEC = {"degree": 64, "steps": [[30, 30], 40], "special": [45], "log2_scale": 40, "insecure": True}


def params(**change: object) -> cl.Params:
    return cl.Params(**{**SPEC, **change})


# What is refused, by the name that its message must have.
PARAMS = [
    ("degree", lambda huge: params(degree=huge)),
    ("rank", lambda huge: params(rank=huge)),
    ("a prime of", lambda huge: params(steps=[[30, 30], huge])),
    ("a prime of", lambda huge: params(special=[huge])),
    ("log2_scale", lambda huge: params(log2_scale=huge)),
    ("secret_weight", lambda huge: params(secret_weight=huge)),
    ("digit_bits", lambda huge: params(digit_bits=huge)),
    ("temporary_rank", lambda huge: params(temporary_rank=huge, temporary=[45])),
    ("threads", lambda huge: cl.Runtime(threads=huge)),
    ("rank", lambda huge: params().at_rank(huge)),
    ("degree", lambda huge: params().relative(degree=huge)),
    ("level", lambda huge: params().scale(huge)),
    ("level", lambda huge: params().switching_report(huge)),
]

NEEDS = [
    ("rotation", lambda huge: cl.keys.Needs(rotations=[huge])),
    (r"shape.*2\^48 entries|an axis", lambda huge: cl.plans.trace(lambda x: x, (huge,), params=params())),
    ("scale", lambda huge: cl.plans.trace(lambda x: x, (4,), params=params(), scale=huge)),
    ("degree", lambda huge: cl.plans.Polynomial.fit(math.exp, huge)),
    ("domain|interval", lambda huge: cl.plans.Polynomial([1.0, 2.0], domain=(0, huge))),
    ("domain|interval", lambda huge: cl.plans.Polynomial([1.0, 2.0], domain=(-huge, 0))),
    ("double precision", lambda huge: cl.plans.Polynomial([1.0, huge])),
    ("double precision", lambda huge: cl.plans.Polynomial([1.0, 2.0])(huge)),
    ("scale", lambda huge: cl.plans.Polynomial([1.0, 2.0]).plan(params(), scale=huge)),
]

CIPHERTEXTS = [
    ("scale", lambda key, ct, huge: key.encrypt([1.0], scale=huge)),
    ("level", lambda key, ct, huge: key.encrypt([1.0], level=huge)),
    ("double precision", lambda key, ct, huge: key.encrypt(huge)),
    ("double precision", lambda key, ct, huge: key.encrypt([1, huge])),
    ("double precision", lambda key, ct, huge: key.encrypt([[1, 2.5], [huge, 4]])),
    ("double precision", lambda key, ct, huge: ct * huge),
    ("double precision", lambda key, ct, huge: huge * ct),
    ("double precision", lambda key, ct, huge: ct + huge),
    ("double precision", lambda key, ct, huge: huge - ct),
    ("double precision", lambda key, ct, huge: ct / huge),
    ("double precision", lambda key, ct, huge: ct - [[huge]]),
    ("double precision", lambda key, ct, huge: ct.matmul([[1, huge]])),
    ("weight_scale", lambda key, ct, huge: ct.matmul([[1, 2]], weight_scale=huge)),
    ("flood_bits", lambda key, ct, huge: key.decrypt_to_share(ct, huge, honest_evaluator=True)),
    ("error_bound", lambda key, ct, huge: ct.flood_bits(huge)),
    ("queries|flooding", lambda key, ct, huge: ct.flood_bits(2.0**-20, queries=huge)),
    ("statistical_bits", lambda key, ct, huge: ct.flood_bits(2.0**-20, statistical_bits=huge)),
    ("rotation", lambda key, ct, huge: ct.rotate(huge)),
    ("rotation", lambda key, ct, huge: ct.rotate_many([1, huge])),
    ("level", lambda key, ct, huge: ct.drop_to_level(huge)),
    ("rank", lambda key, ct, huge: ct.to_rank(huge)),
    ("rank", lambda key, ct, huge: ct.to_mlwe(huge)),
]


def refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert isinstance(caught.value, cl.ClathrateError), repr(caught.value)


@pytest.mark.parametrize("huge", [HUGE, -HUGE], ids=["huge", "-huge"])
@pytest.mark.parametrize(("message", "call"), PARAMS + NEEDS)
def test_huge_arguments_are_refused_by_name(message, call, huge):
    refused(lambda: call(huge), message)


@pytest.mark.parametrize("huge", [HUGE, -HUGE], ids=["huge", "-huge"])
@pytest.mark.parametrize(("message", "call"), CIPHERTEXTS)
def test_huge_arguments_of_ciphertexts_are_refused_by_name(flat, message, call, huge):
    ct = flat.key.encrypt([[1.0], [2.0]])
    refused(lambda: call(flat.key, ct, huge), message)


def test_functions_with_huge_values_are_refused():
    refused(lambda: cl.plans.Polynomial.fit(lambda x: HUGE if float(x) > 0 else 0, 3), "inf|finite")
    refused(lambda: cl.plans.Polynomial.fit(lambda x: [HUGE] * len(x), 3), "double precision")


def test_memory_limits_beyond_doubles_are_no_limits():
    for option in ("key_expansion", "key_cache_mib", "plaintext_cache_mib", "table_mib"):
        assert cl.Runtime(**{option: HUGE}) == cl.Runtime(**{option: math.inf})
        limited = params(runtime=cl.Runtime(**{option: HUGE}))
        assert limited.switching_report().to_dict() == params(runtime=cl.Runtime(**{option: math.inf})).switching_report().to_dict()
        refused(lambda option=option: cl.Runtime(**{option: -HUGE}), option)


def test_lists_of_integers_beyond_64_bits_are_numbers(flat):
    data = [[2**66, 1.5], [-(2**65), True]]
    expected = np.array([[float(entry) for entry in row] for row in data])
    decrypted = flat.key.decrypt(flat.key.encrypt(data, scale=2.0**12))
    # The noise, a few bits over the scale, and the last bit of doubles near 2^66.
    assert np.max(np.abs(decrypted - expected)) <= 2.0**14
    assert cl.plans.Polynomial([2**70, 0, 3]).coefficients.tolist() == [2.0**70, 0.0, 3.0]
    for data in ([2**70, "1"], [2**70, None], [2**70, 1j]):
        with pytest.raises(TypeError):
            flat.key.encrypt(data)
