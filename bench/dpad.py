"""Tables of the benchmark of ranks, beside the numbers of the paper on DPad-HE.

Sits in bench/ above tables.py and dpad_paper.py; reads bench/results/dpad.json, which bench/run.py writes, and replaces
dpad.md by the layout of the paper's tables. Plots are dpad_plots.py's. Rows are those of bench/README.md, with `extra`:

    work              what is timed                                              fields of extra
    multiply_rescale  product of two ciphertexts at the top level,               set, scheme, keys, chain, sizes, counts
                      relinearised and rescaled
    conversion        one ciphertext between MLWE and RLWE                       set, keys, operation, chain
    repeated_squaring x, x^2, x^4, .. through all levels, added up               set, scheme, keys, reducing, series, chain
    rotations         `rotations` rotations by powers of two, one after the      set, keys, method, rotations, chain
                      other, of one ciphertext

    set               name in bench/paper/dpad.json; n14-r1 is the RLWE set of equal dimension for n13-r2
    scheme            rns_ckks (rank 1), modhe (sec. 3.1), dpad (Algorithm 1)
    keys              as_made (digits of one prime and of P^, as in the paper) or planned (coalesced, KLSS)
    chain: degree, rank, temporary_rank (r^, null without), primes (at the top level), log_q, log_p, log_temporary_p (of P^),
                      security, temporary_security (bits), slots, ciphertext_bytes (stored, at the top level; optional)
    sizes: key_bytes, stored_key_bytes
                      relinearisation keys in memory as used; as stored, masks as seeds. Planned: with the forms derived
    counts: special_primes, temporary_primes (of P^), digits, wide_digits (mu), transforms, hadamard
                      of one product, of polynomials of degree n modulo one prime (optional)
    operation         mlwe_to_rlwe, rlwe_to_mlwe, embed (the ring map alone), switch (one RLWE rotation)
    reducing          whether the rank goes down whenever the modulus allows it
    steps             how: kept, halves, single_steps (the paper's) (optional)
    series            [{"level", "rank", "seconds"}]: after each squaring its level, rank and the seconds since the start; a
                      reduction is a point of its own with "reduction": true. median_ms is the whole
    method            plain (at rank r), rank_hoisted (Algorithm 2)
    key_parts, key_parts_in_memory
                      products by a key made in equal parts, because it does not fit in memory whole; where fewer parts are there
                      than it has, each is read several times (optional)
    noise_bits        log2 of the error found before timing (optional); quick: true in quick runs; choice: what the plan chose
    predicted_peak_bytes
                      memory said to be needed before keys were made (optional)

What was not measured has a row with "absent", which says why. No two rows may measure the same thing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import dpad_paper as paper
from command_line import tables_and_plots
from dpad_paper import DPAD, EQUAL_DIMENSION, MODHE, RNS_CKKS
from keyswitch import NONE, median, ms, quotient, text, verdict
from tables import RESULTS, Row, grid, machine_line, parse_rows

MULTIPLY, CONVERSION, SQUARING, ROTATIONS = "multiply_rescale", "conversion", "repeated_squaring", "rotations"
AS_MADE, PLANNED = "as_made", "planned"
KEYS = {AS_MADE: "as made", PLANNED: "planned"}
NAMES = {RNS_CKKS: "RNS-CKKS", MODHE: "ModHE", DPAD: "DPad-HE"}
PLAIN, HOISTED = "plain", "rank_hoisted"

# Fields that rows of each work must have in `extra`.
CHAIN = ("set", "keys", "degree", "rank", "temporary_rank", "log_q", "log_p", "log_temporary_p")
NEEDED = {
    MULTIPLY: (*CHAIN, "scheme", "security", "temporary_security", "slots", "key_bytes", "stored_key_bytes"),
    CONVERSION: (*CHAIN, "operation"),
    SQUARING: (*CHAIN, "scheme", "reducing", "series"),
    ROTATIONS: (*CHAIN, "method", "rotations"),
}
VALUES = {
    "scheme": paper.SCHEMES,
    "keys": tuple(KEYS),
    "operation": ("mlwe_to_rlwe", "rlwe_to_mlwe", "embed", "switch"),
    "method": (PLAIN, HOISTED),
    "reducing": (True, False),
}
# What tells rows of a work apart.
IDENTITY = ("set", "scheme", "keys", "operation", "reducing", "steps", "method", "rotations", "temporary_rank")

# The goals beyond the paper's: ranks 2 and 4 at N = 2^16 against rank 1, both planned.
GOAL_OF_RANK = {2: 1.1, 4: 1.4}


class Results:
    """Rows by what they measure: at most one of each kind.

    Errors: ValueError for rows that lack a field, have an unknown value in one, or measure the same thing twice.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows: list[Row] = []
        self.absent: list[Row] = []
        seen = set()
        for row in rows:
            if "absent" in row:
                self.absent.append(row)
                continue
            if row["work"] not in NEEDED:
                raise ValueError(f"there is no table for {row['work']} at {row['params']}")
            extra = row.get("extra") or {}
            missing = [field for field in NEEDED[row["work"]] if field not in extra]
            if missing:
                raise ValueError(f"row {row['work']} at {row['params']} lacks {', '.join(missing)} in extra")
            for field, values in VALUES.items():
                if field in NEEDED[row["work"]] and extra[field] not in values:
                    raise ValueError(f"row {row['work']} at {row['params']}: {field} is {extra[field]!r}")
            extra = {**extra, "set": paper.canonical(extra["set"])}
            identity = (row["work"], *(extra.get(field) for field in IDENTITY))
            if identity in seen:
                raise ValueError(f"two rows for {row['work']} at {row['params']}")
            seen.add(identity)
            self.rows.append({**row, "extra": extra})

    def all(self, work: str, **wanted: Any) -> list[Row]:
        """Rows of `work` whose extra has these values; of a set with two names, either."""
        if "set" in wanted:
            wanted["set"] = paper.canonical(wanted["set"])
        return [row for row in self.rows if row["work"] == work and all(row["extra"].get(k) == v for k, v in wanted.items())]

    def one(self, work: str, **wanted: Any) -> Row | None:
        """The only such row, the fastest if the values leave several."""
        return min(self.all(work, **wanted), key=median, default=None)

    def product(self, name: str | None, scheme: str, keys: str) -> Row | None:
        """The product of ciphertexts of a set."""
        return None if name is None else self.one(MULTIPLY, set=name, scheme=scheme, keys=keys)


