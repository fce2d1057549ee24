"""Trace of a run's first steps, operation by operation."""

from dataclasses import dataclass

from netcosim.results.training.operations import OperationColumns, places_of
from netcosim.trace import Service, StreamRow
from netcosim.training.plan import DOWN
from sim.engine.engine import Chunks, Operations
from sim.experiment.cell import TrainingCell
from sim.experiment.run import (
    conditions_of,
    draw_steps,
    make_tracing_engine,
    play,
    trace_coordinated,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedRun:
    """Every operation of the first steps, and every transfer with its services."""

    operations: OperationColumns
    transfers: tuple[StreamRow, ...]


def trace(
    cell: TrainingCell, workers: int, run: int, steps: int, keep_workers: int | None = None
) -> TracedRun:
    """Simulate the first steps of a run again and keep what its workers do.

    All workers take part; of the first `keep_workers` everything is kept (None: of all).
    """
    plan = cell.plans(run).plan
    ended, chunks = _first_steps(cell, workers, run, steps, keep_workers)
    return TracedRun(
        operations=OperationColumns.of_run(
            cell=cell.name,
            workers=workers,
            run=run,
            names=plan.names,
            places=places_of(plan),
            sizes=plan.size_bytes,
            worker=ended.worker,
            step=ended.step,
            operation=ended.operation,
            ready_ns=ended.ready_ns,
            start_ns=ended.start_ns,
            end_ns=ended.end_ns,
        ),
        transfers=_transfers(cell, run, ended, chunks),
    )


def _first_steps(
    cell: TrainingCell, workers: int, run: int, steps: int, keep_workers: int | None
) -> tuple[Operations, Chunks]:
    """Simulate the first steps under the conditions and random draws of the whole run."""
    plan = cell.plans(run).plan
    drawn = draw_steps(cell, workers, run, plan.steps)[:, :steps].copy()
    horizon_ns = 2.0 * steps * float(plan.duration_ns.sum(axis=1).max())
    while True:
        under = conditions_of(cell, workers, run, horizon_ns)
        if cell.scenario.coordination is None:
            engine = make_tracing_engine(cell, run, under.first(steps), drawn, keep_workers)
            play(engine, under)
        else:
            engine = trace_coordinated(cell, run, under.first(steps), drawn, keep_workers)
        ended = engine.operations()
        last_ns = float(engine.steps().end_ns.max(initial=0.0))
        reached_ns = float(ended.end_ns.max(initial=last_ns))
        if reached_ns <= under.drawn_until_ns:
            return ended, engine.chunks()
        horizon_ns = 2.0 * reached_ns  # slow-downs were drawn for a shorter time


def _transfers(
    cell: TrainingCell, run: int, ended: Operations, chunks: Chunks
) -> tuple[StreamRow, ...]:
    """Trace rows, one per transfer; the burst is the step, and connections count up by worker."""
    plan = cell.plans(run).plan
    tensor_of = cell.plans(run).plans.tensor_of
    services: dict[tuple[int, int, int], list[Service]] = {}
    for i in range(len(chunks.worker)):
        key = (int(chunks.worker[i]), int(chunks.step[i]), int(chunks.operation[i]))
        start, end = round(chunks.start_ns[i]), round(chunks.end_ns[i])
        size = int(chunks.size_bytes[i])
        before = services.setdefault(key, [])
        if before and before[-1].end_ns == start:
            last = before.pop()
            start, size = last.start_ns, size + last.size_bytes
        before.append(Service(start_ns=start, end_ns=end, size_bytes=size))
    rows = []
    for i in range(len(ended.worker)):
        worker, step, op = int(ended.worker[i]), int(ended.step[i]), int(ended.operation[i])
        if plan.place[op] >= len(plan.channels):
            continue
        channel = plan.channels[plan.place[op]]
        ends = [f"s{channel.server}", f"w{worker}"]
        source, destination = ends if channel.direction == DOWN else reversed(ends)
        served = services[worker, step, op]
        rows.append(
            StreamRow(
                world="sim",
                model=cell.sending.discipline,
                cell=cell.name,
                burst=step,
                source=source,
                destination=destination,
                connection=worker * len(plan.channels) + int(plan.place[op]),
                stream=2 * op + 1,
                tensor=tensor_of[plan.names[op]],
                size_bytes=int(plan.size_bytes[op]),
                wire_bytes=int(plan.size_bytes[op]),
                ready_ns=round(ended.ready_ns[i]),
                start_ns=served[0].start_ns,
                wire_end_ns=served[-1].end_ns,
                delivered_ns=round(ended.end_ns[i]),
                services=tuple(served),
            )
        )
    return tuple(rows)
