"""The phases of one worker's step, as a capture of its packets would show them."""

import numpy as np
from numpy.typing import NDArray

from netcosim.training.plan import DOWN, UP, Floats
from sim.analytic import Phases
from sim.engine.engine import Chunks
from sim.experiment.cell import TrainingCell
from sim.experiment.run import conditions_of, make_tracing_engine


def phases(cell: TrainingCell) -> Phases | None:
    """Mean phases of one worker alone; None with several servers, as theirs overlap.

    Each recorded step is done once, or as many of them as a run has steps. For a cell without
    stragglers.
    """
    plan = cell.plans(0).plan
    if plan.servers > 1:
        return None
    count = min(plan.steps, cell.scenario.training.steps)
    drawn = np.arange(count, dtype=np.int32)[np.newaxis]
    engine = make_tracing_engine(cell, 0, conditions_of(cell, 1, 0, 0.0), drawn)
    engine.run()
    steps, chunks = engine.steps(), engine.chunks()
    start_ns, end_ns = steps.start_ns, steps.end_ns  # of one worker: in the order of its steps
    direction = np.array([c.direction for c in plan.channels])[plan.place[chunks.operation]]
    down_first, down_last = _spans(chunks, direction == DOWN, start_ns)
    up_first, up_last = _spans(chunks, direction == UP, end_ns)
    return Phases(
        down_ns=(float(np.mean(down_last - down_first)),),
        worker_ns=float(np.mean(np.maximum(0.0, up_first - down_last))),
        up_ns=(float(np.mean(up_last - up_first)),),
        server_ns=(float(np.mean(end_ns - up_last)),),
    )


def _spans(chunks: Chunks, these: NDArray[np.bool_], without: Floats) -> tuple[Floats, Floats]:
    """(steps,) when the first of these chunks begins and the last ends.

    If there are none, both are `without`.
    """
    if not these.any():
        return without, without
    first, last = np.full(len(without), np.inf), np.zeros(len(without))
    np.minimum.at(first, chunks.step[these], chunks.start_ns[these])
    np.maximum.at(last, chunks.step[these], chunks.end_ns[these])
    return first, last
