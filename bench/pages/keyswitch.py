"""Computed lines and the plots of the page of key switching. `klss` and `level_aware` are what two papers print, `measured` what their
programs took on a machine of the kind of ours, in other runs."""

from __future__ import annotations

from collections.abc import Iterator

from plots import Panel, Plot
from report import Line, Results, goal, number
from rows import Row

KLSS_PRESETS = {15: "klss_n15", 16: "klss_n16"}
LEVEL_PRESET = "level_aware"
METHODS = ("hybrid", "klss")
SPLIT = {"ntt": "NTT", "inner_product": "inner product", "conversion": "conversion"}
# The goals: one switch at N = 2^16, l~ = 48, r = 4; the plan against the best fixed choice; the papers' programs against ours.
GOAL_MS, PLAN_SLACK, GOAL_FACTOR = 30.0, 1.05, 5.0


def klss_rows(results: Results, log_degree: int) -> list[Row]:
    """The rows of klss Table 3 (log_degree 15) or 4 (16), in the paper's order."""
    return next(table["rows"] for table in results.paper["klss"]["switch"] if table["log_degree"] == log_degree)


def best_key_digit(row: Row) -> tuple[int, float]:
    """Key digit and seconds of the fastest new switch of a klss row, the shorter digit of equals."""
    seconds = min(row["ours_s"])
    return row["key_digit"][row["ours_s"].index(seconds)], seconds


def measured(results: Results, table: str, field: str, **wanted: int) -> float | None:
    """What a paper's program took on a machine of our kind, milliseconds."""
    rows = results.paper["measured"][table]
    return next((row[field] for row in rows if all(row[name] == value for name, value in wanted.items())), None)


def choice(row: Row | None) -> str | None:
    """Engine and digit lengths of a row."""
    tail = f" r~={row['key_digit']}" if row and row["method"] == "klss" else ""
    return f"{row['method']} r={row['digit']}{tail}" if row else None


def with_choice(row: Row | None) -> str | None:
    """Milliseconds and choice."""
    return f"{number(row['ms'])} ({choice(row)})" if row else None


def rival(results: Results, planned: Row | None) -> float | None:
    """Milliseconds of the best fixed choice at the level of a planned one: timed in turns with it, where the row has that."""
    if planned is None:
        return None
    in_turns = (planned.get("best_fixed") or {}).get("median_ms")
    return in_turns or results.ms("switch", preset=planned["preset"], primes=planned["primes"])


def facts(results: Results) -> Line:
    """The speed of a stream."""
    return {"stream": results.speed("stream_read")}


def klss_switch(results: Results) -> dict[str, list[Line]]:
    """The layout of klss Tables 3 and 4: every digit length against every key digit length."""
    tables: dict[str, list[Line]] = {}
    for log, preset in KLSS_PRESETS.items():
        lines = tables[f"Key decomposition: N = 2^{log} [klss, Table {log - 12}]"] = []
        for row in klss_rows(results, log):
            at = {"preset": preset, "primes": row["primes"], "digit": row["digit"]}
            if best := results.one("switch", **at):
                by_method = {method: results.ms("switch", method=method, **at) for method in METHODS}
                swept = {f"klss_{digit}": results.ms("switch", method="klss", key_digit=digit, **at) for digit in range(1, 8)}
                theirs = {"paper_ms": best_key_digit(row)[1] * 1e3, "here_ms": klss_measured(results, log, row)}
                lines.append(row | by_method | swept | theirs | {"best": with_choice(best), "best_ms": best["ms"]})
    return tables


def klss_operations(results: Results) -> Iterator[Line]:
    """The layout of klss Table 5: switch, product, automorphism under both methods, against the better one of the paper."""
    table, works = results.paper["klss"]["operations"], ("switch", "multiply", "automorphism")
    for row in table["rows"]:
        at = {"preset": KLSS_PRESETS[table["log_degree"]], "primes": table["all_primes"] - row["digit"], "digit": row["digit"]}
        line = {work: {method: results.ms(work, method=method, **at) for method in METHODS} for work in works}
        for work, times in line.items():
            times["ours"] = min(filter(None, times.values()), default=None)
            times["paper"] = min(row[who][work] for who in ("previous_s", "ours_s")) * 1e3
        if any(times["ours"] for times in line.values()):
            yield line | {"all_primes": table["all_primes"], "digit": row["digit"]}


