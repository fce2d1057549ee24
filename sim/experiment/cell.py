"""Cells of a scenario (workload and transport), ready to simulate with any number of workers."""

from dataclasses import dataclass, field

import numpy as np

from netcosim.job import Cell, resolve_cells
from netcosim.policies import load_synchronisation, order_is_drawn, release_order, server_of_each
from netcosim.scenario import Scenario, TransportSpec, WorkloadSpec
from netcosim.scenario.profile import load_workload
from netcosim.workload import Profile
from netcosim.workload.durations import recorded_steps
from sim.experiment.burst import burst_profile
from sim.fast.arrays import Shape
from sim.fast.shape import fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Network, Sending, StepPlan
from sim.prepare import Assignment, fuse, make_plan
from sim.prepare.build import tensors_of
from sim.settings import network_of, sending_of
from topo.spec import GOODPUT_SHARE

RECORDED, ORDERS, DRAWS, STRAGGLERS = range(4)
"""Purposes of a run's random streams; drawing from one does not move another."""


@dataclass(slots=True, kw_only=True)
class Prepared:
    """The plans of one run: as recorded, fused, and sorted for the fast path if it can be."""

    plan: StepPlan
    fused: StepPlan
    shape: Shape | None
    why_generic: str


@dataclass(slots=True, kw_only=True)
class TrainingCell:
    """One workload on one transport.

    `prepared` keeps each run's plans: they are the same for every number of workers.
    """

    name: str
    workload: WorkloadSpec
    transport: TransportSpec
    profile: Profile
    sending: Sending
    scenario: Scenario
    prepared: dict[int, Prepared] = field(default_factory=dict)

    @property
    def batch(self) -> int:
        """Examples of a step."""
        return self.scenario.training.batch or self.profile.batch

    @property
    def staleness(self) -> int | None:
        """Number of steps that a worker may be ahead of the slowest; None: any."""
        training = self.scenario.training
        return load_synchronisation(training.synchronisation)(training.gap)

    def network(self, workers: int) -> Network:
        """Network of so many workers; rates are goodput."""
        return network_of(self.scenario, workers, payload_share=GOODPUT_SHARE)

    def stream(self, run: int, purpose: int) -> np.random.SeedSequence:
        """Random seed of a run for one purpose: the same for all cells and worker counts."""
        return np.random.SeedSequence(self.scenario.seed, spawn_key=(run, purpose))

    def plans(self, run: int) -> Prepared:
        """Plans of a run, made at the first call and kept."""
        if run not in self.prepared:
            self.prepared[run] = self._prepare(run)
        return self.prepared[run]

    def _prepare(self, run: int) -> Prepared:
        durations = recorded_steps(
            self.profile,
            rng=np.random.default_rng(self.stream(run, RECORDED)),
            batch=self.batch,
            count=self.scenario.training.recorded,
        )
        rng = np.random.default_rng(self.stream(run, ORDERS))
        plan = make_plan(self.profile, durations, self.assignment(), rng)
        fused = fuse(plan)
        try:
            shape, why = fast_shape(fused, self.network(1), self.sending), ""
        except NotOfThisShapeError as problem:
            shape, why = None, str(problem)
        return Prepared(plan=plan, fused=fused, shape=shape, why_generic=why)

    def assignment(self) -> Assignment:
        """Placement, order and priorities of the profile's tensors, by the scenario's policies."""
        policy, servers = self.scenario.policy, self.scenario.cluster.servers
        sizes = tensors_of(self.profile)
        names = list(sizes)
        placed = server_of_each(policy, names, list(sizes.values()), servers)
        given = {t.name: t.priority for t in self.workload.tensors}
        return Assignment(
            servers=servers,
            server_of=dict(zip(names, placed, strict=True)),
            arrange=lambda s, rng: release_order(policy, names, s, rng),
            each_step_anew=order_is_drawn(policy.order),
            priority={**given, **policy.priorities},
        )


def training_cells(scenario: Scenario) -> tuple[TrainingCell, ...]:
    """All cells of a scenario, workloads first; each setting is checked.

    Raises
    ------
    ScenarioError
        What the scenario names does not exist, or can't be simulated.
    """
    cells = []
    batch = scenario.training.batch
    profiles = {w.name: load_workload(w, batch) for w in scenario.workload if w.profile is not None}
    bursts = _bursts(scenario)
    for workload in scenario.workload:
        for transport in scenario.transport:
            name = f"{workload.name}/{transport.name}"
            burst = bursts.get(name)
            cell = TrainingCell(
                name=name,
                workload=workload,
                transport=transport,
                profile=profiles[workload.name] if burst is None else burst_profile(burst),
                sending=sending_of(transport, None if burst is None else burst.window_bytes),
                scenario=scenario,
            )
            sizes = list(tensors_of(cell.profile).values())
            cell.assignment().arrange(sizes, np.random.default_rng(0))
            _ = cell.staleness
            cells.append(cell)
    return tuple(cells)


def _bursts(scenario: Scenario) -> dict[str, Cell]:
    """The cells whose workload is a burst, by name."""
    without = tuple(w for w in scenario.workload if w.profile is None)
    if not without:
        return {}
    policy = scenario.policy.model_copy(update={"order": "as_listed", "priorities": {}})
    plain = scenario.model_copy(update={"workload": without, "policy": policy})
    return {cell.name: cell for cell in resolve_cells(plain)}
