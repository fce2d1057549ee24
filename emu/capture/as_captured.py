"""Packets of a capture put in the order in which they were captured, each of them once.

A file's records can stand in another order than their time stamps, where several queues or files
were written into one. And a packet is captured twice where it passes two interfaces (`-i any`), or
both sides of a mirrored port.
"""

from dataclasses import replace

import numpy as np

from emu.capture.arrays import Ints, Mask
from emu.capture.pcap import Records
from emu.capture.segment_map import WRAP
from emu.capture.segments import ACK, Segments

_COOKED, _COOKED_2 = 113, 276


def order_by_time(records: Records, segments: Segments) -> Ints | None:
    """Order of the records by their time stamps; None if the file's own order is the better one.

    A sender's numbers only rise, but for what it sends again. So the order in which they fall less
    often is the right one: the file's, if a clock was set back. Of one time stamp they rise.

    Parameters
    ----------
    records, segments
        The capture's, in the order of the file.
    """
    order = np.argsort(records.time_ns, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    by_time = np.argsort(place[segments.record], kind="stable")
    rising = by_time[_rising_at_once(segments.take(by_time))]
    if _falls(segments.take(rising)) >= _falls(segments):
        return None
    order[place[segments.record[by_time]]] = segments.record[rising]
    return order


def reordered(records: Records, order: Ints) -> Records:
    """Put records in another order."""
    names = ("at", "captured", "original", "time_ns")
    return replace(records, **{name: getattr(records, name)[order] for name in names})


def _rising_at_once(segments: Segments) -> Ints:
    """Places of the segments, those of one flow and one time stamp by their numbers."""
    flow = _flows(segments)
    places = np.argsort(flow, kind="stable")
    sequence, acknowledged = (
        _unwrapped(numbers[places], flow[places])
        for numbers in (segments.raw_sequence, segments.acknowledged)
    )
    risen = np.lexsort((acknowledged, sequence, segments.time_ns[places], flow[places]))
    found = np.empty_like(places)
    found[places] = places[risen]
    return found


def _falls(segments: Segments) -> int:
    """Number of falls of a flow's numbers: of its data, and of what it acknowledges."""
    falls = 0
    flows = _flows(segments)
    carrying, answering = segments.length > 0, segments.flags & ACK != 0
    for chosen, numbers in (
        (carrying, segments.raw_sequence),
        (answering, segments.acknowledged),
    ):
        places = np.flatnonzero(chosen)
        places = places[np.argsort(flows[places], kind="stable")]
        falls += int((_steps(numbers[places], flows[places]) < 0).sum())
    return falls


def _flows(segments: Segments) -> Ints:
    return segments.source * len(segments.endpoints) + segments.destination


def _steps(numbers: Ints, flows: Ints) -> Ints:
    """From each number to the next one of its flow, the short way round; 0 at a flow's first."""
    if not numbers.size:
        return numbers
    steps = (np.diff(numbers, prepend=numbers[:1]) + WRAP // 2) % WRAP - WRAP // 2
    first: Mask = np.diff(flows, prepend=-1) != 0
    return np.where(first, 0, steps)


def _unwrapped(numbers: Ints, flows: Ints) -> Ints:
    return np.cumsum(_steps(numbers, flows))


def without_copies(records: Records, segments: Segments) -> Segments:
    """Leave out the segments of packets that were captured before.

    A copy is equal in all that its sender wrote. What is sent again can be that, too. It is told
    from a copy by IPv4's identification, if the flow's tells its packets apart (RFC 6864 lets a
    sender do without). Else, on a device for all interfaces, the n-th at one interface is the n-th
    at any other.
    """
    flow = _flows(segments)
    same = (
        *(flow, segments.raw_sequence, segments.acknowledged, segments.flags),
        segments.length + segments.missing,
    )
    identity = np.where(_telling(flow, same, segments.identity), segments.identity, 0)
    seen_at = np.where(identity > 0, 0, _interfaces(records)[segments.record])
    group = _groups((*same, identity))
    if group is None:
        return segments
    turn = np.where(identity > 0, 0, _occurrences(group, seen_at))
    order = np.lexsort((turn, group))
    again = (np.diff(group[order], prepend=-1) == 0) & (np.diff(turn[order], prepend=-1) == 0)
    if not again.any():
        return segments
    first = np.maximum.accumulate(np.where(again, 0, np.arange(order.size)))
    kept = np.ones(order.size, dtype=np.bool_)
    view = records.data.data
    for original, copy in zip(order[first[again]].tolist(), order[again].tolist(), strict=True):
        one, other = int(segments.at[original]), int(segments.at[copy])
        size, captured = int(segments.length[copy]), int(segments.length[original])
        if size <= captured and view[one : one + size] == view[other : other + size]:
            kept[copy] = False
    return segments.take(kept)


def _telling(flow: Ints, same: tuple[Ints, ...], identity: Ints) -> Mask:
    """Mask of the segments whose identification tells them from others of their flow."""
    places = np.argsort(flow, kind="stable")
    following, before = places[1:], places[:-1]
    within = flow[following] == flow[before]
    other = within & np.any([each[following] != each[before] for each in same[1:]], axis=0)
    alike = other & (identity[following] == identity[before]) & (identity[following] > 0)
    telling = np.setdiff1d(flow[following[other]], flow[following[alike]])
    return np.isin(flow, telling) & (identity > 0)


def _groups(columns: tuple[Ints, ...]) -> Ints | None:
    """Number the rows, equal ones alike; None if no two are equal."""
    mixed = np.zeros(columns[0].size, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    order = np.argsort(mixed, kind="stable")
    new = np.diff(mixed[order], prepend=mixed[order][:1]) != 0
    for column in columns:  # where the mixture is alike by chance
        new |= np.diff(column[order], prepend=-1) != 0
    if new.all():
        return None
    group = np.empty(order.size, dtype=np.int64)
    group[order] = np.cumsum(new)
    return group


def _occurrences(group: Ints, seen_at: Ints) -> Ints:
    """Number of rows of the same group and interface before each row."""
    order = np.lexsort((seen_at, group))
    fresh = (np.diff(group[order], prepend=-1) != 0) | (np.diff(seen_at[order], prepend=-1) != 0)
    rank = np.arange(order.size)
    found = np.empty_like(rank)
    found[order] = rank - np.maximum.accumulate(np.where(fresh, rank, 0))
    return found


def _interfaces(records: Records) -> Ints:
    """Interface of each record on a device for all, as far as its header tells; 0 on others."""
    if records.link_type == _COOKED_2:
        at, size = 4, 4
    elif records.link_type == _COOKED:  # only whether it came or went
        at, size = 0, 2
    else:
        return np.zeros(records.at.size, dtype=np.int64)
    found = np.zeros(records.at.size, dtype=np.int64)
    whole = records.captured >= at + size
    for byte in range(size):
        found[whole] = found[whole] << 8 | records.data[records.at[whole] + at + byte]
    return found
