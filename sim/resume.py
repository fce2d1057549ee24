"""What a simulation that was interrupted has finished, taken over by the one that resumes it."""

from netcosim.errors import ScenarioError
from netcosim.results.folder import ResultsFolder
from netcosim.results.training.finished_cells import FinishedCell, read_cell
from sim.kernels.compiled import engine_hash
from sim.simulation import Simulation


def take_finished(simulation: Simulation, folder: ResultsFolder) -> None:
    """Take over the finished cells of a folder.

    Raises
    ------
    StorageError
        A file can't be read.
    ScenarioError
        The simulation is complete, or was begun by another engine.
    """
    earlier = folder.read_training_summary()
    if earlier is None:
        return
    if earlier.complete:
        raise ScenarioError.at("--resume", str(folder.path), "is complete: nothing is left to do")
    if earlier.engine != engine_hash():
        allowed = "was begun by another release of the simulator; its figures are not mixed"
        raise ScenarioError.at("--resume", str(folder.path), allowed)
    numbers = {cell.name: number for number, cell in enumerate(simulation.cells)}
    for series in earlier.series:
        tables = read_cell(folder, numbers[series.cell]) if series.cell in numbers else None
        if tables is not None and simulation.is_finished(series):
            _check_traced(tables, simulation)
            simulation.take(series, tables)


def _check_traced(tables: FinishedCell, simulation: Simulation) -> None:
    before = sorted(set(tables.operations.workers.tolist()))
    wanted = simulation.traced if simulation.scenario.training.trace_steps else ()
    if before != sorted(wanted):
        allowed = f"must be as before: {', '.join(map(str, before)) or 'none'}"
        raise ScenarioError.at("--trace", ", ".join(map(str, wanted)), allowed)
