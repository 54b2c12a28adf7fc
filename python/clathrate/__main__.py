"""The command `clathrate`, also as `python -m clathrate`."""

from __future__ import annotations

import signal
import sys

from clathrate._native import command


def main() -> int:
    """Runs the command with the arguments of this process.

    Returns
    -------
    int
        The exit code.
    """
    # The command ends at once when it is interrupted, as a program of its own does; files are whole or not there. Where interrupts are
    # ignored, as in a background job, they stay so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["clathrate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
