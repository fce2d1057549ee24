"""One node of a training job over our own HTTP/2, with all of its connections in one thread."""

import gc
import select
import socket
import sys
import time
from pathlib import Path
from typing import Any

# The script's own folder must not shadow libraries; the project must be found.
sys.path[0] = str(Path(__file__).resolve().parents[3])

from emu.remote.endpoint_common import emit  # noqa: E402
from emu.remote.training.commands import STDIN, Commands, ProcessorTime, serve  # noqa: E402
from emu.remote.training.h2_calls import H2Calls  # noqa: E402
from emu.remote.training.roles import (  # noqa: E402
    Calls,
    ServerRole,
    role_of,
)
from emu.remote.training.time_slice import TimeSlice  # noqa: E402
from netcosim.training.call_path import parse_path  # noqa: E402
from netcosim.training.job import TrainingJob  # noqa: E402


class Node:
    """Event loop of a node: what is due, what may be sent, then wait for peers, emulator, timer."""

    def __init__(self, config: dict[str, Any], job: TrainingJob, commands: Commands) -> None:
        self._job = job
        self._commands = commands
        self._start_ns = 0
        self._running = False
        self._told_over = False
        self._time = ProcessorTime()
        self._busy = False
        self._pulls = {c["peer"]: self._calls(c) for c in config["pulls"]}
        self._gradients = {c["peer"]: self._calls(c) for c in config["gradients"]}
        self._connections = [*self._pulls.values(), *self._gradients.values()]
        pulls: dict[int, Calls] = dict(self._pulls.items())
        gradients: dict[int, Calls] = dict(self._gradients.items())
        self._role = role_of(self._job, config, pulls, gradients, self._now)

    def _calls(self, config: dict[str, Any]) -> H2Calls:
        return H2Calls(config, self._size_of, self)

    def asked(self, path: str) -> None:
        """A peer asks for a tensor."""
        self._role.asked(path)

    def delivered(self, path: str) -> None:
        """A tensor has come."""
        self._role.delivered(path)

    def acknowledged(self, path: str) -> None:
        """A peer has answered the call that brought it a tensor."""
        self._role.acknowledged(path)

    def _size_of(self, path: str) -> int:
        return int(self._job.plan.size_bytes[parse_path(path)[3]])

    def _now(self) -> float:
        return float(time.time_ns() - self._start_ns)

    def run(self) -> None:
        """Serve until told to stop."""
        while True:
            wait_s = self._turn()
            if not self._wait(wait_s):
                return

    def _turn(self) -> float | None:
        """Do what is due; seconds to wait at most.

        A turn sends a frame, or for a slice of time where it had more to do than fits one.
        """
        waits, time_slice = [], TimeSlice()
        if self._running:
            self._role.advance()
            if self._role.next_ns != float("inf"):
                waits.append(max(0.0, self._role.next_ns - self._now()) / 1e9)
        for connection in self._connections:
            if connection.opened:
                wait_s = connection.advance()
                if wait_s is not None:
                    waits.append(wait_s)
        for connection in self._connections if self._busy or time_slice.over else ():
            if connection.opened:
                connection.send_on()
        self._tell()
        return min(waits) if waits else None

    def _tell(self) -> None:
        """Tell the emulator what is over."""
        if self._role.log.step_over:
            emit("rows", rows=self._role.take_rows())
        if (
            self._running
            and not self._told_over
            and isinstance(self._role, ServerRole)
            and self._role.over
        ):
            self._told_over = True
            emit("over")

    def _wait(self, wait_s: float | None) -> bool:
        """Wait and handle what came; False when told to stop."""
        opened = {c.wire.sock: c for c in self._connections if c.opened}
        reads: list[int | socket.socket] = [STDIN, *opened]
        writes = [sock for sock, connection in opened.items() if connection.wire.stuck]
        readable, _, _ = select.select(reads, writes, [], wait_s)
        if STDIN in readable:
            self._commands.read()
        for command in self._commands.taken():
            if not self._do(command):
                return False
        time_slice = TimeSlice()
        for sock, connection in opened.items():
            if sock in readable:
                connection.receive()
        self._busy = time_slice.over
        return True

    def _do(self, command: dict[str, Any]) -> bool:
        name = command["cmd"]
        if name == "listen":
            for connection in self._connections:
                connection.listen()
            emit("listening")
        elif name == "connect":
            for connection in self._connections:
                connection.open()
            emit("connected")
        elif name == "start":
            gc.collect()
            self._start_ns = command["start_ns"]
            while time.time_ns() < self._start_ns:
                time.sleep((self._start_ns - time.time_ns()) / 1e9)
            self._running = True
            self._time.begin()
            self._role.begin()
        elif name == "begin":
            self._role.begin_step(command["step"], command["factor"])
        elif name == "stop":
            spent_ns = self._time.spent_ns
            emit("stopped", rows=self._role.take_rows(), processor_ns=spent_ns)
            self._commands.stand_still()
            return False
        return True


if __name__ == "__main__":
    serve(lambda config, job, commands: Node(config, job, commands).run())
