"""What a simulation that was interrupted has finished, taken over by the one that resumes it."""

from netcosim.errors import ScenarioError
from netcosim.results.folder import SCENARIO, ResultsFolder
from netcosim.results.host import hash_sources
from netcosim.results.training.finished_cells import FinishedCell, Origin, read_cell
from sim.kernels.compiled import engine_hash
from sim.simulation import Simulation


def origin_of(folder: ResultsFolder) -> Origin:
    """What figures rest on that are computed now for a folder."""
    return Origin(scenario=folder.hash_of(SCENARIO), engine=engine_hash(), sources=hash_sources())


def take_finished(simulation: Simulation, folder: ResultsFolder) -> None:
    """Take over the finished cells of a folder.

    Raises
    ------
    StorageError
        A file can't be read, or was changed.
    ScenarioError
        The simulation is complete, or was begun by another engine or with another scenario.
    """
    earlier = folder.read_training_summary()
    where = str(folder.path)
    if earlier is not None and earlier.complete:
        raise ScenarioError.at("--resume", where, "is complete: nothing is left to do")
    now = origin_of(folder)
    for number, cell in enumerate(simulation.cells):
        kept = read_cell(folder, number)
        if kept is None:
            continue
        origin, series, tables = kept
        if (origin.engine, origin.sources) != (now.engine, now.sources):
            allowed = "was begun by another release of the simulator; its figures are not mixed"
            raise ScenarioError.at("--resume", where, allowed)
        if origin != now or series.cell != cell.name:
            allowed = f"{SCENARIO} is not what it was begun with; its figures are not mixed"
            raise ScenarioError.at("--resume", where, allowed)
        if simulation.is_finished(series):
            _check_traced(tables, simulation)
            simulation.take(series, tables)


def _check_traced(tables: FinishedCell, simulation: Simulation) -> None:
    before = sorted(set(tables.operations.workers.tolist()))
    wanted = simulation.traced if simulation.scenario.training.trace_steps else ()
    if before != sorted(wanted):
        allowed = f"must be as before: {', '.join(map(str, before)) or 'none'}"
        raise ScenarioError.at("--trace", ", ".join(map(str, wanted)), allowed)
