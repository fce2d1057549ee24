"""Measure a path between two hosts with plain TCP; a stand-alone script, standard library only.

``link_probe.py serve ADDRESS PORT`` prints ``{"listening": PORT}`` and answers until killed.
``link_probe.py ask ADDRESS PORT`` reads one request a line from standard input and prints one
answer a line, both JSON. Requests, seen from the asking side:

``{"do": "rtt", "seconds": S, "pause_s": P}``
    round trips of one byte, P (or 0) seconds apart, in ns: ``{"round_trips_ns": [...]}``
``{"do": "down" | "up" | "both", "seconds": S, "options": {...}}``
    bulk data for S seconds: per direction ``samples`` (the kernel's time of arrival in ns of
    CLOCK_REALTIME, bytes so far, both at the receiver) and the ``sender``'s ``queued_bytes``
    (SIOCOUTQ: not yet acknowledged) whenever it could not write, without the first third, and
    its congestion control.
    ``waits``, here and of the sender, are when the thread was ready to run and did not for more
    than `LONG_WAIT_NS`: begin and end on the same clock.

Options: ``send_buffer`` (SO_SNDBUF) and ``notsent_lowat`` (TCP_NOTSENT_LOWAT) of the sender.

A failure, on either side and in whichever thread, ends its request with ``{"failure": LINE}``.
"""

import contextlib
import fcntl
import json
import os
import select
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

SIOCOUTQ = 0x5411
TCP_NOTSENT_LOWAT = 25
CHUNK_BYTES = 1 << 18
RECEIVE_BYTES = 1 << 23  # more than a receiver's window: no read takes a part of a segment
SAMPLE_NS = 50_000
SO_TIMESTAMPING = 37
RECEIVED_IN_SOFTWARE = 1 << 3 | 1 << 4  # SOF_TIMESTAMPING_RX_SOFTWARE, _SOFTWARE
ANCILLARY_BYTES = 256
TIMESPEC = struct.Struct("@ll")
MOST_ROUND_TRIPS = 200
LEAST_ROUND_TRIPS = 40
PRIORITY = -15
LONG_WAIT_NS = 500_000
SCHEDSTAT_BYTES = 100
PATIENCE_S = 20.0
"""Longest time without data, and longest wait for the other side's report."""

Json = dict[str, Any]


class ProbeError(Exception):
    """A request that could not be carried out, in one line."""


