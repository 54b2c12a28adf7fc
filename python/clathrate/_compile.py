"""Functions of arrays become programs: they are recorded for each way to encrypt their inputs, and the core chooses."""

from __future__ import annotations

import inspect
import json
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from . import _native as native
from ._assume import warn_unbounded
from ._ciphertext import Ciphertext
from ._plain_input import PlainSymbol
from ._program import Program, mapped_results
from ._reading import numbers
from ._runtime import TUNINGS, get_threads
from ._trace import Input
from ._transposed import TransposedCiphertext
from ._wrapping import unwrap, wrap
from .errors import ClathrateError, DataError

if TYPE_CHECKING:
    from ._params import Params
    from ._runtime import Runtime

# The bound of sample data is so many times their largest magnitude.
_MARGIN = 1.5

# Rows of a matrix that are tried in polynomials of their own.
_MANY_ROWS = 64

# Slots of polynomials that a batch fills.
_SLOTS = (4096, 8192, 16384, 32768)

# The latest programs, by what they were compiled from.
_KNOWN: dict[Any, tuple[Program, list[tuple[str, tuple[float, int] | None, str]]]] = {}
_MOST_KNOWN = 4

# The options of an input that a program takes. Places are its own affair.
_OPTIONS = ("bound", "is_complex", "encoding", "lanes", "plain")


def _taken_apart(result: Any, found: list[Ciphertext]) -> Any:
    """The arrangement of a function's results, whose arrays go to `found`."""
    if isinstance(result, (Ciphertext, TransposedCiphertext)):
        transposed = isinstance(result, TransposedCiphertext)
        found.append(result.T if isinstance(result, TransposedCiphertext) else result)
        return {"transposed" if transposed else "array": len(found) - 1}
    if isinstance(result, Mapping):
        others = [name for name in result if not isinstance(name, str)]
        if others:
            raise TypeError(
                f"the function returned a dictionary with the key {others[0]!r}: results of programs have names, which are strings"
            )
        return {"named": [(name, _taken_apart(part, found)) for name, part in result.items()]}
    if isinstance(result, tuple):
        return {"tuple": [_taken_apart(part, found) for part in result]}
    if isinstance(result, list):
        return {"list": [_taken_apart(part, found) for part in result]}
    raise TypeError(
        f"the function returned a {type(result).__name__}: return encrypted arrays, alone or in lists, tuples and dictionaries, and keep "
        "what does not depend on the inputs outside of the program"
    )


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the first parameters of a function."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [own.name for own in parameters if own.kind in (own.POSITIONAL_ONLY, own.POSITIONAL_OR_KEYWORD)]
    return [names[place] if place < len(names) else f"input{place}" for place in range(count)]


def _is_shape(given: Any) -> bool:
    return isinstance(given, tuple) and all(isinstance(axis, SupportsIndex) for axis in given)


def _sizes(function: Callable[..., Any], samples: Sequence[Any]) -> list[float]:
    """The largest magnitude in each result of the function of sample data."""
    try:
        results = function(*(np.asarray(numbers(sample)) for sample in samples))
    except Exception as refused:
        raise DataError(
            f"a relative error needs results of the function on the sample data, without encryption, and it raised {refused!r}: give an "
            "`Input` with a bound for each parameter instead, or `error`"
        ) from refused
    sizes: list[float] = []
    mapped_results(lambda result: sizes.append(float(np.abs(np.asarray(result)).max())), results)
    if not all(0.0 < size < math.inf for size in sizes):
        raise DataError("a relative error needs numbers other than zero in every result on the sample data: give `error` instead")
    return sizes


def described(given: Any, name: str) -> dict[str, Any]:
    """What is known of an input: its shape, the bound on its numbers, and what `Input` states."""
    if isinstance(given, Input):
        refused = sorted(set(given.options) - set(_OPTIONS))
        if refused:
            raise DataError(f"`{refused[0]}` is no option of a program's input, which decides about places and levels itself")
        if any(axis < 1 for axis in given.shape):
            raise DataError(f"the input {name} has shape {given.shape}: axes have at least one number")
        encoding = given.options.get("encoding")
        if encoding not in (None, "slots", "coefficients"):
            raise DataError(f'`encoding` is "{encoding}": use "slots" or "coefficients"')
        options = {key: value for key, value in given.options.items() if value is not None}
        return {"name": name, "shape": given.shape, **options}
    if _is_shape(given):
        return described(Input(given), name)
    array = np.asarray(numbers(given))
    largest = float(np.abs(array).max()) if array.size else 0.0
    if not math.isfinite(largest):
        raise DataError(f"the sample data of the input {name} have numbers that are not finite")
    return {
        "name": name,
        "shape": array.shape,
        "bound": _MARGIN * largest if largest > 0.0 else 1.0,
        "is_complex": np.iscomplexobj(array),
    }


