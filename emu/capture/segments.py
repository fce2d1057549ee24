"""TCP segments as columns: endpoints, times, sequence numbers, payload positions.

Checksums are not looked at: where the sender offloads them a capture holds wrong ones.
"""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emu.capture.arrays import Ints, Mask
from emu.capture.layers import IPV4, Cursor, tcp_headers
from emu.capture.pcap import Records

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10

_COLUMNS = (
    "record", "time_ns", "source", "destination", "raw_sequence", "acknowledged", "flags", "at",
    "length", "missing", "identity",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """The TCP segments of a capture, in capture order; all arrays have the same length.

    `record` numbers the record of the capture file, `source` and `destination` index
    `endpoints`. `at` is the payload's place in the file's data, `length` how much of it was
    captured and `missing` how much of it was not. `raw_sequence` is the header's, `identity` the
    identification of IPv4; 0: none.
    """

    endpoints: tuple[tuple[str, int], ...]
    record: Ints
    time_ns: Ints
    source: Ints
    destination: Ints
    raw_sequence: Ints
    acknowledged: Ints
    flags: Ints
    at: Ints
    length: Ints
    missing: Ints
    identity: Ints

    def take(self, which: Ints | Mask) -> "Segments":
        """Select some of the segments, in the order of `which`."""
        chosen = {name: getattr(self, name)[which] for name in _COLUMNS}
        return Segments(endpoints=self.endpoints, **chosen)


def read_segments(
    records: Records, ports: Collection[int] | None = None
) -> tuple[Segments, tuple[str, ...]]:
    """Find the TCP segments, only those from or to `ports` if given, and list problems.

    Raises
    ------
    CaptureError
        The file's link type is not one that can be read.
    """
    problems: list[str] = []
    four, six = (
        _read_tcp(records, cursor, version, ports, problems)
        for version, cursor in tcp_headers(records, problems).items()
    )
    return _merge(four, six), tuple(problems)


def _read_tcp(
    records: Records,
    cursor: Cursor,
    version: int,
    ports: Collection[int] | None,
    problems: list[str],
) -> Segments:
    bad = cursor.need(20)
    header = (cursor.u8(12) >> 4) * 4
    sound = (header >= 20) & (cursor.at + header <= cursor.wire_end)
    bad += int(sound.size - sound.sum())
    if bad:
        problems.append(f"{bad} TCP headers are cut off or damaged")
    if ports is not None:
        wanted = list(ports)
        sound &= np.isin(cursor.u16(0), wanted) | np.isin(cursor.u16(2), wanted)
    cursor.keep(sound)
    payload = cursor.at + header[sound]
    captured = np.clip(np.minimum(cursor.end, cursor.wire_end) - payload, 0, None)
    endpoints, source, destination = _endpoints(cursor, version)
    return Segments(
        endpoints=endpoints,
        record=cursor.record,
        time_ns=records.time_ns[cursor.record],
        source=source,
        destination=destination,
        raw_sequence=cursor.u32(4),
        acknowledged=cursor.u32(8),
        flags=cursor.u8(13),
        at=payload,
        length=captured,
        missing=cursor.wire_end - payload - captured,
        identity=cursor.u16(cursor.network - cursor.at + 4) if version == IPV4 else 0 * payload,
    )


def _endpoints(cursor: Cursor, version: int) -> tuple[tuple[tuple[str, int], ...], Ints, Ints]:
    """Number the endpoints; return them with each segment's source and destination number."""
    first, size = (12, 4) if version == IPV4 else (8, 16)
    header = cursor.network - cursor.at
    sides = []
    for side in (0, 1):
        number = cursor.u32(header + first + side * size)
        for word in range(4, size, 4):
            number = _renumbered(number) << 32 | cursor.u32(header + first + side * size + word)
        sides.append(number)
    number = _renumbered(np.concatenate(sides)) if size > 4 else np.concatenate(sides)
    key = number << 16 | np.concatenate([cursor.u16(0), cursor.u16(2)])
    _, places, numbers = np.unique(key, return_index=True, return_inverse=True)
    return tuple(_endpoint(cursor, int(at), first, size) for at in places), *_halves(numbers)


def _renumbered(values: Ints) -> Ints:
    """Equal values as equal small numbers, so that more bits fit beside them."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _halves(values: npt.NDArray[np.intp]) -> tuple[Ints, Ints]:
    half = values.size // 2
    return values[:half].astype(np.int64), values[half:].astype(np.int64)


def _endpoint(cursor: Cursor, place: int, first: int, size: int) -> tuple[str, int]:
    """Address and port of the segment at `place`; the destination's in the second half."""
    side, row = divmod(place, cursor.record.size)
    at = int(cursor.network[row]) + first + side * size
    port_at = int(cursor.at[row]) + 2 * side
    address = ipaddress.ip_address(cursor.data[at : at + size].tobytes())
    return str(address), int.from_bytes(cursor.data[port_at : port_at + 2].tobytes())


def _merge(four: Segments, six: Segments) -> Segments:
    """Segments of both IP versions in capture order."""
    if not six.record.size or not four.record.size:
        return four if four.record.size else six
    shift = len(four.endpoints)
    columns = {name: np.concatenate([getattr(four, name), getattr(six, name)]) for name in _COLUMNS}
    for name in ("source", "destination"):
        columns[name][four.record.size :] += shift
    both = Segments(endpoints=four.endpoints + six.endpoints, **columns)
    return both.take(np.argsort(both.record, kind="stable").astype(np.int64))
