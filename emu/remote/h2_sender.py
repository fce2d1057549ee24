"""Sending side of an HTTP/2 end: the discipline picks each DATA frame, if the kernel has room."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from emu.remote.endpoint_common import EndpointFailureError, unacknowledged_bytes
from emu.remote.h2_wire import Wire
from h2model.h2_headers import prefix
from h2model.machine import BLOCKED, Machine
from h2model.protocol import DEFAULT_FRAME_BYTES, DEFAULT_WINDOW_BYTES


@dataclass(slots=True, kw_only=True)
class Outgoing:
    """A message handed over; `head` is the part of gRPC's prefix still to send."""

    left_bytes: int
    head: bytes
    end_stream: bool
    finished: Callable[[], None]


class Sender:
    """Sender of all outgoing messages of one connection, in the order of the discipline."""

    def __init__(self, wire: Wire, settings: Mapping[str, Any]) -> None:
        self._wire = wire
        self._grpc = bool(settings.get("grpc", False))
        self._discipline: str = settings["discipline"]
        self._options: Mapping[str, int | bool | str] = settings.get("options") or {}
        self.frame_bytes: int = settings.get("frame_size_bytes") or DEFAULT_FRAME_BYTES
        self._zeros = memoryview(bytes(self.frame_bytes))
        self._machine: Machine | None = None
        self._outgoing: dict[int, Outgoing] = {}
        self._decided: tuple[int, int] | None = None
        self._fresh: list[tuple[int, int, int, Callable[[int], None]]] = []
        self.sample: Callable[[int], None] = lambda _: None

    def start(self) -> None:
        """Build the discipline from the windows that the peer has announced by now."""
        h2 = self._wire.h2
        if self.frame_bytes > h2.max_outbound_frame_size:
            raise EndpointFailureError(
                f"frame_size_bytes: {self.frame_bytes}: the receiver allows"
                f" {h2.max_outbound_frame_size}"
            )
        try:
            self._machine = Machine(
                self._discipline,
                options=self._options,
                initial_window=h2.remote_settings.initial_window_size,
                # What h2 shows may hold updates whose events are still to come (RFC 9113, 6.9.2).
                connection_window=DEFAULT_WINDOW_BYTES,
            )
        except ValueError as problem:
            raise EndpointFailureError(f"discipline: {problem}") from None

    def hand_over(
        self,
        stream: int,
        size_bytes: int,
        priority: int,
        *,
        end_stream: bool,
        handed: Callable[[int], None],
        finished: Callable[[], None],
    ) -> None:
        """Take a message from the application.

        Messages that come in one turn of the loop reach the discipline at one time, before its
        next decision: `handed` is called with that time. `finished` is called when the kernel
        has all of the message.
        """
        head = prefix(size_bytes) if self._grpc else b""
        total = size_bytes + len(head)
        self._outgoing[stream] = Outgoing(
            left_bytes=total, head=head, end_stream=end_stream, finished=finished
        )
        self._fresh.append((stream, total, priority, handed))

    @property
    def machine(self) -> Machine:
        """The discipline; there is one once the peer's settings are known."""
        if self._machine is None:
            raise EndpointFailureError("a message was handed over before the connection was ready")
        return self._machine

    def credit(self, stream: int, size_bytes: int) -> None:
        """Pass on a WINDOW_UPDATE."""
        if self._machine is not None:
            self._machine.credit(stream, size_bytes, time.time_ns())

    def resize_windows(self, initial_window: int) -> None:
        """Pass on a change of SETTINGS_INITIAL_WINDOW_SIZE."""
        if self._machine is not None:
            self._machine.resize_windows(initial_window, time.time_ns())

    def forget(self) -> None:
        """Drop credit that came too late to matter, after a burst."""
        if self._machine is not None:
            self._machine.forget_credit()

    def pump(self) -> float | None:
        """Send one frame if there is room.

        Returns seconds until the next try, so that what has come meanwhile (requests, credit)
        is known to the next decision; None if nothing may be sent.
        """
        self._wire.flush()
        if self._wire.stuck:
            return None
        self._account()
        self._hand_over_fresh()
        if not self._outgoing:
            self._wire.push()
            return None
        if not self._wire.has_room(self.frame_bytes):
            return self._wire.poll_s
        stream, size = self.machine.next(self.frame_bytes, time.time_ns())
        if stream == BLOCKED:
            self._wire.push()
            return None
        self._decided = (stream, size)
        self._send(stream, size)
        return None if self._wire.stuck else 0.0

    def _hand_over_fresh(self) -> None:
        now_ns = time.time_ns()
        for stream, total, priority, handed in self._fresh:
            self.machine.enqueue(stream, total, now_ns, priority=priority)
            handed(now_ns)
        self._fresh.clear()

    def _send(self, stream: int, size: int) -> None:
        message = self._outgoing[stream]
        message.left_bytes -= size
        payload: bytes | memoryview = self._zeros[:size]
        if message.head:
            payload = (message.head + bytes(size))[:size]
            message.head = message.head[size:]
        last = message.left_bytes == 0
        self._wire.h2.send_data(stream, payload, end_stream=last and message.end_stream)
        self._wire.flush(more=True)
        self.sample(unacknowledged_bytes(self._wire.sock))

    def _account(self) -> None:
        """Once the kernel has all of the decided frame, tell the discipline and the application."""
        if self._decided is None:
            return
        stream, size = self._decided
        self._decided = None
        self.machine.sent(stream, size, time.time_ns())
        if self._outgoing[stream].left_bytes == 0:
            self._outgoing.pop(stream).finished()
            self._wire.flush()