def field(row: Row | None, name: str) -> float | None:
    """A number of a row's extra."""
    value = None if row is None else row["extra"].get(name)
    return None if value is None else float(value)


def mega(value: float | None) -> str:
    """Bytes as 10^6 bytes."""
    return NONE if value is None else text(value / 1e6)


def table(heads: list[str], body: list[list[str]]) -> list[str]:
    """A table, nothing without rows."""
    return grid(heads, body) if body else []


def divided(over: float | None, under: float | None) -> float | None:
    """The quotient, where there is one."""
    return None if over is None or not under else over / under


def log_power(value: int) -> str:
    """Powers of two as such."""
    return f"2^{value.bit_length() - 1}" if value & (value - 1) == 0 else str(value)


def parameters(results: Results) -> list[str]:
    """Tables 3 and 5: the paper's sets and what ours have of them."""
    heads = ["set", "n", "r", "r^", "log2 Q", "log2 P", "log2 P^", "security", "at r^"]
    heads += ["paper: log2 Q", "paper: log2 P", "paper: log2 P^", "paper: security", "paper: at r^"]
    body, done = [], set()
    names = [row["set"] for row in paper.sets()]
    ours = {row["extra"]["set"]: None for row in results.all(MULTIPLY)}
    for name in dict.fromkeys([*(name for name in ours if name not in names), *names]):
        rows = [row["extra"] for scheme in (DPAD, MODHE, RNS_CKKS) for row in results.all(MULTIPLY, set=name, scheme=scheme)]
        if not rows or paper.canonical(name) in done:
            continue
        done.add(paper.canonical(name))
        extra = rows[0]
        label = " = ".join([name, *(other for other, same in paper.SAME.items() if same == name)])
        shape = [label, log_power(extra["degree"]), str(extra["rank"]), dash(extra["temporary_rank"])]
        sizes = [f"{extra['log_q']:.0f}", f"{extra['log_p']:.0f}", dash(extra["log_temporary_p"], 0)]
        cells = [*shape, *sizes, dash(extra["security"], 1), dash(extra["temporary_security"], 1)]
        theirs = next((row for row in paper.sets() if row["set"] == name), None)
        if theirs is None:
            body.append([*cells, *[NONE] * 5])
            continue
        wide = paper.bits(theirs["temporary_p"]) or None
        cells += [str(paper.bits(theirs["q"])), str(paper.load()["sets"]["log_p"]), dash(wide)]
        body.append([*cells, dash(theirs["security"], 1), dash(theirs["temporary_security"], 1)])
    return table(heads, body)


