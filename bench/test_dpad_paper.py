"""Tests that the numbers of the paper on DPad-HE agree with themselves: python3 bench/test_dpad_paper.py."""

from __future__ import annotations

import itertools
import unittest

from dpad_paper import (
    SAME,
    bits,
    counts,
    dpad_counts,
    dpad_key_mib,
    load,
    modhe_counts,
    modhe_key_mib,
    primes,
    set_named,
    sets,
    wide_digits,
)
from test_papers import ratio_range


def meets(over: float, under: float, decimals: int, printed: float, printed_decimals: int) -> bool:
    """Whether a printed quotient can be that of two printed numbers, rounded or cut: the finest of them has `decimals`."""
    least, most = ratio_range(over, under, decimals)
    unit = 10**-printed_decimals
    return least - unit / 2 <= printed + unit / 2 and most >= printed - unit / 2


class Sets(unittest.TestCase):
    """Tables 3 and 5. Each name reads subject_condition_expectation."""

    def test_sets_of_table_3_have_one_degree_and_ranks_2_to_8(self) -> None:
        rows = [row for row in sets() if row["set"].startswith("n13")]
        assert [(row["degree"], row["rank"]) for row in rows] == [(2**13, rank) for rank in range(2, 9)]
        assert [row["set"] for row in rows] == [f"n13-r{rank}" for rank in range(2, 9)]

    def test_sets_of_table_5_have_two_dimensions(self) -> None:
        rows = [row for row in sets() if not row["set"].startswith("n13")]
        assert [row["set"] for row in rows] == ["I", "II", "III", "IV", "V", "VI"]
        assert [row["degree"] * row["rank"] for row in rows] == [2**15] * 3 + [2**16] * 3

    def test_sets_have_a_prime_per_level_and_one_more(self) -> None:
        for row in sets():
            assert primes(row["q"]) == row["levels"] + 1, row
            assert (row["temporary_rank"] is None) == (row["rank"] == 1) == (row["temporary_p"] is None)
            if row["rank"] > 1:
                assert row["rank"] < row["temporary_rank"] <= 2 * row["rank"]
                # A wide digit is at most P^, as sec. 3.4 wants it.
                assert 60 + 40 * (primes(row["temporary_p"]) - 1) <= bits(row["temporary_p"])

    def test_two_names_of_one_set_have_the_same_parameters(self) -> None:
        for name, other in SAME.items():
            one, same = dict(set_named(name)), dict(set_named(other))
            assert one.pop("set") != same.pop("set")
            assert one == same

    def test_security_at_one_dimension_falls_with_the_modulus(self) -> None:
        # Security is inverse to log2 PQ per dimension. The printed P^ of VI is not the one whose security is printed.
        known = set_named("I")
        log_pq = load()["sets"]["log_p"]
        at_one = known["security"] * (bits(known["q"]) + log_pq) / known["degree"]
        for row in sets():
            expected = at_one * row["degree"] * row["rank"] / (bits(row["q"]) + log_pq)
            assert abs(expected / row["security"] - 1) < 0.01, row
            if row["temporary_rank"]:
                expected = at_one * row["degree"] * row["temporary_rank"] / (bits(row["q"]) + bits(row["temporary_p"]))
                assert abs(expected / row["temporary_security"] - 1) < (0.08 if row["set"] == "VI" else 0.02), (row, expected)


class Times(unittest.TestCase):
    """Tables 4, 6, 8, 9 and what is said of Figure 3."""

    def test_speedups_of_table_4_are_the_quotients_of_its_times(self) -> None:
        for row in load()["multiply_rescale_by_rank"]["rows"]:
            assert meets(row["modhe_s"], row["dpad_s"], 3, row["speedup"], 2), row

    def test_ratios_of_tables_6_and_7_are_to_the_rlwe_set(self) -> None:
        table = load()["multiply_rescale_by_dimension"]
        rlwe = {row["set"]: row for row in table["rns_ckks"]}
        for row in table["rows"]:
            assert meets(rlwe[row["rns_ckks"]]["s"], row["dpad_s"], 3, row["time_ratio"], 2), row
            assert meets(row["dpad_key_mib"], rlwe[row["rns_ckks"]]["key_mib"], 1, row["size_ratio"], 2), row
            assert set_named(row["set"])["levels"] == set_named(row["rns_ckks"])["levels"]

    def test_tables_4_and_6_agree_where_they_meet(self) -> None:
        by_rank = {row["set"]: row for row in load()["multiply_rescale_by_rank"]["rows"]}
        by_dimension = {row["set"]: row for row in load()["multiply_rescale_by_dimension"]["rows"]}
        for name, other in SAME.items():
            for field in ("modhe_s", "dpad_s"):
                assert by_dimension[name][field] == by_rank[other][field]
            for field in ("modhe_key_mib", "dpad_key_mib"):
                assert round(by_dimension[name][field]) == by_rank[other][field]

    def test_gpu_times_are_milliseconds_by_their_quotients_with_the_cpu(self) -> None:
        gpu, cpu = load()["gpu"], load()["multiply_rescale_by_dimension"]
        rlwe = {row["set"]: row for row in gpu["rns_ckks"]}
        for row, here in zip(gpu["rns_ckks"], cpu["rns_ckks"], strict=True):
            assert row["set"] == here["set"]
            assert abs(here["s"] * 1e3 / row["ms"] - row["over_cpu"]) < 1, row
        for row, here in zip(gpu["rows"], cpu["rows"], strict=True):
            assert row["set"] == here["set"]
            for scheme in ("modhe", "dpad"):
                assert abs(here[f"{scheme}_s"] * 1e3 / row[f"{scheme}_ms"] - row[f"{scheme}_over_cpu"]) < 1.1, row
            assert meets(rlwe[row["rns_ckks"]]["ms"], row["dpad_ms"], 3, row["time_ratio"], 2), row

    def test_conversion_to_rlwe_is_a_rotation_per_halving_of_the_rank(self) -> None:
        for row in load()["conversion"]["rows"]:
            rotations = set_named(row["set"])["rank"].bit_length() - 1
            assert abs(row["mlwe_to_rlwe_s"] / (rotations * row["switch_s"]) - 1) < 0.06, row
            assert row["rlwe_to_mlwe_s"] < row["switch_s"] / 10

    def test_total_times_of_figure_3_improve_with_rank(self) -> None:
        rows = {row["set"]: row["dpad_over_modhe"] for row in load()["repeated_squaring"]["rows"]}
        assert rows["III"] < rows["II"] < 1
        assert rows["VI"] < rows["V"] < 1


