"""A feed-forward block of a real transformer on encrypted activations: two linear layers, and an activation between them.

The block is the first of MiniLM: 384 features become 1536, through GELU, and 384 again. A client encrypts the activations in front of it
and goes away; a server that has the weights computes the whole block and never sees a number. Each linear layer is a product inside a
bootstrap (MaMBo), so the levels that it takes and those of the activation come back; GELU is a polynomial, whose degree follows from an
error. Client and server are processes of their own, which exchange files.

    make example-mlp                                       # installs the model into .venv and runs this: minutes, 16 GB of memory
    python examples/private_mlp/run.py --synthetic         # a small random block, insecure parameters: seconds, no download
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import clathrate as cl

Array = NDArray[np.float64]
LINEAR_LAYERS = Path(__file__).parent.parent / "private_linear_layers" / "run.py"

# How much larger than those seen in the clear numbers may be.
ROOM = 1.25


def gelu(x: Array) -> Array:
    """The activation function."""
    return np.asarray(0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))))


def model(synthetic: bool, tokens: int) -> tuple[dict[str, Array], Array]:
    """The block's weights and biases, and the activations of `tokens` tokens in front of it, in columns."""
    spec = importlib.util.spec_from_file_location("linear_layers", LINEAR_LAYERS)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(LINEAR_LAYERS)
    layers: Any = importlib.util.module_from_spec(spec)
    sys.modules["linear_layers"] = layers
    spec.loader.exec_module(layers)
    whole, sentences = layers.synthetic(features=8, layers=1) if synthetic else layers.minilm()
    lengths = [len(sentence) for sentence in sentences]
    x = whole.embed(sentences)
    name = "encoder.layer.0"
    x = whole.norm(f"{name}.attention.output.LayerNorm", x + whole.attention(layers.plain, f"{name}.attention", x, lengths))
    parts = {"inner": f"{name}.intermediate.dense", "outer": f"{name}.output.dense"}
    weights = {f"{part}.{kind}": whole.tensors[f"{full}.{kind}"] for part, full in parts.items() for kind in ("weight", "bias")}
    return weights, x[:, :tokens]


def scales(weights: dict[str, Array], x: Array) -> dict[str, float]:
    """Largest magnitudes of the block's numbers for the activations `x`, with some room: what the server knows from other data."""
    inner = weights["inner.weight"] @ x + weights["inner.bias"][:, None]
    outer = weights["outer.weight"] @ gelu(inner)
    return {name: ROOM * float(abs(part).max()) for name, part in (("x", x), ("inner", inner), ("outer", outer))}


class Block:
    """The plans of the block, which client and server make alike."""

    def __init__(self, params: cl.Params, weights: dict[str, Array], sizes: dict[str, float], columns: int, error: float) -> None:
        self.params, self.columns, self.sizes = params, columns, sizes
        inner, outer = weights["inner.weight"] * sizes["x"] / sizes["inner"], weights["outer.weight"] * sizes["inner"] / sizes["outer"]
        # Another machine would choose another method: say it, so that both sides plan alike.
        self.first = cl.plans.MamboPlan(params, inner, columns, is_complex=False, method="exact")
        self.second = cl.plans.MamboPlan(params, outer, columns, is_complex=False, method="exact")
        self.bias = self.laid_out(np.repeat(weights["inner.bias"][:, None] / sizes["inner"], columns, axis=1), self.first.output_shape)
        self.activation, self.error = self.fitted(error)

    def fitted(self, error: float) -> tuple[cl.plans.PolynomialPlan, float]:
        """The activation in units of the largest number: of the least degree with this error, or the largest that the levels allow."""
        size, levels = self.sizes["inner"], self.first.output_level - self.second.input_level
        at = np.linspace(-1, 1, 4001)
        wanted = gelu(size * at)
        for degree in range(3, 2**levels):
            polynomial = cl.plans.Polynomial.fit(lambda u: gelu(size * np.asarray(u)) / size, degree)
            found = float(abs(polynomial(at) * size - wanted).max())
            if found <= error or degree == 2**levels - 1:
                return polynomial.plan(self.params, level=self.first.output_level), found
        raise ValueError("the parameters leave no level for the activation")

    def laid_out(self, rows: Array, shape: tuple[int, int]) -> Array:
        """Rows one behind the other in rows of all slots, filled up with zeros."""
        wide = np.zeros((len(rows), self.columns))
        wide[:, : rows.shape[1]] = rows
        flat = np.zeros(shape[0] * shape[1])
        flat[: wide.size] = wide.reshape(-1)
        return flat.reshape(shape)

    @property
    def needs(self) -> cl.keys.Needs:
        return self.first.needs | self.second.needs | self.activation.needs


def block(folder: Path) -> Block:
    """The block as the files in `folder` say."""
    about = json.loads((folder / "about.json").read_text())
    with np.load(folder / "weights.npz") as stored:
        weights = dict(stored)
    return Block(cl.Params.preset(about["preset"]), weights, about["sizes"], about["columns"], about["error"])


