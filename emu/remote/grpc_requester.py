"""The gRPC requester: one thread issues all calls of a burst in listed order."""

from __future__ import annotations

import queue
import threading
import time
from typing import Any

import grpc

from emu.remote.endpoint_common import (
    BurstLog,
    EndpointFailureError,
    Processor,
    emit,
    give_up,
    tensor_path,
)
from emu.remote.grpc_common import (
    CONNECT_TIMEOUT_S,
    Sampler,
    announce_connected,
    arm,
    channel_options,
)


class Requester:
    """Asks for tensors (pull, pull-back), or sends them as requests (push)."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._mode = config["mode"]
        self._processor = Processor(config)
        self._port = config["port"]
        self._target = f"{config['address']}:{self._port}"
        self._channel = grpc.insecure_channel(
            self._target, options=channel_options(config["settings"])
        )

    def run(self, commands: queue.Queue[dict[str, Any]]) -> None:
        """Serve bursts until told to stop."""
        try:
            grpc.channel_ready_future(self._channel).result(timeout=CONNECT_TIMEOUT_S)
        except grpc.FutureTimeoutError:
            raise EndpointFailureError(
                f"can't connect to {self._target} within {CONNECT_TIMEOUT_S} s"
            ) from None
        announce_connected(self._port)
        while True:
            command = commands.get()
            if command["cmd"] == "stop":
                self._channel.close()
                return
            self._burst(arm(command, None))

    def _burst(self, log: BurstLog) -> None:
        pushes = self._mode == "push"
        bodies = {s["size_bytes"]: bytes(s["size_bytes"]) for s in log.streams} if pushes else {}
        calls = {
            s["index"]: self._channel.unary_unary(tensor_path(log.number, s["index"]))
            for s in log.streams
        }
        sampler = Sampler(self._port, log) if pushes else None
        answers = _Answers(log, pushes, self._processor)
        emit("armed", burst=log.number)
        # What is pulled back is all asked for at the start; its sender knows when it is ready.
        at_once = self._mode == "pull-back"
        for item in log.streams if at_once else log.in_order():
            index = item["index"]
            _wait_until(log, log.start_ns if at_once else log.ready_at(index))
            if pushes:
                done_ns = self._processor.sent_ns(item["size_bytes"], time.time_ns())
                time.sleep(max(0, done_ns - time.time_ns()) / 1e9)
            log.mark(index, "requested_ns", time.time_ns())
            if pushes:
                log.mark(index, "handed_ns", time.time_ns())
            future = calls[index].future(bodies[item["size_bytes"]] if pushes else b"")
            if pushes:
                log.mark(index, "taken_ns", time.time_ns())
            future.add_done_callback(answers.taker(index))
        answers.complete.wait()
        if sampler is not None:
            sampler.stop()
        log.report()


class _Answers:
    """Takes the responses of a burst, in gRPC's own thread."""

    def __init__(self, log: BurstLog, pushes: bool, processor: Processor) -> None:
        self.complete = threading.Event()
        self._log = log
        self._pushes = pushes
        self._processor = processor
        self._lock = threading.Lock()
        self._missing = len(log.streams)

    def taker(self, index: int) -> Any:
        """Give the callback for one call."""

        def take(future: Any) -> None:
            now_ns = time.time_ns()
            code = future.code()
            if code is not grpc.StatusCode.OK:
                lost = "connection lost: " if code is grpc.StatusCode.UNAVAILABLE else ""
                give_up(f"{lost}tensor {index}: {code.name}: {future.details()}")
            self._check(index, len(future.result()))
            if not self._pushes:
                size: int = self._log.by_index[index]["size_bytes"]
                self._log.mark(index, "delivered_ns", self._processor.received_ns(size, now_ns))
            with self._lock:
                self._missing -= 1
                if not self._missing:
                    self.complete.set()

        return take

    def _check(self, index: int, size_bytes: int) -> None:
        expected = 0 if self._pushes else self._log.by_index[index]["size_bytes"]
        if size_bytes != expected:
            give_up(f"tensor {index} has {size_bytes} bytes instead of {expected}")


def _wait_until(log: BurstLog, deadline_ns: int) -> None:
    left_ns = deadline_ns - time.time_ns()
    if left_ns > 0:
        time.sleep(left_ns / 1e9)
    log.waited(deadline_ns, time.time_ns())
