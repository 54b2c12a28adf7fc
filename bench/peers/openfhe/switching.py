"""Scheme switching of OpenFHE, from FHEW samples to CKKS slots: one parameter set per run, one JSON row on standard output.

Sits in bench/peers/openfhe below bench.py, which names the sets; rows follow bench/README.md.
"""

from __future__ import annotations

import importlib.metadata
import math
import time
from dataclasses import dataclass

import numpy as np
import openfhe
from timing import Bench, peak_bytes

FIRST_BITS, SPECIAL_BITS = 60, 60
WORK = "openfhe_switching"
MESSAGES = 256  # the library's example of a medium precision: messages are a small part of the plaintext modulus
RUNS = 3


@dataclass(frozen=True)
class SwitchingSet:
    """`count` samples modulo 2^`log_modulus`; CKKS with `levels` levels behind those that switching takes."""

    log_degree: int
    count: int
    scale_bits: int
    log_modulus: int
    levels: int = 3
    secure: bool = True


# The levels that switching takes, as of the library's example: nine of the Chebyshev series, three of double angles and one.
SWITCHING_LEVELS = 13
SWITCHING_SETS = {
    "n16-lwe-256": SwitchingSet(16, 256, 50, 28),
    "n16-lwe-1024": SwitchingSet(16, 1024, 50, 28),
    "n16-lwe-4096": SwitchingSet(16, 4096, 50, 28),
    "insecure_n11-lwe-16": SwitchingSet(11, 16, 50, 28, secure=False),
}


def make_context(which: SwitchingSet, depth: int) -> openfhe.CryptoContext:
    """A context for switching. Errors: RuntimeError where the library finds the set insecure."""
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetRingDim(1 << which.log_degree)
    spec.SetBatchSize(which.count)
    spec.SetFirstModSize(FIRST_BITS)
    spec.SetScalingModSize(which.scale_bits)
    spec.SetMultiplicativeDepth(depth)
    spec.SetScalingTechnique(openfhe.FIXEDAUTO)
    spec.SetSecurityLevel(openfhe.HEStd_128_classic if which.secure else openfhe.HEStd_NotSet)
    context = openfhe.GenCryptoContext(spec)
    features = (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, openfhe.ADVANCEDSHE, openfhe.SCHEMESWITCH)
    for feature in features:
        context.Enable(feature)
    return context


def run_switching(name: str, quick: bool, memory_gib: float) -> bool:
    """Measures the switching of one set; true if the result was right."""
    del memory_gib  # keys are few; what the precomputation takes is seen afterwards
    which = SWITCHING_SETS[name]
    depth = SWITCHING_LEVELS + which.levels
    extra: dict[str, object] = {
        "preset": name,
        "degree": 1 << which.log_degree,
        "count": which.count,
        "security_bits": 128 if which.secure else None,
        "version": importlib.metadata.version("openfhe"),
    }
    bench = Bench("openfhe", name, quick, extra)
    context = make_context(which, depth)
    keys = context.KeyGen()
    samples = openfhe.BinFHEContext()
    strength = openfhe.STD128 if which.secure else openfhe.TOY
    samples.GenerateBinFHEContext(strength, False, which.log_modulus, 0, openfhe.GINX, False)
    secret = samples.KeyGen()
    start = time.perf_counter()
    context.EvalFHEWtoCKKSSetup(samples, which.count, which.log_modulus)
    context.EvalFHEWtoCKKSKeyGen(keys, secret)
    extra["key_seconds"] = time.perf_counter() - start
    extra["dimension"] = samples.Getn()
    # Messages are whole numbers below MESSAGES, and lie in a modulus 2^log_modulus / (2 beta) as in the library's example.
    plain = (1 << which.log_modulus) // (2 * samples.GetBeta())
    numbers = np.random.default_rng(41).integers(0, MESSAGES, which.count)
    encrypted = [samples.Encrypt(secret, int(number), openfhe.FRESH, plain, 1 << which.log_modulus) for number in numbers]

    def switch() -> openfhe.Ciphertext:
        return context.EvalFHEWtoCKKS(encrypted, which.count, which.count, plain, 0, plain)

    def check(fresh: openfhe.Ciphertext) -> float:
        opened = context.Decrypt(keys.secretKey, fresh)
        opened.SetLength(which.count)
        # As numbers of magnitude 1, which ours are.
        errors = np.abs(np.asarray(opened.GetRealPackedValue())[: which.count] - numbers) / MESSAGES
        left = depth - fresh.GetLevel() - (fresh.GetNoiseScaleDeg() - 1)
        extra.update(log_q_left=float(left * which.scale_bits + FIRST_BITS))
        extra.update(mean_bits=-math.log2(errors.mean()), worst_bits=-math.log2(errors.max()))
        # A result that is wrong is off by much more; the precision is what the row says.
        return float(errors.max()) / 100

    bench.time(WORK, switch, check, runs=1 if quick else RUNS, after=lambda: {"peak_bytes": peak_bytes()})
    return not bench.failed
