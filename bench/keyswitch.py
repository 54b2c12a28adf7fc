"""Tables and plots of the key switching benchmark, beside the numbers of the two papers.

Sits in bench/ above tables.py and papers.py; reads bench/results/keyswitch.json, which bench/run.py writes, and replaces
keyswitch.md by the layout of the papers' tables. bench/README.md describes the rows. Plots need matplotlib.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import papers
from command_line import tables_and_plots
from tables import RESULTS, Row, grid, machine_line, number, parse_rows

HYBRID, KLSS = "hybrid", "klss"
KLSS_PRESETS = {15: "klss_n15", 16: "klss_n16"}
LEVEL_PRESET = "level_aware"
SPLIT = ("ntt", "inner_product", "conversion")
NONE = "-"

# Fields that rows of each work must have in `extra`.
CHAIN = ("preset", "primes")
CHOICE = (*CHAIN, "special_primes", "method", "digit", "key_bytes")
NEEDED = {
    "switch": CHOICE,
    "switch_planned": CHOICE,
    "switch_unlimited": CHOICE,
    "multiply": CHOICE,
    "automorphism": CHOICE,
    "expand": ("preset", "digit", "key_bytes", "base_key_bytes"),
    "polynomial": (*CHAIN, "degree", "basis", "keys"),
    "stream_read": ("bytes",),
}
# A planned choice may differ from run to run: there is one per level.
ONE_PER_LEVEL = ("switch_planned", "switch_unlimited")
# What tells rows of other works apart.
IDENTITY = ("preset", "primes", "method", "digit", "key_digit", "degree", "basis", "keys")

# The goals: one switch at N = 2^16, l~ = 48, r = 4; the plan against the best fixed choice; the papers' programs against ours.
GOAL_MS = 30.0
PLAN_SLACK = 1.05
GOAL_FACTOR = 5.0


class Results:
    """Rows by what they measure: at most one of each kind.

    Errors: ValueError for rows that lack a field or measure the same thing twice.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: list[Row] = []
        self.absent: list[Row] = []
        self.stream_gb_per_s: float | None = None
        seen = set()
        for row in rows:
            if "absent" in row:
                self.absent.append(row)
                continue
            extra = row.get("extra") or {}
            needed = NEEDED.get(row["work"], ())
            needed = (*needed, "key_digit", "auxiliary_primes") if extra.get("method") == KLSS else needed
            missing = [field for field in needed if field not in extra]
            if missing:
                raise ValueError(f"row {row['work']} at {row['params']} lacks {', '.join(missing)} in extra")
            identity = (row["work"], row["who"], *(extra.get(field) for field in IDENTITY))
            identity = identity[:4] if row["work"] in ONE_PER_LEVEL else identity
            if identity in seen:
                raise ValueError(f"two rows for {row['work']} at {row['params']}")
            seen.add(identity)
            if row["work"] == "stream_read":
                self.stream_gb_per_s = extra["bytes"] / row["median_ms"] / 1e6
            self.rows.append(row)

    def all(self, work: str, **wanted: Any) -> list[Row]:
        """Rows of `work` whose extra has these values."""
        return [row for row in self.rows if row["work"] == work and all(row["extra"].get(k) == v for k, v in wanted.items())]

    def fastest(self, work: str, **wanted: Any) -> Row | None:
        """The fastest of `all`, if there is one."""
        return min(self.all(work, **wanted), key=median, default=None)


def median(row: Row) -> float:
    """The median time in milliseconds."""
    return float(row["median_ms"])


def ms(row: Row | None) -> float | None:
    """The median, if there is a row."""
    return None if row is None else median(row)


def text(value: float | None) -> str:
    """A number for a cell."""
    return NONE if value is None else number(value)


def quotient(over: float | None, under: float | None) -> str:
    """How many times `under` fits in `over`."""
    return NONE if over is None or not under else f"{over / under:.2f}x"


