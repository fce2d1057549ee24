"""One HTTP/2 connection of a node: calls that bring tensors, or that ask for them."""

import select
import socket
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from h2 import events

from emu.remote import h2_wire
from emu.remote.endpoint_common import EndpointFailureError
from emu.remote.h2_receiver import Receiver
from emu.remote.h2_sender import Sender
from emu.remote.training.roles import Told
from emu.remote.training.time_slice import TimeSlice
from h2model import h2_headers
from h2model.protocol import DEFAULT_FRAME_BYTES

CONNECT_TIMEOUT_S = 60
_CALLS_BYTES = 1 << 11
"""Bytes of calls that are read at once: some twenty of them."""

_WINDOWS = (events.WindowUpdated, events.RemoteSettingsChanged)


class H2Calls:
    """Connection over which its client asks for tensors, or pushes them, a call each.

    Parameters
    ----------
    config
        Of the connection: `client`, whether it is the one that `sends` tensors, `address`, `port`,
        `settings`, `tcp`.
    size_of
        From a call's path to the bytes of its tensor.
    told
        Told what happens.
    """

    def __init__(
        self, config: Mapping[str, Any], size_of: Callable[[str], int], told: Told
    ) -> None:
        self._config = config
        self._client: bool = config["client"]
        self._sends: bool = config["sends"]
        self._settings: dict[str, Any] = config["settings"]
        self._authority = f"{config['address']}:{config['port']}"
        self._size_of = size_of
        self._told = told
        self._to_do: deque[Callable[[], None]] = deque()
        self._path_of: dict[int, str] = {}
        self._stream_of: dict[str, int] = {}
        self._listening: socket.socket | None = None
        self._wire: h2_wire.Wire | None = None
        self._sender: Sender | None = None
        self._receiver: Receiver | None = None
        self.ready = False

    @property
    def wire(self) -> h2_wire.Wire:
        """The socket and its state, once it is there."""
        assert self._wire is not None
        return self._wire

    @property
    def opened(self) -> bool:
        """True once it is connected."""
        return self._wire is not None

    def listen(self) -> None:
        """Listen for the one peer, if it is the server."""
        if self._client:
            return
        sock = self._socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self._config["address"], self._config["port"]))
        sock.listen(1)
        self._listening = sock

    def open(self) -> None:
        """Connect to the peer, or accept it."""
        if self._client:
            sock = self._socket()
            sock.settimeout(CONNECT_TIMEOUT_S)
            try:
                sock.connect((self._config["address"], self._config["port"]))
            except OSError as problem:
                why = problem.strerror or problem
                raise EndpointFailureError(f"can't connect to {self._authority}: {why}") from None
        else:
            assert self._listening is not None
            readable, _, _ = select.select([self._listening], [], [], CONNECT_TIMEOUT_S)
            if not readable:
                raise EndpointFailureError(f"nobody has connected to {self._authority}")
            sock = self._listening.accept()[0]
            self._listening.close()
        tcp = self._config["tcp"]
        self._wire = h2_wire.Wire(sock, client=self._client, settings=self._settings, tcp=tcp)
        if self._sends:
            self._sender = Sender(self._wire, self._settings)
        else:
            self._receiver = Receiver(self._wire, self._settings)

    def _socket(self) -> socket.socket:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        frame = self._settings.get("frame_size_bytes") or DEFAULT_FRAME_BYTES
        h2_wire.prepare(sock, self._config["tcp"], frame)
        return sock

    def ask(self, path: str) -> None:
        """Ask for a tensor; requests of one turn of the loop leave together, or a slice of them."""
        self._to_do.append(lambda: self._make_call(path))

    def _make_call(self, path: str) -> None:
        assert self._receiver is not None
        h2 = self.wire.h2
        stream: int = h2.get_next_available_stream_id()
        self._path_of[stream] = path
        h2.send_headers(
            stream,
            h2_headers.request(path, self._authority, 0, grpc=self._grpc),
            end_stream=not self._grpc,
        )
        self._receiver.expect(stream, self._size_of(path))
        if self._grpc:
            h2.send_data(stream, h2_headers.prefix(0), end_stream=True)

    def answer(self, path: str, priority: int) -> None:
        """Hand a tensor over that was asked for; of many at once a slice in a turn of the loop."""
        self._to_do.append(lambda: self._hand_over(path, priority))

    def _hand_over(self, path: str, priority: int) -> None:
        assert self._sender is not None
        stream, size, grpc = self._stream_of.pop(path), self._size_of(path), self._grpc
        self.wire.h2.send_headers(stream, h2_headers.response(size, grpc=grpc))
        self._sender.hand_over(
            stream,
            size,
            priority,
            end_stream=not grpc,
            handed=lambda _: None,
            finished=lambda: self._finished(stream),
        )

    def push(self, path: str, priority: int) -> None:
        """Hand a tensor over by a call of one's own."""
        assert self._sender is not None
        h2, size = self.wire.h2, self._size_of(path)
        stream: int = h2.get_next_available_stream_id()
        self._path_of[stream] = path
        h2.send_headers(stream, h2_headers.request(path, self._authority, size, grpc=self._grpc))
        self._sender.hand_over(
            stream, size, priority, end_stream=True, handed=lambda _: None, finished=lambda: None
        )

    def acknowledge(self, path: str) -> None:
        """Answer a call that has brought a tensor, with nothing."""
        stream, h2, grpc = self._stream_of.pop(path), self.wire.h2, self._grpc
        h2.send_headers(stream, h2_headers.response(0, grpc=grpc), end_stream=not grpc)
        if grpc:
            h2.send_data(stream, h2_headers.prefix(0))
            h2.send_headers(stream, h2_headers.trailers(), end_stream=True)

    @property
    def _grpc(self) -> bool:
        return bool(self._settings.get("grpc"))

    def _finished(self, stream: int) -> None:
        if self._grpc:
            self.wire.h2.send_headers(stream, h2_headers.trailers(), end_stream=True)

    def advance(self) -> float | None:
        """Send what may be sent; seconds to wait for the kernel, None if nothing waits for it."""
        time_slice = TimeSlice()
        while self._to_do and not time_slice.over:
            self._to_do.popleft()()
        if self._sender is not None and self.ready:
            wait_s = self._sender.pump()
        else:
            self.wire.flush()
            wait_s = None
        return 0.0 if self._to_do else wait_s

    def send_on(self) -> None:
        """Send for a slice of time, where other work has kept this connection from it."""
        time_slice = TimeSlice()
        while self._sender is not None and self.ready and not time_slice.over:
            if self._sender.pump() != 0.0:
                return

    def receive(self) -> None:
        """Read what has come, and tell of it."""
        if self._receiver is None:  # many small calls, which take their time
            time_slice = TimeSlice()
            happened = self.wire.receive(_CALLS_BYTES, lambda: time_slice.over)
        else:
            happened = self.wire.receive()
        if happened is None:
            raise EndpointFailureError("connection lost: the peer closed it")
        # Windows first: a tensor handed over below may be sent at once.
        for event in sorted(happened, key=lambda event: not isinstance(event, _WINDOWS)):
            self._handle(event)

    def _handle(self, event: events.Event) -> None:
        if isinstance(event, events.RemoteSettingsChanged):
            self._settings_changed()
        elif isinstance(event, events.WindowUpdated):
            if self._sender is not None:
                self._sender.credit(event.stream_id, event.delta)
        elif isinstance(event, events.RequestReceived):
            self._called(h2_headers.find(event.headers, ":path") or "", event.stream_id)
        elif isinstance(event, events.DataReceived):
            self._data(event)
        elif isinstance(event, events.StreamEnded):
            if self._client and self._sends:
                self._told.acknowledged(self._path_of.pop(event.stream_id))
        elif isinstance(event, events.StreamReset | events.ConnectionTerminated):
            raise EndpointFailureError(f"connection lost: {type(event).__name__}")

    def _called(self, path: str, stream: int) -> None:
        self._stream_of[path] = stream
        if self._receiver is None:
            self._told.asked(path)
        else:
            self._path_of[stream] = path
            self._receiver.expect(stream, self._size_of(path))

    def _data(self, event: events.DataReceived) -> None:
        if self._receiver is None:
            return  # the empty message of a request, or of an answer
        if self._receiver.data(event.stream_id, event.data, event.flow_controlled_length):
            self._told.delivered(self._path_of.pop(event.stream_id))

    def _settings_changed(self) -> None:
        if self._sender is not None:
            if self.ready:
                window = self.wire.h2.remote_settings.initial_window_size
                self._sender.resize_windows(window)
            else:
                self._sender.start()
        self.ready = True
