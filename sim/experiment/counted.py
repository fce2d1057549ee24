"""Which part of a run counts, and the rate of steps in it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.engine.answers import Steps
from sim.experiment.settled import settled
from sim.plan import Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The time that counts.

    Attributes
    ----------
    steps_per_s : steps a second in that time, of all workers
    left_out : steps of each worker, beyond the warm-up, that were found not to be steady
    steady : whether the rest is
    steps : (steps,) which steps ended in that time
    """

    steps_per_s: float
    left_out: int
    steady: bool
    steps: NDArray[np.bool_]


def count_settled(steps: Steps, workers: int, warmup: int) -> Counted:
    """For a run whose conditions stay as they are.

    Time counts from when the first worker has ended its warm-up, or later, where the run is found
    not to have settled by then. It counts up to the time by which every worker has ended the last
    of its steps that are known. A step that lies in that time in part counts in part: its worker
    was at it since it ended the step before.
    """
    begins = _warm(steps, warmup)
    ended = np.sort(steps.end_ns[steps.end_ns > begins])
    rounds = np.diff(ended[workers - 1 :: workers], prepend=begins)
    first, steady = settled(rounds)
    if first:
        begins = float(ended[workers * first - 1])
    since_ns, last_ns = _since(steps)
    ends = float(last_ns.min())
    if ends <= begins:  # some worker ends hardly any
        return count_all(steps, warmup)
    inside = np.minimum(steps.end_ns, ends) - np.maximum(since_ns, begins)
    parts = np.clip(inside, 0.0, None) / (steps.end_ns - since_ns)
    return Counted(
        steps_per_s=float(parts.sum() / (ends - begins) * 1e9),
        left_out=first,
        steady=steady,
        steps=(steps.end_ns > begins) & (steps.end_ns <= ends),
    )


def count_all(steps: Steps, warmup: int) -> Counted:
    """For a run whose conditions change: there is nothing that it could settle to.

    All steps that end count, from when the first worker has ended its warm-up to when the first
    has ended its last step.
    """
    begins = _warm(steps, warmup)
    ends = float(steps.end_ns.max())
    counted = steps.end_ns > begins
    return Counted(
        steps_per_s=float(counted.sum() / (ends - begins) * 1e9),
        left_out=0,
        steady=True,
        steps=counted,
    )


def _warm(steps: Steps, warmup: int) -> float:
    return float(steps.end_ns[steps.step == warmup - 1].min()) if warmup else 0.0


def _since(steps: Steps) -> tuple[Floats, Floats]:
    """When each step's worker ended the step before, and each worker's last end."""
    order = np.lexsort((steps.step, steps.worker))
    worker, end_ns = steps.worker[order], steps.end_ns[order]
    first = np.flatnonzero(np.diff(worker, prepend=-1))
    before = np.concatenate([[0.0], end_ns[:-1]])
    before[first] = steps.start_ns[order][first]
    since_ns = np.empty_like(before)
    since_ns[order] = before
    return since_ns, end_ns[np.append(first[1:], len(end_ns)) - 1]
