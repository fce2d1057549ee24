"""A TCP socket and the HTTP/2 state on it, with a bound on its unacknowledged bytes."""

import socket
from collections.abc import Callable, Mapping
from typing import Any

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import Event
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from emu.remote.endpoint_common import (
    TCP_NOTSENT_LOWAT,
    EndpointFailureError,
    unacknowledged_bytes,
    unsent_bytes,
)
from h2model.protocol import (
    DEFAULT_FRAME_BYTES,
    DEFAULT_WINDOW_BYTES,
    FRAME_HEADER_BYTES,
    UNLIMITED_BYTES,
)

DEFAULT_SEND_BYTES = 131072
DEFAULT_POLL_NS = 250_000
"""Time to wait before the socket is asked for room again."""

MOST_READ_BYTES = 1 << 18
_MANY_STREAMS = 2**20
_SEGMENT_BYTES = 1448


def prepare(sock: socket.socket, tcp: Mapping[str, Any], frame_bytes: int) -> None:
    """Set what must be set before the socket connects or listens.

    The kernel's send buffer is made larger than the bound that the wire itself keeps, so that
    it never splits a frame; for the same reason TCP_NOTSENT_LOWAT stays off the socket and is
    obeyed by `Wire.has_room`.
    """
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, UNLIMITED_BYTES)
    name = tcp.get("congestion_control")
    if name:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, str(name).encode())
        except OSError as problem:
            raise EndpointFailureError(
                f"tcp.congestion_control: {name!r}: the kernel refuses it: {problem.strerror}"
            ) from None
    limit = tcp.get("send_buffer_bytes") or DEFAULT_SEND_BYTES
    _force_buffer(sock, socket.SO_SNDBUF, 2 * limit + 4 * frame_bytes)
    if tcp.get("receive_buffer_bytes"):
        _force_buffer(sock, socket.SO_RCVBUF, tcp["receive_buffer_bytes"])


def _force_buffer(sock: socket.socket, option: int, size_bytes: int) -> None:
    """Set a buffer; SO_SNDBUFFORCE and SO_RCVBUFFORCE pass the system's maximum (root only)."""
    force = 32 if option == socket.SO_SNDBUF else 33
    try:
        sock.setsockopt(socket.SOL_SOCKET, force, size_bytes)
    except PermissionError:
        sock.setsockopt(socket.SOL_SOCKET, option, size_bytes)


