"""Throughput as an experimenter measures it: a few steps behind a common start, none left out.

Published measurements of training take 10 to 30 steps of workers that begin together. These are in
step then, and the rate differs from the one that a run settles at.
"""

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.training.stragglers import Conditions
from sim.engine.base import BaseEngine, Steps
from sim.engine.engine import Engine, Stop
from sim.fast.engine import FastEngine


def measured_steps_per_s(steps: Steps, first: int, last: int) -> float:
    """Sum of the workers' own rates over their steps `first` to `last`, counted from 1.

    A worker's rate is the number of these steps over the time from its end of step `first` - 1, or
    from the beginning of the run for `first` 1, to its end of step `last`: what a log of the ends
    of each worker's steps gives. Where gradients are joined a step counts as the part of the
    updates that it entered, and a step that a worker skipped has no row in its log: the time then
    is from its last end before step `first` to its last one up to step `last`.

    Parameters
    ----------
    steps : all that ended, of workers that begin step 1 at time 0
    """
    upto = steps.step < last
    before = steps.step < first - 1
    begins, ends, count = np.zeros((3, int(steps.worker.max(initial=-1)) + 1))
    np.maximum.at(begins, steps.worker[before], steps.end_ns[before])
    np.maximum.at(ends, steps.worker[upto], steps.end_ns[upto])
    np.add.at(count, steps.worker[upto & ~before], steps.weight[upto & ~before])
    some = count > 0
    return float((count[some] / (ends[some] - begins[some])).sum() * 1e9)


def run_to_step(engine: Engine | FastEngine, last: int) -> None:
    """Go on until every worker has step `last` behind it, counted from 1, or no more can happen.

    A worker that has ended all of its steps idles meanwhile.
    """
    while _least(engine) < last and engine.run() != Stop.IDLE:
        pass


def _least(engine: BaseEngine) -> int:
    return int(engine.done.min())


def check_common_start(measured: tuple[int, int] | None, under: Conditions) -> None:
    """Refuse to measure behind a common start where not every worker is there all the time.

    Raises
    ------
    ScenarioError
        Some worker joins or leaves.
    """
    if measured is not None and (under.absent or under.presence):
        allowed = (
            "needs workers that are there from the start to the end; a straggler joins or leaves"
        )
        raise ScenarioError.at("training.measured", list(measured), allowed)
