"""Entry point of ``sim.run``: options, report and exit codes; `sim.session` does the runs."""

import argparse
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Final

from rich.console import Console

from netcosim.cli import (
    CrashSite,
    choose_scenario,
    draw,
    finishing,
    output,
    print_path,
    print_training,
    run_main,
    telling_where,
    withdraw_if_refused,
)
from netcosim.cli.console import busy_with
from netcosim.cli.session import as_recorded, deciding, noted
from netcosim.errors import InterruptedRunError, ScenarioError
from netcosim.formatting import escaped
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.storage.ownership import Owner, calling_user
from netcosim.results.training.summary import TrainingSummary
from netcosim.scenario import Scenario, builtin_scenarios
from sim.cli.cost import available_bytes, cost_of, cost_text, refuse_costly
from sim.cli.describe import describe
from sim.cli.listing import print_names
from sim.cli.options import EASILY_SEEN, changed, check_resume, shared_options, sim_parser, traced
from sim.cli.sealing import add_sealing_options, check_sealing, seal_record
from sim.cli.without_effect import notes_without_effect, refuse_options_without_effect
from sim.experiment.axes import worker_counts
from sim.experiment.cell import TrainingCell
from sim.experiment.checks import checked_cells, notes
from sim.experiment.cost import Estimate
from sim.experiment.link_share import with_share
from sim.kernels.compiled import kernels_are_kept
from sim.progress import Progress
from sim.session import Session
from sim.settings.choices import LeftOut
from sim.simulation import prepare

PROG: Final = "sim.run"
DEFAULT: Final = "default"

_FOLDER_BYTES: Final = 50_000_000
_NOT_KEPT: Final = (
    "the cache folder can't be written: what is compiled now is compiled again at the next start;"
    " NETCOSIM_KERNELS names another folder"
)


def run(arguments: Sequence[str]) -> int:
    """Simulate a scenario; return the exit code."""
    given = list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: list[str], site: CrashSite) -> int:
    parser = sim_parser(PROG)
    add_sealing_options(parser)
    found = parser.parse_args(arguments)
    if found.record is not None or found.seal is not None:
        check_sealing(found)
        return seal_record(found.record, found.seal)
    options = shared_options(found)
    builtin = builtin_scenarios(resources.files("sim") / "scenarios")
    if options.list_names:
        print_names(output(), sorted(builtin))
        return 0
    left_out: tuple[LeftOut, ...] = ()
    if found.resume is not None:
        check_resume(found, parser)
        scenario = _begun(found.resume)
    else:
        scenario, left_out = changed(choose_scenario(options, builtin, DEFAULT), found)
        scenario = with_share(scenario)
    try:
        with busy_with("reading profiles"):
            cells = checked_cells(scenario)
    except ScenarioError as problem:
        raise ScenarioError(f"{_source(found)}: {problem}") from None
    counts = worker_counts(scenario)
    kept = traced(found, counts)
    refuse_options_without_effect(found, scenario)
    without_effect = [*map(str, left_out), *notes_without_effect(found, scenario)]
    console = Console(stderr=True, highlight=False)
    with console.status("preparing"):
        for cell in cells:
            prepare(cell, Progress(console))
        cost = cost_of(scenario, cells, kept, recommending=not found.no_recommendation)
    if options.plan:
        lines = describe(scenario, cells, recommending=not found.no_recommendation)
        lines += [f"note        {note}" for note in without_effect]
        text = "\n".join(map(escaped, [*lines, f"takes       {cost_text(cost)}"]))
        Console(highlight=False).print(text, markup=False, soft_wrap=True)
        return 0
    if not found.yes:
        refuse_costly(cost, available_bytes())
    return _run(scenario, cells, kept, cost, found, site, arguments, without_effect=without_effect)


def _run(
    scenario: Scenario,
    cells: Sequence[TrainingCell],
    kept: Sequence[int],
    cost: Estimate,
    found: argparse.Namespace,
    site: CrashSite,
    arguments: Sequence[str],
    *,
    without_effect: Sequence[str],
) -> int:
    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = found.resume or found.out or default_path(scenario.name, started)
    console = Console(stderr=True, highlight=False)
    if not kernels_are_kept():
        console.print(_NOT_KEPT, style="dim", markup=False, soft_wrap=True)
    problems = [*without_effect, *notes(scenario, cells)]
    for note in problems:
        console.print(escaped(f"note: {note}"), markup=False, soft_wrap=True)
    needed_bytes = max(_FOLDER_BYTES, cost.disk_bytes)
    with _folder(path, scenario, owner, found, needed_bytes) as folder, telling_where(path):
        site.keep(folder)
        session = Session(
            scenario=scenario,
            cells=cells,
            traced=kept,
            traced_workers=EASILY_SEEN if found.trace is None else None,
            folder=folder,
            progress=Progress(console, cost.each_run_s(), scenario.repetitions),
            command=(PROG, *as_recorded(arguments)),
            started=started,
            recommend=not found.no_recommendation,
            resumed=found.resume is not None,
            problems=problems,
        )
        summary = session.run()
        has_results = bool(summary.series) or session.resumed
        withdraw_if_refused(folder, session.failure, finished=has_results)
        with finishing(session.failure) as late, deciding(session.failure):
            if found.no_report:
                print_training(summary, output())
                print_path("results", path)
            else:
                try:
                    page = draw(folder, console)
                finally:
                    print_training(summary, output())
                print_path("report", page)
    return _exit_code(session.failure or late.interruption, summary, path)


def _source(found: argparse.Namespace) -> str:
    """Where the scenario is from, as errors name it."""
    return str(found.resume or found.scenario or DEFAULT)


def _begun(path: Path) -> Scenario:
    """Scenario of a simulation that is to be resumed."""
    with ResultsFolder.open(path) as folder:
        if folder.world() != "sim":
            raise ScenarioError.at("--resume", str(path), "is of an emulation")
        return folder.read_scenario()


def _folder(
    path: Path,
    scenario: Scenario,
    owner: Owner | None,
    found: argparse.Namespace,
    needed_bytes: int,
) -> ResultsFolder:
    """The results folder: a new one, or that which is to be resumed."""
    if found.resume is not None:
        return ResultsFolder.open(path, owner)
    return ResultsFolder.create(path, scenario, owner, world="sim", needed_bytes=needed_bytes)


def _exit_code(failure: BaseException | None, summary: TrainingSummary, path: Path) -> int:
    """Exit code of a simulation; raise the failure or interruption that ended it early."""
    if isinstance(failure, KeyboardInterrupt):
        raise noted(InterruptedRunError(f"interrupted; what was finished is in {path}"), failure)
    if failure is not None:
        raise failure
    return 0 if summary.trusted else 1
