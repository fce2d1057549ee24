"""Plans of a workload's runs: the step as recorded, with what each run draws."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from netcosim.policies import (
    PARTITION,
    load_schedule,
    order_is_drawn,
    order_needs_rate,
    order_needs_step,
    release_order,
    schedule_options,
    server_of_each,
    synchronisation_joins,
)
from netcosim.scenario import PolicySpec, Scenario, WorkloadSpec
from netcosim.training.plan import Floats, StepPlan
from netcosim.training.prepare.build import Assignment, Outline, outline, tensors_of
from netcosim.training.prepare.machines import Machines
from netcosim.training.prepare.overlap import overlapping
from netcosim.training.prepare.release_blocks import in_blocks
from netcosim.training.prepare.slices import sliced
from netcosim.workload import Profile
from netcosim.workload.durations import recorded_steps

RECORDED, ORDERS, DRAWS, STRAGGLERS = range(4)
"""Purposes of a run's random streams; drawing from one does not move another."""


def stream_of(seed: int, run: int, purpose: int) -> np.random.SeedSequence:
    """Random seed of a run for one purpose: the same for all cells and worker counts."""
    return np.random.SeedSequence(seed, spawn_key=(run, purpose))


def machines_of(scenario: Scenario) -> Machines:
    """What computes at workers and servers, by the scenario's training."""
    training = scenario.training
    cost = training.sent_messages
    return Machines(
        server_cores=training.server_cores,
        worker_cores=training.worker_cores,
        joined=synchronisation_joins(training.synchronisation),
        gated=scenario.policy.schedule is not None,
        send_ns=0 if cost is None else cost.message,
        send_ns_per_byte=0.0 if cost is None else cost.ns_per_byte,
    )


def partition_bytes_of(policy: PolicySpec) -> int:
    """Bytes of the slices in which gradients are sent; 0: they are sent whole."""
    if policy.schedule is None:
        return 0
    names = list(load_schedule(policy.schedule).OPTIONS)
    if PARTITION not in names:
        return 0
    return schedule_options(policy.schedule, policy.schedule_options)[names.index(PARTITION)]


def assignment_of(
    scenario: Scenario, workload: WorkloadSpec, profile: Profile, link_bps: int
) -> Assignment:
    """Placement, order and priorities of the profile's tensors, by the scenario's policies.

    Parameters
    ----------
    link_bps : goodput of the cluster's link; orders that look at a step time transfers by it

    Raises
    ------
    ScenarioError
        A policy that the tensors can't have.
    """
    policy, servers = scenario.policy, scenario.cluster.servers
    sizes = tensors_of(profile)
    names = list(sizes)
    placed = server_of_each(policy, names, list(sizes.values()), servers)
    given = {t.name: t.priority for t in workload.tensors}
    return Assignment(
        servers=servers,
        server_of=dict(zip(names, placed, strict=True)),
        arrange=lambda s, rng, step: release_order(policy, names, s, rng, step),
        each_step_anew=order_is_drawn(policy.order),
        priority={**given, **policy.priorities},
        step_rate_bps=link_bps if order_needs_step(policy.order) else None,
    )


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

    @classmethod
    def of(cls, scenario: Scenario, workload: WorkloadSpec, profile: Profile) -> "Source":
        """Source of a workload's plans, at the scenario's rate."""
        policy, training = scenario.policy, scenario.training
        return cls(
            profile=profile,
            policy=(
                policy,
                scenario.cluster.servers,
                workload.tensors,
                scenario.cluster.link.rate if order_needs_rate(policy.order) else None,
            ),
            machines=machines_of(scenario),
            overlap=training.overlap,
            block_bytes=training.gradient_blocks or 0,
            partition_bytes=partition_bytes_of(policy),
            seed=scenario.seed,
            batch=training.batch or profile.batch,
            recorded=training.recorded,
        )

    def same(self, other: "Source") -> bool:
        """True if the plans are the same."""
        profiles = self.profile is other.profile or self.profile == other.profile
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


class PlanMaker:
    """Makes the plans of a workload's runs from what they have in common.

    Parameters
    ----------
    source : what they are made of
    assignment : placement and order of tensors
    say : told what is done, while what is common is made

    Attributes
    ----------
    outline : what all plans have in common
    assignment : of tensors, or of slices of them
    tensor_of : by transfer, its tensor or slice of one

    Raises
    ------
    ScenarioError
        The profile can't be sliced, overlapped or joined as asked for.
    """

    def __init__(
        self, source: Source, assignment: Assignment, say: Callable[[str], None] = lambda _: None
    ) -> None:
        self.source = source
        profile = source.profile
        if source.block_bytes:
            profile = in_blocks(profile, source.block_bytes)
        self._slices = sliced(profile, source.partition_bytes) if source.partition_bytes else None
        if self._slices is not None:
            sizes = list(tensors_of(profile).values())
            assignment = self._slices.assignment(assignment, sizes)
            profile = self._slices.profile
        self.assignment = assignment
        self.tensor_of: Mapping[str, str] = {op.name: op.tensor for op in profile.step.transfers}
        self._overlap = overlapping(profile) if source.overlap else None
        if self._overlap is not None:
            profile = self._overlap.profile
        say(f"building the plan of {len(source.profile.step.operations):,} operations")
        self.outline: Outline = outline(
            profile,
            assignment,
            self._generator(0, ORDERS),
            source.machines,
            None if assignment.step_rate_bps is None else self._durations(0),
        )

    def plan(self, run: int) -> StepPlan:
        """Plan of a run as recorded."""
        return self.outline.drawn(self._durations(run), self._generator(run, ORDERS))

    def _generator(self, run: int, purpose: int) -> np.random.Generator:
        return np.random.default_rng(stream_of(self.source.seed, run, purpose))

    def _durations(self, run: int) -> Floats:
        """(recorded steps, computations) of a run."""
        source = self.source
        durations = recorded_steps(
            source.profile,
            rng=self._generator(run, RECORDED),
            batch=source.batch,
            count=source.recorded,
        )
        if self._slices is not None:
            durations = self._slices.durations(durations)
        if self._overlap is not None:
            durations = self._overlap.paired(durations)
        return durations
