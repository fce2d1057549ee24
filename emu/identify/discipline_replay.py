"""Replay of a discipline over a captured burst, to find the order in which it would serve it.

Its inputs are those of the sender that the capture shows: sizes, when each message can have
been handed over, credit as it came. The capture leaves three things open, and each
candidate gets the values that suit it best: how far the sender was ahead of the wire, whether
requests or HEADERS mark the hand-over, and an adaptive target left over from before the burst.
"""

import heapq
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from emu.capture.windows import ALL_STREAMS
from emu.identify.bursts import PIECE_BYTES, Burst, Served
from h2model.machine import BLOCKED, Machine

_UNKNOWN_WINDOW = 2**62
_ENQUEUE, _CREDIT, _RESIZE = range(3)

Run = tuple[int, int]
"""Stream and bytes of a visit."""


class HandOverMark(StrEnum):
    """Event that marks a message's hand-over to the sender."""

    HEADERS = "its HEADERS"
    REQUEST = "its request"
    APPEARANCE = "its request, in the order of first appearance"
    NOTHING = "nothing: all at the burst's beginning, in the order of first appearance"
    QUEUE = "its place in a queue: behind the visit before its first one, ahead of the one after"
    FIRST_HALF = "its request, but the first stream was alone for half the time that it shows"
    FIRST_LONGER = "its request, but the first stream was alone for most of the time that it shows"


_BY_PLACE = (HandOverMark.HEADERS, HandOverMark.QUEUE)
"""Marks that stand in the data's own order, so that no buffer is between."""