def choice(row: Row | None) -> str:
    """Engine and digit lengths of a row."""
    if row is None:
        return NONE
    extra = row["extra"]
    tail = f" r~={extra['key_digit']}" if extra["method"] == KLSS else ""
    return f"{extra['method']} r={extra['digit']}{tail}"


def with_choice(row: Row | None) -> str:
    """Milliseconds and choice."""
    return NONE if row is None else f"{text(ms(row))} ({choice(row)})"


def rival(results: Results, planned: Row | None) -> float | None:
    """Milliseconds of the best fixed choice at the level of a planned one: timed in turns with it, where the row has that."""
    if planned is None:
        return None
    extra = planned["extra"]
    in_turns = (extra.get("best_fixed") or {}).get("median_ms")
    return in_turns or ms(results.fastest("switch", preset=extra["preset"], primes=extra["primes"]))


def stream_share(results: Results, key_bytes: float, milliseconds: float | None) -> str:
    """The part of the stream bandwidth at which a key was read."""
    if not results.stream_gb_per_s or not milliseconds:
        return NONE
    return f"{key_bytes / milliseconds / 1e6 / results.stream_gb_per_s:.0%}"


def klss_switch(results: Results, log_degree: int) -> list[str]:
    """The layout of klss Table 3 (N = 2^15) or 4 (N = 2^16): every digit length against every key digit length."""
    preset, rows = KLSS_PRESETS[log_degree], papers.klss_rows(log_degree)
    key_digits = sorted({key_digit for row in rows for key_digit in row["key_digit"]})
    heads = ["l~", "(l, r)", "hybrid", *(f"r~={key_digit}" for key_digit in key_digits)]
    heads += ["best", "hybrid / klss", "paper's", "paper / best", "fast-ksw (similar machine) / best"]
    body = []
    for row in rows:
        at = {"preset": preset, "primes": row["primes"], "digit": row["digit"]}
        hybrid, klss = results.fastest("switch", method=HYBRID, **at), results.fastest("switch", method=KLSS, **at)
        best = results.fastest("switch", **at)
        if best is None:
            continue
        swept = [results.fastest("switch", method=KLSS, key_digit=key_digit, **at) for key_digit in key_digits]
        here = papers.measured_switch(log_degree, row["all_primes"], row["digit"])
        cells = [str(row["all_primes"]), f"({row['primes']}, {row['digit']})", text(ms(hybrid)), *(text(ms(cell)) for cell in swept)]
        cells += [with_choice(best), quotient(ms(hybrid), ms(klss)), f"{row['speedup']:.1f}x"]
        cells += [quotient(papers.best_key_digit(row)[1] * 1e3, ms(best)), quotient(here and here["fast_ksw_klss_ms"], ms(best))]
        body.append(cells)
    return grid(heads, body) if body else []


def klss_operations(results: Results) -> list[str]:
    """The layout of klss Table 5: switch, product, automorphism under both methods."""
    table = papers.load("klss")["operations"]
    preset, works = KLSS_PRESETS[table["log_degree"]], ("switch", "multiply", "automorphism")
    heads = ["l~", "r", *(f"{work}, {method}" for method in (HYBRID, KLSS) for work in works)]
    heads += [f"{work}: paper / ours" for work in works]
    body = []
    for row in table["rows"]:
        at = {"preset": preset, "primes": table["all_primes"] - row["digit"], "digit": row["digit"]}
        cells = {(method, work): ms(results.fastest(work, method=method, **at)) for method in (HYBRID, KLSS) for work in works}
        if not any(cells.values()):
            continue
        factors = []
        for work in works:
            ours = min((cells[method, work] for method in (HYBRID, KLSS) if cells[method, work]), default=None)
            factors.append(quotient(min(row[who][work] for who in ("previous_s", "ours_s")) * 1e3, ours))
        body.append([str(table["all_primes"]), str(row["digit"]), *(text(cell) for cell in cells.values()), *factors])
    return grid(heads, body) if body else []


