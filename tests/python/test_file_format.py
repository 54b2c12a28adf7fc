"""The files are what docs/file-format.md says: a program that knows nothing else decrypts them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import independent_decryptor
import numpy as np
import pytest

import clathrate as cl

SCRIPT = Path(independent_decryptor.__file__)


def parameters_of(params: cl.Params, secret_weight: int | None = None) -> dict[str, object]:
    return {"degree": params.degree, "rank": params.rank, "steps": params.primes["steps"], "secret_weight": secret_weight}


def independently(folder: Path, ct: cl.Ciphertext, secret: cl.SecretKey) -> np.ndarray:
    """The array that the other program decrypts, in a process of its own."""
    ct.save(folder / "ct.clt")
    secret.save(folder / "secret.clt", overwrite=True)
    (folder / "parameters.json").write_text(json.dumps(parameters_of(secret.params)))
    command = [sys.executable, str(SCRIPT), *(str(folder / name) for name in ("ct.clt", "secret.clt", "parameters.json", "numbers.npy"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.load(folder / "numbers.npy")


def independently_here(folder: Path, ct: cl.Ciphertext, secret: cl.SecretKey, secret_weight: int | None = None) -> np.ndarray:
    """The same in this process, which is faster for many small arrays."""
    ct.save(folder / "ct.clt")
    secret.save(folder / "secret.clt", overwrite=True)
    containers = (independent_decryptor.read_container(str(folder / name)) for name in ("ct.clt", "secret.clt"))
    return independent_decryptor.decrypt(*containers, parameters_of(secret.params, secret_weight))


def assert_close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-8) -> None:
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert np.max(np.abs(found - expected)) < tolerance


def test_the_other_program_imports_nothing_of_ours():
    assert "import clathrate" not in SCRIPT.read_text()
    assert "from clathrate" not in SCRIPT.read_text()


def test_its_blake3_gives_the_published_digests():
    assert independent_decryptor.digest(b"").hex() == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    derived = independent_decryptor.derived_key(b"BLAKE3 2019-12-27 16:29:52 test vectors context", b"")
    assert derived.hex() == "2cc39783c223154fea8dfb7c1b1660f2ac2dcbd1c1de8277b0b0dd39b7e50d7d"


def test_its_chacha20_gives_the_published_block():
    """RFC 8439, section 2.3.2."""
    block = independent_decryptor.chacha20_block(bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000"))
    assert block.hex() == (
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d282644607 9faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e".replace(" ", "")
    )


@pytest.mark.parametrize("shape", [(), (5,), (600,), (2, 30)])
def test_slots_of_fresh_ciphertexts_are_decrypted_independently(small, rng, tmp_path, shape):
    data = rng.normal(size=shape)
    ct = small.key.encrypt(data, encoding="slots")
    found = independently(tmp_path, ct, small.key)
    assert_close(found, data)
    assert_close(found, small.key.decrypt(ct), 1e-12)


@pytest.mark.parametrize("shape", [(7,), (1030,), (2, 3)])
def test_coefficients_of_fresh_ciphertexts_are_decrypted_independently(small, rng, tmp_path, shape):
    data = rng.normal(size=shape)
    ct = small.key.encrypt(data, encoding="coefficients", level=2)
    found = independently(tmp_path, ct, small.key)
    assert_close(found, data)
    assert_close(found, small.key.decrypt(ct), 1e-12)


def test_complex_numbers_are_decrypted_independently(small, rng, tmp_path):
    data = rng.normal(size=12) + 1j * rng.normal(size=12)
    assert_close(independently(tmp_path, small.key.encrypt(data, level=1), small.key), data)


def test_results_and_public_encryptions_have_masks_that_are_decrypted_independently(each_rank, rng, tmp_path):
    x = rng.normal(size=20)
    results = {
        "product": ((each_rank.encrypt(x) ** 2).rescale().rotate(1).drop_to_level(1), np.roll(np.append(x**2, np.zeros(12)), -1)[:20]),
        "public": (each_rank.key.public_key().encrypt(x, level=1), x),
        "fresh": (each_rank.key.encrypt(x, level=1), x),
    }
    for name, (ct, expected) in results.items():
        report = json.loads(json.dumps(inspected(tmp_path, ct)))
        assert report["seeded"] == (name == "fresh")
        assert_close(independently(tmp_path, ct, each_rank.key), expected, 1e-6)


def inspected(folder: Path, ct: cl.Ciphertext) -> dict[str, object]:
    ct.save(folder / "inspected.clt")
    return cl.inspect(folder / "inspected.clt")["metadata"]


def test_ciphertexts_of_another_degree_are_decrypted_independently(rng, tmp_path):
    params = cl.Params.preset("insecure_dpad")
    owner = cl.SecretKey.generate(params)
    relative = owner.relative(params.rlwe())
    data = rng.normal(size=10)
    for ct in (
        relative.encrypt(data, level=1),
        owner.encrypt(data, level=1).with_keys(owner.evaluation_keys(cl.keys.Needs(to_rlwe=True))).to_rlwe(),
    ):
        assert inspected(tmp_path, ct)["relative"] == f"{ct.degree}x{ct.rank}"
        assert_close(independently(tmp_path, ct, owner), data, 1e-6)


@pytest.fixture(scope="module", params=[(64, 1), (32, 2)])
def owner(request) -> cl.SecretKey:
    """A key at degree times rank 64."""
    degree, rank = request.param
    steps, special = [[30, 30], 40, 40], [42, 42]
    return cl.SecretKey.generate(cl.Params(degree=degree, rank=rank, steps=steps, special=special, log2_scale=40, insecure=True))


PLACINGS = {
    "one body": {},
    "one body under a secret of its own": {"bodies": 1},
    "two rows": {"bodies": 2, "axis": "rows"},
    "two chunks": {"bodies": 2, "axis": "chunks"},
    "five rows": {"bodies": 5, "axis": "rows"},
    "five chunks": {"bodies": 5, "axis": "chunks"},
    "reversed": {"order": "bit-reversed"},
    "three reversed rows of few numbers": {"bodies": 3, "axis": "rows", "order": "bit-reversed", "capacity": 8},
    "two chunks of few numbers": {"bodies": 2, "axis": "chunks", "capacity": 4},
}


@pytest.mark.parametrize("name", PLACINGS)
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_every_layout_is_decrypted_independently(owner, rng, tmp_path, name, encoding, is_complex):
    for shape, level in (((), 0), ((3, 5), 0), ((70,), 2), ((3, 150), 0)):
        data = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)
        ct = owner.encrypt(data, encoding=encoding, level=level, **PLACINGS[name])
        metadata = inspected(tmp_path, ct)
        assert metadata["secret"] == ct.secret == (f"bodies:{PLACINGS[name]['bodies']}" if "bodies" in PLACINGS[name] else "main")
        found = independently_here(tmp_path, ct, owner)
        assert_close(found, owner.decrypt(ct), 1e-9)
        assert_close(found, data, 1e-6)


@pytest.mark.parametrize("lanes", [2, "most"])
@pytest.mark.parametrize("bodies", [None, 1, 2])
@pytest.mark.parametrize("order", ["natural", "bit-reversed"])
def test_rows_in_lanes_are_decrypted_independently(owner, rng, tmp_path, lanes, bodies, order):
    for shape in ((1, 5), (7, 5), (9, 16), (5,)):
        data = rng.uniform(-1, 1, shape)
        ct = owner.encrypt(data, encoding="coefficients", level=1, lanes=lanes, bodies=bodies, order=order)
        assert inspected(tmp_path, ct)["layout"]["lanes"] == ct.layout.lanes > 1
        found = independently_here(tmp_path, ct, owner)
        assert_close(found, owner.decrypt(ct), 1e-9)
        assert_close(found, data, 1e-6)


@pytest.mark.parametrize(
    "placing", [{"lanes": 2}, {"lanes": "most"}, {"lanes": 2, "copies": 2}, {"capacity": 2, "copies": 4}, {"lanes": 2, "bodies": 2}]
)
@pytest.mark.parametrize("order", ["natural", "bit-reversed"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_rows_in_lanes_of_slots_are_decrypted_independently(owner, rng, tmp_path, placing, order, is_complex):
    for shape in ((7, 3), (5, 2)):
        data = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)
        ct = owner.encrypt(data, encoding="slots", level=1, order=order, **placing)
        layout = inspected(tmp_path, ct)["layout"]
        assert (layout.get("lanes", 1), layout.get("copies", 1)) == (ct.layout.lanes, ct.layout.copies) != (1, 1)
        found = independently_here(tmp_path, ct, owner)
        assert_close(found, owner.decrypt(ct), 1e-9)
        assert_close(found, data, 1e-6)


@pytest.mark.parametrize("name", PLACINGS)
@pytest.mark.parametrize("is_complex", [False, True])
def test_components_and_samples_are_decrypted_independently(owner, rng, tmp_path, name, is_complex):
    shape = (3, 70)
    data = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if is_complex else 0)
    ct = owner.encrypt(data, encoding="coefficients", level=1, **PLACINGS[name])
    for moved in (ct.to_mlwe(2 * ct.rank), ct.to_mlwe(8 * ct.rank), ct.to_mlwe(4 * ct.rank).to_mlwe(16 * ct.rank), ct.to_lwe()):
        metadata = inspected(tmp_path, moved)
        assert metadata["relative"] == f"{moved.degree}x{moved.rank}"
        assert metadata["layout"].get("components", 1) == moved.layout.components
        found = independently_here(tmp_path, moved, owner)
        assert_close(found, owner.decrypt(moved), 1e-9)
        assert_close(found, data, 1e-6)


@pytest.mark.parametrize("bodies", [None, 1, 2, 5])
@pytest.mark.parametrize("axis", ["rows", "chunks"])
@pytest.mark.parametrize("encoding", ["slots", "coefficients"])
def test_joined_secrets_are_rearranged_as_the_page_says(rng, tmp_path, bodies, axis, encoding):
    steps, special = [[30, 30], 40, 40], [42, 42]
    params = cl.Params(degree=32, rank=2, steps=steps, special=special, log2_scale=40, insecure=True)
    owner = cl.SecretKey.generate(params)
    shape = (3, 10) if encoding == "slots" else (3, 40)
    placing = {"encoding": encoding, "bodies": bodies, "axis": axis}
    needs = cl.plans.trace(lambda x: x.to_rlwe(), shape, params=params, level=1, **placing).needs
    data = rng.uniform(-1, 1, shape)
    result = owner.encrypt(data, level=1, **placing).with_keys(owner.evaluation_keys(needs)).to_rlwe()
    assert inspected(tmp_path, result)["relative"] == "64x1"
    found = independently_here(tmp_path, result, owner)
    assert_close(found, owner.decrypt(result), 1e-9)
    assert_close(found, data, 1e-5)


@pytest.mark.parametrize("ranks", [[2], [1], [2, 1]])
def test_secrets_of_lower_ranks_are_cut_as_the_page_says(rng, tmp_path, ranks):
    params = cl.Params.preset("insecure_dpad")
    owner = cl.SecretKey.generate(params)
    data = rng.uniform(-1, 1, 10)
    ct = owner.encrypt(data, level=0).with_keys(owner.evaluation_keys(cl.keys.Needs(ranks=ranks)))
    for rank in ranks:
        ct = ct.to_rank(rank)
    # Cut, and split after that.
    for result in (ct, ct.to_mlwe(2 * ct.rank)):
        assert inspected(tmp_path, result)["relative"] == f"{result.degree}x{result.rank}"
        found = independently_here(tmp_path, result, owner)
        assert_close(found, owner.decrypt(result), 1e-9)
        assert_close(found, data, 1e-5)


def test_shared_masks_and_computed_bodies_are_decrypted_independently(owner, rng, tmp_path):
    data = rng.uniform(-1, 1, (7, 12))
    for bodies in (2, 5):
        keys = owner.evaluation_keys(cl.keys.Needs(shared_mask=bodies) | cl.keys.Needs(rotations=[1], bodies=bodies))
        shared = owner.encrypt(data, encoding="slots").with_keys(keys).share_mask(bodies, axis="rows")
        rotated = shared.rotate(1)
        assert inspected(tmp_path, rotated)["layout"]["padding"] == "dirty"
        for ct in (shared, rotated, rotated.split_mask(), (shared * 0.5).rescale()):
            assert not inspected(tmp_path, ct)["seeded"]
            found = independently_here(tmp_path, ct, owner)
            assert_close(found, owner.decrypt(ct), 1e-9)


@pytest.mark.parametrize("weight", [1, 20, 64])
def test_bodies_under_secrets_of_fixed_weight_are_decrypted_independently(rng, tmp_path, weight):
    steps, special = [[30, 30], 40], [42, 42]
    params = cl.Params(degree=64, steps=steps, special=special, log2_scale=40, secret_weight=weight, insecure=True)
    owner = cl.SecretKey.generate(params)
    data = rng.uniform(-1, 1, (5, 30))
    for moved in (False, True):
        ct = owner.encrypt(data, bodies=3)
        ct = ct.to_mlwe(4) if moved else ct
        found = independently_here(tmp_path, ct, owner, weight)
        assert_close(found, owner.decrypt(ct), 1e-9)
        assert_close(found, data, 1e-6)


def automorphism(coefficients: list[int], element: int) -> list[int]:
    """The polynomial with X^element in place of X."""
    n = len(coefficients)
    image = [0] * n
    for i, c in enumerate(coefficients):
        power = i * element % (2 * n)
        image[power % n] = -c if power >= n else c
    return image


def product(x: list[int], y: list[int]) -> list[int]:
    """The product modulo X^n + 1."""
    whole = [*np.convolve(np.array(x), np.array(y)).tolist(), 0]
    return [low - high for low, high in zip(whole[: len(x)], whole[len(x) :], strict=True)]


def digits_of(primes: dict[str, list]) -> list[list[int]]:
    """The primes of the steps, by the numbers of the primes of each digit."""
    room, digits, left = sum(np.log2(q) for q in primes["special"]) + 0.5, [], 0.0
    for number, q in enumerate(q for step in primes["steps"] for q in step):
        if not digits or np.log2(q) > left:
            digits.append([])
            left = room
        digits[-1].append(number)
        left -= np.log2(q)
    return digits


@pytest.mark.parametrize("preset", ["insecure_tiny", "insecure_rank2"])
@pytest.mark.parametrize("level", [None, 1])
def test_evaluation_keys_encrypt_what_the_page_says(tmp_path, preset, level):
    params = cl.Params.preset(preset)
    owner = cl.SecretKey.generate(params)
    owner.save(tmp_path / "secret.clt")
    owner.evaluation_keys(cl.keys.Needs(relinearise=True, rotations=[3], conjugate=True, level=level)).save(tmp_path / "keys.clt")
    secret, keys = (independent_decryptor.read_container(str(tmp_path / name)) for name in ("secret.clt", "keys.clt"))
    n, level = params.degree, params.max_level if level is None else level
    stored = np.frombuffer(secret.sections["secret"], dtype=np.int8).astype(int).reshape(params.rank, n).tolist()
    primes, roots, digits = params.primes, params.roots_of_unity, digits_of(params.primes)
    steps = [q for step in primes["steps"] for q in step]
    below = sum(len(step) for step in primes["steps"][: level + 1])
    numbers = [*range(below), *range(len(steps), len(steps) + len(primes["special"]))]
    everything = steps + primes["special"]
    chosen = [everything[p] for p in numbers]
    modulus = independent_decryptor.Modulus(n, chosen, [roots[q] for q in chosen])
    pairs = [(i, j) for i in range(params.rank) for j in range(i, params.rank)]
    assert len(keys.metadata["keys"]) == 3
    for index, key in enumerate(keys.metadata["keys"]):
        assert (key["shape"], key["level"]) == (f"{n}x{params.rank}", level)
        name, _, element = key["name"].partition(" ")
        if name == "relinearise":
            inputs, target = [product(stored[i], stored[j]) for i, j in pairs], stored
        else:
            assert name == "automorphism"
            inputs, target = stored, [automorphism(s, pow(int(element), -1, 2 * n)) for s in stored]
        target_values = [[independent_decryptor.values_of(s, q, roots[q]) for q in chosen] for s in target]
        seed = keys.sections["seeds"][32 * index : 32 * (index + 1)]
        bodies = modulus.polynomials(keys.sections[f"key{index}"])
        used = [digit for digit in digits if digit[0] < below]
        assert len(bodies) == len(inputs) * len(used)
        for t, body in enumerate(bodies):
            contribution, digit = inputs[t // len(used)], used[t % len(used)]
            entry_seed = independent_decryptor.derived_seed(seed, t)
            errors = []
            for row, (p, q) in enumerate(zip(numbers, chosen, strict=True)):
                phase = list(body[row])
                for i, s in enumerate(target_values):
                    mask = independent_decryptor.mask_row(entry_seed, i, p, q, n)
                    phase = [(b + x * y) % q for b, x, y in zip(phase, mask, s[row], strict=True)]
                constant = 1
                for other, prime in enumerate(everything):
                    constant = constant * (1 if other in digit else prime) % q
                found = independent_decryptor.coefficients_of(phase, q, roots[q])
                errors.append([(c - constant * m) % q for c, m in zip(found, contribution, strict=True)])
            assert all(abs(modulus.from_residues(list(column))) <= 32 for column in zip(*errors, strict=True))


def test_primes_are_numbered_as_masks_number_them_and_roots_have_their_order(small):
    primes = small.params.primes
    assert list(primes) == ["steps", "special", "temporary", "auxiliary"]
    assert len(primes["steps"]) == small.params.max_level + 1
    listed = [q for step in primes["steps"] for q in step] + primes["special"] + primes["temporary"] + primes["auxiliary"]
    roots = small.params.roots_of_unity
    assert list(roots) == listed
    for q, psi in roots.items():
        assert q % (2 * small.params.degree) == 1
        assert pow(psi, small.params.degree, q) == q - 1
        smallest = next(g for g in range(2, 10_000) if pow(g, (q - 1) // 2, q) == q - 1)
        assert psi == pow(smallest, (q - 1) // (2 * small.params.degree), q)
    for level, step in enumerate(primes["steps"]):
        below = small.params.log2_q(level - 1) if level else 0.0
        assert abs(small.params.log2_q(level) - below - sum(np.log2(q) for q in step)) < 1e-9


def test_sets_of_temporary_rank_and_long_chains_list_all_primes():
    assert cl.Params.preset("insecure_dpad").primes["temporary"]
    long = cl.Params(degree=64, steps=[[30, 30]] + [40] * 10, special=[42, 42], log2_scale=40, insecure=True)
    assert long.primes["auxiliary"]
    bare = cl.Params(degree=64, steps=[[30, 30], 40], log2_scale=40, insecure=True)
    assert (bare.primes["special"], bare.primes["auxiliary"]) == ([], [])
    family = cl.Params.preset("insecure_dpad")
    assert family.rlwe().primes == family.primes
    assert family.rlwe().roots_of_unity != family.roots_of_unity
