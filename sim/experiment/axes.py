"""The numbers of workers and the rates of links that a scenario asks for."""

from netcosim.scenario import Scenario


def worker_counts(scenario: Scenario) -> tuple[int, ...]:
    """Numbers of workers to run, in ascending order."""
    return tuple(sorted(scenario.training.workers or (scenario.cluster.workers,)))


def simulated_counts(scenario: Scenario) -> tuple[int, ...]:
    """The same, with the reference (one worker, no stragglers) first unless it is among them."""
    counts = worker_counts(scenario)
    among_them = 1 in counts and not scenario.straggler
    return counts if among_them else (1, *counts)


def at_each_rate(scenario: Scenario) -> dict[int, Scenario]:
    """The scenario with each rate of links that it asks for, by rate in bits per second."""
    training = scenario.training
    if training.rates is None:
        return {scenario.cluster.link.rate: scenario}
    alone = training.model_copy(update={"rates": None})
    found = {}
    for rate_bps in training.rates:
        link = scenario.cluster.link.model_copy(update={"rate": rate_bps})
        cluster = scenario.cluster.model_copy(update={"link": link})
        found[rate_bps] = scenario.model_copy(update={"cluster": cluster, "training": alone})
    return found
