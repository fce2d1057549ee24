"""The command: options, units done one after the other, tables, files, exit code."""

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, get_args

from rich.console import Console
from rich.status import Status

from netcosim.cli import CrashSite, Parser, output, print_path, run_main
from netcosim.cli.options import given_path
from netcosim.errors import InterruptedRunError, NetcosimError, StorageError
from netcosim.formatting import one_line
from netcosim.parallel_map import side_by_side
from netcosim.results.folder import default_path
from netcosim.results.storage.claimed_folder import ClaimedFolder
from netcosim.results.storage.ownership import calling_user
from ray_sweeps.crosscheck.check import check_cell
from ray_sweeps.crosscheck.folders import Scores, read_runs, read_scores, run_names
from ray_sweeps.crosscheck.output import write_figures, write_page
from ray_sweeps.crosscheck.summary import summarise_checks
from ray_sweeps.crosscheck.terminal import print_crosscheck
from ray_sweeps.crosscheck.training.command import are_training, check_training
from ray_sweeps.crosscheck.unit import Buffers, CellCheck, Unit
from ray_sweeps.crosscheck.wording import counted
from sim.kernels.compiled import engine_hash

Map = Callable[[Callable[[Unit], CellCheck], Iterable[Unit]], Iterable[CellCheck]]
"""A way to do units of work, in their order."""

PROG: Final = "ray_sweeps.crosscheck"
LEFT_OUT: Final = 1

_EXIT_CODES: Final = """\
exit codes:
  0 all runs are compared, as far as the simulator can   1 a run was left out or is not whole, or no
  burst could be compared   2 wrong options   6 no run can be read, or results can't be written
  70 a bug   130 interrupted: cells that were done are written   141 nobody reads the output
"""


def run(arguments: Sequence[str], *, do: Map | None = None) -> int:
    """Cross-check results folders; return the exit code.

    Parameters
    ----------
    arguments : of the command
    do : does the units of work; by default processes on all processors, or this process alone
    """
    return run_main(lambda site: _main(arguments, site, do), PROG)


def _main(arguments: Sequence[str], site: CrashSite, do: Map | None) -> int:
    options = _parser().parse_args(arguments)
    scores = {} if options.scores is None else read_scores(options.scores)
    out = options.out or default_path("crosscheck", datetime.now(UTC))
    owner = calling_user(os.environ, os.geteuid())
    training = are_training(options.folder)
    with ClaimedFolder.claim(out, owner, "schemas") as folder:
        site.keep(folder)
        if training:
            return _check_training(options, folder, out)
        work = _Work(names=[], buffers=options.buffers)
        work.names += _names(options.folder, work.lines)
        work.do(scores, do or (map if options.serial else side_by_side))
        if not work.checks:
            folder.withdraw()
            raise work.failure or StorageError("nothing to compare")
        found = summarise_checks(
            work.checks,
            work.lines,
            runs=len(work.names),
            engine=engine_hash(),
            complete=work.failure is None,
        )
        if work.failure is None:  # first, so that a full disk does not take it away
            print_crosscheck(found, output(highlight=False), cells=options.cells)
        write_figures(folder, found, work.checks)
        if work.failure is None:
            page = None if options.no_report else write_page(folder, found, work.checks)
    if work.failure is not None:
        if not isinstance(work.failure, KeyboardInterrupt):
            raise work.failure
        done = counted(len(work.checks), "cell")
        raise InterruptedRunError(f"interrupted; what was done ({done}) is in {out}")
    print_path("report" if page else "results", page or out)
    return LEFT_OUT if found.lines or found.errors is None else 0


def _check_training(options: argparse.Namespace, folder: ClaimedFolder, out: Path) -> int:
    """Check runs of training jobs; return the exit code."""
    lines: list[str] = []
    try:
        page = check_training(options.folder, folder, lines, page=not options.no_report)
    except InterruptedRunError:
        raise
    except (NetcosimError, KeyboardInterrupt):
        folder.withdraw()
        raise
    finally:
        _tell(lines, [])
    print_path("report" if page else "results", page or out)
    return LEFT_OUT if lines else 0


@dataclass(slots=True)
class _Work:
    """Runs to do, and what came of them: lines, checks, what ended it early if anything did.

    `buffers` says which connections are simulated with a kernel buffer.
    """

    names: list[str]
    buffers: Buffers = "unbound"
    lines: list[str] = field(default_factory=list)
    checks: list[CellCheck] = field(default_factory=list)
    failure: BaseException | None = None

    def do(self, scores: Scores, do: Map) -> None:
        """Check all cells of all runs; what is done stays, whatever ends it."""
        try:
            with _progress() as progress:
                for check in do(check_cell, self._units(scores)):
                    self.checks.append(check)
                    done = counted(len(self.checks), "cell")
                    progress.update(f"{done} compared, of {counted(len(self.names), 'run')}")
                    if check.problem:
                        _tell((f"{check.run}: {check.cell}: {check.problem}",), [])
        except (KeyboardInterrupt, Exception) as problem:  # noqa: BLE001 - raised once all is written
            self.failure = problem

    def _units(self, scores: Scores) -> Iterator[Unit]:
        for read in read_runs(self.names, scores):
            _tell(read.lines, self.lines)
            yield from (replace(unit, buffers=self.buffers) for unit in read.units)


def _progress() -> Status:
    """A line on standard error that is shown in terminals only."""
    return Console(stderr=True).status("reading, and loading the simulator")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROG,
        description="Simulate bursts that the emulator measured, and compare the ends of streams.",
        epilog=_EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="+",
        type=given_path,
        help="a results folder of the emulator, a collection of runs, or COLLECTION#RUN",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=given_path, help="a new or empty folder for the results"
    )
    parser.add_argument(
        "--cells", action="store_true", help="print each cell, too, with its stored score"
    )
    parser.add_argument(
        "--scores",
        metavar="FILE",
        type=given_path,
        help="the emulator's scores of runs whose folder has no summary.json, as ./dev bench"
        " fidelity writes them",
    )
    parser.add_argument(
        "--serial", action="store_true", help="in this process alone, one cell after the other"
    )
    parser.add_argument(
        "--buffers",
        choices=get_args(Buffers),
        default="unbound",
        help="connections simulated with the kernel buffer that the record tells; default: those"
        " without windows",
    )
    parser.add_argument("--no-report", action="store_true", help="no pictures and no page")
    return parser


def _names(folders: Sequence[Path], lines: list[str]) -> list[str]:
    """All runs in these folders, each once; what is no folder of runs is told in a line."""
    names: list[str] = []
    for folder in folders:
        try:
            names += run_names(folder)
        except NetcosimError as problem:
            _tell((str(problem),), lines)
    return list(dict.fromkeys(names))


def _tell(new: Sequence[str], lines: list[str]) -> None:
    """Print lines at once on standard error, and keep them."""
    for line in new:
        sys.stderr.write(f"{one_line(line)}\n")
    lines += new
