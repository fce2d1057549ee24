"""Shared parts of gRPC requester and responders: channel arguments, arming, socket samples."""

from __future__ import annotations

import gc
import os
import re
import threading
import time
from typing import Any

import grpc

from emu.remote.endpoint_common import (
    BurstLog,
    EndpointFailureError,
    emit,
    own_connection,
    read_back,
    unacknowledged_bytes,
)

# A receiver may add up to 1 MiB of what a message still needs to a stream's window (C-core,
# chttp2 flow_control.cc); HTTP/2 forbids more than 2**31 - 1 in all (RFC 9113, 6.9.1). The same as
# in h2model.transports.grpc, which Python 3.7 can't import.
LARGEST_WINDOW_BYTES = 2**31 - 1 - 2**20
SAMPLE_S = 0.002
CONNECT_TIMEOUT_S = 60
LOOK_S = 0.02
PAGE_BYTES = 4096
MOST_PENDING = 2**31 - 1
MOST_TOUCHED_BYTES = 2**28


def channel_options(settings: dict[str, Any]) -> list[tuple[str, int]]:
    """Channel arguments, the same for both ends.

    `grpc.http2.lookahead_bytes` is the stream window; it only holds with the bandwidth-delay
    probe off (C-core, chttp2 transport).
    """
    options = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.enable_http_proxy", 0),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.so_reuseport", 0),
        # Else a server cancels some of more than 1000 calls that the application has not taken
        # yet, and all beyond 3000 (C-core, src/core/server/server.cc).
        ("grpc.server.max_pending_requests", MOST_PENDING),
        ("grpc.server.max_pending_requests_hard_limit", MOST_PENDING),
    ]
    window = settings.get("window_bytes")
    if not settings.get("flow_control", True):
        window = LARGEST_WINDOW_BYTES
    if window:
        options += [("grpc.http2.lookahead_bytes", window), ("grpc.http2.bdp_probe", 0)]
    return options


def version() -> str:
    """Release of grpcio, by its metadata: old ones don't say, and Python 3.7 can't look it up."""
    site = os.path.dirname(os.path.dirname(os.path.abspath(grpc.__file__)))  # noqa: PTH100, PTH120
    found = [re.fullmatch(r"grpcio-([^-]+)\.dist-info", name) for name in os.listdir(site)]  # noqa: PTH208
    return next((match.group(1) for match in found if match), "unknown")


def check_release(wanted: str | None) -> None:
    """Refuse to run with another release of grpcio than the one asked for."""
    if wanted is not None and wanted != version():
        raise EndpointFailureError(f"this Python has grpcio {version()} instead of {wanted}")


def announce_connected(port: int) -> None:
    """Emit `connected` with the options of this process's own socket, if it can be found."""
    if not seen_connected(port):
        emit("connected", tcp=None, release=version())


def seen_connected(port: int) -> bool:
    """Emit `connected` once the connection's socket is there; gRPC itself doesn't report it."""
    sock = own_connection(port)
    if sock is None:
        return False
    with sock:
        emit("connected", tcp=read_back(sock), release=version())
    return True


def arm(command: dict[str, Any], log: BurstLog | None) -> BurstLog:
    """Open the log of the next burst; `log` is the one under way, if any."""
    if command["cmd"] != "burst":
        raise EndpointFailureError(f"unknown command {command['cmd']!r}")
    if log is not None:
        raise EndpointFailureError(
            f"burst {command['burst']} came while burst {log.number} is under way"
        )
    gc.collect()
    _touch_memory(2 * sum(item["size_bytes"] for item in command["streams"]))
    return BurstLog(command)


_touched_bytes = 0


def _touch_memory(size_bytes: int) -> None:
    """Touch so much memory once: the allocator keeps what is freed here."""
    global _touched_bytes  # noqa: PLW0603 - of the process
    size_bytes = min(size_bytes, MOST_TOUCHED_BYTES)
    if size_bytes <= _touched_bytes:
        return
    memory = bytearray(size_bytes)
    memory[::PAGE_BYTES] = bytes(len(range(0, size_bytes, PAGE_BYTES)))
    _touched_bytes = size_bytes


class Sampler:
    """Thread that samples the socket's unacknowledged bytes every two milliseconds."""

    def __init__(self, port: int, log: BurstLog) -> None:
        self._log = log
        self._sock = own_connection(port)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        if self._sock is None:
            return
        with self._sock:
            while not self._over.wait(SAMPLE_S):
                if time.time_ns() >= self._log.start_ns:
                    self._log.sample(unacknowledged_bytes(self._sock))

    def stop(self) -> None:
        """Stop and wait for the thread."""
        self._over.set()
        self._thread.join()
