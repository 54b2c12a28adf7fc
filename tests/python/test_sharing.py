"""Results that others see: attacks of servers that deviate, what finds them out, and the budget of a key."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Party, numbers
from forging import forged, parsed
from independent_decryptor import derived_key, digest

import clathrate as cl


def primes_of(ct: cl.Ciphertext) -> list[int]:
    return [prime for step in ct.params.primes["steps"][: ct.level + 1] for prime in step]


def tampered(ct: cl.Ciphertext, delta: int) -> cl.Ciphertext:
    """The ciphertext with `delta` added to its masks, whose phases have `delta` times the secret more."""

    def change(_: dict[str, Any], sections: dict[str, bytes]) -> None:
        primes = primes_of(ct)
        masks = np.frombuffer(sections["masks"], dtype="<u8").reshape(-1, len(primes), ct.degree).astype(object)
        for row, prime in enumerate(primes):
            masks[:, row] = (masks[:, row] + delta) % prime
        sections["masks"] = masks.astype("<u8").tobytes()

    result = cl.from_bytes(forged(ct.to_bytes(), change), ct.params)
    assert isinstance(result, cl.Ciphertext)
    return result


def secret_of(key: cl.SecretKey, folder: Path) -> np.ndarray:
    key.save(folder / "whole secret")
    return np.frombuffer(parsed((folder / "whole secret").read_bytes())[2]["secret"], dtype=np.int8)


def test_sharing_takes_the_word_of_the_caller(small: Party) -> None:
    ct = small.key.encrypt([1.0, 2.0])
    for options in ({}, {"honest_evaluator": False}, {"progress": False}):
        with pytest.raises(cl.errors.DataError, match=r"honest_evaluator.*did|honest_evaluator.*deviates.*same_as"):
            small.key.decrypt_to_share(ct, 20, **options)
    np.testing.assert_allclose(small.key.decrypt_to_share(ct, 20, honest_evaluator=True), [1.0, 2.0], atol=1e-3)
    # The word is a word: it cannot be given by a position, and who reads about the noise reads about it.
    with pytest.raises(TypeError):
        small.key.decrypt_to_share(ct, 20, None, True)  # type: ignore[misc]
    for method in (cl.SecretKey.decrypt, cl.SecretKey.decrypt_to_share, cl.Ciphertext.flood_bits):
        text = inspect.getdoc(method) or ""
        assert "server" in text or "whoever computed" in text


def test_a_tampered_mask_reads_the_secret_through_the_noise_and_a_second_computation_finds_it(small: Party, tmp_path: Path) -> None:
    key, n = small.key, small.params.degree
    values = np.random.default_rng(0).uniform(-1, 1, n)
    x = key.encrypt(values, encoding="coefficients", scale=2.0**90)
    result = x + x
    bits = result.flood_bits(2.0**-80, queries=1000)
    delta = 2 ** (bits + 1)
    evil = tampered(result, delta)
    with pytest.raises(cl.errors.DataError, match="honest_evaluator"):
        key.decrypt_to_share(evil, bits)
    shared, honest = (key.decrypt_to_share(y, bits, honest_evaluator=True) for y in (evil, result))
    guesses = np.rint((shared - honest) * result.scale / delta)
    assert np.mean(guesses == secret_of(key, tmp_path)) > 0.99
    # The numbers do not show it; a second computation does, from the same files.
    assert np.abs(shared - 2 * values).max() < 2**-8
    again = cl.from_bytes(x.to_bytes(), small.params)
    again = again + again
    assert result.same_as(again)
    comparison = evil.same_as(again)
    assert not comparison
    assert len(comparison.differences) == 1
    assert comparison.differences[0].startswith("residues of the mask of bundle 0")
    assert "mask of bundle 0" in str(comparison)
    # One residue off by one is found as well.
    assert not tampered(result, 1).same_as(again)


def test_plain_decryptions_give_the_secret_away(tmp_path: Path) -> None:
    """Li and Micciancio: the ciphertext and the decrypted numbers of one array are a system of linear equations for the secret."""
    params = cl.Params.preset("insecure_tiny")
    key, n = cl.SecretKey.generate(params), params.degree
    ct = key.encrypt(np.random.default_rng(0).uniform(-1, 1, n), encoding="coefficients", level=0)
    published = key.decrypt(ct)
    ct = ct + ct - ct  # stores the mask itself
    sections = parsed(ct.to_bytes())[2]
    prime = primes_of(ct)[0]
    psi, bits = params.roots_of_unity[prime], n.bit_length() - 1
    points = [pow(psi, 2 * int(f"{i:0{bits}b}"[::-1], 2) + 1, prime) for i in range(n)]
    mask, body = ([int(word) for word in np.frombuffer(sections[name], dtype="<u8")[:n]] for name in ("masks", "bodies"))
    phase = [round(float(number) * ct.scale) for number in published]
    secret = [int(c) for c in secret_of(key, tmp_path)]

    def value(coefficients: list[int], point: int) -> int:
        return sum(c * pow(point, i, prime) for i, c in enumerate(coefficients)) % prime

    found = [(value(phase, point) - b) * pow(a, -1, prime) % prime for point, a, b in zip(points, mask, body, strict=True)]
    assert found == [value(secret, point) for point in points]


def test_a_public_key_under_the_owners_id_is_told_by_its_fingerprint(tmp_path: Path) -> None:
    params = cl.Params.preset("insecure_small")
    owner, eve = cl.SecretKey.generate(params), cl.SecretKey.generate(params)
    own, evil = owner.public_key(), eve.public_key()
    swapped = cl.from_bytes(forged(evil.to_bytes(), lambda metadata, _: metadata.update(key_id=owner.key_id)), params)
    assert isinstance(swapped, cl.PublicKey)
    assert swapped.key_id == own.key_id
    sent = swapped.encrypt([1.0, 2.0])
    read = cl.from_bytes(forged(sent.to_bytes(), lambda metadata, _: metadata.update(key_id=eve.key_id)), params)
    np.testing.assert_allclose(eve.decrypt(read), [1.0, 2.0], atol=1e-4)
    assert len({own.fingerprint, evil.fingerprint, swapped.fingerprint, owner.public_key().fingerprint}) == 4
    own.save(tmp_path / "public")
    assert cl.PublicKey.load(tmp_path / "public", params).fingerprint == own.fingerprint
    assert [len(group) for group in own.fingerprint.split(" ")] == [4] * 8
    # It is what the page of the file format says, computed without our code.
    _, metadata, sections = parsed(own.to_bytes())
    material = bytes.fromhex(params.digest) + bytes.fromhex(metadata["key_id"])
    material += b"".join(name.encode() + b"\0" + digest(section) for name, section in sections.items())
    assert derived_key(b"clathrate public key fingerprint v1", material)[:16].hex() == own.fingerprint.replace(" ", "")


def test_ciphertexts_that_differ_say_where(small: Party) -> None:
    key = small.key
    x = key.encrypt([1.0, 2.0, 3.0])
    comparison = x.same_as(cl.from_bytes(x.to_bytes(), small.params))
    assert comparison
    assert comparison.differences == []
    assert repr(comparison) == "the same to the last bit"
    other = cl.SecretKey.generate(cl.Params.preset("insecure_tiny")).encrypt([1.0])
    for different, words in (
        (key.encrypt([1.0, 2.0, 3.0]), "residues"),
        (x.drop_to_level(1), "level 5 and 1"),
        (x.with_bound(10.0), "bound none and 10"),
        (key.encrypt([1.0, 2.0, 3.0, 4.0]), "shape [3] and [4]"),
        (other, "parameters"),
    ):
        comparison = x.same_as(different)
        assert not comparison
        assert any(words in difference for difference in comparison.differences), comparison
    with pytest.raises(TypeError):
        x.same_as(x.to_bytes())  # type: ignore[arg-type]
    with pytest.raises(cl.errors.DataError):
        cl.plans.trace(lambda y: [y.same_as(y), y][1], (3,), params=small.params)


def test_a_key_shares_as_many_results_as_its_budget(tmp_path: Path) -> None:
    params = cl.Params.preset("insecure_tiny")
    key = cl.SecretKey.generate(params)
    assert (key.share_budget, key.shares_left) == (None, None)
    ct = key.encrypt([1.0])
    key = key.with_share_budget(3)
    path = tmp_path / "secret"
    key.save(path)
    loaded = [cl.SecretKey.load(path, params) for _ in range(2)]
    for user in (key, *loaded):
        user.decrypt_to_share(ct, 8, honest_evaluator=True)
    for user in (key, *loaded, cl.SecretKey.load(path, params)):
        assert (user.share_budget, user.shares_left) == (3, 0)
        with pytest.raises(cl.errors.DataError, match=r"budget of 3 is spent.*new secret key"):
            user.decrypt_to_share(ct, 8, honest_evaluator=True)
        user.decrypt(ct)
    with pytest.raises(cl.errors.DataError, match="one of 3 already, of which 0 are left"):
        key.with_share_budget(10)
    with pytest.raises(cl.errors.DataError, match="results"):
        cl.SecretKey.generate(params).with_share_budget(-1)
    # What is refused before it is decrypted is not counted; what is stopped is. The count is in the file or nothing is shared.
    other = cl.SecretKey.generate(params).with_share_budget(2)
    ct = other.encrypt([1.0])
    other.save(tmp_path / "other")
    with pytest.raises(cl.errors.DataError):
        other.decrypt_to_share(ct, 8)
    with pytest.raises(cl.errors.DataError):
        other.decrypt_to_share(ct, 0, honest_evaluator=True)
    assert other.shares_left == 2
    with pytest.raises(cl.errors.CancelledError):
        other.decrypt_to_share(ct, 8, lambda *_: False, honest_evaluator=True)
    assert cl.SecretKey.load(tmp_path / "other", params).shares_left == 1
    (tmp_path / "other").unlink()
    with pytest.raises(cl.errors.FileAccessError, match="cannot count shared results in"):
        other.decrypt_to_share(ct, 8, honest_evaluator=True)


def test_files_that_are_stored_elsewhere_are_known_by_their_tag(small: Party, tmp_path: Path) -> None:
    first, second = tmp_path / "first.clt", tmp_path / "second.clt"
    small.key.encrypt([1.0], bound=1.0).save(first)
    small.key.encrypt([1.0], bound=1.0).save(second)
    tag = small.key.tag(first, "monday")
    assert tag == small.key.tag(first, "monday")
    assert re.fullmatch("[0-9a-f]{32}", tag)
    # Of another file, name, owner, and of every changed byte it is another.
    other = cl.SecretKey.generate(small.params)
    others = [small.key.tag(second, "monday"), small.key.tag(first), other.tag(first, "monday")]
    whole = first.read_bytes()
    for place in (0, len(whole) // 2, len(whole) - 1):
        changed = bytearray(whole)
        changed[place] ^= 1
        first.write_bytes(changed)
        others.append(small.key.tag(first, "monday"))
    first.write_bytes(whole[:-1])
    others.append(small.key.tag(first, "monday"))
    assert len({tag, *others}) == 1 + len(others)
    first.write_bytes(whole)
    assert small.key.tag(first, "monday") == tag
    # A key that is read again makes the same tags.
    small.key.save(tmp_path / "secret.clt")
    assert cl.SecretKey.load(tmp_path / "secret.clt", small.params).tag(first, "monday") == tag
    with pytest.raises(cl.errors.FileAccessError, match=r"none\.clt"):
        small.key.tag(tmp_path / "none.clt")


def test_results_are_shared_by_the_documented_path() -> None:
    params = cl.Params(
        degree=1024, steps=[[40, 40, 40], [34.6, 34.7, 34.7]], special=[48, 48], log2_scale=104, insecure=True, name="share_small"
    )
    key = cl.SecretKey.generate(params)
    data = numbers(100)
    found = cl.plans.trace(lambda x: (x * x).rescale(), (100,), params=params, bound=1.0)
    x = key.encrypt(data, bound=1.0).with_keys(key.evaluation_keys(found.needs))
    result = (x * x).rescale()
    bits = found.result.flood_bits(queries=100, correct_bits=12)
    # A dry run takes encryption with a public key into account, which has the larger error.
    assert bits - 8 < result.flood_bits(queries=100, correct_bits=12) <= bits
    # Decryption to doubles rounds far more than the computation did.
    assert found.result.error_bound > 2.0**-53
    with pytest.raises(cl.errors.DataError, match="correct bits"):
        result.flood_bits(found.result.error_bound, queries=100, correct_bits=0)
    shared = key.decrypt_to_share(result, bits, honest_evaluator=True)
    assert 1e-12 < np.abs(shared - data**2).max() < 2**-10
    with pytest.raises(cl.errors.DataError, match="correct bits"):
        result.flood_bits(queries=100, correct_bits=60)
    small = cl.SecretKey.generate(cl.Params.preset("insecure_small")).encrypt(data)
    with pytest.raises(cl.errors.DataError, match="share_n14"):
        small.flood_bits(1e-8)
