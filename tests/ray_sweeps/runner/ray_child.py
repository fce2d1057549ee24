"""The process in which a driver's Ray lives."""

import signal
from collections.abc import Mapping
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
