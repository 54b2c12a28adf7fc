"""Computed lines of the page of jobs on arrays."""

from __future__ import annotations

from report import Line, Results


def jobs(results: Results) -> list[Line]:
    """Our rows with the times of the others."""
    times = {(row["who"], row["params"]): row["median_ms"] for row in results.rows if row["work"] == "job" and "median_ms" in row}
    return [
        {
            **row,
            "job": row["params"],
            "tenseal": times.get(("tenseal", row["params"])),
            "numpy": times.get(("openfhe-numpy", row["params"])),
        }
        for row in results.rows
        if row["work"] == "job" and row["who"] == "clathrate" and "median_ms" in row
    ]