def _alternatives(inputs: Sequence[dict[str, Any]]) -> Iterator[list[tuple[Any, ...]]]:
    """The ways to encrypt the inputs that are tried: slots with rows that share polynomials, slots with rows alone, coefficients."""

    def row(own: dict[str, Any], encoding: str, lanes: bool) -> tuple[Any, ...]:
        plain = bool(own.get("plain", False))
        in_slots = plain or own.get("encoding", encoding) == "slots"
        shared = not plain and bool(own.get("lanes", lanes and len(own["shape"]) > 1 and in_slots))
        return own["name"], list(own["shape"]), bool(own.get("is_complex", False)), own.get("bound"), in_slots, shared, plain

    seen: list[list[tuple[Any, ...]]] = []
    for encoding, lanes in (("slots", True), ("slots", False), ("coefficients", False)):
        rows = [row(own, encoding, lanes) for own in inputs]
        if rows not in seen:
            seen.append(rows)
            yield rows


def _takes_many_polynomials(rows: list[tuple[Any, ...]]) -> bool:
    """Whether each of many rows takes a polynomial, which is slow to compute and to try where rows can share polynomials."""
    return any(
        in_slots and not lanes and not plain and len(shape) > 1 and math.prod(shape[:-1]) > _MANY_ROWS
        for _, shape, _, _, in_slots, lanes, plain in rows
    )


