"""Runs a second of the same points: on Ray, and in plain processes that share nothing.

``python -m bench.sweeps.throughput ray|plain KIND SECONDS FOLDER``: makes runs of a kind for so
long, and prints JSON: runs a second in the steady state, processor time of all processes beside it.

The steady state begins `_WARM_S` after the first run's end. In it each process has a rate, runs
over the time from its first end to its last; their sum is the figure, so that what a run in flight
at either end of the time costs is not in it.
"""

import contextlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ray_sweeps.runner.own_network import enter_own_network

_WARM_S: Final = 15.0


class _EnoughError(Exception):
    """The time is over."""


@dataclass
class Until:
    """A listener that ends a sweep after so many seconds, and notes processor times."""

    seconds: float
    begun_s: float = field(default_factory=time.monotonic)
    marks: list[tuple[float, float]] = field(default_factory=list)

    def say(self, message: str) -> None:
        """Do nothing."""

    def progressed(self, state: Any) -> None:
        """End the sweep when the time is over."""
        now_s = time.monotonic()
        if not state.made:
            self.begun_s = now_s
            return
        if not self.marks and now_s - self.begun_s >= _WARM_S:
            self.marks.append((now_s, processor_s()))
        if now_s - self.begun_s >= self.seconds:
            self.marks.append((now_s, processor_s()))
            raise _EnoughError


def on_ray(kind: str, seconds: float, path: Path) -> dict[str, float]:
    """Make runs by the project's own driver on a Ray of its own."""
    from bench.sweeps.timed import Timed, points_of
    from netcosim.results.storage.directory import make_path
    from ray_sweeps.runner.drive import State, drive
    from ray_sweeps.runner.local_ray import local_ray
    from ray_sweeps.runner.on_ray import OnRay
    from ray_sweeps.runner.work import Work
    from ray_sweeps.store.dataset import Dataset

    folder, _ = make_path(path, None)
    timed, cores = Timed(points_of(kind)), len(os.sched_getaffinity(0))
    begun_s = time.monotonic()
    with local_ray(folder, cores, print):
        started_s = time.monotonic() - begun_s
        until = Until(seconds)
        state = State(work=Work(numbers=len(timed), runs=1), processors=cores)
        with contextlib.suppress(_EnoughError):
            drive(state, OnRay(timed), Dataset(folder, timed.schema()), until)
    return {"start_s": started_s, **steady(path, until.marks)}


def in_processes(kind: str, seconds: float, path: Path) -> dict[str, float]:
    """Make runs in a process for each processor, each every n-th point into its own files."""
    cores = len(os.sched_getaffinity(0))
    context = multiprocessing.get_context("spawn")
    begun_s = time.monotonic()
    processes = [
        context.Process(target=_plain, args=(kind, seconds, path / str(i), i, cores))
        for i in range(cores)
    ]
    for process in processes:
        process.start()
    while not len(list(path.glob("*/runs/*.parquet"))) >= cores:
        time.sleep(0.1)
    started_s = time.monotonic() - begun_s
    time.sleep(_WARM_S)
    marks = [(time.monotonic(), processor_s())]
    while True:
        mark = (time.monotonic(), processor_s())
        if not all(process.is_alive() for process in processes):
            break
        if mark[1] >= marks[-1][1]:  # one that is just ending may not be counted any more
            marks = [marks[0], mark]
        time.sleep(0.2)
    for process in processes:
        process.join()
    return {"start_s": started_s, **steady(path, marks)}


def _plain(kind: str, seconds: float, path: Path, first: int, step: int) -> None:
    """One plain process: a loop, and the same rows in the same files."""
    import pyarrow as pa

    from bench.sweeps.timed import Timed, points_of
    from netcosim.results.storage.directory import make_path
    from ray_sweeps.evaluation import Rows
    from ray_sweeps.store.dataset import Dataset

    folder, _ = make_path(path, None)
    timed = Timed(points_of(kind))
    dataset = Dataset(folder, timed.schema())
    begun_s, rows, number = None, list[dict[str, Any]](), first
    while begun_s is None or time.monotonic() - begun_s < seconds:
        point = timed.resolve(number)
        assert point is not None
        rows.append(timed.evaluate(number, 0, point.key))
        number += step
        begun_s = begun_s or time.monotonic()
        if time.monotonic() - rows[0]["ended_s"] > 1.0 or len(rows) == 1 == number - first:
            table = pa.Table.from_pylist(rows, schema=timed.schema())
            dataset.add(Rows(table=table, seconds=0.0, errors=0))
            rows.clear()
    if rows:
        table = pa.Table.from_pylist(rows, schema=timed.schema())
        dataset.add(Rows(table=table, seconds=0.0, errors=0))
    dataset.flush()


def steady(path: Path, marks: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Figures of the steady state from the rows and from two marks of processor time."""
    import polars

    rows = (
        polars.scan_parquet(path / "**/*.parquet").select("ended_s", "process", "error").collect()
    )
    failed = rows["error"].drop_nulls()
    if len(failed):
        raise RuntimeError(failed[0])
    first = rows["ended_s"].min()
    assert isinstance(first, float)
    rate, made = 0.0, 0
    for (_,), own in rows.filter(polars.col("ended_s") > first + _WARM_S).group_by("process"):
        ends = own["ended_s"].sort()
        if len(ends) > 1:
            rate += (len(ends) - 1) / (ends[-1] - ends[0])
            made += len(ends)
    (begin_s, used), (end_s, used_then) = marks[0], marks[-1]
    return {
        "runs_per_s": rate,
        "runs": made,
        "seconds": end_s - begin_s,
        "processors_used": (used_then - used) / (end_s - begin_s) if end_s > begin_s else 0.0,
    }


def processor_s() -> float:
    """Processor time so far of all processes in this one's network, which it has for itself."""
    own = Path("/proc/self/ns/net").readlink()
    total = 0
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            if (process / "ns/net").readlink() == own:
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def main(arguments: Sequence[str]) -> None:
    """Measure, and print the figures."""
    how, kind, seconds, path = arguments
    if not enter_own_network():
        raise SystemExit("throughput: no network of its own can be had here")
    measure = {"ray": on_ray, "plain": in_processes}[how]
    found = measure(kind, float(seconds), Path(path))
    print(json.dumps({"how": how, "kind": kind, **found}))


if __name__ == "__main__":
    main(sys.argv[1:])
