"""Points of the results, one per number of workers: estimates over runs, and baselines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from h2model.candidates import not_studied
from netcosim.errors import ScenarioError
from netcosim.policies.coordinators import lead_of
from netcosim.results.training.summary import (
    AsMeasured,
    CellSettings,
    Estimate,
    Joined,
    LinkUse,
    Point,
    Recommendation,
    Series,
    StepBounds,
    TimeShares,
)
from netcosim.training.plan import DOWN, UP, Floats, StepPlan
from netcosim.training.stragglers import straggler_text
from sim import analytic
from sim.experiment.cell import TrainingCell
from sim.experiment.joined import joined_of
from sim.experiment.phases import phases
from sim.experiment.run import RunFigures
from sim.experiment.statistics import (
    estimate,
    overlap,
    saturation,
    standard_deviation,
    step_times,
    straggler_ns,
    time_shares,
    worker_utilisation,
)
from sim.experiment.step_bounds import step_bounds
from sim.plan import Network
from sim.settings import schedule_text
from sim.settings.share import overfilled

_NAMES = {DOWN: "down", UP: "up"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Reference that any number of workers is compared with: one worker without stragglers.

    Attributes
    ----------
    steps_per_s : of that worker
    one_worker : that worker as input of the analytic models
    """

    steps_per_s: Estimate
    one_worker: analytic.OneWorker


def without_stragglers(cell: TrainingCell) -> TrainingCell:
    """Copy of a cell without stragglers and coordination; plans, draws and network stay."""
    update = {"straggler": (), "coordination": None}
    return replace(cell, scenario=cell.scenario.model_copy(update=update))


def make_reference(cell: TrainingCell, runs: Sequence[RunFigures]) -> Reference:
    """Build the reference from the runs of one worker of a cell without stragglers."""
    found = estimate([run.steps_per_s for run in runs])
    one_worker = analytic.one_worker(
        cell.plans(0).plan, cell.network(1), cell.batch, 1e9 / found.mean, phases=phases(cell)
    )
    return Reference(steps_per_s=found, one_worker=one_worker)


def make_point(
    cell: TrainingCell,
    workers: int,
    runs: Sequence[RunFigures],
    reference: Reference | None = None,
) -> Point:
    """Build the point of a number of workers from its runs; without a reference, no formulas."""
    rates = [run.steps_per_s for run in runs]
    durations = [(run.steps.end_ns - run.steps.start_ns)[run.counted] for run in runs]
    time = time_shares(np.sum([run.spent_ns.sum(axis=0) for run in runs], axis=0))
    training = cell.scenario.training
    return Point(
        workers=workers,
        runs=len(runs),
        steps=training.steps,
        warmup=training.warmup,
        left_out=float(np.mean([run.left_out for run in runs])),
        steady=all(run.steady for run in runs),
        engine="fast" if all(run.engine == "fast" for run in runs) else "generic",
        steps_per_s=estimate(rates),
        examples_per_s=estimate([rate * cell.batch for rate in rates]),
        as_measured=_as_measured(cell, runs),
        step_ns=step_times(np.concatenate(durations)),
        time=time,
        overlap=overlap(time),
        link_utilisation=_links(cell, workers, float(np.mean([run.sent_per_s for run in runs]))),
        worker_utilisation=worker_utilisation(time),
        straggler_ns=_straggler_ns(cell, workers, runs),
        step_bounds=_step_bounds(runs, durations),
        joined=_joined(cell, workers, runs),
        baselines={} if reference is None else _baselines(reference.one_worker, workers),
    )


def _as_measured(cell: TrainingCell, runs: Sequence[RunFigures]) -> AsMeasured | None:
    measured = cell.scenario.training.measured
    rates = [r for run in runs if (r := run.as_measured_steps_per_s) is not None]
    if measured is None or not rates:
        return None
    return AsMeasured(
        first=measured[0],
        last=measured[1],
        steps_per_s=estimate(rates),
        sd_steps_per_s=standard_deviation(rates),
        examples_per_s=estimate([rate * cell.batch for rate in rates]),
    )


def _straggler_ns(cell: TrainingCell, workers: int, runs: Sequence[RunFigures]) -> float | None:
    """Straggler time, mean over the runs with a whole round; None without rounds."""
    if not cell.goes_in_rounds(workers):
        return None
    found = [
        straggler_ns(run.steps.step[run.counted], run.steps.end_ns[run.counted], workers)
        for run in runs
    ]
    known = [time for time in found if time is not None]
    return float(np.mean(known)) if known else None


def _joined(cell: TrainingCell, workers: int, runs: Sequence[RunFigures]) -> Joined | None:
    if cell.join(workers) is None:
        return None
    return joined_of(
        [run.steps.worker[run.counted] for run in runs],
        [run.steps.weight[run.counted] for run in runs],
        workers,
    )


def _step_bounds(runs: Sequence[RunFigures], took_ns: Sequence[Floats]) -> StepBounds | None:
    """How near the steps of all runs come to their bounds; None where these are not known."""
    bounds = [run.bounds for run in runs if run.bounds is not None]
    return step_bounds(bounds, took_ns) if len(bounds) == len(runs) else None


