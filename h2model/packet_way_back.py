"""Way of a receiver's writes to the sender, as packets among those of its calls."""

from collections.abc import Callable

from h2model.protocol import WINDOW_UPDATE_BYTES
from h2model.reading import ReadTogether
from h2model.records import LinkModel
from h2model.tcp.frames import TcpQueue
from h2model.way_back import NO_REQUESTS


class PacketWayBack:
    """Way through TCP, packet by packet: a `h2model.way_back.Back`.

    Those that come while the sender wakes up for the first one are read with it.
    """

    def __init__(self, link: LinkModel, queue: TcpQueue) -> None:
        self.requests = NO_REQUESTS
        self._link = link
        self._queue = queue
        self._read = ReadTogether()

    def write(self, now_ns: float, updates: int, there: Callable[[float], None]) -> None:
        """Write updates; see `h2model.way_back.Back.write`."""
        # What turning bytes into credit takes is spent before they are written.
        written_ns = now_ns + self._link.credit_latency_ns - self._link.delay_ns
        self._queue.at(written_ns, lambda at_ns: self._put(updates, at_ns, there))

    def _put(self, updates: int, now_ns: float, there: Callable[[float], None]) -> None:
        self._queue.put_control(
            updates * WINDOW_UPDATE_BYTES,
            now_ns,
            lambda come_ns: there(self._read.first_ns(come_ns + self._link.delay_ns)),
        )
