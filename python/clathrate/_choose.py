"""The parameters for a computation: those of the program that it compiles to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, SupportsIndex

from ._compile import compiled, described
from ._params import Params
from ._trace import Input, Trace, trace

if TYPE_CHECKING:
    from ._runtime import Runtime


@dataclass(frozen=True)
class ParamsChoice:
    """Parameters for a computation, found by dry runs; `Params.for_circuit` makes it.

    Attributes
    ----------
    params : Params
        The parameters with the least predicted time among those that run the computation: a set of the name "compiled" with a chain of
        its own, or, where there is none, a preset that bootstraps.
    trace : Trace
        What the computation needs and costs with them.
    candidates : dict of str to str
        The chains and presets that were tried, by their sizes or names, each with its predicted time and the size of the keys, or why it
        was refused.

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
        """The choice as text: each chain and preset with its time and keys, or why it was refused.

        Returns
        -------
        str
            A line for each, the chosen one first.

        Examples
        --------
        >>> text = cl.Params.for_circuit(lambda x: x * x, (1000,)).explain()
        >>> text.splitlines()[0].startswith("compiled: degree"), "MiB" in text
        (True, True)
        """
        width = max(len(name) for name in self.candidates)
        first = f"{self.params.name}: degree {self.params.degree}, {self.params.max_level} levels"
        return "\n".join([first, *(f"  {name:{width}}  {text}" for name, text in self.candidates.items())])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.explain())}</pre>"


# What programs do not let a caller choose.
_PLACES = ("level", "scale", "bodies", "axis", "capacity", "copies", "order", "bootstrap_below", "plain")


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
    inputs = []
    for place, shape in enumerate(shapes):
        own: dict[str, Any] = {"bound": bound, **options, **(shape.options if isinstance(shape, Input) else {})}
        refused = [name for name in _PLACES if own.get(name) is not None]
        if refused:
            raise TypeError(
                f"`{refused[0]}` is no option of a search for parameters: take `trace` with parameters that you know, or leave places and "
                "levels to `compile`"
            )
        # As arrays are encrypted by default.
        is_matrix = len(shape) == 2 and not own.get("is_complex")
        own["encoding"] = own.get("encoding") or ("coefficients" if is_matrix else "slots")
        own["lanes"] = own.get("lanes") or (len(shape) > 2 and own["encoding"] == "slots")
        inputs.append(described(Input(tuple(shape), **own), f"input{place}"))
    program, tried = compiled(function, inputs, error, security, runtime=runtime, usual_errors=True)
    found = trace(function, *shapes, params=program.params, bound=bound, **options)
    candidates = {name: reason if costs is None else f"{costs[0]:.3g} s, keys {costs[1] / 2**20:.3g} MiB" for name, costs, reason in tried}
    return ParamsChoice(program.params, found, candidates)