def dash(value: float | None, decimals: int | None = None) -> str:
    """A number as it is, or with so many decimals."""
    if value is None:
        return NONE
    return str(value) if decimals is None else f"{value:.{decimals}f}"


def times_by_rank(results: Results) -> list[str]:
    """Table 4: products at n = 2^13 over the rank, as made and planned."""
    heads = ["r", "L", "paper: ModHE s", "paper: DPad-HE s", "paper: ModHE / DPad-HE"]
    for keys in KEYS.values():
        heads += [f"{keys}: ModHE ms", f"{keys}: DPad-HE ms", f"{keys}: ModHE / DPad-HE"]
        heads += [f"{keys}: RNS-CKKS at N = r n, ms", f"{keys}: RNS-CKKS / DPad-HE"]
    body = []
    for row in paper.load()["multiply_rescale_by_rank"]["rows"]:
        known = paper.set_named(row["set"])
        ours = []
        for keys in KEYS:
            modhe, dpad = (ms(results.product(row["set"], scheme, keys)) for scheme in (MODHE, DPAD))
            rlwe = ms(results.product(EQUAL_DIMENSION.get(row["set"]), RNS_CKKS, keys))
            ours += [text(modhe), text(dpad), quotient(modhe, dpad), text(rlwe), quotient(rlwe, dpad)]
        if any(cell != NONE for cell in ours):
            printed = [text(row["modhe_s"]), text(row["dpad_s"]), f"{row['speedup']:.2f}x"]
            body.append([str(known["rank"]), str(known["levels"]), *printed, *ours])
    return table(heads, body)


def times_by_dimension(results: Results) -> list[str]:
    """Table 6: RNS-CKKS, ModHE and DPad-HE at equal dimension and depth."""
    theirs = paper.load()["multiply_rescale_by_dimension"]
    rlwe_s = {row["set"]: row["s"] for row in theirs["rns_ckks"]}
    heads = ["N", "r", "keys"]
    for whose, unit in (("paper", "s"), ("ours", "ms")):
        heads += [f"{whose}: {NAMES[scheme]} {unit}" for scheme in paper.SCHEMES]
        heads += [f"{whose}: ModHE / DPad-HE", f"{whose}: RNS-CKKS / DPad-HE"]
    body = []
    for row in theirs["rows"]:
        for keys, label in KEYS.items():
            rlwe = ms(results.product(row["rns_ckks"], RNS_CKKS, keys))
            modhe, dpad = (ms(results.product(row["set"], scheme, keys)) for scheme in (MODHE, DPAD))
            if modhe is None and dpad is None:
                continue
            printed = [text(rlwe_s[row["rns_ckks"]]), text(row["modhe_s"]), text(row["dpad_s"]), quotient(row["modhe_s"], row["dpad_s"])]
            printed = [*printed, f"{row['time_ratio']:.2f}x"] if keys == AS_MADE else [NONE] * 5
            cells = [*shape_of(row["set"]), label, *printed, text(rlwe), text(modhe), text(dpad)]
            body.append([*cells, quotient(modhe, dpad), quotient(rlwe, dpad)])
    return table(heads, body)


def shape_of(name: str) -> list[str]:
    """Dimension and rank of a set of the paper."""
    known = paper.set_named(name)
    return [log_power(known["degree"] * known["rank"]), str(known["rank"])]


