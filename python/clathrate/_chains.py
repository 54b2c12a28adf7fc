"""Parameters built for a computation, where no preset runs it: a degree, steps and special primes within the security table."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ._params import Params
from ._runtime import Runtime
from ._trace import Trace
from .errors import ClathrateError, LevelError

# The last row of the security table.
MAX_SECURITY = 256

_DEGREES = tuple(2**log for log in range(13, 17))
# The bits of a scale: of dry runs that measure an error, and of results whose error has no limit, where they fit.
_SCALE = 40
# Below, too few primes are one more than a multiple of twice the largest degree; above, a special prime has no room to be longer.
_MIN_SCALE, _MAX_SCALE = 28, 56
# A special prime is longer than a step by this, so that a digit is never longer than the special modulus.
_LONGER = 4
# The bits that step 0 has above the scale: room for numbers, as presets have it, and at most so much for results that are larger.
_ROOM, _MAX_ROOM = 20, 80
# Up to this length primes have the fastest kernels.
_FAST_PRIME = 50
# Beside one.
_SPECIALS = (2, 3, 4, 6, 8, 12, 16)
# The rank of the sets that are asked for their security, which follows from the dimension alone and costs least at a small degree.
_RANK = 64
_CORRECTIONS = 3


@dataclass(frozen=True)
class Measured:
    """What a dry run found: its largest bounds on errors and magnitudes (None where there is none), and the lowest level of a result."""

    trace: Trace
    error: float | None
    magnitude: float | None
    lowest: int


@dataclass(frozen=True)
class Found:
    """The fastest chain of all that were tried; without one, why the closest is none."""

    params: Params | None
    trace: Trace | None
    words: str


@lru_cache(maxsize=64)
def most_bits(dimension: int, security: float) -> int:
    """The bits of the longest modulus, special primes included, that the security table allows for uniform ternary secrets."""

    def allowed(bits: int) -> bool:
        count = math.ceil(bits / _FAST_PRIME)
        steps = [[bits / count] * count]
        params = Params(degree=dimension // _RANK, rank=_RANK, steps=steps, log2_scale=20.0, insecure=True)
        return params.security_bits >= security

    low, high = 0, 4096
    while high - low > 1:
        middle = (low + high) // 2
        if middle > 30 and not allowed(middle):
            high = middle
        else:
            low = middle
    return low


def _base(scale: float, room: float) -> list[float]:
    """The primes of step 0, as even as possible."""
    bits = scale + room
    count = math.ceil(bits / _FAST_PRIME)
    return [bits / count] * count


@dataclass(frozen=True)
class _Sizes:
    degree: int
    levels: int
    scale: int
    room: float
    special: int

    @property
    def bits(self) -> float:
        return self.scale + self.room + self.levels * self.scale + self.special * (self.scale + _LONGER)

    def params(self, runtime: Runtime | None, *, insecure: bool = False) -> Params:
        steps: Sequence[Sequence[float]] = [_base(self.scale, self.room), *[[self.scale]] * self.levels]
        special = [float(self.scale + _LONGER)] * self.special
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Params(
                degree=self.degree, steps=steps, special=special, log2_scale=self.scale, insecure=insecure, name="custom", runtime=runtime
            )
        return made

    def __str__(self) -> str:
        special = f"{self.special} special prime{'s' * (self.special > 1)} of {self.scale + _LONGER} bits"
        return f"degree {self.degree}, {self.levels} levels of {self.scale} bits and {special}"


class _Refused(Exception):
    """Why there is no chain of a degree, and how far it misses: the kind of reason, the nearest first, and by what factor."""

    def __init__(self, reason: str, kind: int = 2, factor: float = 1.0) -> None:
        super().__init__(reason)
        self.miss = (kind, factor)


class _Search:
    def __init__(
        self, measure: Callable[[Params], Measured], error: float | None, security: float, runtime: Runtime | None, degree: int
    ) -> None:
        self.measure, self.error, self.runtime, self.degree = measure, error, runtime, degree
        # A set below 128 bits would have to be marked as such.
        self.security = max(security, 128.0)
        self.most = most_bits(degree, self.security)

    def fastest(self) -> tuple[Params, Trace, str]:
        levels, first = self.probe()
        room = _ROOM
        if first.magnitude is not None and 0.0 < first.magnitude < math.inf:
            room = max(_ROOM, min(_MAX_ROOM, math.ceil(math.log2(first.magnitude)) + 4))
        *longer, least = self.scales(_Sizes(self.degree, levels, _SCALE, room, 1), first)
        for scale in longer:
            try:
                return self.with_scale(levels, scale, room)
            except _Refused:
                continue
        return self.with_scale(levels, least, room)

    def probe(self) -> tuple[int, Measured]:
        """The levels that the computation takes, and a dry run with as many and more."""
        most = int((self.most - 2 * _MIN_SCALE - _ROOM - _LONGER) // _MIN_SCALE)
        if most < 0:
            raise _Refused(
                f"degree {self.degree}: {self.security:g} bits of security allow {self.most} bits of modulus, too few for a level"
            )
        try:
            first = self.measure(_Sizes(self.degree, most, _SCALE, _ROOM, 1).params(self.runtime, insecure=True))
        except LevelError as refused:
            raise _Refused(
                f"degree {self.degree}: at most {most} levels of {_MIN_SCALE} bits fit the {self.most} bits of modulus that "
                f"{self.security:g} bits of security allow, and it takes more: {refused}",
                1,
                1e9 / self.degree,
            ) from refused
        except ClathrateError as refused:
            raise _Refused(f"degree {self.degree}: {refused}") from refused
        stated = [array.level for array in first.trace.inputs if array.level < most]
        if not stated:
            return most - first.lowest, first
        if len(stated) == len(first.trace.inputs):
            return max(stated), first
        # Some arrays are encrypted at a level that the caller stated: how many the others need is not told by the result's level.
        few, enough = max(stated) - 1, most
        while enough - few > 1:
            middle = (few + enough) // 2
            try:
                self.measure(_Sizes(self.degree, middle, _SCALE, _ROOM, 1).params(self.runtime, insecure=True))
            except ClathrateError:
                few = middle
            else:
                enough = middle
        return enough, first

    def scales(self, sizes: _Sizes, first: Measured) -> Sequence[int]:
        if self.error is None:
            return (_SCALE, 36, 32, _MIN_SCALE)
        if first.error is None or not math.isfinite(first.error):
            raise _Refused(f"degree {self.degree}: the error of the result has no bound")
        return (self.scale_for(self.error, sizes, first.error),)

    def scale_for(self, error: float, sizes: _Sizes, found: float) -> int:
        """The scale for an error, from the error at another scale: one is in inverse proportion to the other."""
        wanted = sizes.scale + math.ceil(math.log2(max(found, 1e-300) / error) + 0.2)
        if wanted > _MAX_SCALE:
            self.check(replace(sizes, scale=_MAX_SCALE))
            factor = 2.0 ** (wanted - _MAX_SCALE)
            raise _Refused(
                f"degree {self.degree}: an error of {error:g} takes a scale of {wanted} bits, and {_MAX_SCALE} are the most: "
                f"allow an error of {error * factor * 1.05:.1e}",
                0,
                factor,
            )
        return max(wanted, _MIN_SCALE)

    def check(self, sizes: _Sizes) -> None:
        if sizes.bits > self.most:
            raise _Refused(
                f"{sizes} are {sizes.bits:.0f} bits of modulus, and {self.security:g} bits of security allow {self.most}",
                1,
                sizes.bits / self.most,
            )

    def with_scale(self, levels: int, scale: int, room: float) -> tuple[Params, Trace, str]:
        best = self.run(_Sizes(self.degree, levels, scale, room, 1))
        for special in _SPECIALS:
            try:
                found = self.run(_Sizes(self.degree, best[0].max_level, scale, room, special))
            except _Refused:
                break
            if found[1]._price >= best[1]._price:
                break
            best = found
        return best

    def run(self, sizes: _Sizes) -> tuple[Params, Trace, str]:
        """A dry run, with a longer scale or one more level where these turn out too few."""
        corrections = 0
        while True:
            self.check(sizes)
            try:
                params = sizes.params(self.runtime)
                found = self.measure(params)
            except LevelError:
                sizes = replace(sizes, levels=sizes.levels + 1)
                continue
            except ClathrateError as refused:
                raise _Refused(f"{sizes}: {refused}") from refused
            if params.warnings:
                raise _Refused(f"{sizes}: {params.warnings[0]}")
            if self.error is None or (found.error is not None and found.error <= self.error):
                return params, found.trace, str(sizes)
            corrections += 1
            if found.error is None or not math.isfinite(found.error) or corrections > _CORRECTIONS:
                raise _Refused(f"{sizes}: the error may be {found.error}, more than {self.error:g}")
            sizes = replace(sizes, scale=max(self.scale_for(self.error, sizes, found.error), sizes.scale + 1))


def fastest_chain(measure: Callable[[Params], Measured], error: float | None, security: float, runtime: Runtime | None) -> Found:
    """The chain with the least predicted time among those of all degrees; larger degrees are left out once they are slower."""
    best: tuple[Params, Trace, str] | None = None
    closest: _Refused | None = None
    for degree in _DEGREES:
        try:
            found = _Search(measure, error, security, runtime, degree).fastest()
        except _Refused as refused:
            if closest is None or refused.miss <= closest.miss:
                closest = refused
            continue
        if best is not None and found[1]._price >= best[1]._price:
            break
        best = found
    if best is None:
        return Found(None, None, str(closest))
    return Found(*best)
