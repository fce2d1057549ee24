"""Costs of coordinators: time of a decision, and of simulating many workers under one."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.balance.jobs import job, run
from bench.balance.processes import is_installed
from bench.common.record import Figure, at_most
from netcosim.policies.coordinator.observed import Ended, Use
from netcosim.policies.coordinators import (
    coordinator_names,
    make_coordinator,
    predictor_names,
    predictor_of,
)
from netcosim.scenario import CoordinationSpec

WORKERS, STEPS = 32, 300
MANY, MANY_STEPS = 256, 1000

Json = dict[str, Any]


def cost_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Microseconds a worker and step, without engine; and a large simulation."""
    for kind in coordinator_names():
        cost_us = min(_cost_us(kind) for _ in range(3))
        rows.append({"part": "costs", "coordinator": kind, "us": cost_us})
        yield at_most(f"{kind}: a worker's step", cost_us, "us", 10)
    yield from _predictors(rows, quick=quick)
    steps = 50 if quick else MANY_STEPS
    coordination = {"kind": "lb_bsp", "predictor": "average"}
    data = job(coordination, workers=MANY, steps=steps, rate="100gbit")
    run(job(coordination, workers=2, steps=5, rate="100gbit"), lambda *_: None)  # compiles
    begin = time.perf_counter()
    run(data, lambda *_: None)
    seconds = time.perf_counter() - begin
    yield at_most(f"LB-BSP, {MANY} workers, {steps} steps: simulated in", seconds, "s", 60)


def _predictors(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Time of predictors alone: estimating and training as often as they do, and predicting."""
    for name in filter(is_installed, predictor_names()):
        cost_us = _predictor_us(name, steps=50 if quick else STEPS)
        rows.append({"part": "costs", "predictor": name, "us": cost_us})
        yield Figure(name=f"predictor {name}: a worker's step", value=cost_us, unit="us")


def _predictor_us(name: str, steps: int) -> float:
    predictor = predictor_of(CoordinationSpec(kind="lb_bsp", predictor=name), 1)(0)
    rng = np.random.default_rng(1)
    speeds, uses = (20 + 5 * rng.random(steps)).tolist(), rng.random((steps, 2)).tolist()
    begin = time.process_time()
    for speed, (processor, memory) in zip(speeds, uses, strict=True):
        predictor.observe(speed)
        predictor.predict(Use(processor=processor, memory=memory))
    return (time.process_time() - begin) * 1e6 / steps


def _cost_us(kind: str) -> float:
    """Processor time of a coordinator alone, with the cheapest predictor, a worker and step."""
    options = {"first": WORKERS} if kind == "redundant" else {}
    coordinator = make_coordinator(
        CoordinationSpec(kind=kind, options=options, predictor=None), WORKERS, 1
    )
    rng = np.random.default_rng(1)
    taken = (1e9 * (1 + 0.1 * rng.random((STEPS, WORKERS)))).tolist()
    batches = [128] * WORKERS
    for worker, batch in coordinator.begin(batches):
        batches[worker] = batch
    use = Use(memory=0.5)
    begin = time.process_time()
    for step in range(STEPS):
        out = []
        for worker in range(WORKERS):
            ended = Ended(
                worker=worker, step=step, batch=batches[worker], taken_ns=taken[step][worker]
            )
            out += coordinator.ended(ended, lambda _: use)
        for worker, batch in out:
            batches[worker] = batch
    return (time.process_time() - begin) * 1e6 / STEPS / WORKERS
