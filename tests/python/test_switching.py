"""Switching: options, plans, the machine's profile, keys prepared ahead of use."""

from __future__ import annotations

import math
import pickle
import re
import time
from pathlib import Path

import numpy as np
import pytest

import clathrate as cl

# Long enough for auxiliary primes, small enough for milliseconds.
SPEC = {"degree": 512, "steps": [[30, 30]] + [40] * 10, "special": [42, 42], "log2_scale": 40, "insecure": True}
NEEDS = cl.keys.Needs(relinearise=True, rotations=[1, -2], conjugate=True)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    """A machine profile of this test's own, which does not exist yet."""
    path = tmp_path / "cache" / "clathrate" / "profile.toml"
    monkeypatch.setenv("CLATHRATE_PROFILE", str(path))
    return path


@pytest.fixture(scope="module")
def owner() -> tuple[cl.Params, cl.SecretKey]:
    params = cl.Params(**SPEC)
    return params, cl.SecretKey.generate(params)


def keys_under(owner, needs: cl.keys.Needs = NEEDS, **options) -> tuple[cl.Params, cl.EvaluationKeys]:
    """The owner's keys, used under parameters that run with other options."""
    params = cl.Params(**SPEC, runtime=cl.Runtime(**options))
    return params, cl.from_bytes(owner[1].evaluation_keys(needs).to_bytes(), params)


@pytest.mark.parametrize(
    ("switching", "error", "message"),
    [
        ("", cl.errors.DataError, "fastest"),
        ("Fastest", cl.errors.DataError, "fastest"),
        ("hybrid", cl.errors.DataError, r"\(\"hybrid\", r\)"),
        ((), cl.errors.DataError, "fastest"),
        (("hybrid",), cl.errors.DataError, "fastest"),
        (("hybrid", 1, 2), cl.errors.DataError, "fastest"),
        (("klss", 1), cl.errors.DataError, "r_tilde"),
        (("klss", 1, 2, 3), cl.errors.DataError, "r_tilde"),
        (("fastest", 1), cl.errors.DataError, "fastest"),
        ((1, "hybrid"), cl.errors.DataError, "fastest"),
        (("hybrid", 0), cl.errors.DataError, "is 0: use 1 to 256"),
        (("hybrid", -3), cl.errors.DataError, "is -3"),
        (("hybrid", 10**40), cl.errors.DataError, "use 1 to 256"),
        (("klss", 2, 0), cl.errors.DataError, "is 0"),
        (("hybrid", 1.5), TypeError, r"use a whole number, such as 2; got 1\.5"),
        (("hybrid", "2"), TypeError, "use a whole number, such as 2; got '2'"),
        (["hybrid", 2], TypeError, "switching"),
        (None, TypeError, "switching"),
        (3, TypeError, "switching"),
    ],
)
def test_methods_that_do_not_exist_are_refused_with_those_that_do(switching, error, message):
    with pytest.raises(error, match=message):
        cl.Runtime(switching=switching)


def test_digits_too_long_for_every_level_are_refused_with_both_numbers():
    with pytest.raises(cl.errors.ParamsError, match=r"50 special primes: 12 primes are free there .* ask for 1 to 12"):
        cl.Params(**SPEC, runtime=cl.Runtime(switching=("hybrid", 50)))
    with pytest.raises(cl.errors.ParamsError, match=r"needs a chain of 12 primes or more, this one has 9"):
        cl.Params.preset("insecure_small", cl.Runtime(switching=("klss", 2, 2)))


def test_key_digits_too_long_for_a_level_are_refused_there_with_both_numbers():
    # Below, where the whole modulus is shorter than such a key digit, it serves.
    plan = cl.Params(**SPEC, runtime=cl.Runtime(switching=("klss", 6, 16))).switching_report().to_dict()
    reasons = [row["reason"] for row in plan["refused"]]
    assert any(re.search(r"auxiliary modulus of \d+ bits, the chain's has \d+: use shorter", reason) for reason in reasons), reasons


