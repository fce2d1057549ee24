"""Plans of a workload's runs: what they have in common is made once, for all of its cells."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Final

from netcosim.training.plan import Ints, StepPlan
from netcosim.training.prepare import Assignment
from netcosim.training.prepare.fuse import Fusion, fused_plan, fusion_of
from netcosim.training.workload_plan import PlanMaker, Source
from sim.experiment.step_bounds import StepLoad, load_of
from sim.fast.arrays import Shape
from sim.fast.shape import Arrangement, arrange, check_settings, released_order, timed
from sim.fast.step_roles import NotOfThisShapeError, Parts, parts_of
from sim.plan import Network, Sending

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


class WorkloadPlans:
    """Plans of a workload, by run; safe to be asked by several threads.

    Parameters
    ----------
    source : what they are made of
    assignment : placement and order of tensors
    say : told what is done, while the first plan is made

    Attributes
    ----------
    tensor_of : by transfer, its tensor or slice of one
    """

    def __init__(self, source: Source, assignment: Assignment, say: Say) -> None:
        self.source = source
        self._lock = RLock()
        self._kept: dict[int, StepPlan] = {}
        self._facts: dict[int, RunFacts] = {}
        self._arrangements: dict[Sending, tuple[Arrangement, dict[str, Any]]] = {}
        self._parts: Parts | NotOfThisShapeError
        self._maker = PlanMaker(source, assignment, say)
        self.tensor_of = self._maker.tensor_of
        outline = self._maker.outline
        say(f"fusing {len(source.profile.step.operations):,} operations")
        self._fusion: Fusion = fusion_of(outline.plan)
        self._fused = fused_plan(outline.plan, self._fusion)
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
                found = self._maker.plan(run)
                used = sum(plan.duration_ns.nbytes for plan in self._kept.values())
                if not self._kept or used + found.duration_ns.nbytes <= KEPT_BYTES:
                    self._kept[run] = found
            return found

    def fused(self, run: int) -> StepPlan:
        """Plan of a run with fused operations, made at each call."""
        return fused_plan(self.plan(run), self._fusion, like=self._fused)

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
        anew = self._maker.assignment.each_step_anew
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
