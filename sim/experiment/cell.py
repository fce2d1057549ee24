"""Cells of a scenario (workload, transport and rate), ready to simulate with any workers."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.job import Cell, resolve_cells
from netcosim.policies import (
    check_order,
    load_synchronisation,
    schedule_names,
    schedule_options,
    synchronisation_names,
)
from netcosim.policies.coordinators import check_coordination, lead_of
from netcosim.scenario import Scenario, TrainingSpec, TransportSpec, WorkloadSpec
from netcosim.training.plan import StepPlan
from netcosim.training.prepare import Assignment
from netcosim.training.prepare.build import tensors_of
from netcosim.training.prepare.message_costs import profile_of
from netcosim.training.synchronisation import Join, check_join, join_of, staleness_of
from netcosim.training.workload_plan import Source, assignment_of, machines_of, stream_of
from netcosim.units import format_rate
from netcosim.workload import Profile
from sim.experiment.axes import at_each_rate
from sim.experiment.burst import burst_profile
from sim.experiment.kept_plans import Plans
from sim.experiment.link_share import with_share
from sim.experiment.plans import Say, WorkloadPlans, collector_paused, silent
from sim.experiment.step_bounds import StepLoad
from sim.fast.arrays import Shape
from sim.fast.engine import waits_for_all
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Network, Sending
from sim.settings import network_of, sending_of
from sim.settings.share import RIGHT_FOR_ALL
from topo.spec import GOODPUT_SHARE


@dataclass(slots=True, kw_only=True)
class Prepared:
    """The plans of one run: as recorded, fused, and sorted for the fast path if it can be.

    Attributes
    ----------
    run, plans : where the first two come from; large ones are made again when they are asked for
    steps : number of recorded steps
    longest_step_ns : computations of the longest recorded step, one after the other
    load : what each recorded step keeps busy
    shape : for the fast path; None where it can't be used
    why_generic : why it can't
    """

    run: int
    plans: WorkloadPlans
    steps: int
    longest_step_ns: float
    load: StepLoad
    shape: Shape | None
    why_generic: str

    @property
    def plan(self) -> StepPlan:
        """The plan as recorded."""
        return self.plans.plan(self.run)

    @property
    def fused(self) -> StepPlan:
        """The plan with fused operations."""
        return self.plans.fused(self.run)


@dataclass(slots=True, kw_only=True, eq=False, weakref_slot=True)
class TrainingCell:
    """One workload on one transport, at one rate of the links.

    Attributes
    ----------
    name : ``workload/transport``, with ``@rate`` behind it where the scenario has several rates
    scenario : at this cell's rate
    share : strategy by which links are shared, chosen where the scenario names none
    change : what of it is one step more than in the scenario's own cell of this name, if anything
    kept : plans that outlive the cell
    prepared : each run's plans, the same for every number of workers
    networks : by number of workers
    """

    name: str
    workload: WorkloadSpec
    transport: TransportSpec
    profile: Profile
    sending: Sending
    scenario: Scenario
    share: str
    change: str = ""
    kept: Plans = field(default_factory=Plans)
    prepared: dict[int, Prepared] = field(default_factory=dict)
    networks: dict[int, Network] = field(default_factory=dict)

    @property
    def batch(self) -> int:
        """Examples of a step."""
        return self.scenario.training.batch or self.profile.batch

    @property
    def staleness(self) -> int | None:
        """Number of steps that a worker may be ahead of the slowest; None: any."""
        return staleness_of(self.scenario.training)

    def join(self, workers: int) -> Join | None:
        """Rule by which servers join the gradients of so many workers; None: they do not."""
        return join_of(self.scenario.training, workers)

    @property
    def updates_in_step(self) -> bool:
        """True if what is done once for all workers is part of a step's time, or held it up.

        Where gradients are joined by step, and steps do not overlap, it is between two steps.
        """
        training = self.scenario.training
        return training.overlap or training.join == "tensor"

    def why_generic(self, workers: int) -> str:
        """Reason for the generic engine with so many workers, stragglers aside; else empty."""
        spec = self.scenario.coordination
        if spec is not None and spec.decision:
            return "a coordinator's decisions take time"
        if not waits_for_all(self.join(workers), workers):
            return "not all gradients of a step are joined at once"
        return self.plans(0).why_generic

    def goes_in_rounds(self, workers: int) -> bool:
        """True if so many workers all end their step of one number before any begins the next."""
        join = self.join(workers)
        if self.scenario.coordination is not None:
            return lead_of(self.scenario.coordination) == 0
        if join is None:
            return self.staleness == 0
        in_turn = join.by == "step" and not self.scenario.training.overlap
        return in_turn and join.first >= workers

    @property
    def needs_extended(self) -> bool:
        """True if the generic engine has to join gradients, share processors, or have buffers."""
        machines = machines_of(self.scenario)
        buffered = self.sending.buffer_bytes > 0
        return machines.joined or machines.server_cores is not None or buffered

    def network(self, workers: int) -> Network:
        """Network of so many workers, as the engines see it; rates are goodput."""
        if workers not in self.networks:
            found = network_of(self.scenario, workers, payload_share=GOODPUT_SHARE)
            self.networks[workers] = replace(found, share=self.share)
        return self.networks[workers]

    def stream(self, run: int, purpose: int) -> np.random.SeedSequence:
        """Random seed of a run for one purpose: the same for all cells and worker counts."""
        return stream_of(self.scenario.seed, run, purpose)

    def plans(self, run: int, say: Say = silent) -> Prepared:
        """Plans of a run, made at the first call and kept; `say` is told what is done for them."""
        if run not in self.prepared:
            self.prepared[run] = self._prepare(run, say)
        return self.prepared[run]

    def _prepare(self, run: int, say: Say) -> Prepared:
        with collector_paused():
            plans = self._workload_plans(say)
            say(f"drawing the steps of run {run}")
            facts = plans.facts(run)
        try:
            shape, why = plans.shape(run, self.network(1), self.sending), ""
        except NotOfThisShapeError as problem:
            shape, why = None, str(problem)
        return Prepared(
            run=run,
            plans=plans,
            steps=facts.steps,
            longest_step_ns=facts.longest_step_ns,
            load=facts.load,
            shape=shape,
            why_generic=why,
        )

    def _workload_plans(self, say: Say) -> WorkloadPlans:
        """Plans of the workload, those of an earlier cell or simulation if they are the same."""
        source = Source.of(self.scenario, self.workload, self.profile)
        return self.kept.of(source, lambda: WorkloadPlans(source, self.assignment(), say))

    def assignment(self) -> Assignment:
        """Placement, order and priorities of the profile's tensors, by the scenario's policies."""
        return assignment_of(self.scenario, self.workload, self.profile, self.link_bps)

    @property
    def link_bps(self) -> int:
        """Goodput of the cluster's link, exceptions left aside: what orders time transfers by."""
        return round(self.scenario.cluster.link.rate * GOODPUT_SHARE)

    def check_policies(self) -> None:
        """Refuse policies that the workload's tensors can't have.

        Raises
        ------
        ScenarioError
            One that is not there, or that names what is not there, or needs what a burst has not.
        """
        self.assignment()
        has_step = self.workload.profile is not None
        check_order(self.scenario.policy, list(tensors_of(self.profile)), has_step=has_step)
        _ = self.staleness


