"""Computed lines and the plot of the page of products of two encrypted matrices."""

from __future__ import annotations

from plots import Panel, Plot
from report import Line, Results

# Label and style of each work in the plot.
WORKS = {
    "pair_plain": ("plain, gemm", "k.--"),
    "openblas": ("plain, OpenBLAS", "k.:"),
    "pair_residues": ("by residues", "C0o-"),
    "pair_slots": ("slot by slot", "C1s-"),
}


def sizes(results: Results) -> list[Line]:
    """One line for each size, ascending: milliseconds by work, and the rows of encrypted products."""
    lines = []
    for size in sorted({row["size"] for row in results.rows if "size" in row}):
        times = {work: results.ms(work, size=size) for work in WORKS}
        residues, slots = (results.one(work, size=size) or {} for work in ("pair_residues", "pair_slots"))
        lines.append({"size": size, **times, "residues": residues, "slots": slots, "predicted": residues.get("predicted_ms")})
    return lines


def plots(results: Results) -> dict[str, Plot]:
    """Time over the size."""
    panel = Panel(xlabel="rows of the square matrices", ylabel="seconds, one thread", xlog=2, yscale="log")
    for work, (label, style) in WORKS.items():
        panel.line(((line["size"], line[work] / 1e3) for line in sizes(results) if line[work] is not None), label, style)
    return {"": Plot([[panel]], (6, 4))}
