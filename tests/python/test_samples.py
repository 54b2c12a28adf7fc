"""Samples to slots: plans, clients made with them, results in the order of the numbers, refusals."""

from __future__ import annotations

import pathlib
import pickle

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def params() -> cl.Params:
    return cl.Params.preset("insecure_boot")


@pytest.fixture(scope="module")
def owner(params: cl.Params) -> cl.SecretKey:
    return cl.SecretKey.generate(params)


def received(owner: cl.SecretKey, client: cl.clients.LightClient, numbers: np.ndarray, at_once: int) -> cl.Ciphertext:
    messages = [client.encrypt(part) for part in numbers.reshape(-1, at_once)]
    return cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()).receive(messages)


@pytest.mark.parametrize(("count", "degree", "pairs"), [(3, 1, None), (600, 1, None), (1100, 1, None), (64, 1, True), (1024, 32, None)])
def test_numbers_arrive_in_their_order(params: cl.Params, owner: cl.SecretKey, count: int, degree: int, pairs: bool | None) -> None:
    plan = cl.plans.SamplesPlan(params, count, degree=degree, pairs=pairs, device=4)
    assert (plan.count, plan.degree, plan.pairs) == (count, degree, bool(pairs) or degree > 1)
    numbers = np.random.default_rng(1).uniform(-1, 1, count)
    client = cl.clients.LightClient(owner, plan=plan, precision_bits=24)
    assert (client.degree, client.device) == (degree, 4)
    x = received(owner, client, numbers, degree).with_keys(owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
    assert x.level == plan.output_level
    found = owner.decrypt(x)
    assert abs((found.view(float) if plan.pairs else found) - numbers).max() < 1e-4
    # It computes like any other array.
    assert abs(owner.decrypt((x + x).with_keys(owner.evaluation_keys(plan.needs))) - 2 * found).max() < 1e-6


def test_plans_say_what_they_do(params: cl.Params) -> None:
    plan = cl.plans.SamplesPlan(params, 100)
    text = plan.explain()
    assert all(part in text for part in ("100 numbers", "MiB of keys", "*"))
    assert min(plan.key_bytes, plan.seconds) > 0
    assert 15 < plan.precision_bits < 40
    assert plan.log2_failure < -20
    assert "100 numbers" in repr(plan)
    with pytest.raises(cl.errors.DataError, match="allow at least"):
        cl.plans.SamplesPlan(params, 100, key_bytes=10)
    few = cl.plans.SamplesPlan(params, 100, key_bytes=plan.key_bytes)
    assert few.key_bytes <= plan.key_bytes
    slow = cl.plans.SamplesPlan(params, 100, seconds=100)
    assert slow.key_bytes <= plan.key_bytes
    assert slow.seconds <= 100
    quick = cl.plans.SamplesPlan(params, 100, seconds=1.01 * plan.seconds)
    assert quick.seconds <= 1.02 * plan.seconds
    for seconds in (plan.seconds / 10, float("nan"), -1):
        with pytest.raises(cl.errors.DataError, match="allow at least"):
            cl.plans.SamplesPlan(params, 100, seconds=seconds)


def test_samples_of_another_library_are_taken_in(params: cl.Params) -> None:
    rng = np.random.default_rng(7)
    secret = rng.integers(0, 2, 300, dtype=np.uint64)
    owner = cl.SecretKey.generate(params).with_outside_secret(5, secret)
    plan = cl.plans.SamplesPlan(params, 40, outside=5, dimension=300)
    keys = owner.evaluation_keys(plan.needs)
    numbers = rng.uniform(-1, 1, 40)
    for modulus, dtype in ((2**64, np.uint64), (2**32, np.uint32), (2**45 - 55, np.uint64)):
        scale = plan.outside_scale(modulus)
        assert scale < modulus / 2**10
        masks = rng.integers(0, modulus, (40, 300), dtype=np.uint64)
        products = [sum(int(word) for word, bit in zip(mask, secret, strict=True) if bit) for mask in masks]
        bodies = [(product + round(number * scale)) % modulus for product, number in zip(products, numbers, strict=True)]
        words = np.column_stack([masks, np.array(bodies, dtype=np.uint64)]).astype(dtype)
        samples = plan.outside_samples(words, keys, modulus)
        found = owner.decrypt(samples.bootstrap_samples(plan))
        # Rounding numbers to the integers of a short modulus is its own error.
        assert abs(found - numbers).max() < 1e-4 + 1 / scale
        # The other sign.
        words[:, :-1] = (modulus - words[:, :-1].astype(object)) % modulus
        other = plan.outside_samples(words, keys, modulus, phase="sum")
        assert abs(owner.decrypt(other) - owner.decrypt(samples)).max() < 1e-6
    with pytest.raises(TypeError, match="unsigned"):
        plan.outside_samples(words.astype(np.int64), keys)
    with pytest.raises(TypeError, match="matrix"):
        plan.outside_samples(words[0], keys)
    with pytest.raises(cl.errors.DataError, match="below the modulus"):
        plan.outside_samples(words, keys, 2**20)
    with pytest.raises(cl.errors.ShapeError, match="of dimension 100"):
        plan.outside_samples(words[:, :101], keys)
    for modulus in (1, 0, -5, 2**64 + 1, 2.5):
        with pytest.raises(cl.errors.DataError, match="from 2 to 2"):
            plan.outside_samples(words, keys, modulus)  # type: ignore[arg-type]
    with pytest.raises(cl.errors.DataError, match="difference"):
        plan.outside_samples(words, keys, phase="product")  # type: ignore[arg-type]
    with pytest.raises(cl.errors.DataError, match="outside"):
        cl.plans.SamplesPlan(params, 40).outside_samples(words, keys)
    with pytest.raises(cl.errors.DataError, match="leave out"):
        cl.plans.SamplesPlan(params, 40, device=1, outside=5)
    with pytest.raises(cl.errors.DataError, match="ternary"):
        owner.with_outside_secret(5, [0, 2])


def test_ciphertexts_of_tfhe_rs_are_brought_to_slots(params: cl.Params) -> None:
    file = pathlib.Path(__file__).parent / "data" / "tfhe_samples.npz"
    with np.load(file) as data:
        words, secret, numbers, scale = (data[name] for name in ("words", "secret", "numbers", "scale"))
    owner = cl.SecretKey.generate(params).with_outside_secret(1, secret)
    plan = cl.plans.SamplesPlan(params, len(numbers), outside=1, dimension=len(secret))
    # The plan's scale is near the one that they were encrypted at: numbers are read by as much larger or smaller.
    factor = float(scale[0]) / plan.outside_scale()
    assert 0.2 < factor < 1.1
    x = plan.outside_samples(words, owner.evaluation_keys(plan.needs)).bootstrap_samples(plan)
    assert abs(owner.decrypt(x) - factor * numbers).max() < 1e-4


def test_devices_with_secrets_of_their_own_come_together(params: cl.Params, owner: cl.SecretKey) -> None:
    plan = cl.plans.SamplesPlan(params, 64, device=1)
    keys = owner.evaluation_keys(plan.needs_of([1, 2, 3]))
    rng = np.random.default_rng(3)
    parts = [rng.uniform(-1, 1, count) for count in (30, 1, 33)]
    arrays = []
    for device, numbers in zip((2, 3, 1), parts, strict=True):
        client = cl.clients.LightClient(owner, plan=plan, device=device)
        arrays.append(cl.clients.Receiver(params, client.introduction, owner.authentication_key()).receive([client.encrypt(numbers)]))
    x = cl.plans.bootstrap_samples([arrays[0].with_keys(keys), *arrays[1:]], plan)
    assert abs(owner.decrypt(x) - np.concatenate(parts)).max() < 1e-4
    with pytest.raises(cl.errors.MissingKeyError):
        cl.plans.bootstrap_samples([arrays[0].with_keys(owner.evaluation_keys(plan.needs))], plan)
    with pytest.raises(cl.errors.DataError):
        cl.plans.bootstrap_samples([], plan)
    with pytest.raises(TypeError, match="a list of ciphertexts"):
        cl.plans.bootstrap_samples(arrays[0], plan)  # type: ignore[arg-type]


def test_what_does_not_fit_is_refused(params: cl.Params, owner: cl.SecretKey) -> None:
    plan = cl.plans.SamplesPlan(params, 4)
    with pytest.raises(cl.errors.DataError, match="leave degree and level out"):
        cl.clients.LightClient(owner, 1, plan=plan)
    with pytest.raises(cl.errors.ShapeError, match="pairs"):
        cl.plans.SamplesPlan(params, 32, degree=16, pairs=False)
    with pytest.raises(cl.errors.ParamsError, match="no"):
        cl.plans.SamplesPlan(cl.Params.preset("insecure_small"), 4)
    keys = owner.evaluation_keys(plan.needs)
    samples = received(owner, cl.clients.LightClient(owner, plan=plan), np.zeros(4), 4).with_keys(keys)
    with pytest.raises(cl.errors.ShapeError, match="device:3"):
        samples.bootstrap_samples(cl.plans.SamplesPlan(params, 4, device=3))
    with pytest.raises(cl.errors.MissingKeyError):
        received(owner, cl.clients.LightClient(owner, plan=plan), np.zeros(4), 4).bootstrap_samples(plan)
    other = received(owner, cl.clients.LightClient(owner), np.zeros(4), 4).with_keys(keys)
    with pytest.raises(cl.errors.ShapeError):
        other.bootstrap_samples(plan)


def test_masks_serve_once_in_memory_and_from_files(params: cl.Params, owner: cl.SecretKey, tmp_path: pathlib.Path) -> None:
    plan = cl.plans.SamplesPlan(params, 4, device=1)
    keys = owner.evaluation_keys(plan.needs)
    client = cl.clients.LightClient(owner, plan=plan)
    receiver = cl.clients.Receiver(params, client.introduction, owner.authentication_key())
    assert client.precompute(3) == 3
    masks = cl.plans.PreparedSamples(plan, keys, receiver, 0)
    assert (masks.counters, masks.used) == ((0, 4), False)
    path = tmp_path / "masks.clt"
    assert masks.save(path) == path.stat().st_size
    messages = [client.encrypt([number]) for number in (0.5, -0.25, 1.0, 0.125)]
    with pytest.raises(cl.errors.DataError, match="no message has it"):
        masks.bootstrap(messages[:3])
    with pytest.raises(cl.errors.FileFormatError, match="take it on purpose"):
        cl.load(path, params)
    taken = cl.plans.PreparedSamples.take(path, plan, keys, receiver)
    with pytest.raises(cl.errors.DataError, match="has been taken"):
        cl.plans.PreparedSamples.take(path, plan, keys, receiver)
    for ready in (masks, taken):
        found = owner.decrypt(ready.bootstrap(messages[::-1]))
        assert abs(found - [0.5, -0.25, 1.0, 0.125]).max() < 1e-4
        assert ready.used
        with pytest.raises(cl.errors.DataError, match="next counters"):
            ready.bootstrap(messages)
    with pytest.raises(cl.errors.DataError, match="64 bits"):
        cl.plans.PreparedSamples(plan, keys, receiver, 2**64 - 1)
    with pytest.raises(cl.errors.MissingFileError):
        cl.plans.PreparedSamples.take(tmp_path / "none.clt", plan, keys, receiver)


def test_an_inbox_keeps_what_was_accepted(params: cl.Params, owner: cl.SecretKey, tmp_path: pathlib.Path) -> None:
    plan = cl.plans.SamplesPlan(params, 3)
    keys = owner.evaluation_keys(plan.needs)
    clients = [cl.clients.LightClient(owner, plan=plan) for _ in range(2)]
    path = tmp_path / "inbox"
    inbox = cl.clients.Inbox(path, params, owner.authentication_key())
    names = [inbox.introduce(client.introduction) for client in clients]
    messages = [clients[0].encrypt([0.5]), clients[1].encrypt([0.25, -1.0])]
    counts = inbox.accept([*messages, messages[0], b""])
    assert counts[:2] == [1, 2]
    assert all(isinstance(error, cl.errors.DataError) for error in counts[2:])
    with pytest.raises(cl.errors.DataError, match="another program"):
        cl.clients.Inbox(path, params, owner.authentication_key())
    del inbox
    inbox = cl.clients.Inbox(path, params, owner.authentication_key())
    assert len(inbox) == 3
    batch = inbox.take(10)
    assert batch is not None
    assert batch.sources == [(names[0], 0), (names[1], 0), (names[1], 1)]
    x = batch.samples.with_keys(keys).bootstrap_samples(plan)
    assert abs(owner.decrypt(x) - [0.5, 0.25, -1.0]).max() < 1e-4
    assert inbox.done(batch) == 0
    with pytest.raises(cl.errors.DataError, match="take another"):
        inbox.give_back(batch)
    assert inbox.oldest is None


def test_an_inbox_gives_samples_of_several_secrets_together(params: cl.Params, owner: cl.SecretKey, tmp_path: pathlib.Path) -> None:
    plan = cl.plans.SamplesPlan(params, 16, device=1)
    keys = owner.evaluation_keys(plan.needs_of([1, 2]))
    inbox = cl.clients.Inbox(tmp_path / "inbox", params, owner.authentication_key())
    names, expected = [], {}
    clients = [cl.clients.LightClient(owner, plan=plan, device=device) for device in (1, 2, 1)]
    for client in clients:
        names.append(inbox.introduce(client.introduction))
        assert names[-1] == cl.clients.Receiver(params, client.introduction, owner.authentication_key()).client_id
    for counter in range(3):
        for name, client in zip(names, clients, strict=True):
            expected[name, counter] = (len(expected) - 4) / 8
            assert inbox.accept([client.encrypt([expected[name, counter]])]) == [1]
    # By default those of one secret.
    alone = inbox.take(100)
    assert alone is not None
    assert (alone.samples.shape, len(alone.arrays), len(inbox)) == ((6,), 1, 3)
    assert inbox.give_back(alone) == 9
    batch = inbox.take(8, together=True)
    assert batch is not None
    assert (len(batch.arrays), len(batch.sources), len(inbox)) == (2, 8, 1)
    with pytest.raises(cl.errors.DataError, match="2 secrets"):
        _ = batch.samples
    x = cl.plans.bootstrap_samples([batch.arrays[0].with_keys(keys), batch.arrays[1]], plan)
    assert abs(owner.decrypt(x) - [expected[source] for source in batch.sources]).max() < 1e-4
    assert inbox.done(batch) == 1


def test_an_inbox_takes_what_the_owners_clients_sent_alone(params: cl.Params, owner: cl.SecretKey, tmp_path: pathlib.Path) -> None:
    plan = cl.plans.SamplesPlan(params, 8, device=1)
    key = owner.authentication_key()
    stranger = cl.SecretKey.generate(params)
    inbox = cl.clients.Inbox(tmp_path / "inbox", params, key, limit=6)
    clients = [cl.clients.LightClient(owner, plan=plan, precision_bits=20) for _ in range(2)]
    for client in clients:
        inbox.introduce(client.introduction)
    stored = (tmp_path / "inbox").read_bytes()
    # What a stranger makes of an introduction and a message that he heard.
    heard, message = clients[0].introduction, clients[0].encrypt([0.5])
    for place in range(0, len(heard), 7):
        with pytest.raises((cl.errors.DataError, cl.errors.WrongSecretError)):
            inbox.introduce(heard[:place] + bytes([heard[place] ^ 1]) + heard[place + 1 :])
    with pytest.raises(cl.errors.WrongSecretError):
        inbox.introduce(cl.clients.LightClient(stranger, plan=plan).introduction)
    with pytest.raises(cl.errors.WrongSecretError):
        cl.clients.Receiver(params, heard, stranger.authentication_key())
    forged = [message[:4] + bytes(10**6), message[:-1] + bytes([message[-1] ^ 1]), message[:4] + clients[1].encrypt([0.5])[4:]]
    assert all("not authenticated" in str(answer) for answer in inbox.accept(forged))
    assert (len(inbox), (tmp_path / "inbox").read_bytes()) == (0, stored)
    # Clients take turns, and one alone does not fill the inbox.
    answers = inbox.accept([message, clients[0].encrypt([0.25] * 5), clients[0].encrypt([0.125]), clients[1].encrypt([-0.5])])
    assert answers[:2] + answers[3:] == [1, 5, 1]
    assert "at most 6 may wait" in str(answers[2])
    batch = inbox.take(2)
    assert batch is not None
    assert abs(owner.decrypt(batch.samples) - [0.5, -0.5]).max() < 1e-4
    # The key is a file, and no pickle.
    key.save(tmp_path / "key")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    read = cl.keys.AuthenticationKey.load(tmp_path / "key", params)
    assert cl.clients.Receiver(params, heard, read).receive([message]).shape == (1,)
    with pytest.raises(cl.errors.FileFormatError, match="an authentication key"):
        cl.load(tmp_path / "key", params)
    with pytest.raises(cl.errors.FileFormatError):
        cl.SecretKey.load(tmp_path / "key", params)
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(key)
    assert "redacted" in repr(key)


def test_states_are_private_files(owner: cl.SecretKey, tmp_path: pathlib.Path) -> None:
    plan = cl.plans.SamplesPlan(owner.params, 8, device=1)
    client, path = cl.clients.LightClient(owner, plan=plan), tmp_path / "client.state"
    path.write_bytes(b"anything")
    path.chmod(0o644)
    assert client.save(path) == len(client.to_bytes())
    assert path.stat().st_mode & 0o777 == 0o600
    again = cl.clients.LightClient.load(path)
    assert (again.device, again.introduction == client.introduction) == (1, False)
    numbers = np.array([0.5, -0.25])
    assert abs(owner.decrypt(received(owner, again, numbers, 1)) - numbers).max() < 1e-4
    owner.save(tmp_path / "secret.clt")
    with pytest.raises(cl.errors.FileAccessError):
        client.save(tmp_path / "secret.clt")
    with pytest.raises(cl.errors.DataError):
        cl.clients.LightClient.load(tmp_path / "secret.clt")
    with pytest.raises(cl.errors.FileAccessError):
        cl.clients.LightClient.load(tmp_path / "none")
