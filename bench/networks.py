"""Networks as functions of arrays, with random weights: what `cl.compile` makes of their graphs.

Sits in bench/ below programs.py. Numbers have stated bounds, as a trained network's activations have: bounds that hold for all weights
say nothing about so many layers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import clathrate as cl


def bounded(x: Any, bound: float) -> Any:
    """An array whose numbers are known to be small; plain arrays as they are."""
    return x.with_bound(bound) if hasattr(x, "with_bound") else x


def resnet(depth: int = 20, error: float = 0.02) -> Callable[[Any], Any]:
    """A residual network for images (3, 32, 32), of He et al. (2016), whose convolutions hold their normalisations."""
    rng = np.random.default_rng(0)

    def weights(*shape: int) -> Any:
        # So small that no number leaves the bounds.
        return 0.3 * rng.normal(size=shape) / np.sqrt(np.prod(shape[1:]))

    blocks = (depth - 2) // 6
    widths = [(width, 2 if width > 16 and block == 0 else 1) for width in (16, 32, 64) for block in range(blocks)]
    first, last = weights(16, 3, 3, 3), weights(10, 64)
    layers, before = [], 16
    for width, stride in widths:
        shortcut = None if before == width else weights(width, before, 1, 1)
        layers.append((weights(width, before, 3, 3), weights(width, width, 3, 3), shortcut, stride))
        before = width

    def relu(x: Any) -> Any:
        return cl.functions.relu(bounded(x, 1.0), error=error, bound=1.0)

    def network(x: Any) -> Any:
        x = relu(cl.functions.conv2d(x, first, padding=1))
        for one, other, shortcut, stride in layers:
            y = relu(cl.functions.conv2d(x, one, stride=stride, padding=1))
            y = cl.functions.conv2d(y, other, padding=1)
            x = relu(y + (x if shortcut is None else cl.functions.conv2d(x, shortcut, stride=stride)))
        return last @ bounded(x.mean(axis=(-2, -1)), 1.0)

    return network


def transformer(tokens: int, width: int, heads: int, inner: int, error: float = 0.02) -> Callable[[Any], Any]:
    """A block of a transformer's encoder, of Vaswani et al. (2017), with gelu, for `tokens` rows of `width` numbers."""
    rng = np.random.default_rng(0)

    def weights(rows: int, columns: int) -> Any:
        return rng.normal(size=(rows, columns)) / np.sqrt(rows)

    of_queries, of_keys, of_values, mixing = (weights(width, width) for _ in range(4))
    up, down = weights(width, inner), weights(inner, width)

    def normalised(x: Any) -> Any:
        centred = bounded(x - x.mean(axis=-1, keepdims=True), 8.0)
        variance = bounded((centred * centred).mean(axis=-1, keepdims=True), 8.0)
        return bounded(centred * cl.functions.inverse_sqrt(variance + 0.01, domain=(0.05, 9.0), error=error), 8.0)

    def by_heads(x: Any) -> Any:
        return x.reshape(tokens, heads, width // heads).transpose(1, 0, 2)

    def block(x: Any) -> Any:
        queries, keys, values = by_heads(x @ of_queries), by_heads(x @ of_keys), by_heads(x @ of_values)
        scores = np.einsum("hid,hjd->hij", queries, keys) / (2.5 * np.sqrt(width // heads))
        shares = cl.functions.softmax(bounded(scores, 2.5), error=error)
        found = np.einsum("hij,hjd->hid", shares, values).transpose(1, 0, 2).reshape(tokens, width)
        x = normalised(x + bounded(found @ mixing, 8.0))
        hidden = cl.functions.gelu(bounded(x @ up, 8.0), error=error)
        return normalised(x + bounded(hidden @ down, 8.0))

    return block