def training_cells(scenario: Scenario, kept: Plans | None = None) -> tuple[TrainingCell, ...]:
    """All cells of a scenario, workloads first, then transports; each setting is checked.

    Parameters
    ----------
    scenario : all of it
    kept : plans of earlier simulations, to be used and added to

    Raises
    ------
    ScenarioError
        What the scenario names does not exist, or can't be simulated.
    """
    training = scenario.training
    check_join(training)
    _check_overlap(training)
    _check_coordination(scenario)
    scheduled = _schedule(scenario)
    plans = Plans() if kept is None else kept
    trained = [w for w in scenario.workload if w.profile is not None]
    with collector_paused():
        profiles = {w.name: profile_of(w, training) for w in trained}
    at_rates = at_each_rate(scenario)
    bursts = _bursts(scenario)
    share = with_share(scenario).training.share or RIGHT_FOR_ALL
    cells = []
    for workload in scenario.workload:
        for transport in scenario.transport:
            name = f"{workload.name}/{transport.name}"
            burst = bursts.get(name)
            profile = profiles[workload.name] if burst is None else burst_profile(burst)
            window = None if burst is None else burst.window_bytes
            sending = sending_of(transport, window, training.socket_buffer or 0)
            sending = replace(sending, **scheduled)
            cells += [
                TrainingCell(
                    name=name if len(at_rates) == 1 else f"{name}@{format_rate(rate_bps)}",
                    workload=workload,
                    transport=transport,
                    profile=profile,
                    sending=sending,
                    scenario=each,
                    share=share,
                    kept=plans,
                )
                for rate_bps, each in at_rates.items()
            ]
            cells[-1].check_policies()
    return tuple(cells)