def key_sizes(results: Results) -> list[str]:
    """Tables 4 and 7: relinearisation keys in memory, as stored, and with what plans derive."""
    data = paper.load()
    by_dimension = data["multiply_rescale_by_dimension"]
    rlwe_mib = {row["set"]: row["key_mib"] for row in by_dimension["rns_ckks"]}
    heads = ["set", "r", "paper: ModHE MB", "paper: DPad-HE MB", "paper: DPad-HE / ModHE", "paper: RNS-CKKS MB"]
    for place in ("in memory", "stored"):
        heads += [f"{place}: ModHE MB", f"{place}: DPad-HE MB", f"{place}: DPad-HE / ModHE", f"{place}: RNS-CKKS MB"]
    heads += ["planned: ModHE MB", "planned: DPad-HE MB", "planned: RNS-CKKS MB"]
    body = []
    for row in (*data["multiply_rescale_by_rank"]["rows"], *by_dimension["rows"]):
        if row["set"] in paper.SAME:
            continue
        rlwe_set = row.get("rns_ckks") or EQUAL_DIMENSION.get(row["set"])
        as_made = [results.product(row["set"], scheme, AS_MADE) for scheme in (MODHE, DPAD)]
        planned = [results.product(row["set"], scheme, PLANNED) for scheme in (MODHE, DPAD)]
        if not any([*as_made, *planned]):
            continue
        printed = [row["modhe_key_mib"] * 2**20, row["dpad_key_mib"] * 2**20]
        paper_rlwe = rlwe_mib.get(rlwe_set or "")
        cells = [row["set"], str(paper.set_named(row["set"])["rank"])]
        cells += [*(mega(size) for size in printed), quotient(printed[1], printed[0]), mega(paper_rlwe and paper_rlwe * 2**20)]
        rlwe = results.product(rlwe_set, RNS_CKKS, AS_MADE)
        for name in ("key_bytes", "stored_key_bytes"):
            modhe, dpad = (field(row, name) for row in as_made)
            cells += [mega(modhe), mega(dpad), quotient(dpad, modhe), mega(field(rlwe, name))]
        cells += [mega(field(row, "key_bytes")) for row in (*planned, results.product(rlwe_set, RNS_CKKS, PLANNED))]
        body.append(cells)
    return table(heads, body)


def throughput(results: Results) -> list[str]:
    """Not in the paper: time per slot and the size of a ciphertext, against RLWE at equal dimension."""
    heads = ["set", "N", "r", "scheme", "keys", "slots", "ms", "us per slot", "RNS-CKKS us per slot", "per slot: RNS-CKKS / this"]
    heads += ["ciphertext MB", "of RNS-CKKS", "(1 + 1/r) / 2"]
    partners = EQUAL_DIMENSION | {row["set"]: row["rns_ckks"] for row in paper.load()["multiply_rescale_by_dimension"]["rows"]}
    body = []
    for row in results.all(MULTIPLY):
        extra = row["extra"]
        per_slot = median(row) * 1e3 / extra["slots"]
        rlwe = None if extra["scheme"] == RNS_CKKS else results.product(partners.get(extra["set"]), RNS_CKKS, extra["keys"])
        rlwe_per_slot = None if rlwe is None else median(rlwe) * 1e3 / rlwe["extra"]["slots"]
        cells = [extra["set"], log_power(extra["degree"] * extra["rank"]), str(extra["rank"]), NAMES[extra["scheme"]], KEYS[extra["keys"]]]
        cells += [log_power(extra["slots"]), text(median(row)), text(per_slot), text(rlwe_per_slot), quotient(rlwe_per_slot, per_slot)]
        size = divided(field(row, "ciphertext_bytes"), field(rlwe, "ciphertext_bytes"))
        body.append([*cells, mega(field(row, "ciphertext_bytes")), dash(size, 3), f"{(1 + 1 / extra['rank']) / 2:.3f}"])
    return table(heads, body)


