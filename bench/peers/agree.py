"""Agreement of the peers with the engine: ``python -m bench.peers.agree [FOLDER]``.

With many workers on a busy link, rounding grows from step to step until programs part; few
workers and few steps tell a wrong model from rounding.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from rich.console import Console
from rich.table import Table

from bench.peers import simgrid, simpy_peer
from bench.peers.job import PeerRun, write_job
from bench.peers.reference import (
    reference_draws,
    reference_network,
    reference_plan,
    reference_sending,
)
from netcosim.errors import NetcosimError
from netcosim.training.plan import Draws, Floats, StepPlan
from sim.engine.engine import Engine
from sim.plan import Network, Sending

BUILD = Path(__file__).parents[2] / "build" / "peers"
STEPS = 10
WORKERS = (1, 2, 4)
RATES_BPS = (10**9, 10**10)


class _Run(Protocol):
    def __call__(self, folder: Path, job: Path, *, ends: bool = False) -> PeerRun: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A peer: another simulator.

    Attributes
    ----------
    limit : by how much, relatively, its ends of steps may differ from the engine's
    install : puts what it needs below a folder
    run : simulates a job's file
    """

    name: str
    limit: float
    install: Callable[[Path], Path]
    run: _Run


PEERS = (
    Peer(name="SimPy", limit=1e-9, install=simpy_peer.install, run=simpy_peer.run),
    Peer(name="SimGrid", limit=1e-6, install=simgrid.install, run=simgrid.run),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Largest relative difference of a peer's ends of steps from the engine's, on one job."""

    peer: Peer
    release: str
    operations: int
    rate_bps: int
    workers: int
    difference: float

    @property
    def agrees(self) -> bool:
        """True if the difference is within the peer's limit."""
        return self.difference <= self.peer.limit


def engine_ends_ns(plan: StepPlan, network: Network, sending: Sending, draws: Draws) -> Floats:
    """(workers, steps) times at which each step ends in the engine."""
    engine = Engine(plan, network, sending, draws)
    engine.run()
    steps = engine.steps()
    ends_ns = np.full(draws.step.shape, np.nan)
    ends_ns[steps.worker, steps.step] = steps.end_ns
    return ends_ns


def largest_difference(expected_ns: Floats, run: PeerRun) -> float:
    """Largest relative difference of a peer's ends of steps; infinite if it lacks some."""
    if run.ends_ns is None or run.ends_ns.shape != expected_ns.shape:
        return float("inf")
    difference = float(np.abs(run.ends_ns / expected_ns - 1.0).max())
    return difference if np.isfinite(difference) else float("inf")


def agreements(folder: Path, *, steps: int = STEPS, seed: int = 3) -> Iterator[Agreement]:
    """Compare every peer on both plans, with few workers, on a slow and a fast link.

    Parameters
    ----------
    folder
        Where peers are built; what is there is used again.
    """
    sending = reference_sending()
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as scratch:
        file = Path(scratch) / "job.txt"
        for collapsed in (False, True):
            plan = reference_plan(collapsed=collapsed)
            for rate_bps, workers in ((r, w) for r in RATES_BPS for w in WORKERS):
                job = (plan, reference_network(workers, rate_bps), sending)
                draws = reference_draws(workers, steps, seed)
                write_job(file, *job, draws)
                expected_ns = engine_ends_ns(*job, draws)
                for peer in PEERS:
                    run = peer.run(folder, file, ends=True)
                    yield Agreement(
                        peer=peer,
                        release=run.release,
                        operations=plan.operations,
                        rate_bps=rate_bps,
                        workers=workers,
                        difference=largest_difference(expected_ns, run),
                    )


def main(arguments: list[str]) -> int:
    """Print a table; 0 if all agree."""
    folder = Path(arguments[0]) if arguments else BUILD
    title = f"ends of {STEPS} steps against the engine's"
    table = Table("peer", "operations", "Gb/s", "workers", "difference", "allowed", title=title)
    try:
        rows = list(agreements(folder))
    except NetcosimError as problem:
        print(f"agree: {problem}", file=sys.stderr)
        return problem.exit_code
    for row in rows:
        table.add_row(
            f"{row.peer.name} {row.release}",
            str(row.operations),
            f"{row.rate_bps / 1e9:g}",
            str(row.workers),
            f"{row.difference:.1e}",
            f"{row.peer.limit:g}" if row.agrees else f"[red]{row.peer.limit:g}[/red]",
        )
    Console().print(table)
    return 0 if all(row.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
