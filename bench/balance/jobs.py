"""Jobs under coordinators: scenarios as plain data, and their runs on the engines."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import sim
from netcosim.scenario import build_scenario
from netcosim.workload.catalogue import load_profile
from sim.coordination.coordinated import CoordinatedRun
from sim.engine.engine import Engine
from sim.experiment.checks import checked_cells
from sim.experiment.link_share import with_share
from sim.experiment.run import conditions_of, draw_steps, make_coordinated
from sim.fast.engine import FastEngine

NETWORK: Final = "inception_v3"
BATCH: Final = 32

Json = dict[str, Any]


def job(
    coordination: Mapping[str, Any],
    *,
    workers: int,
    servers: int = 1,
    steps: int,
    rate: str = "10gbit",
    computation_ms: float = 1200.0,
    stragglers: Sequence[Json] = (),
) -> Json:
    """A scenario with one cell: computations of a batch of 32 take so long."""
    # A profile's durations are of its own batch.
    scaled = computation_ms * load_profile(NETWORK).batch / BATCH
    return {
        "name": "balance",
        "repetitions": 1,
        "cluster": {
            "topology": "star",
            "servers": servers,
            "workers": workers,
            "link": {"rate": rate},
        },
        "workload": [{"name": "job", "profile": NETWORK, "computation": f"{scaled:.6g}ms"}],
        "transport": [{"name": "grpc", "sender": "grpc", "receiver": "grpc"}],
        "training": {
            "steps": steps,
            "warmup": steps // 3,
            "workers": [workers],
            "batch": BATCH,
            "recorded": 1,
        },
        "straggler": list(stragglers),
        "coordination": dict(coordination),
    }


def examples_per_s(data: Json) -> float:
    """Examples that entered updates, a second, of a job's steady state."""
    (series,) = sim.simulate(build_scenario(data)).summary.series
    return float(series.points[-1].examples_per_s.mean)


def run(
    data: Json, watch: Callable[[Engine | FastEngine, CoordinatedRun, int, int], None]
) -> tuple[Engine | FastEngine, CoordinatedRun]:
    """Run a job once; `watch` is told of the worker and number of each step that ends."""
    scenario = with_share(build_scenario(data))
    (cell,) = checked_cells(scenario)
    workers = data["training"]["workers"][0]
    prepared = cell.plans(0)
    drawn = draw_steps(cell, workers, 0, prepared.steps)
    under = conditions_of(cell, workers, 0, 1e15)
    engine, coordinated = make_coordinated(cell, 0, under, np.asarray(drawn))
    coordinated.run(until_first=True, watch=lambda w, s: watch(engine, coordinated, w, s))
    return engine, coordinated
