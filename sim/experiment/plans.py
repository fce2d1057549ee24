"""Plans of a workload's runs: what they have in common is made once, for all of its cells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, Final

import numpy as np

from netcosim.workload import Profile
from netcosim.workload.durations import recorded_steps
from sim.fast.arrays import Shape
from sim.fast.shape import Arrangement, arrange, check_settings, released_order, timed
from sim.fast.step_roles import NotOfThisShapeError, Parts, parts_of
from sim.plan import Network, Sending, StepPlan
from sim.prepare import Assignment
from sim.prepare.build import Outline, outline
from sim.prepare.fuse import Fusion, fused_plan, fusion_of

Say = Callable[[str], None]

KEPT_BYTES: Final = 100_000_000
"""Bytes of plans' durations up to which they are kept; the others are made again when asked for."""


def silent(_message: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Plan of a run, as recorded and with fused operations."""

    plan: StepPlan
    fused: StepPlan

    @property
    def size_bytes(self) -> int:
        """Bytes of durations."""
        plans = (self.plan,) if self.fused is self.plan else (self.plan, self.fused)
        return sum(plan.duration_ns.nbytes for plan in plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What plans are made of; equal sources have the same plans.

    Attributes
    ----------
    profile : of the workload
    policy : whatever tells one assignment from another
    seed, batch, recorded : as in the scenario
    """

    profile: Profile
    policy: Sequence[object]
    seed: int
    batch: int
    recorded: int

    def same(self, other: "Source") -> bool:
        """True if the plans are the same; profiles are compared by identity, as they are large."""
        return self.profile is other.profile and self._settings() == other._settings()

    def _settings(self) -> tuple[object, ...]:
        return (tuple(self.policy), self.seed, self.batch, self.recorded)


class WorkloadPlans:
    """Plans of a workload, by run; safe to be asked by several threads.

    Parameters
    ----------
    source : what they are made of
    assignment : placement and order of tensors
    stream : (run, whether of orders) -> generator that draws durations or orders
    say : told what is done, while the first plan is made
    """

    def __init__(
        self,
        source: Source,
        assignment: Assignment,
        stream: Callable[[int, bool], np.random.Generator],
        say: Say,
    ) -> None:
        self.source = source
        self._assignment = assignment
        self._stream = stream
        self._lock = RLock()
        self._drawn: dict[int, Drawn] = {}
        self._timed: dict[int, dict[str, Any]] = {}
        self._arrangements: dict[Sending, tuple[Arrangement, dict[str, Any]]] = {}
        self._parts: Parts | NotOfThisShapeError
        count = f"{len(source.profile.step.operations):,} operations"
        say(f"building the plan of {count}")
        self._outline: Outline = outline(source.profile, assignment, stream(0, True))
        say(f"fusing {count}")
        self._fusion: Fusion = fusion_of(self._outline.plan)
        self._fused = fused_plan(self._outline.plan, self._fusion)
        say(f"sorting {self._fused.operations:,} operations by their role")
        try:
            self._parts = parts_of(self._fused)
        except NotOfThisShapeError as problem:
            self._parts = problem

    @property
    def size_bytes(self) -> int:
        """Bytes of the durations that are kept."""
        drawn = sum(each.size_bytes for each in self._drawn.values())
        timed = (array for run in self._timed.values() for array in run.values())
        return drawn + sum(int(array.nbytes) for array in timed)

    def drawn(self, run: int) -> Drawn:
        """Plan of a run; large ones are kept for the last runs asked for."""
        with self._lock:
            found = self._drawn.pop(run, None)
            if found is None:
                self._make_room()
                found = self._draw(run)
            self._drawn[run] = found
            return found

    def _make_room(self) -> None:
        """Drop the plans that were not asked for longest, until one more may be kept."""
        sizes = [drawn.size_bytes for drawn in self._drawn.values()]
        while sizes and sum(sizes) + sizes[-1] > KEPT_BYTES:
            del self._drawn[next(iter(self._drawn))]
            del sizes[0]

    def _draw(self, run: int) -> Drawn:
        source = self.source
        durations = recorded_steps(
            source.profile,
            rng=self._stream(run, False),
            batch=source.batch,
            count=source.recorded,
        )
        plan = self._outline.drawn(durations, self._stream(run, True))
        return Drawn(plan=plan, fused=fused_plan(plan, self._fusion, like=self._fused))

    def shape(self, run: int, network: Network, sending: Sending) -> Shape:
        """Arrange a run's fused plan for the fast path; see `sim.fast.shape.fast_shape`.

        Raises
        ------
        NotOfThisShapeError
            The job has another shape; the message says in what.
        """
        check_settings(network, sending)
        with self._lock:
            if isinstance(self._parts, NotOfThisShapeError):
                raise NotOfThisShapeError(str(self._parts))
            arrangement, order = self._arranged(run, sending, self._parts)
            if run not in self._timed:
                self._timed[run] = timed(self.drawn(run).fused, self._parts)
            return Shape(**arrangement.fixed, **order, **self._timed[run])

    def _arranged(
        self, run: int, sending: Sending, parts: Parts
    ) -> tuple[Arrangement, dict[str, Any]]:
        """Arrangement for these senders, and the order of release in a run."""
        found = self._arrangements.get(sending)
        if found is not None and not self._assignment.each_step_anew:
            return found
        arrangement = arrange(self._fused, parts, sending) if found is None else found[0]
        order = released_order(self.drawn(run).fused, arrangement)
        self._arrangements[sending] = arrangement, order
        return arrangement, order