class Sizes(unittest.TestCase):
    """Tables 4 and 7 against the formula of sec. 3.3.2."""

    def test_keys_of_modhe_and_rlwe_are_the_formulas(self) -> None:
        data = load()
        for row in (*data["multiply_rescale_by_rank"]["rows"], *data["multiply_rescale_by_dimension"]["rows"]):
            # Rounded or cut to the digits printed.
            unit = 1 if row["set"].startswith("n13") else 0.1
            assert abs(modhe_key_mib(set_named(row["set"])) - row["modhe_key_mib"]) < unit, row
        for row in data["multiply_rescale_by_dimension"]["rns_ckks"]:
            assert modhe_key_mib(set_named(row["set"])) == row["key_mib"], row

    def test_keys_of_dpad_are_the_formulas_where_the_notes_say_so(self) -> None:
        data = load()
        printed = {row["set"]: row["dpad_key_mib"] for row in data["multiply_rescale_by_dimension"]["rows"]}
        for name in ("III", "V"):
            assert abs(dpad_key_mib(set_named(name)) - printed[name]) < 0.1, name
        assert (wide_digits(set_named("III")), wide_digits(set_named("V"))) == (4, 3)
        # Elsewhere the printed size is smaller: by at most an eighth.
        everywhere = printed | {row["set"]: row["dpad_key_mib"] for row in data["multiply_rescale_by_rank"]["rows"]}
        for name, size in everywhere.items():
            assert 0.85 < size / dpad_key_mib(set_named(name)) < 1.005, (name, size, dpad_key_mib(set_named(name)))

    def test_keys_of_dpad_are_a_third_to_three_quarters_smaller(self) -> None:
        least, most = load()["claims"]["key_reduction"]
        for row in load()["multiply_rescale_by_rank"]["rows"]:
            saved = 1 - row["dpad_key_mib"] / row["modhe_key_mib"]
            assert least - 0.03 < saved < most + 0.04, row


class Counts(unittest.TestCase):
    """Table 1 and sec. 3.3.1."""

    def test_modhe_counts_are_those_of_table_1(self) -> None:
        formulas = load()["complexity"]
        for rank, level, special in itertools.product((1, 2, 3, 4, 8), (6, 20, 42), (1, 2, 3)):
            digits = -(-level // special)
            symbols = {"r": rank, "l": level, "k": special, "a": level + special, "d": digits}
            hadamard = formulas["modhe_hadamard_k1" if special == 1 else "modhe_hadamard"]
            expected = eval(formulas["modhe_ntt"], {}, symbols), eval(hadamard, {}, symbols)
            assert modhe_counts(rank, level, special, digits) == expected

    def test_dpad_counts_are_the_sections_and_both_mod_downs(self) -> None:
        formulas = load()["complexity"]
        for rank, level, special, temporary in itertools.product((2, 3, 4), (6, 20, 42), (1, 2), (5, 7)):
            up, digits, wide = rank + 1, -(-level // special), -(-level // temporary)
            symbols = {"r": rank, "t": up, "l": level, "k": special, "K": temporary, "a": level + special, "b": level + temporary}
            symbols |= {"d": digits, "m": wide}
            transforms, products = dpad_counts(rank, up, level, special, temporary, digits, wide)
            parts = {name: eval(formula, {}, symbols) for name, formula in formulas.items() if name.startswith("dpad_")}
            transforms -= sum(value for name, value in parts.items() if name.endswith("ntt"))
            products -= sum(value for name, value in parts.items() if name.endswith("hadamard"))
            # What is left is the product and the mod-downs: column r of r^ stays coefficients, with one inverse transform of all primes.
            assert transforms == (rank + 1) * (2 * level + temporary) + level + temporary + (rank + 1) * (2 * level + special)
            down = (rank + 1) * level * (1 if special == 1 else special + 1)
            assert products == (rank + 1) ** 2 * level + (up + 1) * (temporary + 1) * level + down

    def test_counts_of_set_iii_by_hand(self) -> None:
        # 20 primes, k = 1, 20 digits: 10 (20 + 20 21) + 5 (20 + 21).
        assert modhe_counts(4, 20, 1, 20)[0] == 4605
        assert counts("modhe", {"rank": 4, "primes": 20, "special_primes": 1, "digits": 20}) == modhe_counts(4, 20, 1, 20)
        # 10 (20 + 4 25) + 1 20 21 + 5 (20 + 25) + 25 + 5 (20 + 21).
        assert dpad_counts(4, 5, 20, 1, 5, 20, 4)[0] == 2075
        assert counts("dpad", {"rank": 4, "primes": 20, "special_primes": 1, "digits": 20}) is None


if __name__ == "__main__":
    unittest.main()
