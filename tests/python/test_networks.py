"""Networks as programs: what the search chooses for functions that are deep."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

import clathrate as cl
from clathrate._clear import Clear

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench"))
import networks


@pytest.fixture(scope="module")
def block():
    """A small block of a transformer, its program, and an input."""
    function = networks.transformer(8, 16, 2, 32)
    return (
        function,
        cl.compile(function, cl.Input((8, 16), bound=4.0), passes=[]),
        np.random.default_rng(1).normal(size=(8, 16)).clip(-4, 4),
    )


def test_a_block_of_a_transformer_bootstraps_where_that_takes_less_time(block):
    _, program, x = block
    # It would run without bootstraps, with 50 levels and larger keys.
    assert program.bootstraps > 0
    assert program.params.max_level < 40
    assert f"  bootstraps  {program.bootstraps} polynomials" in program.explain()
    checked = program.check(x)
    assert checked.outside == ()
    assert checked.difference < 0.1
    assert np.abs(clear(program, x)).max() > 1.0


def test_rows_that_get_longer_share_polynomials():
    W = np.random.default_rng(2).normal(size=(16, 64)) / 8
    params = cl.Params.preset("n13")
    owner = cl.SecretKey.generate(params)
    x = np.random.default_rng(3).uniform(-1, 1, (16, 16))
    encrypted = owner.encrypt(x, encoding="slots", lanes="most", bound=1.0)
    assert encrypted.layout.bundles == 1
    keys = owner.keys_for(lambda x: x @ W, x.shape, encoding="slots", lanes="most")
    y = encrypted.with_keys(keys) @ W
    assert y.layout.bundles == 1
    assert np.abs(owner.decrypt(y) - x @ W).max() <= y.error_bound < 1e-3


@pytest.mark.full
def test_a_block_of_a_transformer_runs():
    function = networks.transformer(16, 32, 2, 64)
    program = cl.compile(function, cl.Input((16, 32), bound=4.0))
    x = np.random.default_rng(1).normal(size=(16, 32)).clip(-4, 4)
    checked = program.check(x)
    owner = cl.SecretKey.generate(program)
    y = owner.decrypt(program.run(owner.keys(program), owner.encrypt(program, x)))
    # What differs is the functions' approximations.
    assert abs(np.abs(y - clear(program, x)).max() - checked.difference) < 1e-3


def clear(program, x):
    """What the program's operations give with the functions themselves."""
    values = Clear(program._native, exact=True, plain=[]).values([x])
    (result,) = program._native.parts()[3]
    return values[result]


@pytest.mark.full
def test_a_residual_network_takes_few_bootstraps():
    program = cl.compile(networks.resnet(20), cl.Input((3, 32, 32), bound=1.0))
    # Published ones take 19 to 37.
    assert 0 < program.bootstraps <= 19
    assert program.seconds < 60
