"""Entry point of ``ray_sweeps.run``: options, plan, report and exit codes."""

import argparse
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from rich.console import Console

from netcosim.cli import CrashSite, output, print_path, run_main, telling_where
from netcosim.cli.console import busy_with
from netcosim.cli.session import as_recorded, noted
from netcosim.errors import (
    EnvironmentRefusedError,
    InterruptedRunError,
    NetcosimError,
    ScenarioError,
)
from netcosim.formatting import escaped, short_time
from netcosim.processors import usable_processors
from netcosim.results.folder import REPORT, default_path
from netcosim.results.json_files import from_json
from netcosim.results.storage.ownership import calling_user
from ray_sweeps.cli.describe import cost_text, describe
from ray_sweeps.cli.options import check_options, sweep_parser
from ray_sweeps.cli.progress import Progress
from ray_sweeps.cost import Estimate, estimate
from ray_sweeps.runner.files import files_of
from ray_sweeps.session import Session, Where
from ray_sweeps.simulated import Simulated
from ray_sweeps.space import space_of
from ray_sweeps.store.folder import SweepFolder, SweepRecord
from ray_sweeps.sweep_file import Sweep, read_sweep

PROG: Final = "ray_sweeps.run"
LONG_S: Final = 86_400.0


def run(arguments: Sequence[str]) -> int:
    """Run a sweep; return the exit code."""
    given = list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: list[str], site: CrashSite) -> int:
    found = sweep_parser(PROG).parse_args(arguments)
    check_options(found)
    sweep = _sweep(found)
    space = space_of(sweep)
    evaluator = Simulated(space, sweep.base, files_of(sweep))
    console = Console(stderr=True, highlight=False)
    with console.status("looking at the points"):
        cost = estimate(evaluator, sweep.replications)
    if not cost.points:
        raise ScenarioError(f"{sweep.file}: has no point: all are excluded")
    where = Where(
        serial=found.serial,
        address=found.address,
        processors=found.processors or usable_processors(),
        ship_code=found.ship_code,
    )
    at_once = 1 if found.serial else where.processors
    if found.plan:
        text = "\n".join(map(escaped, describe(sweep, space, cost, at_once)))
        Console(highlight=False).print(text, markup=False, soft_wrap=True)
        return 0
    if not found.yes and cost.elapsed_s(at_once) > LONG_S and found.address is None:
        about = short_time(cost.elapsed_s(at_once))
        raise ScenarioError(f"this would take about {about}: sweep fewer points, or say --yes")
    progress = Progress(console, cost.runs)
    path = found.resume or found.out or default_path(sweep.name, datetime.now(UTC))
    with _folder(path, sweep, found.resume is not None, cost) as folder, telling_where(path):
        site.keep(folder)
        if found.resume is not None and found.sweep is not None:
            _note_another_name(folder, sweep, progress)
        session = Session(
            sweep=sweep,
            evaluator=evaluator,
            folder=folder,
            where=where,
            cost=cost,
            listener=progress,
            command=(PROG, *as_recorded(arguments)),
        )
        with folder.held():
            record = _run(session, progress)
            nothing = not record.made and found.resume is None
            if not nothing or session.failure is None:
                _print(session, record)
            if session.failure is None:
                _finish(session, path, console, drawn=not found.no_report)
        if nothing:
            _withdraw_if_refused(folder, session.failure)
    return _exit_code(session.failure, record, path)


def _withdraw_if_refused(folder: SweepFolder, failure: BaseException | None) -> None:
    """Take back the folder of a sweep that ended before it had made a run.

    Raises
    ------
    ScenarioError, EnvironmentRefusedError, InterruptedRunError
        The reason.
    """
    if isinstance(failure, KeyboardInterrupt):
        folder.withdraw()
        raise InterruptedRunError("interrupted before the first run was made")
    if isinstance(failure, ScenarioError | EnvironmentRefusedError):
        folder.withdraw()
        raise failure


def _note_another_name(folder: SweepFolder, sweep: Sweep, progress: Progress) -> None:
    """Tell that the file's sweep has another name than the folder's: it may be the wrong one."""
    before = sweep.name
    with suppress(NetcosimError):  # what is damaged is written anew
        before = folder.read_sweep().name
    if before != sweep.name:
        progress.say(f'note: the folder is of the sweep "{before}", the file of "{sweep.name}"')


def _sweep(found: argparse.Namespace) -> Sweep:
    """The sweep of a file, or of the folder that is to be resumed."""
    if found.sweep is not None:
        with busy_with(f"reading {found.sweep}"):
            sweep = read_sweep(found.sweep)
    else:
        with SweepFolder.open(found.resume) as folder:
            sweep = folder.read_sweep()
    if found.replications is not None:
        sweep = replace(sweep, replications=found.replications)
    return sweep


def _run(session: Session, progress: Progress) -> SweepRecord:
    """Make the runs, telling what is done."""
    where, cost = session.where, session.cost
    at_once = 1 if where.serial else where.processors
    progress.say(f"{cost.runs:,} runs: {cost_text(cost, at_once)}")
    with progress:
        return session.run()


def _folder(path: Path, sweep: Sweep, resumed: bool, cost: Estimate) -> SweepFolder:
    owner = calling_user(os.environ, os.geteuid())
    if resumed:
        return SweepFolder.open(path, owner)
    return SweepFolder.create(path, sweep, owner, cost.disk_bytes)


def _finish(session: Session, path: Path, console: Console, *, drawn: bool) -> None:
    """Analyse the runs, print and write what comes out; of a complete sweep that is there."""
    from ray_sweeps.analysis.summary import SweepSummary
    from ray_sweeps.cli.outcomes import print_outcomes
    from ray_sweeps.report.write import SUMMARY, write_outcomes

    folder, wanted = session.folder, REPORT if drawn else SUMMARY
    if session.was_complete and folder.has(SUMMARY) and folder.has(wanted):
        summary = from_json(SweepSummary, folder.read(SUMMARY), str(path / SUMMARY))
    else:
        with console.status("analysing the runs"):
            summary = write_outcomes(path, session.sweep, drawn=drawn)
    print_outcomes(summary, output())
    print_path("report" if drawn else "results", path / wanted if drawn else path)


def _print(session: Session, record: SweepRecord) -> None:
    """Tell what was made."""
    total = f"{record.points:,} points, {record.runs:,} runs"
    if record.twice:
        total += f" ({record.twice:,} more are the same as one of them)"
    if session.was_complete:
        output().print(f"{total}: all made before, nothing is left to do")
    else:
        failed = f", {record.errors:,} failed" if record.errors else ""
        took = short_time(record.duration_s)
        output().print(f"{total}; {record.made:,} made now{failed}, {took}")


def _exit_code(failure: BaseException | None, record: SweepRecord, path: Path) -> int:
    """Exit code of a sweep; raise the failure or interruption that ended it early."""
    if isinstance(failure, KeyboardInterrupt):
        on = f"interrupted; what was finished is in {path}: go on with --resume {path}"
        raise noted(InterruptedRunError(on), failure)
    if isinstance(failure, NetcosimError):
        kept = f"{failure}; what was finished is kept: --resume {path}"
        raise noted(type(failure)(kept), failure)
    if failure is not None:
        raise failure
    return 1 if record.errors or record.given_up else 0
