"""Exact mean-value analysis of a closed queueing network with one class of customers.

Reiser and Lavenberg, *Mean-Value Analysis of Closed Multichain Queuing Networks*,
J. ACM 27(2), 1980.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netcosim.errors import ScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class Station:
    """Queueing or delay station of the network.

    Attributes
    ----------
    name : of the station
    kind : "queueing" is one server whose rate does not depend on how many are there: processor
        sharing, whatever the service times, or first come first served with exponential ones.
        "delay" serves everyone at once
    demand : mean service of one cycle, all visits together; any unit of time
    """

    name: str
    kind: Literal["queueing", "delay"]
    demand: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Means of the network with its full population; tuples in the order of the stations.

    Attributes
    ----------
    throughput : cycles a unit of time, all customers together
    residence : time of one cycle that is spent at each station, waiting included
    customers : number of customers at each station
    utilisation : demand times throughput: a queueing station's busy share of time; for a delay
        station the number of customers there
    """

    throughput: float
    residence: tuple[float, ...]
    customers: tuple[float, ...]
    utilisation: tuple[float, ...]


def solve(stations: Sequence[Station], population: int) -> Solution:
    """Solve the network for this many customers, in O(stations x population).

    Raises
    ------
    ScenarioError
        The population or a demand is negative or not finite, or no station takes any time.
    """
    _check(stations, population)
    throughput = 0.0
    residence = [s.demand for s in stations]
    customers = [0.0] * len(stations)
    for n in range(1, population + 1):
        residence = [
            s.demand * (1 + q) if s.kind == "queueing" else s.demand
            for s, q in zip(stations, customers, strict=True)
        ]
        throughput = n / math.fsum(residence)
        customers = [throughput * r for r in residence]
    return Solution(
        throughput=throughput,
        residence=tuple(residence),
        customers=tuple(customers),
        utilisation=tuple(s.demand * throughput for s in stations),
    )


def _check(stations: Sequence[Station], population: int) -> None:
    if population < 0:
        raise ScenarioError.at("population", population, "at least 0")
    for s in stations:
        if s.kind not in ("queueing", "delay"):
            raise ScenarioError.at(f"station {s.name}: kind", s.kind, "queueing or delay")
        if not (math.isfinite(s.demand) and s.demand >= 0):
            raise ScenarioError.at(f"station {s.name}: demand", s.demand, "finite, at least 0")
    if not any(s.demand > 0 for s in stations):
        raise ScenarioError.at("stations", len(stations), "one must have a demand above 0")
