"""Draws what the pages say: plots of panels, panels of lines and bars.

Sits in bench/, below the pages; needs matplotlib (requirements/dev.txt) for `draw` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Points = list[tuple[float, float]]


@dataclass
class Panel:
    """Axes with their lines, and bars stacked over named places."""

    title: str = ""
    xlabel: str = ""
    ylabel: str = ""
    xlog: int = 0  # base of a logarithmic axis
    whole: bool = False  # whole numbers alone at the ticks of the x axis
    yscale: str = "linear"
    ylim: tuple[float | None, float | None] = (0, None)
    lines: list[tuple[Points, str, dict[str, Any]]] = field(default_factory=list)
    bars: dict[str, list[float]] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def line(self, points: Iterable[tuple[float, float]], label: str | None, style: str = "", **more: Any) -> None:
        """Adds a line, if it has any point."""
        if found := list(points):
            self.lines.append((found, style, {"label": label, **more}))


@dataclass
class Plot:
    """Panels in rows, and inches of all of them."""

    panels: Sequence[Sequence[Panel]]
    inches: tuple[float, float]

    def empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(panel.lines or panel.bars for row in self.panels for panel in row)


def fill(axes: Any, panel: Panel) -> None:
    """Draws a panel into axes of matplotlib."""
    from matplotlib.ticker import MaxNLocator

    for points, style, more in panel.lines:
        axes.plot(*zip(*points, strict=True), *([style] if style else []), **more)
    bottoms = [0.0] * len(panel.places)
    for label, heights in panel.bars.items():
        axes.bar(range(len(heights)), heights, bottom=bottoms, label=label)
        bottoms = [bottom + height for bottom, height in zip(bottoms, heights, strict=True)]
    if panel.bars:
        axes.set_xticks(range(len(panel.places)), panel.places, fontsize=7)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel, yscale=panel.yscale)
    if panel.yscale == "linear":
        axes.set(ylim=panel.ylim)
    if panel.xlog:
        axes.set_xscale("log", base=panel.xlog)
    if panel.whole:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=7, handlelength=4)


def draw(plots: Mapping[str, Plot], stem: Path) -> list[Path]:
    """Writes STEM-NAME.png, or STEM.png for a plot without a name, of those that have anything to draw; returns their paths."""
    found = {name: plot for name, plot in plots.items() if not plot.empty()}
    if not found:
        return []
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    written = []
    for name, plot in found.items():
        figure, grid = plt.subplots(len(plot.panels), len(plot.panels[0]), figsize=plot.inches, squeeze=False)
        for axes, panel in zip(grid.flat, (panel for row in plot.panels for panel in row), strict=True):
            fill(axes, panel)
        figure.tight_layout()
        written.append(stem.with_name(f"{stem.name}-{name}.png" if name else f"{stem.name}.png"))
        # The same rows give the same bytes: no date, no version.
        figure.savefig(written[-1], dpi=120, metadata={"Software": None})
        plt.close(figure)
    return written
