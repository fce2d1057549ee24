"""What of a training scenario is run: all of it, a record of one worker, what a seal predicts."""

from dataclasses import dataclass

from emu.training.job_cells import JobCell, worker_counts
from netcosim.errors import ScenarioError
from netcosim.results.training.seal import Seal
from netcosim.scenario import Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Numbers of workers that each cell is run with, and the seal that it was predicted by.

    Attributes
    ----------
    counts : numbers of workers, rising
    profiling : the one worker does every recorded step once
    seal : file of the prediction that was made before
    sealed_sha256 : its hash
    """

    counts: tuple[int, ...]
    profiling: bool = False
    seal: bytes | None = None
    sealed_sha256: str | None = None


def whole(scenario: Scenario) -> Task:
    """Everything that the scenario names."""
    return Task(counts=worker_counts(scenario))


def record() -> Task:
    """One worker's record."""
    return Task(counts=(1,), profiling=True)


def sealed(seal: Seal, data: bytes, cells: tuple[JobCell, ...]) -> Task:
    """What a seal predicts.

    Raises
    ------
    ScenarioError
        A job, a cell or a number of workers that is not the one that was predicted.
    """
    hashes = {cell.name: cell.sha256 for cell in cells}
    different = hashes.keys() ^ {cell.cell for cell in seal.cells}
    if different:
        allowed = "is in the scenario or in the predictions, and not in both"
        raise ScenarioError(f"cells: {min(different)}: {allowed}")
    for cell in seal.cells:
        if hashes.get(cell.cell) != cell.job_sha256:
            allowed = "the prediction is of another job: this version draws jobs in another way"
            raise ScenarioError.at(f"cells.{cell.cell}.job_sha256", cell.job_sha256[:16], allowed)
    counts = {point.workers for cell in seal.cells for point in cell.points}
    wanted = worker_counts(cells[0].scenario)
    if counts != set(wanted):
        allowed = f"must be {', '.join(map(str, wanted))}, as the scenario has them"
        raise ScenarioError(f"cells.points.workers: {sorted(counts)}: {allowed}")
    return Task(counts=tuple(sorted(counts)), seal=data, sealed_sha256=seal.sha256)
