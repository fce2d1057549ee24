"""SYNTHETIC simulations: a toy with links that serve one message at a time stands for the engine.

Nothing here is a prediction of anything; it only has the shape of what a simulation leaves.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from netcosim.results.folder import ResultsFolder
from netcosim.results.training.operations import WORKER, OperationColumns, link_place, server_place
from netcosim.results.training.steps import StepColumns
from netcosim.results.training.summary import (
    Change,
    Estimate,
    LinkUse,
    Point,
    Recommendation,
    Series,
    TrainingSummary,
)
from netcosim.scenario import Scenario
from sim.experiment.statistics import (
    estimate,
    overlap,
    saturation,
    step_times,
    straggler_ns,
    time_shares,
    worker_utilisation,
)
from tests.netcosim.results.synthetic import scenario

RATE_BPS = 1_000_000_000
BATCH = 32


@dataclass(frozen=True, kw_only=True)
class Job:
    """One cell of a simulation; sizes in bytes, times in ns, both of each tensor."""

    workload: str = "alexnet"
    transport: str = "h2-on"
    servers: int = 1
    sizes: tuple[int, ...] = (400_000, 1_200_000, 3_000_000, 9_000_000, 2_000_000)
    compute_ns: tuple[int, ...] = (110_000_000, 225_000_000, 150_000_000, 60_000_000, 40_000_000)
    counts: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16)
    runs: int = 3
    steps: int = 40
    traced_steps: int = 4
    stragglers: tuple[str, ...] = ()
    slow: float = 1.0
    lead: int | None = None

    @property
    def cell(self) -> str:
        return f"{self.workload}/{self.transport}"

    @property
    def names(self) -> list[str]:
        layers = range(len(self.sizes))
        return [
            *(f"layer{i}/pull" for i in layers),
            *(f"layer{i}/forward" for i in layers),
            *(f"layer{i}/backward" for i in reversed(layers)),
            *(f"layer{i}/push" for i in reversed(layers)),
            *(f"layer{i}/update" for i in reversed(layers)),
        ]

    @property
    def places(self) -> list[str]:
        there = [i % self.servers for i in range(len(self.sizes))]
        back = there[::-1]
        return [
            *(link_place(k, "down") for k in there),
            *([WORKER] * 2 * len(there)),
            *(link_place(k, "up") for k in back),
            *(server_place(k) for k in back),
        ]

    @property
    def op_bytes(self) -> list[int]:
        none = [0] * len(self.sizes)
        return [*self.sizes, *none, *none, *self.sizes[::-1], *none]


Row = tuple[int, int, int, float, float, float]


def toy(job: Job, workers: int, run: int, steps: int) -> list[Row]:
    """Rows of worker, step, operation, ready, start, end."""
    rng = np.random.default_rng([run, workers])
    free: dict[str, float] = {}
    done = [0] * workers
    waiting: list[tuple[float, int]] = [(0.0, w) for w in range(workers)]
    rows: list[Row] = []
    parked: list[tuple[float, int]] = []
    while waiting:
        now, worker = heapq.heappop(waiting)
        if job.lead is not None and done[worker] - min(done) > job.lead:
            parked.append((now, worker))
            continue
        end = _step(job, worker, done[worker], now, free, rng, rows)
        done[worker] += 1
        if done[worker] < steps:
            heapq.heappush(waiting, (end, worker))
        for time, other in parked:
            heapq.heappush(waiting, (max(time, end), other))
        parked.clear()
    return sorted(rows, key=lambda row: row[5])


def _step(job, worker, step, now, free, rng, rows) -> float:
    layers = len(job.sizes)
    factor = job.slow if worker == 0 else 1.0
    took = rng.lognormal(0.0, 0.2, 2 * layers) * factor
    places, sizes = job.places, job.op_bytes
    ends: dict[int, float] = {}

    def do(op: int, ready: float, length: float) -> float:
        # On a shared link a message begins at once and ends when its turn would have ended.
        mine = f"{places[op]} of {worker}"
        start = max(ready, free.get(mine, 0.0))
        link = places[op].endswith((" down", " up"))
        ends[op] = max(start, free.get(places[op], 0.0) if link else 0.0) + length
        free[mine] = free[places[op]] = ends[op]
        rows.append((worker, step, op, ready, start, ends[op]))
        return ends[op]

    compute = 0.0
    for i in range(layers):
        do(i, now, sizes[i] * 8e9 / RATE_BPS)
    for i in range(layers):
        length = job.compute_ns[i] * took[i] / 3
        compute = do(layers + i, max(ends[i], compute or ends[i]), length)
    for i in range(layers):
        length = 2 * job.compute_ns[layers - 1 - i] * took[layers + i] / 3
        compute = do(2 * layers + i, compute, length)
        do(3 * layers + i, compute, sizes[3 * layers + i] * 8e9 / RATE_BPS)
        do(4 * layers + i, ends[3 * layers + i], 500_000)
    return max(ends.values())


def columns_of(rows, *, names, places, sizes, cell="a/b", workers=1, run=0) -> OperationColumns:
    """Columns of rows as `toy` gives them."""
    worker, step, operation, *times = (np.array(c) for c in zip(*rows, strict=True))
    return OperationColumns.of_run(
        **{"cell": cell, "workers": workers, "run": run},
        **{"names": names, "places": places, "sizes": sizes},
        **{"worker": worker, "step": step, "operation": operation},
        **dict(zip(("ready_ns", "start_ns", "end_ns"), times, strict=True)),
    )


def operation_columns(job: Job, workers: int, run: int = 0) -> OperationColumns:
    rows = toy(job, workers, run, job.traced_steps)
    where = {"cell": job.cell, "workers": workers, "run": run}
    return columns_of(rows, names=job.names, places=job.places, sizes=job.op_bytes, **where)


def step_columns(job: Job, workers: int, run: int = 0) -> StepColumns:
    spans: dict[tuple[int, int], tuple[float, float]] = {}
    for worker, step, _, ready, _, end in toy(job, workers, run, job.steps):
        low, high = spans.get((worker, step), (ready, end))
        spans[worker, step] = (min(low, ready), max(high, end))
    keys = np.array(list(spans), dtype=np.int64)
    times = np.array(list(spans.values()))
    return StepColumns.of_run(
        cell=job.cell,
        workers=workers,
        run=run,
        worker=keys[:, 0],
        step=keys[:, 1],
        start_ns=times[:, 0],
        end_ns=times[:, 1],
    )


def spent_ns(job: Job, workers: int) -> list[float]:
    """Time by mode, of what the toy did in its first steps."""
    rows = toy(job, workers, 0, job.traced_steps)
    places = job.places
    spent = [0.0] * 9
    for worker in range(workers):
        edges = [
            (time, bit, sign)
            for w, _, op, _, start, end in rows
            for bit in [_bit(places[op])]
            if w == worker
            for time, sign in ((start, 1), (end, -1))
        ]
        busy, before = [0, 0, 0, 0], 0.0
        for time, bit, sign in sorted(edges):
            mode = sum(1 << b for b in range(3) if busy[b])
            spent[mode] += time - before
            before = time
            busy[bit] += sign
    return spent


def _bit(place: str) -> int:
    return {"worker": 1, "down": 0, "up": 2, "ps": 3}[place.rsplit(maxsplit=1)[-1]]


def point(job: Job, workers: int) -> Point:
    rates, lengths = [], []
    for run in range(job.runs):
        steps = step_columns(job, workers, run)
        lengths.append(steps)
        rates.append(workers * job.steps * 1e9 / float(steps.end_ns.max()))
    first = lengths[0]
    time = time_shares(spent_ns(job, workers))
    mean = sum(rates) / len(rates)
    return Point(
        workers=workers,
        runs=job.runs,
        steps=job.steps,
        warmup=0,
        engine="generic",
        steps_per_s=estimate(rates),
        examples_per_s=estimate([BATCH * rate for rate in rates]),
        step_ns=step_times(np.concatenate([s.end_ns - s.start_ns for s in lengths])),
        time=time,
        overlap=overlap(time),
        link_utilisation=tuple(
            LinkUse(server=k, direction=way, utilisation=min(1.0, mean / limit))
            for way in ("down", "up")
            for k in range(job.servers)
            for limit in [limits(job)[link_place(k, way)]]
        ),
        worker_utilisation=worker_utilisation(time),
        straggler_ns=straggler_ns(first.step, first.end_ns, workers) if job.lead == 0 else None,
        baselines=_baselines(job, workers),
    )


def limits(job: Job) -> dict[str, float]:
    moved: dict[str, int] = {}
    for place, size in zip(job.places, job.op_bytes, strict=True):
        if size:
            moved[place] = moved.get(place, 0) + size
    return {place: RATE_BPS / 8 / size for place, size in moved.items()}


def _baselines(job: Job, workers: int) -> dict[str, float | None]:
    link = 8e9 * sum(job.sizes) / job.servers / RATE_BPS
    compute = float(sum(job.compute_ns))
    most = min(limits(job).values())
    return {
        "cynthia": workers * 1e9 / (compute * max(1, workers * 0.3) + 2 * link),
        "lin": 1e9 / (compute / workers + 2 * link / min(workers, 2)),
        "no_overlap": min(workers * 1e9 / (compute + 2 * link), most),
        "perfect_overlap": min(workers * 1e9 / max(compute, link), most),
        "undefined": None,
    }


def series(job: Job) -> Series:
    points = tuple(point(job, workers) for workers in job.counts)
    alone = point(replace(job, slow=1.0), 1).steps_per_s
    return Series(
        cell=job.cell,
        workload=job.workload,
        transport=job.transport,
        profile="synthetic",
        batch=BATCH,
        servers=job.servers,
        rate_bps=RATE_BPS,
        discipline="fifo",
        window_bytes=None,
        synchronisation="asp" if job.lead is None else "bsp",
        lead=job.lead,
        order="as_listed",
        placement="round_robin",
        share="equal",
        stragglers=job.stragglers,
        alone=alone,
        limits_steps_per_s=limits(job),
        points=points,
        saturation=saturation(points, alone.mean),
    )


def change(what: str, before: str, after: str, gain: float, *, beyond: bool = True) -> Change:
    """A change from 10 examples/s."""
    rate = Estimate(mean=10 * (1 + gain), half_width=0.1, values=(10 * (1 + gain),))
    return Change.model_validate(
        {
            **{"what": what, "before": before, "after": after},
            **{"examples_per_s": rate, "gain": gain, "beyond": beyond},
        }
    )


CHANGES = (
    change("workers", "6", "7", 0.001, beyond=False),
    change("servers", "1", "2", 0.42),
    change("rate", "1 Gbit/s", "2 Gbit/s", 0.9),
    change("transport", "h2-on", "h2-off", -0.125),
    change("batch", "32", "64", -0.0004, beyond=False),
)


def recommendation(changes: Sequence[Change] = CHANGES, *, reached: bool = True) -> Recommendation:
    return Recommendation(
        workers=6,
        reached=reached,
        examples_per_s=Estimate(mean=10.0, half_width=0.1, values=(10.0,)),
        bottleneck="the downlink of server 0 is full (96 %)",
        changes=tuple(changes),
    )


def training_summary(jobs, *, complete=True, trusted=True, reasons=()) -> TrainingSummary:
    return TrainingSummary(
        scenario="synthetic",
        seed=1,
        complete=complete,
        trusted=trusted,
        reasons=reasons,
        engine="0123456789abcdef",
        series=tuple(series(job) for job in jobs),
    )


def training_scenario() -> Scenario:
    return scenario(description="a made-up simulation")


def write_training_folder(path, jobs, *, complete=True, trusted=True, reasons=()) -> None:
    """A whole results folder but for run record and report."""
    with ResultsFolder.create(path, training_scenario(), world="sim") as folder:
        folder.write_operations(operation_columns(job, n) for job in jobs for n in job.counts)
        folder.write_steps(step_columns(job, n) for job in jobs for n in job.counts)
        made = training_summary(jobs, complete=complete, trusted=trusted, reasons=reasons)
        folder.write_summary(made)
        folder.write_perfetto()
