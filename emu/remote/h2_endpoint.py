"""One end of one HTTP/2 connection, as a process: configuration in argv, commands on stdin.

See docs/reference/endpoints.md. One thread, one loop; the discipline is the state machine that
the predictions use.
"""

import gc
import json
import os
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

# The script's own folder must not shadow libraries; the project must be found.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from h2 import events  # noqa: E402 - after the path is set

from emu.remote import h2_wire  # noqa: E402
from emu.remote.endpoint_common import (  # noqa: E402
    BurstLog,
    EndpointFailureError,
    emit,
    give_up,
    read_back,
    wait_for_tick,
)
from emu.remote.h2_receiver import Receiver  # noqa: E402
from emu.remote.h2_roles import Requester, Responder, Role, Timers  # noqa: E402
from emu.remote.h2_sender import Sender  # noqa: E402
from h2model.protocol import DEFAULT_FRAME_BYTES  # noqa: E402

STDIN = 0
_WINDOWS = (events.WindowUpdated, events.RemoteSettingsChanged)
CONNECT_TIMEOUT_S = 60


class CommandReader:
    """Reader of the emulator's commands, line by line; ends the process when it is gone."""

    def __init__(self) -> None:
        self._buffer = b""

    def read(self) -> list[dict[str, Any]]:
        """Read the commands that have come; leave at once when stdin is closed."""
        data = os.read(STDIN, 1 << 20)
        if not data:
            os._exit(0)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return [json.loads(line) for line in lines if line.strip()]


class Endpoint:
    """Event loop of one end: timers, the scheduler, then wait for peer, emulator or timer."""

    def __init__(
        self, config: dict[str, Any], sock: socket.socket, commands: CommandReader
    ) -> None:
        settings = config["settings"]
        requester = config["role"] == "requester"
        sends = requester == (config["mode"] == "push")
        self._commands = commands
        self._timers = Timers()
        self._wire = h2_wire.Wire(sock, client=requester, settings=settings, tcp=config["tcp"])
        self._sender = Sender(self._wire, settings) if sends else None
        role = Requester if requester else Responder
        receiver = Receiver(self._wire, settings)
        self._role: Role = role(self._wire, self._sender, receiver, self._timers, config)
        self._log: BurstLog | None = None
        self._ready = False
        self._peer_gone = False

    def run(self) -> None:
        """Serve bursts until told to stop."""
        while True:
            self._timers.run(self._log)
            wait_s = self._advance()
            self._finish_burst()
            if not self._wait(wait_s):
                return

    def _advance(self) -> float | None:
        """Send what may be sent; seconds to wait for the kernel, None if nothing waits for it."""
        if self._sender:
            return self._sender.pump()
        self._wire.flush()
        return None

    def _wait(self, wait_s: float | None) -> bool:
        """Wait for peer, emulator or timer and handle what came; False when told to stop."""
        waits = [w for w in (wait_s, self._timers.wait_s(time.time_ns())) if w is not None]
        sock = self._wire.sock
        reads: list[int | socket.socket] = [STDIN] if self._peer_gone else [STDIN, sock]
        writes = [sock] if self._wire.stuck else []
        readable, _, _ = select.select(reads, writes, [], min(waits) if waits else None)
        # Commands first: after a pause a burst's announcement and its requests wait together.
        if STDIN in readable and not all(map(self._obey, self._commands.read())):
            return False
        if sock in readable:
            self._receive()
        return True

    def _obey(self, command: dict[str, Any]) -> bool:
        if command["cmd"] == "stop":
            return False
        if command["cmd"] != "burst":
            raise EndpointFailureError(f"unknown command {command['cmd']!r}")
        if self._log is not None:
            raise EndpointFailureError(
                f"burst {command['burst']} came while burst {self._log.number} is under way"
            )
        if self._peer_gone:
            raise EndpointFailureError("connection lost between bursts")
        gc.collect()
        self._log = BurstLog(command)
        if self._sender:
            self._sender.sample = self._log.sample
        self._role.begin(self._log)
        emit("armed", burst=self._log.number)
        return True

    def _finish_burst(self) -> None:
        if self._log is not None and self._role.unfinished == 0 and not self._wire.stuck:
            self._log.report()
            self._log = None
            if self._sender:
                self._sender.forget()

    def _receive(self) -> None:
        happened = self._wire.receive()
        if happened is None:
            self._lost("connection lost: the peer closed it")
            return
        # Windows first: a message handed over below may be sent at once.
        for event in sorted(happened, key=lambda event: not isinstance(event, _WINDOWS)):
            self._handle(event)

    def _handle(self, event: events.Event) -> None:
        if isinstance(event, events.WindowUpdated):
            if self._sender:
                self._sender.credit(event.stream_id, event.delta)
        elif isinstance(event, events.RemoteSettingsChanged):
            self._settings_changed()
        elif isinstance(event, events.ConnectionTerminated):
            self._lost(f"connection lost: GOAWAY, error {event.error_code}")
        else:
            self._role.handle(event)

    def _lost(self, message: str) -> None:
        if self._log is not None or not self._ready:
            raise EndpointFailureError(message)
        self._peer_gone = True

    def _settings_changed(self) -> None:
        h2 = self._wire.h2
        if self._ready:
            if self._sender:
                self._sender.resize_windows(h2.remote_settings.initial_window_size)
            return
        self._ready = True
        if self._sender:
            self._sender.start()
        emit(
            "connected",
            tcp=dict(read_back(self._wire.sock), send_limit_bytes=self._wire.limit_bytes),
            peer={
                "initial_window_bytes": h2.remote_settings.initial_window_size,
                "frame_size_bytes": h2.max_outbound_frame_size,
            },
        )


def open_socket(config: dict[str, Any], commands: CommandReader) -> socket.socket | None:
    """Listen for the one peer, or connect to it; None when told to stop before that."""
    address = (config["address"], config["port"])
    frame = config["settings"].get("frame_size_bytes") or DEFAULT_FRAME_BYTES
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    h2_wire.prepare(sock, config["tcp"], frame)
    try:
        if config["role"] == "requester":
            sock.settimeout(CONNECT_TIMEOUT_S)
            sock.connect(address)
            return sock
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(1)
    except OSError as problem:
        verb = "connect to" if config["role"] == "requester" else "listen on"
        raise EndpointFailureError(
            f"can't {verb} {address[0]}:{address[1]}: {problem.strerror or problem}"
        ) from None
    emit("listening")
    with sock:
        while True:
            reads: list[int | socket.socket] = [STDIN, sock]
            readable, _, _ = select.select(reads, [], [])
            if sock in readable:
                return sock.accept()[0]
            if any(command["cmd"] == "stop" for command in commands.read()):
                return None


def main() -> None:
    """Run one endpoint."""
    gc.disable()  # Collected between bursts, never within one.
    commands = CommandReader()
    try:
        config = json.loads(sys.argv[1])
        wait_for_tick()
        sock = open_socket(config, commands)
        if sock is not None:
            Endpoint(config, sock, commands).run()
    except EndpointFailureError as problem:
        give_up(problem)


if __name__ == "__main__":
    main()
