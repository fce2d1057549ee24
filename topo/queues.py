"""Sizes of the queues of links."""

from typing import Final

from netcosim.scenario import LinkSpec
from topo.spec import FRAME_BYTES

FAIR_QUEUE_BYTES: Final = 256 * 2**20
"""No drops on `fair` links, since all senders' buffers together are smaller."""

_FIFO_QUEUE_S: Final = 0.012
"""Of the rate of a `fifo` link: 150 kB at 100 Mbit/s."""

_LEAST_FIFO_BYTES: Final = 30 * FRAME_BYTES


def queue_bytes(link: LinkSpec) -> int:
    """Size of one queue of the link, in bytes: as asked for, or as its model chooses."""
    if link.queue is not None:
        return link.queue
    if link.model == "fair":
        return FAIR_QUEUE_BYTES
    return max(_LEAST_FIFO_BYTES, round(link.rate / 8 * _FIFO_QUEUE_S))
