"""Programs: a function of encrypted arrays, compiled once and run anywhere."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from . import _native as native
from ._ciphertext import Ciphertext
from ._clear import Clear
from ._executor import sending
from ._reading import numbers
from ._stored import Saved
from ._wrapping import unwrap, wrap
from .errors import ClathrateError, DataError, FileAccessError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from numpy.typing import ArrayLike

    from ._evaluation_keys import EvaluationKeys
    from ._needs import Needs
    from ._params import Params
    from ._runtime import Runtime
    from ._secret_key import SecretKey
    from ._typing import AnyPath, Progress


@dataclass(frozen=True)
class ProgramInput:
    """An array that a program computes on.

    Attributes
    ----------
    name : str
        The name of the function's parameter.
    shape : tuple of int
        The shape.
    is_complex : bool
        Whether the numbers are complex.
    bound : float or None
        The largest magnitude of the numbers.
    encoding : {"slots", "coefficients"}
        How the numbers are encrypted.
    plain : bool
        Whether the array is given in the clear, by whoever runs the program.
    """

    name: str
    shape: tuple[int, ...]
    is_complex: bool
    bound: float | None
    encoding: str
    _lanes: bool
    plain: bool


@dataclass(frozen=True)
class ProgramResult:
    """What a program gives for one of its results, as its dry run predicts it.

    Attributes
    ----------
    shape : tuple of int
        The shape.
    is_complex : bool
        Whether the numbers are complex.
    encoding : {"slots", "coefficients"}
        How the numbers are encrypted.
    level : int
        The level.
    bound : float or None
        The largest magnitude of the numbers, where it is known.
    error_rms, error_bound : float or None
        The root mean square of the errors, and a bound on all of them, where they are known.
    """

    shape: tuple[int, ...]
    is_complex: bool
    encoding: str
    level: int
    bound: float | None
    error_rms: float | None
    error_bound: float | None


@dataclass(frozen=True)
class Task:
    """One operation of a program as a piece of work; `Program.tasks` lists them.

    Attributes
    ----------
    value : int
        The number of the value that it gives; inputs have the first numbers.
    name : str
        The name of the stage that it belongs to, or else of its operation.
    inputs : tuple of int
        The numbers of the values that it takes.
    seconds : float
        The predicted time of one thread.
    bytes : int
        The bytes of the value.

    Examples
    --------
    >>> program = cl.compile(lambda x, y: (x * y).sum(), cl.Input((10,), bound=1.0), cl.Input((10,), bound=1.0))
    >>> [(task.value, task.name, task.inputs) for task in program.tasks]
    [(2, 'mul', (0, 1)), (3, 'sum', (2,))]
    """

    value: int
    name: str
    inputs: tuple[int, ...]
    seconds: float
    bytes: int


@dataclass(frozen=True)
class Check:
    """What a program does with sample data, found without encryption; `Program.check` makes it.

    Attributes
    ----------
    difference : float
        The largest difference of a result from that of the function itself, by the approximations of functions.
    error_bound : float or None
        The bound on the errors of all results, those of approximations included, where it is known.
    outside : tuple of str
        For each value whose numbers exceed its predicted bound: the operation, how many do, the largest and the bound. Where it is not
        empty, the encrypted results may be wrong.
    worst : str
        The operation whose result differs most, relative to its largest number.

    Examples
    --------
    >>> program = cl.compile(lambda x: cl.functions.exp(x, error=1e-4), cl.Input((3,), bound=1.0))
    >>> found = program.check([0.5, -1.0, 0.25])
    >>> found.difference < 1e-4, found.outside
    (True, ())
    >>> program.check([0.5, -3.0, 0.25]).outside
    ('x: 1 of 3 numbers beyond 1, up to 3',)
    """

    difference: float
    error_bound: float | None
    outside: tuple[str, ...]
    worst: str


@dataclass(frozen=True)
class DecryptedValue:
    """One value of a program as it was decrypted, beside the number that it should be; `Program.debug` makes it.

    Attributes
    ----------
    operation : str
        The operation, or the name of the input.
    level : int
        The level of the value.
    predicted : float or None
        The predicted root mean square of its errors.
    rms, largest : float
        The measured root mean square, and the largest error.
    decrypted, clear : numpy.ndarray
        The decrypted numbers, and what the same operations give without encryption.

    Examples
    --------
    >>> program = cl.compile(lambda x: x * x, cl.Input((3,), bound=1.0), error=1e-4)
    >>> owner = cl.SecretKey.generate(program)
    >>> [(value.operation, value.largest < 1e-4) for value in program.debug(owner, [0.5, -1.0, 0.25])]
    [('x', True), ('v1 = mul(x, x)', True)]
    """

    operation: str
    level: int
    predicted: float | None
    rms: float
    largest: float
    decrypted: Any
    clear: Any


class ForOwner(Saved):
    """What the owner of a secret needs to know of a program."""

    __slots__ = ()
    _native: native.Program | native.OwnerPart

    @property
    def params(self) -> Params:
        """The parameters."""
        return cast("Params", wrap(self._native.params))

    @property
    def needs(self) -> Needs:
        """The evaluation keys that it needs; `SecretKey.keys(program)` makes them."""
        return cast("Needs", wrap(self._native.needs))

    @property
    def inputs(self) -> tuple[ProgramInput, ...]:
        """The arrays that it computes on."""
        return tuple(
            ProgramInput(name, tuple(shape), is_complex, bound, "slots" if in_slots else "coefficients", lanes, plain)
            for name, shape, is_complex, bound, in_slots, lanes, plain in self._native.inputs
        )

    @property
    def results(self) -> tuple[ProgramResult, ...]:
        """What it gives for each array among its results."""
        return tuple(ProgramResult(tuple(row[0]), *row[1:]) for row in self._native.results)

    @property
    def level(self) -> int:
        """The level at which its inputs are encrypted."""
        return self._native.level

    @property
    def key_bytes(self) -> int:
        """The bytes of its evaluation keys in memory."""
        return self._native.key_bytes

    def to_bytes(self) -> bytes:
        """The bytes that `save` would write.

        Returns
        -------
        bytes
            The bytes; `from_bytes` reads them.

        Examples
        --------
        >>> program = cl.compile(lambda x: 2.0 * x + 1, cl.Input((4,), bound=1.0))
        >>> cl.from_bytes(program.to_bytes()).graph() == program.graph()
        True
        """
        return bytes(self._native.to_bytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_pickle, (self.to_bytes(),)

    def _check_count(self, given: Sequence[Any], inputs: Sequence[ProgramInput]) -> None:
        if len(given) != len(inputs):
            names = ", ".join(own.name for own in inputs)
            arrays = "array" if len(inputs) == 1 else "arrays"
            raise DataError(f"the program takes {len(inputs)} {arrays}, {names}, and {len(given)} were given")

    def _of_shape(self, own: ProgramInput, given: ArrayLike) -> Any:
        """An array for an input, of its shape."""
        array = np.asarray(numbers(given))
        if array.shape != own.shape:
            raise DataError(f"the input {own.name} has shape {own.shape}, and an array of shape {array.shape} was given")
        if np.iscomplexobj(array) and not own.is_complex:
            raise DataError(f"the input {own.name} is real, and complex numbers were given: compile with `is_complex=True`")
        return array

    def _encrypted(self, encrypt: Callable[..., Any], given: Sequence[Any], **stated: Any) -> Any:
        """The inputs that are encrypted, by the method of a key; a single one alone. What is `stated` beside them is refused."""
        names = [f"`{name}`" for name, value in stated.items() if value is not None]
        if names:
            raise TypeError(f"a program says how its inputs are encrypted: leave out {', '.join(names)}, or compile it for that")
        # A call with fewer arrays leaves the others at their default.
        arrays = list(itertools.takewhile(lambda array: array is not None, given))
        encrypted = [encrypt(array, **options) for array, options in self._encryptions(arrays)]
        return encrypted[0] if len(encrypted) == 1 else encrypted

    def _encryptions(self, arrays: Sequence[ArrayLike]) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Each array with the arguments of its encryption."""
        inputs = [own for own in self.inputs if not own.plain]
        self._check_count(arrays, inputs)
        for own, array in zip(inputs, arrays, strict=True):
            given = self._of_shape(own, array)
            yield (
                given,
                {
                    "encoding": own.encoding,
                    "level": self.level,
                    "lanes": "most" if own._lanes else None,
                    "bound": own.bound,
                },
            )


