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
    builtin_scenarios,
    choose_scenario,
    finishing,
    print_training,
    run_main,
)
from netcosim.errors import InterruptedRunError, ScenarioError
from netcosim.results.folder import ResultsFolder, default_path
from netcosim.results.storage.ownership import calling_user
from netcosim.results.training.summary import TrainingSummary
from netcosim.scenario import Scenario
from sim.cli.checks import checked_cells, notes
from sim.cli.cost import available_bytes, cost_of, cost_text, refuse_costly
from sim.cli.describe import describe
from sim.cli.listing import print_names
from sim.cli.options import changed, shared_options, sim_parser, traced
from sim.cli.without_effect import notes_without_effect, refuse_options_without_effect
from sim.experiment.cell import TrainingCell
from sim.experiment.cost import Estimate
from sim.kernels.compiled import kernels_are_kept
from sim.progress import Progress
from sim.session import Session, worker_counts

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
    found = sim_parser(PROG).parse_args(arguments)
    options = shared_options(found)
    builtin = builtin_scenarios(resources.files("sim") / "scenarios")
    if options.list_names:
        print_names(Console(), sorted(builtin))
        return 0
    scenario = changed(choose_scenario(options, builtin, DEFAULT), found)
    try:
        cells = checked_cells(scenario)
    except ScenarioError as problem:
        raise ScenarioError(f"{options.scenario or DEFAULT}: {problem}") from None
    counts = worker_counts(scenario)
    kept = traced(found, counts)
    refuse_options_without_effect(found, scenario, kept)
    with Console(stderr=True).status("preparing"):
        cost = cost_of(scenario, cells, kept)
    if options.plan:
        lines = describe(scenario, cells)
        lines += [f"note        {note}" for note in notes_without_effect(found, scenario)]
        text = "\n".join([*lines, f"takes       {cost_text(cost)}"])
        Console(highlight=False).print(text, markup=False, soft_wrap=True)
        return 0
    if not found.yes:
        refuse_costly(cost, available_bytes())
    return _run(scenario, cells, kept, cost, found, site, arguments)


def _run(
    scenario: Scenario,
    cells: Sequence[TrainingCell],
    kept: Sequence[int],
    cost: Estimate,
    found: argparse.Namespace,
    site: CrashSite,
    arguments: Sequence[str],
) -> int:
    started = datetime.now(UTC)
    owner = calling_user(os.environ, os.geteuid())
    path = found.out or default_path(scenario.name, started)
    console = Console(stderr=True, highlight=False)
    if not kernels_are_kept():
        console.print(_NOT_KEPT, style="dim", markup=False, soft_wrap=True)
    problems = [*notes_without_effect(found, scenario), *notes(scenario, cells)]
    for note in problems:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    with ResultsFolder.create(path, scenario, owner, world="sim") as folder:
        site.folder = path
        folder.check_space(max(_FOLDER_BYTES, cost.disk_bytes))
        session = Session(
            scenario=scenario,
            cells=cells,
            traced=kept,
            folder=folder,
            progress=Progress(console, cost.each_run_s(), cost.runs_s),
            command=(PROG, *arguments),
            started=started,
            problems=problems,
        )
        summary = session.run()
    from netcosim.report.write import write_report  # only here: it takes a while to load

    with finishing(session.failure) as late:
        with console.status("drawing the report"):
            page = write_report(path, owner)
        print_training(summary, Console())
        Console(highlight=False).print(f"report: {page}", markup=False, soft_wrap=True)
    return _exit_code(session.failure or late.interruption, summary, path)


def _exit_code(failure: BaseException | None, summary: TrainingSummary, path: Path) -> int:
    """Exit code of a simulation; raise the failure or interruption that ended it early."""
    if isinstance(failure, KeyboardInterrupt):
        raise InterruptedRunError(f"interrupted; what was finished is in {path}")
    if failure is not None:
        raise failure
    return 0 if summary.trusted else 1
