"""Every operation of the array layer, on data and on symbols: a dry run accepts and refuses what the run does, and tells what it gives."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import clathrate as cl
from clathrate._recording import Recorder

DRAWS = 12


def layouts(seed: int) -> Iterator[tuple[str, tuple[int, ...], dict[str, Any]]]:
    """Parameter sets, shapes and options of encryption, several polynomials and unusual levels and scales among them."""
    draw = random.Random(seed)
    while True:
        name = draw.choice(["insecure_small", "insecure_deep", "insecure_boot", "insecure_rank2"])
        params = preset(name)
        slots = params.slot_count
        shape = draw.choice([(), (1,), (3,), (8,), (slots + 3,), (1, 6), (4, 4), (5, 3), (6, 1), (2, slots + 5)])
        options: dict[str, Any] = {"encoding": draw.choice(["slots", "slots", "coefficients"])}
        if draw.random() < 0.2:
            options["is_complex"] = True
        if len(shape) == 2 and draw.random() < 0.6:
            options["lanes"] = draw.choice([1, 2, 4, "most"])
        if draw.random() < 0.2:
            options["capacity"] = draw.choice([8, 16, 64])
        if draw.random() < 0.15:
            options["copies"] = draw.choice([2, 4])
        if draw.random() < 0.15:
            options |= {"bodies": 2, "axis": draw.choice(["rows", "chunks"])}
        if draw.random() < 0.1:
            options["order"] = "bit-reversed"
        if draw.random() < 0.3:
            options["level"] = draw.choice([0, 1, 2, params.max_level])
        if draw.random() < 0.2:
            options["scale"] = 2.0 ** draw.choice([24, 29.3, 33])
        yield name, shape, options


@functools.cache
def preset(name: str) -> cl.Params:
    return cl.Params.preset(name)


@functools.cache
def owner(name: str) -> cl.SecretKey:
    return cl.SecretKey.generate(preset(name))


def operations(shape: tuple[int, ...]) -> dict[str, Callable[[Any], Any]]:
    rng = np.random.default_rng(len(shape))
    columns, rows = (shape or (1,))[-1], (shape or (1,))[0]
    plain, weights, across = rng.uniform(-1, 1, shape), rng.uniform(-1, 1, (3, rows)) / rows, rng.uniform(-1, 1, (columns, 2)) / columns
    line = rng.uniform(-1, 1, columns)
    found: dict[str, Callable[[Any], Any]] = {
        "x + x": lambda x: x + x,
        "x - 1.5": lambda x: x - 1.5,
        "2 - x": lambda x: 2 - x,
        "x + plain": lambda x: x + plain,
        "x * x": lambda x: x * x,
        "x * 0.5": lambda x: x * 0.5,
        "3 * x": lambda x: 3 * x,
        "x * 1j": lambda x: x * 1j,
        "x * plain": lambda x: x * plain,
        "x / plain": lambda x: x / (plain + 2.0),
        "x * line": lambda x: x * line,
        "x + line": lambda x: x + line,
        "x ** 2": lambda x: x**2,
        "x ** 3": lambda x: x**3,
        "x - 0.5 * (x * x)": lambda x: x - 0.5 * (x * x),
        "x * 0.5 + x * x * 0.25": lambda x: x * 0.5 + x * x * 0.25,
        "-x": lambda x: -x,
        "sum": lambda x: x.sum(),
        "sum(0)": lambda x: x.sum(axis=0),
        "sum(1)": lambda x: x.sum(axis=-1),
        "sum(1, keepdims)": lambda x: x.sum(axis=-1, keepdims=True),
        "mean": lambda x: x.mean(),
        "mean(0)": lambda x: (x * x).mean(axis=0),
        "var": lambda x: x.var(),
        "x - mean": lambda x: x - x.mean(axis=-1, keepdims=True),
        "x * sum": lambda x: x * x.sum(axis=-1, keepdims=True),
        "dot plain": lambda x: x.dot(line),
        "dot itself": lambda x: x @ x,
        "W @ x": lambda x: weights @ x,
        "(W @ x) ** 2": lambda x: (weights @ x) ** 2,
        "(W @ x) * (W @ x)": lambda x: (weights @ x) * (weights @ x),
        "(W @ x) ** 3": lambda x: (weights @ x) ** 3,
        "sigmoid(W @ x)": lambda x: cl.functions.sigmoid(weights @ x, domain=(-4, 4), error=0.2),
        "W @ x + W @ x": lambda x: weights @ x + 0.5 * (weights @ x),
        "integers @ x": lambda x: np.ones((2, rows), dtype=int) @ x,
        "x @ W": lambda x: x @ across,
        "(x @ W) * (x @ W)": lambda x: (x @ across) * (x @ across),
        "x @ line": lambda x: x @ line,
        "x @ x.T": lambda x: x @ x.T,
        "x.T @ x": lambda x: x.T @ x,
        "x.T @ W": lambda x: x.T @ rng.uniform(-1, 1, (rows, 2)),
        "x.T.to_rows": lambda x: x.T.to_rows(),
        "x.T + x.T": lambda x: x.T + x.T,
        "x[0]": lambda x: x[0],
        "x[-1:]": lambda x: x[-1:],
        "x[:2]": lambda x: x[:2],
        "x[:, 1]": lambda x: x[:, 1],
        "x[:, 1:3]": lambda x: x[:, 1:3],
        "x[[1, 0]]": lambda x: x[[1, 0]],
        "x[0] * x[1]": lambda x: x[0] * x[1],
        "reshape(1, -1)": lambda x: x.reshape(1, -1),
        "reshape(-1)": lambda x: x.reshape(-1),
        "rotate(1)": lambda x: x.rotate(1),
        "rotate_many": lambda x: x.rotate_many([1, 2])[1],
        "(x * x).rotate(1)": lambda x: (x * x).rotate(1),
        "conj": lambda x: x.conj(),
        "real_part": lambda x: x.real_part(),
        "imaginary_part": lambda x: x.imaginary_part(),
        "multiply": lambda x: x.multiply(x),
        "rescale": lambda x: x.rescale(),
        "(x * x).rescale()": lambda x: (x * x).rescale(),
        "drop_to_level(1)": lambda x: x.drop_to_level(1),
        "x + x lower": lambda x: x + x.drop_to_level(1),
        "x * x lower": lambda x: x * x.drop_to_level(1),
        "to_rank(1)": lambda x: x.to_rank(1),
        "to_rlwe": lambda x: x.to_rlwe(),
        "to_mlwe(2)": lambda x: x.to_mlwe(2),
        "to_lwe": lambda x: x.to_lwe(),
        "to_slots": lambda x: x.to_slots(),
        "to_coefficients": lambda x: x.to_coefficients(),
        "there and back": lambda x: x.to_slots().to_coefficients(),
        "clear_padding": lambda x: x.clear_padding(),
        "share_mask": lambda x: x.share_mask(2),
        "split_mask": lambda x: x.split_mask(),
        "sum_rows": lambda x: x.sum_rows(),
        "repeat_column": lambda x: x.repeat_column(4),
        "pack": lambda x: x.pack(),
        "with_bound": lambda x: x.with_bound(1.0) * 0.5,
        "vstack": lambda x: cl.functions.vstack([x, x]),
        "vstack of products": lambda x: cl.functions.vstack([x, x * 0.5, x * x]),
        "hstack": lambda x: cl.functions.hstack([x, x]),
        "concatenate": lambda x: cl.functions.concatenate([x, x - x * x]),
        "where": lambda x: cl.functions.where(plain > 0, x, x * x),
        "maximum": lambda x: cl.functions.maximum(x, 0.0, bound=1.0, margin=0.5, error=0.3),
        "absolute": lambda x: cl.functions.absolute(x, bound=1.0, margin=0.5, error=0.3),
        "exp": lambda x: cl.functions.exp(x, domain=(-1, 1), error=0.3),
        "polynomial": lambda x: cl.plans.Polynomial([0.5, 0.25, 0.125])(x),
        "polynomial of a product": lambda x: cl.plans.Polynomial([0.5, 0.0, 0.0, 0.125])(x * x),
        "linear": lambda x: cl.plans.LinearTransform(np.eye(columns) * 0.5)(x),
        "np.sum": lambda x: np.sum(x),
        "np.where": lambda x: np.where(plain > 0, x, 0.0),
        "two roundabout": lambda x: (x * 0.5 + 1) * (x - x * x) - x,
    }
    if rows * columns > 256:
        # Matrices as large as these are no part of what is compared.
        for name in ("x @ W", "(x @ W) * (x @ W)", "linear", "x @ x.T", "x.T @ x", "x.T @ W", "x.T.to_rows", "x[:, 1]"):
            found.pop(name)
    return found


def facts(result: Any) -> tuple[Any, ...]:
    """What is known of a result before it is decrypted."""
    if isinstance(result, cl.types.TransposedCiphertext):
        return (("transposed",), *facts(result.T))
    x = result
    return x.shape, x.encoding, x.level, round(float(np.log2(x.scale)), 9), x.is_complex, x.rank, x.degree, x.secret, repr(x.layout)


def attempt(work: Callable[..., Any], *arguments: Any) -> tuple[Any, ...]:
    try:
        return facts(work(*arguments))
    except (cl.ClathrateError, TypeError, ValueError, IndexError, AttributeError) as error:
        return type(error).__name__, str(error)


def compared(name: str, shape: tuple[int, ...], options: dict[str, Any], rng: np.random.Generator) -> Iterator[tuple[str, Any, Any]]:
    """Every operation on arrays of one layout: its name, what symbols give, and what data gives with the keys that they asked for."""
    params, key = preset(name), owner(name)
    # Dry runs bootstrap where the parameters can.
    below = params.application_levels and params.application_levels[0]
    given = {option: value for option, value in options.items() if option != "is_complex"}
    numbers = rng.uniform(-1, 1, shape) * (1 + 0j if options.get("is_complex") else 1)

    def encrypt() -> cl.Ciphertext:
        return key.encrypt(numbers, **given)

    def symbol(recorder: Recorder) -> cl.Ciphertext:
        return recorder.symbol(shape, **options)

    dry, data = attempt(symbol, Recorder(params, below)), attempt(encrypt)
    yield "encryption", dry, data
    if isinstance(dry[0], str) or isinstance(data[0], str):
        return
    found, needs = {}, cl.keys.Needs()
    for operation, function in operations(shape).items():
        recorder = Recorder(params, below)
        found[operation] = attempt(function, symbol(recorder))
        needs |= recorder.needs()
    x = encrypt().with_keys(key.evaluation_keys(needs), bootstrap_below=below)
    for operation, function in operations(shape).items():
        yield operation, found[operation], attempt(function, x)


@pytest.mark.parametrize("seed", range(2))
def test_every_operation_does_on_data_what_it_does_on_symbols(seed, rng):
    differing, accepted = [], 0
    for name, shape, options in itertools.islice(layouts(seed), DRAWS):
        for operation, dry, data in compared(name, shape, options, rng):
            accepted += not isinstance(dry[0], str)
            if data != dry:
                differing.append(f"{name} {shape} {options} {operation}\n    symbols: {dry}\n    data:    {data}")
    assert not differing, f"{len(differing)} differ:\n" + "\n".join(differing[:60])
    assert accepted > 10 * DRAWS