class Wire:
    """Socket and HTTP/2 state of one end: bytes in, events out; frames in, bytes out.

    `limit_bytes` bounds the bytes in the socket that are not yet acknowledged; `poll_s` is how long
    to wait before asking again whether there is room.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        client: bool,
        settings: Mapping[str, Any],
        tcp: Mapping[str, Any],
    ) -> None:
        self.sock = sock
        sock.setblocking(False)
        self.limit_bytes: int = tcp.get("send_buffer_bytes") or DEFAULT_SEND_BYTES
        # select(2) waits whole microseconds and rounds up: no digit of a float may be one more.
        self.poll_s = ((tcp.get("poll_ns") or DEFAULT_POLL_NS) - 500) / 1e9
        self._lowat_bytes: int | None = tcp.get("notsent_lowat_bytes")
        self._corked = False
        self.h2 = H2Connection(
            H2Configuration(
                client_side=client,
                header_encoding=None,
                # Both ends are known; checking headers costs more than sending them.
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
            )
        )
        self._pending = memoryview(b"")
        self._announce(settings, client=client)

    def _announce(self, settings: Mapping[str, Any], *, client: bool) -> None:
        frame = settings.get("frame_size_bytes") or DEFAULT_FRAME_BYTES
        window = inbound_window(settings)
        self.h2.local_settings = Settings(
            client=client,
            initial_values={
                SettingCodes.HEADER_TABLE_SIZE: 4096,
                SettingCodes.MAX_CONCURRENT_STREAMS: _MANY_STREAMS,
                SettingCodes.INITIAL_WINDOW_SIZE: window,
                SettingCodes.MAX_FRAME_SIZE: frame,
            },
        )
        self.h2.max_inbound_frame_size = frame
        self.h2.initiate_connection()
        extra = inbound_connection_window(settings) - DEFAULT_WINDOW_BYTES
        if extra > 0:
            self.h2.increment_flow_control_window(extra)
        self.flush()

    @property
    def stuck(self) -> bool:
        """True if bytes wait for the kernel to take them."""
        return bool(self._pending)

    def has_room(self, frame_bytes: int) -> bool:
        """True if one more whole frame stays within the bound, or nothing is unacknowledged."""
        if self._pending:
            return False
        if self._lowat_bytes is not None and unsent_bytes(self.sock) >= self._lowat_bytes:
            return False
        waiting = unacknowledged_bytes(self.sock)
        return waiting == 0 or waiting + frame_bytes + FRAME_HEADER_BYTES <= self.limit_bytes

    def flush(self, *, more: bool = False) -> None:
        """Hand the kernel all that h2 has ready; what it refuses stays pending.

        With `more` a segment that is not full waits for what comes next, or for `push`: where every
        frame ended in a short one, a link would carry 0.3 % less.
        """
        if more and not self._corked and self._may_cork:
            self._cork(1)
        if self._pending:
            self._write()
        if not self._pending:
            self._pending = memoryview(self.h2.data_to_send())
            self._write()

    def push(self) -> None:
        """Send what waits for a full segment, as nothing follows for now."""
        if self._corked:
            self._cork(0)

    def _cork(self, on: int) -> None:
        # Not MSG_MORE: any acknowledgement ends it.
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, on)
        self._corked = bool(on)

    @property
    def _may_cork(self) -> bool:
        """False where the bound holds hardly more than a frame.

        Then no full segment may be on its way whose acknowledgement would make room.
        """
        frame_bytes: int = self.h2.max_outbound_frame_size + FRAME_HEADER_BYTES
        return self.limit_bytes >= frame_bytes + 2 * _SEGMENT_BYTES

    def _write(self) -> None:
        while self._pending:
            try:
                taken = self.sock.send(self._pending)
            except BlockingIOError:
                return
            except OSError as problem:
                raise EndpointFailureError(f"connection lost: {problem.strerror}") from None
            self._pending = self._pending[taken:]

    def receive(
        self, read_bytes: int = MOST_READ_BYTES, enough: Callable[[], bool] = lambda: True
    ) -> list[Event] | None:
        """Read what has come; None when the peer has closed the connection.

        Reads so many bytes at once, at least once, until it is `enough` or nothing more is there.
        """
        happened: list[Event] = []
        for _ in range(0, MOST_READ_BYTES, read_bytes):
            try:
                data = self.sock.recv(read_bytes)
            except BlockingIOError:
                break
            except OSError as problem:
                raise EndpointFailureError(f"connection lost: {problem.strerror}") from None
            if not data:
                return happened or None  # the next call sees the end again
            happened += self._events(data)
            if enough():
                break
        return happened

    def _events(self, data: bytes) -> list[Event]:
        try:
            return list(self.h2.receive_data(data))
        except H2Error as problem:
            raise EndpointFailureError(f"HTTP/2 error: {problem}") from None


def inbound_window(settings: Mapping[str, Any]) -> int:
    """Initial window of the streams that this end receives."""
    if not settings.get("flow_control", True):
        return UNLIMITED_BYTES
    return int(settings.get("window_bytes") or DEFAULT_WINDOW_BYTES)


def inbound_connection_window(settings: Mapping[str, Any]) -> int:
    """Window of the whole connection at this end; unlimited unless it was asked for."""
    if not settings.get("flow_control", True):
        return UNLIMITED_BYTES
    return int(settings.get("connection_window_bytes") or UNLIMITED_BYTES)
