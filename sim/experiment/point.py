"""A number of workers as a point of the results: estimates over runs, formulas beside them."""

from collections.abc import Sequence

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.results.findings import EVERYBODY
from netcosim.results.measures import (
    estimate,
    overlap,
    saturation,
    step_times,
    straggler_ns,
    time_shares,
    worker_utilisation,
)
from netcosim.results.training import LinkUse, Point, Series
from netcosim.scenario import StragglerSpec
from sim import analytic
from sim.experiment.job import TrainingCell
from sim.experiment.run import RunFigures
from sim.plan import DOWN, UP, Network, StepPlan

_NAMES = {DOWN: "down", UP: "up"}


def make_point(
    cell: TrainingCell, workers: int, runs: Sequence[RunFigures], one: analytic.OneWorker
) -> Point:
    """What the runs of so many workers come to."""
    rates = [run.steps_per_s for run in runs]
    durations = [(run.steps.end_ns - run.steps.start_ns)[run.counted] for run in runs]
    numbers = [run.steps.step[run.counted] for run in runs]
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
        step_ns=step_times(np.concatenate(durations)),
        time=time,
        overlap=overlap(time),
        link_utilisation=_links(cell, workers, float(np.mean(rates))),
        worker_utilisation=worker_utilisation(time),
        straggler_ns=float(
            np.mean([straggler_ns(n, d) for n, d in zip(numbers, durations, strict=True)])
        ),
        baselines=_baselines(one, workers),
    )


def one_worker(cell: TrainingCell, alone: RunFigures | None) -> analytic.OneWorker:
    """What formulas are told: totals of the profile, and how long one worker's steps take."""
    step_ns = None if alone is None else 1e9 / alone.steps_per_s
    return analytic.one_worker(cell.plans(0).plan, cell.network(1), cell.batch, step_ns)


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
    limits = _limits(cell.plans(0).plan, cell.network(workers))
    return tuple(
        LinkUse(server=server, direction=_NAMES[direction], utilisation=rate / limit)
        for (direction, server), limit in limits.items()
    )


def make_series(cell: TrainingCell, points: Sequence[Point]) -> Series:
    """A cell with the points simulated so far, by number of workers."""
    scenario, training = cell.scenario, cell.scenario.training
    ordered = sorted(points, key=lambda p: p.workers)
    limits = _limits(cell.plans(0).plan, cell.network(1))
    return Series(
        cell=cell.name,
        workload=cell.workload.name,
        transport=cell.transport.name,
        profile=cell.profile.name,
        batch=cell.batch,
        servers=scenario.cluster.servers,
        rate_bps=scenario.cluster.link.rate,
        discipline=cell.sending.discipline,
        window_bytes=cell.sending.window_bytes,
        synchronisation=training.synchronisation,
        lead=cell.lead,
        order=scenario.policy.order,
        placement=scenario.policy.placement,
        share=training.share,
        stragglers=tuple(straggler_text(s) for s in scenario.straggler),
        limits_steps_per_s={
            f"server {server} {_NAMES[direction]}": limit
            for (direction, server), limit in limits.items()
        },
        points=tuple(ordered),
        saturation=saturation(ordered),
    )


def straggler_text(spec: StragglerSpec) -> str:
    """A straggler in a few words."""
    if isinstance(spec.workers, tuple):
        who = "worker " + ", ".join(map(str, spec.workers))
    elif spec.count is not None:
        who = "worker 0" if spec.count == 1 else f"the first {spec.count} workers"
    else:
        who = EVERYBODY if spec.share is None else f"a share {spec.share:g} of the workers"
    options = ", ".join(f"{key} {value}" for key, value in spec.options.items())
    return f"{who}: {spec.kind} {options}".rstrip()
