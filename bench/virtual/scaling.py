"""Bursts scaled down: ends of their streams, as shares of the burst, beside a large one's.

There is no noise that a long burst would average out. What does not scale with the messages is the
frame, the write target of gRPC, and the send buffer, so the answer moves once those are a large
part of a message.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from bench.common.record import Figure
from bench.virtual.running import Json, run
from netcosim.results.folder import ResultsFolder

TOTALS_MB: Final = (36, 18, 6, 2)
"""The first is what the others are held against."""

FRAME_BYTES: Final = 16384
_BURST: Final = 1
_H2: Final = {"sender": "h2", "receiver": "h2"}
_GRPC: Final = {"sender": "grpc", "receiver": "grpc"}
_TRANSPORTS: Final[tuple[Json, ...]] = (
    {**_H2, "name": "fifo", "discipline": "fifo", "flow_control": False},
    {**_H2, "name": "two-visit-1M", "discipline": "two_visit", "window": "1MiB"},
    {**_GRPC, "name": "grpc-whole", "whole_messages": True},
    {**_GRPC, "name": "grpc-off", "flow_control": False},
    {**_GRPC, "name": "grpc-1M", "window": "1MiB"},
    {**_GRPC, "name": "grpc-default"},
)

Ends = dict[str, float]
"""By tensor when its stream ends, as a share of the burst."""


def scaling_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """By transport and total the largest difference of a stream's end from the large burst's."""
    large, *smaller = TOTALS_MB[2:] if quick else TOTALS_MB
    wanted = _cells(large)
    for total in smaller:
        for transport, (ends, least, most) in _cells(total).items():
            base = wanted[transport][0]
            off = max(abs(ends[tensor] - base[tensor]) for tensor in base)
            rows.append({"part": "scale", "transport": transport, "mb": total, "off": off})
            yield Figure(
                name=f"{transport}, {total} MB against {large} MB: ends of streams differ by",
                value=100 * off,
                unit="%",
                note=f"largest message {most / FRAME_BYTES:.0f} frames, "
                f"smallest {least / FRAME_BYTES:.1f}",
            )


def _cells(total_mb: int) -> Mapping[str, tuple[Ends, int, int]]:
    """By transport the ends of a later burst, and the smallest and the largest message."""
    ran = run(_scenario(total_mb), f"scale-{total_mb}")
    trace = ResultsFolder.open(ran.folder).read_trace()
    found = {}
    for spec in _TRANSPORTS:
        mine = [
            row
            for row in trace
            if row.burst == _BURST and row.cell.rpartition("/")[2] == spec["name"]
        ]
        length_ns = max(row.wire_end_ns for row in mine)
        sizes = [row.size_bytes for row in mine]
        ends = {row.tensor: row.wire_end_ns / length_ns for row in mine}
        found[spec["name"]] = ends, min(sizes), max(sizes)
    return found


def _scenario(total_mb: int) -> Json:
    cost = {"message": f"{20 * total_mb}us"}  # it scales as well
    return {
        "repetitions": _BURST + 1,
        "cluster": {
            "topology": "pair",
            "link": {"rate": "500mbit"},
            "processor": {"sent": cost, "received": dict(cost)},
        },
        "workload": [
            {"name": "mixed8", "set": "mixed8", "total": f"{total_mb}MB", "scale_window": True}
        ],
        "transport": list(_TRANSPORTS),
    }
