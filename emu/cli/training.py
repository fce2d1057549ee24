"""A training scenario given to ``emu.run``: its plan in words, its run."""

import argparse
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from emu.isolation import isolate
from emu.progress import Progress
from emu.training.job_cells import JobCell
from emu.training.task import Task, record, sealed, whole
from netcosim.cli import (
    CrashSite,
    Options,
    Parser,
    draw,
    finishing,
    output,
    print_path,
    telling_where,
    withdraw_if_refused,
)
from netcosim.cli.options import given_path, refuse_beside
from netcosim.cli.session import as_recorded, deciding, noted
from netcosim.errors import InterruptedRunError, ScenarioError, StorageError
from netcosim.processors import usable_processors
from netcosim.results.folder import SCENARIO, SEAL, ResultsFolder, default_path
from netcosim.results.storage.directory import storage_errors
from netcosim.results.storage.ownership import Owner, calling_user
from netcosim.results.training.job_summary import JobSummary
from netcosim.results.training.seal import Seal, load_seal
from netcosim.scenario import Scenario
from netcosim.training.job import gradients_of
from netcosim.units import format_duration, format_rate, format_size
from netcosim.user_files import RECORD, read_content

_SECONDS_A_MB: Final = 0.35
"""Of the machine's time that a guest takes for a megabyte of messages, on two processors."""

_BOOT_S: Final = 8.0
_BRING_UP_S: Final = 15.0
"""Of a network on the machine's own clock, with the measurement of its links."""

_OTHER_FILES_BYTES: Final = 50_000_000
_CAPTURE_SHARE: Final = 0.1
"""Packed captures of small messages are at most this share of the bytes sent."""


@dataclass(frozen=True, slots=True)
class GivenSeal:
    """A seal's file that was named: what it says, and its bytes."""

    content: Seal
    data: bytes


