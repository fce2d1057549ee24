"""Requester and responder of an HTTP/2 connection: their parts in a burst, by mode."""

import heapq
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from h2 import events

from emu.remote.endpoint_common import (
    BurstLog,
    EndpointFailureError,
    Processor,
    parse_path,
    tensor_path,
)
from emu.remote.h2_receiver import Receiver
from emu.remote.h2_sender import Sender
from emu.remote.h2_wire import Wire
from h2model import h2_headers

Action = Callable[[], None]


class Timers:
    """Timed actions; those of equal times run in the order in which they were set."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Action]] = []
        self._count = 0

    def at(self, deadline_ns: int, action: Action) -> None:
        """Do `action` at `deadline_ns`, CLOCK_REALTIME."""
        heapq.heappush(self._heap, (deadline_ns, self._count, action))
        self._count += 1

    def wait_s(self, now_ns: int) -> float | None:
        """Seconds until the next action, None if there is none."""
        return max(0, self._heap[0][0] - now_ns) / 1e9 if self._heap else None

    def run(self, log: BurstLog | None) -> None:
        """Do what is due, and note how late it is."""
        while self._heap and self._heap[0][0] <= (now_ns := time.time_ns()):
            deadline_ns, _, action = heapq.heappop(self._heap)
            if log is not None:
                log.waited(deadline_ns, now_ns)
            action()


class Role(Protocol):
    """Interface of one end's part in a burst."""

    def begin(self, log: BurstLog) -> None:
        """Prepare a burst that starts at `log.start_ns`."""

    def handle(self, event: events.Event) -> None:
        """React to what the peer did to a stream."""

    @property
    def unfinished(self) -> int:
        """Number of streams of the burst that this end has not finished."""


class Requester:
    """Asks for tensors (pull, pull-back), or sends them as request bodies (push)."""

    def __init__(
        self,
        wire: Wire,
        sender: Sender | None,
        receiver: Receiver,
        timers: Timers,
        config: dict[str, Any],
    ) -> None:
        self._wire = wire
        self._sender = sender
        self._receiver = receiver
        self._timers = timers
        self._mode: str = config["mode"]
        self._processor = Processor(config)
        self._grpc = bool(config["settings"].get("grpc", False))
        self._authority = f"{config['address']}:{config['port']}"
        self._index_of: dict[int, int] = {}
        self._log: BurstLog | None = None
        self.unfinished = 0

    def begin(self, log: BurstLog) -> None:
        """Set a timer for each request, in order."""
        self._log = log
        self.unfinished = len(log.streams)
        if self._mode == "pull-back":
            for item in log.streams:
                self._timers.at(log.start_ns, partial(self._ask, log, item))
        else:
            for item in log.in_order():
                self._timers.at(log.ready_at(item["index"]), partial(self._prepare, log, item))

    def _prepare(self, log: BurstLog, item: dict[str, Any]) -> None:
        """Ask once the processor has prepared what is to be sent with it."""
        now_ns = time.time_ns()
        pushes = self._sender is not None
        done_ns = self._processor.sent_ns(item["size_bytes"], now_ns) if pushes else now_ns
        if done_ns > now_ns:
            self._timers.at(done_ns, partial(self._ask, log, item))
        else:
            self._ask(log, item)

    def _ask(self, log: BurstLog, item: dict[str, Any]) -> None:
        h2 = self._wire.h2
        stream: int = h2.get_next_available_stream_id()
        index: int = item["index"]
        self._index_of[stream] = index
        path = tensor_path(log.number, index)
        size = item["size_bytes"] if self._sender is not None else 0
        log.mark(index, "requested_ns", time.time_ns())
        h2.send_headers(
            stream,
            h2_headers.request(path, self._authority, size, grpc=self._grpc),
            end_stream=self._sender is None and not self._grpc,
        )
        if self._sender is not None:
            self._sender.hand_over(
                stream,
                size,
                item["priority"],
                end_stream=True,
                handed=partial(log.mark_taken_at_once, index),
                finished=_nothing,
            )
        else:
            self._receiver.expect(stream, item["size_bytes"])
            if self._grpc:
                h2.send_data(stream, h2_headers.prefix(0), end_stream=True)
        # Requests that are due together leave together, when the loop flushes: more small
        # segments than the congestion window holds would wait behind the answers' queue.

    def handle(self, event: events.Event) -> None:
        """Take in responses."""
        if isinstance(event, events.ResponseReceived | events.TrailersReceived):
            _check(event.headers)
        elif isinstance(event, events.DataReceived):
            complete = self._receiver.data(
                event.stream_id, event.data, event.flow_controlled_length
            )
            if complete and self._log is not None and event.stream_id in self._index_of:
                _delivered(self._log, self._index_of[event.stream_id], self._processor)
        elif isinstance(event, events.StreamEnded):
            self._receiver.ended(event.stream_id)
            self._index_of.pop(event.stream_id)
            self.unfinished -= 1
        elif isinstance(event, events.StreamReset):
            raise _reset(event, self._index_of.get(event.stream_id))


