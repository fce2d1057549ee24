"""A training scenario given to ``emu.run``: its plan in words, its run."""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from rich.console import Console

from emu.isolation import isolate
from emu.progress import Progress
from emu.training.job_cells import JobCell, worker_counts
from netcosim.cli import (
    CrashSite,
    Options,
    draw,
    finishing,
    output,
    print_path,
    telling_where,
    withdraw_if_refused,
)
from netcosim.cli.session import as_recorded
from netcosim.errors import InterruptedRunError
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.storage.ownership import calling_user
from netcosim.results.training.job_summary import JobSummary
from netcosim.scenario import Scenario
from netcosim.units import format_duration, format_rate, format_size

_SECONDS_A_MB: Final = 0.35
"""Of the machine's time that a guest takes for a megabyte of messages, on two processors."""

_BOOT_S: Final = 8.0
_NEEDED_BYTES: Final = 50_000_000


def describe_jobs(scenario: Scenario, cells: Sequence[JobCell]) -> list[str]:
    """Describe what would be run, line by line."""
    return list(_lines(scenario, cells))


def _lines(scenario: Scenario, cells: Sequence[JobCell]) -> Iterator[str]:
    cluster, training = scenario.cluster, scenario.training
    yield f"scenario    {scenario.name}: {scenario.description}".rstrip(": ")
    yield (
        f"network     {cluster.topology}, {cluster.servers} server(s) at"
        f" {format_rate(cluster.link.rate)}, in guests in virtual time"
    )
    counts = worker_counts(scenario)
    bytes_of_all = 0
    for cell in cells:
        plan = cell.job.plan
        step_bytes = int(plan.size_bytes.sum())
        bytes_of_all += step_bytes * training.steps * sum(counts)
        computed_ns = round(float(plan.duration_ns.sum(axis=1).mean()))
        yield (
            f"cell        {cell.name}: {cell.profile.name}, {format_size(step_bytes)} a step both"
            f" ways, computations of {format_duration(computed_ns)}, job {cell.sha256[:12]}"
        )
    many = ", ".join(map(str, counts))
    yield f"runs        {training.steps} steps with {many} workers, {training.synchronisation}"
    megabytes = bytes_of_all / 1e6
    seconds = megabytes * _SECONDS_A_MB + _BOOT_S * len(counts) * len(cells)
    side_by_side = min(len(counts) * len(cells), os.cpu_count() or 1)
    yield (
        f"takes about {seconds / side_by_side:.0f} s for {megabytes:.0f} MB; needs root, and the"
        " kernel that ./dev virtual-kernel builds"
    )


def run_jobs(
    scenario: Scenario,
    cells: Sequence[JobCell],
    options: Options,
    site: CrashSite,
    arguments: Sequence[str],
) -> int:
    """Run a training scenario inside the run's namespaces; return the exit code."""
    from emu.training.session import JobSession  # only here: planning is quick without it

    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = options.out or default_path(scenario.name, started)
    console = Console(stderr=True, highlight=False)
    with (
        ResultsFolder.create(
            path, scenario, owner, world="job", needed_bytes=_NEEDED_BYTES
        ) as folder,
        telling_where(path),
    ):
        site.keep(folder)
        session = JobSession(
            scenario=scenario,
            cells=cells,
            folder=folder,
            scratch=isolate.scratch_dir(),
            say=Progress(console).say,
            command=("emu.run", *as_recorded(arguments)),
            started=started,
        )
        summary = session.run()
        withdraw_if_refused(folder, session.failure, finished=bool(session.points))
        with finishing(session.failure) as late:
            try:
                page = draw(folder, console)
            finally:
                _print(summary)
            print_path("report", page)
    failure = session.failure or late.interruption
    if isinstance(failure, KeyboardInterrupt):
        raise InterruptedRunError(f"interrupted; what was finished is in {path}")
    if failure is not None:
        raise failure
    return 0


def _print(summary: JobSummary) -> None:
    for series in summary.series:
        for point in series.points:
            workers = f"{point.workers} worker{'s' * (point.workers > 1)}"
            output(highlight=False).print(
                f"{series.cell}, {workers}: {point.examples_per_s:.5g} examples/s, a step"
                f" {point.step_ns.mean / 1e6:.5g} ms",
                markup=False,
            )
