"""Parts of functions that are computed several times."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

from ._ciphertext import Ciphertext
from .errors import DataError


def repeat(times: SupportsIndex, body: Callable[..., Any], *state: Any) -> Any:
    """Calls `body` on arrays, then on what it returned, and so on.

    It computes what a loop computes. A program (`compile`) knows that the calls are alike, as the steps of a training are: it chooses the
    errors of functions and the places of bootstraps for all of them together, except for the first one, which may start differently.

    Parameters
    ----------
    times : int
        How often `body` is called, 0 or more.
    body : callable
        A function of the arrays that returns as many: one array, or a tuple or list of several.
    *state : Ciphertext or array_like
        The arrays that the first call takes, encrypted or not.

    Returns
    -------
    array, or tuple of arrays
        What the last call returned; without calls, what was given.

    Raises
    ------
    DataError
        For a negative number of calls, no array, or a function that returns another number of arrays than it takes.

    Examples
    --------
    >>> X, y = np.random.default_rng(0).normal(size=(50, 4)), np.ones(50)
    >>> def step(w):
    ...     return w - X.T @ (X @ w - y) / 200
    >>> program = cl.compile(lambda w: cl.repeat(3, step, w), cl.Input((4,), bound=1.0), error=1e-3)
    >>> bool(np.abs(program.check(np.zeros(4)).difference) < 1e-9)
    True
    """
    count = operator.index(times)
    if count < 0:
        raise DataError(f"`times` is {count}: use 0 or more")
    if not state:
        raise DataError("`repeat` needs at least one array that each call takes and returns")
    arrays = state

    def step() -> None:
        nonlocal arrays
        returned = body(*arrays)
        found = tuple(returned) if isinstance(returned, (tuple, list)) else (returned,)
        if len(found) != len(arrays):
            raise DataError(f"the function of `repeat` takes {len(arrays)} arrays and returned {len(found)}: return as many as it takes")
        arrays = found

    # The first call may take what is not encrypted yet.
    if count:
        step()
    recorded = [array for array in arrays if isinstance(array, Ciphertext)]
    if recorded:
        recorded[0]._native.repeating(max(count - 1, 0), step)
    else:
        for _ in range(count - 1):
            step()
    return arrays[0] if len(arrays) == 1 else arrays
