"""The reference job on our engines and the C++ twin, over numbers of workers."""

import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.common.record import Figure
from bench.peers.reference import reference_network, reference_sending
from bench.sim.reference_job import (
    FAST,
    GENERIC,
    RATES_BPS,
    TWIN,
    Job,
    engine_competitor,
    gigabits,
    loop_s,
    plan_of,
    twin_competitor,
)
from bench.sim.timing import (
    Competitor,
    Effort,
    Timing,
    alternate,
    enough,
    judged,
    ratio_figure,
    seconds_figure,
    us_figure,
)
from netcosim.training.plan import Draws
from sim.fast.engine import FastEngine
from sim.fast.shape import fast_shape

FAST_US: Final = 25.0
GENERIC_US: Final = 200.0
GENERIC_W: Final = 4
FLAT: Final = 1.3
TWIN_RATIO: Final = 1.3
SCALING_S: Final = 2.0
SCALING_W: Final = range(2, 11)
PAPER_S: Final = 117
"""Time in Li et al. (ICPE 2020), section 4.5: 2 to 10 workers, the profiling of one included."""

_TWIN_IS_FASTER = 2.0  # the twin, too, shall be measured long enough
_RAW, _COLLAPSED = f"{GENERIC}, raw", f"{GENERIC}, collapsed"
_FAST_COLLAPSED = f"{FAST}, collapsed"

Rows = list[dict[str, Any]]


def engine_figures(effort: Effort, build: Path, rows: Rows) -> Iterator[Figure]:
    """Time every number of workers, both synchronisations, both rates; rows are added to."""
    for rate_bps in RATES_BPS:
        for staleness in (None, 0):
            found: dict[int, Timing] = {}
            for workers in effort.workers:
                job = Job(rate_bps=rate_bps, workers=workers, staleness=staleness)
                timings = time_job(job, effort, build)
                rows += [timing.row(job=job.title) for timing in timings.values()]
                yield from _figures_of(job, timings)
                found[workers] = timings[FAST]
            yield flatness(job.title.rpartition(",")[0], found)


def time_job(job: Job, effort: Effort, build: Path) -> dict[str, Timing]:
    """Time our engines and the twin in turn on one job."""
    draws = _draws_for(job, FAST, _TWIN_IS_FASTER * effort.least_s)
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as scratch:
        dump = Path(scratch) / "job.bin"
        job.write_dump(dump, draws)
        competitors = [
            engine_competitor(FAST, job.fast, draws),
            twin_competitor(build, dump, draws),
        ]
        if job.staleness is None and job.workers in effort.generic_workers:
            competitors += _generic_competitors(job, effort.least_s)
        return {t.name: t for t in alternate(competitors, effort.rounds)}


def _generic_competitors(job: Job, least_s: float) -> list[Competitor]:
    smaller = replace(job, collapsed=True)
    return [
        engine_competitor(_FAST_COLLAPSED, smaller.fast, _draws_for(smaller, FAST, least_s)),
        engine_competitor(_RAW, job.generic, _draws_for(job, GENERIC, least_s)),
        engine_competitor(_COLLAPSED, smaller.generic, _draws_for(smaller, GENERIC, least_s)),
    ]


def _draws_for(job: Job, engine: str, least_s: float) -> Draws:
    """Draws of as many steps as take an engine long enough."""
    make = job.fast if engine == FAST else job.generic
    steps = enough(lambda steps: loop_s(make, job.draws(steps)), least_s, begin=2)
    return job.draws(steps)


def _figures_of(job: Job, timings: Mapping[str, Timing]) -> Iterator[Figure]:
    yield us_figure(f"{job.title}: {FAST}", timings[FAST], FAST_US)
    yield us_figure(f"{job.title}: {TWIN}", timings[TWIN])
    yield ratio_figure(
        f"{job.title}: {FAST} against {TWIN}", timings[FAST], timings[TWIN], most=TWIN_RATIO
    )
    if _FAST_COLLAPSED in timings:
        yield us_figure(f"{job.title}: {_FAST_COLLAPSED}", timings[_FAST_COLLAPSED], FAST_US)
    for name in (_RAW, _COLLAPSED):
        if name in timings:
            target = GENERIC_US if job.workers == GENERIC_W else None
            yield us_figure(f"{job.title}: {name}", timings[name], target)
            yield ratio_figure(f"{job.title}: {name} against {TWIN}", timings[name], timings[TWIN])


def flatness(title: str, found: Mapping[int, Timing]) -> Figure:
    """Ratio of the dearest number of workers to the cheapest, of the medians and of the bests."""
    medians = [t.us(t.median_s) for t in found.values()]
    bests = [t.us(t.best_s) for t in found.values()]
    note = f"of the bests {max(bests) / min(bests):.4g}; W from {min(found)} to {max(found)}"
    name = f"{title}: {FAST}, dearest W against cheapest"
    return judged(name, max(medians) / min(medians), "x", most=FLAT, note=note)


def scaling_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Time of 2 to 10 workers one after the other, from the plan to the table of steps."""
    for rate_bps in RATES_BPS:
        steps = effort.scaling_steps
        measure = partial(_scaling_s, rate_bps, steps)
        competitor = Competitor(name=FAST, units=steps * sum(SCALING_W), measure=measure)
        (timing,) = alternate([competitor], effort.rounds)
        title = f"{gigabits(rate_bps)}, asynchronous, W=2 to 10, {steps} steps of each worker"
        rows.append(timing.row(job=title))
        yield seconds_figure(f"{title}: {FAST}", timing, SCALING_S)


def _scaling_s(rate_bps: int, steps: int) -> float:
    plan = plan_of(False)
    begin = time.perf_counter()
    shape = fast_shape(plan, reference_network(1, rate_bps), reference_sending())
    for workers in SCALING_W:
        job = Job(rate_bps=rate_bps, workers=workers)
        engine = FastEngine(plan, job.network, reference_sending(), job.draws(steps), shape=shape)
        engine.run()
        engine.steps()
    return time.perf_counter() - begin