@final
class Program(ForOwner, of=native.Program):
    """A function of encrypted arrays with everything that was chosen for it: parameters, encodings, levels, bootstraps, keys.

    `compile` makes programs. A program is a graph of array operations and holds the plain numbers that the function uses, so whoever runs
    it needs neither the function nor Python. It has no secret, and no key.

    Examples
    --------
    >>> program = cl.compile(lambda x: (x - x.mean()) ** 2, cl.Input((1000,), bound=1.0), error=1e-6)
    >>> owner = cl.SecretKey.generate(program)
    >>> keys = owner.keys(program)
    >>> x = owner.encrypt(program, np.linspace(-1, 1, 1000))
    >>> owner.decrypt(program.run(keys, x)).round(3)[:3]
    array([1.   , 0.996, 0.992])
    """

    __slots__ = ()
    _native: native.Program

    @property
    def bootstrap_below(self) -> int | None:
        """The level below which operations bootstrap their operands; None where none does."""
        return self._native.bootstrap_below

    @property
    def bootstraps(self) -> int:
        """How often a polynomial is bootstrapped; an array may have several, and two of real numbers share a bootstrap."""
        return self._native.bootstraps

    @property
    def seconds(self) -> float:
        """The predicted time of a run with one thread; the first run of a set of keys takes `encoding_seconds` more."""
        return float(self._native.recording.total[0])

    @property
    def encoding_seconds(self) -> float:
        """The predicted time to encode the plain matrices, kernels and maps that are kept for further runs."""
        return float(self._native.recording.encoding_seconds)

    @property
    def plaintext_bytes(self) -> int:
        """The bytes of encoded plain matrices, kernels and maps, with their own numbers: those kept, and the most encoded for one use."""
        return self._native.recording.plaintext_bytes

    @property
    def peak_bytes(self) -> int:
        """The most bytes that encrypted arrays take at once, as `Trace.peak_bytes` counts them."""
        return self._native.recording.peak_bytes

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Its operations as pieces of work, in an order in which they can be done."""
        return tuple(Task(value, name, tuple(inputs), seconds, size) for value, name, inputs, seconds, size in self._native.tasks)

    def explain(self) -> str:
        """What was chosen and what is predicted, as text.

        Returns
        -------
        str
            The parameters, how inputs are encrypted, the results with their errors, and the costs by stage.

        Examples
        --------
        >>> program = cl.compile(lambda x: x * x, cl.Input((10,), bound=2.0))
        >>> print(program.explain())  # doctest: +ELLIPSIS
        program of 1 operation
          parameters  compiled: degree ...
        """
        return self._native.explain()

    def graph(self) -> str:
        """The operations, one in a line.

        Returns
        -------
        str
            For each operation the number of its result, its name, its operands and its arguments.

        Examples
        --------
        >>> print(cl.compile(lambda x: (x * x + 1).sum(), cl.Input((10,), bound=2.0)).graph(), end="")
        v1 = mul(x, x)
        v2 = add(v1, 1)
        v3 = sum(v2)
        """
        return self._native.graph_text()

    def run(
        self,
        keys: EvaluationKeys | None,
        *inputs: Ciphertext | ArrayLike,
        progress: Progress = None,
        store: AnyPath | None = None,
        executor: Executor | None = None,
    ) -> Any:
        """Computes the results of encrypted inputs.

        Operations that do not depend on each other run at the same time, on as many threads as the runtime has.

        Parameters
        ----------
        keys : EvaluationKeys or None
            The owner's keys for the program, `SecretKey.keys(program)`; None where it needs none.
        *inputs : Ciphertext or array_like
            The arrays in the order of the function's parameters, encrypted for the program (`SecretKey.encrypt(program, ...)`); plain
            inputs as they are.
        progress : bool or callable, optional
            True shows a progress bar. A function is called with (steps done, 1000), where a step is a share of the predicted time, and may
            return False to stop.
        store : str, bytes or path-like, optional
            A folder in which the values that are needed next are stored from time to time, which takes at most a twentieth of the time. If
            the run is killed, the same call goes on from there. A run that ends leaves nothing in the folder. Whoever can write to the
            folder decides the results, so it is a folder of your own.
        executor : concurrent.futures.Executor, optional
            Who computes the operations: for example a `ProcessPoolExecutor`, whose workers share one copy of the keys, or any object with
            its method `submit`. It gets as many at a time as the machine has cores. Workers run as `params.runtime` says, so for several
            that is best `Runtime(threads=1)`. Progress moves when an operation ends, and an operand that several operations bootstrap is
            bootstrapped by each of them. What it raises, such as `BrokenProcessPool` for a worker that ended, ends the run. None, the
            default, is this process alone.

        Returns
        -------
        Ciphertext, list, tuple or dict
            What the function returned, with encrypted arrays that carry the keys.

        Raises
        ------
        ShapeError
            For inputs of other shapes.
        DataError
            For another number of inputs, inputs that are encrypted in another way than for the program, and plain numbers beyond their
            bound.
        WrongParamsError
            For inputs or keys of other parameters.
        WrongSecretError
            For inputs and keys of several owners.
        MissingKeyError
            For keys of another program.
        FileAccessError
            Where values cannot be stored in the folder.

        Examples
        --------
        >>> program = cl.compile(lambda x, w: {"sum": x + w, "product": x * w}, cl.Input((3,), bound=5.0), cl.Input((3,), bound=5.0))
        >>> owner = cl.SecretKey.generate(program)
        >>> x, w = owner.encrypt(program, [1.0, 2.0, 3.0], [4.0, 5.0, 0.5])
        >>> results = owner.decrypt(program.run(owner.keys(program), x, w))
        >>> results["product"].round(4)
        array([ 4. , 10. ,  1.5])
        """
        encrypted, plain = self._sorted(inputs)
        if executor is None:
            found = self._native.run(unwrap(keys), encrypted, plain, progress, store, None)
        else:
            # Before keys are written and workers begin.
            self._native.check(unwrap(keys), encrypted, plain)
            with sending(executor, self, keys, plain) as there:
                found = self._native.run(unwrap(keys), encrypted, plain, progress, store, there)
        return _arranged(json.loads(self._native.arrangement), [cast("Ciphertext", wrap(result)) for result in found])

    def for_owner(self) -> OwnerPart:
        """What the owner of the secret needs of the program, without its operations and plain numbers.

        Returns
        -------
        OwnerPart
            The owner's part.

        Examples
        --------
        >>> W = np.random.default_rng(0).normal(size=(10, 64))
        >>> program = cl.compile(lambda x: W @ x, cl.Input((64,), bound=1.0))
        >>> part = program.for_owner()
        >>> owner = cl.SecretKey.generate(part)
        >>> y = program.run(owner.keys(part), owner.encrypt(part, np.ones(64)))
        >>> bool(np.abs(owner.decrypt(y) - W.sum(axis=1)).max() < 1e-4)
        True
        """
        return cast("OwnerPart", wrap(self._native.for_owner()))

    def split(self, folder: AnyPath, overwrite: bool = True) -> None:
        """Writes the two parts of the program as files: `owner.program` for the owner of the secret, and `server.program` for the server.

        The owner's part has neither operations nor plain numbers, so a server's model stays with the server.

        Parameters
        ----------
        folder : str, bytes or path-like
            The folder, which is made if it does not exist.
        overwrite : bool, optional
            Whether files that exist may be replaced. The default is True.

        Returns
        -------
        None
            Nothing.

        Raises
        ------
        FileAccessError
            Where the files cannot be written, or exist where `overwrite` is False.

        Examples
        --------
        >>> program = cl.compile(lambda x: 2.0 * x + 1, cl.Input((4,), bound=1.0))
        >>> program.split("parts")
        >>> part, server = cl.load("parts/owner.program"), cl.load("parts/server.program")
        >>> part.inputs == server.inputs, part.needs == server.needs
        (True, True)
        """
        place = Path(os.fsdecode(folder))
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as refused:
            raise FileAccessError(f"{place}: the folder cannot be made: {refused.strerror}") from refused
        parts = ((self.for_owner(), place / "owner.program"), (self, place / "server.program"))
        if not overwrite:
            for _, path in parts:
                if path.exists():
                    raise FileAccessError(f"{path} exists: give another folder, or `overwrite=True`")
        for part, path in parts:
            part.save(path, overwrite)

    def check(self, *data: ArrayLike) -> Check:
        """What the program does with sample data, without encryption and without a key.

        The operations run on the numbers twice, with the functions themselves and with the approximations that encrypted arrays have, and
        every number is compared with the bound that was predicted for it.

        Parameters
        ----------
        *data : array_like
            An array for each input.

        Returns
        -------
        Check
            How far the approximations are off, the bound on all errors, and the numbers that exceed their bounds.

        Raises
        ------
        DataError
            For another number of arrays, or other shapes.

        Examples
        --------
        >>> program = cl.compile(lambda x: cl.functions.tanh(x, error=1e-3).sum(), cl.Input((100,), bound=2.0))
        >>> program.check(np.linspace(-2, 2, 100)).difference < 0.1
        True
        """
        inputs, plain = self._in_clear(data)
        exact = Clear(self._native, exact=True, plain=plain).values(inputs)
        names = self._operations()
        outside = []
        known_bounds = [
            # A bound is one of the approximations, from which the functions' own numbers differ.
            *((name, value, row[4], row[6] or 0.0) for name, value, row in zip(names, exact, self._native.values, strict=True)),
            *((own.name, value, own.bound, 0.0) for own, value in zip((own for own in self.inputs if own.plain), plain, strict=True)),
        ]
        for name, value, bound, error in known_bounds:
            # Numbers that are no numbers are beyond every bound.
            most = math.inf if bound is None else bound * (1.0 + 1e-9) + error
            beyond = int(np.count_nonzero(~(np.abs(value) <= most)))
            if beyond:
                limit = "all bounds" if bound is None else f"{bound:.6g}"
                outside.append(f"{name}: {beyond} of {value.size} numbers beyond {limit}, up to {np.abs(value).max():.6g}")
        errors = [own.error_bound for own in self.results]
        known = None if None in errors else max(own for own in errors if own is not None)
        program = Clear(self._native, exact=False, plain=plain)
        try:
            approximated = program.values(inputs)
        except ClathrateError as refused:
            return Check(math.inf, known, tuple(outside), str(refused))
        differences = [float(np.abs(x - y).max()) for x, y in zip(exact, approximated, strict=True)]
        sizes = [max(float(np.abs(x).max()), 1e-300) for x in exact]
        worst = max(range(len(exact)), key=lambda place: differences[place] / sizes[place])
        return Check(max(differences[place] for place in program.results), known, tuple(outside), names[worst])

    def debug(self, owner: SecretKey, *data: ArrayLike, keys: EvaluationKeys | None = None) -> list[DecryptedValue]:
        """Runs the program on encrypted data and decrypts every value beside the number that it should be.

        For the owner alone, who finds out with it where a program loses precision.

        Parameters
        ----------
        owner : SecretKey
            The owner's key.
        *data : array_like
            An array for each input.
        keys : EvaluationKeys, optional
            The keys for the program. None, the default, makes them.

        Returns
        -------
        list of DecryptedValue
            The inputs, then the result of each operation.

        Raises
        ------
        ClathrateError
            As `SecretKey.encrypt`, `SecretKey.keys` and `run`.

        Examples
        --------
        >>> program = cl.compile(lambda x: (x * x).sum(), cl.Input((3,), bound=2.0), error=1e-4)
        >>> owner = cl.SecretKey.generate(program)
        >>> values = program.debug(owner, [1.0, 2.0, 0.5])
        >>> [value.operation for value in values], float(values[-1].clear), values[-1].largest < 1e-4
        (['x', 'v1 = mul(x, x)', 'v2 = sum(v1)'], 5.25, True)
        """
        inputs, plain = self._in_clear(data)
        clear = Clear(self._native, exact=False, plain=plain).values(inputs)
        names, rows = self._operations(), self._native.values
        encrypted = owner.encrypt(self, *inputs)
        values: list[DecryptedValue] = []

        def seen(number: int, value: native.Ciphertext) -> None:
            decrypted = np.asarray(owner.decrypt(cast("Ciphertext", wrap(value))))
            errors = np.abs(decrypted - clear[number])
            rms = float(np.sqrt(np.mean(errors**2)))
            values.append(DecryptedValue(names[number], value.level, rows[number][5], rms, float(errors.max()), decrypted, clear[number]))

        arrays = encrypted if isinstance(encrypted, list) else [encrypted]
        self._native.run_all(unwrap(owner.keys(self) if keys is None else keys), [_rows(own) for own in arrays], plain, seen)
        return values

    def _sorted(self, given: Sequence[Any]) -> tuple[list[native.Ciphertext], list[Any]]:
        """The encrypted and the plain ones among the inputs of a run."""
        inputs = self.inputs
        self._check_count(given, inputs)
        encrypted = [_rows(own) for own, known in zip(given, inputs, strict=True) if not known.plain]
        plain = [numbers(own) for own, known in zip(given, inputs, strict=True) if known.plain]
        return encrypted, plain

    def _operations(self) -> list[str]:
        """What each value is: the names of the encrypted inputs, and the operations."""
        return [own.name for own in self.inputs if not own.plain] + self.graph().splitlines()

    def _in_clear(self, arrays: Sequence[ArrayLike]) -> tuple[list[Any], list[Any]]:
        """The numbers of the inputs that are encrypted, and of the plain ones."""
        known = list(zip(self.inputs, self._checked(arrays), strict=True))
        return [array for own, array in known if not own.plain], [array for own, array in known if own.plain]

    def _checked(self, arrays: Sequence[ArrayLike]) -> list[Any]:
        """An array for each input, of its shape."""
        inputs = self.inputs
        self._check_count(arrays, inputs)
        return [self._of_shape(own, array) for own, array in zip(inputs, arrays, strict=True)]

    @classmethod
    def load(cls, path: AnyPath, runtime: Runtime | None = None, *, allow_insecure: bool = False) -> Program:
        """A program from a file that `save` wrote.

        Parameters
        ----------
        path : str, bytes or path-like
            The file.
        runtime : Runtime, optional
            How to run. None, the default, is `Runtime()`.
        allow_insecure : bool, optional
            Whether parameters below 128 bits of security are taken, for tests. The default is False.

        Returns
        -------
        Program
            The program.

        Raises
        ------
        FileFormatError
            Where the file holds something else, is damaged, or is of another version.
        FileAccessError
            Where the file cannot be read.
        SecurityError
            Where its parameters are below 128 bits of security, and `allow_insecure` does not accept that.

        Examples
        --------
        >>> program = cl.compile(lambda x: 2.0 * x + 1, cl.Input((4,), bound=1.0))
        >>> size = program.save("f.program")
        >>> cl.Program.load("f.program").graph() == program.graph()
        True
        """
        return cls._of(native.Program.load(path, unwrap(runtime), allow_insecure))

    def __repr__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.explain())}</pre>"


def _from_pickle(data: bytes) -> Program:
    return cast("Program", wrap(native.from_bytes(data, None, None, allow_insecure=True)))


@final
class OwnerPart(ForOwner, of=native.OwnerPart):
    """What the owner of a secret needs of a program, without its operations and plain numbers; `Program.for_owner` makes it.

    It takes the place of the program in `SecretKey.generate`, `SecretKey.keys` and `encrypt`. Keys and results are stated by the word of
    whoever made it. Keys that a program does not need do no harm to the secret.

    Examples
    --------
    >>> part = cl.compile(lambda x: x * x, cl.Input((4,), bound=1.0)).for_owner()
    >>> [own.name for own in part.inputs], part.results[0].shape
    (['x'], (4,))
    """

    __slots__ = ()
    _native: native.OwnerPart

    def __repr__(self) -> str:
        names = ", ".join(own.name for own in self.inputs)
        return f"OwnerPart(inputs=[{names}], params={self.params.name}, keys {self.key_bytes / 2**20:.1f} MiB)"


def _rows(given: Any) -> native.Ciphertext:
    if isinstance(given, Ciphertext):
        return given._native
    raise TypeError(f"a program computes on encrypted arrays, and a {type(given).__name__} was given: encrypt it for the program")


def _arranged(arrangement: dict[str, Any], found: Sequence[Ciphertext]) -> Any:
    ((kind, content),) = arrangement.items()
    if kind == "array":
        return found[content]
    if kind == "transposed":
        return found[content].T
    if kind == "named":
        return {name: _arranged(part, found) for name, part in content}
    parts = [_arranged(part, found) for part in content]
    return tuple(parts) if kind == "tuple" else parts


def mapped_results(work: Callable[[Any], Any], results: Any) -> Any:
    """What `work` makes of each array among the results of a program, in their arrangement."""
    if isinstance(results, Mapping):
        return {name: mapped_results(work, part) for name, part in results.items()}
    if isinstance(results, (list, tuple)):
        return type(results)(mapped_results(work, part) for part in results)
    return work(results)
