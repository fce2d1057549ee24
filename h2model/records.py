"""Records of a simulated connection: plans, models of its parts, and the predicted schedule."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from h2model.overhead import AT_ONCE, Acceptance, Overhead
from h2model.protocol import UNLIMITED_BYTES

_ROUNDING = 1e-6

REST_NS = 112_000_000
"""Time between a connection's first frames and its first burst, or one burst's last byte and the
next burst's zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlan:
    """A message: flow-controlled bytes, and the time at which its application hands it over.

    With a `ready_ns` of None `Sender.hand_over` tells it later. `asked_ns` is when the request for
    it is at the sender, with the credit that it brings. `call_bytes` is the length of the HEADERS
    frame of the call that asks for it, or pushes it; 0 if that is not known. `head_bytes` is that
    of our own sender's HEADERS, which go ahead of the DATA of all that is handed over with it, and
    behind the acknowledgement of the request where the message `is_answer`.
    """

    stream: int
    size_bytes: int
    ready_ns: int | None = 0
    priority: int = 0
    asked_ns: int = 0
    call_bytes: int = 0
    head_bytes: int = 0
    is_answer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Bytes beside DATA that a sender's messages take on the wire: HEADERS and small updates.

    `first` before the first message of a connection, `each` before a later one, `first_tail` behind
    the first that ends, `tail` behind each later one.
    Where messages are `pushed` each is answered; with `updates` a write that begins some gives
    credit for their replies to the connection.
    """

    first: int = 0
    each: int = 0
    first_tail: int = 0
    tail: int = 0
    pushed: bool = False
    updates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SenderModel:
    """Model of a sender: the discipline with its parameters, and the largest frame it writes.

    `polled` is for a sender that hands the kernel all that is decided, and waits for the event that
    there is room again: Linux sends it when a third is free. Others fill it up frame by frame.
    `heads` count on a path that carries segments, and are left out where bytes flow.
    """

    discipline: str
    options: Mapping[str, int | bool | str] = field(default_factory=dict)
    frame_bytes: int = 16384
    polled: bool = False
    heads: Heads = field(default_factory=Heads)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverModel:
    """Model of a receiver: windows and credit rule; `credit` None means windows never bind.

    With `grpc` the account is that of a gRPC library: its updates go out together, and those of
    the connection follow those of the streams. `progress_bytes` is how much of a message still to
    come it allows beyond the window; `probes` says whether it measures the bandwidth-delay product
    with PINGs, to which the sender's answers take writes of their own, and `probes_wait` whether a
    PING that is due waits until something else is written: an update, or, where it `listens` for
    pushed messages, the reply to one. There a stream gets nothing beyond its initial window before
    its application has accepted the call, which is `acceptance` after it came; with `one_reader` it
    takes the calls in turn. `overhead` is what reading a message takes, if it is known.
    `smoothed` is the way of
    1.17.0 and 1.39.0: the window follows that measure through a PID controller, not at once, and
    an update is urgent when half the window is used, not when as much is wanted;
    `answer_first` that an answer to a PING is heard before the frame that follows it is counted.
    `ping_delays_ms` are the delays between PINGs that it logged, each when it changed: what they
    grow by is drawn.
    """

    window_bytes: int = UNLIMITED_BYTES
    connection_window_bytes: int = UNLIMITED_BYTES
    credit: str | None = None
    grpc: bool = False
    progress_bytes: int = 1 << 20
    probes: bool = False
    probes_wait: bool = False
    listens: bool = False
    one_reader: bool = False
    acceptance: Acceptance = AT_ONCE
    overhead: Overhead | None = None
    smoothed: bool = False
    answer_first: bool = False
    ping_delays_ms: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkModel:
    """Model of the path, as calibrated before the burst.

    `rate_bps` is TCP goodput (frame headers included, TCP/IP headers not). `delay_ns` is one way;
    `credit_latency_ns` runs from a frame's last byte at the receiver to its credit at the sender.
    `past_bytes` is how much may be unacknowledged: in the sender's kernel, in queues and on the
    wire. `bucket_bytes` is what the link's token bucket lets pass at line speed after a pause.

    With `segment_bytes` the path carries segments, one by one and never late (`h2model.segments`);
    with 0 bytes flow. Of segments, `flight_segments` of a connection may be under way at once, any
    number with 0; `send_memory_bytes` is the sender's socket buffer, which they take more of than
    their bytes, 0 where `past_bytes` bounds it. A sender that fills the kernel frame by frame looks
    for room each `poll_ns`; with 0 it knows at once.
    """

    rate_bps: float
    delay_ns: int = 0
    credit_latency_ns: int = 0
    past_bytes: int = 65536
    send_memory_bytes: int = 0
    bucket_bytes: int = 0
    segment_bytes: int = 0
    flight_segments: int = 0
    poll_ns: int = 0


SOON_NS: Final = 1_500
"""Time within which all comes that a bucket lets pass at once, in as many steps as TCP takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arriving:
    """Arrival of a frame in segments: `come_bytes` of its payload with its header, others in steps.

    A segment of `step_bytes` comes each `step_ns`; `soon_bytes` have come within `SOON_NS`.
    """

    come_bytes: int
    soon_bytes: int
    step_ns: float
    step_bytes: int

    def bytes_after(self, elapsed_ns: float) -> int:
        """Payload bytes that have come so long after the header."""
        come_bytes = self.come_bytes if elapsed_ns < SOON_NS else self.soon_bytes
        return come_bytes + int(elapsed_ns / self.step_ns + _ROUNDING) * self.step_bytes


Grant = tuple[int, int, int]
"""A WINDOW_UPDATE: time in ns at the receiver, stream or 0 for the connection, bytes.

Or one of SETTINGS or a PING, by the targets of `h2model.grpc_receiver`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A stream's uninterrupted service: payload bytes on the wire from when to when."""

    stream: int
    start_ns: int
    end_ns: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Predicted schedule of one burst, times at the receiver on the burst's clock.

    `stalls` are the times in which the link idled because nothing with data had credit; `carried`
    has the payload bytes so far at the begin and the end of each piece that was served, as (time,
    bytes).
    """

    end_ns: Mapping[int, int]
    intervals: tuple[Interval, ...]
    stalls: tuple[tuple[int, int], ...]
    carried: tuple[tuple[float, int], ...] = ()

    @property
    def order(self) -> tuple[int, ...]:
        """The streams in the order of service, one entry an interval."""
        return tuple(i.stream for i in self.intervals)
