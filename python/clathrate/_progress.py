"""The progress bar of ``progress=True``: tqdm's, where it is installed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


class _Bar:
    """A tqdm bar that takes (done, total)."""

    def __init__(self, tqdm: Any, description: str) -> None:
        self._tqdm = tqdm
        self._description = description
        self._bar: Any = None

    def __call__(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._tqdm(total=total, desc=self._description)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def bar(description: str) -> _Bar | None:
    """A new bar; None, with a warning, where tqdm is not installed."""
    try:
        tqdm = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        warnings.warn("progress=True needs tqdm: pip install 'clathrate[progress]'", RuntimeWarning, stacklevel=3)
        return None
    return _Bar(tqdm, description)
