"""Writes the table of docs/performance.md from bench/results/*.json.

    python bench/overview.py            # write it
    python bench/overview.py --check    # fail if the page differs from the results

Sits in bench/; standard library only.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import BENCH, OURS, RESULTS, grid, machine_line, number, parse_rows, unique

PAGE = BENCH.parent / "docs" / "performance.md"
BEGIN, END = "<!-- OVERVIEW: written by bench/overview.py -->", "<!-- END OF OVERVIEW -->"


@dataclass(frozen=True)
class Line:
    """A line of the table: what is done, and the row of results/NAME.json that says how long it takes."""

    what: str
    name: str
    params: str
    work: str


LINES = (
    Line("encode as many numbers as there are slots", "ckks", "n14", "encode"),
    Line("encrypt them", "ckks", "n14", "encrypt"),
    Line("decrypt and decode them", "ckks", "n14", "decrypt_decode"),
    Line("a sum of ciphertexts", "ckks", "n14", "add"),
    Line("a product of ciphertexts, relinearised and rescaled", "ckks", "n14", "multiply_relinearise_rescale"),
    Line("a rotation", "ckks", "n14", "rotate"),
    Line("a bootstrap", "bootstrap", "boot_n15", "bootstrap"),
    Line("a bootstrap", "bootstrap", "boot_default", "bootstrap"),
)


def overview(lines: Sequence[Line] = LINES, results: Path = RESULTS) -> str:
    """The table, and what it was measured on.

    Errors: ValueError for a line without a row of ours in the results, or with more than one.
    """
    read = {name: parse_rows((results / f"{name}.json").read_text()) for name in unique(line.name for line in lines)}
    body = []
    for line in lines:
        rows = [row for row in read[line.name][1] if (row["params"], row["work"], row["who"]) == (line.params, line.work, OURS)]
        if len(rows) != 1 or "absent" in rows[0]:
            raise ValueError(
                f"results/{line.name}.json has {len(rows)} rows of {OURS} for {line.work} of {line.params}: one with a time is needed"
            )
        body.append([line.what, f"`{rows[0]['extra']['preset']}`", str(rows[0]["extra"]["degree"]), number(rows[0]["median_ms"])])
    measured = [f"- [{name}](../bench/results/{name}.md): {machine_line(about)}" for name, (about, _) in read.items()]
    return "\n".join([*grid(["operation", "parameters", "degree", "milliseconds"], body), "", "Measured on:", "", *measured])


def filled(page: str, table: str) -> str:
    """The page with this table between its marks.

    Errors: ValueError for a page that does not have each mark once, in order.
    """
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs the lines {BEGIN!r} and {END!r}, once each and in this order")
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if the page differs")
    options = parser.parse_args(arguments)
    page = PAGE.read_text(encoding="utf-8")
    expected = filled(page, overview())
    if options.check:
        if page != expected:
            print(f"{PAGE} differs from the results: run python bench/overview.py", file=sys.stderr)
        return int(page != expected)
    PAGE.write_text(expected, encoding="utf-8")
    print(PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