def test_digits_too_long_for_one_level_are_refused_there_and_serve_below(owner):
    params, keys = keys_under(owner, switching=("hybrid", 4))
    refused = params.switching_report().to_dict()["refused"]
    assert [row["level"] for row in refused] == [9, 10]
    data = np.linspace(-1, 1, 256)
    high, low = (cl.from_bytes(owner[1].encrypt(data, level=level).to_bytes(), params).with_keys(keys) for level in (9, 8))
    with pytest.raises(cl.errors.ParamsError, match=r"level 9 with 4 special primes: \d+ primes are free"):
        high.rotate(1)
    assert np.max(np.abs(owner[1].decrypt(low.rotate(1)) - np.roll(data, -1))) < 1e-6


@pytest.mark.parametrize("option", ["key_expansion", "key_cache_mib"])
@pytest.mark.parametrize("value", [-1, -1e300, -math.inf, math.nan])
def test_memory_limits_below_nothing_are_refused(option, value):
    with pytest.raises(cl.errors.DataError, match=option):
        cl.Runtime(**{option: value})


@pytest.mark.parametrize("value", [0, 1e-300, 1e300, math.inf])
def test_memory_limits_may_be_nothing_or_anything(value):
    plan = cl.Params(**SPEC, runtime=cl.Runtime(key_expansion=value, key_cache_mib=value)).switching_report().to_dict()
    assert plan["derived_bytes"] <= value * plan["key_bytes"]
    assert len(plan["rows"]) == 11


ALL_OPTIONS = [
    {},
    {"switching": "fastest", "key_expansion": math.inf},
    {"switching": "as_made"},
    {"key_expansion": 0},
    {"key_cache_mib": 0},
    {"switching": ("hybrid", 2)},
    {"switching": ("hybrid", 2), "key_cache_mib": 0},
    {"switching": ("klss", 2, 3)},
    {"switching": ("klss", 2, 3), "key_cache_mib": 0},
    {"switching": ("klss", 2, 1), "threads": 2},
]


@pytest.mark.parametrize("options", ALL_OPTIONS, ids=str)
def test_results_agree_whatever_the_method(owner, rng, options):
    params, keys = keys_under(owner, **options)
    x, y = rng.normal(size=256), rng.normal(size=256)
    for level in (10, 7, 3):
        left, right = (cl.from_bytes(owner[1].encrypt(data, level=level).to_bytes(), params).with_keys(keys) for data in (x, y))
        product = (left * right).rescale().rotate(-2) + left.conj().rotate_many([1])[0]
        assert np.max(np.abs(owner[1].decrypt(product) - (np.roll(x * y, 2) + np.roll(x, -1)))) < 1e-5


def test_a_budget_of_nothing_derives_nothing(owner):
    params, keys = keys_under(owner, switching=("hybrid", 4), key_cache_mib=0)
    ct = cl.from_bytes(owner[1].encrypt([1.0, 2.0], level=5).to_bytes(), params).with_keys(keys)
    ct.rotate(1)
    assert keys.derived_bytes == 0
    assert keys.derive() == 0


def test_plans_have_a_row_per_level_and_figures_that_add_up():
    params = cl.Params(**SPEC)
    plan = params.switching_report()
    figures = plan.to_dict()
    assert [row["level"] for row in plan.rows] == list(range(11))
    for row in plan.rows:
        assert row["milliseconds"] > 0
        assert row["read_bytes"] > 0
        assert (row["method"] == "klss") == (row["r_tilde"] is not None) == (row["key_digits"] is not None)
        assert not (row["as_made"] and row["derived_bytes"])
    forms = {(row["method"], row["r"], row["r_tilde"], row["as_made"]): row["derived_bytes"] for row in plan.rows}
    assert figures["derived_bytes"] == sum(forms.values()) <= figures["key_expansion"] * figures["key_bytes"]
    assert plan.explain() == str(plan) == repr(plan)
    assert "clathrate tune" in plan.explain()
    for column in ("special primes of the switch", "digits that a polynomial is cut into"):
        assert column in plan.explain()
    assert ("primes per key digit" in plan.explain()) == any(row["method"] == "klss" for row in plan.rows)
    low = params.switching_report(level=4)
    assert [row["level"] for row in low.rows] == list(range(5))
    assert low.to_dict()["key_level"] == 4
    assert low.to_dict()["key_bytes"] < figures["key_bytes"]


