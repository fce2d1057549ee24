"""`./dev bench balance`: coordinators of unequal workers, beside the figures of Chen et al.

The source is their "Semi-dynamic load balancing" (LB-BSP, SoCC 2020).

All of it is simulated. `--only PART` does one part, `--quick` next to nothing of each; both leave
the recorded results. Predictors that need PyTorch or statsmodels are left out where these are not
installed.
"""

import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

from bench.balance.against_asp import asp_figures
from bench.balance.costs import cost_figures
from bench.balance.gpus import gpu_figures
from bench.balance.page import write_page
from bench.balance.processes import process_figures
from bench.balance.stealing import stealing_figures
from bench.common.record import Figure, record
from netcosim.cli import CrashSite, Parser, run_main

PROG: Final = "bench.balance"
Json = dict[str, Any]


class Part(Protocol):
    """A part of the benchmark: its figures, and its rows, which it adds."""

    def __call__(self, rows: list[Json], /, *, quick: bool) -> Iterator[Figure]:
        """Simulate."""


PARTS: Final[Mapping[str, Part]] = {
    "gpus": gpu_figures,
    "asp": asp_figures,
    "processes": process_figures,
    "stealing": stealing_figures,
    "costs": cost_figures,
}


def main(site: CrashSite) -> int:
    """Simulate, print the table, write figures and page."""
    parser = Parser(prog=PROG, description="Coordinators of unequal workers.")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part")
    parser.add_argument("--quick", action="store_true", help="see that it works")
    options = parser.parse_args()
    rows: list[Json] = []
    figures = []
    for name in options.only or PARTS:
        for figure in PARTS[name](rows, quick=options.quick):
            figures.append(figure)
            print(f"{figure.name}: {figure.value:.6g} {figure.unit} {figure.note}", flush=True)
    whole = not options.only and not options.quick
    if whole:
        write_page(rows)
    return record("balance" if whole else ".balance-part", figures, (), rows)


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
