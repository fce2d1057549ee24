"""`./dev bench schedules`: orders of release and schedules of transfers, beside what is best.

All of it is simulated, so that the machine's load makes no difference to any figure. `--quick` does
a few settings, to see that everything works, and leaves the recorded results.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import track

from bench.common.record import RESULTS, Figure, heading, record
from bench.schedules.changing import changing_rows
from bench.schedules.page import changing_table, gradients_table, study_table
from bench.schedules.published import CONTRADICTIONS
from bench.schedules.scaled import STEP_S, factor, write_scaled
from bench.schedules.studies import NETWORKS, Study, studies
from bench.schedules.transfers import SCHEDULES, Setting, measure
from netcosim.cli import CrashSite, Parser, run_main
from sim.compiling.builds import compile_missing
from sim.compiling.kernel import Kernel

PROG = "bench.schedules"
NAME, QUICK_NAME = "schedules", ".schedules-quick"
_QUICK = 2

Row = dict[str, Any]


def main(site: CrashSite) -> int:
    """Simulate everything, write figures and page."""
    quick = _parser().parse_args().quick
    begin = time.monotonic()
    chosen = studies()[:_QUICK] if quick else studies()
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as name:
        folder = Path(name)
        for network in NETWORKS:
            write_scaled(folder, network)
        compile_missing(_kernels(), _Say())
        rows = _all_rows(chosen, folder)
        changing = [] if quick else changing_rows(folder)
    figures = list(_figures(rows, time.monotonic() - begin))
    name = QUICK_NAME if quick else NAME
    (RESULTS / f"{name}.md").write_text("\n".join(_page(chosen, rows, changing)), encoding="utf-8")
    return record(name, figures, _notes(), [row for each in rows for row in each] + changing)


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
    shown = [row for study in rows[:4] for row in study if row["rate_bps"] in (10**9, 3 * 10**9)]
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