def test_plans_for_no_level_or_no_keys_are_refused():
    with pytest.raises(cl.errors.LevelError, match="0 to 10"):
        cl.Params(**SPEC).switching_report(11)
    with pytest.raises(cl.errors.LevelError):
        cl.Params(**SPEC).switching_report(-1)
    with pytest.raises(cl.errors.ParamsError, match="special"):
        cl.Params(degree=64, steps=[[30, 30], 40], log2_scale=40, insecure=True).switching_report()


def test_plans_without_derived_keys_are_never_faster():
    free, bound = (
        cl.Params(**SPEC, runtime=runtime).switching_report().rows
        for runtime in (cl.Runtime(key_expansion=math.inf), cl.Runtime(switching="as_made"))
    )
    assert all(row["as_made"] for row in bound)
    assert all(row["milliseconds"] <= other["milliseconds"] for row, other in zip(free, bound, strict=True))
    assert any(row["milliseconds"] < other["milliseconds"] for row, other in zip(free, bound, strict=True))


def test_options_travel_with_pickled_params():
    for options in ALL_OPTIONS:
        params = cl.Params(**SPEC, runtime=cl.Runtime(**options))
        again = pickle.loads(pickle.dumps(params))
        assert again == params
        assert again.runtime == params.runtime == cl.Runtime(**options)
        assert again.switching_report().to_dict() == params.switching_report().to_dict()


def test_prepared_keys_derive_nothing_more_in_use(owner):
    params, keys = keys_under(owner)
    assert keys.derived_bytes == 0
    seen: list[tuple[int, int]] = []
    total = keys.derive(progress=lambda done, total: seen.append((done, total)))
    assert total == keys.derived_bytes > 0
    assert seen == [(done, len(seen) - 1) for done in range(len(seen))]
    # Relinearisation, conjugation, two rotations: at rank 1 each derives what the plan says.
    assert total == 4 * params.switching_report().to_dict()["derived_bytes"]
    ct = cl.from_bytes(owner[1].encrypt([1.0, 2.0]).to_bytes(), params).with_keys(keys)
    for level in range(10, 0, -1):
        ct.drop_to_level(level).rotate_many([1, -2])
        (ct.drop_to_level(level) * ct.drop_to_level(level)).conj()
    assert keys.derived_bytes == total
    keys.drop_derived()
    assert keys.derived_bytes == 0
    level = next(row["level"] for row in params.switching_report().rows if not row["as_made"])
    assert np.max(np.abs(owner[1].decrypt(ct.drop_to_level(level).rotate(1))[:1] - 2.0)) < 1e-5
    assert 0 < keys.derived_bytes < total


def test_prepare_takes_levels_and_refuses_those_there_are_not(owner):
    params, keys = keys_under(owner, cl.keys.Needs(rotations=[1]))
    derived = {row["level"]: row["derived_bytes"] for row in params.switching_report().rows}
    level = next(level for level, size in derived.items() if size)
    assert keys.derive(levels=[]) == 0
    assert keys.derive([level]) == derived[level]
    assert keys.derive([level, level]) == derived[level]
    for levels in ([11], [-1], [10**40]):
        with pytest.raises(cl.errors.LevelError, match="0 to 10"):
            keys.derive(levels)
    with pytest.raises(TypeError):
        keys.derive(["1"])
    # Levels above the keys' own are left out.
    low = cl.from_bytes(owner[1].evaluation_keys(cl.keys.Needs(rotations=[1], level=2)).to_bytes(), params)
    assert low.derive([5, 10]) == 0


