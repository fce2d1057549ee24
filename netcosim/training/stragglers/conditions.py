"""Combined effect of all stragglers of a scenario on each worker.

Several entries combine: factors and speeds multiply, delays add up, of rates the lowest holds, and
a worker is away whenever one of them says so.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.scenario import StragglerSpec
from netcosim.spans import united
from netcosim.training.plan import Floats, Ints
from netcosim.training.speed import SpeedTrace
from netcosim.training.stragglers.effect import Effect, Run, Use
from netcosim.training.stragglers.registry import bind
from netcosim.training.stragglers.speeds import Speeds


class Change(NamedTuple):
    """A worker joins, or leaves."""

    time_ns: int
    worker: int
    joins: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Conditions of each worker: speed, port, delay, presence.

    Attributes
    ----------
    factor : (workers, steps), or (workers, 1) if no step differs: of computations at the worker
    speeds : by worker; None: always 1
    worker_bps : (workers,) rate of each worker's port
    delay_ns : (workers,) one way between the worker and any server
    absent : the workers that are not there from the start
    presence : workers that join and leave later, by time, then worker
    use : by worker, of its machine; None: not known
    drawn_until_ns : until when slow-downs were drawn, as they go on for ever; infinite: none were
    """

    factor: Floats
    speeds: tuple[SpeedTrace | None, ...]
    worker_bps: Ints
    delay_ns: Ints
    absent: tuple[int, ...]
    presence: tuple[Change, ...]
    use: tuple[Use | None, ...]
    drawn_until_ns: float

    @property
    def why_generic(self) -> str:
        """Reason that needs the generic engine; empty if the fast path can do all."""
        for wrong, what in (
            (self.presence or self.absent, "a straggler comes or goes"),
            (any(self.speeds), "a straggler's speed changes within a step"),
            (self.delay_ns.any(), "there are delays"),
        ):
            if wrong:
                return what
        return ""

    def first(self, steps: int) -> "Conditions":
        """Conditions of only the first steps of each worker."""
        return replace(self, factor=self.factor[:, :steps].copy())


def check_stragglers(specs: Sequence[StragglerSpec], workers: int) -> None:
    """Refuse entries that make no sense in a cluster of so many workers.

    Raises
    ------
    ScenarioError
        An unknown kind or option, a wrong value, or a worker that there is not.
    """
    for i, spec in enumerate(specs):
        where = f"straggler[{i}]"
        bind(spec, where)
        named = spec.workers if isinstance(spec.workers, tuple) else ()
        unknown = [worker for worker in named if worker >= workers]
        if unknown:
            allowed = f"no such worker; must be 0 to {workers - 1}"
            raise ScenarioError.at(f"{where}.workers", unknown[0], allowed)
        if spec.count is not None and spec.count > workers:
            raise ScenarioError.at(f"{where}.count", spec.count, f"must be <= {workers} workers")


def conditions(
    specs: Sequence[StragglerSpec],
    steps: int,
    worker_bps: Ints,
    delay_ns: Ints,
    rng: np.random.SeedSequence,
    *,
    horizon_ns: float,
) -> Conditions:
    """Build the conditions of a run of so many steps.

    A worker's draws depend on the seed, the entry's place and the worker's number alone: more
    workers, more steps or a later horizon leave those that there were as they are.

    Parameters
    ----------
    specs : of the scenario; workers that they name and that do not take part are passed over
    worker_bps, delay_ns : (workers,) rate of each worker's port, delay of its path one way, without
        any straggler
    rng : the seed; nothing is spawned from it
    horizon_ns : until when what goes on for ever is drawn; see `Conditions.drawn_until_ns`

    Raises
    ------
    ScenarioError
        As `check_stragglers` for kinds and options; two tables of one machine's use.
    """
    workers = len(worker_bps)
    found = [_Worker() for _ in range(workers)]
    for i, spec in enumerate(specs):
        where = f"straggler[{i}]"
        bound = bind(spec, where)
        for worker in spec.chosen(workers):
            seed = np.random.SeedSequence(rng.entropy, spawn_key=(*rng.spawn_key, i, worker))
            try:
                effect = bound(Run(steps=steps, horizon_ns=horizon_ns, seed=seed))
            except ScenarioError as problem:
                raise ScenarioError(f"{where}.{problem}") from None
            found[worker].add(effect, int(worker_bps[worker]), f"{where}: w{worker}")
    drawn = [w.drawn_until_ns for w in found]
    return Conditions(
        factor=_factors([w.factor for w in found]),
        speeds=tuple(None if w.speeds is None else w.speeds.trace() for w in found),
        worker_bps=np.minimum(worker_bps, _column([w.rate_bps for w in found])),
        delay_ns=delay_ns + _column([w.delay_ns for w in found]),
        absent=tuple(i for i, w in enumerate(found) if any(a == 0 for a, _ in w.away())),
        presence=tuple(sorted(_changes(found))),
        use=tuple(w.use for w in found),
        drawn_until_ns=min(drawn, default=math.inf),
    )


@dataclass(slots=True)
class _Worker:
    """Combined effect of the entries so far on one worker."""

    factor: float | Floats = 1.0
    speeds: Speeds | None = None
    rate_bps: int = 2**62
    delay_ns: int = 0
    absent: list[tuple[float, float]] = field(default_factory=list)
    use: Use | None = None
    drawn_until_ns: float = math.inf

    def add(self, effect: Effect, own_bps: int, where: str) -> None:
        """Add the effect of an entry; `own_bps` is the rate of the worker's port without any."""
        self.factor = self.factor * effect.factor
        if effect.speeds is not None:
            mine = self.speeds
            self.speeds = effect.speeds if mine is None else mine.times(effect.speeds)
        given = own_bps if effect.rate_bps is None else effect.rate_bps
        self.rate_bps = min(self.rate_bps, given, max(1, round(own_bps * effect.part)))
        self.delay_ns += effect.delay_ns
        if effect.absent is not None:
            begin, end = effect.absent
            self.absent.append((begin, math.inf if end is None else end))
        if effect.use is not None:
            if self.use is not None:
                raise ScenarioError(f"{where}: has two traces that tell of its machine's use")
            self.use = effect.use
        if effect.drawn_until_ns is not None:
            self.drawn_until_ns = min(self.drawn_until_ns, effect.drawn_until_ns)

    def away(self) -> tuple[tuple[float, float], ...]:
        """Periods (begin, end) in which the worker is away, disjoint and in order."""
        return united(self.absent)


def _factors(factors: Sequence[float | Floats]) -> Floats:
    varying = [f for f in factors if isinstance(f, np.ndarray)]
    table = np.empty((len(factors), len(varying[0]) if varying else 1))
    for worker, factor in enumerate(factors):
        table[worker] = factor
    return table


def _column(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _changes(found: Sequence[_Worker]) -> Iterable[Change]:
    for worker, each in enumerate(found):
        for begin, end in each.away():
            if begin > 0:
                yield Change(int(begin), worker, False)
            if end < math.inf:
                yield Change(int(end), worker, True)
