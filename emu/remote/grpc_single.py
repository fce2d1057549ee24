"""The gRPC responder with one thread, for releases without asyncio; answers in order, too."""

from __future__ import annotations

import functools
import queue
import threading
import time
from concurrent import futures
from typing import Any

import grpc

from emu.remote.endpoint_common import EndpointFailureError, emit, give_up
from emu.remote.grpc_answers import Answers, Service, bind
from emu.remote.grpc_common import LOOK_S, channel_options, seen_connected


def serve_one_thread(config: dict[str, Any], commands: queue.Queue[dict[str, Any]]) -> None:
    """Serve one peer until told to stop."""
    answers = Answers(config)
    server = grpc.server(
        futures.ThreadPoolExecutor(max_workers=1),
        handlers=(Service(functools.partial(functools.partial, _answer, answers)),),
        options=channel_options(config["settings"]),
    )
    bind(server, config)
    server.start()
    emit("listening")
    threading.Thread(target=_wait_for_peer, args=(config["port"],), daemon=True).start()
    while True:
        command = commands.get()
        if command["cmd"] == "stop":
            server.stop(None)
            return
        log = answers.begin(command)
        ready = [item["ready_ns"] for item in log.streams]
        if answers.mode == "pull-back" and ready != sorted(ready):
            raise EndpointFailureError(
                "pull-back with ready times that fall in listed order needs grpc.aio;"
                " this grpcio has only one thread to answer with"
            )
        emit("armed", burst=log.number)


def _answer(answers: Answers, burst: int, index: int, request: bytes, context: Any) -> bytes:
    arrived_ns = time.time_ns()
    answers.taken_before(arrived_ns)
    while not answers.knows(burst):
        time.sleep(LOOK_S)
    log = answers.asked(burst, index)
    if not context.add_callback(functools.partial(answers.over, index)):
        give_up(f"connection lost: the call for tensor {index} is over before it was answered")
    if answers.mode == "push":
        return answers.take(log, index, request, arrived_ns)
    if answers.mode == "pull-back":
        deadline_ns = log.ready_at(index)
        time.sleep(max(0, deadline_ns - time.time_ns()) / 1e9)
        log.waited(deadline_ns, time.time_ns())
    time.sleep(max(0, answers.prepared_ns(log, index) - time.time_ns()) / 1e9)
    return answers.give(log, index)


def _wait_for_peer(port: int) -> None:
    while not seen_connected(port):
        time.sleep(LOOK_S)
