"""Times jobs on arrays with openfhe-numpy, on one thread: one JSON row for each job that it has.

Usage: bench.py --params arrays [--quick] [--memory-gib X]. The jobs are those of bench/arrays.py, by their names. OpenFHE chooses the
degree for 128 bits of security, and the scale is 2^40.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import openfhe  # Its other library needs it first.
import openfhe_numpy as onp

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from timing import Bench, arguments

rng = np.random.default_rng(0)


def context(depth: int) -> tuple[openfhe.CryptoContext, openfhe.KeyPair]:
    parameters = openfhe.CCParamsCKKSRNS()
    parameters.SetMultiplicativeDepth(depth)
    parameters.SetScalingModSize(40)
    parameters.SetFirstModSize(60)
    made = openfhe.GenCryptoContext(parameters)
    for feature in (openfhe.PKESchemeFeature.PKE, openfhe.PKESchemeFeature.LEVELEDSHE, openfhe.PKESchemeFeature.ADVANCEDSHE):
        made.Enable(feature)
    keys = made.KeyGen()
    made.EvalMultKeyGen(keys.secretKey)
    made.EvalSumKeyGen(keys.secretKey)
    return made, keys


def small_products(bench: Bench, job: str, count: int, size: int) -> None:
    """Products of encrypted square matrices, one after the other."""
    made, keys = context(4)
    pairs = [(rng.uniform(-1, 1, (size, size)), rng.uniform(-1, 1, (size, size))) for _ in range(count)]
    batch = made.GetRingDimension() // 2

    def encrypted(matrix: np.ndarray):
        return onp.array(made, matrix, batch, onp.ROW_MAJOR, fhe_type="C", public_key=keys.publicKey)

    arrays = [(encrypted(x), encrypted(y)) for x, y in pairs]
    onp.EvalSquareMatMultRotateKeyGen(keys.secretKey, arrays[0][0].ncols)
    wanted = [x @ y for x, y in pairs]

    def error(results) -> float:
        found = [result.decrypt(keys.secretKey, unpack_type="original") for result in results]
        return max(float(np.abs(np.asarray(own) - want).max()) for own, want in zip(found, wanted, strict=True))

    bench.params = job
    bench.time("job", lambda: [x @ y for x, y in arrays], error, runs=3 if count == 1 else 1)


def main() -> None:
    bench = Bench("openfhe-numpy", "arrays", arguments(__doc__, ["arrays"]).quick, {"version": "1.5.1"})
    small_products(bench, "8 x 8 by 8 x 8", 1, 8)
    small_products(bench, "16 products of 8 x 8", 16, 8)


if __name__ == "__main__":
    main()
