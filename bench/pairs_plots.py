"""The plot of the benchmark of products of two encrypted matrices: time over the size.

Sits in bench/ above pairs.py; needs matplotlib (requirements/dev.txt).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from pairs import OPENBLAS, PLAIN, RESIDUES, SLOTS, by_size
from tables import Row

LINES = {
    PLAIN: ("plain, gemm", "k.--"),
    OPENBLAS: ("plain, OpenBLAS", "k.:"),
    RESIDUES: ("by residues", "C0o-"),
    SLOTS: ("slot by slot", "C1s-"),
}


def draw(rows: Iterable[Row], stem: Path) -> list[Path]:
    """Draws STEM.png, if there is anything to draw, and returns its path."""
    sizes = by_size(row for row in rows if "absent" not in row)
    if not sizes:
        return []
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for work, (label, style) in LINES.items():
        points = [(size, measured[work]["median_ms"] / 1e3) for size, measured in sizes.items() if work in measured]
        if points:
            axes.plot(*zip(*points, strict=True), style, label=label)
    axes.set(xlabel="rows of the square matrices", ylabel="seconds, one thread", yscale="log")
    axes.set_xscale("log", base=2)
    axes.legend()
    path = stem.with_suffix(".png")
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return [path]