def _schedule(scenario: Scenario) -> dict[str, Any]:
    """The schedule of all gates and its options; empty without gates."""
    policy, training = scenario.policy, scenario.training
    if policy.schedule is None:
        for field, value in (
            ("policy.schedule_options", policy.schedule_options),
            ("training.sent_messages", training.sent_messages),
        ):
            if value:
                allowed = f"has no effect without policy.schedule: {', '.join(schedule_names())}"
                raise ScenarioError.at(field, "a table", allowed)
        return {}
    options = schedule_options(policy.schedule, policy.schedule_options)
    return {"schedule": policy.schedule, "schedule_options": options}


def _check_overlap(training: TrainingSpec) -> None:
    rule = load_synchronisation(training.synchronisation)
    if training.overlap and rule(training.gap) is not None:
        unbound = [n for n in synchronisation_names() if load_synchronisation(n)(1) is None]
        why = (
            f"steps can't overlap with synchronisation {training.synchronisation}, which counts"
            f" whole steps; it is for {' and '.join(unbound)}"
        )
        raise ScenarioError.at("training.overlap", True, why)


def _check_coordination(scenario: Scenario) -> None:
    """Refuse a coordinator that does not exist, or beside what decides instead of it."""
    spec, training = scenario.coordination, scenario.training
    if spec is None:
        return
    check_coordination(spec)
    for name, value, default in (
        ("training.synchronisation", training.synchronisation, "asp"),
        ("training.overlap", training.overlap, False),
        ("training.measured", training.measured, None),
    ):
        if value != default:
            allowed = "does not go with [coordination], which decides who begins when"
            raise ScenarioError.at(name, value, allowed)
    for i, straggler in enumerate(scenario.straggler):
        if straggler.kind in ("join", "leave"):
            allowed = "does not go with [coordination]: its workers stay"
            raise ScenarioError.at(f"straggler[{i}].kind", straggler.kind, allowed)
    for workload in scenario.workload:
        if workload.profile is None:
            allowed = "is for training jobs, not for bursts"
            raise ScenarioError.at("coordination.kind", spec.kind, allowed)


def _bursts(scenario: Scenario) -> dict[str, Cell]:
    """The cells whose workload is a burst, by name."""
    without = tuple(w for w in scenario.workload if w.profile is None)
    if not without:
        return {}
    policy = scenario.policy.model_copy(update={"order": "as_listed", "priorities": {}})
    plain = scenario.model_copy(update={"workload": without, "policy": policy})
    return {cell.name: cell for cell in resolve_cells(plain)}
