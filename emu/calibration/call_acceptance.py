"""Measure how long a gRPC server leaves a pushed call unread.

A reader asks for credit for a message once the application has accepted the call. That takes
an asyncio server milliseconds when it was asleep, and it is a property of the machine. So it is
measured before the cells, on a connection of its own with a window that each message exceeds: the
first WINDOW_UPDATE of a stream that allows it DATA is one that an unread call would not get.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from emu.calibration.trial_bursts import Stage, run_trial
from emu.measurement.trace_rows import CapturedBurst
from h2model.candidates import credit_waits_for_reader
from h2model.overhead import Acceptance
from h2model.protocol import DEFAULT_WINDOW_BYTES, GRPC_PREFIX_BYTES
from netcosim.errors import CaptureError
from netcosim.job import Cell, Message

BURSTS: Final = 7
_MESSAGES: Final = 8
_WIRE_S: Final = 0.016
"""A message's time on the wire, within these sizes; the smaller one is two windows."""
_LEAST_BYTES: Final = 130_000
_MOST_BYTES: Final = 400_000

_APART: Final = 1.2
"""Interval between hand-overs, in messages' times on the wire."""

_TOGETHER_NS: Final = 100_000
"""Largest time from HEADERS to the first DATA that counts as coming together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """One call: time from its HEADERS to its stream's credit; `first` if first of its burst."""

    burst: int
    first: bool
    unread_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceFound:
    """Measured acceptance: the medians, the calls behind them, and the number of attempts.

    `reasons` say which bounds of a valid burst the last attempt broke.
    """

    acceptance: Acceptance
    samples: tuple[Unread, ...]
    attempts: int = 1
    reasons: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def is_needed(cell: Cell) -> bool:
    """True if predictions of a cell need its receiver's acceptance."""
    return (
        cell.workload.direction == "push"
        and cell.transport.flow_control
        and credit_waits_for_reader(cell.transport)
    )


def measure_acceptance(stage: Stage) -> AcceptanceFound:
    """Measure how long a cell's receiver leaves pushed calls unread.

    Raises
    ------
    EndpointError
        An end failed.
    CaptureError
        tcpdump failed.
    UncapturedError
        The bursts were never captured whole, or showed no unread time.
    """
    transport = stage.cell.transport.model_copy(update={"window": DEFAULT_WINDOW_BYTES})
    messages = acceptance_messages(stage.rate_bps)
    done = run_trial(stage, transport, messages, BURSTS, lambda _, seen: unread_calls(seen))
    return AcceptanceFound(
        acceptance=evaluate(done.found),
        samples=tuple(done.found),
        attempts=done.attempts,
        reasons=done.reasons,
    )


def acceptance_messages(rate_bps: float) -> tuple[Message, ...]:
    """Messages of one burst, each handed over while the server still handles the one before."""
    size = min(_MOST_BYTES, max(_LEAST_BYTES, round(rate_bps / 8 * _WIRE_S)))
    return tuple(
        Message(
            tensor=f"acceptance-{index}",
            index=index,
            size_bytes=size,
            ready_ns=round(index * _APART * size * 8e9 / rate_bps),
            priority=0,
        )
        for index in range(_MESSAGES)
    )


def unread_calls(seen: Sequence[CapturedBurst]) -> list[Unread]:
    """Calls of these bursts whose unread time the capture shows.

    Raises
    ------
    CaptureError
        None was a burst's first, or all were.
    """
    found = [sample for each in seen for sample in _unread_in(each)]
    if len({sample.first for sample in found}) < 2:
        raise CaptureError("no WINDOW_UPDATE tells when the calls were read")
    return found


def evaluate(samples: Sequence[Unread]) -> Acceptance:
    """Median unread times of first and later calls, in whole nanoseconds."""
    first, later = (
        round(float(np.median([s.unread_ns for s in samples if s.first == which])))
        for which in (True, False)
    )
    return Acceptance(first_ns=first, later_ns=later)


def _unread_in(seen: CapturedBurst) -> list[Unread]:
    """Unread times of one burst's calls; left out are those read before their DATA came."""
    grants = seen.carried.feedback.grants
    calls = sorted((s for s in seen.streams.values()), key=lambda s: s.stream)
    samples = []
    for place, call in enumerate(calls):
        headers_ns, data_ns = call.client.headers_ns, call.client.first_data_ns
        given = np.flatnonzero(grants.stream == call.stream)
        if headers_ns is None or data_ns is None or not given.size:
            continue
        # A reader that waits for the message's header has asked for so much before anything came.
        waited = int(grants.amount[given[0]]) <= GRPC_PREFIX_BYTES
        if waited or data_ns - headers_ns > _TOGETHER_NS:
            continue
        unread_ns = int(grants.time_ns[given[0]]) - headers_ns
        samples.append(Unread(burst=seen.burst, first=place == 0, unread_ns=unread_ns))
    return samples
