"""Inputs of the models that a pause delayed: hand-overs, credit, PINGs.

A model works out by rule when credit is given and PINGs are answered. Where a pause held back one
end while the link went on working, the burst is not what the rule describes: it is shown, and not
judged. A pause that held back the link as well moved nothing on the clock of link work. Nor does it
matter, under any rule, that something came late if the sender took no decision meanwhile: it went
on with the stream that it was sending.

The time of a hand-over is an input of the models, however late it was: the application logs it just
before the transport has it. Only on the way from the log to the transport is it held back unseen.
Our own endpoints also log when the transport has it.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.capture.report import gaps_between
from emu.capture.windows import ALL_STREAMS, CONNECTION
from emu.measurement.burst_clock import RECOVERY_NS, ConnectionClock
from emu.measurement.trace_rows import CapturedBurst
from emu.pauses.pauses import Pauses
from netcosim.spans import Spans, common, united

LATE_NS: Final = 1_000_000
"""An input is late if the link worked for longer than this while it was held back."""

HANDING_NS: Final = 2_000_000
"""Longest way from hand-over to transport, assumed where an endpoint logs no `taken_ns`."""

HAND_OVER: Final = "a hand-over"
GRANT: Final = "a grant"
PING: Final = "a PING"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedInput:
    """An input that came late: kind, time on the machine's clock, delay in link work."""

    what: str
    time_ns: int
    late_ns: int


def delayed_inputs(clocks: Sequence[ConnectionClock], pauses: Pauses) -> list[DelayedInput]:
    """The inputs of a burst that recorded pauses delayed, of all its connections."""
    away = pauses.anywhere
    found = []
    for clock in clocks:
        decided = _decisions(clock)
        for each in _inputs(clock, away):
            since_ns = _held_since(away, each.due_ns, each.time_ns)
            if since_ns is None:
                continue
            late_ns = round(clock.work.between(since_ns, each.time_ns))
            matters = each.always or common(decided, ((since_ns, each.time_ns),))
            if late_ns > LATE_NS and matters:
                found.append(DelayedInput(what=each.what, time_ns=each.time_ns, late_ns=late_ns))
    return sorted(found, key=lambda each: each.time_ns)


