"""The command that the package brings: the same as the program, with exit codes, streams and signals."""

from __future__ import annotations

import json
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import clathrate as cl

COMMAND = [sys.executable, "-m", "clathrate"]


def run(*arguments: str, folder: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=folder)


def test_it_says_what_it_is_and_what_is_wrong() -> None:
    assert run("--version").stdout.strip() == f"clathrate {cl.__version__}"
    assert "Usage: clathrate" in run("--help").stdout
    wrong = run("--json", "nonsense")
    assert wrong.returncode == 2
    assert json.loads(wrong.stderr)["error"] == "usage"
    assert run("params", "show", "nothing").returncode == 3


def test_files_of_the_command_and_of_the_package_are_the_same(tmp_path: pathlib.Path) -> None:
    x = np.arange(6.0).reshape(2, 3) / 8
    np.save(tmp_path / "x.npy", x)
    assert run("keygen", "--quiet", "--params", "insecure_matmul", "--secret", "sk.clt", folder=tmp_path).returncode == 0
    line = "encrypt --params insecure_matmul --key sk.clt --input x.npy --output x.clt --json"
    report = json.loads(run(*line.split(), folder=tmp_path).stdout)
    assert report["shape"] == [2, 3]
    params = cl.Params.preset("insecure_matmul")
    owner = cl.SecretKey.load(tmp_path / "sk.clt", params)
    assert abs(owner.decrypt(cl.Ciphertext.load(tmp_path / "x.clt", params)) - x).max() < 1e-6


@pytest.mark.skipif(sys.platform == "win32", reason="signals are those of Unix")
def test_an_interrupt_ends_it_at_once(tmp_path: pathlib.Path) -> None:
    (tmp_path / "in").mkdir()
    keys = "keygen --quiet --params insecure_boot --secret sk.clt --evaluation keys.clt --authentication auth.clt --samples 8"
    assert run(*keys.split(), folder=tmp_path).returncode == 0
    line = (
        "pack --params insecure_boot --evaluation keys.clt --authentication auth.clt --from in --inbox inbox.log --output out --samples 8"
    )

    # The tests may run where interrupts are ignored.
    def heed() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    server = subprocess.Popen([*COMMAND, *line.split()], cwd=tmp_path, preexec_fn=heed, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "out" / ".inbox").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    server.send_signal(signal.SIGINT)
    assert server.wait(timeout=60) == -signal.SIGINT


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are those of Unix")
def test_results_are_not_lost_where_standard_output_is_closed(tmp_path: pathlib.Path) -> None:
    keys = "keygen --quiet --params insecure_matmul --secret sk.clt"
    for closed in (">&-", ">&- <&-"):
        for line in ("params list", keys, "params save insecure_matmul --output -", "params save insecure_matmul --output /dev/stdout"):
            shell = f'exec "$0" -m clathrate {line} {closed}'
            ended = subprocess.run(
                ["sh", "-c", shell, sys.executable], cwd=tmp_path, stderr=subprocess.PIPE, text=True, timeout=120, check=False
            )
            assert ended.returncode == 2, (line, closed, ended.stderr)
            assert "standard output is closed" in ended.stderr
    assert not list(tmp_path.iterdir())
    # Without standard input and error, nothing is mixed into the files.
    ended = subprocess.run(["sh", "-c", f'exec "$0" -m clathrate {keys} <&- 2>&-', sys.executable], cwd=tmp_path, timeout=120, check=False)
    assert ended.returncode == 0
    cl.SecretKey.load(tmp_path / "sk.clt", cl.Params.preset("insecure_matmul"))


@pytest.mark.skipif(sys.platform == "win32", reason="terminals are those of Unix")
def test_secret_keys_do_not_go_to_a_terminal() -> None:
    import os
    import pty

    for name in ("-", "/dev/stdout"):
        owner, terminal = pty.openpty()
        line = f"keygen --params insecure_matmul --secret {name}"
        ended = subprocess.run([*COMMAND, *line.split()], stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
        os.close(terminal)
        os.close(owner)
        assert ended.returncode == 2, ended.stderr
        assert "would go to the terminal" in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="pipes are those of Unix")
@pytest.mark.parametrize("options", ["", "--json"])
def test_a_reader_that_has_enough_is_no_error(tmp_path: pathlib.Path, options: str) -> None:
    """Every verb that prints, with nobody at the other end of the pipe: `clathrate ... | true`."""
    np.save(tmp_path / "x.npy", np.ones((2, 3)))
    names = "--params insecure_matmul"
    lines = [
        "params list",
        "params show insecure_matmul",
        f"keygen {names} --secret sk.clt --public pk.clt --evaluation evk.clt --relinearise",
        f"encrypt {names} --key sk.clt --input x.npy --output x.clt",
        f"add {names} --input x.clt --with x.clt --output sum.clt",
        f"decrypt {names} --secret sk.clt --input sum.clt --output sum.npy",
        "inspect x.clt",
        "params save insecure_matmul --output params.clt",
        "--help",
        "--version",
    ]
    for line in lines:
        command = subprocess.Popen(
            [*COMMAND, *options.split(), *line.split()], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert command.stdout is not None
        command.stdout.close()
        _, said = command.communicate(timeout=120)
        # That a preset is insecure is said as always.
        assert command.returncode == 0, (line, said)
        assert all(each.startswith(b"warning: ") for each in said.splitlines()), (line, said)
    # The work is done all the same.
    assert abs(np.load(tmp_path / "sum.npy") - 2).max() < 1e-5
    # What goes wrong is still said.
    (tmp_path / "x.clt").write_bytes((tmp_path / "x.clt").read_bytes()[:-64] + bytes(64))
    damaged = subprocess.Popen([*COMMAND, "inspect", "x.clt"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert damaged.stdout is not None
    damaged.stdout.close()
    assert b"error" in damaged.communicate(timeout=120)[1]
    assert damaged.returncode == 12
