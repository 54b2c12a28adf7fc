"""The parameters for a computation: presets, and where none fits a chain of its own, tried by dry runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex

from ._chains import MAX_SECURITY, Measured, fastest_chain
from ._ciphertext import Ciphertext
from ._params import Params, preset_names
from ._trace import Trace, trace
from ._transposed import TransposedCiphertext
from .errors import ClathrateError, DataError, ParamsError

if TYPE_CHECKING:
    from ._runtime import Runtime

_OTHERS = ("insecure", "paper")


@dataclass(frozen=True)
class ParamsChoice:
    """Parameters for a computation, found by dry runs; `Params.for_circuit` makes it.

    Attributes
    ----------
    params : Params
        The parameters with the least predicted time among those that run the computation: a preset that needs no bootstrap, or, where
        there is none, a set of the name "custom" with a chain of its own or a preset that bootstraps.
    trace : Trace
        What the computation needs and costs with them.
    candidates : dict of str to str
        Every preset, with its predicted time and memory, or why it was refused or not tried; with "custom", the sizes of the chain.

    Examples
    --------
    >>> choice = cl.Params.for_circuit(lambda x: x * x, (1000,), error=1e-6)
    >>> choice.params.security_bits >= 128, choice.trace.result.error_bound < 1e-6
    (True, True)
    """

    params: Params
    trace: Trace
    candidates: dict[str, str]

    def explain(self) -> str:
        """The choice as text: each preset with its time and memory, or why it was refused.

        Returns
        -------
        str
            One line per preset, the chosen one marked.

        Examples
        --------
        >>> text = cl.Params.for_circuit(lambda x: x * x, (1000,)).explain()
        >>> text.count("*"), "MiB" in text
        (1, True)
        """
        width = max(len(name) for name in self.candidates)
        lines = (f"{'*' if name == self.params.name else ' '} {name:{width}}  {text}" for name, text in self.candidates.items())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.explain())}</pre>"


def _arrays_in(result: Any) -> Iterator[Ciphertext]:
    if isinstance(result, Ciphertext):
        yield result
    elif isinstance(result, TransposedCiphertext):
        yield result.T
    elif isinstance(result, Mapping):
        for part in result.values():
            yield from _arrays_in(part)
    elif isinstance(result, (list, tuple)):
        for part in result:
            yield from _arrays_in(part)


def _largest_error(found: Trace) -> float | None:
    bounds = [array.error_bound for array in _arrays_in(found.result)]
    return None if not bounds or None in bounds else max(bound for bound in bounds if bound is not None)


def _in_words(found: Trace) -> str:
    largest = _largest_error(found)
    if largest is None:
        return ""
    return f", error at most {largest:.1e}"


def _costs(params: Params, found: Trace) -> str:
    keys = found.needs.nbytes(params)
    return f"{found.seconds:.3g} s, keys {keys / 2**20:.3g} MiB, arrays {found.peak_bytes / 2**20:.3g} MiB{_in_words(found)}"


def _measured(found: Trace) -> Measured:
    arrays = list(_arrays_in(found.result))
    magnitudes = [array.bound for array in arrays if array.bound is not None]
    lowest = min((array.level for array in arrays), default=0)
    return Measured(found, _largest_error(found), max(magnitudes, default=None), lowest)


def _refusal(found: Trace, error: float | None) -> str | None:
    if error is None:
        return None
    largest = _largest_error(found)
    if largest is None:
        return "the error of the result is not known: the function computes polynomials of complex numbers"
    return None if largest <= error else f"the error may be {largest:.1e}, more than {error:g}"


def for_circuit(
    function: Callable[..., Any],
    shapes: Sequence[Sequence[SupportsIndex]],
    error: float | None,
    bound: float,
    security: float,
    runtime: Runtime | None,
    options: dict[str, Any],
) -> ParamsChoice:
    """What `Params.for_circuit` does."""
    for name, value in (("error", error), ("bound", bound)):
        if value is not None and not 0.0 < value < math.inf:
            raise DataError(f"`{name}` is {value}: use a number above 0")
    if not 0.0 <= security <= MAX_SECURITY:
        raise DataError(f"`security` is {security}: use a number of bits from 0 to {MAX_SECURITY}, where the security table ends")
    refusals: list[ClathrateError] = []
    candidates: dict[str, str] = {}

    names = [name for name in preset_names() if not name.startswith(_OTHERS)]

    def measure(params: Params) -> Trace:
        return trace(function, *shapes, params=params, bound=bound, **options)

    def fastest(bootstrapping: bool) -> tuple[Params, Trace] | None:
        best: tuple[Params, Trace] | None = None
        # One set at a time: the tables of all of them together take gigabytes.
        for name in names:
            params = Params.preset(name, runtime)
            if bool(params.application_levels) != bootstrapping:
                continue
            if params.security_bits < security:
                candidates[params.name] = f"refused: {params.security_bits:.0f} bits of security, {security:g} were asked for"
                continue
            try:
                found = measure(params)
            except ClathrateError as refused:
                candidates[params.name] = f"refused: {refused}"
                # Without the traceback, whose frames hold the parameters.
                refusals.append(refused.with_traceback(None))
                continue
            refusal = _refusal(found, error)
            candidates[params.name] = _costs(params, found) if refusal is None else f"refused: {refusal}"
            if refusal is None and (best is None or found._price < best[1]._price):
                best = (params, found)
        return best

    best = fastest(bootstrapping=False)
    if best is not None:
        # Bootstraps take far longer than whatever has the levels it needs.
        candidates.update({name: f"not tried: {best[0].name} needs no bootstrap" for name in names if name not in candidates})
        return ParamsChoice(*best, candidates)
    best = fastest(bootstrapping=True)
    if refusals and len({(type(refused), str(refused)) for refused in refusals}) == 1 and len(refusals) == len(candidates):
        # No property of a preset.
        raise refusals[0]
    chain = fastest_chain(lambda params: _measured(measure(params)), error, security, runtime)
    if chain.params is None or chain.trace is None:
        candidates["custom"] = f"refused: {chain.words}"
    else:
        candidates[chain.params.name] = f"{_costs(chain.params, chain.trace)}; {chain.words}"
        if best is None or chain.trace._price < best[1]._price:
            best = (chain.params, chain.trace)
    if best is None:
        reasons = "\n".join(f"  {name}: {reason}" for name, reason in candidates.items() if name != "custom")
        raise ParamsError(f"no preset runs this computation, nor does a chain of its own; the closest: {chain.words}\n{reasons}")
    return ParamsChoice(*best, candidates)