def operation_counts(results: Results) -> list[str]:
    """What a product does, by the paper's formulas with our primes and digits, and as ours counts: why ratios of time differ."""
    heads = ["set", "scheme", "keys", "primes", "k", "K", "d", "mu", "NTT, paper's formula", "NTT, ours", "Hadamard, paper's formula"]
    heads += ["Hadamard, ours", "NTT: ModHE / this", "Hadamard: ModHE / this", "time: ModHE / this", "paper's time: ModHE / this"]
    speedups = {row["set"]: row["modhe_s"] / row["dpad_s"] for row in paper.load()["multiply_rescale_by_rank"]["rows"]}
    speedups |= {row["set"]: row["modhe_s"] / row["dpad_s"] for row in paper.load()["multiply_rescale_by_dimension"]["rows"]}
    body = []
    for row in results.all(MULTIPLY):
        extra = row["extra"]
        if extra.get("transforms") is None:
            continue
        formula = paper.counts(extra["scheme"], extra) if extra["keys"] == AS_MADE else None
        cells = [extra["set"], NAMES[extra["scheme"]], KEYS[extra["keys"]]]
        cells += [dash(extra.get(name)) for name in ("primes", "special_primes", "temporary_primes", "digits", "wide_digits")]
        cells += [dash(formula and formula[0]), dash(extra["transforms"]), dash(formula and formula[1]), dash(extra.get("hadamard"))]
        modhe = results.product(extra["set"], MODHE, extra["keys"]) if extra["scheme"] == DPAD else None
        cells += [quotient(field(modhe, name), field(row, name)) for name in ("transforms", "hadamard")]
        in_paper = speedups.get(extra["set"]) if extra["scheme"] == DPAD and extra["keys"] == AS_MADE else None
        body.append([*cells, quotient(ms(modhe), ms(row)), quotient(in_paper, 1.0)])
    return table(heads, body)


def conversions(results: Results) -> list[str]:
    """Table 9: conversions against one RLWE key switch."""
    heads = ["N", "r", "keys", "paper: M to R, s", "paper: R to M, s", "paper: switch, s"]
    heads += ["paper: M to R / switch", "paper: R to M / switch", "ours: M to R, ms", "ours: R to M, ms", "ours: embed, ms"]
    heads += ["ours: switch, ms", "ours: M to R / switch", "ours: R to M / switch", "ours: embed / switch"]
    body = []
    for row in paper.load()["conversion"]["rows"]:
        for keys, label in KEYS.items():
            names = ("mlwe_to_rlwe", "rlwe_to_mlwe", "embed")
            times = [ms(results.one(CONVERSION, set=row["set"], keys=keys, operation=name)) for name in names]
            switch = ms(results.one(CONVERSION, set=row["set"], keys=keys, operation="switch"))
            switch = switch or ms(results.one(CONVERSION, set=row["rns_ckks"], keys=keys, operation="switch"))
            if not any(times):
                continue
            printed = [row[f"{name}_s"] for name in ("mlwe_to_rlwe", "rlwe_to_mlwe", "switch")]
            ratios = [quotient(printed[0], printed[2]), quotient(printed[1], printed[2])]
            cells = [*shape_of(row["set"]), label, *([*map(text, printed), *ratios] if keys == AS_MADE else [NONE] * 5)]
            cells += [*map(text, times), text(switch), *(quotient(time, switch) for time in times)]
            body.append(cells)
    return table(heads, body)


def squarings(results: Results) -> list[str]:
    """Figure 3's ends: the whole of repeated squaring with and without rank reduction."""
    printed = {row["set"]: row for row in paper.load()["repeated_squaring"]["rows"]}
    heads = ["set", "r", "keys", "scheme", "seconds, rank kept", "seconds, rank reduced", "single steps", "kept / reduced", "ranks passed"]
    heads += ["reduced: of ModHE", "paper: of ModHE", "reduced: of RNS-CKKS", "paper: of RNS-CKKS"]
    body = []
    for name in ("I", "II", "III", "IV", "V", "VI"):
        for keys, label in KEYS.items():
            for scheme in paper.SCHEMES:
                at = {"set": name, "scheme": scheme, "keys": keys}
                kept, reduced = (results.one(SQUARING, reducing=reducing, **at) for reducing in (False, True))
                if kept is None and reduced is None:
                    continue
                best = ms(reduced) or ms(kept)
                theirs = printed.get(name, {}) if scheme == DPAD and keys == AS_MADE else {}
                modhe = ms(results.one(SQUARING, **(at | {"scheme": MODHE}), reducing=True)) if scheme == DPAD else None
                rlwe_set = printed.get(name, {}).get("rns_ckks")
                rlwe = ms(results.one(SQUARING, set=rlwe_set, scheme=RNS_CKKS, keys=keys)) if rlwe_set else None
                single = results.one(SQUARING, **at, reducing=True, steps="single_steps")
                cells = [name, str(paper.set_named(name)["rank"]), label, NAMES[scheme], seconds(kept), seconds(reduced), seconds(single)]
                cells += [quotient(ms(kept), ms(reduced)), ranks_of(reduced or kept), percent(divided(best, modhe))]
                cells += [percent(theirs.get("dpad_over_modhe")), percent(divided(best, rlwe)), percent(theirs.get("dpad_over_rns_ckks"))]
                body.append(cells)
    return table(heads, body)


