"""Writes the page of a benchmark, bench/results/NAME.md, from the rows of NAME.json.

Sits in bench/ above rows.py and below run.py; needs matplotlib for plots alone. bench/pages/PAGE.toml declares a page, as bench/README.md
says; what is no field of a row is computed by a function of bench/pages/PAGE.py that the declaration names.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import operator
import string
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plots import draw
from rows import BENCH, Row, machine_line, parse_rows

PAGES, PAPERS = BENCH / "pages", BENCH / "paper"
Line = dict[str, Any]


def number(value: float) -> str:
    """Three significant digits without an exponent: 0.0123, 1.23, 12.3, 1234."""
    if value == 0:
        return "0"
    decimals = 0
    while decimals < 6 and abs(value) * 10**decimals < 100:
        decimals += 1
    return f"{value:.{decimals}f}"


def power(value: int) -> str:
    """Powers of two as such."""
    return f"2^{value.bit_length() - 1}" if value & (value - 1) == 0 else str(value)


# What may stand after the colon of a field, beside Python's formats.
FORMATS: dict[str, Callable[[Any], str]] = {
    "number": number,
    "printed": str,  # all digits
    "words": lambda name: name.replace("_", " "),
    "power": power,
    "x": lambda value: f"{value:.2f}x",
    "percent": lambda value: f"{value:.0%}",
    "%": lambda value: f"{100 * value:.0f} %",
    "seconds": lambda value: number(value / 1e3),  # of milliseconds
    "seconds.2": lambda value: f"{value / 1e3:.2f}",
    "verdict": lambda met: "met" if met else "**missed**",
    "MB": lambda value: number(value / 1e6),
    "MiB in MB": lambda value: number(value * 2**20 / 1e6),
    "GB": lambda value: number(value / 1e9),
    "GiB": lambda value: f"{value / (1 << 30):.2f}",
    "GiB.1": lambda value: f"{value / (1 << 30):.1f}",
    "MiB": lambda value: f"{value / (1 << 20):.0f}",
}


class Template(string.Formatter):
    """Python's format strings with the formats above and quotients, `{a over b}`; "-" stands for what there is not."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return kwargs.get(str(key))

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        over, _, under = field_name.partition(" over ")
        if under:
            above, below = (self.get_field(name, args, kwargs)[0] for name in (over, under))
            return None if above is None or not below else above / below, field_name
        try:
            return super().get_field(field_name, args, kwargs)
        except (KeyError, TypeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "-"
        if not format_spec and isinstance(value, float):
            return number(value)
        return FORMATS[format_spec](value) if format_spec in FORMATS else format(value, format_spec)

    def cell(self, template: str, line: Line) -> str:
        """A template filled in for a table; "-" where all its fields are missing."""
        fields = [field for _, field, _, _ in self.parse(template) if field]
        if fields and all(self.get_field(field, (), line)[0] is None for field in fields):
            return "-"
        return self.vformat(template, (), line).replace("|", "/")


TEMPLATE = Template()


def grid(heads: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in (heads, ["---"] * len(heads), *body))


def goal(name: str, wanted: str, measured: str, met: bool) -> Line:
    """A line of a table of goals."""
    return {"goal": name, "wanted": wanted, "measured": measured, "met": met}


class Page:
    """A declaration, bench/pages/NAME.toml, with the functions of NAME.py where there is one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.declared: dict[str, Any] = tomllib.loads((PAGES / f"{name}.toml").read_text())
        self.functions = importlib.import_module(f"pages.{name}") if (PAGES / f"{name}.py").exists() else None
        self.papers = {paper: json.loads((PAPERS / f"{paper}.json").read_text()) for paper in self.declared.get("papers", [])}

    def call(self, name: str, results: Results) -> Any:
        """What a function of the page says; an empty dictionary where the page has none of this name."""
        return getattr(self.functions, name)(results) if hasattr(self.functions, name) else {}


@functools.cache
def pages() -> list[Page]:
    """All pages."""
    return [Page(path.stem) for path in sorted(PAGES.glob("*.toml"))]


def page_of(results: str) -> Page:
    """The page of results by their name: one of its runs has it, with "-quick" after it or not."""
    wanted = results.removesuffix("-quick")
    found = [page for page in pages() if wanted in (run.get("results", page.name) for run in page.declared["run"])]
    if not found:
        raise ValueError(f"no page in bench/pages has a run with results {wanted}")
    return found[0]


def missing(row: Row) -> str:
    """What has no number."""
    return ", ".join(name for name in (row["work"], row["params"]) if name != "*") or "the rest of a run"


class Results:
    """Rows that a page's declaration allows, flat: with the fields of `extra` beside the others, and the median as `ms`.

    Errors: ValueError for a row of an unknown work, without a needed field or with a wrong value in it, and for two rows of one thing.
    """

    def __init__(self, page: Page, rows: Iterable[Row]) -> None:
        self.page, self.paper = page, page.papers
        self.every = list(rows)
        self.absent = [row | {"what": missing(row)} for row in self.every if "absent" in row]
        self.rows: list[Row] = []
        seen = set()
        for row in self.every:
            if "absent" in row:
                continue
            flat = {**(row.get("extra") or {}), **row, "ms": float(row["median_ms"])}
            flat |= {field: self.canonical(field, flat[field]) for field in page.declared.get("same", {}) if field in flat}
            identity = self._identity(flat)
            if identity in seen:
                raise ValueError(f"two rows for {row['work']} at {row['params']}")
            seen |= {identity} if identity else set()
            self.rows.append(flat)

    def canonical(self, field: str, value: Any) -> Any:
        """The one name of what has two."""
        return self.page.declared.get("same", {}).get(field, {}).get(value, value)

    def _identity(self, row: Row) -> tuple[Any, ...]:
        """What tells a row from the others of its work, empty where nothing has to. Checks the row by the rules of its work."""
        rules = [rule for rule in self.page.declared.get("rows", []) if row["work"] in rule["works"].split()]
        if not rules and "rows" in self.page.declared:
            raise ValueError(f"there is no table for {row['work']} at {row['params']}")
        unique: tuple[Any, ...] = ()
        for rule in rules:
            if any(row.get(field) != value for field, value in rule.get("where", {}).items()):
                continue
            needed = rule.get("needs", "").split()
            if lacking := [field for field in needed if field not in row]:
                raise ValueError(f"the row {row['work']} at {row['params']} lacks {', '.join(lacking)}")
            for field, values in self.page.declared.get("values", {}).items():
                if field in needed and row[field] not in values:
                    raise ValueError(f"the row {row['work']} at {row['params']}: {field} is {row[field]!r}")
            if "unique" in rule:
                unique = (row["work"], row["who"], *(row.get(field) for field in rule["unique"].split()))
        return unique

    def all(self, work: str, **wanted: Any) -> list[Row]:
        """The rows of a work that have these values."""
        wanted = {field: self.canonical(field, value) for field, value in wanted.items()}
        return [row for row in self.rows if row["work"] == work and all(row.get(k) == v for k, v in wanted.items())]

    def one(self, work: str, **wanted: Any) -> Row | None:
        """The only such row, the fastest if the values leave several."""
        return min(self.all(work, **wanted), key=lambda row: row["ms"], default=None)

    def speed(self, work: str) -> float | None:
        """10^9 bytes a second of a work whose rows say how many bytes were read and written."""
        row = self.one(work)
        return None if row is None else row["bytes"] / row["ms"] / 1e6

    def ms(self, work: str, **wanted: Any) -> float | None:
        """The time of that row, if there is one."""
        row = self.one(work, **wanted)
        return None if row is None else row["ms"]


def table(section: Mapping[str, Any], lines: Sequence[Line]) -> str:
    """Lines with the columns that a section declares, "head | template" or a field alone; with their own ones where it declares none."""
    if "item" in section:
        return "\n".join(f"- {TEMPLATE.vformat(section['item'], (), line)}" for line in lines)
    if "columns" not in section:
        names = list(lines[0])
        return grid([name.replace("_", " ") for name in names], [[str(line.get(name, "")) for name in names] for line in lines])
    columns = [(head, template or f"{{{head}}}") for head, _, template in (column.partition(" | ") for column in section["columns"])]
    return grid([head for head, _ in columns], [[TEMPLATE.cell(template, line) for _, template in columns] for line in lines])


def lines_of(section: Mapping[str, Any], results: Results) -> dict[str, list[Line]]:
    """The lines of a section's table, by title where they are several tables; without any, the section is left out."""
    if "lines" in section:
        found = getattr(results.page.functions, section["lines"])(results)
    elif "paper" in section:
        found = functools.reduce(operator.getitem, section["paper"].split("."), results.paper)
    elif section["rows"] == "absent":
        found = results.absent
    else:
        found = [row for row in results.rows if row["work"] in section["rows"].split()]
    if "once" in section:
        found = {row[section["once"]]: row for row in found}.values()
    tables = found if isinstance(found, dict) else {section.get("title", ""): list(found)}
    return {title: lines for title, lines in tables.items() if lines}


def holds(condition: str, results: Results, facts: Mapping[str, Any]) -> bool:
    """Whether rows of a work were measured, or a fact is true; with "not " before it, the contrary."""
    name = condition.removeprefix("not ")
    known = any(name in rule["works"].split() for rule in results.page.declared.get("rows", []))
    return bool(results.all(name) if known else facts.get(name)) != condition.startswith("not ")


def blocks_of(section: Mapping[str, Any], results: Results, facts: Mapping[str, Any], plots: Sequence[str]) -> Iterator[str]:
    """Title, text and table of a section; of several tables with a title each, the text with each. Or the plots."""
    if "plots" in section:
        yield from (section["plots"].format(name=plot, stem=Path(plot).stem) for plot in plots)
        return
    has_table = {"rows", "lines", "paper"} & set(section)
    for title, lines in (lines_of(section, results) if has_table else {section.get("title", ""): []}).items():
        if title:
            yield f"## {TEMPLATE.vformat(title, (), facts)}"
        if "text" in section:
            yield TEMPLATE.vformat(section["text"], (), facts).strip()
        if lines:
            yield table(section, lines)


def markdown(page: Page, name: str, about: dict[str, Any], rows: Iterable[Row], plots: Sequence[str] = ()) -> str:
    """The page of results called NAME: sections without lines, or whose condition does not hold, are left out."""
    results = Results(page, rows)
    facts = page.papers | {"quick": any(row.get("quick") for row in results.rows)} | page.call("facts", results)
    blocks = [f"# {page.declared.get('title', name.removesuffix('-quick'))}", machine_line(about)]
    for section in page.declared["section"]:
        if "when" not in section or holds(section["when"], results, facts):
            blocks += blocks_of(section, results, facts, plots)
    return "\n\n".join(blocks) + "\n"


def write_page(path: Path, with_plots: bool = True) -> list[Path]:
    """Writes the page of results and its plots beside them, plots only where matplotlib is there; returns the paths.

    Errors: ValueError for results that say nothing of their machine, and those of `Results`.
    """
    about, rows = parse_rows(path.read_text())
    if not about:
        raise ValueError(f"{path} says nothing of its machine: let bench/run.py write it")
    page = page_of(path.stem)
    declared = page.call("plots", Results(page, rows)) if with_plots else {}
    if declared and importlib.util.find_spec("matplotlib") is None:
        print("no plots: matplotlib is not installed", file=sys.stderr)
        declared = {}
    drawn = draw(declared, path.with_suffix(""))
    written = path.with_suffix(".md")
    written.write_text(markdown(page, path.stem, about, rows, [plot.name for plot in drawn]))
    return [written, *drawn]
