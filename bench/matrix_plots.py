"""The plot of the benchmark of products of a plain matrix with an encrypted one, at the paper's parameters: time over the plain product,
accuracy, and seconds beside the paper's.

Sits in bench/ above matrix.py; needs matplotlib (requirements/dev.txt).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matrix import APART, EXACT, NAMES, OPENBLAS, OWN, OWN_ONE, OWN_TWO, PARTS, PLAIN, PREPARED_ONE, PREPARED_TWO, WHOLE, Method, by_size
from tables import BENCH, Row

STYLES: dict[Method, str] = {
    OPENBLAS: "k.:",
    EXACT: "C0o-",
    APART: "C0o:",
    OWN_ONE: "C1s-",
    PREPARED_ONE: "C1s:",
    OWN_TWO: "C2^-",
    PREPARED_TWO: "C2^:",
}
# The paper's totals: its field, the label, the style.
THEIRS = (("modular_total_s", "paper, modular", "C0x--"), ("floating_total_s", "paper, floating-point", "C1x--"))


def line(axes: Axes, points: Iterable[tuple[int, float]], style: str, label: str) -> None:
    """A line, if there is any point."""
    if found := list(points):
        axes.plot(*zip(*found, strict=True), style, markersize=4, label=label)


def draw(rows: Iterable[Row], stem: Path) -> list[Path]:
    """Draws STEM.png, if there is anything to draw, and returns its path.

    It shows the paper's parameter set; without rows of that, the first set without the paper's numbers.
    """
    every = by_size(rows)
    if not every:
        return []
    paper = json.loads((BENCH / "paper" / "pcmm.json").read_text())
    presets = [preset for preset, _ in every]
    preset = paper["preset"] if paper["preset"] in presets else presets[0]
    sizes = {size: measured for (own, size), measured in sorted(every.items()) if own == preset}
    figure, (over, exactness, beside) = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    plain = {size: measured[PLAIN]["median_ms"] for size, measured in sizes.items() if PLAIN in measured}
    for method, style in STYLES.items():
        found = {size: measured[method] for size, measured in sizes.items() if method in measured}
        line(over, ((size, row["median_ms"] / plain[size]) for size, row in found.items() if size in plain), style, NAMES[method])
        if method in (*WHOLE, *PARTS):
            line(exactness, ((size, row["extra"]["mean_bits"]) for size, row in found.items()), style, NAMES[method])
        if method in (EXACT, *OWN):
            line(beside, ((size, row["median_ms"] / 1e3) for size, row in found.items()), style, NAMES[method])
    if preset == paper["preset"]:
        for field, label, style in THEIRS:
            line(beside, ((1 << theirs["log_size"], theirs[field]) for theirs in paper["table_3"]), style, label)
        lz = ((1 << theirs["log_size"], theirs["lz_s"]) for theirs in paper["table_7"])
        line(beside, lz, "k+:", "paper, LZ")
    over.set(title="time over the plain product (gemm)", ylabel="ratio", yscale="log")
    exactness.set(title="accuracy", ylabel="bits, mean error", ylim=(0, None))
    beside.set(title="ordinary ciphertexts to ordinary ciphertexts", ylabel="seconds, one thread", yscale="log")
    for axes in (over, exactness, beside):
        axes.set_xscale("log", base=2)
        axes.set_xlabel(f"rows of the square matrices, {preset}")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, handlelength=4)
    path = stem.with_suffix(".png")
    # The same rows give the same bytes: no date, no version.
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
    return [path]
