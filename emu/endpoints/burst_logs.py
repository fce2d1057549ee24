"""Records of a burst's requests and of its two ends' logs; times are CLOCK_REALTIME ns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRequest:
    """One tensor of a burst, in the order of release.

    `ready_ns` counts from the burst's start; `priority` is for disciplines that look at it,
    larger first.
    """

    tensor: str
    index: int
    size_bytes: int
    ready_ns: int = 0
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLog:
    """Times at which a tensor was requested, handed to its transport, and delivered.

    `requested_ns` is the requester's clock just before the call; for a push it is the hand-over.
    `handed_ns` is just before the transport is given the message, `taken_ns` when it has it; None
    if the endpoint does not say.
    """

    index: int
    requested_ns: int
    handed_ns: int
    delivered_ns: int
    taken_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PastScheduler:
    """Bytes handed to the sender's kernel and not yet acknowledged, over a burst's samples."""

    max_bytes: int
    mean_bytes: int
    samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndLog:
    """One end's account of a burst: largest delay of its timed waits, processor time."""

    host: str
    late_ns: int
    cpu_ns: int
    past_scheduler: PastScheduler | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstLog:
    """A burst as the application saw it; `streams` in the order of release."""

    connection: str
    burst: int
    start_ns: int
    streams: tuple[StreamLog, ...]
    requester: EndLog
    responder: EndLog

    @property
    def past_scheduler(self) -> PastScheduler | None:
        """The sender's unacknowledged bytes; only the sending end samples them."""
        return self.requester.past_scheduler or self.responder.past_scheduler

    @property
    def late_ns(self) -> int:
        """Largest delay of a timed wait at either end."""
        return max(self.requester.late_ns, self.responder.late_ns)


def merge_streams(*reports: Mapping[str, Any]) -> dict[int, dict[str, int]]:
    """Join the two ends' `done` events by tensor index."""
    merged: dict[int, dict[str, int]] = {}
    for report in reports:
        for item in report["streams"]:
            merged.setdefault(item["index"], {}).update(item)
    return merged


def end_log(host: str, report: Mapping[str, Any]) -> EndLog:
    """Read one end's account out of its `done` event."""
    past = report["past_scheduler_bytes"]
    return EndLog(
        host=host,
        late_ns=report["late_ns"],
        cpu_ns=report["cpu_ns"],
        past_scheduler=None
        if past is None
        else PastScheduler(max_bytes=past["max"], mean_bytes=past["mean"], samples=past["samples"]),
    )