class Responder:
    """Answers with tensors (pull, pull-back), or takes them in and confirms (push)."""

    def __init__(
        self,
        wire: Wire,
        sender: Sender | None,
        receiver: Receiver,
        timers: Timers,
        config: dict[str, Any],
    ) -> None:
        self._wire = wire
        self._sender = sender
        self._receiver = receiver
        self._timers = timers
        self._mode: str = config["mode"]
        self._processor = Processor(config)
        self._grpc = bool(config["settings"].get("grpc", False))
        self._index_of: dict[int, int] = {}
        self._log: BurstLog | None = None
        self.unfinished = 0

    def begin(self, log: BurstLog) -> None:
        """Await the burst's requests."""
        self._log = log
        self.unfinished = len(log.streams)

    def handle(self, event: events.Event) -> None:
        """Take in requests and their bodies."""
        if isinstance(event, events.RequestReceived):
            self._requested(event)
        elif isinstance(event, events.DataReceived):
            complete = self._receiver.data(
                event.stream_id, event.data, event.flow_controlled_length
            )
            if complete:
                _delivered(self._burst(), self._index_of[event.stream_id], self._processor)
        elif isinstance(event, events.StreamEnded):
            self._receiver.ended(event.stream_id)
            self._answer_when_ready(event.stream_id)
        elif isinstance(event, events.StreamReset) and event.stream_id in self._index_of:
            raise _reset(event, self._index_of[event.stream_id])

    def _burst(self) -> BurstLog:
        if self._log is None:
            raise EndpointFailureError("a request came before any burst was announced")
        return self._log

    def _requested(self, event: events.RequestReceived) -> None:
        burst, index = parse_path(h2_headers.find(event.headers, ":path") or "")
        item = self._burst().stream(burst, index)
        self._index_of[event.stream_id] = index
        if self._mode == "push":
            announced = h2_headers.find(event.headers, h2_headers.SIZE_HEADER)
            self._receiver.expect(
                event.stream_id, item["size_bytes"], None if announced is None else int(announced)
            )

    def _answer_when_ready(self, stream: int) -> None:
        log = self._burst()
        ready_ns = log.ready_at(self._index_of[stream])
        if self._mode == "pull-back" and ready_ns > time.time_ns():
            self._timers.at(ready_ns, partial(self._prepare, stream))
        else:
            self._prepare(stream)

    def _prepare(self, stream: int) -> None:
        """Answer once the processor has prepared the tensor."""
        now_ns = done_ns = time.time_ns()
        if self._sender is not None:
            size: int = self._burst().by_index[self._index_of[stream]]["size_bytes"]
            done_ns = self._processor.sent_ns(size, now_ns)
        if done_ns > now_ns:
            self._timers.at(done_ns, partial(self._answer, stream))
        else:
            self._answer(stream)

    def _answer(self, stream: int) -> None:
        if self._sender is None:
            self._confirm(stream)
            return
        log = self._burst()
        index = self._index_of[stream]
        item = log.by_index[index]
        size: int = item["size_bytes"]
        self._wire.h2.send_headers(stream, h2_headers.response(size, grpc=self._grpc))
        self._sender.hand_over(
            stream,
            size,
            item["priority"],
            end_stream=not self._grpc,
            handed=partial(log.mark_taken_at_once, index),
            finished=lambda: self._sent(stream),
        )

    def _confirm(self, stream: int) -> None:
        h2 = self._wire.h2
        h2.send_headers(stream, h2_headers.response(0, grpc=self._grpc), end_stream=not self._grpc)
        if self._grpc:
            h2.send_data(stream, h2_headers.prefix(0))
        self._sent(stream)

    def _sent(self, stream: int) -> None:
        if self._grpc:
            self._wire.h2.send_headers(stream, h2_headers.trailers(), end_stream=True)
        del self._index_of[stream]
        self.unfinished -= 1


def _delivered(log: BurstLog, index: int, processor: Processor) -> None:
    """Note when the application has a message whose last byte came now."""
    size: int = log.by_index[index]["size_bytes"]
    log.mark(index, "delivered_ns", processor.received_ns(size, time.time_ns()))


def _nothing() -> None:
    """Do nothing: a pushed tensor counts when it is confirmed, not when it is sent."""


def _reset(event: events.StreamReset, index: int | None) -> EndpointFailureError:
    by = "by the peer" if event.remote_reset else "here, for what the peer sent"
    return EndpointFailureError(f"tensor {index} was reset {by}: error {event.error_code}")


def _check(headers: list[tuple[bytes, bytes]]) -> None:
    status = h2_headers.find(headers, ":status")
    if status not in (None, "200"):
        raise EndpointFailureError(f"the peer answered with status {status}")
    code = h2_headers.find(headers, "grpc-status")
    if code not in (None, "0"):
        text = h2_headers.find(headers, "grpc-message") or ""
        raise EndpointFailureError(f"the peer answered with grpc-status {code} {text}")