def splits(results: Results) -> list[Line]:
    """The fastest switch of each method and digit length with a split, hybrid first: what klss Figure 2 shows, against the stream."""
    lines, table = [], results.paper["klss"]["operations"]
    for method in METHODS:
        for digit in sorted({row["digit"] for row in klss_rows(results, 16)}):
            row = results.one("switch", preset=KLSS_PRESETS[16], method=method, digit=digit, primes=table["all_primes"] - digit)
            split = (row and row.get("split_ms")) or {}
            if row and all(part in split for part in SPLIT):
                read = row["key_bytes"] / split["inner_product"] / 1e6 if split["inner_product"] else None
                lines.append(
                    row | split | {"sum": sum(split.values()), "read": read, "stream": results.speed("stream_read"), "choice": choice(row)}
                )
    return lines


def level_switch(results: Results) -> Iterator[Line]:
    """The layout of level-aware Table 3: fixed digit lengths against the plan."""
    table = results.paper["level_aware"]["switch"]
    for row in table["rows"]:
        at = {"preset": LEVEL_PRESET, "primes": row["primes"]}
        planned, best = results.one("switch_planned", **at), results.one("switch", **at)
        if planned or best:
            fixed = {f"fixed_{digit}": results.ms("switch", method="hybrid", digit=digit, **at) for digit in table["digit"]}
            plan = {"planned": planned, "plan": choice(planned), "rival": rival(results, planned) or (best and best["ms"])}
            here = measured(results, "level_aware_switch", "ms", primes=row["primes"])
            yield row | fixed | plan | {"unlimited": with_choice(results.one("switch_unlimited", **at)), "here_ms": here}


def level_polynomials(results: Results) -> Iterator[Line]:
    """The layout of level-aware Table 4: random polynomials, digit length 1 throughout against the plan."""
    table = results.paper["level_aware"]["polynomial"]
    for row in table["rows"]:
        for basis in ("power", "chebyshev"):
            at = {"preset": LEVEL_PRESET, "primes": table["primes"], "degree": row["degree"], "basis": basis}
            times = {keys: results.ms("polynomial", keys=keys, **at) for keys in ("fixed", "planned")}
            if any(times.values()):
                yield row | times | {"basis": basis, "paper_ms": row["ours_s"] * 1e3}


def level_expansion(results: Results) -> list[Line]:
    """The layout of level-aware Table 5: time to derive a key and its size, after the base key."""
    first, *others = results.paper["level_aware"]["expansion"]["rows"]
    lines = []
    for row in others:
        if ours := results.one("expand", preset=LEVEL_PRESET, digit=row["digit"]):
            lines.append(ours | row | {"here_ms": measured(results, "expansion", "time_ms", digit=row["digit"])})
    if lines:
        base = {name: lines[-1].get(f"base_{name}") for name in ("key_bytes", "key_bytes_as_words")}
        lines.insert(0, first | base)
    return lines


def paper_best(results: Results, preset: str, primes: int) -> Line:
    """The best of the set's paper with so many ciphertext primes: its choice, milliseconds there and on a machine of our kind."""
    if preset == LEVEL_PRESET:
        table = results.paper["level_aware"]["switch"]
        for row in (row for row in table["rows"] if row["primes"] == primes):
            _, digit = min((time, digit) for digit, time in zip(table["digit"], row["previous_ms"], strict=True) if time is not None)
            here = measured(results, "level_aware_switch", "ms", primes=primes)
            return {"theirs": f"r={digit}", "paper_ms": row["ours_ms"], "here_ms": here}
    for log in (log for log, name in KLSS_PRESETS.items() if name == preset):
        for row in (row for row in klss_rows(results, log) if row["primes"] == primes):
            key_digit, seconds = best_key_digit(row)
            choice = f"r={row['digit']} r~={key_digit}"
            return {"theirs": choice, "paper_ms": seconds * 1e3, "here_ms": klss_measured(results, log, row)}
    return {"here_ms": None}


def klss_measured(results: Results, log_degree: int, row: Row) -> float | None:
    """What the klss program took on a machine of our kind for a row of the paper, milliseconds."""
    at = {"log_degree": log_degree, "all_primes": row["all_primes"], "digit": row["digit"]}
    return measured(results, "switch", "fast_ksw_klss_ms", **at)


