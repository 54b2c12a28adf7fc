"""Computed lines of the page of predicted times."""

from __future__ import annotations

import statistics

from report import Line, Results


def worst_first(results: Results) -> list[Line]:
    """The rows, those first whose predictions are off the most."""
    lines = []
    for row in results.rows:
        if row["work"] == "price" and "factor" in row:
            operation, preset = row["params"].split("; ")
            lines.append({**row, "operation": operation, "preset": preset})
    return sorted(lines, key=lambda line: -line["factor"])


def facts(results: Results) -> Line:
    """How far predictions are off."""
    lines = worst_first(results)
    if not lines:
        return {"count": 0, "median": None, "within": None, "worst": None, "untuned": None}
    factors = [line["factor"] for line in lines]
    ratios = [line["ms"] / line["built_in_ms"] for line in lines]
    return {
        "count": len(lines),
        "median": statistics.median(factors),
        "within": f"{100 * sum(factor <= 1.5 for factor in factors) / len(factors):.0f} %",
        "worst": max(factors),
        "untuned": statistics.median(max(ratio, 1 / ratio) for ratio in ratios),
    }
