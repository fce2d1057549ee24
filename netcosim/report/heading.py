"""Heading of a page: what was run, from the scenario as resolved and not from its description."""

from collections.abc import Sequence

from netcosim.formatting import short_rate
from netcosim.scenario import Scenario

_CHANGED = "; changed by options: "
"""In a description, before the options after which it may no longer be true."""


def heading(scenario: Scenario) -> str:
    """Workloads, servers, rate and workers: ``vgg11 on 4 servers at 1 Gbit/s, 16 workers``."""
    cluster = scenario.cluster
    names = [workload.name for workload in scenario.workload]
    asked = scenario.training.rates or (cluster.link.rate,)
    rates = {*asked, *(link.rate for link in cluster.links.values())}
    between = " to ".join(short_rate(rate) for rate in sorted({min(rates), max(rates)}))
    servers = _many(cluster.servers, "server")
    return f"{_listed(names)} on {servers} at {between}, {_workers(scenario)}"


def lead(scenario: Scenario) -> str:
    """The scenario's description; if options changed it, these instead."""
    _, changed, options = scenario.description.partition(_CHANGED)
    if not changed:
        return scenario.description
    return f"Scenario {scenario.name}, changed by options: {options}"


def _workers(scenario: Scenario) -> str:
    counts = scenario.training.workers or (scenario.cluster.workers,)
    least, most = min(counts), max(counts)
    return _many(most, "worker") if least == most else f"{least} to {most} workers"


def _many(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"


def _listed(names: Sequence[str]) -> str:
    if not 1 <= len(names) <= 4:
        return f"{len(names)} workloads"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
