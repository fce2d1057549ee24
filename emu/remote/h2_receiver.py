"""Receiving side of an HTTP/2 end: count incoming messages, give credit by the named rule."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from h2.exceptions import StreamClosedError

from emu.remote.endpoint_common import EndpointFailureError
from emu.remote.h2_wire import Wire, inbound_connection_window, inbound_window
from h2model.credit import DEFAULT as DEFAULT_CREDIT
from h2model.credit import load
from h2model.protocol import GRPC_PREFIX_BYTES


@dataclass(slots=True, kw_only=True)
class Incoming:
    """An incoming message; `message_bytes` is 0 until its header gave the length."""

    expected_bytes: int
    message_bytes: int
    granted_bytes: int
    received_bytes: int = 0
    head: bytes = field(default=b"")


class Receiver:
    """Receiver of all incoming messages of one connection."""

    def __init__(self, wire: Wire, settings: Mapping[str, Any]) -> None:
        self._wire = wire
        self._grpc = bool(settings.get("grpc", False))
        self._window = inbound_window(settings)
        self._connection_window = inbound_connection_window(settings)
        self._consumed = 0
        self._grant = load(settings.get("credit") or DEFAULT_CREDIT).grant
        self._incoming: dict[int, Incoming] = {}

    def expect(self, stream: int, size_bytes: int, announced_bytes: int | None = None) -> None:
        """Open a message of `size_bytes`; a header may have announced its length already."""
        expected = size_bytes + (GRPC_PREFIX_BYTES if self._grpc else 0)
        if announced_bytes is not None and announced_bytes != size_bytes:
            raise EndpointFailureError(
                f"stream {stream} announces {announced_bytes} bytes instead of {size_bytes}"
            )
        self._incoming[stream] = Incoming(
            expected_bytes=expected,
            message_bytes=0 if self._grpc else expected,
            granted_bytes=self._window,
        )

    def data(self, stream: int, data: bytes, flow_bytes: int) -> bool:
        """Consume a DATA frame and give credit; True when it completes the stream's message."""
        self._credit_connection(flow_bytes)
        message = self._incoming.get(stream)
        if message is None:
            return False
        message.received_bytes += flow_bytes
        if message.message_bytes == 0:
            self._read_prefix(stream, message, data)
        if message.received_bytes > message.expected_bytes:
            raise EndpointFailureError(
                f"stream {stream} brings more than its {message.expected_bytes} bytes"
            )
        if message.received_bytes == message.expected_bytes:
            del self._incoming[stream]
            return True
        if message.message_bytes:
            self._credit_stream(stream, message)
        return False

    def ended(self, stream: int) -> None:
        """Check a stream that ended: its message must have come whole."""
        message = self._incoming.get(stream)
        if message is not None:
            raise EndpointFailureError(
                f"stream {stream} ended after {message.received_bytes}"
                f" of {message.expected_bytes} bytes"
            )

    def _read_prefix(self, stream: int, message: Incoming, data: bytes) -> None:
        message.head = (message.head + bytes(data[:GRPC_PREFIX_BYTES]))[:GRPC_PREFIX_BYTES]
        if len(message.head) < GRPC_PREFIX_BYTES:
            return
        length = int.from_bytes(message.head[1:], "big") + GRPC_PREFIX_BYTES
        if length != message.expected_bytes:
            raise EndpointFailureError(
                f"stream {stream} announces {length} bytes instead of {message.expected_bytes}"
            )
        message.message_bytes = length

    def _credit_stream(self, stream: int, message: Incoming) -> None:
        more = self._grant(
            message.received_bytes, message.granted_bytes, self._window, message.message_bytes
        )
        if more > 0:
            message.granted_bytes += more
            # One read may bring the stream's last frame as well; then no credit is wanted.
            with suppress(StreamClosedError):
                self._wire.h2.increment_flow_control_window(more, stream)

    def _credit_connection(self, flow_bytes: int) -> None:
        """Give back what was consumed each time it comes to half the connection's window."""
        self._consumed += flow_bytes
        if 2 * self._consumed >= self._connection_window:
            self._wire.h2.increment_flow_control_window(self._consumed)
            self._consumed = 0
