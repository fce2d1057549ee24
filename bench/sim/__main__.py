"""`./dev bench sim`: speed of the simulator, beside its C++ twin and other simulators.

Competitors take turns, round by round; figures are of the median round, with the best one beside.
`--quick` measures next to nothing, to see that everything works, and leaves the recorded results.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator

from bench.common.record import Figure, record
from bench.peers import fast_twin
from bench.peers.agree import BUILD, PEERS
from bench.sim.default_scenario import everyday_figures
from bench.sim.engines import PAPER_S, Rows, engine_figures, scaling_figures
from bench.sim.features import feature_figures
from bench.sim.peers import own_agreement, peer_figures, verdicts
from bench.sim.processes import compile_figures, memory_figures, start_figures
from bench.sim.timing import QUICK, Effort
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.results.host import SIMULATION, describe_host, versions

PROG = "bench.sim"
NAME, QUICK_NAME = "sim", ".sim-quick"


def main(site: CrashSite) -> int:
    """Measure everything, print the table, write the figures."""
    quick = _parser().parse_args().quick
    effort = QUICK if quick else Effort()
    before = _load()
    rows: Rows = []
    figures = list(_said(_figures(effort, rows)))
    notes = [*_machine(), f"load average of a minute: {before} before, {_load()} after"]
    return record(QUICK_NAME if quick else NAME, figures, notes, rows)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog=PROG, description="How fast the simulator is, beside its peers.")
    parser.add_argument(
        "--quick", action="store_true", help="see that it works; the figures are worth nothing"
    )
    return parser


def _figures(effort: Effort, rows: Rows) -> Iterator[Figure]:
    """All figures in order; a peer that does not agree with the engine is not timed."""
    for install in (fast_twin.install, *(peer.install for peer in PEERS)):
        install(BUILD)
    fast, twin = own_agreement(BUILD)
    yield fast
    yield twin
    if not (fast.met and twin.met):
        return
    agreed = verdicts(BUILD)
    yield from (verdict.figure() for verdict in agreed)
    yield from engine_figures(effort, BUILD, rows)
    yield from feature_figures(effort, rows)
    yield from scaling_figures(effort, rows)
    yield from everyday_figures(effort, rows)
    yield from peer_figures(agreed, effort, BUILD, rows)
    yield from memory_figures(effort, rows)
    yield from start_figures(effort, rows)
    yield from compile_figures(effort, rows)


def _said(figures: Iterable[Figure]) -> Iterator[Figure]:
    """Pass figures on, and print a line of each as soon as it is there."""
    for figure in figures:
        print(f"{figure.name}: {figure.value:.4g} {figure.unit}", flush=True)
        yield figure


def _machine() -> list[str]:
    host = describe_host()
    about = f"{host['processor']}, {host['memory']} of memory, {host['distribution']}"
    libraries = ", ".join(f"{name} {v}" for name, v in versions(SIMULATION).items())
    paper = f"the paper's 2 to 10 workers took about {PAPER_S} s on its machine"
    return [f"{about}; Python {host['python']}, {libraries}", paper]


def _load() -> str:
    return f"{os.getloadavg()[0]:.2f}"


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
