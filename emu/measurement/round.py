"""Run one round on the live network: start endpoints and captures, run bursts, stop all."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from emu.capture.tcpdump import Capture
from emu.endpoints import BurstLog, Connection, Place, StreamRequest, pair, run_burst
from emu.endpoints.connection import open_connections
from emu.endpoints.pairing import THE_MACHINES, EndpointTiming
from emu.network.live import LiveNetwork
from emu.pauses.processor_time import ProcessorClock
from emu.plan import PlannedConnection
from emu.remote.endpoint_common import TICK_NS, wait_for_tick
from netcosim.cli.session import first_of
from netcosim.job import Cell
from netcosim.scenario import TcpSpec

LEAD_NS: Final = 100_000_000
"""Lead time to a burst's start, so that both ends are armed by then."""

IMMEDIATE_UP_TO_BPS: Final = 200_000_000
"""Up to this rate tcpdump takes each packet as it comes, and stops without waiting for the rest."""

_PATIENCE: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstFacts:
    """Counters of machine and network over one burst.

    `drops` are those of queues and of the kernel's backlogs. Of what TCP sent again `loss_probes`
    and `timeouts` were no answer to a loss; `reorderings` counts segments seen to be overtaken.
    """

    steal: float
    throttled_ns: int
    drops: int
    retransmissions: int
    loss_probes: int
    timeouts: int
    reorderings: int


@dataclass(slots=True, kw_only=True)
class Round:
    """Outcome of a round: the finished bursts' logs and facts, and the captures.

    `opened` has what both ends of each connection told of themselves, `lost` the packets that the
    captures lost while a burst was under way; it lacks a burst in which a tcpdump died. `failure`
    is what ended the round early; the bursts finished before it are kept.
    """

    planned: Sequence[PlannedConnection]
    logs: list[dict[int, BurstLog]]
    opened: list[Mapping[str, Any]] = field(default_factory=list)
    facts: dict[int, BurstFacts] = field(default_factory=dict)
    captures: dict[str, Path] = field(default_factory=dict)
    lost: dict[int, int] = field(default_factory=dict)
    failure: BaseException | None = None


def _nothing() -> None:
    """Check nothing."""


def run_round(
    live: LiveNetwork,
    cell: Cell,
    planned: Sequence[PlannedConnection],
    tcp: TcpSpec,
    scratch: Path,
    *,
    bursts: Sequence[int],
    expected_s: float,
    on_burst: Callable[[int], None],
    timing: EndpointTiming = THE_MACHINES,
    check: Callable[[], None] = _nothing,
) -> Round:
    """Run the bursts of these numbers on fresh connections.

    An endpoint or a tcpdump that dies and Ctrl-C end the round; `Round.failure` says so. So does
    `check`, called as each burst is over: one for which it raises an error is not finished.
    """
    outcome = Round(planned=planned, logs=[{} for _ in planned])
    dropped = 0
    try:
        with (
            _captures(live, planned, scratch, outcome) as captures,
            _opened(_connections(live, cell, planned, tcp, timing)) as connections,
        ):
            outcome.opened = [connection.opened for connection in connections]
            try:
                for burst in bursts:
                    _burst(live, connections, burst, expected_s, outcome, check)
                    outcome.opened = [connection.told() for connection in connections]
                    before, dropped = dropped, sum(capture.dropped() for capture in captures)
                    outcome.lost[burst] = dropped - before
                    on_burst(burst)
            except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, raised later
                outcome.failure = failure
    except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - kept, and raised later
        outcome.failure = first_of(outcome.failure, failure)
    return outcome


@contextlib.contextmanager
def _captures(
    live: LiveNetwork, planned: Sequence[PlannedConnection], scratch: Path, outcome: Round
) -> Iterator[list[Capture]]:
    """Capture at every host that receives data, all its connections in one file."""
    running = []
    with contextlib.ExitStack() as stack:
        for host in sorted({c.destination for c in planned}):
            path = scratch / f"{host}.pcap"
            rate_bps = max(link.link.rate for link in live.spec.links)
            ports = [c.port for c in planned if c.destination == host]
            capture = stack.enter_context(
                Capture(
                    path,
                    interface=live.interface(host),
                    ports=ports,
                    popen=functools.partial(live.popen, host),
                    immediate=rate_bps <= IMMEDIATE_UP_TO_BPS,
                )
            )
            running.append(capture)
            outcome.captures[host] = path
            stack.callback(capture.stop)  # of a round that failed, too, its buffer is emptied
        yield running


@contextlib.contextmanager
def _opened(connections: list[Connection]) -> Iterator[list[Connection]]:
    """Open connections, and close them at the end of the block."""
    open_connections(connections)
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


def _connections(
    live: LiveNetwork,
    cell: Cell,
    planned: Sequence[PlannedConnection],
    tcp: TcpSpec,
    timing: EndpointTiming,
) -> list[Connection]:
    transport = cell.transport.model_copy(update={"window": cell.window_bytes})
    return [
        Connection(
            pair(
                transport,
                each.direction,
                worker=Place(host=each.worker, address=live.address(each.worker)),
                server=Place(host=each.server, address=live.address(each.server)),
                port=each.port,
                tcp=tcp,
                timing=timing,
            ),
            live.popen,
        )
        for each in planned
    ]


def _burst(
    live: LiveNetwork,
    connections: Sequence[Connection],
    burst: int,
    expected_s: float,
    outcome: Round,
    check: Callable[[], None],
) -> None:
    streams = [
        [
            StreamRequest(
                tensor=m.tensor,
                index=m.index,
                size_bytes=m.size_bytes,
                ready_ns=m.ready_ns,
                priority=m.priority,
            )
            for m in each.messages
        ]
        for each in outcome.planned
    ]
    before = live.counters()
    clock = ProcessorClock.read()
    wait_for_tick()
    begin_ns = time.time_ns() // TICK_NS * TICK_NS + LEAD_NS
    logs = run_burst(
        connections,
        burst,
        streams,
        [begin_ns + each.start_ns for each in outcome.planned],
        patience_s=30.0 + _PATIENCE * expected_s,
    )
    spent = ProcessorClock.read().since(clock)
    after = live.counters()
    check()
    for connection_logs, log in zip(outcome.logs, logs, strict=True):
        connection_logs[burst] = log
    outcome.facts[burst] = BurstFacts(
        steal=spent.steal,
        throttled_ns=spent.throttled_ns,
        drops=sum(_difference(before, after, f"{place}_drops") for place in ("queue", "backlog")),
        retransmissions=_difference(before, after, "tcp_retransmits"),
        loss_probes=_difference(before, after, "tcp_loss_probes"),
        timeouts=_difference(before, after, "tcp_timeouts"),
        reorderings=_difference(before, after, "tcp_reorders"),
    )


def _difference(
    before: dict[str, dict[str, int]], after: dict[str, dict[str, int]], key: str
) -> int:
    return sum(counts[key] - before[name][key] for name, counts in after.items() if key in counts)