def test_prepare_stops_when_told_and_keeps_what_it_has(owner):
    _, keys = keys_under(owner)
    with pytest.raises(cl.errors.CancelledError):
        keys.derive(progress=lambda done, total: done < 2)
    some = keys.derived_bytes
    assert 0 < some < keys.derive()
    with pytest.raises(ZeroDivisionError):
        keys.derive(progress=lambda done, total: 1 // 0)


def test_no_keys_prepare_to_nothing(owner):
    keys = owner[1].evaluation_keys(cl.keys.Needs())
    assert keys.derive() == keys.derived_bytes == 0
    keys.drop_derived()


def test_tune_stores_a_profile_that_plans_go_by(cache):
    assert cl.doctor()["profile"]["state"] == "absent"
    assert cl.tune(dry_run=True) is None
    assert not cache.exists()
    seen: list[tuple[int, int]] = []
    assert cl.tune(progress=lambda done, total: seen.append((done, total))) == cache
    assert seen == [(done, len(seen) - 1) for done in range(len(seen))]
    profile = cl.doctor()["profile"]
    assert (profile["state"], profile["path"]) == ("ready", cache)
    plan = cl.Params(**SPEC).switching_report()
    assert plan.to_dict()["origin"] == "measured"
    assert str(cache) in plan.explain()


def tune_again_and_again(seconds: float) -> None:
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        cl.tune(dry_run=True)


def test_tune_stops_when_told_and_stores_nothing(cache, interrupt_soon):
    with pytest.raises(cl.errors.CancelledError):
        cl.tune(progress=lambda done, total: done < 1)
    interrupt_soon(0.2)
    with pytest.raises(KeyboardInterrupt):
        tune_again_and_again(seconds=30)
    assert not cache.exists()


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"not toml [", b"source = 3", b"kernels = []", b"# " + b"x" * (1 << 20)])
def test_broken_profiles_are_told_with_path_and_remedy_and_stop_nothing(cache, text):
    cache.parent.mkdir(parents=True)
    cache.write_bytes(text)
    profile = cl.doctor()["profile"]
    assert profile["state"] == "broken"
    for told in (profile["message"], cl.Params(**SPEC).switching_report().explain()):
        assert str(cache) in told
        assert "clathrate tune" in told


def test_profiles_of_other_kernels_are_left_alone(cache):
    cl.tune()
    name = cl.doctor()["chosen"]
    other = "scalar" if name != "scalar" else "avx2"
    cache.write_text(cache.read_text().replace(f'isa = "{name}"', f'isa = "{other}"'))
    profile = cl.doctor()["profile"]
    assert profile["state"] == "foreign"
    assert f"with {other} kernels, and {name} ones" in profile["message"]
    plan = cl.Params(**SPEC).switching_report()
    assert plan.to_dict()["origin"] == "built-in"
    assert "clathrate tune" in plan.explain()


def test_profile_none_is_neither_read_nor_stored(cache, monkeypatch):
    cl.tune()
    monkeypatch.setenv("CLATHRATE_PROFILE", "none")
    profile = cl.doctor()["profile"]
    assert (profile["state"], profile["path"]) == ("off", None)
    assert cl.Params(**SPEC).switching_report().to_dict()["origin"] == "built-in"
    with pytest.raises(cl.errors.ParamsError, match="CLATHRATE_PROFILE is `none`"):
        cl.tune()
    assert cl.tune(dry_run=True) is None


def test_a_cache_directory_that_cannot_be_written_is_an_os_error(cache):
    cache.parent.parent.write_text("a file")
    with pytest.raises(cl.errors.FileAccessError, match="cannot write"):
        cl.tune()
