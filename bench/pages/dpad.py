"""Computed lines and the plots of the page of ranks, beside the paper on DPad-HE."""

from __future__ import annotations

from collections.abc import Iterator

from plots import Panel, Plot
from report import Line, Results, goal
from rows import Row

MULTIPLY, CONVERSION, SQUARING, ROTATIONS = "multiply_rescale", "conversion", "repeated_squaring", "rotations"
KEYS = ("as_made", "planned")
NAMES = {"rns_ckks": "RNS-CKKS", "modhe": "ModHE", "dpad": "DPad-HE"}
# What to compare a set of Table 3 with at the same dimension n r, where that is a power of two; n14-r1 is ours, not the paper's.
EQUAL_DIMENSION = {"n13-r2": "n14-r1", "n13-r4": "I", "n13-r8": "IV"}
# The goals beyond the paper's: ranks 2 and 4 at N = 2^16 against rank 1, both planned.
GOAL_OF_RANK = {2: 1.1, 4: 1.4}


def bits(pairs: list[list[int]] | None) -> int | None:
    """The sum of [bits, count] pairs."""
    return sum(size * count for size, count in pairs) if pairs else None


def named(row: Line) -> Line:
    """A row with its dimension and the name of its scheme."""
    return {**row, "dimension": row["degree"] * row["rank"], "name": NAMES.get(row.get("scheme", ""))}


def set_named(results: Results, name: str) -> Line:
    """A row of the paper's Table 3 or 5."""
    return named(next(row for row in results.paper["dpad"]["sets"]["rows"] if row["set"] == name))


def counts(results: Results, row: Line) -> dict[str, int]:
    """Transforms and Hadamard products of a product by the paper's formulas with a row's primes and digits, if it says them all."""
    scheme = "dpad" if row["scheme"] == "dpad" else "modhe"  # RNS-CKKS is rank 1
    symbols = {symbol: row.get(field) for symbol, field in results.paper["dpad"]["complexity"][f"{scheme}_symbols"].items()}
    if None in symbols.values():
        return {}
    formulas = results.paper["dpad"]["complexity"]
    return {
        kind: sum(eval(formula, {}, symbols) for name, formula in formulas.items() if name.startswith(scheme) and name.endswith(kind))
        for kind in ("ntt", "hadamard")
    }


def products(results: Results, name: str, rlwe: str | None) -> dict[str, dict[str, Row | None]]:
    """The products of a set by kind of keys and scheme, those of RNS-CKKS at the set RLWE; empty where nothing was measured."""
    sets = {"rns_ckks": rlwe or "none", "modhe": name, "dpad": name}
    found = {keys: {scheme: results.one(MULTIPLY, set=own, scheme=scheme, keys=keys) for scheme, own in sets.items()} for keys in KEYS}
    return found if any(row for rows in found.values() for row in rows.values()) else {}


def sets(results: Results) -> Iterator[Line]:
    """Tables 3 and 5: sets that were measured, the first row of the highest scheme, beside the paper's."""
    theirs = {row["set"]: row for row in results.paper["dpad"]["sets"]["rows"]}
    other = {same: name for name, same in results.page.declared["same"]["set"].items()}
    ours = [row["set"] for row in results.all(MULTIPLY)]
    for name in dict.fromkeys([*(name for name in ours if name not in theirs), *(name for name in theirs if name in ours)]):
        row = next(row for scheme in ("dpad", "modhe", "rns_ckks") for row in results.all(MULTIPLY, set=name, scheme=scheme))
        paper = theirs.get(name, {})
        moduli = {"log_q": bits(paper.get("q")), "log_temporary_p": bits(paper.get("temporary_p"))}
        moduli["log_p"] = results.paper["dpad"]["sets"]["log_p"] if paper else None
        yield row | {"name": f"{name} = {other[name]}" if name in other else name, "paper": paper | moduli}


def by_rank(results: Results) -> Iterator[Line]:
    """Table 4: products at n = 2^13 over the rank, as made and planned."""
    for row in results.paper["dpad"]["multiply_rescale_by_rank"]["rows"]:
        if found := products(results, row["set"], EQUAL_DIMENSION.get(row["set"])):
            yield set_named(results, row["set"]) | row | found


