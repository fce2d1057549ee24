"""Shared parts of the endpoint scripts: events on stdout, a burst's log, TCP socket queries.

Standard library only, and nothing newer than Python 3.7: old gRPC releases need old interpreters.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import socket
import struct
import threading
import time
from typing import Any, NoReturn

SIOCOUTQ = 0x5411  # bytes written and not yet acknowledged
SIOCOUTQNSD = 0x894B  # bytes written and not yet sent
TCP_NOTSENT_LOWAT = 25
TICK_NS = 100_000_000

TENSOR_PATH = re.compile(r"/netcosim\.Tensors/b(\d+)/t(\d+)")
_OUTPUT = threading.Lock()


class EndpointFailureError(Exception):
    """A failure that ends this endpoint, in one line for the emulator."""


def wait_for_tick() -> None:
    """Wait for the next whole tenth of a second of the clock.

    What comes behind it does not depend on how long imports took: in a guest that hangs, by some
    nanoseconds, on which files and bytecode the machine has.
    """
    left_ns = -time.time_ns() % TICK_NS
    time.sleep(max(0, left_ns - 0.5) / 1e9)  # sleep rounds up to whole nanoseconds


def emit(event: str, **fields: Any) -> None:
    """Report one event as a JSON line on stdout."""
    fields["event"] = event
    line = (json.dumps(fields, separators=(",", ":")) + "\n").encode()
    with _OUTPUT:
        while line:
            line = line[os.write(1, line) :]


def give_up(message: object) -> NoReturn:
    """Report an error in one line and leave at once, from whatever thread."""
    try:
        emit("error", message=" ".join(str(message).split()))
    finally:
        os._exit(1)


def tensor_path(burst: int, index: int) -> str:
    """Give the request path that names one tensor of one burst."""
    return f"/netcosim.Tensors/b{burst}/t{index}"


def parse_path(path: str) -> tuple[int, int]:
    """Read burst and index out of a request path."""
    match = TENSOR_PATH.fullmatch(path)
    if match is None:
        raise EndpointFailureError(f"request for an unknown path {path!r}")
    return int(match.group(1)), int(match.group(2))


class Processor:
    """Processor of an end, which takes so long for each message, one after the other.

    It is arithmetic on a clock of its own: what waits for it waits until the time that it tells.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        costs = config.get("processor") or {}
        self._costs = {name: tuple(costs.get(name) or (0, 0.0)) for name in ("sent", "received")}
        self._free_ns = 0
        self._lock = threading.Lock()

    def sent_ns(self, size_bytes: int, now_ns: int) -> int:
        """Time at which a message is ready to be handed over whose work may begin now."""
        return self._done_ns("sent", size_bytes, now_ns)

    def received_ns(self, size_bytes: int, now_ns: int) -> int:
        """Time at which a message is in the application whose last byte came now."""
        return self._done_ns("received", size_bytes, now_ns)

    def _done_ns(self, what: str, size_bytes: int, now_ns: int) -> int:
        message_ns, ns_per_byte = self._costs[what]
        work_ns = message_ns + round(ns_per_byte * size_bytes)
        if not work_ns:
            return now_ns
        with self._lock:
            self._free_ns = max(self._free_ns, now_ns) + work_ns
            return self._free_ns


class BurstLog:
    """Log of one burst at one end; times are CLOCK_REALTIME nanoseconds."""

    def __init__(self, command: dict[str, Any]) -> None:
        self.number: int = command["burst"]
        self.start_ns: int = command["start_ns"]
        self.streams: list[dict[str, Any]] = command["streams"]
        self.by_index = {item["index"]: item for item in self.streams}
        self.late_ns = 0
        self._busy_ns = 0
        self._times: dict[int, dict[str, int]] = {index: {} for index in self.by_index}
        self._samples = 0
        self._sum = 0
        self._max = 0
        self._cpu_ns = time.process_time_ns()

    def in_order(self) -> list[dict[str, Any]]:
        """Streams by their ready time; equal ones as listed."""
        return sorted(self.streams, key=lambda item: int(item["ready_ns"]))

    def ready_at(self, index: int) -> int:
        """Time at which the application has this tensor ready."""
        ready: int = self.by_index[index]["ready_ns"]
        return self.start_ns + ready

    def stream(self, burst: int, index: int) -> dict[str, Any]:
        """Find a stream that the peer named; refuse what was not announced."""
        if burst != self.number or index not in self.by_index:
            raise EndpointFailureError(
                f"the peer speaks of burst {burst}, tensor {index}, unknown in burst {self.number}"
            )
        item: dict[str, Any] = self.by_index[index]
        return item

    def mark(self, index: int, what: str, now_ns: int) -> None:
        """Note a stream's `requested_ns`, `handed_ns`, `taken_ns` or `delivered_ns`."""
        self._times[index][what] = now_ns
        if what in ("requested_ns", "handed_ns"):
            self._busy_ns = now_ns

    def mark_taken_at_once(self, index: int, now_ns: int) -> None:
        """Note a message that the transport had when it was handed over."""
        self.mark(index, "handed_ns", now_ns)
        self.mark(index, "taken_ns", now_ns)

    def waited(self, deadline_ns: int, now_ns: int) -> None:
        """Note how late a timed wait ended.

        A deadline that passed while an earlier tensor was still being handed over was no wait.
        """
        if deadline_ns >= self._busy_ns:
            self.late_ns = max(self.late_ns, now_ns - deadline_ns)

    def sample(self, past_scheduler_bytes: int) -> None:
        """Note the bytes that were handed to the kernel and not yet acknowledged."""
        self._samples += 1
        self._sum += past_scheduler_bytes
        self._max = max(self._max, past_scheduler_bytes)

    def report(self) -> None:
        """Emit this end's `done`."""
        past = None
        if self._samples:
            past = {"max": self._max, "mean": self._sum // self._samples, "samples": self._samples}
        emit(
            "done",
            burst=self.number,
            streams=[dict(times, index=index) for index, times in self._times.items()],
            late_ns=self.late_ns,
            past_scheduler_bytes=past,
            cpu_ns=time.process_time_ns() - self._cpu_ns,
        )


def unacknowledged_bytes(sock: socket.socket) -> int:
    """Bytes in the socket that the peer's TCP has not acknowledged."""
    return _queue(sock, SIOCOUTQ)


def unsent_bytes(sock: socket.socket) -> int:
    """Bytes in the socket that TCP has not sent yet."""
    return _queue(sock, SIOCOUTQNSD)


def _queue(sock: socket.socket, request: int) -> int:
    size: int = struct.unpack("i", fcntl.ioctl(sock.fileno(), request, b"\0\0\0\0"))[0]
    return size


def read_back(sock: socket.socket) -> dict[str, Any]:
    """Read back a TCP socket's options from the kernel."""
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return {
        "congestion_control": name.split(b"\0")[0].decode(),
        "send_buffer_bytes": sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
        "receive_buffer_bytes": sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        "notsent_lowat_bytes": sock.getsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT) & 0xFFFFFFFF,
        "nodelay": bool(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)),
        "segment_bytes": sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG),
    }


def own_connection(port: int) -> socket.socket | None:
    """Duplicate this process's connected TCP socket with `port` at either end, if there is one."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - fds vanish while one looks
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            sock = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        if _is_connection(sock, port):
            return sock
        sock.close()
    return None


def _is_connection(sock: socket.socket, port: int) -> bool:
    if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
        return False
    try:
        return port in (sock.getpeername()[1], sock.getsockname()[1])
    except OSError:
        return False
