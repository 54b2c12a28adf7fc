"""The client: holds the secret key and the images; sends ciphertexts, receives encrypted scores.

Runs as its own process. The only files it shares with the server lie in the exchange folder: parameters, encrypted images,
encrypted scores. Its own folder keeps the secret key.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

import clathrate as cl


def encrypt(own: Path, exchange: Path, preset: str) -> dict[str, object]:
    """Makes parameters and keys, and encrypts `images.npy` (images x pixels) with one row per pixel."""
    started = time.perf_counter()
    params = cl.Params.preset(preset)
    secret_key = cl.SecretKey.generate(params)
    params.save(exchange / "params.clt")
    secret_key.save(own / "secret.clt", overwrite=True)
    keygen_seconds = time.perf_counter() - started

    pixels = np.load(own / "images.npy").T  # a linear model is W @ pixels: one column per image
    started = time.perf_counter()
    ciphertext = secret_key.encrypt(pixels, encoding="coefficients")
    ciphertext.save(exchange / "images.clt")
    return {
        "explain": str(params.explain()),
        "security_bits": params.security_bits,
        "keygen_seconds": keygen_seconds,
        "encrypt_seconds": time.perf_counter() - started,
        "images_bytes": (exchange / "images.clt").stat().st_size,
        "secret_key_bytes": (own / "secret.clt").stat().st_size,
    }


def decrypt(own: Path, exchange: Path, preset: str) -> dict[str, object]:
    """Decrypts the scores to `scores.npy` (images x classes) in the client's own folder."""
    started = time.perf_counter()
    params = cl.Params.preset(preset)  # not what the shared folder says, where the server can write
    secret_key = cl.SecretKey.load(own / "secret.clt", params)
    scores = secret_key.decrypt(cl.load(exchange / "scores.clt", params))
    np.save(own / "scores.npy", scores.T)
    return {
        "decrypt_seconds": time.perf_counter() - started,
        "scores_bytes": (exchange / "scores.clt").stat().st_size,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=["encrypt", "decrypt"])
    parser.add_argument("--own", type=Path, required=True, help="folder of the client alone")
    parser.add_argument("--exchange", type=Path, required=True, help="folder shared with the server")
    parser.add_argument("--preset", default="matmul")
    arguments = parser.parse_args()
    if arguments.step == "encrypt":
        report = encrypt(arguments.own, arguments.exchange, arguments.preset)
    else:
        report = decrypt(arguments.own, arguments.exchange, arguments.preset)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
