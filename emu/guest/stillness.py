"""Detect a guest that gets nowhere, by its clock's beats and the processor time that it takes."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

STUCK_S: Final = 300.0
"""Processor time after which a guest is given up whose own clock stands still.

On a slow machine it may take longer: see `_TIMES_LONGER`."""

IDLE_S: Final = 60.0
"""Seconds after which one is given up that neither runs nor waits for a processor.

In virtual time waiting takes no time: something in a guest always runs."""

_TIMES_LONGER: Final = 10.0
"""A guest may take so many times as long as between any two beats before, on a slow machine."""

_LOOK_S: Final = 2.0
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Stillness:
    """Watch over a guest's process group, asked again and again with its clock's beats."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._looked_at_s = time.monotonic()
        self._beats = -1
        self._worked_s = self._at_beat_s = self._longest_s = self._idle_s = 0.0

    def reason(self, beats: int) -> str:
        """Reason to give it up; empty as long as it may go on."""
        now_s = time.monotonic()
        look_s = min(_LOOK_S, IDLE_S / 4)
        elapsed_s = now_s - self._looked_at_s
        if elapsed_s <= look_s:
            return ""
        self._looked_at_s = now_s
        worked_s, is_at_work = _work(self._group)
        if beats != self._beats:
            self._beats = beats
            self._longest_s = max(self._longest_s, worked_s - self._at_beat_s)
            self._at_beat_s = worked_s
            self._idle_s = 0.0
        elif is_at_work or worked_s != self._worked_s:
            self._idle_s = 0.0
        else:  # what the machine stood still for is no time in which anything could have run
            self._idle_s += min(elapsed_s, 2 * look_s)
        self._worked_s = worked_s
        if self._idle_s > IDLE_S:
            return f"a guest's clock stood still for {IDLE_S:g} s: nothing in it runs any more"
        most_s = max(STUCK_S, _TIMES_LONGER * self._longest_s)
        if worked_s - self._at_beat_s > most_s:
            took = f"{most_s:.4g} s of processor time"
            return f"a guest's clock stood still for {took}: a program in it never waits"
        return ""


def _work(group: int) -> tuple[float, bool]:
    """Processor time that a group's processes have taken; whether one is to run at this moment."""
    ticks, is_at_work = 0, False
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
                is_at_work |= fields[0] in "RD"
    return ticks / _TICKS, is_at_work
