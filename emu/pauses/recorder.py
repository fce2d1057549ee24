"""Pause recorder of one processor: a standalone program, with the standard library only.

``recorder.py PROCESSOR FILE WHAT`` is a process on this processor that wants to run every so often.
Where it runs late it appends (last run, this run) to FILE, two little-endian 64-bit integers of
CLOCK_REALTIME nanoseconds. WHAT says for whom the processor was away somewhere between them:

``pauses``
    For everybody: it runs at the lowest real-time priority, so that nothing the emulation does
    itself can delay it; where that is not permitted, at the highest priority of its own class.
``contention``
    For a process of the run: it runs at their priority, and waits while others are served first.

Once it runs it prints its scheduling class (``fifo`` or ``other``) in a line.
"""

import os
import struct
import sys
import time

PAUSES = "pauses"
CONTENTION = "contention"
PERIOD_NS = {PAUSES: 2_000_000, CONTENTION: 1_000_000}
LATE_NS = {PAUSES: 300_000, CONTENTION: 1_000_000}
RUN_PRIORITY = -15
RECORD = struct.Struct("<qq")


def main(argv: list[str]) -> None:
    """Record until killed."""
    processor, path, what = int(argv[0]), argv[1], argv[2]
    os.sched_setaffinity(0, {processor})
    print(_scheduled(what), flush=True)
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123 - quick to start without pathlib
        last_ns = time.time_ns()
        due_ns = last_ns + PERIOD_NS[what]
        while True:
            time.sleep(max(0, due_ns - time.time_ns()) / 1e9)
            now_ns = time.time_ns()
            if now_ns - due_ns > LATE_NS[what]:
                file.write(RECORD.pack(last_ns, now_ns))
            last_ns, due_ns = now_ns, now_ns + PERIOD_NS[what]


def _scheduled(what: str) -> str:
    """Set the wanted priority, as far as it is granted; return the scheduling class."""
    try:
        if what == PAUSES:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            return "fifo"
        os.setpriority(os.PRIO_PROCESS, 0, RUN_PRIORITY)
    except PermissionError:
        _raise_priority(-20 if what == PAUSES else 0)
    return "other"


def _raise_priority(niceness: int) -> None:
    try:
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
    except PermissionError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