def by_dimension(results: Results) -> Iterator[Line]:
    """Table 6: RNS-CKKS, ModHE and DPad-HE at equal dimension and depth; the paper's beside ours as made."""
    table = results.paper["dpad"]["multiply_rescale_by_dimension"]
    rlwe = {row["set"]: row["s"] for row in table["rns_ckks"]}
    for row in table["rows"]:
        for keys, ours in products(results, row["set"], row["rns_ckks"]).items():
            if ours["modhe"] or ours["dpad"]:
                theirs = row | {"rlwe_s": rlwe[row["rns_ckks"]]} if keys == "as_made" else {}
                yield set_named(results, row["set"]) | {"keys": keys, "ours": ours, "theirs": theirs}


def key_sizes(results: Results) -> Iterator[Line]:
    """Tables 4 and 7: relinearisation keys, of each set once."""
    tables = [results.paper["dpad"][f"multiply_rescale_by_{table}"] for table in ("rank", "dimension")]
    rlwe_mib = {row["set"]: row["key_mib"] for row in tables[1]["rns_ckks"]}
    for row in (row for table in tables for row in table["rows"]):
        rlwe = row.get("rns_ckks") or EQUAL_DIMENSION.get(row["set"])
        if results.canonical("set", row["set"]) == row["set"] and results.all(MULTIPLY, set=row["set"]):
            yield set_named(results, row["set"]) | row | products(results, row["set"], rlwe) | {"rlwe_key_mib": rlwe_mib.get(rlwe)}


def throughput(results: Results) -> Iterator[Line]:
    """Time per slot and the size of a ciphertext, against RLWE at equal dimension."""
    partners = {row["set"]: row["rns_ckks"] for row in results.paper["dpad"]["multiply_rescale_by_dimension"]["rows"]} | EQUAL_DIMENSION
    for row in results.all(MULTIPLY):
        partner = "none" if row["scheme"] == "rns_ckks" else partners.get(row["set"], "none")
        rlwe = results.one(MULTIPLY, set=partner, scheme="rns_ckks", keys=row["keys"])
        per_slot = {"per_slot": row["ms"] * 1e3 / row["slots"], "rlwe_per_slot": rlwe and rlwe["ms"] * 1e3 / rlwe["slots"]}
        yield named(row) | per_slot | {"rlwe": rlwe, "expected": (1 + 1 / row["rank"]) / 2}


def operation_counts(results: Results) -> Iterator[Line]:
    """What a product does, by the paper's formulas with our primes and digits, and as ours counts: why ratios of time differ."""
    tables = [results.paper["dpad"][f"multiply_rescale_by_{table}"]["rows"] for table in ("rank", "dimension")]
    theirs = {row["set"]: row for table in tables for row in table}
    for row in (row for row in results.all(MULTIPLY) if row.get("transforms") is not None):
        as_made, dpad = row["keys"] == "as_made", row["scheme"] == "dpad"
        modhe = results.one(MULTIPLY, set=row["set"], scheme="modhe", keys=row["keys"]) if dpad else None
        formula = counts(results, row) if as_made else {}
        yield named(row) | {"modhe": modhe, "formula": formula, "theirs": theirs.get(row["set"]) if dpad and as_made else None}


def conversions(results: Results) -> Iterator[Line]:
    """Table 9: conversions against one RLWE key switch; the paper's beside ours as made."""
    for row in results.paper["dpad"]["conversion"]["rows"]:
        for keys in KEYS:
            names = ("mlwe_to_rlwe", "rlwe_to_mlwe", "embed")
            times = {name: results.ms(CONVERSION, set=row["set"], keys=keys, operation=name) for name in names}
            if any(times.values()):
                switches = [results.ms(CONVERSION, set=row[name], keys=keys, operation="switch") for name in ("set", "rns_ckks")]
                theirs = row if keys == "as_made" else None
                yield set_named(results, row["set"]) | times | {"keys": keys, "switch": switches[0] or switches[1], "theirs": theirs}


def ranks_passed(row: Row) -> str:
    """The ranks of a series and from which level on."""
    points = [point for point in row["series"] if not point.get("reduction")]
    firsts = {point["rank"]: point["level"] for point in sorted(points, key=lambda point: point["level"])}
    return ", ".join(f"{rank} from level {level}" for rank, level in sorted(firsts.items(), reverse=True))