class Reports:
    """Reports of senders that are done, by the token of their request.

    The receiver may ask before the sender's thread has come to put its report here.
    """

    def __init__(self) -> None:
        self._by_token: dict[str, Json] = {}
        self._changed = threading.Condition()

    def put(self, token: str, report: Json) -> None:
        """Store a report and wake up the threads that wait for one."""
        with self._changed:
            self._by_token[token] = report
            self._changed.notify_all()

    def take(self, token: str, timeout_s: float) -> Json:
        """Wait for a report and remove it.

        Raises
        ------
        ProbeError
            It did not come in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: token in self._by_token, timeout_s):
                raise ProbeError(f"no report of the sender within {timeout_s:g} s")
            return self._by_token.pop(token)


_reports = Reports()


def main(argv: list[str]) -> None:
    """Serve or ask, as the first argument says."""
    with contextlib.suppress(PermissionError):  # what else runs on this machine is not the link's
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    role, address, port = argv[0], argv[1], int(argv[2])
    if role == "serve":
        serve(address, port)
        return
    for line in sys.stdin:
        try:
            answer = ask((address, port), json.loads(line))
        except (OSError, ProbeError) as problem:
            answer = {"failure": failure_text(problem)}
        print(json.dumps(answer), flush=True)


def serve(address: str, port: int) -> None:
    """Answer connections, each in a thread, for ever."""
    with socket.create_server((address, port)) as listener:
        print(json.dumps({"listening": port}), flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_answer, args=(sock,), daemon=True).start()


def ask(peer: tuple[str, int], request: Json) -> Json:
    """Carry out one request against a serving probe.

    Raises
    ------
    ProbeError, OSError
        It failed, on this side or on the other one.
    """
    if request["do"] == "rtt":
        return {
            "round_trips_ns": _round_trips(peer, request["seconds"], request.get("pause_s", 0.0))
        }
    if request["do"] != "both":
        return _bulk(peer, request["do"], request)
    down, up = at_once(
        lambda: _bulk(peer, "down", request),
        lambda: _bulk(peer, "up", request),
    )
    return {"down": down, "up": up}


class Waits:
    """Spans in which the calling thread waited for a processor, as the scheduler counts them.

    On a kernel without that count there are none.
    """

    def __init__(self) -> None:
        self._spans: list[list[int]] = []
        self._file = -1
        with contextlib.suppress(OSError):
            self._file = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
        self._waited_ns = self._read()

    def note(self) -> None:
        """Record a long wait since the last call, as one that has ended just now."""
        waited_ns = self._read()
        if waited_ns - self._waited_ns > LONG_WAIT_NS:
            now = time.time_ns()
            self._spans.append([now - (waited_ns - self._waited_ns), now])
        self._waited_ns = waited_ns

    def close(self) -> list[list[int]]:
        """Stop, and return the spans."""
        if self._file >= 0:
            os.close(self._file)
        return self._spans

    def _read(self) -> int:
        if self._file < 0:
            return 0
        return int(os.pread(self._file, SCHEDSTAT_BYTES, 0).split()[1])


def at_once(*calls: Callable[[], Json]) -> list[Json]:
    """Run calls in threads of their own; their results, or the first failure as ProbeError."""
    results: list[Json | Exception] = [ProbeError("ended without a result") for _ in calls]

    def run(place: int, call: Callable[[], Json]) -> None:
        try:
            results[place] = call()
        except Exception as problem:  # noqa: BLE001 - raised below, by the thread that asked
            results[place] = problem

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, Exception):
            raise ProbeError(failure_text(result)) from result
    return [result for result in results if not isinstance(result, Exception)]


def failure_text(problem: Exception) -> str:
    """Return a failure's text without line breaks, or its type where it has none."""
    if isinstance(problem, BlockingIOError | TimeoutError):
        return f"nothing moved for {PATIENCE_S:g} s"
    return " ".join(str(problem).split()) or type(problem).__name__


def _bulk(peer: tuple[str, int], way: str, request: Json) -> Json:
    token = f"{way}-{os.urandom(8).hex()}"
    serving = {"do": "send" if way == "down" else "receive", "token": token}
    with _connect(peer) as sock:
        _write_line(sock, {**request, **serving})
        if way == "down":
            received = receive(sock)
        else:
            sender, received = _send_up(sock, request)
    if way == "down":
        with _connect(peer) as sock:
            _be_patient(sock, 2 * PATIENCE_S)  # the serving side waits for the report, and says so
            _write_line(sock, {"do": "sender", "token": token})
            sender = _read_report(sock)
    return {**received, "sender": sender}


def _send_up(sock: socket.socket, request: Json) -> tuple[Json, Json]:
    try:
        sender = send(sock, request)
    except OSError:  # reset; where nothing was sent after that, ENOTCONN
        _read_report(sock)  # where the serving side reported why it left, that is the failure
        raise
    return sender, _read_report(sock)


def _answer(sock: socket.socket) -> None:
    """Serve one connection; report its failure to the side that waits for its result."""
    request: Json = {}
    with sock:
        try:
            _be_patient(sock, PATIENCE_S)
            request = _read_line(sock)
            _carry_out(sock, request)
        except Exception as problem:  # noqa: BLE001 - told to the asking side, which names it
            failure = {"failure": f"serving side: {failure_text(problem)}"}
            if request.get("do") == "send":
                _reports.put(request["token"], failure)
            elif request.get("do") != "echo":  # the asking side has its round trips and leaves
                with contextlib.suppress(OSError):
                    _write_line(sock, failure)


def _carry_out(sock: socket.socket, request: Json) -> None:
    if request["do"] == "echo":
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := sock.recv(1):
            sock.sendall(data)
    elif request["do"] == "send":
        _reports.put(request["token"], send(sock, request))
    elif request["do"] == "receive":
        _write_line(sock, receive(sock))
    else:
        _write_line(sock, _reports.take(request["token"], PATIENCE_S))


