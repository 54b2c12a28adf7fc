"""Ranks and degrees: parameters of a family, ways between them, keys along the way, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

import clathrate as cl

LOW = {"degree": 8192, "rank": 4, "steps": [[30, 30], *[40] * 16], "special": [42], "log2_scale": 40}


@dataclass(frozen=True)
class Family:
    """A set of rank 4, degree 256, with keys at ranks 2 and 1 and at rank 1 of the higher degrees."""

    params: cl.Params
    key: cl.SecretKey
    keys: cl.EvaluationKeys
    numbers: np.ndarray

    def encrypt(self, **options: object) -> cl.Ciphertext:
        return self.key.encrypt(self.numbers, **options).with_keys(self.keys)

    def error(self, ciphertext: cl.Ciphertext, expected: object) -> float:
        return float(np.max(np.abs(self.key.decrypt(ciphertext) - expected)))


@pytest.fixture(scope="module")
def family() -> Family:
    params = cl.Params.preset("insecure_dpad")
    key = cl.SecretKey.generate(params)
    needs = cl.keys.Needs(relinearise=True, rotations=[3], conjugate=True, ranks=[2, 1], to_rlwe=True)
    return Family(params, key, key.evaluation_keys(needs), np.linspace(-1, 1, params.slot_count))


def shape(thing: cl.Params | cl.Ciphertext) -> tuple[int, int]:
    return thing.degree, thing.rank


def test_parameters_tell_their_relatives(family):
    params = family.params
    assert params.temporary_rank == 5
    assert cl.Params.preset("insecure_small").temporary_rank is None
    assert (shape(params.rlwe()), shape(params.at_rank(2))) == ((1024, 1), (256, 2))
    assert params.relative(degree=512, rank=2).slot_count == 256
    assert params.relative() == params == params.at_rank(2).relative(rank=4)
    assert params.rlwe() != params
    assert pickle.loads(pickle.dumps(params.rlwe())) == params.rlwe()


def test_keys_along_a_way_are_at_every_shape_of_it(family):
    assert family.keys.shapes[0] == (256, 4)
    assert sorted(family.keys.shapes) == [(256, 1), (256, 2), (256, 4), (512, 1), (1024, 1)]
    assert family.keys.ranks == [2]
    assert not family.keys.has_power_rotations
    assert "also at 1024x1 512x1 256x2 256x1" in repr(family.keys)
    again = cl.from_bytes(family.keys.to_bytes(), family.params)
    assert again.shapes == family.keys.shapes


@pytest.mark.parametrize(
    ("move", "level"),
    [
        (lambda ct: ct, 12),
        (lambda ct: ct.to_rlwe(), 12),
        (lambda ct: ct.to_rank(2), 4),
        (lambda ct: ct.to_rank(1), 1),
        (lambda ct: ct.to_rank(2).to_rlwe(), 4),
        (lambda ct: ct.to_rlwe().to_mlwe(4), 12),
        (lambda ct: ct.to_rank(2).to_rank(4), 4),
    ],
    ids=["nothing", "to_rlwe", "rank 2", "rank 1", "ring switch", "there and back", "down and up"],
)
def test_everything_works_after_a_move(family, move, level):
    x, moved = family.numbers, move(family.encrypt(level=level))
    assert moved.level == level
    assert moved.params == family.params.relative(degree=moved.degree, rank=moved.rank)
    assert moved.keys is family.keys
    assert family.error(moved, x) < 1e-7
    assert family.error((moved * moved).rescale(), x * x) < 1e-6
    assert family.error(moved.multiply(moved), x * x) < 1e-6
    assert family.error(moved.rotate(3), np.roll(x, -3)) < 1e-7
    assert family.error(moved.conj(), x) < 1e-7
    assert family.error((moved + 1) * 2 - x, x + 2) < 1e-7
    polynomial = cl.plans.Polynomial([0.1, 0.5, 0.2, 0.3] if level > 1 else [0.1, 0.5])
    assert family.error(polynomial(moved), polynomial(x)) < 1e-6
    assert moved.drop_to_level(1).level == 1
    for again in (pickle.loads(pickle.dumps(moved)), cl.from_bytes(moved.to_bytes(), family.params)):
        assert (again.params, again.level) == (moved.params, moved.level)
        assert family.error(again.with_keys(family.keys) + moved, 2 * x) < 1e-7


def test_ranks_are_told_by_repr_only_where_they_are_not_the_roots(family):
    assert "degree=1024, rank=1" in repr(family.encrypt().to_rlwe())
    assert "rank=" not in repr(family.encrypt())


def test_keys_of_a_relative_encrypt_there_and_the_roots_decrypts(family):
    rlwe = family.params.rlwe()
    owner = family.key.relative(rlwe)
    assert owner.params == rlwe
    assert owner.key_id == family.key.key_id
    data = np.random.default_rng(2).normal(size=(8, 700))
    weights = np.random.default_rng(3).normal(size=(3, 8))
    ct = owner.encrypt(data)
    assert shape(ct) == (1024, 1)
    assert family.error((weights @ ct).rescale(), weights @ data) < 1e-6
    public = owner.public_key().encrypt(family.numbers).with_keys(family.keys)
    assert family.error(public.to_mlwe(4), family.numbers) < 1e-6
    assert np.abs(owner.decrypt(family.encrypt()) - family.numbers).max() < 1e-7, "the whole secret in another shape"
    with pytest.raises(cl.errors.WrongParamsError):
        family.key.relative(family.params.at_rank(2)).decrypt(family.encrypt())
    with pytest.raises(cl.errors.WrongParamsError):
        family.key.relative(cl.Params.preset("insecure_small"))


@pytest.mark.parametrize("name", ["insecure_dpad", "insecure_dpad_rank1"])
def test_power_rotations_make_every_rotation(name):
    params = cl.Params.preset(name)
    key = cl.SecretKey.generate(params)
    keys = key.evaluation_keys(cl.keys.Needs(power_rotations=True))
    assert keys.has_power_rotations
    assert "powers of two" in repr(keys)
    x = np.linspace(-1, 1, params.slot_count)
    ct = key.encrypt(x).with_keys(keys)
    for step in (1, 3, -7, 29):
        assert np.abs(key.decrypt(ct.rotate(step)) - np.roll(x, -step)).max() < 1e-6
    many = ct.rotate_many([5, -5])
    assert np.abs(key.decrypt(many[1]) - np.roll(x, 5)).max() < 1e-6


def test_dry_runs_state_the_needs_of_moves(family):
    def circuit(x):
        return (x * x).rescale().drop_to_level(3).to_rank(2).rotate(1).to_rlwe()

    traced = cl.plans.trace(circuit, (16,), params=family.params)
    assert shape(traced.result) == (512, 1)
    assert traced.needs.ranks == [2]
    keys = family.key.evaluation_keys(traced.needs)
    assert keys.shapes[0] == (256, 4)
    assert sorted(keys.shapes) == [(256, 2), (256, 4), (512, 1)]
    x = np.linspace(0, 1, 16)
    assert family.error(circuit(family.key.encrypt(x).with_keys(keys)), np.roll(x * x, -1)) < 1e-6


def test_needs_of_ways_merge_print_and_pickle():
    needs = cl.keys.Needs(relinearise=True, level=3, ranks=[2, 1], to_rlwe=True)
    assert (needs.ranks, needs.to_rlwe, needs.power_rotations) == ([2, 1], True, False)
    assert needs | needs == needs
    assert needs != cl.keys.Needs(relinearise=True, level=3)
    assert pickle.loads(pickle.dumps(needs)) == needs
    assert "ranks [2, 1]" in repr(needs)
    (route,) = needs.to_dict()["routes"]
    assert route == {"ranks": [2, 1], "to_rlwe": True, "level": 3, "needs": {"relinearise": 3, "rotations": {}}}
    assert cl.keys.Needs(power_rotations=True).to_dict()["power_rotations"] is None
    assert all([cl.keys.Needs(power_rotations=True, level=0), cl.keys.Needs(ranks=[1]), cl.keys.Needs(to_rlwe=True)])
    assert not cl.keys.Needs()


def test_what_is_needed_at_the_top_alone_is_made_there_alone(family):
    keys = family.key.evaluation_keys(cl.keys.Needs(ranks=[2]) | cl.keys.Needs(relinearise=True))
    low = family.encrypt(level=4).with_keys(keys).to_rank(2)
    with pytest.raises(
        cl.errors.MissingKeyError, match=r"degree 256 and rank 2 needs keys of that shape, and the attached keys have .* 256x4"
    ):
        low * low


def test_ranks_that_are_not_there_are_refused(family):
    ct = family.encrypt()
    for rank, reason in ((0, "1 to 4"), (5, "1 to 4"), (-1, "positive")):
        with pytest.raises(cl.errors.ParamsError, match=reason):
            ct.to_rank(rank)
        with pytest.raises(cl.errors.ParamsError, match=reason):
            family.params.at_rank(rank)
    for rank in (3, 0, 1, 2048):
        with pytest.raises(cl.errors.ShapeError, match="power of two"):
            ct.to_mlwe(rank)
    with pytest.raises(cl.errors.ShapeError, match="do not fit the 2 slots of degree 4"):
        ct.to_mlwe(256)
    with pytest.raises(cl.errors.ParamsError, match="power of two"):
        family.params.relative(degree=100)
    with pytest.raises(cl.errors.ParamsError, match="degrees up to 1024"):
        family.params.relative(degree=2048)
    with pytest.raises(TypeError):
        ct.to_rank(1.5)
    odd = cl.Params.preset("insecure_rank3")
    key = cl.SecretKey.generate(odd)
    with pytest.raises(cl.errors.ShapeError, match="odd"):
        key.encrypt([1.0]).to_rlwe()


def test_steps_of_less_than_half_need_the_callers_word(family):
    with pytest.raises(cl.errors.ParamsError, match="single_steps"):
        family.key.evaluation_keys(cl.keys.Needs(ranks=[3]))
    keys = family.key.evaluation_keys(cl.keys.Needs(ranks=[3], single_steps=True))
    assert family.error(family.encrypt(level=8).with_keys(keys).to_rank(3), family.numbers) < 1e-7
    with pytest.raises(cl.errors.ParamsError, match="below"):
        family.key.evaluation_keys(cl.keys.Needs(ranks=[4]))
    with pytest.raises(cl.errors.DataError, match="highest to the lowest"):
        cl.keys.Needs(ranks=[1, 2])
    with pytest.raises(cl.errors.DataError, match="1 or more"):
        cl.keys.Needs(ranks=[0])


def test_missing_keys_name_those_there_are(family):
    bare = family.key.encrypt(family.numbers, level=4)
    for move in (lambda ct: ct.to_rank(2), lambda ct: ct.to_rlwe()):
        with pytest.raises(cl.errors.MissingKeyError, match="with_keys"):
            move(bare)
    keys = family.key.evaluation_keys(cl.keys.Needs(relinearise=True))
    with pytest.raises(cl.errors.MissingKeyError, match="reductions to: none"):
        bare.with_keys(keys).to_rank(2)
    with pytest.raises(cl.errors.MissingKeyError, match="256x4"):
        bare.with_keys(keys).to_rlwe()
    with pytest.raises(cl.errors.MissingKeyError, match="reductions to: 2"):
        family.encrypt(level=4).to_rank(3)


def test_operands_of_different_shapes_are_told_how_to_meet(family):
    ct = family.encrypt()
    with pytest.raises(cl.errors.ShapeError, match="to_rlwe"):
        ct + ct.to_rlwe()
    assert family.error(ct + ct.to_rlwe().to_mlwe(4), 2 * family.numbers) < 1e-7


def test_coefficients_are_converted_as_slots_are(family, rng):
    data = rng.uniform(-1, 1, (8, 300))
    ct = family.key.encrypt(data, level=4).with_keys(family.keys)
    for converted in (ct.to_rlwe(), ct.to_mlwe(8), ct.to_rlwe().to_mlwe(4), ct.to_lwe()):
        assert converted.encoding == "coefficients"
        assert np.max(np.abs(family.key.decrypt(converted) - data)) < 1e-6


def test_conversions_refuse_what_does_not_fit(family):
    long = family.key.relative(family.params.rlwe()).encrypt(np.ones(300))
    with pytest.raises(cl.errors.ShapeError, match="300 entries"):
        long.to_mlwe(4)


def test_temporary_ranks_are_checked_for_security():
    with pytest.raises(cl.errors.SecurityError, match="raise it to 6"):
        cl.Params(**LOW, temporary_rank=5, temporary=[45] * 8)
    for options, reason in (
        ({"temporary_rank": 4, "temporary": [45]}, "use 5 to 128"),
        ({"temporary_rank": 5}, "needs `temporary`"),
        ({"temporary": [45]}, "no `temporary_rank`"),
    ):
        with pytest.raises(cl.errors.ParamsError, match=reason):
            cl.Params(**LOW, **options)
    plain = cl.SecretKey.generate(cl.Params.preset("insecure_small"))
    with pytest.raises(cl.errors.ParamsError, match="temporary_rank"):
        plain.evaluation_keys(cl.keys.Needs(power_rotations=True))


def test_reduced_ranks_are_refused_above_their_secure_levels():
    params = cl.Params.preset("dpad_n13_r4")
    low = params.at_rank(2)
    assert 0 < low.max_level < params.max_level
    assert low.security_bits >= 128
    symbols = []
    with pytest.raises(cl.errors.LevelError, match=f"drop it to level {low.max_level}"):
        cl.plans.trace(lambda x: symbols.append(x) or x.to_rank(2), (8,), params=params)
    traced = cl.plans.trace(lambda x: x.drop_to_level(low.max_level).to_rank(2), (8,), params=params)
    assert traced.result.params == low


def test_explanations_tell_temporary_ranks_packing_and_moves():
    figures = cl.Params.preset("dpad_n13_r4").explain().to_dict()
    assert (figures["messages"], figures["size_of_rlwe"]) == (4096, 0.625)
    temporary = figures["temporary"]
    assert (temporary["rank"], temporary["dimension"], len(temporary["bits"])) == (5, 40960, 5)
    assert min(temporary["security_bits"], temporary["base_security_bits"]) == figures["security_bits"] >= 128
    assert temporary["log2_p"] == pytest.approx(sum(figures["special_bits"]) + sum(temporary["bits"]), abs=1e-6)
    pair = temporary["cross_relinearisation_key_mib"] + temporary["rank_down_key_mib"] + (temporary["direct_key_mib"] or 0)
    assert figures["relinearisation_key_mib"] == pytest.approx(pair)
    moves = {(move["degree"], move["rank"]): move["max_level"] for move in figures["moves"]}
    params = cl.Params.preset("dpad_n13_r4")
    assert moves[8192, 2] == params.at_rank(2).max_level
    assert moves[32768, 1] == params.max_level
    assert cl.Params.preset("insecure_small").explain().to_dict()["temporary"] is None


def test_key_sizes_of_the_explanation_are_those_of_keys(family):
    keys = family.key.evaluation_keys(cl.keys.Needs(relinearise=True))
    # But for the seeds of the masks, 32 bytes each.
    assert keys.nbytes / 2**20 == pytest.approx(family.params.explain().to_dict()["relinearisation_key_mib"], abs=2**-10)


def test_switching_reports_have_a_part_of_the_temporary_rank(family):
    plan = family.params.switching_report()
    assert plan.to_dict()["temporary"]["rank"] == 5
    assert len(plan.to_dict()["temporary"]["rows"]) == family.params.max_level + 1
    assert "temporary rank" in str(plan)
    assert "temporary" not in cl.Params.preset("insecure_small").switching_report().to_dict()


def test_polynomials_go_to_lower_ranks_as_planned():
    params = cl.Params.preset("insecure_dpad", cl.Runtime(switching="as_made"))
    key = cl.SecretKey.generate(params)
    polynomial = cl.plans.Polynomial([0.1, 0.5, -0.25, 0.125, 0.0, 0.3], basis="chebyshev")
    plan = polynomial.plan(params, level=6, ranks="halves")
    assert min(plan.ranks) == 0
    assert plan.ranks[6] >= plan.ranks[4]
    assert polynomial.plan(params).ranks == {}
    data = np.linspace(-1, 1, 100)
    ct = plan(key.encrypt(data, level=6).with_keys(key.evaluation_keys(plan.needs)))
    assert ct.rank == plan.ranks[plan.output_level + 1]
    assert np.abs(key.decrypt(ct) - polynomial(data)).max() < 1e-5
    with pytest.raises(cl.errors.DataError, match="halves"):
        polynomial.plan(params, ranks="thirds")
