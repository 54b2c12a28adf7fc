"""How to run: threads, instruction set, key switching, limits, devices, and what this machine has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, final

from . import _native as native
from ._wrapping import Valued

if TYPE_CHECKING:
    from ._typing import Isa, Progress, Rescale, Switching


@final
class Runtime(Valued, of=native.Runtime):
    """How computations run on this machine: threads, instruction set, key switching, memory for derived keys.

    Most programs need none of it: `threads` limits the use of the processor, `key_cache_mib` and `plaintext_cache_mib` that of memory, and
    the rest is for tuning.

    A runtime decides about speed, memory and who rescales. It is not a part of the parameters: two parties may use one parameter set with
    different runtimes, and their results agree up to noise. Every constructor of `Params` takes a runtime; ciphertexts and keys run as the
    parameters they were made or loaded with.

    Most of the options are about key switching, the step that ends every product of ciphertexts, rotation and conjugation: it multiplies
    the ciphertext by an evaluation key. There are two methods. The *hybrid* method cuts the ciphertext into digits and multiplies them by
    the key. The *KLSS* method cuts the key into digits too, which needs fewer number-theoretic transforms. Both multiply modulo the
    ciphertext's primes and some special primes; the more special primes a level can use, the fewer digits there are. A file stores each
    key once, for the digits at the highest level. The key for other digits is *derived* from the stored key, without the secret, on first
    use or by `EvaluationKeys.derive`, and is kept in memory.

    Runtimes are immutable values: they can be compared, hashed and pickled. The attributes show the defaults in place of None.

    Parameters
    ----------
    threads : int, optional
        Worker threads, 1 to 4096. The default is one for each core, or what `set_threads` says.
    isa : {"scalar", "avx2", "ifma"}, optional
        The instruction set to compute with. The default is the fastest one of this machine, or the one that the environment variable
        CLATHRATE_ISA names. All of them give equal results, bit for bit.
    switching : str or tuple, optional
        How each level switches keys. "fastest", the default, lets a planner predict the fastest method for each level by times that belong
        to the version of this library: all machines choose alike, so that results are equal bit for bit. "tuned" predicts by the times that
        `clathrate tune` stored for this machine: results differ from those of other machines by noise, and plans may ask for other keys
        than theirs, so use it where keys and results stay on machines of one kind. "as_made" uses every key as it is stored in its file, so
        that nothing is derived. ("hybrid", r) is the hybrid method with r special primes at every level. ("klss", r, r_tilde) is the KLSS
        method with r special primes and key digits of r_tilde primes.
    key_expansion : float, optional
        The most memory that may be derived from one key, as a multiple of the size of that key. The default is 4.0. It limits the planner
        of "fastest". 0 derives nothing, inf sets no limit.
    key_cache_mib : float, optional
        The most memory in MiB for derived keys, of all keys together. The default is 6144.0 (6 GiB). A key that does not fit is used as it
        is stored. 0 keeps nothing, inf sets no limit.
    rescale : {"automatic", "explicit"}, optional
        Who rescales products of ciphertexts. "automatic", the default: each operator that needs it. "explicit": the caller, by
        `Ciphertext.rescale`, which then refuses arrays with nothing to rescale; operators take products as they are. Reductions and powers
        rescale what is in between in either case. It changes levels: use it on both sides of a computation or on neither.

    device : str, optional
        Where to compute. "cpu", the default, is the processor; "cuda" is NVIDIA's first device, "cuda:1" the second, and so on. Arrays and
        keys are then in the memory of the device; `to` moves them. Threads and the instruction set are the processor's.
    table_mib : float, optional
        The most memory in MiB for the tables of one parameter set, up to 32 bytes times degree times number of primes. The default is
        256.0. Larger sets are refused before anything is computed, because a short file could ask for gigabytes.
    plaintext_cache_mib : float, optional
        The most memory in MiB for encoded plain matrices, kernels and maps, of all together that one set of keys computes with. The default
        is 1024.0 (1 GiB). Those that do not fit are encoded each time they are used. 0 keeps nothing, inf sets no limit.

    Raises
    ------
    DataError
        Where an option is out of range.
    DeviceError
        Where there is no such device, or no driver for it.

    Examples
    --------
    >>> runtime = cl.Runtime(threads=2)
    >>> runtime.threads, runtime.key_cache_mib, runtime.table_mib
    (2, 6144.0, 256.0)
    >>> fast = cl.Params.preset("insecure_small", cl.Runtime(threads=2, key_cache_mib=100))
    >>> fast == params, fast.runtime == params.runtime
    (True, False)
    """

    __slots__ = ()
    _native: native.Runtime

    def __init__(
        self,
        threads: SupportsIndex | None = None,
        isa: Isa | None = None,
        switching: Switching = "fastest",
        key_expansion: float | None = None,
        key_cache_mib: float | None = None,
        rescale: Rescale = "automatic",
        device: str = "cpu",
        table_mib: float | None = None,
        plaintext_cache_mib: float | None = None,
    ) -> None:
        options = (threads, isa, switching, key_expansion, key_cache_mib, rescale, device, table_mib, plaintext_cache_mib)
        self._hold(native.Runtime(*options))

    @property
    def threads(self) -> int:
        """Worker threads."""
        return self._native.threads

    @property
    def isa(self) -> Isa | None:
        """The instruction set that was asked for, or None for the fastest of this machine."""
        return cast("Isa | None", self._native.isa)

    @property
    def switching(self) -> Switching:
        """How each level switches keys, as the constructor takes it."""
        return cast("Switching", self._native.switching)

    @property
    def key_expansion(self) -> float:
        """The most memory that may be derived from one key, as a multiple of the size of that key."""
        return self._native.key_expansion

    @property
    def key_cache_mib(self) -> float:
        """The most memory for derived keys in MiB, of all keys together."""
        return self._native.key_cache_mib

    @property
    def table_mib(self) -> float:
        """The most memory for the tables of one parameter set in MiB."""
        return self._native.table_mib

    @property
    def plaintext_cache_mib(self) -> float:
        """The most memory for encoded plain matrices, kernels and maps in MiB."""
        return self._native.plaintext_cache_mib

    @property
    def device(self) -> str:
        """The device that computes: "cpu" for the processor."""
        return self._native.device

    @property
    def rescale(self) -> Rescale:
        """Who rescales products: "automatic" or "explicit"."""
        return cast("Rescale", self._native.rescale)

    def __reduce__(self) -> tuple[Any, ...]:
        return Runtime, self._native.arguments()


# The devices that this process measured: programs that were compiled before predict other times than later ones.
TUNINGS: list[Any] = []


def get_threads() -> int:
    """The number of threads of parameters that are made without `Runtime(threads=)`.

    Returns
    -------
    int
        What `set_threads` said, or else the number of cores that this process may use.

    Examples
    --------
    >>> cl.get_threads() >= 1
    True
    """
    return native.get_threads()


def set_threads(threads: SupportsIndex | None) -> None:
    """Sets the number of threads of parameters that are made from now on without `Runtime(threads=)`.

    Parameters that exist already keep theirs, with everything that was made with them.

    Parameters
    ----------
    threads : int or None
        Worker threads, 1 to 4096; None for one for each core.

    Returns
    -------
    None

    Raises
    ------
    DataError
        Outside that range.

    Examples
    --------
    >>> cl.set_threads(1)
    >>> cl.Params.preset("insecure_small").runtime.threads
    1
    >>> cl.set_threads(None)
    """
    native.set_threads(threads)


def set_device_memory_limit(limit: SupportsIndex | None, device: str = "cuda") -> None:
    """Limits the memory that this process takes on a device.

    What goes beyond the limit is refused with the numbers; what is there already stays. A device has one limit for all parameters.

    Parameters
    ----------
    limit : int or None
        Bytes; None for the limit in the environment variable CLATHRATE_DEVICE_MEMORY_LIMIT, which devices have from the start, or for all
        that the device has where it is not set.
    device : str, optional
        The device, as `Runtime(device=)` names it. The default is "cuda".

    Returns
    -------
    None

    Raises
    ------
    DataError
        For a negative limit, "cpu" or another name that is none, and where the environment variable is no whole number.
    DeviceError
        Where there is no such device, or no driver for it.

    Examples
    --------
    >>> cl.set_device_memory_limit(-1)
    Traceback (most recent call last):
    clathrate.errors.DataError: `limit` is -1: use 0 or more
    """
    native.set_device_memory_limit(limit, device)


def tune(progress: Progress = None, dry_run: bool = False, *, device: str = "cpu") -> Path | None:
    """Measures this machine's arithmetic for a few seconds and stores the times, by which times are predicted from then on.

    `trace` and plans predict times from these measurements; without them they use a built-in model. What they choose (keys, steps,
    switching methods) does not depend on the measurements unless a runtime says `switching="tuned"`. Parameters that exist already keep
    their times. One thread is measured. The times are kept in the user's cache directory, or in the file that the
    environment variable CLATHRATE_PROFILE names; where that is "none", no times are read or stored.

    Parameters
    ----------
    progress : bool or callable, optional
        True shows a progress bar. A function is called with (steps done, steps in all) and may return False to stop.
    dry_run : bool, optional
        True measures and stores nothing. The default is False.
    device : str, optional
        What is measured: "cpu", the default, or "cuda" and so on. A device's times have a file of their own.

    Returns
    -------
    pathlib.Path or None
        The file that the times were written to; None for a dry run.

    Raises
    ------
    FileAccessError
        Where the file cannot be written.
    CancelledError
        Where the progress function returned False.
    DeviceError
        Where there is no such device, or no driver for it.
    ParamsError
        Where the environment variable CLATHRATE_ISA names an instruction set that this machine does not have, or CLATHRATE_PROFILE is
        "none".

    Examples
    --------
    >>> cl.tune(dry_run=True)
    """
    report = native.tune(progress, dry_run, device=device)
    TUNINGS.append(device)
    return report


def doctor() -> dict[str, Any]:
    """What this machine runs: instruction sets, processors, and the state of the stored measurements.

    Returns
    -------
    dict
        `version` of Clathrate; `kernels`, whether each instruction set runs here, by name; `fastest`, the fastest of them; `chosen`, the
        one in use, which the environment variable CLATHRATE_ISA may force; `cpus`, the number of processors; `engine`, what a small
        parameter set computes with, in words; `devices`, by kind of device the names of those that are there, or a text that says why
        there are none; `profile`, the measurements that `tune` stores, with their `state`, `path` and `message`. The state is "ready",
        "absent", "broken", "foreign" where they were measured with another instruction set, or "off" where the environment variable
        CLATHRATE_PROFILE is "none".

    Raises
    ------
    ParamsError
        Where CLATHRATE_ISA names an instruction set that this machine does not have.

    Examples
    --------
    >>> cl.doctor()["kernels"]["scalar"]
    True
    """
    return native.doctor()
