"""Plots of the benchmark of batch bootstrapping and products inside it: time over the size of a batch, and over that of a matrix.

Sits in bench/ above mambo.py; needs matplotlib (requirements/dev.txt).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from mambo import BATCH, PRODUCT, each, fills_one_mask
from matplotlib import pyplot as plt
from tables import Row, unique


def _over_bodies(rows: list[Row], path: Path) -> Path:
    """Measured and predicted times of one polynomial over the polynomials under a mask, in units of those of one."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    alone = [row for row in rows if row["extra"]["threads"] == 1]
    for index, preset in enumerate(unique(row["extra"]["preset"] for row in alone)):
        for method, marker in (("real", "o"), ("pairs", "s")):
            own = [row for row in alone if (row["extra"]["preset"], row["extra"]["method"]) == (preset, method)]
            over = [(row["extra"]["bodies"], each(row) / row["extra"]["alone_ms"], fills_one_mask(row)) for row in own]
            points = sorted((x, y) for x, y, fills in over if fills)
            larger = sorted((x, y) for x, y, fills in over if not fills)
            curve = [(point["bodies"], point["predicted_ms_each"]) for row in own for point in row["extra"]["curve"]]
            if not points:
                continue
            axes.plot([x for x, _ in points], [y for _, y in points], f"C{index}{marker}-", label=f"{preset}, {method}")
            axes.plot([x for x, _ in larger], [y for _, y in larger], f"C{index}x", markersize=9)
            predicted = next((row["extra"]["curve"] for row in alone if row["extra"]["preset"] == preset and row["extra"]["curve"]), None)
            if curve and predicted:
                first = predicted[0]["predicted_ms_each"]
                axes.plot([x for x, _ in curve], [y / first for _, y in curve], f"C{index}:")
    axes.set(
        xlabel="polynomials under one mask (dotted: predicted; crosses: batches of 32)",
        ylabel="time of each over that of one real polynomial alone",
        ylim=(0, 1.1),
    )
    axes.set_xscale("log", base=2)
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def _over_rows(rows: list[Row], path: Path) -> Path:
    """Seconds of one polynomial of real numbers over the rows of the matrix."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for index, preset in enumerate(unique(row["extra"]["preset"] for row in rows)):
        alone = [row for row in rows if row["extra"]["preset"] == preset and row["extra"]["threads"] == 1]
        own = sorted(((row["extra"]["rows"], row) for row in alone), key=lambda pair: pair[0])
        sizes = [size for size, _ in own]
        lines = {
            "with the product": ([row["median_ms"] / row["extra"]["polys"] / 2e3 for _, row in own], "o-"),
            "bootstrap alone": ([row["extra"]["bootstrap_ms"] / 2e3 for _, row in own], "s--"),
            "product alone": ([row["extra"]["product_ms"] / row["extra"]["polys"] / 2e3 for _, row in own], "^:"),
        }
        for label, (times, style) in lines.items():
            axes.plot(sizes, times, f"C{index}{style}", label=f"{preset}, {label}")
    axes.set(xlabel="rows of the square matrices", ylabel="seconds for each polynomial, one thread")
    axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return path


def draw(rows: Iterable[Row], stem: Path) -> list[Path]:
    """Draws STEM-batch.png and STEM-rows.png, where there is anything to draw, and returns their paths."""
    measured = [row for row in rows if "absent" not in row]
    batches, products = ([row for row in measured if row["work"] == work] for work in (BATCH, PRODUCT))
    paths = []
    if batches:
        paths.append(_over_bodies(batches, stem.with_name(f"{stem.name}-batch.png")))
    if products:
        paths.append(_over_rows(products, stem.with_name(f"{stem.name}-rows.png")))
    return paths
