"""Captures of a job's first steps, at every server, for people who look at the wire."""

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emu.capture.tcpdump import Capture, CaptureCounts
from emu.measurement.round import IMMEDIATE_UP_TO_BPS
from emu.network.live import LiveNetwork
from emu.remote.training.roles import Row
from emu.training.progress import FinishedSteps
from netcosim.errors import CaptureError
from netcosim.threads import Call, begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Extent of a capture, and its folder.

    Attributes
    ----------
    steps : how many steps, from the first; 0: nothing
    folder : where a file goes for each server, by the host's name
    counts : of each host, in the servers' order, as its capture has ended; also of a job that fails
    """

    steps: int
    folder: Path
    counts: dict[str, CaptureCounts] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class FirstSteps:
    """Running captures, which end when all workers have ended so many steps and one more.

    A worker ends a step when it hands over its last gradient, which is still to be sent then.
    """

    wanted: Captured
    _captures: Mapping[str, Capture] = field(default_factory=dict)
    _finished: FinishedSteps
    _ending: Call[None] | None = None

    @classmethod
    @contextlib.contextmanager
    def of(cls, live: LiveNetwork, workers: int, wanted: Captured) -> Iterator["FirstSteps"]:
        """Capture within the block; an error in it ends captures that still run at once.

        Raises
        ------
        CaptureError
            tcpdump did not start, has died, or does not end.
        """
        rate_bps = max(link.link.rate for link in live.spec.links)
        servers = [host.name for host in live.spec.servers] if wanted.steps else []
        with contextlib.ExitStack() as stack:
            captures = {
                host: stack.enter_context(
                    Capture(
                        wanted.folder / f"{host}.pcap",
                        interface=live.interface(host),
                        popen=functools.partial(live.popen, host),
                        immediate=rate_bps <= IMMEDIATE_UP_TO_BPS,
                    )
                )
                for host in servers
            }
            first = cls(wanted=wanted, _captures=captures, _finished=FinishedSteps(workers=workers))
            try:
                yield first
            except BaseException:
                if first._ending is not None:  # steps that were over before what failed
                    with contextlib.suppress(CaptureError):
                        first._ending.result()
                raise
            first._end_all()

    def take(self, rows: Sequence[Row]) -> None:
        """Take in what a node has told; ends the captures beside what goes on."""
        self._finished.take(rows)
        if self._finished.by_all > self.wanted.steps and self._ending is None:
            self._ending = begin(self._end)

    def _end_all(self) -> None:
        """End the captures, or wait until they have ended."""
        if self._ending is None:
            self._end()
        else:
            self._ending.result()

    def _end(self) -> None:
        for host, capture in self._captures.items():
            self.wanted.counts[host] = capture.stop()