def split_rows(results: Results, log_degree: int = 16, all_primes: int = 48) -> list[Row]:
    """The fastest switch of each method and digit length with a split, hybrid first: what Figure 2 shows."""
    found = []
    for method in (HYBRID, KLSS):
        for digit in sorted({row["digit"] for row in papers.klss_rows(log_degree)}):
            row = results.fastest("switch", preset=KLSS_PRESETS[log_degree], method=method, digit=digit, primes=all_primes - digit)
            if row is not None and all(part in (row["extra"].get("split_ms") or {}) for part in SPLIT):
                found.append(row)
    return found


def klss_split(results: Results) -> list[str]:
    """The numbers of klss Figure 2, with the key's bytes against the stream bandwidth."""
    heads = ["switch", "ms", "NTT", "inner product", "conversion", "NTT share", "key MB", "inner product: of stream"]
    body = []
    for row in split_rows(results):
        split, key_bytes = row["extra"]["split_ms"], row["extra"]["key_bytes"]
        cells = [choice(row), text(ms(row)), *(text(split[part]) for part in SPLIT), f"{split['ntt'] / sum(split.values()):.0%}"]
        body.append([*cells, text(key_bytes / 1e6), stream_share(results, key_bytes, split["inner_product"])])
    return grid(heads, body) if body else []


def level_switch(results: Results) -> list[str]:
    """The layout of level-aware Table 3: fixed digit lengths against the plan."""
    table = papers.load("level_aware")["switch"]
    heads = ["l", *(f"r={digit}" for digit in table["digit"]), "planned", "plan", "planned / best fixed", "plan with all memory it wants"]
    heads += ["paper's", "paper / planned", "level-aware-ksw (similar machine) / planned"]
    body = []
    for row in table["rows"]:
        at = {"preset": LEVEL_PRESET, "primes": row["primes"]}
        fixed = [results.fastest("switch", method=HYBRID, digit=digit, **at) for digit in table["digit"]]
        planned, best = results.fastest("switch_planned", **at), results.fastest("switch", **at)
        if planned is None and best is None:
            continue
        cells = [
            str(row["primes"]),
            *(text(ms(cell)) for cell in fixed),
            text(ms(planned)),
            choice(planned),
            quotient(ms(planned), rival(results, planned) or ms(best)),
            with_choice(results.fastest("switch_unlimited", **at)),
        ]
        cells += [text(row["ours_ms"]), quotient(row["ours_ms"], ms(planned)), quotient(papers.measured_level(row["primes"]), ms(planned))]
        body.append(cells)
    return grid(heads, body) if body else []


def level_polynomials(results: Results) -> list[str]:
    """The layout of level-aware Table 4: random polynomials, digit length 1 throughout against the plan."""
    table = papers.load("level_aware")["polynomial"]
    heads = ["degree", "basis", "fixed r=1, s", "planned, s", "speedup", "paper's", "paper / planned"]
    body = []
    for row in table["rows"]:
        for basis in ("power", "chebyshev"):
            at = {"preset": LEVEL_PRESET, "primes": table["primes"], "degree": row["degree"], "basis": basis}
            fixed, planned = (ms(results.fastest("polynomial", keys=keys, **at)) for keys in ("fixed", "planned"))
            if fixed is None and planned is None:
                continue
            seconds = [text(time / 1e3) if time is not None else NONE for time in (fixed, planned)]
            cells = [str(row["degree"]), basis, *seconds, quotient(fixed, planned), f"{row['speedup']:.2f}x"]
            body.append([*cells, quotient(row["ours_s"] * 1e3, planned)])
    return grid(heads, body) if body else []


def key_sizes(extra: dict[str, Any], prefix: str) -> list[str]:
    """10^9 bytes of a key as it is held, and with a word for each residue."""
    words = extra.get(f"{prefix}key_bytes_as_words")
    return [text(extra[f"{prefix}key_bytes"] / 1e9), text(words and words / 1e9)]