def seconds(row: Row | None) -> str:
    """Milliseconds as seconds."""
    return NONE if row is None else text(median(row) / 1e3)


def percent(value: float | None) -> str:
    """A part of one."""
    return NONE if value is None else f"{value:.0%}"


def ranks_of(row: Row | None) -> str:
    """The ranks of a series and from which level on."""
    if row is None:
        return NONE
    points = [point for point in row["extra"]["series"] if not point.get("reduction")]
    firsts = {point["rank"]: point["level"] for point in sorted(points, key=lambda point: point["level"])}
    return ", ".join(f"{rank} from level {level}" for rank, level in sorted(firsts.items(), reverse=True))


def rotations(results: Results) -> list[str]:
    """Figure 4: rotations one after the other, plain and rank-hoisted, over their number and the ranks."""
    heads = ["set", "N", "r", "r^", "keys", "rotations", "plain ms", "rank-hoisted ms", "plain / rank-hoisted"]
    body = []
    for hoisted in results.all(ROTATIONS, method=HOISTED):
        extra = hoisted["extra"]
        plain = results.one(ROTATIONS, set=extra["set"], keys=extra["keys"], method=PLAIN, rotations=extra["rotations"])
        cells = [extra["set"], log_power(extra["degree"] * extra["rank"]), str(extra["rank"]), dash(extra["temporary_rank"])]
        cells += [KEYS[extra["keys"]], str(extra["rotations"]), text(ms(plain)), text(ms(hoisted)), quotient(ms(plain), ms(hoisted))]
        body.append(cells)
    return table(heads, body)


def gpu() -> list[str]:
    """Table 8, the paper's alone."""
    theirs = paper.load()["gpu"]
    rlwe = {row["set"]: row for row in theirs["rns_ckks"]}
    heads = ["N", "r", "100x ms", "ModHE ms", "DPad-HE ms", "100x / DPad-HE", "CPU / GPU: 100x", "CPU / GPU: ModHE", "CPU / GPU: DPad-HE"]
    body = []
    for row in theirs["rows"]:
        known = rlwe[row["rns_ckks"]]
        times = [text(known["ms"]), text(row["modhe_ms"]), text(row["dpad_ms"])]
        factors = [f"{known['over_cpu']}x", f"{row['modhe_over_cpu']}x", f"{row['dpad_over_cpu']}x"]
        body.append([*shape_of(row["set"]), *times, f"{row['time_ratio']:.2f}x", *factors])
    return grid(heads, body)


