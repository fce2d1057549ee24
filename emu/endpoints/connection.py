"""Connections between endpoint processes: open both ends, steer them through bursts, close."""

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

from emu.endpoints.burst_logs import BurstLog, StreamLog, StreamRequest, end_log, merge_streams
from emu.endpoints.pairing import ConnectionPlan
from emu.endpoints.process import EndpointProcess, Popen
from emu.endpoints.watch import await_event
from netcosim.errors import EndpointError

OPEN_S = 30.0
ARM_S = 30.0


class Connection:
    """Both ends of one connection; it carries any number of bursts, one after the other.

    `opened` holds the `connected` event of each end: TCP options that it read back, the release
    of gRPC, and what an h2 end learned of its peer's settings.
    """

    def __init__(self, plan: ConnectionPlan, popen: Popen) -> None:
        self.plan = plan
        self.opened: Mapping[str, Any] = MappingProxyType({})
        self._popen = popen
        self._ends: list[EndpointProcess] = []
        self._settled = True

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ends(self) -> tuple[EndpointProcess, ...]:
        """Responder and requester, once started."""
        return tuple(self._ends)

    @property
    def requester(self) -> EndpointProcess:
        """The end that sends the requests; it connects."""
        return self._end(1)

    @property
    def responder(self) -> EndpointProcess:
        """The end that answers; it listens."""
        return self._end(0)

    def open(self) -> None:
        """Start both ends and connect them.

        Raises
        ------
        EndpointError
            An end failed or died.
        """
        open_connections([self])

    def run_burst(
        self, burst: int, streams: Sequence[StreamRequest], start_ns: int, patience_s: float
    ) -> BurstLog:
        """Run one burst; see the function of the same name."""
        return run_burst([self], burst, [streams], [start_ns], patience_s)[0]

    def start(self, *, responder: bool) -> EndpointProcess:
        """Start one end; the responder comes first."""
        self.unsettle()
        process = EndpointProcess(
            self._popen, self.plan.responder if responder else self.plan.requester
        )
        self._ends.append(process)
        return process

    def close(self) -> None:
        """End both processes, by force if the step begun has not ended well. Never raises."""
        # The requester first: it closes the connection, the responder sees it closed.
        for process in reversed(self._ends):
            if self._settled:
                process.finish()
            else:
                process.kill()
        self._ends.clear()

    def unsettle(self) -> None:
        """Note that something has begun after which an end may hang."""
        self._settled = False

    def settle(self) -> None:
        """Note that the step begun has ended well."""
        self._settled = True

    def told(self) -> Mapping[str, Any]:
        """`opened`, and what each end has logged of its PINGs by now."""
        ends = {"responder": self.responder, "requester": self.requester}
        for end in ends.values():
            end.collect_errors()
        return {
            name: {**self.opened[name], "ping_delays_ms": list(end.ping_delays_ms)}
            for name, end in ends.items()
        }

    def _end(self, position: int) -> EndpointProcess:
        if len(self._ends) <= position:
            raise EndpointError(f"connection {self.plan.name}: is not open")
        return self._ends[position]


def open_connections(connections: Sequence[Connection], patience_s: float = OPEN_S) -> None:
    """Open several connections side by side; when one fails, all are closed again.

    Raises
    ------
    EndpointError
        An end failed, died or hangs.
    """
    with contextlib.ExitStack() as undo:
        for connection in connections:
            undo.callback(connection.close)
        responders = [connection.start(responder=True) for connection in connections]
        await_event(responders, "listening", patience_s)
        requesters = [connection.start(responder=False) for connection in connections]
        reports = await_event([*requesters, *responders], "connected", patience_s)
        for i, connection in enumerate(connections):
            connection.settle()
            connection.opened = MappingProxyType(
                {"requester": reports[i], "responder": reports[len(connections) + i]}
            )
        undo.pop_all()


def run_burst(
    connections: Sequence[Connection],
    burst: int,
    streams: Sequence[Sequence[StreamRequest]],
    starts_ns: Sequence[int],
    patience_s: float,
) -> list[BurstLog]:
    """Run a burst on several connections at the same time.

    Parameters
    ----------
    connections
        Open connections.
    burst
        Its number; it appears in the request paths.
    streams
        For each connection its tensors in the order of release.
    starts_ns
        For each connection the CLOCK_REALTIME time of its start, far enough ahead that all ends are
        armed by then.
    patience_s
        Longest time in which nothing may go on, nor be told.

    Raises
    ------
    EndpointError
        An end failed, died or hangs; the connections are then useless.
    """
    ends = [end for c in connections for end in (c.requester, c.responder)]
    for connection, tensors, start_ns in zip(connections, streams, starts_ns, strict=True):
        listed = [_as_command(tensor) for tensor in tensors]
        connection.unsettle()
        # The responder first: what keeps this process in between must not let a request overtake.
        for end in (connection.responder, connection.requester):
            end.command("burst", burst=burst, start_ns=start_ns, streams=listed)
    await_event(ends, "armed", ARM_S)
    done = await_event(ends, "done", patience_s)
    for connection in connections:
        connection.settle()
    return [
        _log(connection, burst, starts_ns[i], tensors, done[2 * i], done[2 * i + 1])
        for i, (connection, tensors) in enumerate(zip(connections, streams, strict=True))
    ]


def _as_command(tensor: StreamRequest) -> dict[str, object]:
    return {
        "tensor": tensor.tensor,
        "index": tensor.index,
        "size_bytes": tensor.size_bytes,
        "ready_ns": tensor.ready_ns,
        "priority": tensor.priority,
    }


def _log(
    connection: Connection,
    burst: int,
    start_ns: int,
    tensors: Sequence[StreamRequest],
    requester: Mapping[str, Any],
    responder: Mapping[str, Any],
) -> BurstLog:
    merged = merge_streams(requester, responder)
    return BurstLog(
        connection=connection.plan.name,
        burst=burst,
        start_ns=start_ns,
        streams=tuple(
            StreamLog(
                index=tensor.index,
                requested_ns=merged[tensor.index]["requested_ns"],
                handed_ns=merged[tensor.index]["handed_ns"],
                delivered_ns=merged[tensor.index]["delivered_ns"],
                taken_ns=merged[tensor.index].get("taken_ns"),
            )
            for tensor in tensors
        ),
        requester=end_log(connection.plan.requester.host, requester),
        responder=end_log(connection.plan.responder.host, responder),
    )
