"""Runs programs within a time limit.

Sits in bench/; standard library only; knows nothing of benchmarks.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GRACE_SECONDS = 5.0


def quick() -> bool:
    """True if the environment asks for the short run."""
    return os.environ.get("QUICK", "0") not in ("", "0")


def run_limited(command: list[str], seconds: float, environment: dict[str, str] | None = None) -> tuple[str, str]:
    """Runs a command and ends it, with its children, after `seconds`; returns its output and what went wrong, or "".

    Standard error goes through, so that progress is seen.
    """
    if seconds <= 0:
        return "", "no time left for it in this run"
    try:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)
    except OSError as problem:
        return "", f"cannot start {command[0]}: {problem.strerror}"
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            output, _ = process.communicate(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return output, f"stopped after {seconds:.0f} s"
    if process.returncode < 0:
        return output, f"ended by {signal.Signals(-process.returncode).name}"
    return output, f"exit status {process.returncode}" if process.returncode else ""
