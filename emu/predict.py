"""Predict and score a finished run again: ``python -m emu.predict FOLDER[#RUN] [--out DIR]``.

Needs no root, no network and no capture: only the small files of the run's results folder.
"""

import argparse
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emu.prediction.summary_facts import parameters_used
from emu.rerun import Rerun, read_record, rerun
from netcosim.cli import CrashSite, Parser, output, print_levels, print_summary, run_main
from netcosim.cli.options import given_path
from netcosim.job import resolve_cells
from netcosim.results.collection import open_run
from netcosim.results.folder import GRANTS, LOST, TRACE, WINDOWS, ResultsFolder, trace_file
from netcosim.results.storage.ownership import calling_user

PROG: Final = "emu.predict"


def run(arguments: Sequence[str]) -> int:
    """Predict and score a finished run again; return the exit code."""
    return run_main(lambda site: _main(arguments, site), PROG)


def _main(arguments: Sequence[str], site: CrashSite) -> int:
    options = _parser().parse_args(arguments)
    with open_run(options.folder) as folder:
        result = rerun(folder)
        digest = hashlib.sha256(trace_file(result.predicted)).hexdigest()
        before = read_record(folder).predictions_sha256
        _show(result, same=None if before is None else digest == before)
        if options.out:  # behind what is printed, which a full disk does not lose
            _keep(folder, result, options.out, site)
    return 0


def _show(result: Rerun, *, same: bool | None) -> None:
    """Print scores; `same` says whether predictions are the run's, None if it has none."""
    console = output(highlight=False)
    print_summary(result.summary, console)
    print_levels(result.summary, console)
    if same is None:
        console.print("The run itself did not come to predict.")
    else:
        text = "the same as" if same else "not those of"
        console.print(f"These predictions are {text} the run, byte for byte.")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog=PROG,
        description="Predict and score a finished run again, with the models of today.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        type=given_path,
        help="a run's results folder, or FOLDER#RUN of a collection",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=given_path,
        help="a new or empty folder for the run's small files with the new predictions",
    )
    return parser


def _keep(folder: ResultsFolder, result: Rerun, out: Path, site: CrashSite) -> None:
    """Write the run with its new predictions to another folder."""
    owner = calling_user(os.environ, os.geteuid())
    record = read_record(folder)
    with ResultsFolder.create(out, folder.read_scenario(), owner) as kept:
        site.keep(kept)
        for name in (TRACE, GRANTS, WINDOWS, LOST):
            if folder.has(name):
                kept.write(name, folder.read(name))
        digest = kept.write_predictions(result.predicted)
        kept.write_summary(result.summary)
        changes = {
            "predictions_sha256": digest,
            "parameters": parameters_used(resolve_cells(folder.read_scenario())),
            "captures": {},
        }
        kept.write_run(record.model_copy(update=changes))


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