def client_sends(folder: Path, own: Path) -> None:
    """The client makes keys, encrypts its activations and keeps its secret to itself."""
    plans = block(folder)
    owner = cl.SecretKey.generate(plans.params)
    owner.save(own / "secret.clt")
    owner.evaluation_keys(plans.needs).save(folder / "keys.clt")
    x = np.load(own / "activations.npy")
    owner.encrypt(plans.laid_out(x / plans.sizes["x"], plans.first.input_shape), **plans.first.encryption).save(folder / "x.clt")


def server_computes(folder: Path) -> None:
    """The server has the weights and the client's files, and no secret."""
    plans = block(folder)
    keys = cl.EvaluationKeys.load(folder / "keys.clt", plans.params)
    x = cl.Ciphertext.load(folder / "x.clt", plans.params)
    first, second = plans.first.prepare(keys), plans.second.prepare(keys)
    start = time.perf_counter()
    inner = first @ x
    between = time.perf_counter()
    hidden = plans.activation((inner + plans.bias).with_keys(keys))
    activated = time.perf_counter()
    (second @ hidden).save(folder / "y.clt")
    seconds = {"first": between - start, "activation": activated - between, "second": time.perf_counter() - activated}
    (folder / "seconds.json").write_text(json.dumps(seconds))


def client_reads(folder: Path, own: Path) -> Array:
    """The client decrypts the block's result; the second bias is added in the clear."""
    plans = block(folder)
    owner = cl.SecretKey.load(own / "secret.clt", plans.params)
    rows, tokens = plans.second.shape[0], np.load(own / "activations.npy").shape[1]
    y = owner.decrypt(cl.Ciphertext.load(folder / "y.clt", plans.params))
    return np.asarray(y.reshape(-1)[: rows * plans.columns].reshape(rows, plans.columns)[:, :tokens] * plans.sizes["outer"])


def picture(path: Path, errors: Array, seconds: dict[str, float]) -> None:
    """Errors of all numbers, and where the time goes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    left.hist(np.log10(np.maximum(abs(errors).reshape(-1), 1e-12)), bins=60, color="#3b6ea5")
    left.set_xlabel("log10 of the error of a number")
    right.bar(list(seconds), list(seconds.values()), color="#a5563b")
    right.set_ylabel("seconds")
    figure.suptitle("Two linear layers and an activation on encrypted numbers")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def process(role: str, folder: Path, own: Path | None = None) -> None:
    """Runs one side as a process of its own."""
    places = ["--folder", str(folder), *(["--own", str(own)] if own else [])]
    subprocess.run([sys.executable, __file__, "--role", role, *places], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", help="parameters [default: boot_fast_batch; insecure_boot with --synthetic]")
    parser.add_argument("--tokens", type=int, default=64, help="how many tokens go through the block [default: 64]")
    parser.add_argument("--error", type=float, default=0.01, help="the largest error of the activation function [default: 0.01]")
    parser.add_argument("--synthetic", action="store_true", help="a small random block: no download")
    parser.add_argument("--output", type=Path, help="a folder for a picture; needs matplotlib")
    parser.add_argument("--role", choices=("send", "compute", "read"), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--own", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == "send":
        client_sends(options.folder, options.own)
        return
    if options.role == "compute":
        server_computes(options.folder)
        return
    if options.role == "read":
        np.save(options.own / "result.npy", client_reads(options.folder, options.own))
        return

    weights, x = model(options.synthetic, options.tokens)
    tokens, preset = x.shape[1], options.preset or ("insecure_boot" if options.synthetic else "boot_fast_batch")
    about = {"preset": preset, "sizes": scales(weights, x), "columns": 1 << (tokens - 1).bit_length(), "error": options.error}
    with tempfile.TemporaryDirectory() as place:
        folder, own = Path(place, "shared"), Path(place, "client")
        folder.mkdir()
        own.mkdir()
        (folder / "about.json").write_text(json.dumps(about))
        np.savez(folder / "weights.npz", **weights)
        np.save(own / "activations.npy", x)
        plans = block(folder)
        print(f"{tokens} tokens; {plans.first!r}, {plans.second!r} under {preset}", flush=True)
        largest = about["sizes"]["inner"]
        print(f"activation: {plans.activation!r}, largest error {plans.error:.1e} of numbers up to {largest:.1f}", flush=True)
        process("send", folder, own)
        keys, numbers = ((folder / name).stat().st_size / 2**20 for name in ("keys.clt", "x.clt"))
        print(f"the client sent {keys:.0f} MiB of keys and {numbers:.1f} MiB of numbers", flush=True)
        process("compute", folder)
        process("read", folder, own)
        found, seconds = np.load(own / "result.npy"), json.loads((folder / "seconds.json").read_text())
    expected = weights["outer.weight"] @ gelu(weights["inner.weight"] @ x + weights["inner.bias"][:, None])
    expected += weights["outer.bias"][:, None]
    errors = found + weights["outer.bias"][:, None] - expected
    total = sum(seconds.values())
    parts = ", ".join(f"{name} {value:.1f} s" for name, value in seconds.items())
    print(f"server: {total:.1f} s, {total / tokens:.3f} s for each token ({parts})")
    mean, largest = np.sqrt(np.mean(errors**2)), abs(expected).max()
    print(f"largest error {abs(errors).max():.1e} of numbers up to {largest:.2f}; root mean square {mean:.1e}")
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        picture(options.output / "mlp.png", errors, seconds)
        print(options.output / "mlp.png")


if __name__ == "__main__":
    main()
