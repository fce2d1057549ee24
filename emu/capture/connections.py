"""TCP connections: segments grouped by connection and direction."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from emu.capture.arrays import Bytes
from emu.capture.frames import PREFACE
from emu.capture.segments import ACK, SYN, Segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One TCP connection's segments; the client is the side that opened it.

    `opened` tells whether a SYN was captured. Without one the sides were guessed: the client is
    the side that sent HTTP/2's preface; else the server is the side with one of the ports asked
    for, else with the lower port.
    """

    client: tuple[str, int]
    server: tuple[str, int]
    opened: bool
    to_server: Segments
    to_client: Segments

    @property
    def both(self) -> tuple[Segments, Segments]:
        """The directions: to the server, to the client."""
        return self.to_server, self.to_client

    def turned(self) -> "Conversation":
        """Return the connection with the sides exchanged, where they had been guessed wrong."""
        return Conversation(
            client=self.server,
            server=self.client,
            opened=self.opened,
            to_server=self.to_client,
            to_client=self.to_server,
        )


MOST_CONNECTIONS: Final = 2_000
"""Most connections of a capture that are analysed, some milliseconds each."""


def split_connections(
    data: Bytes, segments: Segments, ports: Collection[int] | None = None
) -> tuple[Conversation, ...]:
    """Sort segments into connections, in the order of their first segments.

    A pair of endpoints that is used again (another SYN with another sequence number) is another
    connection.
    """
    if not segments.record.size:
        return ()
    low = np.minimum(segments.source, segments.destination)
    high = np.maximum(segments.source, segments.destination)
    pairs, numbers = np.unique(low * len(segments.endpoints) + high, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers)).tolist()
    found = []
    for first, last in pairwise([0, *ends]):
        members = segments.take(order[first:last]) if pairs.size > 1 else segments
        found += [_conversation(data, part, ports) for part in _incarnations(members)]
    return tuple(sorted(found, key=_first_record))


def with_most_bytes(
    conversations: Sequence[Conversation], most: int = MOST_CONNECTIONS
) -> tuple[tuple[Conversation, ...], str]:
    """The connections that carry most bytes, in their order; and what to say of the others."""
    if len(conversations) <= most:
        return tuple(conversations), ""
    sizes = [sum(int(side.length.sum()) for side in each.both) for each in conversations]
    largest = np.sort(np.argsort(sizes, kind="stable")[-most:]).tolist()
    problem = (
        f"{len(conversations)} TCP connections: the {most} with most bytes are read;"
        f" --port chooses others"
    )
    return tuple(conversations[place] for place in largest), problem


def _incarnations(segments: Segments) -> Iterator[Segments]:
    """Split the segments of a pair of endpoints into its successive connections."""
    syns = np.flatnonzero(segments.flags & (SYN | ACK) == SYN)
    cuts = [0]
    previous: tuple[int, int] | None = None
    for place in syns.tolist():
        syn = int(segments.source[place]), int(segments.raw_sequence[place])
        begins_anew = _after_data(segments, place) if previous is None else syn != previous
        if begins_anew:
            cuts.append(place)
        previous = syn
    cuts.append(segments.record.size)
    for first, last in pairwise(cuts):
        if len(cuts) == 2:
            yield segments
        elif last > first:
            yield segments.take(np.arange(first, last))


def _after_data(segments: Segments, place: int) -> bool:
    """True if data of an older connection came before the first captured SYN."""
    return bool((segments.length[:place] > 0).any())


def _conversation(data: Bytes, segments: Segments, ports: Collection[int] | None) -> Conversation:
    syns = np.flatnonzero(segments.flags & SYN)
    if syns.size:
        first = int(syns[0])
        asked = not segments.flags[first] & ACK
        client = int((segments.source if asked else segments.destination)[first])
    else:
        client = _guess_client(data, segments, ports)
    to_server = segments.source == client
    pair = int(segments.source[0]), int(segments.destination[0])
    server = pair[1] if pair[0] == client else pair[0]
    return Conversation(
        client=segments.endpoints[client],
        server=segments.endpoints[server],
        opened=bool(syns.size),
        to_server=segments.take(to_server),
        to_client=segments.take(~to_server),
    )


def _guess_client(data: Bytes, segments: Segments, ports: Collection[int] | None) -> int:
    for place in np.flatnonzero(segments.length >= len(PREFACE)).tolist():
        at = int(segments.at[place])
        if data[at : at + len(PREFACE)].tobytes() == PREFACE:
            return int(segments.source[place])
    one, other = int(segments.source[0]), int(segments.destination[0])
    one_port, other_port = segments.endpoints[one][1], segments.endpoints[other][1]
    if ports is not None and (one_port in ports) != (other_port in ports):
        return other if one_port in ports else one
    return one if one_port > other_port else other


def _first_record(conversation: Conversation) -> int:
    return min(int(side.record[0]) for side in conversation.both if side.record.size)