def add_training_options(parser: Parser) -> None:
    """Add the options of training jobs."""
    add = parser.add_argument_group("of training jobs").add_argument
    add(
        "--only",
        type=int,
        choices=[1],
        help="the record of one worker, which does every recorded step once; sim.run --from"
        " predicts from it",
    )
    add(
        "--sealed",
        metavar="FILE",
        type=given_path,
        help="run what sim.run --seal predicted; the scenario is the file's",
    )
    add(
        "--resume",
        metavar="DIR",
        type=given_path,
        help="go on with a run that was interrupted, or of which something failed: numbers of"
        " workers that were finished are kept; the folder has the scenario",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A run that is to be resumed: what its folder says of it."""

    scenario: Scenario
    profiling: bool
    seal: GivenSeal | None


def read_begun(found: argparse.Namespace, parser: Parser) -> Begun:
    """Read what the options want to be resumed.

    Raises
    ------
    ScenarioError
        Options that would change it; it is no training job over real flows.
    StorageError
        The folder can't be read, or its seal is not the one with which it was begun.
    """
    allowed = "does not go with --resume, whose folder has the scenario"
    refuse_beside(found, parser, ("resume", "plan"), allowed)
    with ResultsFolder.open(found.resume) as folder:
        summary = folder.read_job_summary() if folder.world() == "job" else None
        if summary is None:
            allowed = "has no training job over real flows that was begun"
            raise ScenarioError.at("--resume", str(found.resume), allowed)
        seal = None
        if summary.sealed_sha256 is not None:
            data = folder.read(SEAL, RECORD)
            seal = GivenSeal(load_seal(data, f"{found.resume}/{SEAL}"), data)
            begun_with = (seal.content.sha256, seal.content.scenario.encode())
            if begun_with != (summary.sealed_sha256, folder.read(SCENARIO)):
                allowed = "is not the seal with which the run was begun"
                raise StorageError(f"{found.resume}/{SEAL}: {allowed}")
        return Begun(scenario=folder.read_scenario(), profiling=summary.profiling, seal=seal)


def read_seal(found: argparse.Namespace) -> GivenSeal:
    """Read the seal that the options name.

    Raises
    ------
    ScenarioError
        Options that would change what was predicted.
    StorageError
        The file can't be read, or is no seal.
    """
    for name in ("scenario", "only", "seed", "repetitions", "clock"):
        if getattr(found, name) is not None:
            raise ScenarioError(f"--{name}: does not go with --sealed: the scenario is the file's")
    with storage_errors(found.sealed, "can't be read"):
        data = read_content(found.sealed, RECORD).data
    return GivenSeal(load_seal(data, found.sealed), data)


def task_of(
    scenario: Scenario, cells: tuple[JobCell, ...], seal: GivenSeal | None, *, profiling: bool
) -> Task:
    """Say which numbers of workers are to be run, by the seal, for the profile, or all of them.

    Raises
    ------
    ScenarioError
        A job that is not the one that was predicted.
    """
    if seal is not None:
        return sealed(seal.content, seal.data, cells)
    return record() if profiling else whole(scenario)


def describe_jobs(scenario: Scenario, cells: Sequence[JobCell], task: Task) -> list[str]:
    """Describe what would be run, line by line."""
    return list(_lines(scenario, cells, task))


def _lines(scenario: Scenario, cells: Sequence[JobCell], task: Task) -> Iterator[str]:
    cluster, training = scenario.cluster, scenario.training
    yield f"scenario    {scenario.name}: {scenario.description}".rstrip(": ")
    where = "on this machine's clock" if _is_real(scenario) else "in guests in virtual time"
    yield (
        f"network     {cluster.topology}, {cluster.servers} server(s) at"
        f" {format_rate(cluster.link.rate)}, {where}"
    )
    counts = task.counts
    bytes_of_all = 0
    for cell in cells:
        plan = cell.job.plan
        step_bytes = int(plan.size_bytes.sum())
        steps = plan.steps if task.profiling else training.steps
        bytes_of_all += step_bytes * steps * sum(counts)
        computed_ns = round(float(plan.duration_ns.sum(axis=1).mean()))
        yield (
            f"cell        {cell.name}: {cell.profile.name}, {format_size(step_bytes)} a step both"
            f" ways, computations of {format_duration(computed_ns)}, job {cell.sha256[:12]}"
        )
    if task.profiling:
        yield "runs        each recorded step once, with one worker"
    else:
        many = ", ".join(map(str, counts))
        yield f"runs        {training.steps} steps with {many} workers, {scenario.waiting_rule}"
    by_schedule = f" by {scenario.policy.schedule}" if scenario.policy.schedule else ""
    yield f"gradients   {gradients_of(scenario)}{by_schedule}"
    if task.sealed_sha256 is not None:
        yield f"sealed      {task.sealed_sha256[:16]}"
    yield _takes(scenario, bytes_of_all / 1e6, len(counts) * len(cells))


def _takes(scenario: Scenario, megabytes: float, runs: int) -> str:
    """Expected time: runs one after the other as links carry them, or guests side by side."""
    if _is_real(scenario):
        seconds = megabytes * 8e6 / scenario.cluster.link.rate + _BRING_UP_S * runs
        return f"takes {seconds:.0f} s or longer for {megabytes:.0f} MB; needs root"
    seconds = megabytes * _SECONDS_A_MB + _BOOT_S * runs
    seconds /= min(runs, usable_processors())
    return (
        f"takes about {seconds:.0f} s for {megabytes:.0f} MB; needs root, and the"
        " kernel that ./dev virtual-kernel builds"
    )


def _is_real(scenario: Scenario) -> bool:
    return scenario.clock == "real"


def run_jobs(
    scenario: Scenario,
    cells: Sequence[JobCell],
    task: Task,
    options: Options,
    site: CrashSite,
    arguments: Sequence[str],
    resume: Path | None,
) -> int:
    """Run a training scenario inside the run's namespaces; return the exit code.

    Parameters
    ----------
    resume : the folder of an earlier run that this one goes on with
    """
    from emu.training.session import JobSession  # only here: planning is quick without it

    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = resume or options.out or default_path(scenario.name, started)
    console = Console(stderr=True, highlight=False)
    with (
        _folder(path, scenario, owner, _needed_bytes(scenario, cells, task), resume) as folder,
        telling_where(path),
        folder.held(),
    ):
        site.keep(folder)
        session = JobSession(
            scenario=scenario,
            cells=cells,
            task=task,
            folder=folder,
            scratch=isolate.scratch_dir(),
            say=Progress(console).say,
            command=("emu.run", *as_recorded(arguments)),
            started=started,
        )
        if resume is not None:
            session.take_over()
        summary = session.run()
        kept = bool(session.finished.points) or resume is not None
        withdraw_if_refused(folder, session.failure, finished=kept)
        with finishing(session.failure) as late, deciding(session.failure):
            try:
                page = draw(folder, console)
            finally:
                _print(summary)
            print_path("report", page)
    failure = session.failure or late.interruption
    if isinstance(failure, KeyboardInterrupt):
        raise noted(InterruptedRunError(f"interrupted; what was finished is in {path}"), failure)
    if failure is not None:
        raise failure
    return 0


def _folder(
    path: Path, scenario: Scenario, owner: Owner | None, needed_bytes: int, resume: Path | None
) -> ResultsFolder:
    """The results folder: a new one, or that which is to be resumed."""
    if resume is not None:
        return ResultsFolder.open(path, owner)
    return ResultsFolder.create(path, scenario, owner, world="job", needed_bytes=needed_bytes)


def _needed_bytes(scenario: Scenario, cells: Sequence[JobCell], task: Task) -> int:
    step_bytes = sum(int(cell.job.plan.size_bytes.sum()) for cell in cells) * sum(task.counts)
    captured = _CAPTURE_SHARE * step_bytes * scenario.training.captured
    return _OTHER_FILES_BYTES + round(captured)


def _print(summary: JobSummary) -> None:
    for series in summary.series:
        for point in series.points:
            workers = f"{point.workers} worker{'s' * (point.workers > 1)}"
            output(highlight=False).print(
                f"{series.cell}, {workers}: {point.examples_per_s:.5g} examples/s, a step"
                f" {point.step_ns.mean / 1e6:.5g} ms{'; ' * bool(point.busy_text)}"
                f"{point.busy_text}",
                markup=False,
            )
