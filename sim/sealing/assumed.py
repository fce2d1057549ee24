"""What a simulation of a training job's cell assumes: job, network, multiplexing, other orders."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from h2model import disciplines
from h2model.training_job import Models
from netcosim.policies import one_at_a_time
from netcosim.results.training.job_summary import JobSeries, PathFacts
from netcosim.scenario import Scenario, TransportSpec
from netcosim.training.coordination import JobCoordination
from netcosim.training.job import TrainingJob
from netcosim.training.plan import StepPlan
from netcosim.training.prepare.message_costs import profile_of
from netcosim.training.workload_plan import PlanMaker, Source, assignment_of
from sim.experiment.link_share import with_share
from sim.plan import Calls, Network, Sending
from sim.sealing.connection_models import models_of
from sim.sealing.ensemble import Uneven
from sim.sealing.message_times import ahead_of, with_message_times
from sim.sealing.on_the_wire import calls_of, on_the_wire
from sim.settings import network_of, sending_of
from topo.spec import BOTH_WAYS_SHARE, GOODPUT_SHARE

_ORDERS: Final = ("as_listed", "reverse", "smallest_first")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What is taken for true of a cell.

    Attributes
    ----------
    job : with its messages as they are on the wire
    as_recorded : with their own bytes
    calls : what requests take of links
    models_of : models of the connections of a job with fewer workers; None where there are none
    networks : by number of workers
    orders : plans with the tensors in other orders, by the order's name
    warmup : first steps of each worker that no figure counts
    batch : examples of a step
    scenario : for coordination
    uneven : what messages take at their senders; None where they take nothing
    """

    job: TrainingJob
    as_recorded: TrainingJob
    calls: Calls
    models_of: Callable[[TrainingJob], Models | None]
    sending: Sending
    networks: Mapping[int, Network]
    orders: Mapping[str, StepPlan]
    warmup: int
    batch: int
    seed: int
    scenario: Scenario
    uneven: Uneven | None = None

    def coordination(self, workers: int) -> JobCoordination | None:
        """Coordination of a run, as it begins; None where the scenario has none."""
        if self.scenario.coordination is None:
            return None
        return JobCoordination.of(self.scenario, self.batch, self.job.first(workers))


def assumed_of(scenario: Scenario, series: JobSeries, job: TrainingJob) -> Assumed:
    """What is known of a cell before it is run with several workers.

    Parameters
    ----------
    series : figures of a run of it: batch, the kernel's buffer
    job : with computations as they are taken to be

    Raises
    ------
    ScenarioError
        The simulator can't express it.
    """
    workload, _, name = series.cell.rpartition("/")
    transport = next(t for t in scenario.transport if t.name == name)
    shared = with_share(scenario)
    alone = job.schedule is not None and one_at_a_time(job.schedule)
    counted = None if job.pushed or scenario.coordination is not None else series.messages

    def on_wire(plan: StepPlan) -> StepPlan:
        sent = on_the_wire(plan, transport, pushed=job.pushed, alone=alone)
        return sent if counted is None else with_message_times(sent, counted)

    return Assumed(
        job=replace(job, plan=on_wire(job.plan)),
        as_recorded=job,
        calls=replace(
            calls_of(job.plan, transport, pushed=job.pushed),
            ahead=() if counted is None else ahead_of(job.plan, counted),
        ),
        models_of=partial(models_of, scenario, transport, series.path),
        sending=replace(
            _sending(transport, series.socket_buffer_bytes),
            schedule=job.schedule,
            schedule_options=job.schedule_options,
        ),
        networks={
            count: _network(shared, count, job, series.path) for count in range(1, job.workers + 1)
        },
        orders={
            order: on_wire(plan) for order, plan in _other_orders(scenario, workload, job.plan)
        },
        warmup=scenario.training.warmup,
        batch=series.batch,
        seed=scenario.seed,
        scenario=scenario,
        uneven=None
        if counted is None
        else Uneven(operations=job.plan.operations, spread=counted.spread),
    )


def _network(scenario: Scenario, workers: int, job: TrainingJob, path: PathFacts) -> Network:
    """The scenario's network as its packets find it, with the links that stragglers leave workers.

    Acknowledgements take their part of a link whose other direction carries data.
    """
    network = replace(
        network_of(scenario, workers, payload_share=GOODPUT_SHARE),
        both_busy=BOTH_WAYS_SHARE,
        bucket_bytes=round(path.bucket_bytes * GOODPUT_SHARE),
    )
    if not job.link_bps:
        return network
    link_bps = np.array(job.link_bps[:workers], dtype=np.float64) * GOODPUT_SHARE
    return replace(
        network,
        worker_bps=np.minimum(network.worker_bps, np.round(link_bps).astype(np.int64)),
        delay_ns=network.delay_ns + np.array(job.more_delay_ns[:workers], dtype=np.int64),
    )


def _sending(transport: TransportSpec, buffer_bytes: int) -> Sending:
    """Multiplexing with the kernel's buffer, where what it takes at once decides anything."""
    sending = sending_of(transport)
    traits = disciplines.traits(sending.discipline)
    if traits.gathers or traits.preempts:
        return sending_of(transport, buffer_bytes=buffer_bytes)
    return sending


def _other_orders(scenario: Scenario, name: str, plan: StepPlan) -> Iterator[tuple[str, StepPlan]]:
    """The same step with its tensors in other orders."""
    workload = next(w for w in scenario.workload if w.name == name)
    profile = profile_of(workload, scenario.training)
    link_bps = round(scenario.cluster.link.rate * GOODPUT_SHARE)
    column = {name: op for op, name in enumerate(plan.names)}
    for order in _ORDERS:
        if order == scenario.policy.order:
            continue
        policy = scenario.policy.model_copy(update={"order": order})
        other = scenario.model_copy(update={"policy": policy})
        made = PlanMaker(
            Source.of(other, workload, profile), assignment_of(other, workload, profile, link_bps)
        ).plan(0)
        same = [column[name] for name in made.names]
        yield order, replace(made, duration_ns=plan.duration_ns[:, same])
