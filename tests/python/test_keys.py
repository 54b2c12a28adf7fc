"""Keys: what may be shown, copied and pickled, and what may not."""

from __future__ import annotations

import copy
import pickle
import stat

import numpy as np
import pytest
from conftest import TOLERANCE, Party, numbers

import clathrate as cl


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_secret_keys_refuse_to_be_pickled(small, protocol):
    for thing in (small.key, [small.key], {"key": small.key}, (small.key.encrypt,)):
        with pytest.raises(TypeError, match="never pickled"):
            pickle.dumps(thing, protocol=protocol)


def test_secret_keys_refuse_to_be_copied(small):
    for duplicate in (copy.copy, copy.deepcopy, lambda key: copy.deepcopy([key])):
        with pytest.raises(TypeError, match="never copied"):
            duplicate(small.key)


def test_secret_keys_show_no_secret(small):
    for text in (repr(small.key), str(small.key), f"{small.key}"):
        assert "redacted" in text
        assert len(text) < 100
    # One takes a secret in; none gives one out.
    assert [name for name in dir(small.key) if "secret" in name or "coefficient" in name] == ["with_outside_secret"]
    with pytest.raises(TypeError):
        memoryview(small.key)


def test_secret_key_files_are_the_owners_and_come_back(small, tmp_path):
    path = tmp_path / "secret"
    assert small.key.save(path) == path.stat().st_size
    assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    again = cl.SecretKey.load(path, small.params)
    assert again.key_id == small.key.key_id
    assert np.max(np.abs(again.decrypt(small.key.encrypt([1.0, 2.0])) - [1, 2])) < 1e-6
    with pytest.raises(cl.errors.FileFormatError, match="on purpose"):
        cl.load(path, small.params)
    with pytest.raises(cl.errors.WrongParamsError):
        cl.SecretKey.load(path, cl.Params.preset("insecure_tiny"))
    with pytest.raises(cl.errors.FileFormatError, match="holds a secret key"):
        cl.Ciphertext.load(path, small.params)


def test_decrypting_with_another_secret_or_params_is_refused(small, flat):
    ct = small.key.encrypt([1.0])
    with pytest.raises(cl.errors.WrongSecretError, match=small.key.key_id[:12]):
        cl.SecretKey.generate(small.params).decrypt(ct)
    with pytest.raises(cl.errors.WrongParamsError):
        flat.key.decrypt(ct)
    with pytest.raises(TypeError):
        small.key.decrypt(np.ones(2))


def test_keys_cannot_be_made_without_a_class_method():
    for kind in (cl.SecretKey, cl.PublicKey, cl.EvaluationKeys, cl.Ciphertext):
        with pytest.raises(TypeError):
            kind()


def test_evaluation_keys_are_exactly_what_was_needed(small):
    keys = small.key.evaluation_keys(cl.keys.Needs(rotations=[1, -2, 4, 0, 1]))
    assert keys.rotations == [-2, 1, 4]
    assert not keys.has_relinearisation
    assert not keys.has_conjugation
    assert keys.key_id == small.key.key_id
    everything = small.key.evaluation_keys(cl.keys.Needs(relinearise=True) | cl.keys.Needs(conjugate=True))
    assert everything.rotations == []
    assert everything.has_relinearisation
    assert everything.has_conjugation
    assert everything.nbytes > 0
    assert small.key.evaluation_keys(cl.keys.Needs()).nbytes == 0


def test_names_of_keys_have_shapes_and_levels(small):
    degree, top = small.params.degree, small.params.max_level
    needs = cl.keys.Needs(relinearise=True, level=2) | cl.keys.Needs(rotations=[1], conjugate=True)
    keys = small.key.evaluation_keys(needs)
    # A rotation by 1 maps X to X**5, the conjugation to X**(2 degree - 1).
    expected = {("relinearise", (degree, 1), 2), ("automorphism 5", (degree, 1), top), (f"automorphism {2 * degree - 1}", (degree, 1), top)}
    assert set(keys.names) == expected
    assert len(keys.names) == 3
    assert cl.from_bytes(keys.to_bytes(), small.params).names == keys.names
    assert small.key.evaluation_keys(cl.keys.Needs()).names == []
    deep = cl.Params.preset("insecure_dpad")
    names = cl.SecretKey.generate(deep).evaluation_keys(cl.keys.Needs(relinearise=True, ranks=[1])).names
    assert {shape for _, shape, _ in names} == {(deep.degree, deep.rank), (deep.degree, 1)}
    assert ("rank-down", (deep.degree, deep.rank)) in [(name, shape) for name, shape, _ in names]
    assert any(name == "reduce-rank 1" for name, _, _ in names)


def test_needs_merge_to_the_highest_level():
    needs = (
        cl.keys.Needs(relinearise=True, rotations=[1, 2], level=2)
        | cl.keys.Needs(rotations=[2, 3])
        | cl.keys.Needs(relinearise=True, level=4)
    )
    assert needs.to_dict() == {"relinearise": 4, "rotations": {1: 2, 2: None, 3: None}}
    assert needs.relinearise
    assert not needs.conjugate
    assert needs.rotations == [1, 2, 3]
    assert not cl.keys.Needs()
    assert needs
    assert needs == pickle.loads(pickle.dumps(needs))
    assert hash(needs) == hash(pickle.loads(pickle.dumps(needs)))
    assert needs != cl.keys.Needs()
    with pytest.raises(TypeError):
        needs | 3
    with pytest.raises(cl.errors.DataError, match="level"):
        cl.keys.Needs(relinearise=True, level=-1)


def test_params_without_special_primes_have_no_keys(rng):
    params = cl.Params(degree=64, steps=[[30, 30], 40], log2_scale=40, insecure=True)
    key = cl.SecretKey.generate(params)
    with pytest.raises(cl.errors.ParamsError, match="special"):
        key.evaluation_keys(cl.keys.Needs(relinearise=True))
    data = rng.normal(size=(2, 3))
    assert np.max(np.abs(key.decrypt((data.T @ key.encrypt(data)).rescale()) - data.T @ data)) < 1e-6


def test_public_things_copy_as_themselves(small):
    ct = small.encrypt([1.0])
    for thing in (ct, small.keys, small.params, small.key.public_key()):
        assert copy.copy(thing) is thing
        assert copy.deepcopy(thing) is thing


def test_key_sets_join_and_tell_their_size(owner: Party) -> None:
    product, turn = cl.keys.Needs(relinearise=True), cl.keys.Needs(rotations=[3])
    keys = owner.key.evaluation_keys(product) | owner.key.evaluation_keys(turn)
    assert (keys.has_relinearisation, keys.rotations) == (True, [3])
    assert keys.nbytes == (product | turn).nbytes(owner.params)
    x = owner.key.encrypt(numbers(8)).with_keys(keys)
    assert owner.error((x * x).rotate(3), np.roll(numbers(8) ** 2, -3)) < TOLERANCE
    low = owner.key.evaluation_keys(cl.keys.Needs(relinearise=True, level=1))
    assert (low | keys).nbytes == keys.nbytes, "of keys of one name the one for more levels stays"
    with pytest.raises(cl.errors.WrongSecretError):
        _ = keys | cl.SecretKey.generate(owner.params).evaluation_keys(turn)
    with pytest.raises(TypeError, match="params"):
        owner.key.keys_for(lambda x: x, (3,), params=owner.params)
