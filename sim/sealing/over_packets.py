"""Predictions by many runs over TCP, each packet followed."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from netcosim.parallel_map import side_by_side
from sim.sealing.assumed import Assumed
from sim.sealing.ensemble import RUNS, Ensemble, perturbed
from sim.sealing.over_models import OverModels, run_over_models


def run_over_packets(
    assumed: Assumed, workers: int, done: Callable[[int], None] = lambda _: None
) -> Ensemble | None:
    """Run a job of so many workers again and again; None where a run comes to rest.

    Which packet finds a queue full, and which worker gets ahead of others, hangs on microseconds,
    and much follows from it: what can be told is the mean of many runs. Computations vary, and the
    order in which workers begin. `done` is told how many runs of `RUNS` are done.
    """
    runs = []
    for number, run in enumerate(side_by_side(partial(_run, assumed, workers), range(RUNS)), 1):
        done(number)
        if run is not None:
            runs.append(run)
    if len(runs) < RUNS:
        return None
    return Ensemble.of(runs)


def _run(assumed: Assumed, workers: int, number: int) -> OverModels | None:
    rng = np.random.default_rng(np.random.SeedSequence(assumed.seed, spawn_key=(workers, number)))
    job = perturbed(assumed.as_recorded.first(workers), rng)
    begins = [int(worker) for worker in rng.permutation(workers)]
    return run_over_models(replace(assumed, as_recorded=job), workers, begins)
