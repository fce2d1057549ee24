"""Cells of a scenario (workload, transport and rate), ready to simulate with any workers."""

from dataclasses import dataclass, field, replace

import numpy as np

from netcosim.job import Cell, resolve_cells
from netcosim.policies import load_synchronisation, order_is_drawn, release_order, server_of_each
from netcosim.scenario import Scenario, TransportSpec, WorkloadSpec
from netcosim.scenario.profile import load_workload
from netcosim.units import format_rate
from netcosim.workload import Profile
from netcosim.workload.durations import recorded_steps
from sim.experiment.axes import at_each_rate
from sim.experiment.burst import burst_profile
from sim.experiment.link_share import with_share
from sim.experiment.plans import Plans, Prepared
from sim.fast.arrays import Shape
from sim.plan import Network, Sending
from sim.prepare import Assignment, fuse, make_plan
from sim.prepare.build import tensors_of
from sim.settings import network_of, sending_of
from sim.settings.share import RIGHT_FOR_ALL
from topo.spec import GOODPUT_SHARE

RECORDED, ORDERS, DRAWS, STRAGGLERS = range(4)
"""Purposes of a run's random streams; drawing from one does not move another."""


@dataclass(slots=True, kw_only=True)
class TrainingCell:
    """One workload on one transport, at one rate of the links.

    Attributes
    ----------
    name : ``workload/transport``, with ``@rate`` behind it where the scenario has several rates
    scenario : at this cell's rate
    share : strategy by which links are shared, chosen where the scenario names none
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
        training = self.scenario.training
        return load_synchronisation(training.synchronisation)(training.gap)

    def network(self, workers: int) -> Network:
        """Network of so many workers, as the engines see it; rates are goodput."""
        if workers not in self.networks:
            found = network_of(self.scenario, workers, payload_share=GOODPUT_SHARE)
            self.networks[workers] = replace(found, share=self.share)
        return self.networks[workers]

    def stream(self, run: int, purpose: int) -> np.random.SeedSequence:
        """Random seed of a run for one purpose: the same for all cells and worker counts."""
        return np.random.SeedSequence(self.scenario.seed, spawn_key=(run, purpose))

    def plans(self, run: int) -> Prepared:
        """Plans of a run, made at the first call and kept."""
        if run not in self.prepared:
            self.prepared[run] = self.kept.get(self._key(run), lambda: self._prepare(run))
        return self.prepared[run]

    def shape(self, run: int) -> tuple[Shape | None, str]:
        """A run's plan for the fast path, or None and why the fast path can't do it."""
        return self.plans(run).shape(self.network(1), self.sending)

    def _key(self, run: int) -> tuple[object, ...]:
        """All that a run's plans are made of; a profile is the same if it is the same object."""
        training = self.scenario.training
        given = tuple((t.name, t.priority) for t in self.workload.tensors)
        policy = self.scenario.policy.model_dump_json()
        made_of = (self.scenario.seed, run, self.batch, training.recorded)
        return (_Same(self.profile), *made_of, self.scenario.cluster.servers, policy, given)

    def _prepare(self, run: int) -> Prepared:
        durations = recorded_steps(
            self.profile,
            rng=np.random.default_rng(self.stream(run, RECORDED)),
            batch=self.batch,
            count=self.scenario.training.recorded,
        )
        rng = np.random.default_rng(self.stream(run, ORDERS))
        plan = make_plan(self.profile, durations, self.assignment(), rng)
        return Prepared(plan=plan, fused=fuse(plan))

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


@dataclass(frozen=True, slots=True)
class _Same:
    """A profile as part of a key: equal to itself alone, and not compared by content."""

    profile: Profile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.profile is other.profile

    def __hash__(self) -> int:
        return id(self.profile)


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
    batch = scenario.training.batch
    plans = Plans() if kept is None else kept
    profiles = {w.name: load_workload(w, batch) for w in scenario.workload if w.profile is not None}
    at_rates = at_each_rate(scenario)
    bursts = _bursts(scenario)
    share = with_share(scenario).training.share or RIGHT_FOR_ALL
    cells = []
    for workload in scenario.workload:
        for transport in scenario.transport:
            name = f"{workload.name}/{transport.name}"
            burst = bursts.get(name)
            profile = profiles[workload.name] if burst is None else burst_profile(burst)
            sending = sending_of(transport, None if burst is None else burst.window_bytes)
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
            sizes = list(tensors_of(profile).values())
            cells[-1].assignment().arrange(sizes, np.random.default_rng(0))
            _ = cells[-1].staleness
    return tuple(cells)


def _bursts(scenario: Scenario) -> dict[str, Cell]:
    """The cells whose workload is a burst, by name."""
    without = tuple(w for w in scenario.workload if w.profile is None)
    if not without:
        return {}
    policy = scenario.policy.model_copy(update={"order": "as_listed", "priorities": {}})
    plain = scenario.model_copy(update={"workload": without, "policy": policy})
    return {cell.name: cell for cell in resolve_cells(plain)}