def _baselines(one: analytic.OneWorker, workers: int) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in analytic.names():
        try:
            found[name] = analytic.predict(name, one, workers)
        except ScenarioError:  # this formula has no answer here
            found[name] = None
    return found


def link_bytes(plan: StepPlan) -> dict[tuple[int, int], int]:
    """Bytes that a step moves, by server and direction."""
    moved: dict[tuple[int, int], int] = {}
    for op in range(plan.operations):
        if plan.place[op] < len(plan.channels):
            channel = plan.channels[plan.place[op]]
            key = (channel.direction, channel.server)
            moved[key] = moved.get(key, 0) + int(plan.size_bytes[op])
    return dict(sorted(moved.items()))


def _limits(plan: StepPlan, network: Network) -> dict[tuple[int, int], float]:
    """Steps a second that each link can carry, by direction and server."""
    moved = link_bytes(plan)
    return {key: float(network.server_bps[key[1]]) / 8 / size for key, size in moved.items()}


def _links(cell: TrainingCell, workers: int, rate: float) -> tuple[LinkUse, ...]:
    network = cell.network(workers)
    limits = _limits(cell.plans(0).plan, network)
    moved = {key: rate / limit for key, limit in limits.items()}
    return tuple(
        LinkUse(
            server=server,
            direction=_NAMES[direction],
            utilisation=utilisation(
                share, moved.get((UP + DOWN - direction, server), 0.0), network.both_busy
            ),
        )
        for (direction, server), share in moved.items()
    )


def utilisation(moved: float, opposite: float, both_busy: float) -> float:
    """Share of time in which a port is busy in one direction.

    Parameters
    ----------
    moved, opposite
        Bytes moved in this and in the other direction, over what the port's rate allows.
    both_busy
        What is left of the rate while both directions are busy. They are taken to overlap as far
        as they can: until the one with fewer bytes has none left.
    """
    if both_busy == 1:
        return moved
    # With `both_busy` below a half taking turns beats overlapping, and the share would exceed 1.
    return min(1.0, moved + min(moved, opposite) * (1 / both_busy - 1))


def make_series(
    cell: TrainingCell,
    points: Sequence[Point],
    reference: Reference,
    recommendation: Recommendation | None = None,
) -> Series:
    """Build the series of a cell's points simulated so far, by number of workers."""
    ordered = sorted(points, key=lambda p: p.workers)
    limits = _limits(cell.plans(0).plan, cell.network(1))
    return Series(
        **dict(settings_of(cell)),
        alone=reference.steps_per_s,
        limits_steps_per_s={
            f"server {server} {_NAMES[direction]}": limit
            for (direction, server), limit in limits.items()
        },
        points=tuple(ordered),
        saturation=saturation(ordered, reference.steps_per_s.mean),
        recommendation=recommendation,
    )


def settings_of(cell: TrainingCell) -> CellSettings:
    """What is simulated of a cell, whatever the number of workers."""
    scenario = cell.scenario
    return CellSettings(
        cell=cell.name,
        workload=cell.workload.name,
        transport=cell.transport.name,
        profile=cell.profile.name,
        batch=cell.batch,
        servers=scenario.cluster.servers,
        rate_bps=scenario.cluster.link.rate,
        discipline=cell.sending.discipline,
        not_studied=not_studied(cell.transport),
        window_bytes=cell.sending.window_bytes,
        synchronisation=scenario.waiting_rule,
        lead=cell.staleness if scenario.coordination is None else lead_of(scenario.coordination),
        order=scenario.policy.order,
        placement=scenario.policy.placement,
        schedule=schedule_text(cell.sending),
        share=cell.share,
        stragglers=tuple(straggler_text(s) for s in scenario.straggler),
    )


def overfilled_text(cell: TrainingCell, points: Sequence[Point]) -> str:
    """Say with how many workers a worker's port carried more than its rate; empty: with none.

    While a worker receives, its port carries at most the port's rate: if more bytes came than
    that allows, connections got what no port could carry. The same for sending.
    """
    if not points or not overfilled(cell.network(max(p.workers for p in points))):
        return ""
    moved: dict[int, int] = {}
    for (direction, _), size in link_bytes(cell.plans(0).plan).items():
        moved[direction] = moved.get(direction, 0) + size
    found = []
    for point in points:
        port_bps = float(cell.network(point.workers).worker_bps.max())
        steps_per_s = point.steps_per_s.mean / point.workers
        for direction, share in ((DOWN, _receiving(point.time)), (UP, _sending(point.time))):
            wanted = steps_per_s * 8 * moved.get(direction, 0) / port_bps
            if wanted > share * (1 + _ROUNDING):
                found.append(str(point.workers))
                break
    if not found:
        return ""
    workers = "1 worker" if found == ["1"] else f"{', '.join(found)} workers"
    return (
        f"with {workers} a worker's port carried more than its rate, as share {cell.share} does"
        " not look at it; take max_min"
    )


_ROUNDING: Final = 0.01
"""Shares of time count from the warm-up on, rates from when the run has settled."""


def _receiving(time: TimeShares) -> float:
    return time.receiving + time.receiving_computing + time.receiving_sending + time.all_three


def _sending(time: TimeShares) -> float:
    return time.sending + time.computing_sending + time.receiving_sending + time.all_three
