"""Prediction where links of one queue drop packets: runs over TCP, each packet followed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from netcosim.parallel_map import side_by_side
from netcosim.results.training.seal import Spread
from netcosim.training.plan import Floats
from sim.sealing.assumed import Assumed
from sim.sealing.ensemble import RUNS, perturbed, spread_of_rates
from sim.sealing.over_models import OverModels, run_over_models


@dataclass(frozen=True, slots=True, kw_only=True)
class OverPackets:
    """Perturbed runs of a job by its executors over models of its connections.

    Which packet finds a queue full hangs on microseconds, and much follows from it: what can be
    told is the mean of many runs.

    Attributes
    ----------
    examples_per_s : mean
    lengths_ns : of all runs, times from one end of a worker's step to the next
    spread : of the throughput
    """

    examples_per_s: float
    lengths_ns: Floats
    spread: Spread


def run_over_packets(
    assumed: Assumed, workers: int, done: Callable[[int], None] = lambda _: None
) -> OverPackets | None:
    """Run a job of so many workers again and again; None where a run comes to rest.

    `done` is told how many runs of `RUNS` are done.
    """
    runs = []
    for number, run in enumerate(side_by_side(partial(_run, assumed, workers), range(RUNS)), 1):
        done(number)
        if run is not None:
            runs.append(run)
    if len(runs) < RUNS:
        return None
    rates = np.array([run.examples_per_s for run in runs])
    return OverPackets(
        examples_per_s=float(rates.mean()),
        lengths_ns=np.concatenate([run.lengths_ns for run in runs]),
        spread=spread_of_rates(rates),
    )


def _run(assumed: Assumed, workers: int, number: int) -> OverModels | None:
    rng = np.random.default_rng(np.random.SeedSequence(assumed.seed, spawn_key=(workers, number)))
    job = perturbed(assumed.as_recorded.first(workers), rng)
    return run_over_models(replace(assumed, as_recorded=job), workers)
