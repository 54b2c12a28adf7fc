"""Writes the table of docs/performance.md from bench/results/*.json: python bench/overview.py. Sits in bench/ above report.py."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from report import grid, number
from rows import BENCH, OURS, RESULTS, machine_line, parse_rows

PAGE = BENCH.parent / "docs" / "performance.md"
BEGIN, END = "<!-- OVERVIEW: written by bench/overview.py -->", "<!-- END OF OVERVIEW -->"

# Lines of the table: what is done, and the results, parameter set and work that say how long it takes.
LINES = (
    ("encode as many numbers as there are slots", "ckks", "n14", "encode"),
    ("encrypt them", "ckks", "n14", "encrypt"),
    ("decrypt and decode them", "ckks", "n14", "decrypt_decode"),
    ("a sum of ciphertexts", "ckks", "n14", "add"),
    ("a product of ciphertexts, relinearised and rescaled", "ckks", "n14", "multiply_relinearise_rescale"),
    ("a rotation", "ckks", "n14", "rotate"),
    ("a bootstrap", "bootstrap", "boot_n15", "bootstrap"),
    ("a bootstrap", "bootstrap", "boot_default", "bootstrap"),
)


def overview(lines: Sequence[tuple[str, str, str, str]] = LINES, results: Path = RESULTS) -> str:
    """The table, and what it was measured on.

    Errors: ValueError for a line without a row of ours in the results, or with more than one.
    """
    read = {name: parse_rows((results / f"{name}.json").read_text()) for _, name, _, _ in lines}
    body = []
    for what, name, params, work in lines:
        rows = [row for row in read[name][1] if (row["params"], row["work"], row["who"]) == (params, work, OURS)]
        if len(rows) != 1 or "absent" in rows[0]:
            raise ValueError(f"results/{name}.json has {len(rows)} rows of {OURS} for {work} of {params}: one with a time is needed")
        body.append([what, f"`{rows[0]['extra']['preset']}`", str(rows[0]["extra"]["degree"]), number(rows[0]["median_ms"])])
    measured = [f"- [{name}](../bench/results/{name}.md): {machine_line(about)}" for name, (about, _) in read.items()]
    return "\n".join([grid(["operation", "parameters", "degree", "milliseconds"], body), "", "Measured on:", "", *measured])


def filled(page: str, table: str) -> str:
    """The page with this table between its marks.

    Errors: ValueError for a page that does not have each mark once, in order.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs the lines {BEGIN!r} and {END!r}, once each and in this order")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), overview()), encoding="utf-8")
    print(PAGE)
