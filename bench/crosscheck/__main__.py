"""`./dev bench crosscheck`: predictions of training jobs, sealed, against runs over real flows.

A cell is one worker's record, its sealed prediction, and the runs that were predicted, in virtual
time. Each attempt is kept in ``bench/results/crosscheck.jsonl`` when it has ended, however it
ended; a bench that is cut short goes on with the cells that the present sources have not run yet.

    ./dev bench crosscheck --plan                what would be run, MB and time
    ./dev bench crosscheck                       the listed cells
    ./dev bench crosscheck --cells NAME ...      these
    ./dev bench crosscheck --drawn               those drawn from the hash of the sources
    ./dev bench crosscheck --budget-s 3600       begins no cell after an hour
    python -m bench.crosscheck --recompute       the figures of what is there, without root
    python -m bench.crosscheck --replay          predictions again, from the records that are kept
    python -m bench.crosscheck --again           those of these sources, for the runs that are kept
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.common.record import RESULTS, commit, heading, record
from bench.crosscheck import attempts
from bench.crosscheck.cells import Cell
from bench.crosscheck.figures import figures_of, table
from bench.crosscheck.listed import development, drawn, source_hash
from bench.crosscheck.records import RECORDS, check_with_these_sources, replay
from bench.crosscheck.running import line, run_missing
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.errors import ScenarioError
from sim.compiling.printed import Printed

PROG = "bench crosscheck"
SECONDS_PER_MB = 0.6
"""Of wall time, two cells side by side on two processors."""

_PRINTED = Printed()


def main(site: CrashSite) -> int:
    """Run what is missing, write the figures of what is there."""
    options = _parser().parse_args()
    if options.replay:
        return _replay(options.cells)
    if options.again:
        return _sum_up(_predict_again(options.cells), ())
    cells = _chosen(options.cells, drawn() if options.drawn else development())
    if options.plan:
        _print_plan(cells)
        return 0
    if not options.recompute:
        run_missing(cells, budget_s=options.budget_s, say=_PRINTED.say)
    return _sum_up(attempts.kept(), options.sources)


def _sum_up(every: Sequence[attempts.Attempt], sources: Sequence[str]) -> int:
    """Write the figures of the attempts by these sources, or by the newest.

    Of a cell that several of them have attempted the newest attempt counts.
    """
    for each in sources:
        if each not in {attempt.sources for attempt in every}:
            raise ScenarioError.at("--sources", each, f"must be in {attempts.KEPT.name}")
    wanted = sources or [attempt.sources for attempt in every[-1:]]
    kept = [attempt for attempt in every if attempt.sources in wanted]
    page = RESULTS / "crosscheck.md"
    page.write_text(f"{heading('crosscheck')}\n{table(kept)}", encoding="utf-8")
    notes = _notes(kept)
    if len(every) > len(kept):
        older = f"{len(every) - len(kept)} attempts of other sources are in {attempts.KEPT.name}"
        notes.append(f"{older}, and in no figure")
    return record("crosscheck", figures_of(kept), notes, clock=None)


def _chosen(names: Sequence[str], cells: Sequence[Cell]) -> list[Cell]:
    known = {cell.name: cell for cell in cells}
    for name in names:
        if name not in known:
            raise ScenarioError.at("--cells", name, "must be one of those that --plan lists")
    return [known[name] for name in names] if names else list(cells)


def _print_plan(cells: Sequence[Cell]) -> None:
    done = attempts.done_by(source_hash())
    for cell in cells:
        state = "done" if cell.name in done else f"{cell.megabytes:.0f} MB"
        _PRINTED.say(f"{cell.name}: {state}")
    left = sum(cell.megabytes for cell in cells if cell.name not in done)
    _PRINTED.say(
        f"{len(cells)} cells, {left:.0f} MB to run: about {left * SECONDS_PER_MB / 3600:.1f} h"
    )


def _replay(names: Sequence[str]) -> int:
    """Predict again what kept records have, of these cells or of all.

    Returns 1 if what the same simulator had sealed comes out otherwise.
    """
    code = 0
    for each in replay(_kept_records(names), _PRINTED):
        said = "as sealed"
        if not each.same:
            by = "not as sealed" if each.same_simulator else "sealed by another simulator"
            said = f"{by}: throughput differs by up to {100 * each.farthest:.2g} %"
            code |= each.same_simulator
        _PRINTED.say(f"{each.cell}: {said}")
    return int(code)


def _predict_again(names: Sequence[str]) -> list[attempts.Attempt]:
    """Predict kept runs of listed cells by the present sources, and keep it as attempts."""
    newest = {a.cell: a for a in attempts.kept() if a.checked and not a.predicted_again}
    folders = [f for f in _kept_records(names) if not newest[f.name].properties["drawn"]]
    sources, at = source_hash(), commit()  # of what is loaded, whatever is edited meanwhile
    for folder, checked in check_with_these_sources(folders, _PRINTED):
        attempt = replace(
            newest[folder.name],
            sources=sources,
            seconds={},
            checked=checked,
            predicted_again=at,
        )
        attempts.keep(attempt)
        _PRINTED.say(line(attempt))
    return attempts.kept()


def _kept_records(names: Sequence[str]) -> list[Path]:
    there = sorted(path.name for path in RECORDS.glob("[!.]*"))
    for name in names:
        if name not in there:
            allowed = f"must be one of those in {RECORDS.relative_to(RESULTS.parent)}"
            raise ScenarioError.at("--cells", name, allowed)
    return [RECORDS / name for name in names or there]


def _notes(kept: Sequence[attempts.Attempt]) -> list[str]:
    by_cell: dict[str, int] = {}
    for attempt in kept:
        by_cell[attempt.cell] = by_cell.get(attempt.cell, 0) + 1
    notes = [f"attempts of commits {', '.join(dict.fromkeys(a.commit for a in kept))}"]
    again = [a for a in kept if a.predicted_again]
    if again:
        notes.append(f"{len(again)} predictions were made again, after the runs, by newer sources")
    notes += [f"{cell}: {count} attempts" for cell, count in by_cell.items() if count > 1]
    notes += [f"{a.cell}: {a.failed}" for a in kept if a.failed]
    return notes


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=PROG, description="Training jobs predicted from one worker, and measured.")
    add = parser.add_argument
    mode = parser.add_mutually_exclusive_group().add_argument
    add("--cells", metavar="NAME", nargs="+", default=[], help="these only, of those listed")
    add("--drawn", action="store_true", help="the cells drawn from the hash of the sources")
    mode("--plan", action="store_true", help="say what would be run, then stop; needs no root")
    add("--budget-s", metavar="N", type=float, default=math.inf, help="begin no cell after N s")
    mode(
        "--recompute", action="store_true", help="run nothing, sum up what is there; needs no root"
    )
    about = "sum up those of these sources, in place of the newest"
    add("--sources", metavar="HASH", nargs="+", default=[], help=about)
    mode("--replay", action="store_true", help="predict again, from kept records; needs no root")
    mode("--again", action="store_true", help="compare kept runs with what these sources predict")
    return parser


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
