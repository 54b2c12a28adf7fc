"""Progress bars: tqdm's, where it is installed."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

# Seconds that a call in a block of `progress` takes before its bar appears.
_DELAY = 0.5

_Report = Callable[[int, int], Any]

# What calls in the block of `progress` report to: True for a bar each, None for nothing.
_shown: ContextVar[_Report | bool | None] = ContextVar("clathrate.progress", default=None)


class _Bar:
    """A tqdm bar that takes (done, total)."""

    def __init__(self, tqdm: Any, description: str, **options: Any) -> None:
        self._tqdm = tqdm
        self._description = description
        self._options = {"desc": description, **options}
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is not None and (total != self._bar.total or done == 0 < self._bar.n):
            self.close()
        if self._bar is None:
            self._bar = self._tqdm(total=total, **self._options)
        # Threads may report one after the other what they did the other way round.
        self._bar.update(max(done - self._bar.n, 0))

    def stage(self, name: str) -> None:
        """Shows the name of the stage that begins."""
        self._options["desc"] = f"{self._description}: {name}"
        if self._bar is not None:
            self._bar.set_description(self._options["desc"], refresh=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _tqdm(caller: str, stacklevel: int) -> Any:
    """tqdm's bar; None, with a warning, where it is not installed."""
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        warnings.warn(f"{caller} needs tqdm: pip install 'clathrate[progress]'", RuntimeWarning, stacklevel=stacklevel + 1)
        return None


def bar(description: str) -> _Bar | None:
    """A new bar; None, with a warning, where tqdm is not installed."""
    # The frame of the method that takes `progress` is in between.
    tqdm = _tqdm("progress=True", 3)
    return tqdm and _Bar(tqdm, description)


def current(description: str) -> tuple[_Report | None, bool]:
    """What a call without `progress=` reports to, and whether that is a bar of its own."""
    shown = _shown.get()
    if shown is True:
        return _Bar(importlib.import_module("tqdm.auto").tqdm, description, leave=False, delay=_DELAY), True
    return shown or None, False


@contextmanager
def progress(show: bool | _Report = True) -> Iterator[None]:
    """Shows how far long calls in a ``with`` block are: operators too, which take no argument `progress`.

    Products, rotations, linear transforms and polynomials of arrays of several ciphertexts count ciphertexts. Encryption, decryption,
    keys, matrix products and bootstraps count what their argument `progress` counts. Files count mebibytes, about. Arrays of one
    ciphertext are quick, and show nothing. Ctrl-C stops all of them, in and outside of such a block.

    Parameters
    ----------
    show : bool or callable, optional
        True, the default, shows a bar for each call that takes more than half a second (it needs tqdm). A function is called with
        (done, total) and may return False to stop. False shows nothing, also inside of another such block.

    Returns
    -------
    context manager
        For a ``with`` statement.

    Raises
    ------
    TypeError
        If `show` is something else.
    CancelledError
        From the call that the function stopped.

    Examples
    --------
    >>> x = secret_key.encrypt(np.ones((3, 512)), encoding="slots").with_keys(keys)
    >>> with cl.progress(lambda done, total: print(done, "of", total)):
    ...     square = x * x
    0 of 3
    1 of 3
    2 of 3
    3 of 3
    """
    if not isinstance(show, bool) and not callable(show):
        raise TypeError(f"`show` is True, False or a function of (done, total), not {type(show).__name__}")
    # The frame of `contextmanager` is in between.
    if show is True and _tqdm("cl.progress()", 3) is None:
        show = False
    token = _shown.set(show)
    try:
        yield
    finally:
        _shown.reset(token)
