"""Tell processes that hang from ones on a slow machine: by traffic, and by processor time."""

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TRAFFIC_BYTES: Final = 1500
"""Fewer bytes are no progress: TCP asks a peer that has stopped for room, now and then."""

_BUSY_SHARE: Final = 0.1
"""Share of the time that a process works or waits for a processor, if it is at something.

One that only looks at its socket now and then stays below."""

_MOST_WORK: Final = 10.0
"""Processor time without traffic from which on a process spins, as a multiple of the patience."""


@dataclass(frozen=True, slots=True)
class _State:
    """What processes have done so far: their hosts' traffic, and each one's time in ns.

    `is_to_run` says that one of them runs at this moment, or would if it had a processor.
    """

    at_s: float
    traffic_bytes: int
    worked_ns: dict[int, int]
    waited_ns: dict[int, int]
    is_to_run: bool


class GoingOn:
    """Whether processes went on since this was asked last, though they told nothing.

    The first time it is true: nothing is looked at before somebody has waited in vain, as a look
    at many processes would disturb what they do.

    Parameters
    ----------
    pids : their numbers
    patience_s : how long whoever asks waits between two questions
    """

    def __init__(self, pids: Iterable[int], patience_s: float) -> None:
        self._pids = tuple(pids)
        self._patience_s = patience_s
        self._seen: _State | None = None
        self._worked_ns = 0

    def __call__(self) -> bool:
        """True if their hosts sent or received, or if they worked or waited for a processor.

        So it is where whoever asks was held up itself: the machine stood still.
        """
        before, now = self._seen, _state(self._pids)
        self._seen = now
        if before is None:
            return True
        elapsed_s = now.at_s - before.at_s
        if now.traffic_bytes - before.traffic_bytes >= _TRAFFIC_BYTES:
            self._worked_ns = 0
            return True
        if elapsed_s > 1.5 * self._patience_s + 1.0:
            return True
        worked = {pid: now.worked_ns[pid] - before.worked_ns[pid] for pid in self._pids}
        waited = {pid: now.waited_ns[pid] - before.waited_ns[pid] for pid in self._pids}
        self._worked_ns += max(worked.values(), default=0)
        busy_ns = max((worked[pid] + waited[pid] for pid in self._pids), default=0)
        # A wait for a processor is counted when it has ended.
        is_busy = now.is_to_run or busy_ns >= _BUSY_SHARE * 1e9 * elapsed_s
        return is_busy and self._worked_ns < _MOST_WORK * 1e9 * self._patience_s


def _state(pids: tuple[int, ...]) -> _State:
    times = {pid: _times_ns(pid) for pid in pids}
    return _State(
        at_s=time.monotonic(),
        traffic_bytes=sum(_traffic_by_host(pids).values()),
        worked_ns={pid: worked for pid, (worked, _) in times.items()},
        waited_ns={pid: waited for pid, (_, waited) in times.items()},
        is_to_run=any(
            text.rpartition(")")[2].split()[0] in "RD"
            for pid in pids
            for text in _texts(pid, "task/*/stat")
        ),
    )


def _times_ns(pid: int) -> tuple[int, int]:
    """Time that a process's threads ran, and that they waited for a processor."""
    found = [tuple(map(int, text.split()[:2])) for text in _texts(pid, "task/*/schedstat")]
    return sum(each[0] for each in found), sum(each[1] for each in found)


def _traffic_by_host(pids: tuple[int, ...]) -> dict[str, int]:
    """Bytes received and sent by all interfaces, by network namespace."""
    found: dict[str, int] = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            host = str(Path(f"/proc/{pid}/ns/net").readlink())
            for text in _texts(pid, "net/dev"):
                rows = [line.partition(":")[2].split() for line in text.splitlines()[2:]]
                found[host] = sum(int(row[0]) + int(row[8]) for row in rows)
    return found


def _texts(pid: int, pattern: str) -> Iterator[str]:
    """Files of a process that is still there, and that its kernel has."""
    for path in Path(f"/proc/{pid}").glob(pattern):
        with contextlib.suppress(OSError):
            yield path.read_text(encoding="ascii")