def send(sock: socket.socket, request: Json) -> Json:
    """Send as fast as the socket takes it for the seconds asked for, then close that direction."""
    options = request.get("options", {})
    if "send_buffer" in options:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options["send_buffer"])
    if "notsent_lowat" in options:
        sock.setsockopt(socket.IPPROTO_TCP, TCP_NOTSENT_LOWAT, options["notsent_lowat"])
    sock.setblocking(False)
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    chunk = bytes(CHUNK_BYTES)
    queued = []
    waits = Waits()
    end = time.monotonic_ns() + int(request["seconds"] * 1e9)
    while (now := time.monotonic_ns()) < end:
        waits.note()
        try:
            sock.send(chunk)
        except BlockingIOError:
            queued.append(_queued_bytes(sock))
            poll.poll((end - now) // 1_000_000 + 1)
    sock.setblocking(True)
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    sock.shutdown(socket.SHUT_WR)
    steady = queued[len(queued) // 3 :]
    return {
        "queued_bytes": steady,
        "congestion_control": name.split(b"\0")[0].decode(),
        "waits": waits.close(),
    }


def receive(sock: socket.socket) -> Json:
    """Receive to the end; ``samples`` of time in ns and bytes so far, at most one in 50 us.

    The time is the kernel's of the last segment read: when this process comes to read it, late or
    not, is no part of it.
    """
    sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, RECEIVED_IN_SOFTWARE)
    buffers = [bytearray(RECEIVE_BYTES)]
    total, last = 0, 0
    samples: list[list[int]] = []
    waits = Waits()
    while True:
        size, ancillary, _, _ = sock.recvmsg_into(buffers, ANCILLARY_BYTES)
        if not size:
            return {"samples": samples, "waits": waits.close()}
        waits.note()
        total += size
        if (now := _stamp_ns(ancillary)) - last >= SAMPLE_NS:
            samples.append([now, total])
            last = now


def _stamp_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Kernel's time of receiving the segment, CLOCK_REALTIME; now if there is no timestamp."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPING:
            seconds, rest_ns = TIMESPEC.unpack_from(data)
            if seconds:
                return int(seconds * 1_000_000_000 + rest_ns)
    return time.time_ns()


def _round_trips(peer: tuple[str, int], seconds: float, pause_s: float) -> list[int]:
    found: list[int] = []
    with _connect(peer) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _write_line(sock, {"do": "echo"})
        end = time.monotonic_ns() + int(seconds * 1e9)
        while len(found) < MOST_ROUND_TRIPS:
            if pause_s:
                time.sleep(pause_s)
            start = time.monotonic_ns()
            sock.sendall(b".")
            sock.recv(1)
            found.append(time.monotonic_ns() - start)
            # A processor that was away for a while leaves enough that were not held up.
            if start > end and len(found) >= LEAST_ROUND_TRIPS:
                break
    return found


def _connect(peer: tuple[str, int]) -> socket.socket:
    sock = socket.create_connection(peer, timeout=PATIENCE_S)
    _be_patient(sock, PATIENCE_S)
    return sock


def _be_patient(sock: socket.socket, seconds: float) -> None:
    """Set the kernel's timeouts of calls: Python's would poll before each of them."""
    sock.settimeout(None)
    limit = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)


def _queued_bytes(sock: socket.socket) -> int:
    answer = fcntl.ioctl(sock, SIOCOUTQ, bytes(4))
    return int(struct.unpack("i", answer)[0])


def _write_line(sock: socket.socket, value: Json) -> None:
    sock.sendall(json.dumps(value).encode() + b"\n")


def _read_report(sock: socket.socket) -> Json:
    report = _read_line(sock)
    if "failure" in report:
        raise ProbeError(report["failure"])
    return report


def _read_line(sock: socket.socket) -> Json:
    line = b""
    while not line.endswith(b"\n"):
        # A byte at a time until the line is long: what follows it is not ours to take.
        data = sock.recv(1 if len(line) < 300 else 65536)
        if not data:
            raise ProbeError("the other side left in the middle of a line")
        line += data
    value: Json = json.loads(line)
    return value


if __name__ == "__main__":
    main(sys.argv[1:])
