"""The same computations at secure parameters."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import clathrate as cl

pytestmark = pytest.mark.full


def test_matrix_product_at_the_default_set(rng):
    params = cl.Params.preset("matmul", cl.Runtime(threads=2))
    key = cl.SecretKey.generate(params)
    weights, data = rng.uniform(-1, 1, (256, 256)), rng.uniform(-1, 1, (256, 9000))
    product = (weights @ key.encrypt(data)).rescale()
    # Weights keep 24 bits: rounding errors of 2^-25 / sqrt(3) each, 256 of them, below six standard deviations; fresh noise is smaller.
    assert np.max(np.abs(key.decrypt(product) - weights @ data)) < 6 * 16 * 2.0**-24


@pytest.mark.parametrize("name", ["n13", "n14", "rank3_n13"])
def test_circuit_with_traced_keys_in_full_slots(rng, name):
    params = cl.Params.preset(name)
    assert params.security_bits >= 128

    def circuit(x, y):
        return ((x * y).rescale() * x).rescale().rotate(3) + 0.5 * y.conj()

    shape = (params.slot_count,)
    trace = cl.plans.trace(circuit, shape, shape, params=params)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(trace.needs)
    x, y = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, shape)
    cx, cy = (pickle.loads(pickle.dumps(key.encrypt(v))).with_keys(keys) for v in (x, y))
    assert np.max(np.abs(key.decrypt(circuit(cx, cy)) - (np.roll(x * y * x, -3) + 0.5 * y))) < 1e-5
