"""`./dev bench schedules`: orders of release and schedules of transfers, beside what is best.

All of it is simulated, so that the machine's load makes no difference to any figure. `--quick` does
a few settings, to see that everything works, and leaves the recorded results.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from bench.common.record import RESULTS, Figure, at_least, at_most, heading, record
from bench.schedules.changing import changing_rows
from bench.schedules.orders import ORDERS, measure_order, points, write_profiles
from bench.schedules.orders_page import (
    base,
    mean_efficiency,
    of,
    orders_page,
    over_listings,
)
from bench.schedules.orders_random import Gap, against_tic, gaps, gaps_of
from bench.schedules.page import changing_table, gradients_table, study_table
from bench.schedules.published import CONTRADICTIONS
from bench.schedules.scaled import STEP_S, factor, write_scaled
from bench.schedules.studies import COST_NS, GBPS, NETWORKS, Study, studies
from bench.schedules.timelines import timelines_png
from bench.schedules.transfers import SCHEDULES, Setting, measure
from netcosim.cli import CrashSite, Parser, run_main
from sim.compiling.builds import compile_missing
from sim.compiling.kernel import Kernel

PROG = "bench.schedules"
NAME, QUICK_NAME = "schedules", ".schedules-quick"
_QUICK = 2
_GAPS, _GAPS_QUICK = 3000, 30

Row = dict[str, Any]


def main(site: CrashSite) -> int:
    """Simulate everything, write figures and page."""
    quick = _parser().parse_args().quick
    begin = time.monotonic()
    name = QUICK_NAME if quick else NAME
    chosen = studies()[:_QUICK] if quick else studies()
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as made:
        folder = Path(made)
        for network in NETWORKS:
            write_scaled(folder, network)
        compile_missing(_kernels(), _Say())
        rows = _all_rows(chosen, folder)
        changing = [] if quick else changing_rows(folder)
        for ending, cost_ns in (("", 0), ("-cost", COST_NS)):
            setting = Setting(network="resnet50", schedule="fifo", rate_bps=GBPS, cost_ns=cost_ns)
            (RESULTS / f"{name}{ending}.png").write_bytes(timelines_png(setting, folder))
        ordered = _order_rows(folder, quick=quick)
    random = {
        "listed at random": gaps(_GAPS_QUICK if quick else _GAPS),
        "listed layer by layer": gaps(_GAPS_QUICK if quick else _GAPS, shuffled=False),
    }
    misled = dict(gaps_of(against_tic(), np.random.default_rng(0), ("tac", "tic")))
    figures = [
        *_order_figures(ordered, random["listed at random"], misled),
        *_figures(rows, time.monotonic() - begin),
    ]
    page = [*_page(chosen, rows, changing), *orders_page(ordered, random, misled)]
    (RESULTS / f"{name}.md").write_text("\n".join(page), encoding="utf-8")
    kept = [*(row for each in rows for row in each), *changing, *over_listings(ordered)]
    return record(name, figures, _notes(), kept)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=PROG, description="Orders and schedules of transfers, beside the best.")
    parser.add_argument("--quick", action="store_true", help="a few settings, to see that it works")
    return parser


class _Say:
    def say(self, message: str) -> None:
        """Print what is being done."""
        print(message, flush=True)


def _kernels() -> list[Kernel]:
    return [
        Kernel("fifo", share, extended=True, schedule=schedule)
        for share in ("equal", "max_min")
        for schedule in SCHEDULES
    ]


def _all_rows(chosen: Sequence[Study], folder: Path) -> list[list[Row]]:
    """Rows of each study, its settings side by side."""
    settings: list[Setting] = [s for study in chosen for s in study.settings]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(partial(measure, folder=folder), settings, chunksize=4)
        rows = list(track(found, "simulating", total=len(settings)))
    ends = iter(rows)
    return [[next(ends) | {"study": study.name} for _ in study.settings] for study in chosen]


def _order_rows(folder: Path, *, quick: bool) -> list[Row]:
    """A row for every order and network."""
    write_profiles(folder)
    chosen = [p for p in points() if not quick or (p.network == "alexnet" and p.shuffle < 1)]
    for order in ORDERS:  # compiles what the pool would compile twice
        measure_order(next(p for p in chosen if p.order == order), folder)
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        found = pool.map(partial(measure_order, folder=folder), chosen, chunksize=8)
        return list(track(found, "orders", total=len(chosen)))


def _order_figures(
    rows: Sequence[Row], random: Mapping[str, Gap], misled: Mapping[str, float]
) -> Iterator[Figure]:
    """Efficiency of TIC, TAC and the print, against the target."""
    forward = base(rows, "forward")
    for network in sorted({row["network"] for row in forward}):
        own = of(forward, network=network)
        note = f"W = 1, D = F at {own[0]['rate_bps'] / 1e9:.2f} Gbit/s, {len(own)} points"
        for order in ("tic", "tac"):
            found = mean_efficiency(of(own, order=order))
            yield at_least(f"{network}, forward pass: E of {order}", found, "", 0.95, note)
        printed = mean_efficiency(of(own, order="tac_printed"))
        yield Figure(name=f"{network}, forward pass: E of TAC as printed", value=printed, unit="")
    tac = random["tac"]
    spread = f"p95 {100 * tac.p95:.2g} %, worst {100 * tac.worst:.2g} %"
    yield at_most(
        "random networks: TAC over the best order, mean", 100 * tac.mean, "%", 1.0, spread
    )
    gain = 100 * ((1 + misled["tic"]) / (1 + misled["tac"]) - 1)
    yield at_least("a network in which TIC is misled: TIC's step over TAC's", gain, "%", 20.0)


def _figures(rows: Sequence[Sequence[Row]], took_s: float) -> Iterator[Figure]:
    """Best schedule of each setting by study, how near the bound it comes, and the time taken."""
    for study in rows:
        best = [row["of_bound"] for row in study]
        yield Figure(
            name=f"{study[0]['study']}: best over the bound",
            value=max(best),
            unit="of the bound",
            note=f"worst {min(best):.2f}, {len(study)} settings",
        )
    yield Figure(name="simulating all of it", value=took_s, unit="s")


def _page(
    chosen: Sequence[Study], rows: Sequence[Sequence[Row]], changing: Sequence[Row]
) -> list[str]:
    lines = [
        heading(NAME),
        "Examples a second of each worker, simulated; in brackets what Zhang et al. print (Prophet,"
        " ICPP 2021, tables 2 and 3). *bound*: what no schedule can exceed. *least gap*: smaller"
        " differences may be chance.",
        "",
    ]
    for study, found in zip(chosen, rows, strict=True):
        lines += study_table(study.name, study.question, study.by, found)
    rates = [row for study in rows for row in study if "rates" in row["study"]]
    shown = [row for row in rates if row["rate_bps"] in (10**9, 3 * 10**9)]
    lines += ["### Gradients", "", *gradients_table(shown)]
    if changing:
        lines += ["### A port between 3 and 1 Gbit/s", "", *changing_table(changing)]
    lines += ["### Where the paper's figures contradict each other", ""]
    return [*lines, *(f"- {text}." for text in CONTRADICTIONS), ""]


def _notes() -> list[str]:
    return [
        f"durations of the built-in profiles times {factor():.4f}, so that ResNet-50 computes for"
        f" {STEP_S} s with 64 examples: scaled, not measured",
        "costs of messages are given, not measured",
        *CONTRADICTIONS,
    ]


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
