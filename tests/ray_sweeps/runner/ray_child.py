"""The process in which a driver's Ray lives, and what that has started."""

import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

CRASHES: Final[Mapping[signal.Signals, set[signal.Signals]]] = {
    signal.SIGKILL: {signal.SIGKILL},
    signal.SIGSEGV: {signal.SIGSEGV, signal.SIGABRT},
}
"""Signals that crash it, and those by which it ends then.

Ray's handler of a fault writes its stack, and gives up by SIGABRT where that takes more than three
seconds: `alarm_on_failure_secs` of Abseil's `failure_signal_handler.h`.
"""


def ray_child(driver: int) -> int:
    """Number of the process that a driver has started for Ray."""
    (found,) = (
        number
        for number in map(int, Path(f"/proc/{driver}/task/{driver}/children").read_text().split())
        if b"ray_sweeps.runner.ray_child" in Path(f"/proc/{number}/cmdline").read_bytes()
    )
    return found


def raylet_of(driver: int) -> int | None:
    """Number of the raylet below a driver; None: there is none yet."""
    left = [driver]
    while left:
        process = Path(f"/proc/{left.pop()}")
        with suppress(OSError):
            if (process / "comm").read_text() == "raylet\n":
                return int(process.name)
            tasks = (process / "task").iterdir()
            left += [int(n) for task in tasks for n in (task / "children").read_text().split()]
    return None


def working_in(folder: Path) -> list[int]:
    """Numbers of the processes that have a file open in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if any(f.readlink().is_relative_to(folder) for f in (process / "fd").iterdir()):
                found.append(int(process.name))
    return found
