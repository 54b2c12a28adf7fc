"""What type checkers accept: read by mypy in strict mode, run by nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import clathrate as cl


def accepted(weights: NDArray[np.float32], data: NDArray[np.int64], path: Path) -> None:
    params = cl.Params.preset("matmul", cl.Runtime(threads=2))
    cl.Params(degree=64, steps=[[30, 30], 40], log2_scale=40, insecure=True)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[1, 2]) | cl.keys.Needs(conjugate=True), progress=True)
    ct = key.encrypt(data, "slots", progress=lambda done, total: done < total).with_keys(keys)
    assert_type((ct * ct).rescale(), cl.Ciphertext)
    assert_type(2 * ct + data - 1.5, cl.Ciphertext)
    assert_type(ct / 2, cl.Ciphertext)
    assert_type(ct**2, cl.Ciphertext)
    assert_type(ct.rotate_many([1, 2]), list[cl.Ciphertext])
    assert_type(ct.matmul(weights, progress=False), cl.Ciphertext)
    product: cl.Ciphertext = weights @ ct
    out: NDArray[np.float64] = key.decrypt(product)
    assert_type(out, NDArray[np.float64])
    assert_type(ct.save(path), int)
    assert_type(cl.Ciphertext.load(path, params), cl.Ciphertext)
    polynomial = cl.plans.Polynomial.fit(np.tanh, 9, domain=(-3, 3))
    assert_type(polynomial(ct), cl.Ciphertext)
    assert_type(polynomial.plan(params, level=3).depth, int)
    found = cl.plans.trace(lambda x: x * x, (8,), params=params, bound=1.0)
    assert_type(found.needs, cl.keys.Needs)
    assert_type(found.stages, tuple[cl.types.StageCost, ...])
    assert_type(found.stages[0].seconds + found.seconds, float)
    assert_type(found.transforms + found.hadamard_products + found.multiply_adds + found.key_bytes + found.peak_bytes, int)
    assert_type(found.explain(), str)
    with ct.stage("a stage"):
        assert_type(ct.error_bound, float | None)
    assert_type(keys.names, list[tuple[str, tuple[int, int], int]])
    cl.Params.preset("n14", runtime=cl.Runtime(switching=("klss", 2, 3), key_expansion=1.5, key_cache_mib=100))
    assert_type(params.runtime, cl.Runtime)
    assert_type(params.switching_report(), cl.types.SwitchingReport)
    assert_type(params.primes["steps"], list[list[int]])
    assert_type(params.roots_of_unity, dict[int, int])
    assert_type(keys.derive([1, 2], progress=True), int)
    assert_type(params.relative(degree=64, rank=2).rlwe().at_rank(1), cl.Params)
    assert_type(params.temporary_rank, int | None)
    assert_type(ct.to_rank(2).to_rlwe().to_mlwe(4).rank, int)
    assert_type(cl.keys.Needs(relinearise=True, power_rotations=True, ranks=[2, 1], to_rlwe=True).ranks, list[int])
    assert_type(key.relative(params), cl.SecretKey)
    shared = key.encrypt(data, "slots", bodies=8, axis="rows", capacity=64, order="bit-reversed")
    assert_type(shared.split_mask().share_mask(4, axis="chunks").clear_padding(), cl.Ciphertext)
    assert_type(shared.layout, cl.types.Layout)
    assert_type(shared.layout.place(0, 1), tuple[int, int, int])
    assert_type((shared.bodies, shared.secret), tuple[int, str])
    assert_type((cl.keys.Needs(shared_mask=8) | cl.keys.Needs(rotations=[1], bodies=8)).shared_masks, list[int])
    assert_type(ct.to_lwe().layout.imaginary_place(0, 1), tuple[int, int, int] | None)
    cl.plans.trace(lambda x: x.rotate(1), (8, 8), params=params, encoding="slots", bodies=8)
    assert_type(ct @ ct, cl.Ciphertext)
    assert_type(ct[1:3], cl.Ciphertext)
    assert_type(ct[1:3, 2:5], cl.Ciphertext)
    assert_type(cl.functions.vstack([ct, ct]), cl.Ciphertext)
    # NumPy's own functions take ciphertexts; its stubs say that they give anything.
    mean: cl.Ciphertext = np.mean(ct)
    means: cl.Ciphertext = np.mean(ct, axis=0, keepdims=True)
    deviation: cl.Ciphertext = np.var(ct, ddof=1)
    inner: cl.Ciphertext = np.dot(ct, weights)
    image: cl.Ciphertext = np.matmul(weights, ct)
    (
        np.sum(ct),
        np.prod(ct),
        np.cumsum(ct),
        np.concatenate([ct, ct]),
        np.stack([ct, ct]),
        np.where(weights > 0, ct, 0.5),
        np.dot(weights, ct),
    )
    (
        np.transpose(ct),
        np.diff(ct),
        np.flip(ct),
        np.fft.fft(ct),
        np.polyval([1.0, 2.0], ct),
        np.dot(ct.T, weights),
        np.dot(weights, ct),
        np.add(weights, ct),
    )
    total = mean + means + deviation + inner + image
    assert_type(total, cl.Ciphertext)
    assert_type(cl.functions.sigmoid(ct), cl.Ciphertext)
    assert_type(cl.functions.exp(ct, error=1e-3, domain=(-1.0, 1.0)), cl.Ciphertext)
    assert_type(cl.functions.inverse(ct, domain=(1.0, 2.0)), cl.Ciphertext)
    assert_type(cl.functions.std(ct, axis=1, domain=(1.0, 2.0)), cl.Ciphertext)
    assert_type(cl.functions.softmax(ct), cl.Ciphertext)
    assert_type(cl.functions.sign(ct, margin=0.1), cl.Ciphertext)
    assert_type(cl.functions.relu(ct, bound=2.0), cl.Ciphertext)
    assert_type(cl.functions.maximum(ct, 0.5), cl.Ciphertext)
    assert_type(cl.functions.maximum(0.5, ct, bound=2.0), cl.Ciphertext)
    assert_type(cl.functions.minimum(ct, ct), cl.Ciphertext)
    assert_type(cl.functions.sigmoid(weights), NDArray[Any])
    assert_type(cl.functions.maximum([1.0, 2.0], 0.5), NDArray[Any])
    assert_type(cl.functions.where(weights > 0, ct, 0.5), cl.Ciphertext)
    assert_type(cl.functions.where([True, False], 0.5, ct), cl.Ciphertext)
    assert_type(cl.functions.where(ct, 1.0, 0.0), cl.Ciphertext)
    assert_type(cl.functions.where([True], 1.0, 0.0), NDArray[Any])
    assert_type(ct.T @ ct, cl.Ciphertext | Any)
    assert_type((ct.T @ ct).sum(), cl.Ciphertext | Any)
    view: cl.types.TransposedCiphertext = ct.T
    assert_type(view @ weights / 2, cl.types.TransposedCiphertext)
    assert_type(view.to_rows(), cl.Ciphertext)
    row_image: cl.Ciphertext = ct @ weights
    assert_type(row_image.prod(axis=0), cl.Ciphertext)
    assert_type(ct / [1.0, 2.0, 3.0] / weights / np.float32(2) / 2j, cl.Ciphertext)
    traced = cl.plans.trace(score, (8,), params=params)
    assert_type(traced, cl.types.Trace[cl.Ciphertext])
    assert_type(traced.result.level, int)
    without: cl.types.Trace = found
    assert_type(without.needs, cl.keys.Needs)
    assert_type(ct.save(path, overwrite=False), int)
    assert_type(ct.to_bytes(), bytes)
    try:
        ct.rotate(5)
    except cl.errors.MissingKeyError as error:
        assert_type(error, cl.errors.MissingKeyError)


def score(ct: cl.Ciphertext) -> cl.Ciphertext:
    return cl.functions.sigmoid(ct @ np.ones(8))


def transposed(ct: cl.Ciphertext) -> cl.types.TransposedCiphertext:
    return ct.T


def refused(ct: cl.Ciphertext, key: cl.SecretKey) -> None:
    key.encrypt([1.0], encoding="bits")  # type: ignore[call-overload]
    key.encrypt([1.0], bodies=2, axis="columns")  # type: ignore[call-overload]
    key.encrypt([1.0], "slots", 1, 2.0**30, False, 2)  # type: ignore[call-overload]
    ct ** "3"  # type: ignore[operator]
    ct / ct  # type: ignore[operator]
    ct @ object()  # type: ignore[operator]
    ct.level = 3  # type: ignore[misc]
    ct.rotate(1.5)  # type: ignore[arg-type]
    key.evaluation_keys({"relinearise": True})  # type: ignore[arg-type]
    float(ct)  # type: ignore[arg-type]
    ct.to_rank(1.5)  # type: ignore[arg-type]
    cl.Runtime(switching=("hybrid", 1, 2))  # type: ignore[arg-type]
    cl.Params.preset("n14", threads=2)  # type: ignore[call-arg]
    cl.Ciphertext.load("a")  # type: ignore[call-arg]
    ct.save("a", "over")  # type: ignore[arg-type]
    cl.functions.sigmoid(ct, errors=1e-3)  # type: ignore[call-overload]
    cl.functions.sigmoid(object())  # type: ignore[call-overload]
