"""Benchmarks of SEAL, as packaged by TenSEAL: one parameter set per run, one thread, one JSON row per line.

Sits in bench/peers/seal; runs in the environment that bench/peers/run.py makes. Rows follow bench/README.md.
SEAL always has exactly one special prime, so its `mid` and `low` sets stay well below the modulus bound.
"""

from __future__ import annotations

import importlib.metadata
import math
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from arrays import run_arrays
from tenseal import sealapi
from timing import HOISTED, SWITCHING_WORKS, Bench, arguments, sample, worst_error

# name: (log N, 40-bit primes between the 60-bit one and the special one)
PARAM_SETS: dict[str, tuple[int, int]] = {
    "n14": (14, 7),
    "n15-one": (15, 19),
    "n15-mid": (15, 15),
    "n15-low": (15, 10),
    "n16-one": (16, 41),
    "n16-mid": (16, 32),
    "n16-low": (16, 26),
}
SCALE = 2.0**40
GENERATOR = 3  # SEAL's slots follow the powers of 3 modulo 2N
MAX_KEY_GIB = 1.0
LIST_NOTE = "includes the conversion of a Python list of complex numbers"


def run(name: str, quick: bool, memory_gib: float) -> bool:
    """Measures every operation of one parameter set; true if all of them gave right results."""
    log_degree, middle = PARAM_SETS[name]
    degree, primes = 1 << log_degree, middle + 1
    spec = sealapi.EncryptionParameters(sealapi.SCHEME_TYPE.CKKS)
    spec.set_poly_modulus_degree(degree)
    chain = sealapi.CoeffModulus.Create(degree, [60, *[40] * middle, 60])
    spec.set_coeff_modulus(chain)
    # No table of SEAL's covers degrees above 2^15; the modulus bounds are ours.
    context = sealapi.SEALContext(spec, True, sealapi.SEC_LEVEL_TYPE.NONE)
    if not context.parameters_set():
        raise ValueError(f"{name}: {context.parameters_error_message()}")
    sizes = [math.log2(prime.value()) for prime in chain]
    key_gib = primes * (primes + 1) * 2 * 8 * degree / (1 << 30)
    extra: dict[str, object] = {
        "log_qp": round(sum(sizes), 1),
        "log_q": round(sum(sizes[:-1]), 1),
        "special_primes": 1,
        "digits": primes,
        "key_gib": round(key_gib, 3),
        "version": f"tenseal {importlib.metadata.version('tenseal')}",
    }
    bench = Bench("seal", name, quick, extra)
    slots = degree // 2
    left, right = sample(slots, 0.1), sample(slots, 0.9)
    left_list, right_list = left.tolist(), right.tolist()
    encoder, keygen, evaluator = sealapi.CKKSEncoder(context), sealapi.KeyGenerator(context), sealapi.Evaluator(context)
    encryptor = sealapi.Encryptor(context, keygen.secret_key())
    decryptor = sealapi.Decryptor(context, keygen.secret_key())
    plain_left, plain_right, plain_out = sealapi.Plaintext(), sealapi.Plaintext(), sealapi.Plaintext()
    ct_left, ct_right, ct_out, ct_short = (sealapi.Ciphertext() for _ in range(4))

    def decrypted(ct: object) -> list[complex]:
        decryptor.decrypt(ct, plain_out)
        return encoder.decode_complex(plain_out)

    def opened(want: np.ndarray, ct: object) -> Callable[[object], float]:
        return lambda _: worst_error(want, decrypted(ct))

    bench.time(
        "encode",
        lambda: encoder.encode(left_list, SCALE, plain_left),
        lambda _: worst_error(left, encoder.decode_complex(plain_left)),
        LIST_NOTE,
    )
    encoder.encode(right_list, SCALE, plain_right)
    bench.time("encrypt", lambda: encryptor.encrypt_symmetric(plain_left, ct_left), opened(left, ct_left))
    encryptor.encrypt_symmetric(plain_right, ct_right)
    bench.time(
        "decrypt",
        lambda: decryptor.decrypt(ct_left, plain_out),
        lambda _: worst_error(left, encoder.decode_complex(plain_out)),
    )
    bench.time("decrypt_decode", lambda: decrypted(ct_left), lambda have: worst_error(left, have), LIST_NOTE)
    bench.time("add", lambda: evaluator.add(ct_left, ct_right, ct_out), opened(left + right, ct_out))
    bench.time(
        "multiply_plain",
        lambda: evaluator.multiply_plain(ct_left, plain_right, ct_out),
        opened(left * right, ct_out),
    )
    limbs = 2 * primes  # of a ciphertext
    evaluator.transform_from_ntt(ct_left, ct_out)
    bench.time("ntt_forward", lambda: evaluator.transform_to_ntt(ct_out, ct_short), opened(left, ct_short), parts=limbs)
    bench.time(
        "ntt_inverse",
        lambda: evaluator.transform_from_ntt(ct_left, ct_out),
        lambda _: opened(left, ct_short)(evaluator.transform_to_ntt(ct_out, ct_short)),
        parts=limbs,
    )
    if key_gib * 1.4 > memory_gib:
        bench.absent(SWITCHING_WORKS, f"a switching key of {key_gib:.2f} GiB does not fit in {memory_gib:.1f} GiB")
        return not bench.failed

    def measure_multiplication() -> None:
        relin = sealapi.RelinKeys()
        keygen.create_relin_keys(relin)

        def multiply() -> None:
            evaluator.multiply(ct_left, ct_right, ct_out)
            evaluator.relinearize_inplace(ct_out, relin)
            evaluator.rescale_to_next(ct_out, ct_short)

        bench.time("multiply_relinearise_rescale", multiply, opened(left * right, ct_short))

    measure_multiplication()  # one kind of key at a time: the largest sets need gigabytes for each
    # Without hoisting, eight rotations say little that one does not: not worth minutes of key generation.
    all_steps = key_gib < MAX_KEY_GIB and key_gib * (HOISTED + 0.7) < memory_gib
    steps = list(range(1, HOISTED + 1)) if all_steps else [1]
    galois = sealapi.GaloisKeys()
    keygen.create_galois_keys([pow(GENERATOR, step, 2 * degree) for step in steps], galois)
    bench.time("rotate", lambda: evaluator.rotate_vector(ct_left, 1, galois, ct_out), opened(np.roll(left, -1), ct_out))
    if not all_steps:
        reason = f"no hoisting offered: eight times rotate; {HOISTED} keys of {key_gib:.2f} GiB were not made for that"
        bench.absent(["hoisted_rotations_8"], reason)
        return not bench.failed
    outs = [sealapi.Ciphertext() for _ in steps]

    def rotations() -> None:
        for step, out in zip(steps, outs, strict=True):
            evaluator.rotate_vector(ct_left, step, galois, out)

    def rotations_error(_: object) -> float:
        return max(worst_error(np.roll(left, -step), decrypted(out)) for step, out in zip(steps, outs, strict=True))

    bench.time("hoisted_rotations_8", rotations, rotations_error, "no hoisting offered: eight rotations")
    return not bench.failed


def main() -> int:
    """Runs the parameter set named on the command line."""
    options = arguments(__doc__, [*PARAM_SETS, "arrays"])
    measure = run_arrays if options.params == "arrays" else run
    return 0 if measure(options.params, options.quick, options.memory_gib) else 1


if __name__ == "__main__":
    sys.exit(main())
