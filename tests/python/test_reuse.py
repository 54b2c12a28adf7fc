"""No mask serves twice: threads, forked processes, copies and races try to use a counter, or masks prepared ahead, again."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pathlib
import pickle
import struct
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clathrate as cl


@pytest.fixture(scope="module")
def owner() -> cl.SecretKey:
    return cl.SecretKey.generate(cl.Params.preset("insecure_boot"))


@pytest.fixture(scope="module")
def plan(owner: cl.SecretKey) -> cl.plans.SamplesPlan:
    return cl.plans.SamplesPlan(owner.params, 8)


@pytest.fixture(scope="module")
def keys(owner: cl.SecretKey, plan: cl.plans.SamplesPlan) -> cl.EvaluationKeys:
    return owner.evaluation_keys(plan.needs)


def counter_of(message: bytes) -> tuple[bytes, int]:
    """Whose mask a message has: the first bytes of the client's seed, and the counter."""
    return message[:4], struct.unpack("<Q", message[4:12])[0]


def test_threads_never_share_a_counter(owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner)
    client.precompute(50)
    with ThreadPoolExecutor(8) as pool:
        messages = list(pool.map(lambda number: client.encrypt([number / 400]), range(400)))
    assert len({counter_of(message) for message in messages}) == 400
    assert client.next_counter == 400
    found = owner.decrypt(cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()).receive(messages))
    assert abs(found - np.arange(400) / 400).max() < 1e-4


def test_threads_that_ask_for_one_counter_get_it_once(owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner)

    def ask(number: int) -> bool:
        try:
            client.encrypt([number / 100], counter=7)
        except cl.errors.DataError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(64))) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_copy_does_not_encrypt(owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner)
    client.precompute(4)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            client.encrypt([0.5])
            sender.send("encrypted")
        except cl.errors.DataError as error:
            # A client of its own is what it gets from the state.
            again = cl.clients.LightClient.from_bytes(client.to_bytes())
            sender.send((str(error), again.encrypt([0.5])))
        finally:
            os._exit(0)
    assert receiver.poll(60)
    said = receiver.recv()
    os.waitpid(child, 0)
    assert said != "encrypted"
    text, message = said
    assert "forked process" in text
    assert counter_of(message)[0] != counter_of(client.encrypt([0.5]))[0]


IN_A_NAMESPACE = """
import ctypes, os, sys, clathrate as cl
CLONE_NEWPID = 0x20000000
client = cl.clients.LightClient(cl.SecretKey.generate(cl.Params.preset("insecure_small")), precision_bits=16)
client.precompute(2)
libc = ctypes.CDLL(None, use_errno=True)
reader, writer = os.pipe()
if libc.unshare(CLONE_NEWPID) != 0:
    print("not permitted")
    sys.exit()
child = os.fork()
if child == 0:
    try:
        client.encrypt([0.75])
        os.write(writer, b"encrypted")
    except cl.errors.DataError as error:
        os.write(writer, f"{os.getpid()} {error}".encode())
    os._exit(0)
os.waitpid(child, 0)
client.encrypt([0.25])
print(os.getpid(), os.read(reader, 1000).decode())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")
@pytest.mark.parametrize("nested", [False, True])
def test_a_forked_copy_with_any_number_does_not_encrypt(nested: bool) -> None:
    # The first process of a namespace is number 1, as in a container, and so is its child in a namespace of its own.
    inside = ["unshare", "--pid", "--fork"] if nested else []
    try:
        run = subprocess.run([*inside, sys.executable, "-c", IN_A_NAMESPACE], capture_output=True, text=True, timeout=120)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "Operation not permitted" in run.stderr or "not permitted" in run.stdout:
        pytest.skip("namespaces are not permitted here")
    assert run.returncode == 0, run.stderr
    parent, child, *said = run.stdout.split()
    assert child == "1"
    assert (parent == child) == nested
    assert "forked process" in " ".join(said)


def test_restored_states_have_seeds_of_their_own(owner: cl.SecretKey) -> None:
    client = cl.clients.LightClient(owner)
    state = client.to_bytes()
    clones = [client, *(cl.clients.LightClient.from_bytes(state) for _ in range(20))]
    messages = [clone.encrypt([0.25]) for clone in clones]
    assert len({counter_of(message) for message in messages}) == len(clones)
    # The receiver of one does not take the messages of another.
    with pytest.raises(cl.errors.DataError, match="another introduction"):
        cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()).receive([messages[1]])
    for copies in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="save"):
            copies(client)


def test_prepared_masks_serve_one_of_many_threads(owner: cl.SecretKey, plan: cl.plans.SamplesPlan, keys: cl.EvaluationKeys) -> None:
    client = cl.clients.LightClient(owner, plan=plan)
    masks = cl.plans.PreparedSamples(plan, keys, cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()), 0)
    message = client.encrypt(np.linspace(-1, 1, 8))

    def ask(_: int) -> str:
        try:
            masks.bootstrap([message])
        except cl.errors.DataError as error:
            return str(error)
        return "bootstrapped"

    with ThreadPoolExecutor(6) as pool:
        said = list(pool.map(ask, range(12)))
    assert said.count("bootstrapped") == 1
    assert all("prepare masks" in text for text in said if text != "bootstrapped")
    with pytest.raises(cl.errors.FileFormatError):
        masks.save("masks.clt")


TAKER = """
import sys, clathrate as cl
params = cl.Params.preset("insecure_boot")
plan = cl.plans.SamplesPlan(params, 8)
keys = cl.EvaluationKeys.load(sys.argv[2], params)
receiver = cl.clients.Receiver(params, open(sys.argv[3], "rb").read(), cl.keys.AuthenticationKey.load(sys.argv[4], params))
print("ready", flush=True)
sys.stdin.read(1)
try:
    cl.plans.PreparedSamples.take(sys.argv[1], plan, keys, receiver)
    print("taken")
except cl.ClathrateError as error:
    print("refused", error)
"""


def test_one_of_many_processes_takes_a_file_of_masks(
    owner: cl.SecretKey, plan: cl.plans.SamplesPlan, keys: cl.EvaluationKeys, tmp_path: pathlib.Path
) -> None:
    client = cl.clients.LightClient(owner, plan=plan)
    masks, own, name, authentication = (tmp_path / file for file in ("masks.clt", "keys.clt", "introduction", "authentication.clt"))
    cl.plans.PreparedSamples(plan, keys, cl.clients.Receiver(owner.params, client.introduction, owner.authentication_key()), 0).save(masks)
    keys.save(own)
    name.write_bytes(client.introduction)
    owner.authentication_key().save(authentication)
    command = [sys.executable, "-c", TAKER, str(masks), str(own), str(name), str(authentication)]
    takers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    # All wait for a byte, and get it at about the same time.
    for taker in takers:
        assert taker.stdin is not None
        assert taker.stdout is not None
        assert taker.stdout.readline() == "ready\n"
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("x")
        taker.stdin.flush()
    said = [taker.communicate(timeout=120)[0] for taker in takers]
    assert sorted(text.split()[0] for text in said) == ["refused", "refused", "refused", "taken"], said
    # It is set aside, and its name does not serve again.
    assert not masks.exists()
    left = [path.name for path in tmp_path.iterdir() if path.name.startswith("masks")]
    assert left == ["masks.clt.used"]
