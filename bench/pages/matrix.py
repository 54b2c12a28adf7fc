"""Computed lines and the plot of the page of products of a plain matrix with an encrypted one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plots import Panel, Plot
from report import Line, Results

# Methods: a work, with its number of floating-point products where it has one. Labels and styles in the plot, panels beside the first.
METHODS: dict[str, tuple[str, dict[str, int]]] = {
    "openblas": ("openblas", {}),
    "exact": ("matrix_exact", {}),
    "apart": ("matrix_apart", {}),
    **{f"{name}_{products}": (f"matrix_{name}", {"products": products}) for products in (1, 2) for name in ("own", "prepared")},
}
STYLES = {
    "openblas": ("plain, OpenBLAS", "k.:"),
    "exact": ("exact", "C0o-"),
    "apart": ("exact, rows apart", "C0o:"),
    "own_1": ("prepared, one product", "C1s-"),
    "prepared_1": ("shared masks, one product", "C1s:"),
    "own_2": ("prepared, two products", "C2^-"),
    "prepared_2": ("shared masks, two products", "C2^:"),
}


def sizes(results: Results) -> list[Line]:
    """One line for each preset and size: the row of each method, empty where there is none, and those that tell of keys."""
    lines = []
    for preset, size in dict.fromkeys((row["preset"], row["size"]) for row in results.rows if "preset" in row):
        at = {"size": size, "preset": preset}
        line: dict[str, Any] = {**at, "plain": results.one("matrix_plain", **at) or {}}
        for name, (work, more) in METHODS.items():
            line[name] = results.one(work, **({"size": size} if name == "openblas" else at | more)) or {}
        line |= {name: line[f"{name}_1"] or line[f"{name}_2"] for name in ("own", "prepared")}
        lines.append(line | {"combined": line["own"] or line["prepared"]})
    return lines


def facts(results: Results) -> Line:
    """How the two plain products compare, where both were measured."""
    pairs = [(line["openblas"].get("ms"), line["plain"].get("ms")) for line in sizes(results)]
    ratios = [blas / plain for blas, plain in pairs if blas is not None and plain]
    return {"openblas_least": min(ratios), "openblas_most": max(ratios)} if ratios else {}


def beside(results: Results) -> Iterator[Line]:
    """One line for each size of the paper's Table 3: its numbers and ours, both in seconds, at its parameters."""
    paper = results.paper["pcmm"]
    lz = {row["log_size"]: row["lz_s"] for row in paper["table_7"]}
    ours = {line["size"]: line for line in sizes(results) if line["preset"] == paper["preset"]}
    for theirs in paper["table_3"]:
        rows = ours.get(1 << theirs["log_size"], {})
        seconds = {name: rows[name]["ms"] / 1e3 for name in METHODS if rows.get(name)}
        products = theirs["a_part_s"] + theirs["modular_b_part_s"]
        yield theirs | seconds | {"size": 1 << theirs["log_size"], "rows": rows, "lz_s": lz[theirs["log_size"]], "products_s": products}


def plots(results: Results) -> dict[str, Plot]:
    """Time over the plain product, accuracy, and seconds beside the paper's at its set; without rows of that, of the first set."""
    every, paper = sizes(results), results.paper["pcmm"]
    presets = [line["preset"] for line in every]
    preset = paper["preset"] if paper["preset"] in presets else next(iter(presets), "")
    lines = sorted((line for line in every if line["preset"] == preset), key=lambda line: line["size"])
    common: dict[str, Any] = {"xlog": 2, "xlabel": f"rows of the square matrices, {preset}"}
    over = Panel(title="time over the plain product (gemm)", ylabel="ratio", yscale="log", **common)
    accuracy = Panel(title="accuracy", ylabel="bits, mean error", ylim=(0, None), **common)
    seconds = Panel(title="ordinary ciphertexts to ordinary ciphertexts", ylabel="seconds, one thread", yscale="log", **common)
    for name, (label, style) in STYLES.items():
        rows = [(line["size"], line[name], line["plain"]) for line in lines if line[name]]
        over.line([(size, row["ms"] / plain["ms"]) for size, row, plain in rows if plain], label, style, markersize=4)
        if name != "openblas":
            accuracy.line([(size, row["mean_bits"]) for size, row, _ in rows], label, style, markersize=4)
        if name in ("exact", "own_1", "own_2"):
            seconds.line([(size, row["ms"] / 1e3) for size, row, _ in rows], label, style, markersize=4)
    if preset == paper["preset"]:
        for table, field, label, style in (
            ("table_3", "modular_total_s", "paper, modular", "C0x--"),
            ("table_3", "floating_total_s", "paper, floating-point", "C1x--"),
            ("table_7", "lz_s", "paper, LZ", "k+:"),
        ):
            seconds.line([(1 << row["log_size"], row[field]) for row in paper[table]], label, style, markersize=4)
    return {"": Plot([[over, accuracy, seconds]], (15, 4.5))}
