"""Detect a guest that gets nowhere, by its clock's beats and the processor time that it takes."""

import contextlib
import os
import time
from pathlib import Path
from typing import Final

STUCK_S: Final = 300.0
"""Seconds of the machine's time after which a guest is given up whose own clock stands still."""

IDLE_S: Final = 60.0
"""The same for one that takes no processor time either: in virtual time waiting takes none."""

_LOOK_S: Final = 2.0


class Stillness:
    """Watch over a guest's process group, asked again and again with its clock's beats."""

    def __init__(self, group: int) -> None:
        self._group = group
        self._beats = -1
        self._beat_at_s = self._worked_at_s = self._looked_at_s = time.monotonic()
        self._processor_s = 0.0

    def reason(self, beats: int) -> str:
        """Reason to give it up; empty as long as it may go on."""
        now_s = time.monotonic()
        if beats != self._beats:
            self._beats = beats
            self._beat_at_s = self._worked_at_s = now_s
            return ""
        if now_s - self._looked_at_s > min(_LOOK_S, IDLE_S / 4):
            self._looked_at_s = now_s
            used_s = _processor_s(self._group)
            if used_s != self._processor_s:
                self._processor_s, self._worked_at_s = used_s, now_s
        if now_s - self._worked_at_s > IDLE_S:
            return f"a guest's clock stood still for {IDLE_S:g} s: nothing in it runs any more"
        if now_s - self._beat_at_s > STUCK_S:
            return f"a guest's clock stood still for {STUCK_S:g} s: a program in it never waits"
        return ""


def _processor_s(group: int) -> float:
    """Processor time that the processes of a group have taken."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(")")[2].split()
            if int(fields[2]) == group:
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")
