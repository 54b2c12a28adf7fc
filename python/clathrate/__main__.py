"""The command `clathrate`, also as `python -m clathrate`."""

from __future__ import annotations

import os
import signal
import sys

from clathrate._native import command


def _reserve_streams() -> None:
    """Opens the null device where standard input or error is closed, so that no file that is written takes its number and its messages.

    A closed standard output stays closed: the command refuses to lose results.
    """
    for stream, number in ((sys.__stdin__, 0), (sys.__stderr__, 2)):
        if stream is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)


def main() -> int:
    """Runs the command with the arguments of this process.

    Returns
    -------
    int
        The exit code.
    """
    _reserve_streams()
    # The command ends at once when it is interrupted, as a program of its own does; files are whole or not there. Where interrupts are
    # ignored, as in a background job, they stay so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["clathrate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
