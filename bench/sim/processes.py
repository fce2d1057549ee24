"""Costs of whole processes: peak memory, time to a first result, compile time."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from bench.common.record import Figure
from bench.sim.engines import Rows
from bench.sim.reference_job import FAST, GENERIC, RATES_BPS
from bench.sim.timing import Competitor, Effort, alternate, judged, seconds_figure
from netcosim.errors import EnvironmentRefusedError, UntrustedResultError
from netcosim.results.folder import RUN
from sim.precompile import usual

ROOT: Final = Path(__file__).parents[2]
MEMORY_MB: Final = 300.0
START_S: Final = 2.0
JOB: Final = ("--workload", "resnet50", "--workers", "1-16", "--rate", "1gbit")
UNTRUSTED: Final = UntrustedResultError.exit_code
STEPS: Final = ("--steps", "20", "--repetitions", "1")


def memory_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Peaks of fresh processes with many workers on the fast path."""
    child("memory", 1, 1, RATES_BPS[0])  # what compiles would need more
    for steps in effort.crowd_steps:
        found = child("memory", effort.crowd, steps, RATES_BPS[0])
        rows.append({"job": f"memory, W={effort.crowd}, {steps} steps of each", **found})
        about = f"memory of a process, W={effort.crowd}, {steps} steps of each worker"
        before = f"{found['loaded'] / 1e6:.0f} MB before the run"
        yield judged(about, found["ran"] / 1e6, "MB", most=MEMORY_MB, note=before)
        yield judged(
            f"{about}, its table of steps, too", found["listed"] / 1e6, "MB", most=MEMORY_MB
        )


def start_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Time from a command to results, with all kernels compiled before."""
    competitors = [
        Competitor(name=f"process to the first step, {engine}", units=1, measure=_first(engine))
        for engine in (FAST, GENERIC)
    ]
    competitors += [
        Competitor(name=name, units=1, measure=measure)
        for name, measure in (
            ("sim.run --plan", _plan_s),
            ("sim.run to its results on disk", lambda: _run_s()[0]),
            ("sim.run with its report", lambda: _run_s()[1]),
        )
    ]
    for competitor in competitors:
        competitor.measure()
    for timing in alternate(competitors, effort.rounds):
        rows.append(timing.row(job=f"sim.run {' '.join((*JOB, *STEPS))}"))
        yield seconds_figure(f"warm start: {timing.name}", timing, START_S)


def compile_figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """Time of compiling each kernel in a process and a folder of its own, one after the other."""
    for kernel in effort.kernels or map(str, usual()):
        with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
            found = child("compile", kernel, environment={"NETCOSIM_KERNELS": folder})
        rows.append({"job": f"compile {kernel}", **found})
        yield judged(f"compiling {kernel}, numba's loading included", found["seconds"], "s")


def child(what: str, *arguments: object, environment: Mapping[str, str] | None = None) -> Any:
    """Run `bench.sim.fresh_process` in a fresh process; return what it printed.

    Raises
    ------
    EnvironmentRefusedError
        It failed; the message ends with its last line.
    """
    command = [sys.executable, "-m", "bench.sim.fresh_process", what, *map(str, arguments)]
    return json.loads(_run(command, environment or {}))


def _run(command: list[str], environment: Mapping[str, str], *, untrusted: bool = False) -> str:
    done = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    if done.returncode != 0 and not (untrusted and done.returncode == UNTRUSTED):
        said = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise EnvironmentRefusedError(f"{' '.join(command[2:4])}: {said}")
    return done.stdout


def _first(engine: str) -> Callable[[], float]:
    def measure() -> float:
        begin = time.perf_counter()
        child("first-step", engine, RATES_BPS[0])
        return time.perf_counter() - begin

    return measure


def _plan_s() -> float:
    begin = time.perf_counter()
    _run([sys.executable, "-m", "sim.run", *JOB, *STEPS, "--plan"], {})
    return time.perf_counter() - begin


def _run_s() -> tuple[float, float]:
    """A complete run: seconds until the last of its results was on disk, and until it ended.

    So few steps may be too few to be trusted, which takes no less time.
    """
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
        out = Path(folder) / "out"
        begun_ns, begin = time.time_ns(), time.perf_counter()
        command = [sys.executable, "-m", "sim.run", *JOB, *STEPS, "--out", str(out)]
        _run(command, {}, untrusted=True)
        spent = time.perf_counter() - begin
        return ((out / RUN).stat().st_mtime_ns - begun_ns) / 1e9, spent