def level_expansion(results: Results) -> list[str]:
    """The layout of level-aware Table 5: time to derive a key and its size."""
    heads = [
        "r",
        "ms",
        "key GB",
        "as 8-byte words, GB",
        "paper's ms",
        "paper's GB",
        "paper / ours",
        "level-aware-ksw (similar machine) / ours",
    ]
    body, base = [], None
    for row in papers.load("level_aware")["expansion"]["rows"]:
        ours = results.fastest("expand", preset=LEVEL_PRESET, digit=row["digit"])
        if ours is not None:
            base = ours["extra"]
            cells = [str(row["digit"]), text(ms(ours)), *key_sizes(base, ""), text(row["time_ms"]), str(row["key_gb"])]
            body.append([*cells, quotient(row["time_ms"], ms(ours)), quotient(papers.measured_expansion(row["digit"]), ms(ours))])
    if base is None:
        return []
    paper = papers.load("level_aware")["expansion"]["rows"][0]
    return grid(heads, [[str(paper["digit"]), NONE, *key_sizes(base, "base_"), NONE, str(paper["key_gb"]), NONE, NONE], *body])


def paper_best(preset: str, primes: int) -> tuple[str, float | None, float | None]:
    """The best of the set's paper with so many ciphertext primes: its choice, milliseconds there, milliseconds on a machine of our kind."""
    if preset == LEVEL_PRESET:
        table = papers.load("level_aware")["switch"]
        row = next((row for row in table["rows"] if row["primes"] == primes), None)
        if row is None:
            return NONE, None, None
        times = {digit: time for digit, time in zip(table["digit"], row["previous_ms"], strict=True) if time is not None}
        return f"r={min(times, key=lambda digit: times[digit])}", row["ours_ms"], papers.measured_level(primes)
    log_degree = next(log_degree for log_degree, name in KLSS_PRESETS.items() if name == preset)
    row = next((row for row in papers.klss_rows(log_degree) if row["primes"] == primes), None)
    if row is None:
        return NONE, None, None
    key_digit, seconds = papers.best_key_digit(row)
    here = papers.measured_switch(log_degree, row["all_primes"], row["digit"])
    return f"r={row['digit']} r~={key_digit}", seconds * 1e3, here and here["fast_ksw_klss_ms"]


def best_per_level(results: Results, preset: str) -> list[str]:
    """The fastest method and digits at each level against the paper's best, and the bytes of key that a switch reads."""
    heads = [
        "l",
        "best",
        "ms",
        "paper's best",
        "paper's ms",
        "paper / ours",
        "paper's program (similar machine) / ours",
        "key MB",
        "GB/s",
        "of stream",
        "planned",
        "planned / best fixed",
        "plan with all memory it wants",
    ]
    body = []
    for primes in sorted({row["extra"]["primes"] for row in results.all("switch", preset=preset)}, reverse=True):
        best = min(results.all("switch", preset=preset, primes=primes), key=median)
        theirs, paper_ms, here_ms = paper_best(preset, primes)
        key_bytes, time = best["extra"]["key_bytes"], median(best)
        cells = [str(primes), choice(best), text(time), theirs, text(paper_ms), quotient(paper_ms, time), quotient(here_ms, time)]
        cells += [text(key_bytes / 1e6), text(key_bytes / time / 1e6), stream_share(results, key_bytes, time)]
        planned, unlimited = (results.fastest(work, preset=preset, primes=primes) for work in ONE_PER_LEVEL)
        body.append([*cells, with_choice(planned), quotient(ms(planned), rival(results, planned)), with_choice(unlimited)])
    return grid(heads, body) if body else []


