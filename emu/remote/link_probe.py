"""Measures a path between two hosts with plain TCP. Stands alone: standard library only.

``link_probe.py serve ADDRESS PORT`` prints ``{"listening": PORT}`` and answers until killed.
``link_probe.py ask ADDRESS PORT`` reads one request a line from standard input and prints one
answer a line, both JSON. Requests, seen from the asking side:

``{"do": "rtt", "seconds": S}``
    round trips of one byte, in ns: ``{"round_trips_ns": [...]}``
``{"do": "down" | "up" | "both", "seconds": S, "options": {...}}``
    bulk data for S seconds: per direction ``samples`` (arrival time in ns of CLOCK_MONOTONIC, bytes
    so far, both at the receiver) and the ``sender``'s ``queued_bytes`` (SIOCOUTQ: not yet
    acknowledged) whenever it could not write, and its congestion control.

Options: ``send_buffer`` (SO_SNDBUF) and ``notsent_lowat`` (TCP_NOTSENT_LOWAT) of the sender.
"""

import contextlib
import fcntl
import json
import select
import socket
import struct
import sys
import threading
import time
from typing import Any

SIOCOUTQ = 0x5411
TCP_NOTSENT_LOWAT = 25
CHUNK_BYTES = 1 << 18
SAMPLE_NS = 2_000_000
MOST_ROUND_TRIPS = 200

Json = dict[str, Any]
_sent: dict[str, Json] = {}


def main(argv: list[str]) -> None:
    """Serve or ask, as the first argument says."""
    role, address, port = argv[0], argv[1], int(argv[2])
    if role == "serve":
        serve(address, port)
        return
    for line in sys.stdin:
        answer = ask((address, port), json.loads(line))
        print(json.dumps(answer), flush=True)


def serve(address: str, port: int) -> None:
    """Answer connections, each in a thread, for ever."""
    with socket.create_server((address, port)) as listener:
        print(json.dumps({"listening": port}), flush=True)
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=_answer, args=(sock,), daemon=True).start()


def ask(peer: tuple[str, int], request: Json) -> Json:
    """Carry out one request against a serving probe."""
    if request["do"] == "rtt":
        return {"round_trips_ns": _round_trips(peer, request["seconds"])}
    if request["do"] != "both":
        return _bulk(peer, request["do"], request)
    halves: Json = {}

    def half(way: str) -> None:
        halves[way] = _bulk(peer, way, request)

    threads = [threading.Thread(target=half, args=(way,)) for way in ("down", "up")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return halves


def _bulk(peer: tuple[str, int], way: str, request: Json) -> Json:
    token = f"{way}-{time.monotonic_ns()}"
    serving = {"do": "send" if way == "down" else "receive", "token": token}
    with socket.create_connection(peer) as sock:
        _write_line(sock, {**request, **serving})
        if way == "down":
            samples = receive(sock)
        else:
            sender = send(sock, request)
            samples = _read_line(sock)["samples"]
    if way == "down":
        with socket.create_connection(peer) as sock:
            _write_line(sock, {"do": "sender", "token": token})
            sender = _read_line(sock)
    return {"samples": samples, "sender": sender}


def _answer(sock: socket.socket) -> None:
    with sock, contextlib.suppress(ConnectionError):
        request = _read_line(sock)
        if request["do"] == "echo":
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while data := sock.recv(1):
                sock.sendall(data)
        elif request["do"] == "send":
            _sent[request["token"]] = send(sock, request)
        elif request["do"] == "receive":
            _write_line(sock, {"samples": receive(sock)})
        else:
            _write_line(sock, _sent.pop(request["token"]))


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
    end = time.monotonic_ns() + int(request["seconds"] * 1e9)
    while (now := time.monotonic_ns()) < end:
        try:
            sock.send(chunk)
        except BlockingIOError:
            queued.append(_queued_bytes(sock))
            poll.poll((end - now) // 1_000_000 + 1)
    sock.setblocking(True)
    name = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    sock.shutdown(socket.SHUT_WR)
    steady = queued[len(queued) // 3 :]
    return {"queued_bytes": steady, "congestion_control": name.split(b"\0")[0].decode()}


def receive(sock: socket.socket) -> list[list[int]]:
    """Receive to the end; samples of time in ns and bytes so far, at most one in 2 ms."""
    buffer = bytearray(CHUNK_BYTES)
    total, last = 0, 0
    samples = []
    while size := sock.recv_into(buffer):
        now = time.monotonic_ns()
        total += size
        if now - last >= SAMPLE_NS:
            samples.append([now, total])
            last = now
    return samples


def _round_trips(peer: tuple[str, int], seconds: float) -> list[int]:
    found: list[int] = []
    with socket.create_connection(peer) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _write_line(sock, {"do": "echo"})
        end = time.monotonic_ns() + int(seconds * 1e9)
        while len(found) < MOST_ROUND_TRIPS:
            start = time.monotonic_ns()
            sock.sendall(b".")
            sock.recv(1)
            found.append(time.monotonic_ns() - start)
            if start > end:
                break
    return found


def _queued_bytes(sock: socket.socket) -> int:
    answer = fcntl.ioctl(sock, SIOCOUTQ, bytes(4))
    return int(struct.unpack("i", answer)[0])


def _write_line(sock: socket.socket, value: Json) -> None:
    sock.sendall(json.dumps(value).encode() + b"\n")


def _read_line(sock: socket.socket) -> Json:
    line = b""
    while not line.endswith(b"\n"):
        # A byte at a time until the line is long: what follows it is not ours to take.
        data = sock.recv(1 if len(line) < 300 else 65536)
        if not data:
            raise ConnectionError("the other side left in the middle of a line")
        line += data
    value: Json = json.loads(line)
    return value


if __name__ == "__main__":
    main(sys.argv[1:])
