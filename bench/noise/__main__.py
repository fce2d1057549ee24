"""`./dev bench noise`: the default scenario while its processors are taken away at random.

Each run is a real ``./dev run`` under `bench.noise.load`, which takes every processor for a share
of the time. What ended is kept in ``bench/results/noise.jsonl``, so a bench that is cut short goes
on where it ended, and the figures are of all runs that are there.

    ./dev bench noise                            ten runs each at 0, 5, 10 and 20 %
    ./dev bench noise --runs 1 --loads 0 10      one run each at these loads, in %
    ./dev bench noise --budget-s 1800            begins no run after half an hour
    python -m bench.noise --recompute            the figures of what is there, without root

Its subject is what noise does to the real clock; there is none in virtual time.
"""

import argparse
import math
import sys
import tomllib
from importlib import resources

from bench.common.record import record
from bench.noise import run_records
from bench.noise.figures import figures_of
from bench.noise.load import MOST_SHARE
from bench.noise.running import FOLDERS, run_missing
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.job import resolve_cells
from netcosim.scenario import build_scenario

PROG = "bench noise"
LOADS = (0, 5, 10, 20)
RUNS = 10


def main(site: CrashSite) -> int:
    """Run what is missing, write the figures of what is there."""
    options = _parser().parse_args()
    if not options.recompute:
        run_missing(options.loads, options.runs, budget_s=options.budget_s, say=_say)
    runs = run_records.read()
    wanted = len({(r.load, r.number) for r in runs} | _all(options.loads, options.runs))
    figures = figures_of(runs, wanted=wanted, cells=_cells())
    return record("noise", figures, _notes(runs))


def _all(loads: list[int], runs: int) -> set[tuple[int, int]]:
    return {(load, number) for load in loads for number in range(runs)}


def _cells() -> list[str]:
    """The cells of the default scenario."""
    text = (resources.files("emu") / "scenarios" / "default.toml").read_text("utf-8")
    return [cell.name for cell in resolve_cells(build_scenario(tomllib.loads(text), PROG))]


def _notes(runs: list[run_records.Run]) -> list[str]:
    commits = list(dict.fromkeys(run.commit for run in runs))
    notes = [f"runs of commit {', '.join(commits)}"] if commits else []
    for run in runs:
        where = f"{run.load} % load, run {run.number}"
        if run.exit_code:
            notes.append(f"{where}: exit code {run.exit_code}: {run.said}")
        notes += [f"{where}: {cell.cell}: {cell.verdict}" for cell in run.cells if cell.verdict]
    if any(not run.flawless for run in runs):
        notes.append(f"results folders of these runs are in {FOLDERS.parent.name}/{FOLDERS.name}")
    return notes


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=PROG, description="The default scenario under load, run after run.")
    parser.add_argument(
        "--runs", metavar="N", type=_count, default=RUNS, help=f"at each load ({RUNS})"
    )
    parser.add_argument(
        "--loads",
        metavar="PERCENT",
        type=_load,
        nargs="+",
        default=list(LOADS),
        help="shares of the time that are taken (0 5 10 20)",
    )
    parser.add_argument(
        "--budget-s", metavar="N", type=float, default=math.inf, help="begin no run after N s"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="run nothing, sum up what is there; needs no root"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f'"{text}": must be a whole number of 1 or more')
    return int(text)


def _load(text: str) -> int:
    most = round(100 * MOST_SHARE)
    if not text.isdecimal() or int(text) > most:
        raise argparse.ArgumentTypeError(f'"{text}": must be a whole number from 0 to {most}')
    return int(text)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