def goals(results: Results) -> list[str]:
    """Each goal with what was measured."""
    body = []
    speedups, sizes = [], []
    for row in paper.load()["multiply_rescale_by_rank"]["rows"]:
        modhe, dpad = (results.product(row["set"], scheme, AS_MADE) for scheme in (MODHE, DPAD))
        if modhe is None or dpad is None:
            continue
        speedups.append((median(modhe) / median(dpad), row["speedup"], row["set"]))
        stored = field(dpad, "stored_key_bytes"), field(modhe, "stored_key_bytes")
        sizes.append((divided(*stored) or 0.0, row["dpad_key_mib"] / row["modhe_key_mib"], row["set"]))
    for title, found, least in (("DPad-HE over ModHE, as made", speedups, True), ("key of DPad-HE over ModHE's, stored", sizes, False)):
        if not found:
            continue
        worst = min(found, key=lambda item: item[0] / item[1] * (1 if least else -1))
        met = worst[0] >= worst[1] if least else worst[0] <= worst[1]
        wanted = f"{'at least' if least else 'at most'} the paper's at every rank: {found[0][1]:.2f}x to {found[-1][1]:.2f}x"
        worst_text = f"worst against the paper's {worst[0]:.2f}x for {worst[1]:.2f}x at {worst[2]}"
        body.append([title, wanted, f"{found[0][0]:.2f}x to {found[-1][0]:.2f}x; {worst_text}", verdict(met)])
    for keys, label in KEYS.items():
        ratios = [(name, divided(ms(results.product("IV", RNS_CKKS, keys)), ms(results.product(name, DPAD, keys)))) for name in ("V", "VI")]
        known = [(name, ratio) for name, ratio in ratios if ratio is not None]
        if known:
            found_text = ", ".join(f"{ratio:.2f}x at r = {paper.set_named(name)['rank']}" for name, ratio in known)
            wanted = "at or below RNS-CKKS: at least 1.00x"
            body.append([f"latency at N = 2^16, {label}", wanted, found_text, verdict(all(ratio >= 1 for _, ratio in known))])
    for name in ("V", "VI"):
        rank = paper.set_named(name)["rank"]
        best = [ms(results.product(name, scheme, PLANNED)) for scheme in (DPAD, MODHE)]
        fastest = min((time for time in best if time is not None), default=None)
        ratio = divided(fastest, ms(results.product("IV", RNS_CKKS, PLANNED)))
        if ratio is not None:
            wanted = f"at most {GOAL_OF_RANK[rank]:.1f}x rank 1"
            body.append([f"rank {rank} at N = 2^16, planned", wanted, f"{ratio:.2f}x", verdict(ratio <= GOAL_OF_RANK[rank])])
    return table(["goal", "wanted", "measured", ""], body)


def preface(about: dict[str, Any]) -> list[str]:
    """The first lines: what is compared with what."""
    return [
        "# dpad",
        "",
        machine_line(about),
        "",
        f"Medians on one thread, ours in milliseconds. The paper's times are seconds on its own machine, {paper.load()['machine']},",
        "slower than ours and with other arithmetic: compare ratios, never its times with ours. `A / B` is how many times faster B is, for",
        "sizes how many times larger A is. MB are 10^6 bytes, the paper's converted from 2^20.",
        "`as made`: digits of one prime, keys used as they were made, as in the paper; `planned`: coalesced or KLSS as the plan",
        "chooses. `stored`: masks as seeds. RNS-CKKS, ModHE and DPad-HE are our code in one run.",
    ]


def markdown(about: dict[str, Any], rows: Sequence[Row], plots: Iterable[str] = ()) -> str:
    """All tables, those without rows left out, with links to the plots."""
    results = Results(rows)
    lines = preface(about)
    quick = any(row["extra"].get("quick") for row in results.rows)
    if quick:
        lines += ["", "**A quick run: degrees are far below the sets'. Compare nothing here with anything.**"]
    sections = [
        ("Goals", [] if quick else goals(results)),
        ("Products over the rank, n = 2^13 [dpad-he, Table 4]", times_by_rank(results)),
        ("Products at equal dimension and depth [dpad-he, Table 6]", times_by_dimension(results)),
        ("Relinearisation keys [dpad-he, Tables 4 and 7]", key_sizes(results)),
        ("Throughput and ciphertexts (not in the paper)", throughput(results)),
        ("Transforms and Hadamard products of one product [dpad-he, Table 1, sec. 3.3.1]", operation_counts(results)),
        ("Conversions between MLWE and RLWE [dpad-he, Table 9]", conversions(results)),
        ("Repeated squaring through all levels [dpad-he, Figure 3]", squarings(results)),
        ("Rotations one after the other [dpad-he, Figure 4]", rotations(results)),
        ("Parameters [dpad-he, Tables 3 and 5]", parameters(results)),
        (f"The paper's GPU ({paper.load()['gpu_machine']}; no figures of ours) [dpad-he, Table 8]", gpu() if results.rows else []),
    ]
    for title, lines_of in sections:
        if lines_of:
            lines += ["", f"## {title}", "", *lines_of]
    for plot in plots:
        lines += ["", f"![{Path(plot).stem}]({plot})"]
    if results.absent:
        body = [[row["work"], row["params"], str(row["absent"]).replace("|", "/")] for row in results.absent]
        lines += ["", "## Absent", "", *grid(["work", "params", "reason"], body)]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Command line: dpad.py [FILE] [--no-plots]."""
    return tables_and_plots("dpad", __doc__, RESULTS, parse_rows, markdown, Results)


if __name__ == "__main__":
    sys.exit(main())