def best_per_level(results: Results) -> dict[str, list[Line]]:
    """The fastest method and digits at each level against the paper's best, and the bytes of key that a switch reads."""
    tables: dict[str, list[Line]] = {}
    for preset in (*KLSS_PRESETS.values(), LEVEL_PRESET):
        lines = tables[f"The best of everything: {preset}"] = []
        for primes in sorted({row["primes"] for row in results.all("switch", preset=preset)}, reverse=True):
            at = {"preset": preset, "primes": primes}
            best, planned = results.one("switch", **at) or {}, results.one("switch_planned", **at)
            line = best | paper_best(results, preset, primes) | {"best": choice(best), "read": best["key_bytes"] / best["ms"] / 1e6}
            line |= {"planned": with_choice(planned), "planned_ms": planned and planned["ms"], "rival": rival(results, planned)}
            lines.append(line | {"unlimited": with_choice(results.one("switch_unlimited", **at)), "stream": results.speed("stream_read")})
    return tables


def goals(results: Results) -> Iterator[Line]:
    """Each goal with what was measured, the worst level where there are several."""
    best = results.ms("switch", preset=KLSS_PRESETS[16], primes=44, digit=4)
    if best is not None:
        yield goal("N = 2^16, l~ = 48, r = 4", f"at most {GOAL_MS:.0f} ms", f"{number(best)} ms", best <= GOAL_MS)
    rivals = [(row, rival(results, row)) for row in results.all("switch_planned")]
    if slack := [(row["ms"] / fixed, row["preset"], row["primes"]) for row, fixed in rivals if fixed]:
        most, preset, primes = max(slack)
        wanted = f"at most {PLAN_SLACK:.2f}x at every level measured"
        yield goal("plan against the best fixed choice", wanted, f"{most:.2f}x at {preset}, l = {primes}", most <= PLAN_SLACK)
    lines = [line for lines in best_per_level(results).values() for line in lines if line["here_ms"] is not None]
    if factors := [(line["here_ms"] / line["ms"], line["preset"], line["primes"]) for line in lines]:
        least, preset, primes = min(factors)
        wanted = f"at least {GOAL_FACTOR:.0f}x at every level measured"
        yield goal("papers' programs on a similar machine", wanted, f"{least:.2f}x at {preset}, l = {primes}", least >= GOAL_FACTOR)


def over_primes(results: Results, log_degree: int) -> Panel:
    """Time over the number of all primes, a line per method and digit length: klss Figure 1."""
    panel = Panel(title=f"N = $2^{{{log_degree}}}$", xlabel="primes of QP", ylabel="milliseconds per switch", ylim=(0, None), whole=True)
    rows = klss_rows(results, log_degree)
    for digit in sorted({row["digit"] for row in rows}):
        for method, style in zip(METHODS, ("s--", "o-"), strict=True):
            at = {"preset": KLSS_PRESETS[log_degree], "digit": digit, "method": method}
            times = [(row["all_primes"], results.ms("switch", primes=row["primes"], **at)) for row in rows if row["digit"] == digit]
            points = [(primes, time) for primes, time in times if time is not None]
            panel.line(points, f"{method}, r = {digit}", style, markersize=4, color=f"C{digit - 1}")
    return panel


def over_levels(results: Results) -> Panel:
    """Time over the level, a line per digit length and one for the plan: level-aware Figure 1."""
    panel = Panel("N = $2^{16}$, 40 primes", "ciphertext primes", "milliseconds per switch", yscale="log")
    for digit in results.paper["level_aware"]["switch"]["digit"]:
        rows = results.all("switch", preset=LEVEL_PRESET, method="hybrid", digit=digit)
        panel.line(sorted((row["primes"], row["ms"]) for row in rows), f"r = {digit}", linestyle="--", marker=".")
    rows = results.all("switch_planned", preset=LEVEL_PRESET)
    panel.line(sorted((row["primes"], row["ms"]) for row in rows), "planned", color="black", linewidth=2)
    return panel


def plots(results: Results) -> dict[str, Plot]:
    """Figures 1 and 2 of klss and Figure 1 of level-aware, drawn from our rows."""
    split = Panel(title="N = $2^{16}$, 48 primes", ylabel="milliseconds per switch")
    if rows := splits(results):
        split.places = [row["choice"].replace(" ", "\n") for row in rows]
        split.bars = {label: [row["split_ms"][part] for row in rows] for part, label in SPLIT.items()}
    return {
        "primes": Plot([[over_primes(results, log) for log in KLSS_PRESETS]], (11, 4.5)),
        "split": Plot([[split]], (9, 4.5)),
        "levels": Plot([[over_levels(results)]], (7, 4.5)),
    }