def _recorded(function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> native.RecordedFunction:
    recording = native.FunctionRecording(rows)
    symbols = iter([cast("Ciphertext", wrap(symbol)) for symbol in recording.symbols()])
    plain = iter([PlainSymbol(symbol) for symbol in recording.plain()])
    arguments = [next(plain) if is_plain else next(symbols) for *_, is_plain in rows]
    found: list[Ciphertext] = []
    arrangement = _taken_apart(function(*arguments), found)
    return recording.finish([array._native for array in found], json.dumps(arrangement))


def _recorded_batch(function: Callable[..., Any], rows: list[tuple[Any, ...]], batch: int) -> native.RecordedFunction:
    """The function of many items, recorded for one of them."""
    items = [
        (name, shape if plain else shape[1:], is_complex, bound, in_slots, lanes and len(shape) > 2, plain)
        for name, shape, is_complex, bound, in_slots, lanes, plain in rows
    ]
    return _recorded(function, items).batched(batch, any(lanes for *_, lanes, _ in rows))


def _batches(inputs: Sequence[dict[str, Any]]) -> list[int]:
    """Numbers of items with which the largest input fills a polynomial of one of the usual degrees."""
    largest = max(math.prod(own["shape"]) for own in inputs if not own.get("plain"))
    return sorted({max(1, slots // largest) for slots in _SLOTS})


def _cheapest(compiled: Callable[[int], Program], batches: Sequence[int]) -> Program:
    """The program with the least predicted time of an item; larger batches are tried while that falls."""
    best: tuple[float, Program] | None = None
    refusal: Exception | None = None
    for batch in batches:
        try:
            program = compiled(batch)
        except ClathrateError as refused:
            refusal = refusal or refused
            continue
        price = program._native.price / batch
        if best is not None and price >= best[0]:
            break
        best = (price, program)
    if best is None:
        raise refusal or DataError("a program has at least one input that is encrypted")
    return best[1]


def compile(
    function: Callable[..., Any],
    *inputs: Any,
    error: float | None = None,
    relative_error: float | None = None,
    security: float = 128.0,
    key_bytes: SupportsIndex | None = None,
    memory: SupportsIndex | None = None,
    batch: SupportsIndex | None = None,
    objective: str = "latency",
    passes: Sequence[str] | None = None,
    params: Params | None = None,
    runtime: Runtime | None = None,
) -> Program:
    """Compiles a function of arrays into a program that computes it on encrypted arrays.

    The function is ordinary NumPy code. It is called with symbols, which write down its operations; so it must not read the numbers or
    decide by them. Parameters, encodings, levels, bootstraps, and the degrees of polynomials that stand for functions are chosen by dry
    runs: the least predicted time for which the errors of all results are at most `error`. The choice is the same on every machine.

    Parameters
    ----------
    function : callable
        The function. It returns an encrypted array, or several in lists, tuples and dictionaries.
    *inputs : Input, tuple of int, or array_like
        For each parameter of the function the shape of the array as a tuple, with `Input` also the bound on its numbers, or sample data, an
        array or a list. The numbers may then be up to 1.5 times as large as those of the sample.
    error : float, optional
        The largest error of a result: its difference from what the function gives, of which functions such as `sigmoid` that state no
        error of their own may take half. None, the default, takes the precision that costs nothing more, and the functions' usual errors.
    relative_error : float, optional
        The largest error of a result as a fraction of its largest number. That is the largest one of the function of the sample data, where
        all inputs are sample data, and otherwise the bound on the result. None, the default, is no limit.
    security : float, optional
        The least bits of security. The default is 128.
    key_bytes : int, optional
        The most bytes of evaluation keys in memory. None, the default, is no limit.
    memory : int, optional
        The most bytes of arrays, evaluation keys and encoded plain operands in memory. None, the default, is no limit.
    batch : int, optional
        The number of items that one run computes the function of. Encrypted inputs and results then have one more axis in front, of that
        length; plain inputs are the same for all items. None, the default, is one item, without the axis.
    objective : {"latency", "throughput"}, optional
        What is least: the time of a run, or, where `batch` is not given, the time of an item, for which the program chooses how many items
        a run takes. The default is "latency".
    passes : sequence of str, optional
        The ways to write the function differently that are tried: "common" computes once what is computed several times, "polynomials"
        makes polynomials of sums of powers, "maps" makes linear maps of sums of moved and weighted numbers, "products" arranges products so
        that they take few levels, and "factors" multiplies plain factors into plain numbers next to them. `Program.explain` says what each
        saved. None, the default, tries all.
    params : Params, optional
        The parameters. None, the default, chooses them.
    runtime : Runtime, optional
        How to run. None, the default, is `Runtime()`.

    Returns
    -------
    Program
        The program.

    Raises
    ------
    DataError
        Where options or inputs are out of range, and where the function does what programs do not have.
    ParamsError
        Where no parameters serve, with the reason of each.
    TypeError
        Where the function reads numbers, decides by them, or returns something else than encrypted arrays.

    Warns
    -----
    BoundWarning
        Where an input has no bound: results might then wrap around unnoticed, and errors are not known.

    Examples
    --------
    >>> W = np.random.default_rng(0).normal(size=(10, 64))
    >>> program = cl.compile(lambda x: cl.functions.sigmoid(W @ x / 8, error=1e-3), cl.Input((64,), bound=1.0), error=1e-2)
    >>> program.results[0].shape, program.results[0].error_bound < 1e-2, program.params.security_bits >= 128
    ((10,), True, True)
    """
    names = _names(function, len(inputs))
    known = [described(given, name) for given, name in zip(inputs, names, strict=True)]
    if all(own.get("plain") for own in known):
        raise DataError(
            "a program has at least one input that is encrypted: give a shape, an `Input` or sample data for each parameter of the function"
        )
    if any(own.get("bound") is None for own in known):
        warn_unbounded()
    samples = not any(isinstance(given, Input) or _is_shape(given) for given in inputs)
    sizes = _sizes(function, inputs) if relative_error is not None and samples else []

    def of(batch: int | None) -> Program:
        return compiled(
            function,
            known,
            error,
            security,
            relative_error=relative_error,
            result_sizes=sizes,
            key_bytes=key_bytes,
            memory=memory,
            batch=batch,
            passes=None if passes is None else list(passes),
            params=params,
            runtime=runtime,
        )[0]

    if objective not in ("latency", "throughput"):
        raise DataError(f'`objective` is "{objective}": use "latency" or "throughput"')
    if batch is not None:
        return of(operator.index(batch))
    return of(None) if objective == "latency" else _cheapest(of, _batches(known))


def compiled(
    function: Callable[..., Any],
    inputs: Sequence[dict[str, Any]],
    error: float | None,
    security: float,
    *,
    relative_error: float | None = None,
    result_sizes: Sequence[float] = (),
    key_bytes: SupportsIndex | None = None,
    memory: SupportsIndex | None = None,
    batch: int | None = None,
    passes: Sequence[str] | None = (),
    params: Params | None = None,
    runtime: Runtime | None = None,
    usual_errors: bool = False,
) -> tuple[Program, list[tuple[str, tuple[float, int] | None, str]]]:
    """The program of a function, and what was tried: names, seconds and bytes of keys, or the reason of a refusal.

    Without `passes`, the function is computed as it is written. With `usual_errors`, approximations have the errors that they have
    outside of programs.
    """
    recorded: list[native.RecordedFunction] = []
    refusals: list[Exception] = []
    if batch is not None:
        inputs = [own if own.get("plain") else {**own, "shape": (batch, *own["shape"])} for own in inputs]
    for rows in _alternatives(inputs):
        if recorded and _takes_many_polynomials(rows):
            continue
        try:
            recorded.append(_recorded(function, rows) if batch is None else _recorded_batch(function, rows, batch))
        except Exception as refused:
            # Another way of encryption may do. The traceback leads to the line that was refused.
            refusals.append(refused)
    if not recorded:
        raise refusals[0]
    if usual_errors:
        recorded = [own.with_usual_errors() for own in recorded]
    sizes = list(result_sizes)
    asked = (
        *(own.digest for own in recorded),
        error,
        relative_error,
        *sizes,
        security,
        key_bytes,
        memory,
        None if passes is None else tuple(passes),
        get_threads(),
        len(TUNINGS),
        # Equal parameters may have other runtimes.
        None if params is None else (params, params.runtime),
    )
    found = _KNOWN.get(asked) if runtime is None else None
    if found is None:
        program, tried = native.compile_functions(
            recorded, error, relative_error, sizes, security, key_bytes, memory, passes, unwrap(params), unwrap(runtime)
        )
        found = Program._of(program), tried
        if runtime is None:
            _KNOWN[asked] = found
            # The oldest one goes.
            while len(_KNOWN) > _MOST_KNOWN:
                del _KNOWN[next(iter(_KNOWN))]
    return found
