"""One sensor of the example: a process that knows its own state and a folder, and nothing else.

python examples/sensors/sensor.py --state sensors/07.state --folder messages --name 07 --readings 32
"""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

import field

import clathrate as cl


def send(folder: Path, name: str, message: bytes) -> None:
    """A file gets its name when it is whole."""
    hidden = folder / f".{name}"
    hidden.write_bytes(message)
    hidden.rename(folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--readings", type=int, required=True)
    arguments = parser.parse_args()
    # A client that starts again draws a new seed, and introduces itself again.
    client = cl.clients.LightClient.load(arguments.state)
    send(arguments.folder, f"{arguments.name}.introduction", client.introduction)
    arguments.state.with_suffix(".introduction").write_bytes(client.introduction)
    pauses = random.Random(arguments.name)
    for hour in range(arguments.readings):
        reading = field.temperature(int(arguments.name), hour)
        send(arguments.folder, f"{arguments.name}-{hour:03}.message", client.encrypt([reading / field.RANGE]))
        time.sleep(pauses.uniform(0, 0.05))


if __name__ == "__main__":
    main()