def _decisions(clock: ConnectionClock) -> Spans:
    """Spans in which the sender may have chosen another stream, or had none to send.

    A stream that follows another on the wire was chosen up to the lag before: its sender's buffer
    is filled again by parts, so never less than half of that.
    """
    chunks = clock.seen.carried.data.chunks
    fresh = np.flatnonzero(np.diff(chunks.stream)) + 1
    turns = [
        (begin - clock.lag_ns, begin - clock.lag_ns // 2)
        for begin in chunks.time_ns[fresh].tolist()
        if clock.seen.first_ns < begin <= clock.seen.last_ns
    ]
    stalls = gaps_between(
        clock.seen.carried.data.short_stalls, clock.seen.first_ns, clock.seen.last_ns
    )
    return united([*turns, *((gap.start_ns + 1, gap.end_ns) for gap in stalls)])


def _held_since(away: Spans, due_ns: int, time_ns: int) -> int | None:
    """Time since which a pause can have held back an input; None if none can.

    The latest pause that had begun when it came counts, if that had not ended long before.
    """
    place = bisect_right(away, (time_ns, time_ns)) - 1
    if place < 0 or away[place][1] + RECOVERY_NS < due_ns or away[place][1] + RECOVERY_NS < time_ns:
        return None
    return max(away[place][0], due_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Input:
    """An input: when it was due, when it came; `always` if it matters without a decision."""

    what: str
    due_ns: int
    time_ns: int
    always: bool = False


def _inputs(clock: ConnectionClock, away: Spans) -> Iterator[_Input]:
    seen = clock.seen
    for each in (*_hand_overs(clock, away), *_grants(seen), *_pings(clock)):
        if seen.first_ns < each.time_ns <= seen.last_ns:
            yield each


def _hand_overs(clock: ConnectionClock, away: Spans) -> Iterator[_Input]:
    """Hand-overs: due when logged, come when the transport had them, at the latest when chosen.

    Where the endpoint logs no `taken_ns`: after `HANDING_NS`, or when the pause begun by then ends.
    """
    seen = clock.seen
    for log in seen.log.streams:
        taken_ns = log.taken_ns
        if taken_ns is None:
            taken_ns = log.handed_ns + HANDING_NS
            place = bisect_right(away, (taken_ns, taken_ns)) - 1
            if place >= 0 and away[place][1] > log.handed_ns:
                taken_ns = max(taken_ns, away[place][1])
        shown_ns = seen.half(log.index).first_data_ns or seen.last_ns
        chosen_ns = max(log.handed_ns, shown_ns - clock.lag_ns)
        yield _Input(what=HAND_OVER, due_ns=log.handed_ns, time_ns=min(chosen_ns, taken_ns))


def _grants(seen: CapturedBurst) -> Iterator[_Input]:
    """Grants that came when no credit was left: due when the last of it was used up.

    Credit that comes while some is left held nobody back.
    """
    credit, grants = seen.carried.data.credit, seen.carried.feedback.grants
    used_up = _used_up(credit.time_ns, credit.stream, credit.stream_left, credit.connection_left)
    for time_ns, stream in zip(grants.time_ns.tolist(), grants.stream.tolist(), strict=True):
        places = list(used_up.values()) if stream == ALL_STREAMS else [used_up.get(stream, [])]
        for times in places:
            place = bisect_left(times, (time_ns, False)) - 1
            if place >= 0 and times[place][1]:
                yield _Input(what=GRANT, due_ns=times[place][0], time_ns=time_ns)


def _used_up(
    time_ns: np.ndarray, stream: np.ndarray, stream_left: np.ndarray, connection_left: np.ndarray
) -> dict[int, list[tuple[int, bool]]]:
    """Times of all credit changes and whether none was left, by stream, 0 for the connection."""
    found: dict[int, list[tuple[int, bool]]] = {CONNECTION: []}
    columns = (time_ns, stream, stream_left, connection_left)
    for now, which, left, all_left in zip(*(c.tolist() for c in columns), strict=True):
        if which != CONNECTION:
            found.setdefault(which, []).append((now, left <= 0))
        found[CONNECTION].append((now, all_left <= 0))
    return found


def _pings(clock: ConnectionClock) -> Iterator[_Input]:
    """Answers to PINGs: due when asked for, or once what the sender had buffered had gone ahead.

    They tell a receiver how to move its window, and take its credit along: none matters where the
    sender always had credit from there on. Else one after which the receiver moved its window, by
    the round trip that it took, always matters.
    """
    scarce_ns = _last_without_credit(clock.seen)
    data, feedback = clock.seen.carried.data, clock.seen.carried.feedback
    grants = feedback.grants
    moves = grants.time_ns[grants.stream == ALL_STREAMS].tolist()
    for asked, answered, ahead_ns in ((feedback, data, clock.lag_ns), (data, feedback, 0)):
        pings, answers = asked.pings_ns.tolist(), answered.ping_acks_ns.tolist()
        for place, (ping_ns, answer_ns) in enumerate(zip(pings, answers, strict=False)):
            if answer_ns > scarce_ns:
                continue
            next_ns = pings[place + 1] if place + 1 < len(pings) else clock.seen.last_ns
            yield _Input(
                what=PING,
                due_ns=ping_ns + ahead_ns,
                time_ns=answer_ns,
                always=any(answer_ns <= move <= next_ns for move in moves),
            )


def _last_without_credit(seen: CapturedBurst) -> float:
    """The last time at which an unfinished stream, or the connection, was out of credit."""
    credit = seen.carried.data.credit
    ends = {stream.stream: seen.half(i).last_data_ns or 0 for i, stream in seen.streams.items()}
    columns = (credit.time_ns, credit.stream, credit.stream_left, credit.connection_left)
    last = -math.inf
    without: set[int] = set()
    for now, which, left, all_left in zip(*(c.tolist() for c in columns), strict=True):
        if without and seen.first_ns < now <= seen.last_ns:
            last = now
        for each, credit_left in ((which, left), (CONNECTION, all_left)):
            if credit_left <= 0 and now < ends.get(each, seen.last_ns):
                without.add(each)
            else:
                without.discard(each)
    return seen.last_ns if without else last
