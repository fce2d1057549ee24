"""The share strategy of a scenario's links: as given, or chosen once all else is known."""

from dataclasses import replace

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario
from sim.experiment.axes import at_each_rate, worker_counts
from sim.plan import Network
from sim.settings import conditions_on, network_of
from sim.settings.share import RIGHT_FOR_ALL, right_share


def with_share(scenario: Scenario) -> Scenario:
    """The scenario with a share strategy that is right at all of its rates, if it names none.

    What is wrong with the scenario otherwise is not told here.
    """
    if scenario.training.share is not None:
        return scenario
    chosen = {right_share_of(each) for each in at_each_rate(scenario).values()}
    share = chosen.pop() if len(chosen) == 1 else RIGHT_FOR_ALL
    training = scenario.training.model_copy(update={"share": share})
    return scenario.model_copy(update={"training": training})


def right_share_of(scenario: Scenario) -> str:
    """Name of the cheapest strategy that is right for the largest run, stragglers included."""
    training = scenario.training.model_copy(update={"share": RIGHT_FOR_ALL})
    try:
        network = _under_stragglers(scenario.model_copy(update={"training": training}))
    except ScenarioError:
        return RIGHT_FOR_ALL
    return right_share([network])


def _under_stragglers(scenario: Scenario) -> Network:
    """The largest run's network, each port at the rate that stragglers leave of it."""
    network = network_of(scenario, max(worker_counts(scenario)))
    seed = np.random.SeedSequence(0)
    under = conditions_on(network, scenario.straggler, 1, seed, horizon_ns=1.0)
    return replace(network, worker_bps=under.worker_bps)
