"""Checks of a scenario before it is simulated, and notes on the limits of its results."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario, StragglerSpec
from netcosim.training.batching import check_curves
from netcosim.training.stragglers import Conditions, check_stragglers, straggler_text
from netcosim.units import format_duration
from sim.experiment.all_left import all_gone_ns
from sim.experiment.as_measured import check_common_start
from sim.experiment.axes import at_each_rate, worker_counts
from sim.experiment.cell import TrainingCell, training_cells
from sim.experiment.kept_plans import Plans
from sim.plan import Network
from sim.settings import conditions_on, network_of, unseen_stalls
from sim.settings.share import overfilled


def checked_cells(scenario: Scenario, kept: Plans | None = None) -> tuple[TrainingCell, ...]:
    """Check all that a scenario names, before anything is simulated; return its cells.

    `kept` are plans of earlier simulations, to be used and added to.

    Raises
    ------
    ScenarioError
        What it names does not exist, or can't be simulated.
    """
    counts = worker_counts(scenario)
    check_stragglers(scenario.straggler, max(counts))
    cells = training_cells(scenario, kept)
    if scenario.coordination is not None:
        for cell in cells:
            check_curves(scenario.coordination, cell.batch, max(counts))
    for each in at_each_rate(scenario).values():
        for workers in {counts[0], counts[-1]}:
            check_conditions(each, workers)
    return cells


def check_conditions(scenario: Scenario, workers: int) -> None:
    """Refuse links, and stragglers' links, that can't be simulated with so many workers.

    At the rates that the scenario has, so that the message has them too.
    """
    network = network_of(scenario, workers)
    try:
        under = _combined(scenario.straggler, network)
    except ScenarioError as problem:
        raise _naming(problem, scenario.straggler, network) from None
    check_common_start(scenario.training.measured, under)
    gone_ns = all_gone_ns(under)
    if gone_ns is not None:
        who = "the one worker" if workers == 1 else f"all {workers} workers"
        allowed = f"{who} would be gone for good; one must stay or come 'back'"
        raise ScenarioError.at("straggler", f"leave, {format_duration(gone_ns)}", allowed)


def _combined(specs: Sequence[StragglerSpec], network: Network) -> Conditions:
    """Combined conditions of all of the network's workers, with arbitrary random draws."""
    seed = np.random.SeedSequence(0)
    return conditions_on(network, specs, 1, seed, horizon_ns=1.0)


def _naming(
    problem: ScenarioError, specs: Sequence[StragglerSpec], network: Network
) -> ScenarioError:
    """Error that names the first straggler entry with which the problem arises."""
    for i, spec in enumerate(specs):
        try:
            _combined(specs[: i + 1], network)
        except ScenarioError as first:
            where = f"straggler[{i}]"
            if str(first).startswith(where):
                return first
            return ScenarioError(f"{where} ({straggler_text(spec)}): {first}")
    return problem


def conditions_before(scenario: Scenario) -> Conditions:
    """Conditions of the largest run, as far as they do not depend on random draws."""
    return _combined(scenario.straggler, network_of(scenario, max(worker_counts(scenario))))


def notes(scenario: Scenario, cells: Sequence[TrainingCell]) -> list[str]:
    """Notes for the user on what the simulation leaves out or overdoes, one line each."""
    most = max(worker_counts(scenario))
    found = []
    for cell in cells:
        network = network_of(cell.scenario, most)
        under = _combined(scenario.straggler, network)
        found += [
            f"{cell.name}: {text}"
            for text in (
                unseen_stalls(cell.sending, network.server_bps, under.worker_bps, under.delay_ns),
                overfilled(replace(network, worker_bps=under.worker_bps)),
            )
            if text
        ]
    return found