def squarings(results: Results) -> Iterator[Line]:
    """Figure 3's ends: the whole of repeated squaring with and without rank reduction."""
    printed = {row["set"]: row for row in results.paper["dpad"]["repeated_squaring"]["rows"]}
    for name in ("I", "II", "III", "IV", "V", "VI"):
        for keys in KEYS:
            for scheme in NAMES:
                at, theirs, dpad = {"set": name, "keys": keys}, printed.get(name, {}), scheme == "dpad"
                kept, reduced = (results.one(SQUARING, scheme=scheme, reducing=reducing, **at) for reducing in (False, True))
                if best := reduced or kept:
                    single = results.one(SQUARING, scheme=scheme, reducing=True, steps="single_steps", **at)
                    yield (
                        named(set_named(results, name) | at | {"scheme": scheme})
                        | {"kept": kept, "reduced": reduced, "single": single}
                        | {
                            "best": best,
                            "ranks": ranks_passed(best),
                            "modhe": results.one(SQUARING, scheme="modhe", reducing=True, **at) if dpad else None,
                            "rlwe": results.one(SQUARING, scheme="rns_ckks", keys=keys, set=theirs.get("rns_ckks", "none")),
                            "theirs": theirs if dpad and keys == "as_made" else None,
                        }
                    )


def rotations(results: Results) -> Iterator[Line]:
    """Figure 4: rotations one after the other, plain and rank-hoisted, over their number and the ranks."""
    for hoisted in results.all(ROTATIONS, method="rank_hoisted"):
        at = {field: hoisted[field] for field in ("set", "keys", "rotations")}
        yield named(hoisted) | {"plain": results.ms(ROTATIONS, method="plain", **at)}


def gpu(results: Results) -> list[Line]:
    """Table 8, the paper's alone."""
    theirs = results.paper["dpad"]["gpu"]
    rlwe = {row["set"]: row for row in theirs["rns_ckks"]}
    return [set_named(results, row["set"]) | row | {"rlwe": rlwe[row["rns_ckks"]]} for row in theirs["rows"] if results.rows]


def against_paper(title: str, found: list[tuple[float, float, str]], least: bool) -> Iterator[Line]:
    """A goal that ours, in triples with the paper's and the set, is at least or at most the paper's at every rank."""
    if found:
        worst = min(found, key=lambda item: item[0] / item[1] * (1 if least else -1))
        wanted = f"{'at least' if least else 'at most'} the paper's at every rank: {found[0][1]:.2f}x to {found[-1][1]:.2f}x"
        where = f"worst against the paper's {worst[0]:.2f}x for {worst[1]:.2f}x at {worst[2]}"
        met = worst[0] >= worst[1] if least else worst[0] <= worst[1]
        yield goal(title, wanted, f"{found[0][0]:.2f}x to {found[-1][0]:.2f}x; {where}", met)


def goals(results: Results) -> Iterator[Line]:
    """Each goal with what was measured."""
    faster, smaller = [], []
    for line in by_rank(results):
        modhe, dpad = line["as_made"]["modhe"], line["as_made"]["dpad"]
        if modhe and dpad:
            stored, printed = dpad["stored_key_bytes"] / modhe["stored_key_bytes"], line["dpad_key_mib"] / line["modhe_key_mib"]
            faster.append((modhe["ms"] / dpad["ms"], line["speedup"], line["set"]))
            smaller.append((stored, printed, line["set"]))
    yield from against_paper("DPad-HE over ModHE, as made", faster, True)
    yield from against_paper("key of DPad-HE over ModHE's, stored", smaller, False)
    rank = {name: set_named(results, name)["rank"] for name in ("V", "VI")}
    rlwe = {keys: results.ms(MULTIPLY, set="IV", scheme="rns_ckks", keys=keys) or 0.0 for keys in KEYS}
    for keys in KEYS:
        times = [(results.ms(MULTIPLY, set=name, scheme="dpad", keys=keys), rank[name]) for name in rank]
        ratios = [(rlwe[keys] / time, at) for time, at in times if time and rlwe[keys]]
        if ratios:
            measured, met = ", ".join(f"{ratio:.2f}x at r = {at}" for ratio, at in ratios), min(ratios)[0] >= 1
            yield goal(f"latency at N = 2^16, {keys.replace('_', ' ')}", "at or below RNS-CKKS: at least 1.00x", measured, met)
    for name, at in rank.items():
        fastest = min(
            filter(None, (results.ms(MULTIPLY, set=name, scheme=scheme, keys="planned") for scheme in ("dpad", "modhe"))), default=0.0
        )
        if fastest and rlwe["planned"]:
            ratio, most = fastest / rlwe["planned"], GOAL_OF_RANK[at]
            yield goal(f"rank {at} at N = 2^16, planned", f"at most {most:.1f}x rank 1", f"{ratio:.2f}x", ratio <= most)


