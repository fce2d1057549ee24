"""The gRPC responder on asyncio: requests are answered in the order in which they come."""

from __future__ import annotations

import asyncio
import functools
import queue
import selectors
import threading
import time
from typing import Any

from emu.remote.endpoint_common import BurstLog, EndpointFailureError, emit, give_up
from emu.remote.grpc_answers import Answers, Service, bind
from emu.remote.grpc_common import LOOK_S, channel_options, seen_connected

try:
    from grpc import aio

    HAS_ASYNCIO = True
except ImportError:  # before grpcio 1.32
    HAS_ASYNCIO = False


def serve_asyncio(config: dict[str, Any], commands: queue.Queue[dict[str, Any]]) -> None:
    """Serve one peer until told to stop."""
    # select() waits to the microsecond; epoll rounds up to whole milliseconds.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_Responder(config).run(commands))


class _Responder:
    def __init__(self, config: dict[str, Any]) -> None:
        self._config = config
        self._answers = Answers(config)
        self._ready: dict[int, asyncio.Future[None]] = {}
        self._releaser: asyncio.Task[None] | None = None

    async def run(self, commands: queue.Queue[dict[str, Any]]) -> None:
        server = aio.server(options=channel_options(self._config["settings"]))
        server.add_generic_rpc_handlers((Service(self._answerer),))
        bind(server, self._config)
        await server.start()
        emit("listening")
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        threading.Thread(
            target=_forward, args=(commands, loop, functools.partial(self._obey, stop)), daemon=True
        ).start()
        connected = asyncio.ensure_future(_wait_for_peer(self._config["port"]))
        await stop.wait()
        connected.cancel()
        await server.stop(None)

    def _obey(self, stop: asyncio.Event, command: dict[str, Any]) -> None:
        if command["cmd"] == "stop":
            stop.set()
            return
        try:
            log = self._answers.begin(command)
        except EndpointFailureError as problem:
            give_up(problem)
        if self._answers.mode == "pull-back":
            loop = asyncio.get_running_loop()
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

    def _answerer(self, burst: int, index: int) -> Any:
        # A function of its own: some releases see no coroutine in a partial.
        async def answer(request: bytes, context: Any) -> bytes:
            return await self._answer(burst, index, request)

        return answer

    async def _answer(self, burst: int, index: int, request: bytes) -> bytes:
        arrived_ns = time.time_ns()
        while not self._answers.knows(burst):
            await asyncio.sleep(LOOK_S)
        log = self._answers.asked(burst, index)
        # The call's own task: its end is the call's, and not every release tells of that otherwise.
        call: Any = asyncio.current_task()
        call.add_done_callback(functools.partial(self._finished, index))
        if self._answers.mode == "push":
            return self._answers.take(log, index, request, arrived_ns)
        if self._answers.mode == "pull-back":
            await self._ready[index]
        await _until(self._answers.prepared_ns(log, index))
        # gRPC takes the answer in this turn of the loop, as the handler's coroutine goes on.
        asyncio.get_running_loop().call_soon(self._answers.taken, log, index)
        return self._answers.give(log, index)

    def _finished(self, index: int, call: Any) -> None:
        """Count a call that is over: sent, or lost with its connection."""
        if call.cancelled():
            give_up(f"connection lost: the call for tensor {index} was cancelled")
        self._answers.over(index)


async def _until(deadline_ns: int) -> None:
    while time.time_ns() < deadline_ns:
        await asyncio.sleep((deadline_ns - time.time_ns()) / 1e9)


async def _wait_for_peer(port: int) -> None:
    while not seen_connected(port):
        await asyncio.sleep(LOOK_S)


def _forward(commands: queue.Queue[dict[str, Any]], loop: Any, obey: Any) -> None:
    while True:
        loop.call_soon_threadsafe(obey, commands.get())
