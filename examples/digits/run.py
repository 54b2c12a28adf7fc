"""Encrypted recognition of handwritten digits, end to end.

Trains a linear classifier in clear, then lets a client and a server, two processes that exchange files only, score the test images
encrypted; compares every decrypted score with the clear one and draws the digits with their decrypted scores.

    python examples/digits/run.py --output demo-output
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
MIB = 1 << 20


def run(script: str, *arguments: object) -> tuple[dict[str, object], float]:
    """Runs one process of the demo; its report and its seconds, start of the interpreter included."""
    started = time.perf_counter()
    command = [sys.executable, str(HERE / script), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{script} failed with exit code {done.returncode}")
    return json.loads(done.stdout), time.perf_counter() - started


def draw(path: Path, images: np.ndarray, labels: np.ndarray, scores: np.ndarray, count: int = 8) -> None:
    """Digits above, their decrypted scores below; the winning class in colour."""
    wrong = np.flatnonzero(scores.argmax(axis=1) != labels)[:2]
    shown = np.concatenate([wrong, np.setdiff1d(np.arange(len(labels)), wrong)])[:count]
    figure, axes = pyplot.subplots(2, count, figsize=(1.7 * count, 3.6), height_ratios=[1, 1.2], layout="constrained")
    for column, index in enumerate(shown):
        top, bottom = axes[0][column], axes[1][column]
        top.imshow(images[index].reshape(8, 8), cmap="gray_r")
        winner = int(scores[index].argmax())
        verdict = "" if winner == labels[index] else f" (is {labels[index]})"
        top.set_title(f"read as {winner}{verdict}", fontsize=9)
        top.axis("off")
        bottom.bar(range(10), scores[index], color=["tab:orange" if c == winner else "tab:gray" for c in range(10)])
        bottom.set_xticks(range(10))
        bottom.tick_params(labelsize=6)
        bottom.axhline(0, color="black", linewidth=0.5)
    axes[1][0].set_ylabel("decrypted score", fontsize=8)
    figure.suptitle("Scores computed on encrypted images", fontsize=11)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    parser.add_argument("--preset", default="matmul")
    arguments = parser.parse_args()
    client, server, exchange = (arguments.output / name for name in ("client", "server", "exchange"))
    for folder in (client, server, exchange):
        folder.mkdir(parents=True, exist_ok=True)

    started = time.perf_counter()
    data, target = load_digits(return_X_y=True)
    train_x, test_x, train_y, test_y = train_test_split(data / 16.0, target, test_size=0.5, random_state=7, stratify=target)
    model = LogisticRegression(max_iter=2000).fit(train_x, train_y)
    train_seconds = time.perf_counter() - started
    np.save(client / "images.npy", test_x)
    np.save(server / "weights.npy", model.coef_)
    np.save(server / "bias.npy", model.intercept_)
    clear = test_x @ model.coef_.T + model.intercept_

    sent, encrypt_total = run("client.py", "encrypt", "--own", client, "--exchange", exchange, "--preset", arguments.preset)
    served, serve_total = run("server.py", "--model", server, "--exchange", exchange)
    received, decrypt_total = run("client.py", "decrypt", "--own", client, "--exchange", exchange, "--preset", arguments.preset)
    scores = np.load(client / "scores.npy")

    error = np.abs(scores - clear)
    clear_class, class_ = clear.argmax(axis=1), scores.argmax(axis=1)
    ordered = np.sort(clear, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    differ = clear_class != class_
    # Two scores can each be off by the worst error, so a margin of twice that may flip.
    unexplained = np.flatnonzero(differ & (margin > 2 * error.max()))
    draw(arguments.output / "digits.png", test_x, test_y, scores)

    print(sent["explain"])
    print()
    print(f"images                {len(test_y)} of {test_x.shape[1]} pixels, {clear.shape[1]} classes")
    print(f"accuracy in clear     {np.mean(clear_class == test_y):.4f}")
    print(f"accuracy encrypted    {np.mean(class_ == test_y):.4f}")
    print(f"images that differ    {differ.sum()} (not explained by the error: {len(unexplained)})")
    print(
        f"error                 worst 2^{np.log2(error.max()):.1f}, mean 2^{np.log2(error.mean()):.1f}; smallest margin {margin.min():.2e}"
    )
    print(f"security              {sent['security_bits']:.1f} bits")
    sizes = (sent["images_bytes"] / MIB, received["scores_bytes"] / MIB, sent["secret_key_bytes"] / 1024)
    print("files                 images {:.1f} MiB, scores {:.1f} MiB, secret key {:.0f} KiB".format(*sizes))
    print(f"train in clear        {train_seconds:6.2f} s")
    print(f"client: keys          {sent['keygen_seconds']:6.2f} s")
    print(f"client: encrypt       {sent['encrypt_seconds']:6.2f} s  (process {encrypt_total:.2f} s)")
    print(f"server: load          {served['load_seconds']:6.2f} s")
    print(f"server: W @ images    {served['product_seconds']:6.2f} s  (process {serve_total:.2f} s)")
    print(f"client: decrypt       {received['decrypt_seconds']:6.2f} s  (process {decrypt_total:.2f} s)")
    print(f"picture               {arguments.output / 'digits.png'}")
    if len(unexplained):
        raise SystemExit(f"images {unexplained.tolist()} differ by more than the error explains")


if __name__ == "__main__":
    main()
