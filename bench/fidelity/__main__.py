"""`./dev bench fidelity`: prediction errors of the models on real streams, cell by cell.

The cells are listed in ``bench/fidelity/cells.toml``, those of several connections in
``connections.toml`` beside it. The observation of each is kept in
``bench/fidelity/observations``, and every figure is computed from that, so a run that is cut short
goes on where it ended, and ``python -m bench.fidelity --recompute`` scores what is there with
today's models, without root.

``--clock virtual`` observes the same cells in virtual time, into ``bench/results`` and beside the
others: ``.fidelity-virtual`` for observations, ``fidelity-virtual.json`` and ``.md`` for scores.
"""

import argparse
import fnmatch
import math
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from bench.common.clock import REAL, add_clock_option, by_clock
from bench.common.record import RESULTS, heading, record
from bench.fidelity.listing import CONNECTIONS, Listed, read_listing
from bench.fidelity.page import page
from bench.fidelity.running import run_missing
from bench.fidelity.scores import Row, as_json, empty_row, score_cell
from bench.fidelity.store import Store
from bench.fidelity.totals import totals
from netcosim.cli import CrashSite, Parser, run_main

PROG = "bench fidelity"


def main(site: CrashSite) -> int:
    """Run what is missing, score what is there, write the table."""
    parser = _parser()
    options = parser.parse_args()
    if options.anew and not options.only:
        parser.error("--anew: --only says which cells are run again")
    listed = [*read_listing(clock=options.clock), *read_listing(CONNECTIONS, options.clock)]
    cells = [c for c in listed if fnmatch.fnmatch(c.key, f"*{options.only}*")]
    store = _store(options.clock)
    if options.list:
        _print_list(cells, store)
        return 0
    if not options.recompute:
        run_missing(
            cells,
            store,
            budget_s=options.budget_s,
            say=_say,
            retry=options.retry,
            renew=options.renew,
            anew=options.anew,
        )
    rows = score_all(cells, store)
    if options.only:
        print(page(rows, ""))
        return 0
    text = page(rows, heading("fidelity", options.clock))
    (RESULTS / f"{by_clock('fidelity', options.clock)}.md").write_text(text, encoding="utf-8")
    kept = [as_json(row) for row in rows]
    return record("fidelity", totals(rows), rows=kept, clock=options.clock)


def _store(clock: str) -> Store:
    """Observations by this clock; those by the real one are committed."""
    return Store() if clock == REAL else Store(path=RESULTS / f".{by_clock('fidelity', clock)}")


def score_all(cells: Sequence[Listed], store: Store) -> list[Row]:
    """A line for each cell, in their order."""
    reasons = store.not_run()
    seen = [cell for cell in cells if store.has(cell)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        scored = dict(
            zip(
                (c.key for c in seen), pool.map(partial(score_cell, store=store), seen), strict=True
            )
        )
    return [
        scored.get(cell.key)
        or empty_row(cell, reasons.get(cell.key, "not reached: it is not among the observations"))
        for cell in cells
    ]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=PROG, description="How well the models predict, cell by cell.")
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="cells whose name has this in it; * and ?"
    )
    add_clock_option(parser)
    parser.add_argument("--list", action="store_true", help="list the cells, then stop")
    parser.add_argument(
        "--recompute", action="store_true", help="run nothing, score what is there; needs no root"
    )
    parser.add_argument(
        "--retry", action="store_true", help="run again what has too few valid bursts"
    )
    parser.add_argument(
        "--renew", action="store_true", help="run again what an older release observed"
    )
    parser.add_argument("--anew", action="store_true", help="run all again that --only names")
    parser.add_argument(
        "--budget-s", metavar="N", type=float, default=math.inf, help="begin no group after N s"
    )
    return parser


def _print_list(cells: Sequence[Listed], store: Store) -> None:
    for cell in cells:
        print(f"{'observed' if store.has(cell) else '-':10}{cell.key}")


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
