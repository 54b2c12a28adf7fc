"""Saves every kind of object where files may not grow as far as they need, in place of files and beside them; nothing may be lost.

Started by test_files.py with a folder: a limit on the size of files is one of the whole process.
"""

import errno
import resource
import sys
import warnings
from pathlib import Path

import numpy as np

import clathrate as cl

warnings.simplefilter("ignore", cl.errors.InsecureWarning)
folder = Path(sys.argv[1])
params = cl.Params.preset("insecure_boot")
key = cl.SecretKey.generate(params)
plan = cl.plans.SamplesPlan(params, 3)
x = key.encrypt(np.ones((3, 5)), bound=1.0)
things = {
    "x": x,
    "keys": key.evaluation_keys(cl.keys.Needs(relinearise=True)),
    "secret": key,
    "public": key.public_key(),
    "params": params,
    "transform": cl.plans.LinearTransform(np.eye(8)).plan(params, 2),
}
for name, thing in things.items():
    thing.save(folder / name)
client = cl.clients.LightClient(key, plan=plan)
inbox = cl.clients.Inbox(folder / "inbox", params, key.authentication_key())
inbox.introduce(client.introduction)
assert inbox.accept([client.encrypt([0.5])]) == [1]


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


before = contents()
refused = 0
for share in (0.0, 0.5, 0.99):
    for name, thing in things.items():
        for target, options in ((name, {"overwrite": True} if name == "secret" else {}), (f"{name}-new", {})):
            limit(int(len(before[name]) * share))
            try:
                thing.save(folder / target, **options)
            except cl.errors.FileAccessError as error:
                if error.errno != errno.EFBIG:
                    raise
                refused += 1
            else:
                sys.exit(f"{target} was saved at {share} of its size")
            finally:
                limit(resource.RLIM_INFINITY)
assert contents() == before, sorted(contents())

# An inbox refuses what it cannot store, and takes it when there is room again.
message = client.encrypt([0.25])
for room in (0, 1, len(message)):
    limit(len(before["inbox"]) + room)
    try:
        inbox.accept([message])
    except cl.errors.FileAccessError as error:
        if error.errno != errno.EFBIG:
            raise
        refused += 1
    else:
        sys.exit(f"a message was accepted with {room} bytes of room")
    finally:
        limit(resource.RLIM_INFINITY)
assert len(inbox) == 1
assert inbox.accept([message]) == [1]
del inbox
again = cl.clients.Inbox(folder / "inbox", params, key.authentication_key())
assert len(again) == 2
assert abs(key.decrypt(cl.load(folder / "x", params)) - 1).max() < 1e-3
print(refused)
