"""Runs cells on one live network, until each has enough valid bursts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from emu.measurement.cell_digest import CellDigest, CellOutcome
from emu.measurement.round import run_round
from emu.measurement.validity import BOUNDS
from emu.network.live import LiveNetwork
from emu.pauses.pauses import PauseRecorders
from netcosim.job import Cell


@dataclass(frozen=True, slots=True, kw_only=True)
class CellRunner:
    """Runs cells on one live network.

    `recorders` record the pauses of the machine's processors: a burst in which one dies is not
    finished, and ends the cell.
    """

    live: LiveNetwork
    digest: CellDigest
    scratch: Path
    recorders: PauseRecorders
    on_burst: Callable[[Cell, int], None]

    def run(self, cell: Cell) -> CellOutcome:
        """Run a cell until it has enough valid bursts or its attempts are used up.

        A failure that ended it early is in `CellOutcome.failure`; finished bursts are kept.
        """
        outcome = CellOutcome(cell=cell)
        wanted = self.digest.plan.scenario.repetitions
        for attempt in range(BOUNDS.attempts):
            missing = wanted - outcome.valid_bursts
            if missing <= 0:
                break
            first = len(outcome.validity)
            self._round(outcome, attempt, range(first, first + missing))
            if outcome.failure is not None:
                break
        return outcome

    def _round(self, outcome: CellOutcome, attempt: int, bursts: Sequence[int]) -> None:
        cell = outcome.cell
        done = run_round(
            self.live,
            cell,
            self.digest.plan.connections(cell),
            self.digest.tcp,
            self.scratch,
            bursts=bursts,
            expected_s=self.digest.plan.burst_seconds(cell),
            on_burst=lambda burst: self.on_burst(cell, burst),
            check=self.recorders.check_alive,
        )
        self.digest.take(outcome, done, attempt, self.recorders.so_far)