COLOURS = {"rns_ckks": "black", "modhe": "C1", "dpad": "C0"}
MARKERS = {1: "o", 2: "s", 4: "^"}
SETS = {15: ("I", "II", "III"), 16: ("IV", "V", "VI")}


def over_squarings(results: Results, log_dimension: int, keys: str) -> Panel:
    """Seconds since the start over squarings done, dashed where the rank stays, dotted where it falls by one at a time: Figure 3."""
    panel = Panel(f"N = $2^{{{log_dimension}}}$, keys {keys.replace('_', ' ')}", "squarings", "seconds since the start", whole=True)
    for row in (row for name in SETS[log_dimension] for row in results.all(SQUARING, set=name, keys=keys)):
        rank, first, single = row["rank"], row["series"][0]["level"], row.get("steps") == "single_steps"
        # A reduction is a step at the squarings done before it.
        places = [(first - point["level"] + (0 if point.get("reduction") else 1), point["seconds"]) for point in row["series"]]
        reduced = row["reducing"] and rank > 1
        label = f"{NAMES[row['scheme']]}, r = {rank}{', reduced' if reduced else ''}{' by one' if single else ''}"
        style = {"linestyle": ":" if single else "-" if reduced or rank == 1 else "--", "marker": MARKERS.get(rank, ".")}
        panel.line([(0, 0.0), *places], label, color=COLOURS[row["scheme"]], markersize=3, linewidth=1, **style)
    return panel


def over_count(results: Results, keys: str) -> Panel:
    """Milliseconds over the number of rotations, plain dashed: Figure 4 a. Of several temporary ranks the lowest."""
    panel = Panel(f"Consecutive rotations, keys {keys.replace('_', ' ')}", "rotations", "milliseconds", whole=True)
    for colour, name in enumerate(dict.fromkeys(row["set"] for row in results.all(ROTATIONS, keys=keys))):
        for method, label, style in (("plain", "plain", "--"), ("rank_hoisted", "rank-hoisted", "-")):
            rows = results.all(ROTATIONS, set=name, keys=keys, method=method)
            lowest = min((row["temporary_rank"] or 0 for row in rows), default=0)
            points = sorted((row["rotations"], row["ms"]) for row in rows if (row["temporary_rank"] or 0) == lowest)
            if points:
                lifted = f", r^ = {lowest}" if method == "rank_hoisted" else ""
                panel.line(points, f"{name}: r = {rows[0]['rank']}{lifted}, {label}", style, color=f"C{colour}", marker=".")
    return panel


def over_rank(results: Results, keys: str) -> Panel:
    """Milliseconds of so many rotations over the temporary rank, a line per set: Figure 4 b."""
    count = results.paper["dpad"]["rotations"]["by_rank"]["rotations"]
    panel = Panel(f"{count} rotations, keys {keys.replace('_', ' ')}", "module rank", "milliseconds", whole=True)
    for colour, name in enumerate(dict.fromkeys(row["set"] for row in results.all(ROTATIONS, keys=keys, rotations=count))):
        at = {"set": name, "keys": keys, "rotations": count}
        hoisted = sorted((row["temporary_rank"], row["ms"]) for row in results.all(ROTATIONS, method="rank_hoisted", **at))
        panel.line(hoisted, f"{name}, rank-hoisted", "-", color=f"C{colour}", marker="o")
        for row in results.all(ROTATIONS, method="plain", **at):
            label = f"{name}, plain at r = {row['rank']}"
            panel.line([(row["rank"], row["ms"])], label, color=f"C{colour}", marker="x", linestyle="")
    return panel


def plots(results: Results) -> dict[str, Plot]:
    """Figures 3 and 4, a row of panels for each kind of keys."""
    squared, rotated = ([keys for keys in KEYS if results.all(work, keys=keys)] for work in (SQUARING, ROTATIONS))
    return {
        "squaring": Plot([[over_squarings(results, log, keys) for log in SETS] for keys in squared], (11, 4.5 * len(squared))),
        "rotations": Plot([[over_count(results, keys), over_rank(results, keys)] for keys in rotated], (11, 4.5 * len(rotated))),
    }
