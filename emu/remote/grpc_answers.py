"""Shared parts of both gRPC servers: the burst under way, the request paths, the port."""

from __future__ import annotations

import threading
import time
from typing import Any

import grpc

from emu.remote.endpoint_common import (
    BurstLog,
    EndpointFailureError,
    Processor,
    give_up,
    parse_path,
)
from emu.remote.grpc_common import Sampler, arm


class Answers:
    """State of the burst under way at a server; its calls may come and end in any thread."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.mode: str = config["mode"]
        self._processor = Processor(config)
        self._port: int = config["port"]
        self._lock = threading.Lock()
        self._log: BurstLog | None = None
        self._sampler: Sampler | None = None
        self._bodies: dict[int, bytes] = {}
        self._open: set[int] = set()
        self._given: tuple[BurstLog, int] | None = None

    def begin(self, command: dict[str, Any]) -> BurstLog:
        """Prepare the burst that the emulator announces; return its log."""
        log = arm(command, self._log)
        self._open = set(log.by_index)
        if self.mode != "push":
            self._bodies = {s["size_bytes"]: bytes(s["size_bytes"]) for s in log.streams}
            self._sampler = Sampler(self._port, log)
        self._log = log
        return log

    def knows(self, burst: int) -> bool:
        """True once this burst is announced; after a pause its requests may come first."""
        return self._log is not None and self._log.number >= burst

    def asked(self, burst: int, index: int) -> BurstLog:
        """Return the log of the burst that a call belongs to."""
        if self._log is None:
            give_up("a request came before any burst was announced")
        try:
            self._log.stream(burst, index)
        except EndpointFailureError as problem:
            give_up(problem)
        return self._log

    def take(self, log: BurstLog, index: int, request: bytes, arrived_ns: int) -> bytes:
        """Note a tensor that was pushed here; return the empty answer."""
        expected: int = log.by_index[index]["size_bytes"]
        if len(request) != expected:
            give_up(f"tensor {index} has {len(request)} bytes instead of {expected}")
        log.mark(index, "delivered_ns", self._processor.received_ns(expected, arrived_ns))
        return b""

    def prepared_ns(self, log: BurstLog, index: int) -> int:
        """Time at which a tensor may be handed over whose preparation begins now."""
        return self._processor.sent_ns(log.by_index[index]["size_bytes"], time.time_ns())

    def give(self, log: BurstLog, index: int) -> bytes:
        """Hand a tensor over to gRPC."""
        log.mark(index, "handed_ns", time.time_ns())
        self._given = (log, index)
        return self._bodies[log.by_index[index]["size_bytes"]]

    def taken(self, log: BurstLog, index: int) -> None:
        """Note that gRPC has the tensor by now."""
        log.mark(index, "taken_ns", time.time_ns())

    def taken_before(self, now_ns: int) -> None:
        """Note that gRPC has the tensor given last: the only thread is back from there."""
        if self._given is not None:
            log, index = self._given
            log.mark(index, "taken_ns", now_ns)

    def over(self, index: int) -> None:
        """Count a call that has ended; report the burst after its last."""
        with self._lock:
            self._open.discard(index)
            log = self._log
            if self._open or log is None:
                return
            self._log = None
        self._bodies = {}
        if self._sampler is not None:
            self._sampler.stop()
        log.report()


class Service(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    """Answers any tensor's path; `answerer` makes the function for one burst and index."""

    def __init__(self, answerer: Any) -> None:
        self._answerer = answerer

    def service(self, handler_call_details: Any) -> Any:
        """Give the handler of one call."""
        try:
            burst, index = parse_path(handler_call_details.method)
        except EndpointFailureError as problem:
            give_up(problem)
        return grpc.unary_unary_rpc_method_handler(self._answerer(burst, index))


def bind(server: Any, config: dict[str, Any]) -> None:
    """Bind the server to the responder's address, before it is started."""
    address = f"{config['address']}:{config['port']}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        raise EndpointFailureError(f"can't listen on {address}")
