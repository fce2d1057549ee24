"""The gRPC responder with one thread, for releases without asyncio: it keeps the order, too."""

from __future__ import annotations

import functools
import queue
import threading
import time
from concurrent import futures
from typing import Any

import grpc

from emu.remote.grpc_common import Sampler, announce_connected, arm, channel_options
from emu.remote.steering import (
    BurstLog,
    EndpointFailureError,
    emit,
    give_up,
    own_connection,
    parse_path,
)

LOOK_S = 0.02


def serve_one_thread(config: dict[str, Any], commands: queue.Queue[dict[str, Any]]) -> None:
    """Serve one peer until told to stop."""
    responder = _Responder(config)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=1),
        handlers=(responder,),
        options=channel_options(config["settings"]),
    )
    address = f"{config['address']}:{config['port']}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        raise EndpointFailureError(f"can't listen on {address}")
    server.start()
    emit("listening")
    threading.Thread(target=_wait_for_peer, args=(config["port"],), daemon=True).start()
    while True:
        command = commands.get()
        if command["cmd"] == "stop":
            server.stop(None)
            return
        responder.begin(command)


class _Responder(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    def __init__(self, config: dict[str, Any]) -> None:
        self._mode = config["mode"]
        self._port = config["port"]
        self._lock = threading.Lock()
        self._log: BurstLog | None = None
        self._sampler: Sampler | None = None
        self._bodies: dict[int, bytes] = {}
        self._open: set[int] = set()

    def begin(self, command: dict[str, Any]) -> None:
        """Prepare the next burst."""
        log = arm(command, self._log)
        ready = [item["ready_ns"] for item in log.streams]
        if self._mode == "pull-back" and ready != sorted(ready):
            raise EndpointFailureError(
                "pull-back with ready times that fall in listed order needs grpc.aio;"
                " this grpcio has only one thread to answer with"
            )
        self._open = set(log.by_index)
        if self._mode != "push":
            self._bodies = {s["size_bytes"]: bytes(s["size_bytes"]) for s in log.streams}
            self._sampler = Sampler(self._port, log)
        self._log = log
        emit("armed", burst=log.number)

    def service(self, handler_call_details: Any) -> Any:
        """Give the handler of one call."""
        try:
            burst, index = parse_path(handler_call_details.method)
        except EndpointFailureError as problem:
            give_up(problem)
        return grpc.unary_unary_rpc_method_handler(functools.partial(self._answer, burst, index))

    def _answer(self, burst: int, index: int, request: bytes, context: Any) -> bytes:
        arrived_ns = time.time_ns()
        log = self._log
        if log is None:
            give_up("a request came before any burst was announced")
        try:
            item = log.stream(burst, index)
        except EndpointFailureError as problem:
            give_up(problem)
        context.add_callback(functools.partial(self._finished, index))
        if self._mode == "push":
            log.mark(index, "delivered_ns", arrived_ns)
            return b""
        if self._mode == "pull-back":
            deadline_ns = log.ready_at(index)
            time.sleep(max(0, deadline_ns - time.time_ns()) / 1e9)
            log.waited(deadline_ns, time.time_ns())
        log.mark(index, "handed_ns", time.time_ns())
        return self._bodies[item["size_bytes"]]

    def _finished(self, index: int) -> None:
        with self._lock:
            self._open.discard(index)
            log = self._log
            if self._open or log is None:
                return
            self._log = None
        if self._sampler is not None:
            self._sampler.stop()
        log.report()


def _wait_for_peer(port: int) -> None:
    while True:
        sock = own_connection(port)
        if sock is not None:
            sock.close()
            announce_connected(port)
            return
        time.sleep(LOOK_S)
