"""Records the pauses of one processor. Stands alone: standard library only.

``recorder.py PROCESSOR FILE`` is a process on this processor that wants to run every 2 ms. Where it
runs late by more than `LATE_NS` it appends (last run, this run) to FILE, two little-endian 64-bit
integers of CLOCK_REALTIME nanoseconds: somewhere between them the processor was taken away. It runs
at the lowest real-time priority, so that nothing the emulation does itself can delay it; where that
is not permitted, at the highest priority of its own class. Once it runs it prints its scheduling
class (``fifo`` or ``other``) in a line.
"""

import os
import struct
import sys
import time

PERIOD_NS = 2_000_000
LATE_NS = 300_000
RECORD = struct.Struct("<qq")


def main(argv: list[str]) -> None:
    """Record until killed."""
    processor, path = int(argv[0]), argv[1]
    os.sched_setaffinity(0, {processor})
    print(_first(), flush=True)
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123 - quick to start without pathlib
        last_ns = time.time_ns()
        due_ns = last_ns + PERIOD_NS
        while True:
            time.sleep(max(0, due_ns - time.time_ns()) / 1e9)
            now_ns = time.time_ns()
            if now_ns - due_ns > LATE_NS:
                file.write(RECORD.pack(last_ns, now_ns))
            last_ns, due_ns = now_ns, now_ns + PERIOD_NS


def _first() -> str:
    """Be first to run on the processor; the class that was granted."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
        except PermissionError:
            return "other"
        return "other"
    return "fifo"


if __name__ == "__main__":
    main(sys.argv[1:])
