"""One node of a training job over gRPC, on asyncio: a channel for each peer, and one server."""

import asyncio
import gc
import math
import os
import selectors
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# The script's own folder must not shadow libraries; the project must be found.
sys.path[0] = str(Path(__file__).resolve().parents[3])

import grpc  # noqa: E402
from grpc import aio  # noqa: E402

from emu.remote.endpoint_common import EndpointFailureError, emit, give_up  # noqa: E402
from emu.remote.grpc_common import CONNECT_TIMEOUT_S, channel_options  # noqa: E402
from emu.remote.training.commands import Commands, ProcessorTime, serve  # noqa: E402
from emu.remote.training.roles import (  # noqa: E402
    Calls,
    ServerRole,
    role_of,
)
from emu.remote.training.time_slice import TimeSlice  # noqa: E402
from netcosim.training.call_path import GRADIENT, PULL, parse_path  # noqa: E402
from netcosim.training.job import TrainingJob  # noqa: E402


class Channel:
    """Calls to one peer: they ask for tensors, or bring them."""

    def __init__(
        self, config: Mapping[str, Any], node: "Node", bodies: Mapping[int, bytes]
    ) -> None:
        self._bodies = bodies
        self._target = f"{config['address']}:{config['port']}"
        self._channel = aio.insecure_channel(
            self._target, options=channel_options(config["settings"])
        )
        self._node = node
        self._slice: TimeSlice | None = None
        self._to_ask: deque[str] = deque()

    async def open(self) -> None:
        """Connect."""
        try:
            await asyncio.wait_for(self._channel.channel_ready(), CONNECT_TIMEOUT_S)
        except TimeoutError:
            raise EndpointFailureError(f"can't connect to {self._target}") from None

    def ask(self, path: str) -> None:
        """Ask for a tensor; calls leave in their order, a slice of them in a turn of the loop."""
        if self._slice is None:
            self._slice = TimeSlice()
            asyncio.get_running_loop().call_soon(self._ask_on)
        if self._to_ask or self._slice.over:
            self._to_ask.append(path)
        else:
            self._make_call(path)

    def _ask_on(self) -> None:
        """Make the calls that were too many for one slice."""
        self._slice = None
        left, self._to_ask = self._to_ask, deque()
        for path in left:
            self.ask(path)

    def _make_call(self, path: str) -> None:
        call = self._channel.unary_unary(path)(b"")
        task = asyncio.ensure_future(call)
        task.add_done_callback(lambda done: self._node.came(path, done))

    def push(self, path: str, priority: int) -> None:
        """Bring a tensor; gRPC knows no priorities."""
        call = self._channel.unary_unary(path)(self._bodies[self._node.size_of(path)])
        task = asyncio.ensure_future(call)
        task.add_done_callback(lambda done: self._node.answered(path, done))

    def answer(self, path: str, priority: int) -> None:
        """Answer nothing: it is this end that calls."""
        raise EndpointFailureError(f"nobody asks for {path} here")

    def acknowledge(self, path: str) -> None:
        """Answer nothing: it is this end that calls."""
        raise EndpointFailureError(f"nobody brings {path} here")


class Answers:
    """Calls of one peer, which the node's server answers with tensors, or with nothing."""

    def __init__(self, bodies: Mapping[int, bytes], size_of: Callable[[str], int]) -> None:
        self._bodies = bodies
        self._size_of = size_of
        self._waiting: dict[str, asyncio.Future[bytes]] = {}

    def expect(self, path: str) -> "asyncio.Future[bytes]":
        """Note a call; what it will be answered with."""
        self._waiting[path] = asyncio.get_running_loop().create_future()
        return self._waiting[path]

    def ask(self, path: str) -> None:
        """Ask nothing: it is the peer that calls."""
        raise EndpointFailureError(f"{path} is not asked for here")

    def push(self, path: str, priority: int) -> None:
        """Bring nothing: it is the peer that calls."""
        raise EndpointFailureError(f"{path} is not brought from here")

    def answer(self, path: str, priority: int) -> None:
        """Hand a tensor over that was asked for; gRPC knows no priorities."""
        self._waiting.pop(path).set_result(self._bodies[self._size_of(path)])

    def acknowledge(self, path: str) -> None:
        """Answer a call that has brought a tensor, with nothing."""
        self._waiting.pop(path).set_result(b"")


