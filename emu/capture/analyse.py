"""Capture analysis: from a capture file to a report of its connections and streams."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from emu.capture.as_captured import order_by_time, reordered, without_copies
from emu.capture.connections import Conversation, split_connections, with_most_bytes
from emu.capture.control import request_paths
from emu.capture.direction import (
    Direction,
    client_less_server,
    read_direction,
    report_direction,
)
from emu.capture.pcap import Records, read_records
from emu.capture.reassembly import Flaw
from emu.capture.report import CaptureReport, ConnectionReport, Problem, StreamReport
from emu.capture.segments import read_segments
from emu.capture.streams import NOTHING, StreamDirection

DEFAULT_GAP_NS = 2_000_000
DEFAULT_LAG_NS = 20_000_000
LONGEST_GAP_NS = 500_000_000
PACKETS_OF_A_GAP = 20
CLOCK_STEP_NS = 1_000_000


def analyse_capture(
    path: Path,
    *,
    ports: Collection[int] | None = None,
    gap_ns: int | None = DEFAULT_GAP_NS,
    lag_ns: int = DEFAULT_LAG_NS,
    search: bool = False,
) -> CaptureReport:
    """Analyse a capture file, plain or gzip, pcap or pcapng.

    Parameters
    ----------
    path
        The file.
    ports
        Only TCP connections from or to these ports; None for all.
    gap_ns
        An idle time longer than this ends a service interval and is a gap. It must be well
        above the time of one packet on the link: 0.12 ms at 100 Mbit/s, 12 ms at 1 Mbit/s.
        None: twenty times the usual time between packets with data, at least the default.
    lag_ns
        How long bytes may lie between their sender's decision and the wire (socket buffer and
        queue); only `StreamDirection.credit_stops` depends on it.
    search
        Whether to look for frames in a connection captured from its middle.

    Raises
    ------
    CaptureError
        The file can't be read or is not a capture file. All else that is wrong with it is in
        the report's `problems`.
    """
    records = read_records(path)
    segments, odd = read_segments(records, ports)
    if (np.diff(records.time_ns) < 0).any():
        order = order_by_time(records, segments)
        if order is not None:
            records = reordered(records, order)
            segments, odd = read_segments(records, ports)
    segments = without_copies(records, segments)
    records, step = _steadied(records)
    found = split_connections(records.data, segments, ports)
    conversations, left_out = with_most_bytes(found)
    problems = [*records.problems, *step, *odd, *filter(None, [left_out])]
    connections = []
    for conversation in conversations:
        report = _connection(records, conversation, gap_ns, lag_ns, search=search)
        connections.append(report)
        name = "{}:{} - {}:{}".format(*report.client, *report.server)
        problems += [f"{name}: {problem}" for problem in report.problems]
    return CaptureReport(
        connections=tuple(connections),
        packets=records.at.size,
        size_bytes=records.data.size,
        truncated=records.truncated,
        problems=tuple(problems),
    )


def _steadied(records: Records) -> tuple[Records, list[str]]:
    """Make the records' times non-decreasing, unless the clock was set back.

    Packets of the two directions are stamped on different processors, and some microseconds
    disorder is normal. A clock that was set back is a problem, and its times are left as they
    are.
    """
    latest = np.maximum.accumulate(records.time_ns)
    backward_ns = int((latest - records.time_ns).max(initial=0))
    if backward_ns > CLOCK_STEP_NS:
        return records, [f"time stamps go backwards by up to {backward_ns} ns"]
    return replace(records, time_ns=latest), []


def _usual_gap_ns(conversation: Conversation) -> int:
    """Gap threshold of a connection: a multiple of its median time between data packets."""
    usual = [
        float(np.quantile(np.diff(side.time_ns[side.length > 0]), 0.5))
        for side in conversation.both
        if (side.length > 0).sum() > 1
    ]
    return min(LONGEST_GAP_NS, max(DEFAULT_GAP_NS, round(PACKETS_OF_A_GAP * min(usual, default=0))))


def _connection(
    records: Records,
    conversation: Conversation,
    gap_ns: int | None,
    lag_ns: int,
    *,
    search: bool,
) -> ConnectionReport:
    if gap_ns is None:
        gap_ns = _usual_gap_ns(conversation)
    conversation, up, down = _directions(records, conversation, search=search)
    up, down = up.unless_missing(down), down.unless_missing(up)
    up, down = up.limited_by(down), down.limited_by(up)
    to_server, sent, sent_problem = report_direction(up, down, gap_ns=gap_ns, lag_ns=lag_ns)
    to_client, answered, answered_problem = report_direction(down, up, gap_ns=gap_ns, lag_ns=lag_ns)
    # Header blocks depend on those before them: from the middle they can't be decoded.
    paths, undecoded = request_paths(up.reader, up.frames) if up.opened else ({}, None)
    up_flaws = up.flaws if undecoded is None else (*up.flaws, undecoded)
    times = [side.time_ns for side in conversation.both if side.time_ns.size]
    return ConnectionReport(
        client=conversation.client,
        server=conversation.server,
        first_ns=min(int(time.min()) for time in times),
        last_ns=max(int(time.max()) for time in times),
        to_server=to_server,
        to_client=to_client,
        streams=_streams(paths, sent, answered),
        complete=not up.flaws and not down.flaws,
        found=(
            *_problems("to server", up, up_flaws, sent_problem),
            *_problems("to client", down, down.flaws, answered_problem),
        ),
    )


def _directions(
    records: Records, conversation: Conversation, *, search: bool
) -> tuple[Conversation, Direction, Direction]:
    """Read both directions; from a connection's middle the client is who asks for streams first."""
    up = read_direction(records, conversation, client=True, peer=None, search=search)
    down = read_direction(records, conversation, client=False, peer=up, search=search)
    if search and not conversation.opened and up.is_guessed:
        asks = client_less_server(up, down)
        if asks < 0:
            conversation = conversation.turned()
            up = read_direction(records, conversation, client=True, peer=None, search=True)
            down = read_direction(records, conversation, client=False, peer=up, search=True)
        elif not asks and (up.frames.at.size or down.frames.at.size):
            text = "no HEADERS show which side is the client: it is taken to have the higher port"
            up = up.with_flaw(Flaw(at=0, text=text))
    return conversation, up, down


def _problems(
    name: str, direction: Direction, flaws: Sequence[Flaw], exceeded: Problem | None
) -> list[Problem]:
    """Everything wrong with a direction: with its bytes, and with the credit of its data."""
    found = [
        Problem(text=f"{name}: {flaw.text}", whole_until_ns=direction.whole_until_ns(flaw))
        for flaw in flaws
    ]
    if exceeded is not None:
        found.append(replace(exceeded, text=f"{name}: {exceeded.text}"))
    return found


def _streams(
    paths: dict[int, str | None],
    sent: dict[int, StreamDirection],
    answered: dict[int, StreamDirection],
) -> tuple[StreamReport, ...]:
    return tuple(
        StreamReport(
            stream=stream,
            path=paths.get(stream),
            client=sent.get(stream, NOTHING),
            server=answered.get(stream, NOTHING),
        )
        for stream in sorted(sent.keys() | answered.keys())
    )