_ALONE = {HandOverMark.FIRST_HALF: 2, HandOverMark.FIRST_LONGER: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Settings the capture leaves open: `ahead_bytes` of the sender over the wire, hand-over."""

    ahead_bytes: int
    hand_over: HandOverMark


def replay(
    burst: Burst,
    discipline: str,
    options: Mapping[str, int | bool | str],
    setting: Setting,
    *,
    upto_bytes: int,
    priorities: Mapping[int, int] | None = None,
) -> list[Run]:
    """Replay one discipline over the first `upto_bytes` of a burst.

    Parameters
    ----------
    burst
        The burst as captured.
    discipline, options
        As for `h2model.machine.Machine`.
    setting
        The settings that the capture leaves open.
    upto_bytes
        Where to stop.
    priorities
        By stream, for the discipline that looks at them.

    Returns
    -------
    list of Run
        The visits in order. They end early where the discipline found no credit to go on.
    """
    machine = Machine(
        discipline,
        options=options,
        initial_window=_UNKNOWN_WINDOW if burst.initial_window is None else burst.initial_window,
        connection_window=(
            _UNKNOWN_WINDOW if burst.connection_credit is None else burst.connection_credit
        ),
        capacity=len(burst.streams) + 1,
    )
    return _Play(burst, machine, setting, priorities or {}).upto(upto_bytes)


class _Play:
    def __init__(
        self, burst: Burst, machine: Machine, setting: Setting, priorities: Mapping[int, int]
    ) -> None:
        self._machine = machine
        self._frame = min(burst.frame_bytes, PIECE_BYTES)
        self._window = burst.initial_window or 0
        self._priorities = priorities
        self._ends: list[int] = np.cumsum(burst.size_bytes).tolist()
        self._times: list[int] = burst.time_ns.tolist()
        self._events = _events(burst, setting)
        heapq.heapify(self._events)

    def upto(self, upto_bytes: int) -> list[Run]:
        machine, events = self._machine, self._events
        runs: list[list[int]] = []
        at = 0
        while at < upto_bytes:
            while events and events[0][0] <= at:
                self._apply(heapq.heappop(events), at)
            now_ns = self._now(at)
            stream, size = machine.next(self._frame, now_ns)
            if stream == BLOCKED:
                if not events:
                    break
                self._apply(heapq.heappop(events), at)  # the wire idled until it came
                continue
            machine.sent(stream, size, now_ns)
            at += size
            if runs and runs[-1][0] == stream:
                runs[-1][1] += size
            else:
                runs.append([stream, size])
        return [(stream, size) for stream, size in runs]

    def _now(self, at: int) -> int:
        return self._times[min(bisect_right(self._ends, at), len(self._times) - 1)]

    def _apply(self, event: tuple[int, int, int, int, int], at: int) -> None:
        _, _, kind, stream, amount = event
        now_ns = self._now(at)
        if kind == _ENQUEUE:
            self._machine.enqueue(stream, amount, now_ns, priority=self._priorities.get(stream, 0))
        elif kind == _CREDIT:
            self._machine.credit(stream, amount, now_ns)
        else:
            self._window += amount
            self._machine.resize_windows(self._window, now_ns)


def _events(burst: Burst, setting: Setting) -> list[tuple[int, int, int, int, int]]:
    """Events that reached the sender: (position, order, kind, stream, bytes)."""

    def seen(at: int) -> int:
        """Position of the sender when the wire was there; before its first byte it waited."""
        return at + setting.ahead_bytes if at else 0

    events: list[tuple[int, int, int, int, int]] = []
    for stream, at in _hand_overs(burst, setting):
        place = at if setting.hand_over in _BY_PLACE else seen(at)
        events.append((place, len(events), _ENQUEUE, stream.stream, stream.size_bytes))
    for grant in burst.grants:
        kind = _RESIZE if grant.stream == ALL_STREAMS else _CREDIT
        events.append((seen(grant.at), len(events), kind, grant.stream, grant.amount))
    return events


def _hand_overs(burst: Burst, setting: Setting) -> list[tuple[Served, int]]:
    """Each stream with its position, in the order of hand-over."""
    streams = burst.streams
    if setting.hand_over is HandOverMark.QUEUE:
        return _queued(burst)
    if setting.hand_over is HandOverMark.HEADERS:
        chosen = sorted(streams, key=lambda s: (s.opened_at, s.opened_rank))
        return [(s, s.opened_at) for s in chosen]
    chosen = sorted(streams, key=lambda s: s.asked_rank)
    positions = [s.asked_at for s in chosen]
    if setting.hand_over is HandOverMark.REQUEST:
        return list(zip(chosen, positions, strict=True))
    chosen = sorted(streams, key=lambda s: s.first_at)
    if setting.hand_over is HandOverMark.NOTHING:
        return [(stream, 0) for stream in chosen]
    if setting.hand_over in _ALONE and len(chosen) > 1:
        # Handlers take their time: the second message may have come after some turns of the first.
        quarters = _ALONE[setting.hand_over] * chosen[1].first_at // 4
        positions = [positions[0], *(max(at, quarters) for at in positions[1:])]
    return list(zip(chosen, positions, strict=True))


def _queued(burst: Burst) -> list[tuple[Served, int]]:
    """Hand-over positions for a queue whose unfinished streams go to the tail.

    It came after the visit before its first one had been queued, and before the next visit that is
    no first one was: the middle between is taken.
    """
    runs = burst.runs()
    starts = np.cumsum([0, *(size for _, size in runs)]).tolist()
    queued = _requeued([stream for stream, _ in runs], starts)
    of = {served.stream: served for served in burst.streams}
    following: list[int | None] = [None] * len(
        runs
    )  # when the next one that is no first was queued
    for place in range(len(runs) - 2, -1, -1):
        after = queued[place + 1]
        following[place] = following[place + 1] if after is None else after
    found: list[tuple[Served, int]] = []
    behind = 0
    for place, (stream, _) in enumerate(runs):
        known = queued[place]
        if known is not None:
            behind = max(behind, known)
            continue
        ahead = following[place]
        upto = behind if ahead is None else min(ahead, starts[place])
        behind = max(behind, of[stream].asked_at, (behind + max(behind, upto)) // 2)
        found.append((of[stream], min(behind, starts[place])))
    return found


def _requeued(streams: Sequence[int], starts: Sequence[int]) -> list[int | None]:
    """Position at which each visit's stream was queued for it; None for a stream's first visit.

    That is as its visit before was chosen. A visit that others had to wait for was several turns
    in a row, of which only the last counts.
    """
    last: dict[int, int] = {}
    usual = float(np.median(np.diff(starts))) if len(starts) > 1 else 0.0
    queued: list[int | None] = []
    for place, stream in enumerate(streams):
        before = last.get(stream)
        if before is None:
            queued.append(None)
        else:
            size = starts[before + 1] - starts[before]
            queued.append(starts[before] + (3 * size // 4 if before == 0 and size > usual else 0))
        last[stream] = place
    return queued
