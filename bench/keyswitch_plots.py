"""Plots of the key switching benchmark: Figures 1 and 2 of klss and Figure 1 of level-aware, drawn from our rows.

Sits in bench/ above keyswitch.py; needs matplotlib (requirements/dev.txt).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import papers
from keyswitch import HYBRID, KLSS, KLSS_PRESETS, LEVEL_PRESET, SPLIT, Results, choice, split_rows
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

STYLES = {HYBRID: "s--", KLSS: "o-"}
LABELS = {"ntt": "NTT", "inner_product": "inner product", "conversion": "conversion"}


def over_primes(axes: Axes, results: Results, log_degree: int) -> bool:
    """Time over the number of all primes, a line per method and digit length: klss Figure 1."""
    rows = papers.klss_rows(log_degree)
    drawn = False
    for digit in sorted({row["digit"] for row in rows}):
        for method, style in STYLES.items():
            points = []
            for row in (row for row in rows if row["digit"] == digit):
                at = {"preset": KLSS_PRESETS[log_degree], "primes": row["primes"], "digit": digit, "method": method}
                ours = results.fastest("switch", **at)
                points += [(row["all_primes"], ours["median_ms"])] if ours is not None else []
            if points:
                axes.plot(*zip(*points, strict=True), style, markersize=4, color=f"C{digit - 1}", label=f"{method}, r = {digit}")
                drawn = True
    axes.set(title=f"N = $2^{{{log_degree}}}$", xlabel="primes of QP", ylabel="milliseconds per switch", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return drawn


def over_levels(axes: Axes, results: Results) -> bool:
    """Time over the level, a line per digit length and one for the plan: level-aware Figure 1."""
    lines = [(f"r = {digit}", "switch", {"method": HYBRID, "digit": digit}) for digit in papers.load("level_aware")["switch"]["digit"]]
    drawn = False
    for label, work, wanted in [*lines, ("planned", "switch_planned", {})]:
        rows = results.all(work, preset=LEVEL_PRESET, **wanted)
        points = sorted((row["extra"]["primes"], row["median_ms"]) for row in rows)
        if points:
            style = {"color": "black", "linewidth": 2} if work == "switch_planned" else {"linestyle": "--", "marker": "."}
            axes.plot(*zip(*points, strict=True), label=label, **style)
            drawn = True
    axes.set(title="N = $2^{16}$, 40 primes", xlabel="ciphertext primes", ylabel="milliseconds per switch", yscale="log")
    return drawn


def split_bars(axes: Axes, results: Results) -> bool:
    """What a switch spends its time on, a stacked bar per method and digit length: klss Figure 2."""
    rows = split_rows(results)
    names, bottoms = [choice(row).replace(" ", "\n") for row in rows], [0.0] * len(rows)
    for part in SPLIT:
        heights = [row["extra"]["split_ms"][part] for row in rows]
        axes.bar(range(len(rows)), heights, bottom=bottoms, label=LABELS[part])
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    axes.set_xticks(range(len(rows)), names, fontsize=7)
    axes.set(title="N = $2^{16}$, 48 primes", ylabel="milliseconds per switch")
    return bool(rows)


def save(figure: Figure, path: Path) -> Path:
    """Writes and closes a figure with its legends."""
    for axes in figure.axes:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(fontsize=7, handlelength=4)
    figure.tight_layout()
    # The same rows give the same bytes: no date, no version.
    figure.savefig(path, dpi=120, metadata={"Software": None})
    plt.close(figure)
    return path


def draw(results: Results, base: Path) -> list[Path]:
    """Writes BASE-primes.png, BASE-split.png and BASE-levels.png, those that have rows; returns their paths."""
    written = []
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.5))
    drawn = [over_primes(axes, results, log_degree) for axes, log_degree in zip(panels, KLSS_PRESETS, strict=True)]
    plots = [("primes", figure, any(drawn))]
    for name, fill, size in (("split", split_bars, (9, 4.5)), ("levels", over_levels, (7, 4.5))):
        figure, axes = plt.subplots(figsize=size)
        plots.append((name, figure, fill(axes, results)))
    for name, figure, has_rows in plots:
        if has_rows:
            written.append(save(figure, base.with_name(f"{base.name}-{name}.png")))
        else:
            plt.close(figure)
    return written
