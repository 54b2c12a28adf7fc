"""Benchmarks of OpenFHE: one parameter set per run, one thread, one JSON row per line on standard output.

Sits in bench/peers/openfhe; runs in the environment that bench/peers/run.py makes. Rows follow bench/README.md.
"""

from __future__ import annotations

import gc
import importlib.metadata
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # read by the library when it loads
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import openfhe
from bootstrap import BOOTSTRAP_SETS, run_bootstrap
from switching import SWITCHING_SETS, run_switching
from timing import HOISTED, SWITCHING_WORKS, Bench, arguments, sample, worst_error

# name: (log N, 40-bit primes after the 60-bit one, digits). As many digits as primes is one special prime; the digits
# of `mid` and `low` are the fewest that OpenFHE's 60-bit special primes allow below the modulus bound.
PARAM_SETS: dict[str, tuple[int, int, int]] = {
    "n14": (14, 7, 8),
    "n15-one": (15, 19, 20),
    "n15-mid": (15, 15, 4),
    "n15-low": (15, 10, 2),
    "n16-one": (16, 41, 42),
    "n16-mid": (16, 32, 4),
    "n16-low": (16, 26, 2),
}
MAX_LOG_QP = {14: 430, 15: 881, 16: 1761}


def make_context(log_degree: int, middle: int, digits: int) -> openfhe.CryptoContext:
    """A context with one 60-bit prime, `middle` 40-bit primes and hybrid key switching with `digits` digits."""
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetRingDim(1 << log_degree)
    spec.SetBatchSize(1 << (log_degree - 1))
    spec.SetFirstModSize(60)
    spec.SetScalingModSize(40)
    spec.SetMultiplicativeDepth(middle)
    spec.SetScalingTechnique(openfhe.FIXEDMANUAL)
    spec.SetKeySwitchTechnique(openfhe.HYBRID)
    spec.SetNumLargeDigits(digits)
    spec.SetSecurityLevel(openfhe.HEStd_NotSet)
    spec.SetSecretKeyDist(openfhe.UNIFORM_TERNARY)
    if hasattr(openfhe, "CKKSDataType"):  # older releases keep complex values without being asked
        spec.SetCKKSDataType(openfhe.CKKSDataType.COMPLEX)
    context = openfhe.GenCryptoContext(spec)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE):
        context.Enable(feature)
    return context


def run(name: str, quick: bool, memory_gib: float) -> bool:
    """Measures every operation of one parameter set; true if all of them gave right results."""
    log_degree, middle, digits = PARAM_SETS[name]
    primes = middle + 1
    context = make_context(log_degree, middle, digits)
    keys = context.KeyGen()
    log_q = 60.0 + 40 * middle
    modulus = float(context.GetModulus())  # infinite above 1024 bits
    if math.isfinite(modulus) and abs(math.log2(modulus) - log_q) > 0.5:
        raise ValueError(f"{name}: the chain has {math.log2(modulus):.1f} bits, {log_q} were asked for")
    # The library takes 60-bit special primes, as many as cover its largest digit (the first, with the 60-bit prime).
    per_digit = -(-primes // digits)
    special = math.ceil((60 + 40 * (per_digit - 1)) / 60)
    log_qp = log_q + 60 * special
    if log_qp > MAX_LOG_QP[log_degree]:
        raise ValueError(f"{name}: log QP {log_qp:.1f} is above {MAX_LOG_QP[log_degree]}")
    key_gib = -(-primes // per_digit) * (primes + special) * 2 * 8 * (1 << log_degree) / (1 << 30)
    extra: dict[str, object] = {
        "log_qp": log_qp,
        "log_q": log_q,
        "special_primes": special,
        "digits": -(-primes // per_digit),
        "key_gib": round(key_gib, 3),
        "version": importlib.metadata.version("openfhe"),
    }
    bench = Bench("openfhe", name, quick, extra)
    slots = 1 << (log_degree - 1)
    left, right = sample(slots, 0.1), sample(slots, 0.9)

    def opened(want: np.ndarray) -> Callable[[object], float]:
        return lambda ct: worst_error(want, context.Decrypt(keys.secretKey, ct).GetCKKSPackedValue())

    plain_left, plain_right = context.MakeCKKSPackedPlaintext(left), context.MakeCKKSPackedPlaintext(right)
    # A plaintext keeps the values it was made from, so encoding is checked through a decryption.
    bench.time(
        "encode",
        lambda: context.MakeCKKSPackedPlaintext(left),
        lambda plain: opened(left)(context.Encrypt(keys.secretKey, plain)),
    )
    bench.time("encrypt", lambda: context.Encrypt(keys.secretKey, plain_left), opened(left))
    ct_left, ct_right = context.Encrypt(keys.secretKey, plain_left), context.Encrypt(keys.secretKey, plain_right)
    bench.absent(["decrypt"], "not offered apart from decoding: see decrypt_decode")
    bench.time(
        "decrypt_decode",
        lambda: context.Decrypt(keys.secretKey, ct_left),
        lambda plain: worst_error(left, plain.GetCKKSPackedValue()),
    )
    bench.time("add", lambda: context.EvalAdd(ct_left, ct_right), opened(left + right))
    bench.time("multiply_plain", lambda: context.EvalMult(ct_left, plain_right), opened(left * right))

    if key_gib * 1.4 > memory_gib:
        bench.absent(SWITCHING_WORKS, f"a switching key of {key_gib:.2f} GiB does not fit in {memory_gib:.1f} GiB")
        return not bench.failed
    # One kind of key at a time: the largest sets need gigabytes for each.
    context.EvalMultKeyGen(keys.secretKey)
    bench.time(
        "multiply_relinearise_rescale",
        lambda: context.Rescale(context.EvalMult(ct_left, ct_right)),
        opened(left * right),
    )
    openfhe.ClearEvalMultKeys()
    gc.collect()
    hoists = key_gib * (HOISTED + 0.7) < memory_gib
    steps = list(range(1, HOISTED + 1)) if hoists else [1]
    context.EvalRotateKeyGen(keys.secretKey, steps)
    bench.time("rotate", lambda: context.EvalRotate(ct_left, 1), opened(np.roll(left, -1)))
    if not hoists:
        reason = f"{HOISTED} switching keys of {key_gib:.2f} GiB do not fit in {memory_gib:.1f} GiB"
        bench.absent(["hoisted_rotations_8"], reason)
        return not bench.failed

    def hoisted() -> list[object]:
        decomposed = context.EvalFastRotationPrecompute(ct_left)
        return [context.EvalFastRotation(ct_left, step, 2 << log_degree, decomposed) for step in steps]

    def hoisted_error(rotated: object) -> float:
        assert isinstance(rotated, list)
        return max(opened(np.roll(left, -step))(ct) for step, ct in zip(steps, rotated, strict=True))

    bench.time("hoisted_rotations_8", hoisted, hoisted_error)
    return not bench.failed


def main() -> int:
    """Runs the parameter set named on the command line."""
    options = arguments(__doc__, [*PARAM_SETS, *BOOTSTRAP_SETS, *SWITCHING_SETS])
    others = dict.fromkeys(BOOTSTRAP_SETS, run_bootstrap) | dict.fromkeys(SWITCHING_SETS, run_switching)
    measure = others.get(options.params, run)
    return 0 if measure(options.params, options.quick, options.memory_gib) else 1


if __name__ == "__main__":
    sys.exit(main())
