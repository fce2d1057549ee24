"""The gRPC responder on asyncio: requests are answered in the order in which they come."""

from __future__ import annotations

import asyncio
import functools
import queue
import selectors
import threading
import time
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

try:
    from grpc import aio

    HAS_ASYNCIO = True
except ImportError:  # before grpcio 1.32
    HAS_ASYNCIO = False

LOOK_S = 0.02


def serve_asyncio(config: dict[str, Any], commands: queue.Queue[dict[str, Any]]) -> None:
    """Serve one peer until told to stop."""
    # select() waits to the microsecond; epoll rounds up to whole milliseconds.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_Responder(config).run(commands))


class _Service(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    """Finds the tensor that a path names."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def service(self, handler_call_details: Any) -> Any:
        """Give the handler of one call."""
        try:
            burst, index = parse_path(handler_call_details.method)
        except EndpointFailureError as problem:
            give_up(problem)

        async def answer(request: bytes, context: Any) -> bytes:
            # A function of its own: some releases see no coroutine in a partial.
            answered: bytes = await self._answer(burst, index, request)
            return answered

        return grpc.unary_unary_rpc_method_handler(answer)


class _Responder:
    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._mode = config["mode"]
        self._port = config["port"]
        self._log: BurstLog | None = None
        self._sampler: Sampler | None = None
        self._bodies: dict[int, bytes] = {}
        self._ready: dict[int, asyncio.Future[None]] = {}
        self._open: set[int] = set()
        self._releaser: asyncio.Task[None] | None = None

    async def run(self, commands: queue.Queue[dict[str, Any]]) -> None:
        server = aio.server(options=channel_options(self._config["settings"]))
        server.add_generic_rpc_handlers((_Service(self._answer),))
        await _listen(server, self._config)
        emit("listening")
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        threading.Thread(
            target=_forward, args=(commands, loop, functools.partial(self._obey, stop)), daemon=True
        ).start()
        connected = asyncio.ensure_future(_wait_for_peer(self._port))
        await stop.wait()
        connected.cancel()
        await server.stop(None)

    def _obey(self, stop: asyncio.Event, command: dict[str, Any]) -> None:
        if command["cmd"] == "stop":
            stop.set()
            return
        try:
            log = arm(command, self._log)
        except EndpointFailureError as problem:
            give_up(problem)
        self._log = log
        self._open = set(log.by_index)
        loop = asyncio.get_running_loop()
        if self._mode != "push":
            self._bodies = {s["size_bytes"]: bytes(s["size_bytes"]) for s in log.streams}
            self._sampler = Sampler(self._port, log)
        if self._mode == "pull-back":
            self._ready = {index: loop.create_future() for index in log.by_index}
            self._releaser = asyncio.ensure_future(self._release(log))
        emit("armed", burst=log.number)

    async def _release(self, log: BurstLog) -> None:
        """Open each tensor's gate at its time; one task keeps the order of equal times.

        The yield lets every handler whose request has come reach its gate first; otherwise
        the first one released would run ahead of those before it.
        """
        for item in log.in_order():
            deadline_ns = log.ready_at(item["index"])
            while time.time_ns() < deadline_ns:
                await asyncio.sleep((deadline_ns - time.time_ns()) / 1e9)
            log.waited(deadline_ns, time.time_ns())
            await asyncio.sleep(0)
            self._ready[item["index"]].set_result(None)

    async def _answer(self, burst: int, index: int, request: bytes) -> bytes:
        arrived_ns = time.time_ns()
        log = self._log
        if log is None:
            give_up("a request came before any burst was announced")
        try:
            item = log.stream(burst, index)
        except EndpointFailureError as problem:
            give_up(problem)
        # The call's own task: its end is the call's, and not every release tells of that otherwise.
        call: Any = asyncio.current_task()
        call.add_done_callback(functools.partial(self._finished, index))
        if self._mode == "push":
            if len(request) != item["size_bytes"]:
                give_up(f"tensor {index} has {len(request)} bytes instead of {item['size_bytes']}")
            log.mark(index, "delivered_ns", arrived_ns)
            return b""
        if self._mode == "pull-back":
            await self._ready[index]
        log.mark(index, "handed_ns", time.time_ns())
        return self._bodies[item["size_bytes"]]

    def _finished(self, index: int, call: Any) -> None:
        """Count a call that is over: sent, or lost with its connection."""
        if call.cancelled():
            give_up(f"connection lost: the call for tensor {index} was cancelled")
        self._open.discard(index)
        if not self._open and self._log is not None:
            if self._sampler is not None:
                self._sampler.stop()
            self._log.report()
            self._log = None
            self._bodies = {}


async def _listen(server: Any, config: dict[str, Any]) -> None:
    address = f"{config['address']}:{config['port']}"
    try:
        bound = server.add_insecure_port(address)
    except RuntimeError:
        bound = 0
    if not bound:
        raise EndpointFailureError(f"can't listen on {address}")
    await server.start()


async def _wait_for_peer(port: int) -> None:
    """Announce the connection once its socket is there; gRPC itself doesn't tell."""
    while True:
        sock = own_connection(port)
        if sock is not None:
            sock.close()
            announce_connected(port)
            return
        await asyncio.sleep(LOOK_S)


def _forward(commands: queue.Queue[dict[str, Any]], loop: Any, obey: Any) -> None:
    while True:
        loop.call_soon_threadsafe(obey, commands.get())
