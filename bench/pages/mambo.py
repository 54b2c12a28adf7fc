"""Computed lines and the plots of the page of batches of bootstraps and of products inside bootstraps."""

from __future__ import annotations

from collections.abc import Iterator

from plots import Panel, Plot
from report import Line, Results
from rows import Row

LINEAR = ("slots to coefficients", "modulus raise", "coefficients to slots")


def linear_maps(stages: list[Row]) -> float:
    """Milliseconds of the linear maps."""
    return float(sum(stage["median_ms"] for stage in stages if stage["stage"] in LINEAR))


def batches(results: Results) -> Iterator[Line]:
    """One line for each batch, times of stages for each polynomial of real numbers."""
    for row in results.all("batch_bootstrap"):
        polys = row["polys"]
        stages = dict.fromkeys((*LINEAR, "split", "modular reduction"), 0.0)
        stages |= {stage["stage"]: stage["median_ms"] / polys for stage in row["stages"]}
        maps = {"maps": linear_maps(row["stages"]) / polys, "alone_maps": linear_maps(row["alone_stages"])}
        yield row | stages | maps | {"each": row["ms"] / polys}


def curves(results: Results) -> Iterator[Line]:
    """What all numbers of polynomials under a mask are predicted to take."""
    for row in results.all("batch_bootstrap"):
        for point in row["curve"]:
            yield row | point | {"first": row["curve"][0]["predicted_ms_each"]}


def readings(results: Results) -> Iterator[Line]:
    """One line for each set and number of threads; what is saved, of one thread."""
    for row in results.all("one_reading"):
        apart, together = row["ms"] / row["ciphertexts"], row["together_ms"] / row["ciphertexts"]
        line = row | {"apart": apart, "together": together}
        if row["threads"] == 1:
            line |= {"ratio": together / apart, "saved": 100 * (apart - together) / row["product_ms"]}
        yield line


def both(results: Results) -> Iterator[Line]:
    """Batches of one thread, as measured and with what one reading of all keys would save at most."""
    for line in batches(results):
        reading = next(iter(results.all("one_reading", preset=line["preset"], threads=line["threads"])), None)
        if reading is not None and line["threads"] == 1:
            saved = max((reading["ms"] - reading["together_ms"]) / reading["rows"], 0.0)
            yield line | {"less": line["each"] - saved * line["key_rows"] / line["polys"]}


def products(results: Results) -> Iterator[Line]:
    """One line for each size. Two polynomials of real numbers are one of complex numbers."""
    for row in results.all("mambo"):
        polys, alone = row["polys"], row["alone_ms"]
        whole, product = row["ms"] / polys, row["product_ms"] / polys
        line = row | {"complex": whole, "each": whole / 2, "product": product / 2, "predicted": row["predicted_ms"] / polys / 2}
        # The product for each polynomial of complex numbers, after a bootstrap of two real ones one by one.
        line |= {"apart": None if alone is None else 2 * alone[0] + product, "timed": "whole" if row["whole"] else "parts"}
        # Of parts, what was measured is the error of the product alone.
        yield line if row["whole"] else line | {"mean_bits": None, "worst_bits": None}


def fills_one_mask(row: Line) -> bool:
    """Whether the polynomials of a batch share one mask, two of them in one where they are pairs; larger batches take several."""
    return bool(row["polys"] == row["bodies"] * (2 if row["method"] == "pairs" else 1))


def over_bodies(lines: list[Line]) -> Panel:
    """Measured and predicted times of one polynomial over the polynomials under a mask, in units of those of one."""
    xlabel, ylabel = "polynomials under one mask (dotted: predicted; crosses: batches of 32)", "time of each over one real polynomial alone"
    panel = Panel("", xlabel, ylabel, xlog=2, ylim=(0, 1.1))
    for index, preset in enumerate(dict.fromkeys(line["preset"] for line in lines)):
        first = next((line["curve"][0]["predicted_ms_each"] for line in lines if line["preset"] == preset and line["curve"]), None)
        for method, marker in (("real", "o"), ("pairs", "s")):
            own = [line for line in lines if (line["preset"], line["method"]) == (preset, method)]
            points = {
                fills: sorted((x["bodies"], x["each"] / x["alone_ms"]) for x in own if fills_one_mask(x) == fills)
                for fills in (True, False)
            }
            if points[True]:
                panel.line(points[True], f"{preset}, {method}", f"C{index}{marker}-")
                panel.line(points[False], None, f"C{index}x", markersize=9)
                if first:
                    curve = [(point["bodies"], point["predicted_ms_each"] / first) for line in own for point in line["curve"]]
                    panel.line(curve, None, f"C{index}:")
    return panel


def over_rows(lines: list[Line]) -> Panel:
    """Seconds of one polynomial of real numbers over the rows of the matrix."""
    panel = Panel("", "rows of the square matrices", "seconds for each polynomial, one thread", xlog=2)
    for index, preset in enumerate(dict.fromkeys(line["preset"] for line in lines)):
        own = sorted((line for line in lines if line["preset"] == preset), key=lambda line: line["rows"])
        panel.line([(line["rows"], line["each"] / 1e3) for line in own], f"{preset}, with the product", f"C{index}o-")
        panel.line([(line["rows"], line["bootstrap_ms"] / 2e3) for line in own], f"{preset}, bootstrap alone", f"C{index}s--")
        panel.line([(line["rows"], line["product"] / 1e3) for line in own], f"{preset}, product alone", f"C{index}^:")
    return panel


def plots(results: Results) -> dict[str, Plot]:
    """Times of one thread over the size of a batch, and over that of a matrix."""
    batch, product = ([line for line in lines(results) if line["threads"] == 1] for lines in (batches, products))
    return {"batch": Plot([[over_bodies(batch)]], (6, 4)), "rows": Plot([[over_rows(product)]], (6, 4))}
