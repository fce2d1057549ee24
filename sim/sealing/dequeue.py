"""Durations of computations from when each was ready and ended, with the time in queues left out.

A framework records when an operation could have begun and when it had ended; what it waited for its
processor is in between. On a processor that does one at a time the computation itself took
``end - max(ready, end of the one before)``. With more places than one that is not defined.
"""

from dataclasses import dataclass

import numpy as np

from netcosim.errors import StorageError
from netcosim.training.plan import Floats, Ints, StepPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Operations of one worker as its application saw them; equally long columns.

    Attributes
    ----------
    step, operation : numbers, of the plan's operations
    ready_ns, end_ns : times
    """

    step: Ints
    operation: Ints
    ready_ns: Ints
    end_ns: Ints


def durations(plan: StepPlan, recorded: Recorded, source: str) -> Floats:
    """Duration of each computation of each recorded step; 0 for transfers.

    Parameters
    ----------
    plan : of the step; its own durations are not looked at
    recorded : all operations of all steps
    source : names the record in errors

    Returns
    -------
    (steps, operations) in ns

    Raises
    ------
    StorageError
        A processor with several places, an operation that is missing or there twice, or one that
        ended before it was ready.
    """
    steps = int(recorded.step.max(initial=-1)) + 1
    found = np.zeros((steps, plan.operations))
    _check_complete(plan, recorded, steps, source)
    for number, processor in enumerate(plan.processors):
        mine = plan.place[recorded.operation] == len(plan.channels) + number
        if processor.capacity != 1 and mine.any():
            what = f"a processor of {processor.capacity} places"
            raise StorageError(f"{source}: {what}: how long its computations took is not defined")
        rows = np.flatnonzero(mine)
        rows = rows[np.lexsort((recorded.ready_ns[rows], recorded.end_ns[rows]))]
        end = recorded.end_ns[rows]
        before = np.concatenate([[np.iinfo(np.int64).min], end[:-1]])
        took = end - np.maximum(recorded.ready_ns[rows], before)
        if (took < 0).any():
            row = rows[int(np.argmax(took < 0))]
            name = plan.names[int(recorded.operation[row])]
            raise StorageError(f"{source}: {name}: ended before it was ready")
        found[recorded.step[rows], recorded.operation[rows]] = took
    return found


def _check_complete(plan: StepPlan, recorded: Recorded, steps: int, source: str) -> None:
    seen = np.zeros((steps, plan.operations), dtype=np.int64)
    np.add.at(seen, (recorded.step, recorded.operation), 1)
    if steps != plan.steps:
        raise StorageError(f"{source}: has {steps} steps; must be each of {plan.steps} once")
    if (seen != 1).any():
        step, op = np.argwhere(seen != 1)[0]
        times = int(seen[step, op])
        raise StorageError(f"{source}: step {step}: {plan.names[op]}: is there {times} times")
