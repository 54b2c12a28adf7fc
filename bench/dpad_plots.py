"""Plots of the benchmark of ranks: Figures 3 and 4 of dpad-he, drawn from our rows.

Sits in bench/ above dpad.py; needs matplotlib (requirements/dev.txt).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import dpad_paper as paper
from dpad import AS_MADE, HOISTED, KEYS, NAMES, PLAIN, PLANNED, ROTATIONS, SQUARING, Results
from dpad_paper import DPAD, MODHE, RNS_CKKS
from keyswitch import median
from keyswitch_plots import save
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

COLOURS = {RNS_CKKS: "black", MODHE: "C1", DPAD: "C0"}
MARKERS = {1: "o", 2: "s", 4: "^"}
Panel = Callable[..., None]
SETS = {15: ("I", "II", "III"), 16: ("IV", "V", "VI")}


def squaring(axes: Axes, results: Results, log_dimension: int, keys: str) -> None:
    """Seconds since the start over squarings done, dashed where the rank stays, dotted where it falls by one at a time: Figure 3."""
    for name in SETS[log_dimension]:
        rank = paper.set_named(name)["rank"]
        for row in results.all(SQUARING, set=name, keys=keys):
            extra = row["extra"]
            series = extra["series"]
            first = next((point["level"] for point in series), 0)
            # A reduction is a step at the squarings done before it.
            places = [first - point["level"] + (0 if point.get("reduction") else 1) for point in series]
            reduced = extra["reducing"] and rank > 1
            steps = ", reduced" if reduced else ""
            single = extra.get("steps") == "single_steps"
            label = f"{NAMES[extra['scheme']]}, r = {rank}" + (f"{steps} by one" if single else steps)
            axes.plot(
                [0, *places],
                [0.0, *(point["seconds"] for point in series)],
                color=COLOURS[extra["scheme"]],
                linestyle=":" if single else "-" if reduced or rank == 1 else "--",
                marker=MARKERS.get(rank, "."),
                markersize=3,
                linewidth=1,
                label=label,
            )
    title = f"N = $2^{{{log_dimension}}}$, keys {KEYS[keys]}"
    axes.set(title=title, xlabel="squarings", ylabel="seconds since the start", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def rotations_by_count(axes: Axes, results: Results, keys: str) -> None:
    """Milliseconds over the number of rotations, plain dashed: Figure 4 a. Of several temporary ranks the lowest."""
    names = dict.fromkeys(row["extra"]["set"] for row in results.all(ROTATIONS, keys=keys))
    for colour, name in enumerate(names):
        for method, style in ((PLAIN, "--"), (HOISTED, "-")):
            rows = results.all(ROTATIONS, set=name, keys=keys, method=method)
            points: dict[int, tuple[int, float]] = {}
            for row in rows:
                count, found = row["extra"]["rotations"], (row["extra"]["temporary_rank"] or 0, median(row))
                points[count] = min(points.get(count, found), found)
            if points:
                rank = rows[0]["extra"]["rank"]
                lifted = f", r^ = {min(found[0] for found in points.values())}" if method == HOISTED else ""
                label = f"{name}: r = {rank}{lifted}, {'rank-hoisted' if method == HOISTED else 'plain'}"
                counts = sorted(points)
                axes.plot(counts, [points[n][1] for n in counts], style, color=f"C{colour}", marker=".", label=label)
    axes.set(title=f"Consecutive rotations, keys {KEYS[keys]}", xlabel="rotations", ylabel="milliseconds", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def rotations_by_rank(axes: Axes, results: Results, keys: str) -> None:
    """Milliseconds of so many rotations over the temporary rank, a line per set: Figure 4 b."""
    wanted = paper.load()["rotations"]["by_rank"]
    rows = results.all(ROTATIONS, keys=keys, rotations=wanted["rotations"])
    for colour, name in enumerate(dict.fromkeys(row["extra"]["set"] for row in rows)):
        own = [row for row in rows if row["extra"]["set"] == name]
        hoisted = sorted((row["extra"]["temporary_rank"], median(row)) for row in own if row["extra"]["method"] == HOISTED)
        if hoisted:
            axes.plot(*zip(*hoisted, strict=True), "-", color=f"C{colour}", marker="o", label=f"{name}, rank-hoisted")
        for row in (row for row in own if row["extra"]["method"] == PLAIN):
            rank = row["extra"]["rank"]
            axes.plot([rank], [median(row)], color=f"C{colour}", marker="x", linestyle="", label=f"{name}, plain at r = {rank}")
    title = f"{wanted['rotations']} rotations, keys {KEYS[keys]}"
    axes.set(title=title, xlabel="module rank", ylabel="milliseconds", ylim=(0, None))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def draw(results: Results, base: Path) -> list[Path]:
    """Writes BASE-squaring.png and BASE-rotations.png, those that have rows; returns their paths."""
    written = []
    by_dimension: list[Panel] = [partial(squaring, log_dimension=log_dimension) for log_dimension in SETS]
    works: dict[str, tuple[str, list[Panel]]] = {
        "squaring": (SQUARING, by_dimension),
        "rotations": (ROTATIONS, [rotations_by_count, rotations_by_rank]),
    }
    for name, (work, panels) in works.items():
        lines = [keys for keys in (AS_MADE, PLANNED) if results.all(work, keys=keys)]
        if not lines:
            continue
        figure, grid = plt.subplots(len(lines), len(panels), figsize=(11, 4.5 * len(lines)), squeeze=False)
        for row, keys in zip(grid, lines, strict=True):
            for axes, fill in zip(row, panels, strict=True):
                fill(axes, results, keys=keys)
        written.append(save(figure, base.with_name(f"{base.name}-{name}.png")))
    return written
