"""Plans of a workload's runs: what they have in common is made once, for all of its cells."""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Final

import numpy as np

from netcosim.workload import Profile
from netcosim.workload.durations import recorded_steps
from sim.experiment.step_bounds import StepLoad, load_of
from sim.fast.arrays import Shape
from sim.fast.shape import Arrangement, arrange, check_settings, released_order, timed
from sim.fast.step_roles import NotOfThisShapeError, Parts, parts_of
from sim.plan import Floats, Ints, Network, Sending, StepPlan
from sim.prepare import Assignment
from sim.prepare.build import Outline, outline, tensors_of
from sim.prepare.fuse import Fusion, fused_plan, fusion_of
from sim.prepare.machines import Machines
from sim.prepare.overlap import overlapping
from sim.prepare.release_blocks import in_blocks
from sim.prepare.slices import sliced

Say = Callable[[str], None]

KEPT_BYTES: Final = 50_000_000
"""Bytes of durations up to which runs' plans are kept; the others are made again when asked for."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector of cycles: it would search hundreds of thousands of new objects in vain.

    Without it, reading and preparing a large profile takes a third less time.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def silent(_message: str) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """Whatever is kept of each run's plan.

    Attributes
    ----------
    steps : number of recorded steps
    longest_step_ns : computations of the longest recorded step, one after the other
    load : what each recorded step keeps busy
    sources : of the fused plan, where their order is drawn
    timed : fields of its shape that depend on durations; None for plans of other shapes
    """

    steps: int
    longest_step_ns: float
    load: StepLoad
    sources: Ints | None
    timed: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What plans are made of; equal sources have the same plans.

    Attributes
    ----------
    profile : of the workload
    policy : whatever tells one assignment from another
    machines : what computes at workers and servers
    overlap : whether steps overlap
    block_bytes, partition_bytes : of blocks in which gradients are released, and of slices in which
        they are sent; 0: each by itself, and whole
    seed, batch, recorded : as in the scenario
    """

    profile: Profile
    policy: Sequence[object]
    machines: Machines
    overlap: bool
    block_bytes: int
    partition_bytes: int
    seed: int
    batch: int
    recorded: int

    def same(self, other: "Source") -> bool:
        """True if the plans are the same; steps are compared by identity, as they are large."""
        profiles = self.profile is other.profile or (
            self.profile.step is other.profile.step and self.profile == other.profile
        )
        return profiles and self._settings() == other._settings()

    def _settings(self) -> tuple[object, ...]:
        return (
            tuple(self.policy),
            self.machines,
            self.overlap,
            self.block_bytes,
            self.partition_bytes,
            self.seed,
            self.batch,
            self.recorded,
        )


class WorkloadPlans:
    """Plans of a workload, by run; safe to be asked by several threads.

    Parameters
    ----------
    source : what they are made of
    assignment : placement and order of tensors
    stream : (run, whether of orders) -> generator that draws durations or orders
    say : told what is done, while the first plan is made

    Attributes
    ----------
    tensor_of : by transfer, its tensor or slice of one
    """

    def __init__(
        self,
        source: Source,
        assignment: Assignment,
        stream: Callable[[int, bool], np.random.Generator],
        say: Say,
    ) -> None:
        self.source = source
        self._stream = stream
        self._lock = RLock()
        self._kept: dict[int, StepPlan] = {}
        self._facts: dict[int, RunFacts] = {}
        self._arrangements: dict[Sending, tuple[Arrangement, dict[str, Any]]] = {}
        self._parts: Parts | NotOfThisShapeError
        profile = source.profile
        if source.block_bytes:
            profile = in_blocks(profile, source.block_bytes)
        self._slices = sliced(profile, source.partition_bytes) if source.partition_bytes else None
        if self._slices is not None:
            sizes = list(tensors_of(profile).values())
            assignment = self._slices.assignment(assignment, sizes)
            profile = self._slices.profile
        self._assignment = assignment
        self.tensor_of = {op.name: op.tensor for op in profile.step.transfers}
        self._overlap = overlapping(profile) if source.overlap else None
        if self._overlap is not None:
            profile = self._overlap.profile
        count = f"{len(source.profile.step.operations):,} operations"
        say(f"building the plan of {count}")
        self._outline: Outline = outline(
            profile,
            assignment,
            stream(0, True),
            source.machines,
            None if assignment.step_rate_bps is None else self._durations(0),
        )
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
        kept = sum(int(plan.duration_ns.nbytes) for plan in self._kept.values())
        times = (each.timed for each in self._facts.values() if each.timed is not None)
        return kept + sum(int(array.nbytes) for each in times for array in each.values())

    def plan(self, run: int) -> StepPlan:
        """Plan of a run as recorded; the first one is kept, others if they are small."""
        with self._lock:
            found = self._kept.get(run)
            if found is None:
                found = self._draw(run)
                used = sum(plan.duration_ns.nbytes for plan in self._kept.values())
                if not self._kept or used + found.duration_ns.nbytes <= KEPT_BYTES:
                    self._kept[run] = found
            return found

    def fused(self, run: int) -> StepPlan:
        """Plan of a run with fused operations, made at each call."""
        return fused_plan(self.plan(run), self._fusion, like=self._fused)

    def _draw(self, run: int) -> StepPlan:
        return self._outline.drawn(self._durations(run), self._stream(run, True))

    def _durations(self, run: int) -> Floats:
        """(recorded steps, computations) of a run."""
        source = self.source
        durations = recorded_steps(
            source.profile,
            rng=self._stream(run, False),
            batch=source.batch,
            count=source.recorded,
        )
        if self._slices is not None:
            durations = self._slices.durations(durations)
        if self._overlap is not None:
            durations = self._overlap.paired(durations)
        return durations

    def facts(self, run: int) -> RunFacts:
        """Facts of a run's plan, found at the first call and kept."""
        with self._lock:
            if run not in self._facts:
                self._facts[run] = self._facts_of(self.plan(run))
            return self._facts[run]

    def _facts_of(self, plan: StepPlan) -> RunFacts:
        fusion, times = self._fusion, None
        if isinstance(self._parts, Parts):
            times = timed(lambda chosen: fusion.durations_of(plan, chosen), self._parts)
        anew = self._assignment.each_step_anew
        return RunFacts(
            steps=plan.steps,
            longest_step_ns=float(plan.duration_ns.sum(axis=1).max()),
            load=load_of(plan),
            sources=fusion.number[plan.sources] if anew else None,
            timed=times,
        )

    def shape(self, run: int, network: Network, sending: Sending) -> Shape:
        """Arrange a run's fused plan for the fast path; see `sim.fast.shape.fast_shape`.

        Raises
        ------
        NotOfThisShapeError
            The job has another shape; the message says in what.
        """
        check_settings(network, sending)
        with self._lock:
            facts = self.facts(run)
            if not isinstance(self._parts, Parts):
                raise NotOfThisShapeError(str(self._parts))
            arrangement, order = self._arranged(facts, sending, self._parts)
            return Shape(**arrangement.fixed, **order, **(facts.timed or {}))

    def _arranged(
        self, facts: RunFacts, sending: Sending, parts: Parts
    ) -> tuple[Arrangement, dict[str, Any]]:
        """Arrangement for these senders, and the order of release in a run."""
        found = self._arrangements.get(sending)
        if found is not None and facts.sources is None:
            return found
        arrangement = arrange(self._fused, parts, sending) if found is None else found[0]
        plan = self._fused
        if facts.sources is not None:
            plan = replace(plan, sources=facts.sources)
        order = released_order(plan, arrangement)
        self._arrangements[sending] = arrangement, order
        return arrangement, order
