"""Queueing network of Lin et al. (MASCOTS 2018), demands from the phases in a packet capture.

Li et al. (ICPE 2020, section 1) say that Lin et al. take the phases' lengths from tcpdump:
computing is what lies between the end of the downlink and the start of the uplink. Gradients that
leave one by one during back-propagation make a long uplink, and the port seems full too early.
"""

from netcosim.errors import ScenarioError
from sim.analytic.cycle import steps_per_s
from sim.analytic.one_worker import OneWorker


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together.

    Raises
    ------
    ScenarioError
        The phases are not known, or there are several servers: their phases overlap, and a customer
        is at one station at a time.
    """
    if len(one.rate_bps) > 1:
        raise ScenarioError.at("servers", len(one.rate_bps), "lin_phases is for one server")
    if one.phases is None:
        raise ScenarioError.at("phases", "unknown", "lin_phases needs them")
    return steps_per_s(one.phases, workers)
