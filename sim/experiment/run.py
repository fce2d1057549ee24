"""Simulation of one run of a cell: random draws, conditions, engine, results."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from netcosim.policies.coordinators import make_coordinator
from netcosim.training.batching import batching_of
from netcosim.training.job import draw_steps as draw
from netcosim.training.plan import Draws
from netcosim.training.stragglers import Conditions, changes_course
from netcosim.training.workload_plan import STRAGGLERS
from sim.coordination.coordinated import CoordinatedRun
from sim.coordination.machine_use import use_of
from sim.engine.base import Steps
from sim.engine.control import Control
from sim.engine.engine import Engine, Stop
from sim.experiment.as_measured import measured_steps_per_s, run_to_step
from sim.experiment.cell import TrainingCell
from sim.experiment.steady_state import count_all, count_settled
from sim.experiment.step_bounds import Bounds, bounds_of, work_of
from sim.fast.engine import FastEngine
from sim.kernels.arrays import Floats
from sim.plan import Network, Sending
from sim.settings import conditions_on


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """Results of one run.

    Attributes
    ----------
    steps_per_s : steps ended per second in the measurement interval
    sent_per_s : the same, each step counting as one
    left_out : steps of each worker, beyond the warm-up, that were found not to be steady
    steady : whether the rest is
    spent_ns : (workers, modes) after warm-up
    steps : all that ended
    counted : (steps,) true for those that ended in the measurement interval
    bounds : of the steps that count; None where they are not known
    as_measured_steps_per_s : of the steps that the scenario has measured; None: it has none
    """

    engine: str
    steps_per_s: float
    sent_per_s: float
    left_out: float
    steady: bool
    spent_ns: Floats
    steps: Steps
    counted: NDArray[np.bool_]
    bounds: Bounds | None = None
    as_measured_steps_per_s: float | None = None


def draw_steps(cell: TrainingCell, workers: int, run: int, recorded: int) -> NDArray[np.int32]:
    """Draw the recorded step of each worker and step."""
    scenario = cell.scenario
    return draw(scenario.seed, run, workers, scenario.training.steps, recorded)


def simulate(cell: TrainingCell, workers: int, run: int) -> RunFigures:
    """Simulate until a worker has ended its last step."""
    prepared = cell.plans(run)
    drawn = draw_steps(cell, workers, run, prepared.steps)
    horizon_ns = 2.0 * cell.scenario.training.steps * prepared.longest_step_ns
    while True:
        under = conditions_of(cell, workers, run, horizon_ns)
        training = cell.scenario.training
        changing = any(changes_course(s.kind) for s in cell.scenario.straggler)
        if cell.scenario.coordination is None:
            engine = make_engine(cell, run, under, drawn)
            play(engine, under)
            found = figures(engine, training.warmup, settles=not changing)
        else:
            engine, steps = run_coordinated(cell, run, under, drawn)
            found = figures(engine, training.warmup, settles=not changing, steps=steps)
        if training.measured is not None:
            found = replace(found, as_measured_steps_per_s=as_measured(engine, *training.measured))
        if engine.now_ns <= under.drawn_until_ns:
            return replace(found, bounds=_bounds(cell, run, under, drawn, found))
        horizon_ns = 2.0 * engine.now_ns  # slow-downs were drawn for a shorter time


def _bounds(
    cell: TrainingCell,
    run: int,
    under: Conditions,
    drawn: NDArray[np.int32],
    found: RunFigures,
) -> Bounds | None:
    """Bounds of the steps that count.

    None where speeds change in steps, workers come and go, or batches change.
    """
    changing = any(under.speeds) or under.presence or under.absent
    if changing or cell.scenario.coordination is not None:
        return None
    network, _, _ = _job(cell, under, drawn)
    work = work_of(cell.plans(run).load, network, updates=cell.updates_in_step)
    worker, step = found.steps.worker[found.counted], found.steps.step[found.counted]
    factor = np.broadcast_to(under.factor, drawn.shape)
    return bounds_of(work, worker, drawn[worker, step], factor[worker, step])


def conditions_of(cell: TrainingCell, workers: int, run: int, horizon_ns: float) -> Conditions:
    """Conditions of all workers in this run, under the scenario's stragglers."""
    return conditions_on(
        cell.network(workers),
        cell.scenario.straggler,
        cell.scenario.training.steps,
        cell.stream(run, STRAGGLERS),
        horizon_ns=horizon_ns,
    )


def make_engine(
    cell: TrainingCell,
    run: int,
    under: Conditions,
    drawn: NDArray[np.int32],
    *,
    stop_at_steps: bool = False,
) -> Engine | FastEngine:
    """Make the fast path if it can do the job, else the generic engine."""
    prepared, workers = cell.plans(run), len(drawn)
    job = _job(cell, under, drawn)
    control = Control(
        staleness=cell.staleness,
        join=cell.join(workers),
        stop_at_last=not stop_at_steps,
        stop_at_steps=stop_at_steps,
        count_from=cell.scenario.training.warmup,
    )
    why_generic = cell.why_generic(workers) or under.why_generic
    if prepared.shape is not None and not why_generic:
        return FastEngine(None, *job, control, shape=prepared.shape)
    return Engine(
        prepared.fused,
        *job,
        control,
        speeds=under.speeds,
        absent=under.absent,
    )


