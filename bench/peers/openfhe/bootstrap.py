"""Bootstraps of OpenFHE: one parameter set per run, one JSON row on standard output.

Sits in bench/peers/openfhe below bench.py, which names the sets; rows follow bench/README.md.
"""

from __future__ import annotations

import importlib.metadata
import math
import time
from dataclasses import dataclass

import numpy as np
import openfhe
from timing import Bench, part_errors, peak_bytes, uniform

FIRST_BITS, SCALE_BITS, SPECIAL_BITS = 60, 59, 60
SECRET = openfhe.SPARSE_ENCAPSULATED
RUNS = 3


@dataclass(frozen=True)
class BootstrapSet:
    """`levels` of the application, `budget` of the two transforms; `slots_first`: slots to coefficients before the raise."""

    log_degree: int
    levels: int
    budget: tuple[int, int]
    digits: int
    slots_first: bool
    secure: bool = True


# The library names no sets. These have the primes of its examples (60 and 59 bits) and, at degree 2^16, the most levels that
# it accepts as 128-bit security with at most five digits. The small ones, to try the program, are not secure.
BOOTSTRAP_SETS = {
    "n16-59": BootstrapSet(16, 6, (3, 3), 4, False),
    "n16-59-slots-first": BootstrapSet(16, 6, (3, 3), 4, True),
    "insecure_n11": BootstrapSet(11, 6, (3, 3), 4, False, False),
    "insecure_n11-slots-first": BootstrapSet(11, 6, (3, 3), 4, True, False),
}


def make_context(which: BootstrapSet, depth: int) -> openfhe.CryptoContext:
    """A context for bootstraps of all slots. Errors: RuntimeError where the library finds the set insecure."""
    spec = openfhe.CCParamsCKKSRNS()
    spec.SetRingDim(1 << which.log_degree)
    spec.SetBatchSize(1 << (which.log_degree - 1))
    spec.SetFirstModSize(FIRST_BITS)
    spec.SetScalingModSize(SCALE_BITS)
    spec.SetMultiplicativeDepth(depth)
    spec.SetScalingTechnique(openfhe.FLEXIBLEAUTO)
    spec.SetKeySwitchTechnique(openfhe.HYBRID)
    spec.SetNumLargeDigits(which.digits)
    spec.SetSecurityLevel(openfhe.HEStd_128_classic if which.secure else openfhe.HEStd_NotSet)
    spec.SetSecretKeyDist(SECRET)
    spec.SetCKKSDataType(openfhe.CKKSDataType.COMPLEX)
    context = openfhe.GenCryptoContext(spec)
    for feature in (openfhe.PKE, openfhe.KEYSWITCH, openfhe.LEVELEDSHE, openfhe.ADVANCEDSHE, openfhe.FHE):
        context.Enable(feature)
    return context


def run_bootstrap(name: str, quick: bool, memory_gib: float) -> bool:
    """Measures the bootstraps of one set; true if the result was right."""
    which = BOOTSTRAP_SETS[name]
    slots, budget = 1 << (which.log_degree - 1), list(which.budget)
    depth = which.levels + openfhe.CryptoContext().GetBootstrapDepth(budget, SECRET)
    per_digit = -(-(depth + 1) // which.digits)
    digits = -(-(depth + 1) // per_digit)
    special = math.ceil((FIRST_BITS + SCALE_BITS * (per_digit - 1)) / SPECIAL_BITS)  # as many as cover the largest digit
    one_key = digits * (depth + 1 + special) * 2 * 8 << which.log_degree
    extra: dict[str, object] = {
        "preset": name,
        "degree": 1 << which.log_degree,
        "slots": slots,
        "log_qp": FIRST_BITS + SCALE_BITS * depth + SPECIAL_BITS * special,
        "security_bits": 128 if which.secure else None,  # the library refuses a set below the level that it is asked for
        "log2_failure": None,
        "version": importlib.metadata.version("openfhe"),
    }
    bench = Bench("openfhe", name, quick, extra)
    # A transform of a budget of levels has 2^(layers + 1) diagonals in each, and about twice the root of that many keys.
    keys_wanted = sum(2 * level * math.sqrt(2 ** ((which.log_degree - 1) / level + 1)) for level in budget)
    if keys_wanted * one_key > memory_gib * (1 << 30):
        reason = f"keys of about {keys_wanted * one_key / (1 << 30):.1f} GiB do not fit in {memory_gib:.1f} GiB"
        bench.absent(["bootstrap"], reason)
        return True
    context = make_context(which, depth)
    context.EvalBootstrapSetup(budget, [0, 0], slots, 0, True, which.slots_first)
    start = time.perf_counter()
    keys = context.KeyGen()
    context.EvalMultKeyGen(keys.secretKey)
    context.EvalBootstrapKeyGen(keys.secretKey, slots)
    extra["key_seconds"] = time.perf_counter() - start
    rotations = len(context.GetExistingEvalAutomorphismKeyIndices(keys.secretKey.GetKeyTag()))
    extra["key_bytes"] = (rotations + 1) * one_key  # computed; the library does not tell
    # The raise needs one level for its scale; slots to coefficients, where it comes first, its budget too.
    needed = 1 + (budget[1] if which.slots_first else 0)
    values = uniform(slots)
    low = context.Encrypt(keys.secretKey, context.MakeCKKSPackedPlaintext(values, 1, depth - needed))
    refresh = context.EvalBootstrapStCFirst if which.slots_first else context.EvalBootstrap

    def check(fresh: openfhe.Ciphertext) -> float:
        # A ciphertext of noise scale degree 2 has a rescaling pending, which takes one level more.
        left = depth - fresh.GetLevel() - (fresh.GetNoiseScaleDeg() - 1) - needed
        found = np.asarray(context.Decrypt(keys.secretKey, fresh).GetCKKSPackedValue())[:slots]
        mean, worst = part_errors(values, found)
        extra.update(levels_left=left, bits_left=float(left * SCALE_BITS), mean_bits=-math.log2(mean), worst_bits=-math.log2(worst))
        return worst

    bench.time("bootstrap", lambda: refresh(low), check, runs=RUNS, after=lambda: {"peak_bytes": peak_bytes()})
    return not bench.failed
