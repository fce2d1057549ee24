"""The queueing network of Lin et al. (MASCOTS 2018), fed with the phases that a capture shows.

Li et al. (ICPE 2020, section 1) say that Lin et al. take the phases' lengths from tcpdump:
computing is what lies between the end of the downlink and the start of the uplink. Gradients that
leave one by one during back-propagation make a long uplink, and the port seems full too early.
"""

from netcosim.errors import ScenarioError
from sim.analytic.cycle import steps_per_s
from sim.analytic.one_worker import OneWorker, Phases


def predict(one: OneWorker, workers: int) -> float:
    """Steps per second, all workers together.

    Raises
    ------
    ScenarioError
        Neither the phases nor the two parts of the computation are known, or there are several
        servers: their phases overlap, and a customer is at one station at a time.
    """
    if len(one.rate_bps) > 1:
        raise ScenarioError.at("servers", len(one.rate_bps), "lin_phases is for one server")
    return steps_per_s(one.phases or streamed(one), workers)


def streamed(one: OneWorker) -> Phases:
    """The phases with one server of a step that overlaps as Li et al. (section 1) describe it.

    Forward propagation runs while the downlink does, and ends no earlier; the uplink starts with
    back-propagation and ends no earlier. Of computing, a capture shows what forward propagation
    needs beyond the downlink.

    Raises
    ------
    ScenarioError
        The two parts of the computation are not known.
    """
    if one.forward_ns is None or one.backward_ns is None:
        allowed = "lin_phases needs them, or phases"
        raise ScenarioError.at("forward_ns, backward_ns", "unknown", allowed)
    (down_ns,), (up_ns,) = one.down_ns, one.up_ns
    unseen_ns = max(0.0, one.forward_ns - down_ns)
    return Phases(
        down_ns=one.down_ns,
        worker_ns=unseen_ns if up_ns > 0 else unseen_ns + one.backward_ns,
        up_ns=(max(up_ns, one.backward_ns),) if up_ns > 0 else (0.0,),
        server_ns=one.server_ns,
    )
