"""The server: holds a linear model, computes scores on images it cannot see.

Runs as its own process, with parameters, the encrypted images and the model's weights, and without any key.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import clathrate as cl


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="folder with weights.npy and bias.npy")
    parser.add_argument("--exchange", type=Path, required=True, help="folder shared with the client")
    arguments = parser.parse_args()

    weights = np.load(arguments.model / "weights.npy")  # classes x pixels
    bias = np.load(arguments.model / "bias.npy")
    # Whose data it is decides how well they are protected.
    params = cl.Params.load(arguments.exchange / "params.clt", allow_insecure=True)

    started = time.perf_counter()
    images = cl.load(arguments.exchange / "images.clt", params)
    loaded = time.perf_counter()
    scores = (weights @ images).rescale() + bias[:, None]
    computed = time.perf_counter()
    scores.save(arguments.exchange / "scores.clt")
    print(json.dumps({"load_seconds": loaded - started, "product_seconds": computed - loaded}))


if __name__ == "__main__":
    main()
