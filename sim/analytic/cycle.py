"""Throughput of a closed queueing network: workers are customers, a step is a cycle."""

from sim.analytic.mva import Station, solve
from sim.analytic.one_worker import NS, Phases, check_workers


def steps_per_s(demands: Phases, workers: int) -> float:
    """Steps per second where ports are queueing stations and computations delays.

    Raises
    ------
    ScenarioError
        Fewer workers than one.
    """
    check_workers(workers)
    ports = [*demands.down_ns, *demands.up_ns]
    delays = [demands.worker_ns, *demands.server_ns]
    stations = [Station(name="port", kind="queueing", demand=d) for d in ports]
    stations += [Station(name="compute", kind="delay", demand=d) for d in delays]
    return solve(stations, workers).throughput * NS