def goals(results: Results) -> list[str]:
    """Each goal with what was measured."""
    body = []
    best = results.fastest("switch", preset=KLSS_PRESETS[16], primes=44, digit=4)
    if best is not None:
        body.append(["N = 2^16, l~ = 48, r = 4", f"at most {GOAL_MS:.0f} ms", f"{text(ms(best))} ms", verdict(median(best) <= GOAL_MS)])
    worst = []
    for planned in results.all("switch_planned"):
        fixed = rival(results, planned)
        if fixed:
            worst.append((median(planned) / fixed, planned["extra"]["preset"], planned["extra"]["primes"]))
    if worst:
        ratio, preset, primes = max(worst)
        wanted, found = f"at most {PLAN_SLACK:.2f}x at every level measured", f"{ratio:.2f}x at {preset}, l = {primes}"
        body.append(["plan against the best fixed choice", wanted, found, verdict(ratio <= PLAN_SLACK)])
    factors = []
    for preset in (*KLSS_PRESETS.values(), LEVEL_PRESET):
        for primes in {row["extra"]["primes"] for row in results.all("switch", preset=preset)}:
            here = paper_best(preset, primes)[2]
            if here is not None:
                ours = min(median(row) for row in results.all("switch", preset=preset, primes=primes))
                factors.append((here / ours, preset, primes))
    if factors:
        factor, preset, primes = min(factors)
        wanted, found = f"at least {GOAL_FACTOR:.0f}x at every level measured", f"{factor:.2f}x at {preset}, l = {primes}"
        body.append(["papers' programs on a similar machine", wanted, found, verdict(factor >= GOAL_FACTOR)])
    return grid(["goal", "wanted", "measured", ""], body) if body else []


def verdict(met: bool) -> str:
    """How a goal stands."""
    return "met" if met else "**missed**"


def markdown(about: dict[str, Any], rows: list[Row], plots: Iterable[str] = ()) -> str:
    """All tables, those without rows left out, with links to the plots."""
    results = Results(rows)
    lines = ["# keyswitch", "", machine_line(about), ""]
    lines += [
        "Medians in milliseconds, one thread. `X / ours` is how many times faster ours is. `paper` is what the paper prints, of",
        f"{papers.load('klss')['machine']} (klss), {papers.load('level_aware')['machine']} (level-aware). `similar machine` is the",
        "papers' programs on a machine of the kind of ours, in another run. `l` counts ciphertext primes, `l~` all of them.",
    ]
    quick = any(row["extra"].get("quick") for row in results.rows)
    if quick:
        lines += ["", "**A quick run: degrees are 2^10 and 2^11, far below the sets'. Compare nothing here with anything.**"]
    if results.stream_gb_per_s:
        lines += ["", f"One thread reads {number(results.stream_gb_per_s)} GB/s of memory in one stream."]
    sections = [
        ("Goals", [] if quick else goals(results)),
        ("Key decomposition: N = 2^15 [klss, Table 3]", klss_switch(results, 15)),
        ("Key decomposition: N = 2^16 [klss, Table 4]", klss_switch(results, 16)),
        ("Switch, product, automorphism: N = 2^16 [klss, Table 5]", klss_operations(results)),
        ("Where the time goes: N = 2^16, l~ = 48 [klss, Figure 2]", klss_split(results)),
        ("Every level: N = 2^16 [level-aware, Table 3]", level_switch(results)),
        ("Polynomials [level-aware, Table 4]", level_polynomials(results)),
        ("Key expansion [level-aware, Table 5]", level_expansion(results)),
        *((f"The best of everything: {preset}", best_per_level(results, preset)) for preset in (*KLSS_PRESETS.values(), LEVEL_PRESET)),
    ]
    for title, table in sections:
        if table:
            lines += ["", f"## {title}", "", *table]
    for plot in plots:
        lines += ["", f"![{Path(plot).stem}]({plot})"]
    if results.absent:
        body = [[row["work"], row["params"], str(row["absent"]).replace("|", "/")] for row in results.absent]
        lines += ["", "## Absent", "", *grid(["work", "params", "reason"], body)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Command line: keyswitch.py [FILE] [--no-plots]."""
    return tables_and_plots("keyswitch", __doc__, RESULTS, parse_rows, markdown, Results)


if __name__ == "__main__":
    sys.exit(main())