def make_tracing_engine(
    cell: TrainingCell,
    run: int,
    under: Conditions,
    drawn: NDArray[np.int32],
    keep_workers: int | None = None,
    *,
    stop_at_steps: bool = False,
) -> Engine:
    """Make an engine that keeps operations and chunks; it does all steps drawn.

    Those of the first `keep_workers` workers are kept; None: of all.
    """
    return Engine(
        cell.plans(run).plan,
        *_job(cell, under, drawn),
        Control(
            staleness=cell.staleness,
            join=cell.join(len(drawn)),
            keep_operations=True,
            keep_chunks=True,
            keep_workers=keep_workers,
            stop_at_steps=stop_at_steps,
        ),
        speeds=under.speeds,
        absent=under.absent,
    )


def _job(
    cell: TrainingCell, under: Conditions, drawn: NDArray[np.int32]
) -> tuple[Network, Sending, Draws]:
    network = replace(
        cell.network(len(drawn)), worker_bps=under.worker_bps, delay_ns=under.delay_ns
    )
    return network, cell.sending, Draws(step=drawn, factor=under.factor)


def play(engine: Engine | FastEngine, under: Conditions) -> None:
    """Run an engine to the end, with workers that join and leave on the way."""
    for change in under.presence:
        if engine.run(float(change.time_ns)) == Stop.LAST:
            return
        if isinstance(engine, Engine):
            (engine.join if change.joins else engine.leave)(change.worker)
    engine.run()


def run_coordinated(
    cell: TrainingCell, run: int, under: Conditions, drawn: NDArray[np.int32]
) -> tuple[Engine | FastEngine, Steps]:
    """Simulate under the scenario's coordinator; a step's weight is the batches that it counts for.

    Raises
    ------
    ScenarioError
        A batch whose time is not known.
    """
    engine, coordinated = make_coordinated(cell, run, under, drawn)
    coordinated.run(until_first=True)
    steps = engine.steps()
    at = steps.worker, steps.step
    weight = coordinated.batches[at] / cell.batch * coordinated.counted[at]
    return engine, replace(steps, weight=weight)


def make_coordinated(
    cell: TrainingCell, run: int, under: Conditions, drawn: NDArray[np.int32]
) -> tuple[Engine | FastEngine, CoordinatedRun]:
    """Make an engine and its run under the scenario's coordinator."""
    under = _with_factors_apart(under, drawn)
    engine = make_engine(cell, run, under, drawn, stop_at_steps=True)
    return engine, _coordinated(cell, run, engine, under, drawn)


def trace_coordinated(
    cell: TrainingCell,
    run: int,
    under: Conditions,
    drawn: NDArray[np.int32],
    keep_workers: int | None = None,
) -> Engine:
    """Do all steps drawn under the scenario's coordinator, by an engine that keeps operations."""
    under = _with_factors_apart(under, drawn)
    engine = make_tracing_engine(cell, run, under, drawn, keep_workers, stop_at_steps=True)
    _coordinated(cell, run, engine, under, drawn).run()
    return engine


def _with_factors_apart(under: Conditions, drawn: NDArray[np.int32]) -> Conditions:
    """Conditions with a factor of its own for each step, which batches change."""
    return replace(under, factor=np.broadcast_to(under.factor, drawn.shape).copy())


def _coordinated(
    cell: TrainingCell,
    run: int,
    engine: Engine | FastEngine,
    under: Conditions,
    drawn: NDArray[np.int32],
) -> CoordinatedRun:
    spec, workers = cell.scenario.coordination, len(drawn)
    assert spec is not None
    return CoordinatedRun(
        engine,
        Draws(step=drawn, factor=under.factor),
        make_coordinator(spec, workers, cell.scenario.seed + run),
        batching_of(spec, cell.batch, workers),
        use_of(under),
        spec.decision,
    )


def figures(
    engine: Engine | FastEngine,
    warmup: int,
    *,
    settles: bool = True,
    steps: Steps | None = None,
) -> RunFigures:
    """Compute the results of a run in which some worker has reached its last step."""
    steps = engine.steps() if steps is None else steps
    workers = len(engine.spent_ns)
    counted = count_settled(steps, workers, warmup) if settles else count_all(steps, warmup)
    return RunFigures(
        engine="fast" if isinstance(engine, FastEngine) else "generic",
        steps_per_s=counted.steps_per_s,
        sent_per_s=counted.sent_per_s,
        left_out=float(counted.left_out),
        steady=counted.steady,
        spent_ns=engine.spent_ns.copy(),
        steps=steps,
        counted=counted.steps,
    )


def as_measured(engine: Engine | FastEngine, first: int, last: int) -> float:
    """Steps per second of these steps behind the common start; the run goes on as far as needed."""
    run_to_step(engine, last)
    return measured_steps_per_s(engine.steps(), first, last)
