"""Estimate a run's duration from its plan, for an otherwise idle machine."""

from typing import Final

from emu.calibration import call_acceptance, overhead
from emu.network.measure import expected_s as measuring_s
from emu.plan import Plan, distinct_receivers
from netcosim.job import Cell, Message
from topo.paths import bottleneck_bps, path_between, round_trip_ns
from topo.spec import GOODPUT_SHARE

_START_AND_REPORT_S: Final = 8.0
_PER_HOST_S: Final = 0.08
_PER_ROUND_S: Final = 1.5
"""To start and end endpoints and captures, and to read the captures."""

_PER_BURST_S: Final = 0.3


def expected_seconds(plan: Plan) -> float:
    """Estimate a run's seconds: the steps of `emu.session` added up, no burst repeated."""
    hosts = len(plan.net.servers) + len(plan.net.workers)
    receivers = distinct_receivers(plan.cells).values()
    listening = distinct_receivers(filter(call_acceptance.is_needed, plan.cells)).values()
    return (
        _START_AND_REPORT_S
        + hosts * _PER_HOST_S
        + measuring_s(plan.net)
        + sum(overhead_s(plan, cell) for cell in receivers)
        + sum(acceptance_s(plan, cell) for cell in listening)
        + sum(cell_s(plan, cell) for cell in plan.cells)
    )


def cell_s(plan: Plan, cell: Cell) -> float:
    """Expected seconds of a cell's bursts."""
    return _PER_ROUND_S + plan.scenario.repetitions * (plan.burst_seconds(cell) + _PER_BURST_S)


def overhead_s(plan: Plan, cell: Cell) -> float:
    """Expected seconds to calibrate a cell's receiver (`emu.calibration.overhead`)."""
    rate_bps, trip_ns = _path(plan, cell)
    largest = overhead.largest_bytes(plan, cell)
    messages = overhead.calibration_messages(rate_bps, trip_ns, largest)
    return _calibration_s(messages, overhead.BURSTS, rate_bps)


def acceptance_s(plan: Plan, cell: Cell) -> float:
    """Expected seconds to measure a receiver's acceptance (`emu.calibration.call_acceptance`)."""
    rate_bps, _ = _path(plan, cell)
    return _calibration_s(
        call_acceptance.acceptance_messages(rate_bps), call_acceptance.BURSTS, rate_bps
    )


def _calibration_s(messages: tuple[Message, ...], bursts: int, rate_bps: float) -> float:
    """Expected seconds of calibration bursts: busy with handed-over messages, idle in between."""
    done_s = 0.0
    for message in messages:
        done_s = max(done_s, message.ready_ns / 1e9) + message.size_bytes * 8 / rate_bps
    return _PER_ROUND_S + bursts * (done_s + _PER_BURST_S)


def _path(plan: Plan, cell: Cell) -> tuple[float, int]:
    """Goodput and round trip of the path on which a cell's receiver is calibrated."""
    planned = plan.connections(cell)[0]
    path = path_between(plan.net, planned.source, planned.destination)
    return bottleneck_bps(path) * GOODPUT_SHARE, round_trip_ns(path)
