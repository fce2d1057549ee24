"""Speed of the default scenario (today's gRPC) on both engines, and with other shares of links."""

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Final

from bench.common.record import Figure
from bench.peers.reference import reference_draws
from bench.sim.engines import Rows
from bench.sim.reference_job import FAST, GENERIC, SEED, engine_competitor, loop_s
from bench.sim.timing import Competitor, Effort, alternate, enough, ratio_figure, us_figure
from netcosim.scenario import read_scenario
from netcosim.training.plan import Draws
from sim.engine.engine import Engine
from sim.experiment.cell import TrainingCell, training_cells
from sim.fast.engine import FastEngine

SHARES: Final = ("max_min", "two_servers")
_SERVERS: Final = 2


def everyday_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Time the default scenario's cells on both engines; then with two servers, other shares."""
    for cell in default_cells():
        for workers in effort.everyday_workers:
            title = f"{cell.name}, 1 Gbit/s, asynchronous, W={workers}"
            timings = alternate(
                [
                    competitor(cell, workers, FAST, effort.least_s),
                    competitor(cell, workers, GENERIC, effort.least_s),
                ],
                effort.rounds,
            )
            rows += [timing.row(job=title) for timing in timings]
            yield from (us_figure(f"{title}: {t.name}", t) for t in timings)
            fast, generic = timings
            yield ratio_figure(f"{title}: {GENERIC} against {FAST}", generic, fast)
    for share in SHARES:
        cell = default_cells(servers=_SERVERS, share=share)[0]
        for workers in effort.everyday_workers:
            title = f"{cell.name}, {_SERVERS} servers, share {share}, W={workers}"
            (timing,) = alternate(
                [competitor(cell, workers, GENERIC, effort.least_s)], effort.rounds
            )
            rows.append(timing.row(job=title))
            yield us_figure(f"{title}: {GENERIC}", timing)


def default_cells(*, servers: int = 1, share: str = "equal") -> tuple[TrainingCell, ...]:
    """The cells of the scenario that `sim.run` runs by default."""
    with resources.as_file(resources.files("sim") / "scenarios" / "default.toml") as path:
        scenario = read_scenario(Path(path))
    return training_cells(
        scenario.model_copy(
            update={
                "cluster": scenario.cluster.model_copy(update={"servers": servers}),
                "training": scenario.training.model_copy(update={"share": share}),
            }
        )
    )


def competitor(cell: TrainingCell, workers: int, engine: str, least_s: float) -> Competitor:
    """An engine on the fused plan of a cell's first run."""
    prepared = cell.plans(0)

    def draws(steps: int) -> Draws:
        return reference_draws(workers, steps, SEED, prepared.plan.steps)

    def make(drawn: Draws) -> FastEngine | Engine:
        job = (prepared.fused, cell.network(workers), cell.sending, drawn)
        if engine == GENERIC:
            return Engine(*job)
        return FastEngine(*job, shape=prepared.shape)

    steps = enough(lambda count: loop_s(make, draws(count)), least_s, begin=2)
    return engine_competitor(engine, make, draws(steps))
