"""Many small sensors, one server that cannot read them, and an owner who can.

Each sensor is a process with a light client: it writes encrypted readings of a few bytes into a folder, at times of its own. The server,
`clathrate pack`, stores and acknowledges them, and packs and bootstraps a batch whenever enough have come; it is killed twice on the way
and started again. A second program squares the distance of every reading from 20 degrees, encrypted. The owner decrypts and draws both.

    python examples/sensors/run.py --output demo-output
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import field
import matplotlib
import numpy as np

import clathrate as cl

matplotlib.use("Agg")
from matplotlib import pyplot

HERE = Path(__file__).parent
DEVICE = 1
"""The number of the secret that the sensors share; it is not the owner's."""
COMFORT = 20.0
PATIENCE = 600.0
"""The longest that any process may take, in seconds."""


def start_server(arguments: argparse.Namespace, own: Path, *more: object) -> subprocess.Popen[bytes]:
    """The server: with evaluation keys and the key that shows who sent a message it reads nothing. Without more options it goes on."""
    options = {
        "--params": arguments.preset,
        "--evaluation": own / "keys.clt",
        "--authentication": own / "authentication.clt",
        "--from": own / "messages",
        "--inbox": own / "inbox.log",
        "--output": own / "results",
        "--samples": arguments.batch,
        "--client": DEVICE,
    }
    parts = [*(part for option in options.items() for part in option), *more]
    return subprocess.Popen([sys.executable, "-m", "clathrate", "pack", *map(str, parts)], stdout=subprocess.DEVNULL)


def prepare(arguments: argparse.Namespace, own: Path) -> tuple[cl.Params, cl.SecretKey, cl.EvaluationKeys, cl.plans.SamplesPlan]:
    """The owner's part: keys for the server, and a state for each sensor."""
    params = cl.Params.preset(arguments.preset)
    owner = cl.SecretKey.generate(params)
    plan = cl.plans.SamplesPlan(params, arguments.batch, device=DEVICE)
    keys = owner.evaluation_keys(plan.needs | cl.keys.Needs(relinearise=True))
    keys.save(own / "keys.clt")
    owner.authentication_key().save(own / "authentication.clt")
    for sensor in range(arguments.sensors):
        client = cl.clients.LightClient(owner, plan=plan, precision_bits=20)
        client.save(own / "sensors" / f"{sensor:02}.state")
    return params, owner, keys, plan


def collect(arguments: argparse.Namespace, own: Path) -> float:
    """Runs all sensors and the server, which is killed on the way, and once more when all is sent. The seconds that took."""
    started = time.perf_counter()
    running = [start_server(arguments, own)]
    try:
        sensors = []
        for sensor in range(arguments.sensors):
            state = own / "sensors" / f"{sensor:02}.state"
            options = ["--state", state, "--folder", own / "messages", "--name", f"{sensor:02}", "--readings", arguments.readings]
            sensors.append(subprocess.Popen([sys.executable, str(HERE / "sensor.py"), *map(str, options)]))
        running += sensors
        # In the middle of the messages, and at their end.
        for last in (sensors[len(sensors) // 2], None):
            codes = [sensor.wait(PATIENCE) for sensor in sensors] if last is None else [last.wait(PATIENCE)]
            if any(codes) or running[0].poll() is not None:
                raise SystemExit(f"exit codes of the sensors: {codes}, of the server: {running[0].returncode}")
            running[0].kill()
            running[0].wait(PATIENCE)
            running[0] = start_server(arguments, own, *(("--idle", 0.2) if last is None else ()))
        if running[0].wait(PATIENCE) != 0:
            raise SystemExit(f"exit code of the server: {running[0].returncode}")
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()
    return time.perf_counter() - started


def read(
    own: Path, params: cl.Params, keys: cl.EvaluationKeys, owner: cl.SecretKey, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """The readings as the owner decrypts them, and the squares that were computed on the encrypted ones."""
    introductions = sorted((own / "sensors").glob("*.introduction"))
    sensor_of = {
        cl.clients.Receiver(params, path.read_bytes(), owner.authentication_key()).client_id.hex(): int(path.stem) for path in introductions
    }
    found, squares = np.full(shape, np.nan), np.full(shape, np.nan)
    for description in sorted((own / "results").glob("*.json")):
        x = cl.Ciphertext.load(description.with_suffix(".clt"), params).with_keys(keys)
        distance = x - COMFORT / field.RANGE
        values, square = owner.decrypt(x), owner.decrypt((distance * distance).rescale())
        for place, sample in enumerate(json.loads(description.read_text())["samples"]):
            at = sensor_of[sample["client"]], sample["counter"]
            if not np.isnan(found[at]):
                raise SystemExit(f"the reading {at} comes twice")
            found[at], squares[at] = values[place] * field.RANGE, square[place] * field.RANGE**2
    return found, squares


def draw(path: Path, found: np.ndarray, squares: np.ndarray, truth: np.ndarray) -> None:
    """Readings and squares, a row for each sensor, and the errors."""
    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    panels = [
        (found, "decrypted readings, °C"),
        (np.sqrt(np.maximum(squares, 0)), f"distance from {COMFORT:.0f} °C, squared while encrypted"),
        (np.log10(np.abs(found - truth) + 1e-9), "log10 of the errors of the readings"),
    ]
    for axis, (values, title) in zip(axes, panels, strict=True):
        image = axis.imshow(values, aspect="auto", origin="lower", interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("hour")
        axis.set_ylabel("sensor")
        figure.colorbar(image, ax=axis)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("demo-output"))
    parser.add_argument("--preset", default="boot_n15")
    parser.add_argument("--sensors", type=int, default=24)
    parser.add_argument("--readings", type=int, default=48)
    parser.add_argument("--batch", type=int, default=512)
    arguments = parser.parse_args()
    own = arguments.output / "sensors"
    shutil.rmtree(own, ignore_errors=True)
    for folder in ("messages", "sensors"):
        (own / folder).mkdir(parents=True)

    params, owner, keys, plan = prepare(arguments, own)
    print(plan.explain().splitlines()[0])
    seconds = collect(arguments, own)
    shape = (arguments.sensors, arguments.readings)
    found, squares = read(own, params, keys, owner, shape)
    truth = np.array([[field.temperature(sensor, hour) for hour in range(shape[1])] for sensor in range(shape[0])])
    missing = int(np.isnan(found).sum())
    if missing:
        raise SystemExit(f"{missing} readings are missing")
    error = np.abs(found - truth).max()
    square_error = np.abs(squares - (truth - COMFORT) ** 2).max()
    picture = arguments.output / "sensors.png"
    draw(picture, found, squares, truth)
    results = len(list((own / "results").glob("*.json")))
    print(f"{found.size} readings of {shape[0]} sensors in {results} arrays, {seconds:.1f} s; the server was killed twice on the way")
    print(f"largest error {error:.1e} °C of a reading, {square_error:.1e} of a squared distance; picture: {picture}")
    if error > 0.01 or square_error > 0.1:
        raise SystemExit("the errors are larger than they may be")


if __name__ == "__main__":
    main()
