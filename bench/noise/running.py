"""Runs of the default scenario under the load generator, one after the other."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.common.children import ENDS_WITH_US
from bench.common.record import RESULTS, commit
from bench.noise import run_records
from bench.noise.run_records import Cell, Run
from netcosim.errors import StorageError
from netcosim.results.folder import ResultsFolder

ROOT: Final = Path(__file__).parent.parent.parent
COMMAND: Final = (str(ROOT / "dev"), "run")
"""Command of a run, as a person starts it; ``--out`` follows."""

FOLDERS: Final = RESULTS / ".noise"
"""Results folders of runs that something was wrong with, and of the run at hand."""

LONGEST_S: Final = 900.0
"""A run that takes longer hangs."""

HUNG: Final = 124
_MOST_SAID: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Command of the runs, and paths of their records and folders."""

    command: Sequence[str] = COMMAND
    kept: Path = run_records.KEPT
    folders: Path = FOLDERS


def order_of(loads: Sequence[int], runs: int) -> list[tuple[int, int]]:
    """All runs as (load, number): each load once before any comes again, and first in its turn."""
    count = len(loads)
    return [(loads[(n + i) % count], n) for n in range(runs) for i in range(count)]


def run_missing(
    loads: Sequence[int],
    runs: int,
    *,
    budget_s: float,
    say: Callable[[str], None],
    place: Place | None = None,
) -> None:
    """Run what has not ended yet, until the budget is used up.

    A run that has ended is kept, however it ended; one that was killed with this is done again.
    """
    there = place or Place()
    begin = time.monotonic()
    done = {(run.load, run.number) for run in run_records.read(there.kept)}
    for load, number in order_of(loads, runs):
        if (load, number) in done:
            continue
        if time.monotonic() - begin > budget_s:
            say(f"the budget of {budget_s:.0f} s is used up before run {number} at {load} %")
            return
        run = run_once(load, number, there)
        run_records.keep(run, there.kept)
        say(_line(run))


def run_once(load: int, number: int, place: Place) -> Run:
    """One run under this load, in %."""
    out = place.folders / f"{load}-{number}"
    shutil.rmtree(out, ignore_errors=True)
    place.folders.mkdir(parents=True, exist_ok=True)
    with loaded(load / 100, seed=number) as generator:
        before, begin = processor_ticks(), time.monotonic()
        code, said = _ended([*ENDS_WITH_US, *place.command, "--out", str(out)])
        wall_s = time.monotonic() - begin
        after, taken = processor_ticks(), _ticks_of_children(generator)
    total = sum(after) - sum(before)
    run = Run(
        load=load,
        number=number,
        commit=commit(),
        exit_code=code,
        said="" if code == 0 else said,
        wall_s=round(wall_s, 2),
        steal=round((after[_STEAL] - before[_STEAL]) / total, 5),
        load_average=round(os.getloadavg()[0], 2),
        occupied=round(taken / total, 5),
        cells=_cells(out),
    )
    if run.flawless:
        shutil.rmtree(out, ignore_errors=True)
    return run


def _ended(command: Sequence[str]) -> tuple[int, str]:
    """The exit code, and the last line on the error output."""
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=LONGEST_S,
        )
    except subprocess.TimeoutExpired:
        return HUNG, f"no end after {LONGEST_S:.0f} s"
    lines = done.stderr.strip().splitlines()
    return done.returncode, lines[-1][:_MOST_SAID] if lines else ""


def _cells(out: Path) -> tuple[Cell, ...]:
    try:
        with ResultsFolder.open(out) as folder:
            return run_records.cells_of(folder)
    except StorageError:
        return ()


@contextmanager
def loaded(share: float, *, seed: int) -> Iterator[int | None]:
    """The load generator at work, as its process; None if nothing is to be taken."""
    if not share:
        yield None
        return
    command = [sys.executable, "-m", "bench.noise.load", str(share), str(seed)]
    with subprocess.Popen(command, cwd=ROOT) as generator:
        try:
            yield generator.pid
        finally:
            generator.kill()


_STEAL: Final = 7
_FIELDS: Final = 8  # user, nice, system, idle, iowait, irq, softirq, steal; guests are in user


def processor_ticks() -> list[int]:
    """Time of all processors since they were started, by use (proc(5))."""
    with Path("/proc/stat").open(encoding="ascii") as file:
        return [int(value) for value in file.readline().split()[1 : 1 + _FIELDS]]


def _ticks_of_children(pid: int | None) -> int:
    """Processor time of a process's children."""
    if pid is None:
        return 0
    return sum(t for parent, t in map(_parent_and_ticks, _processes()) if parent == pid)


def _processes() -> Iterator[str]:
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            try:
                yield (path / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue  # it has ended


def _parent_and_ticks(stat: str) -> tuple[int, int]:
    fields = stat[stat.rindex(")") + 2 :].split()  # from the third on; a name may have blanks
    return int(fields[1]), int(fields[11]) + int(fields[12])


def _line(run: Run) -> str:
    outcomes = [cell.outcome for cell in run.cells]
    counts = ", ".join(f"{outcomes.count(o)} {o}" for o in dict.fromkeys(outcomes)) or "no cell"
    return (
        f"run {run.number} at {run.load} %: exit code {run.exit_code}, {run.wall_s:.0f} s,"
        f" {counts}; steal {run.steal:.1%}, load average {run.load_average:g}"
        + (f": {run.said}" if run.said else "")
    )