class Node(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc is untyped
    """A worker or a server with its channels and its answers."""

    def __init__(self, config: dict[str, Any], job: TrainingJob) -> None:
        self._job = job
        self._config = config
        self._start_ns = 0
        self._told_over = False
        self._time = ProcessorTime()
        self._timer: asyncio.TimerHandle | None = None
        bodies = {int(size): bytes(int(size)) for size in set(job.plan.size_bytes.tolist())}
        self._channels: list[Channel] = []
        self._own: list[dict[str, Any]] = []
        self._answers: dict[tuple[str, int], Answers] = {}
        ends: dict[str, dict[int, Calls]] = {"pulls": {}, "gradients": {}}
        for kind, found in ends.items():
            for each in config[kind]:
                peer = each["peer"]
                if each["client"]:
                    self._channels.append(Channel(each, self, bodies))
                    found[peer] = self._channels[-1]
                else:
                    self._own.append(each)
                    self._answers[kind, peer] = found[peer] = Answers(bodies, self.size_of)
        self._worker = config["role"] == "worker"
        self._role = role_of(job, config, ends["pulls"], ends["gradients"], self._now)
        # Both ends of a transport have the same options.
        settings = (self._own or config["pulls"])[0]["settings"]
        self._server = aio.server(options=channel_options(settings))
        self._server.add_generic_rpc_handlers((self,))

    def size_of(self, path: str) -> int:
        """Bytes of a call's tensor."""
        return int(self._job.plan.size_bytes[parse_path(path)[3]])

    def _now(self) -> float:
        return float(time.time_ns() - self._start_ns)

    def service(self, handler_call_details: Any) -> Any:
        """Give the handler of one call."""
        path: str = handler_call_details.method

        async def answer(request: bytes, context: Any) -> bytes:
            what, worker, _, op = parse_path(path)
            place = int(self._job.plan.place[op])
            peer = self._job.plan.channels[place].server if self._worker else worker
            kind = "pulls" if what == PULL else "gradients"
            body = self._answers[kind, peer].expect(path)
            if what == GRADIENT and self._job.pushed:
                self._check_size(path, request)
                self._role.delivered(path)
            else:
                self._role.asked(path)
            self._go_on()
            return await body

        return grpc.unary_unary_rpc_method_handler(answer)

    def came(self, path: str, done: Any) -> None:
        """A tensor has come."""
        _check_done(path, done)
        self._check_size(path, done.result())
        self._role.delivered(path)
        self._go_on()

    def answered(self, path: str, done: Any) -> None:
        """A call that brought a tensor was answered."""
        _check_done(path, done)
        self._role.acknowledged(path)
        self._go_on()

    def _check_size(self, path: str, body: bytes) -> None:
        if len(body) != self.size_of(path):
            give_up(f"{path} has {len(body)} bytes instead of {self.size_of(path)}")

    def _go_on(self) -> None:
        """Wake up when the role does something by itself next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._role.next_ns != float("inf"):
            left_us = max(0, math.ceil((self._role.next_ns - self._now()) / 1000))
            self._timer = asyncio.get_running_loop().call_later(left_us / 1e6, self._due)
        asyncio.get_running_loop().call_soon(self._tell)  # behind what is to be sent

    def _tell(self) -> None:
        """Tell the emulator what is over."""
        if self._role.log.step_over:
            emit("rows", rows=self._role.take_rows())
        if not self._told_over and isinstance(self._role, ServerRole) and self._role.over:
            self._told_over = True
            emit("over")

    def _due(self) -> None:
        self._timer = None
        self._role.advance()
        self._go_on()

    async def run(self, commands: Commands) -> None:
        """Serve until told to stop."""
        loop = asyncio.get_running_loop()
        while True:
            command = await loop.run_in_executor(None, commands.next)
            name = command["cmd"]
            if name == "listen":
                for each in self._own:
                    self._server.add_insecure_port(f"{each['address']}:{each['port']}")
                await self._server.start()
                emit("listening")
            elif name == "connect":
                await asyncio.gather(*(channel.open() for channel in self._channels))
                emit("connected")
            elif name == "start":
                gc.collect()
                self._start_ns = command["start_ns"]
                loop.call_later(-self._now() / 1e9, self._begin)
            elif name == "begin":
                self._role.begin_step(command["step"], command["factor"])
                self._go_on()
            elif name == "stop":
                spent_ns = self._time.spent_ns
                emit("stopped", rows=self._role.take_rows(), processor_ns=spent_ns)
                commands.stand_still()
                return

    def _begin(self) -> None:
        self._time.begin()
        self._role.begin()
        self._go_on()


def _check_done(path: str, done: Any) -> None:
    if done.cancelled() or done.exception() is not None:
        give_up(f"connection lost: {path}: {'' if done.cancelled() else done.exception()}")


def _failure(context: Mapping[str, Any]) -> str:
    problem = context.get("exception")
    said = f"{type(problem).__name__}: {problem}" if problem is not None else ""
    return f"{context['message']}: {said}"


def run(config: dict[str, Any], job: TrainingJob, commands: Commands) -> None:
    """Run one node."""
    # select() waits to the microsecond; epoll rounds up to whole milliseconds.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    asyncio.set_event_loop(loop)

    # What fails in a callback would else be logged, and the job would wait for ever.
    loop.set_exception_handler(lambda _, context: give_up(_failure(context)))

    async def node() -> None:
        await Node(config, job).run(commands)

    loop.run_until_complete(node())
    os._exit(0)  # the peers go as well; nothing is left to be closed in order


if __name__ == "__main__":
    serve(run)
