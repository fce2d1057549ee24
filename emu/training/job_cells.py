"""Cells of a training scenario, each with its job; what can't be emulated is refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from emu.endpoints.pairing import check_transport
from netcosim.errors import ScenarioError
from netcosim.policies import check_order, synchronisation_joins
from netcosim.policies.coordinators import check_coordination
from netcosim.scenario import ProcessorSpec, Scenario, TransportSpec, WorkloadSpec
from netcosim.training.batching import check_curves
from netcosim.training.coordination import OVER_REAL_FLOWS
from netcosim.training.job import TrainingJob
from netcosim.training.job_file import dump_job, hash_of
from netcosim.training.prepare.build import tensors_of
from netcosim.training.prepare.message_costs import profile_of
from netcosim.training.stragglers import check_stragglers
from netcosim.training.synchronisation import check_join
from netcosim.units import format_duration
from netcosim.workload import Profile
from topo.catalogue import build_spec
from topo.job_drawing import draw_for
from topo.spec import NetSpec
from topo.worker_links import with_worker_links

KINDS: Final = ("h2", "grpc")
"""Kinds of endpoints that have nodes for training jobs."""

_STRAGGLERS: Final = ("slow", "jitter", "transient", "trace", "link", "delay")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCell:
    """One workload on one transport, with the job of its largest number of workers.

    Attributes
    ----------
    name : ``workload/transport``
    data : content of the job's file
    """

    name: str
    scenario: Scenario
    workload: WorkloadSpec
    transport: TransportSpec
    profile: Profile
    job: TrainingJob
    data: bytes

    @property
    def sha256(self) -> str:
        """Hash that the job's file is known by."""
        return hash_of(self.data)

    @property
    def batch(self) -> int:
        """Examples of a step."""
        return self.scenario.training.batch or self.profile.batch


def is_training(scenario: Scenario) -> bool:
    """True if the scenario's workloads are training jobs."""
    return any(workload.profile is not None for workload in scenario.workload)


def worker_counts(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of workers to run, rising."""
    return tuple(sorted(scenario.training.workers or (scenario.cluster.workers,)))


def job_cells(scenario: Scenario) -> tuple[JobCell, ...]:
    """All cells of a training scenario, workloads first.

    Raises
    ------
    ScenarioError
        What it names does not exist, or can't be emulated.
    """
    check_join(scenario.training)
    for field, value, allowed in _not_emulated(scenario):
        raise ScenarioError.at(field, value, allowed)
    most = max(worker_counts(scenario))
    check_stragglers(scenario.straggler, most)
    cells = []
    for workload in scenario.workload:
        profile = profile_of(workload, scenario.training)
        check_order(scenario.policy, list(tensors_of(profile)), has_step=True)
        if scenario.coordination is not None:
            check_curves(scenario.coordination, scenario.training.batch or profile.batch, most)
        job = draw_for(scenario, workload, profile, most)
        data = dump_job(job)
        for transport in scenario.transport:
            _check_transport(transport)
            cells.append(
                JobCell(
                    name=f"{workload.name}/{transport.name}",
                    scenario=scenario,
                    workload=workload,
                    transport=transport,
                    profile=profile,
                    job=job,
                    data=data,
                )
            )
    return tuple(cells)


def network_of(scenario: Scenario, job: TrainingJob, workers: int) -> NetSpec:
    """The network of so many workers, with the links that stragglers leave them."""
    spec = build_spec(scenario.cluster.model_copy(update={"workers": workers}))
    return with_worker_links(spec, job.link_bps, job.more_delay_ns)


def _not_emulated(scenario: Scenario) -> Iterator[tuple[str, object, str]]:
    """Fields whose values can't be emulated, with what is allowed."""
    training = scenario.training
    for workload in scenario.workload:
        if workload.profile is None:
            yield f"workload[{workload.name}]", "a burst", "must be training jobs, or all bursts"
    if scenario.policy.schedule is not None and training.gradients == "pulled":
        allowed = 'must be "pushed" with a schedule, which waits for answers'
        yield "training.gradients", training.gradients, allowed
    if synchronisation_joins(training.synchronisation) and training.join == "tensor":
        yield "training.join", training.join, 'is for the simulator; real servers join by "step"'
    yield from _without_effect(scenario)
    for field in ("overlap", "server_cores", "rates", "measured"):
        value = getattr(training, field)
        if value not in (None, False):
            yield f"training.{field}", value, "is for the simulator"
    yield from _not_coordinated(scenario)
    if scenario.cluster.processor != ProcessorSpec():
        allowed = "is for bursts; of training jobs: training.server_messages, worker_messages"
        yield "cluster.processor", "a table", allowed
    for i, straggler in enumerate(scenario.straggler):
        if straggler.kind not in _STRAGGLERS:
            allowed = f"is for the simulator; here: {', '.join(_STRAGGLERS)}"
            yield f"straggler[{i}].kind", straggler.kind, allowed


def _without_effect(scenario: Scenario) -> Iterator[tuple[str, object, str]]:
    """Fields that would have an effect with other values of others."""
    if scenario.policy.schedule is None:
        allowed = "has no effect without policy.schedule"
        if scenario.policy.schedule_options:
            yield "policy.schedule_options", "a table", allowed
        if scenario.training.sent_messages:
            yield "training.sent_messages", "a table", allowed


def _not_coordinated(scenario: Scenario) -> Iterator[tuple[str, object, str]]:
    """Coordination that can't be emulated."""
    spec = scenario.coordination
    if spec is None:
        return
    check_coordination(spec)
    if spec.kind not in OVER_REAL_FLOWS:
        allowed = (
            f"is for the simulator; here: {', '.join(OVER_REAL_FLOWS)}, and synchronisation join"
            " with training.first for K of W"
        )
        yield "coordination.kind", spec.kind, allowed
    if spec.decision:
        allowed = "is for the simulator: a decision takes none"
        yield "coordination.decision", format_duration(spec.decision), allowed
    if scenario.training.synchronisation != "asp":
        allowed = "does not go with [coordination], which decides who begins when"
        yield "training.synchronisation", scenario.training.synchronisation, allowed


def _check_transport(transport: TransportSpec) -> None:
    """Refuse transports that no node speaks."""
    check_transport(transport)
    where = f"transport[{transport.name}]"
    for field in ("sender", "receiver"):
        kind = getattr(transport, field)
        if kind not in KINDS or kind != transport.sender:
            allowed = f"must be the same at both ends for training jobs: {' or '.join(KINDS)}"
            raise ScenarioError.at(f"{where}.{field}", kind, allowed)
        release = getattr(transport, f"{field}_release")
        if release is not None:
            allowed = "training jobs are run with the newest"
            raise ScenarioError.at(f"{where}.{field}_release", release, allowed)
