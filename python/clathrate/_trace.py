"""What a computation needs and costs, found by a dry run: no keys, no data, no time.

The function runs on symbols: ciphertexts with a shape, an encoding, a level and a scale, and no data. They go through the same code
as ciphertexts, and write down which evaluation keys each step would use, at what level, and what the step would cost.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Generic, Literal, SupportsIndex, overload

from ._assume import warn_unbounded
from ._ciphertext import Ciphertext
from ._needs import Needs
from ._params import Params
from ._recording import Recorder
from .errors import ClathrateError

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from ._typing import BodyAxis, Encoding, Order

    Result = TypeVar("Result", default=Any)
else:
    from typing import TypeVar

    Result = TypeVar("Result")


@dataclass(frozen=True)
class StageCost:
    """What one stage of a computation costs, as `trace` predicts it.

    Attributes
    ----------
    name : str
        The name that `Ciphertext.stage` gave; a stage inside another has the names of both, with a slash between them. What belongs to no
        stage is called "operations".
    seconds : float
        The predicted time with one thread, by the machine model of the parameters: the times that `tune` stored, or else a built-in model.
    transforms : int
        The number of transforms (NTT) of a polynomial modulo one prime, forward and inverse.
    hadamard_products : int
        The number of products of two polynomials modulo one prime, entry by entry.
    multiply_adds : int
        The number of floating-point multiply-adds of products with plain matrices.
    key_bytes : int
        The bytes of evaluation keys that are read, each time they are read.

    Examples
    --------
    >>> (stage,) = cl.plans.trace(lambda x: x.rotate(1), (100,), params=params).stages
    >>> stage.name, stage.transforms > 0, stage.multiply_adds
    ('operations', True, 0)
    """

    name: str
    seconds: float
    transforms: int
    hadamard_products: int
    multiply_adds: int
    key_bytes: int


@dataclass(frozen=True)
class Trace(Generic[Result]):
    """What a computation needs, costs and gives, found by a dry run; `trace` makes it.

    Attributes
    ----------
    needs : Needs
        The evaluation keys, each for the highest level that it is used at. `SecretKey.evaluation_keys(needs)` makes them.
    inputs : tuple of Ciphertext
        The symbols that the function was called with.
    result : object
        What the function returned: symbols with `shape`, `encoding`, `level`, `scale` and, where `trace` was given a bound, `bound`,
        `error_rms` and `error_bound`.
    stages : tuple of StageCost
        The costs of the stages that `Ciphertext.stage` names, in the order in which they were entered first.
    seconds : float
        The predicted time of everything with one thread.
    transforms : int
        The number of transforms in all, as `StageCost` counts them.
    hadamard_products : int
        The number of products of polynomials in all.
    multiply_adds : int
        The number of multiply-adds in all.
    key_bytes : int
        The bytes of evaluation keys that are read in all.
    peak_bytes : int
        The most bytes that the encrypted arrays take at once, the inputs included. Keys are not among them, nor is the memory that single
        operations take while they run.
    bootstrap_below : int or None
        The level below which operators bootstrapped, for `Ciphertext.with_keys`; None where none did.

    Examples
    --------
    >>> found = cl.plans.trace(lambda x: (x * x).rescale(), (100,), params=params, bound=1.0)
    >>> found.result.level
    4
    >>> found.seconds > 0, found.result.error_bound < 1e-6
    (True, True)
    """

    needs: Needs
    inputs: tuple[Ciphertext, ...]
    result: Result
    stages: tuple[StageCost, ...]
    seconds: float
    transforms: int
    hadamard_products: int
    multiply_adds: int
    key_bytes: int
    peak_bytes: int
    bootstrap_below: int | None
    _table: str = field(repr=False)
    # The predicted time by prices that are the same on every machine, so that all of them choose alike.
    _price: float = field(repr=False)

    def explain(self) -> str:
        """The costs as text: a table with one line per stage, and the memory that the arrays take.

        Returns
        -------
        str
            The table.

        Examples
        --------
        >>> print(cl.plans.trace(lambda x: x + 1, (100,), params=params).explain())  # doctest: +ELLIPSIS
          stage ...
        """
        return self._table

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self._table)}</pre>"


_OPTIONS = ("encoding", "level", "scale", "is_complex", "bound", "bodies", "axis", "capacity", "lanes", "copies", "order", "plain")


class Input(Sequence[int]):
    """The shape of an array together with how that array is encrypted, for functions of arrays that differ in this.

    It stands where `trace`, `SecretKey.keys_for` and `Params.for_circuit` take a shape. What it does not state holds as for the other
    arrays, by the keywords of these functions.

    Parameters
    ----------
    shape : sequence of int
        The shape of the array.
    **options
        Keywords of `trace` for this array alone: `encoding`, `level`, `scale`, `is_complex`, `bound`, `bodies`, `axis`, `capacity`,
        `lanes`, `copies`, `order`. For `compile` also `plain=True`: whoever runs the program gives the array in the clear.

    Raises
    ------
    TypeError
        For any other keyword.

    Examples
    --------
    A matrix whose rows share polynomials, and a label for each row, encrypted where the sum of a row will be:

    >>> places = {"encoding": "slots", "lanes": "most"}
    >>> f = lambda x, labels: x.sum(axis=1) - labels
    >>> keys = secret_key.keys_for(f, (9, 5), cl.Input((9,), copies=8), **places)
    >>> x = secret_key.encrypt(np.ones((9, 5)), **places).with_keys(keys)
    >>> labels = secret_key.encrypt(np.arange(9.0) + 0.5, **places, copies=8)
    >>> secret_key.decrypt(f(x, labels)).round(2)
    array([ 4.5,  3.5,  2.5,  1.5,  0.5, -0.5, -1.5, -2.5, -3.5])
    """

    def __init__(self, shape: Sequence[SupportsIndex], **options: Any) -> None:
        unknown = sorted(set(options) - set(_OPTIONS))
        if unknown:
            raise TypeError(f"`{unknown[0]}` is no option of a single array: use {', '.join(_OPTIONS)}")
        self._shape = tuple(map(operator.index, shape))
        self._options = options

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._shape

    @property
    def options(self) -> dict[str, Any]:
        """The keywords for this array alone."""
        return dict(self._options)

    def __len__(self) -> int:
        return len(self._shape)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[int, ...]: ...
    def __getitem__(self, index: int | slice) -> int | tuple[int, ...]:
        return self._shape[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Input) and (self._shape, self._options) == (other._shape, other._options)

    __hash__ = None  # type: ignore[assignment]  # options may hold what has no hash

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"Input({self._shape}{options})"


def trace(
    function: Callable[..., Result],
    *shapes: Sequence[SupportsIndex],
    params: Params,
    encoding: Encoding | None = None,
    level: SupportsIndex | None = None,
    scale: float | None = None,
    is_complex: bool = False,
    bound: float | None = None,
    bodies: SupportsIndex | None = None,
    axis: BodyAxis | None = None,
    capacity: SupportsIndex | None = None,
    lanes: SupportsIndex | Literal["most"] | None = None,
    copies: SupportsIndex | None = None,
    order: Order = "natural",
    bootstrap_below: SupportsIndex | None = None,
) -> Trace[Result]:
    """Runs a function without keys and data, and tells the evaluation keys, levels and scales that it needs, and what it costs.

    The function is called with *symbols*: ciphertexts that have a shape, an encoding, a level and a scale, and no data. They go through the
    same code as ciphertexts, and raise the same errors.

    With a `bound` on the numbers, symbols carry it and errors through the computation, as arrays that are encrypted with it do:
    `Ciphertext.bound`, `Ciphertext.error_rms` and `Ciphertext.error_bound`. The inputs are then taken as fresh encryptions with a public
    key, whose errors are larger than those of encryptions with the secret key.

    Parameters
    ----------
    function : callable
        The computation. It gets one symbol for each shape.
    *shapes : sequence of int or Input
        The shapes of the arrays; `Input` gives one of them options of its own.
    params : Params
        The parameters.
    encoding : {"slots", "coefficients"}, optional
        As `SecretKey.encrypt` takes it.
    level : int, optional
        As `SecretKey.encrypt` takes it.
    scale : float, optional
        As `SecretKey.encrypt` takes it.
    is_complex : bool, optional
        Whether the arrays have complex entries. The default is False.
    bound : float, optional
        The largest magnitude of the numbers in the arrays. None, the default, leaves it open, of which a `BoundWarning` tells once; then
        products have no known errors.
    bodies : int, optional
        As `SecretKey.encrypt` takes it.
    axis : {"rows", "chunks"}, optional
        As `SecretKey.encrypt` takes it.
    capacity : int, optional
        As `SecretKey.encrypt` takes it.
    lanes : int or "most", optional
        As `SecretKey.encrypt` takes it.
    copies : int, optional
        As `SecretKey.encrypt` takes it.
    order : {"natural", "bit-reversed"}, optional
        As `SecretKey.encrypt` takes it.
    bootstrap_below : int, optional
        As `Ciphertext.with_keys` takes it. By default, where levels run out and the parameters can bootstrap, the function is called once
        for each level, and of the levels that work the one with the least time is taken, by the times that are built into the library:
        the choice is the same on every machine. Where none works, it is called once more without bootstraps.

    Returns
    -------
    Trace
        The needs, the costs, the symbols, and what the function returned.

    Raises
    ------
    ClathrateError
        What the function would raise on ciphertexts; where it fails for each level to bootstrap below, the error at the lowest one, with
        those at the others. Decrypting and storing a symbol is a `DataError`, and so is a bound that is not
        positive or has no room at the arrays' level.

    Examples
    --------
    >>> cl.plans.trace(lambda x: (x * x).rescale().rotate(1), (100,), params=params).needs
    Needs(relinearise: level 5, rotate 1: level 4)

    A power that takes more levels than there are, so that a bootstrap comes in between:

    >>> def power(x):
    ...     for _ in range(5):
    ...         x = (x * x).rescale()
    ...     return x
    >>> found = cl.plans.trace(power, (512,), params=cl.Params.preset("insecure_boot"), level=6)
    >>> found.bootstrap_below, found.result.level
    (3, 4)
    """

    common: dict[str, Any] = {
        "encoding": encoding,
        "level": level,
        "scale": scale,
        "is_complex": is_complex,
        "bound": bound,
        "bodies": bodies,
        "axis": axis,
        "capacity": capacity,
        "lanes": lanes,
        "copies": copies,
        "order": order,
    }

    def run(below: SupportsIndex | None) -> Trace[Result]:
        recorder = Recorder(params, below)

        def symbol(shape: Sequence[SupportsIndex]) -> Ciphertext:
            if isinstance(shape, Input):
                return recorder.symbol(shape.shape, **{**common, **shape.options})
            return recorder.symbol(shape, **common)

        inputs = tuple(symbol(shape) for shape in shapes)
        result = function(*inputs)
        recording = recorder.recording()
        stages = tuple(StageCost(name, *figures) for name, figures in recording.stages)
        figures = (*recording.total, recording.peak_bytes)
        found = None if below is None or not recording.bootstraps else int(below)
        return Trace(recorder.needs(), inputs, result, stages, *figures, found, recording.explain(), recording.price)

    if not isinstance(params, Params):
        raise TypeError(f'`params` is {params!r}, and no Params: take a preset, `cl.Params.preset("n14")`')
    if any((shape.options if isinstance(shape, Input) else {}).get("bound", bound) is None for shape in shapes):
        warn_unbounded()
    levels = params.application_levels
    if bootstrap_below is not None or levels is None:
        return run(bootstrap_below)
    best: Trace[Result] | None = None
    refused: dict[int, ClathrateError] = {}
    for below in range(levels[0], max(levels[1], levels[0] + 1)):
        try:
            found = run(below)
        except ClathrateError as error:
            refused[below] = error  # a level that leaves too few levels here may leave enough there
            continue
        if best is None or found._price < best._price:
            best = found
        if found.bootstrap_below is None and not refused:
            break  # no bootstrap was needed
    if best is not None:
        return best
    try:
        # Below the application's levels, where nothing is bootstrapped any more.
        return run(None)
    except ClathrateError:
        raise _of_all(refused) from None


def _of_all(refused: dict[int, ClathrateError]) -> ClathrateError:
    """The error at the lowest level, which leaves the most levels between bootstraps, with those at the others where they differ."""
    first = next(iter(refused.values()))
    levels: dict[str, list[str]] = {}
    for level, error in refused.items():
        levels.setdefault(str(error), []).append(str(level))
    if len(levels) == 1:
        return first
    (_, lowest), *others = levels.items()
    tried = "; ".join(f"below {', '.join(below)}: {text}" for text, below in others)
    return type(first)(f"{first} (so with bootstraps below level {', '.join(lowest)}; {tried})")
