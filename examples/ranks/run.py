"""One circuit at several ranks: where rank 1 is faster, where a module of higher rank, and where it pays to change on the way.

The circuit squares numbers in [-1, 1] again and again, x -> x^2 -> x^4 -> .., once per level, down to level 0. The numbers fill the slots
of the module's ring degree n: 2^12 of them at degree 2^13. Four ways:

    rlwe      rank 1 at degree N = n r, all the way
    mlwe      rank r at degree n, all the way
    reduced   the same, and the rank is lowered as soon as the remaining modulus allows it
    mixed     rank 1 while levels are high, then `to_mlwe`, then lower ranks

    python examples/ranks/run.py --preset dpad_n13_r4     # 128 bits of security; a small insecure set without --preset
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import clathrate as cl


def halves(rank: int) -> list[int]:
    """The ranks that reductions by halves lead to."""
    ranks = []
    while rank > 1:
        rank = (rank + 1) // 2
        ranks.append(rank)
    return ranks


def lowest_rank(params: cl.Params, level: int, ranks: list[int]) -> int:
    """The lowest of the ranks that is secure at this level."""
    return min([params.rank, *(rank for rank in ranks if params.at_rank(rank).max_level >= level)])


class Way:
    """One way through the circuit: what it does with a ciphertext before each squaring."""

    def __init__(self, name: str, params: cl.Params, ranks: list[int], *, starts_at_rank_1: bool, stays: bool) -> None:
        self.name, self.params, self.ranks = name, params, ranks
        self.starts_at_rank_1, self.stays = starts_at_rank_1, stays

    def prepare(self, ct: cl.Ciphertext) -> cl.Ciphertext:
        if self.stays or ct.level == 0:
            return ct
        rank = lowest_rank(self.params, ct.level, self.ranks)
        if ct.degree != self.params.degree:
            # Rank 1 of the high degree is left where a lower rank of the low one can be had.
            if rank == self.params.rank:
                return ct
            ct = ct.to_mlwe(self.params.rank)
        while ct.rank > rank:
            ct = ct.to_rank(max(r for r in self.ranks if r < ct.rank))
        return ct

    def run(self, ct: cl.Ciphertext) -> tuple[cl.Ciphertext, list[tuple[int, str, float]]]:
        """The result, and (level, degree x rank, seconds) of every squaring, moves included."""
        steps = []
        while ct.level > 0:
            level, started = ct.level, time.perf_counter()
            ct = self.prepare(ct)
            ct = ct.multiply(ct)
            steps.append((level, f"{ct.degree}x{ct.rank}", time.perf_counter() - started))
        return ct, steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="insecure_dpad", help="a set of rank 2 or more")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way; the medians are shown")
    arguments = parser.parse_args()

    params = cl.Params.preset(arguments.preset)
    if params.rank < 2:
        parser.error(f"{params.name} has rank {params.rank}: choose a set of rank 2 or more")
    print(params.explain(), end="\n\n")
    rlwe = params.rlwe()
    # Ranks at which no level above 0 is secure have nothing to square.
    ranks = []
    for rank in halves(params.rank):
        try:
            usable = params.at_rank(rank).max_level > 0
        except cl.errors.ParamsError:
            usable = False
        if not usable:
            break
        ranks.append(rank)

    key = cl.SecretKey.generate(params)
    rank_1 = key.relative(rlwe)
    keys = key.evaluation_keys(cl.keys.Needs(relinearise=True, ranks=ranks) | cl.keys.Needs(relinearise=True, to_rlwe=True))
    print(f"keys: {keys.nbytes / 2**20:.0f} MiB in memory, at degree and rank {', '.join(f'{n}x{k}' for n, k in keys.shapes)}")

    numbers = np.random.default_rng(1).uniform(-1, 1, params.slot_count)
    expected = numbers ** (2.0**params.max_level)
    ways = [
        Way("rlwe", params, [], starts_at_rank_1=True, stays=True),
        Way("mlwe", params, [], starts_at_rank_1=False, stays=True),
        Way("reduced", params, ranks, starts_at_rank_1=False, stays=False),
        Way("mixed", params, ranks, starts_at_rank_1=True, stays=False),
    ]
    seconds: dict[str, float] = {}
    levels: dict[str, dict[int, tuple[str, float]]] = {}
    runs: dict[str, list[list[tuple[int, str, float]]]] = {way.name: [] for way in ways}
    for run in range(arguments.repeat + 1):
        for way in ways:  # interleaved, so that what else the machine does falls on all alike
            ct = (rank_1 if way.starts_at_rank_1 else key).encrypt(numbers).with_keys(keys)
            result, steps = way.run(ct)
            error = np.abs(key.decrypt(result) - expected).max()
            if error > 1e-3:
                raise SystemExit(f"{way.name}: the result is off by {error:.1e}")
            if run > 0:  # the first run derives keys
                runs[way.name].append(steps)
    for way in ways:
        median = np.median([[step[2] for step in steps] for steps in runs[way.name]], axis=0)
        seconds[way.name] = float(median.sum())
        levels[way.name] = {step[0]: (step[1], float(s)) for step, s in zip(runs[way.name][0], median, strict=True)}

    print(f"\n{len(numbers)} numbers, squared {params.max_level} times; milliseconds of each squaring with the moves before it")
    print("level  " + "".join(f"{way.name:>22}" for way in ways))
    for level in range(params.max_level, 0, -1):
        cells = [levels[way.name][level] for way in ways]
        print(f"{level:>5}  " + "".join(f"{shape:>12}{1e3 * s:>10.2f}" for shape, s in cells))
    print("  sum  " + "".join(f"{1e3 * seconds[way.name]:>22.2f}" for way in ways))

    fastest = min(seconds, key=seconds.__getitem__)
    others = ", ".join(f"{seconds[name] / seconds[fastest]:.2f} times its time for {name}" for name in seconds if name != fastest)
    print(f"\nfor these {len(numbers)} numbers the fastest way is {fastest}; {others}")
    higher = [level for level in range(params.max_level, 0, -1) if levels["rlwe"][level][1] < levels["reduced"][level][1]]
    if higher:
        print(f"levels where rank 1 is faster than the reduced module: {', '.join(map(str, higher))}; elsewhere the module is")
    else:
        print("the module is faster at every level")
    # Rank 1 has rank times the slots: filled, it does that much more work in its time.
    per_slot = {"rlwe": seconds["rlwe"] / rlwe.slot_count, "reduced": seconds["reduced"] / params.slot_count}
    better = min(per_slot, key=per_slot.__getitem__)
    print(
        f"with all slots filled ({rlwe.slot_count} at rank 1, {params.slot_count} at rank {params.rank}) a number takes "
        f"{1e6 * per_slot['rlwe']:.2f} us at rank 1, {1e6 * per_slot['reduced']:.2f} us reduced: take {better}"
    )


if __name__ == "__main__":
    main()
