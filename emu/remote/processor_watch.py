"""Records when one processor had no time for a process. Stands alone: standard library only.

``processor_watch.py PROCESSOR FILE`` is a process like the probes on this processor that wants to
run every millisecond. Where it ran late by more than `LATE_NS` it appends (last run, this run) to
FILE, two little-endian 64-bit integers of CLOCK_REALTIME nanoseconds: in between, others were
served first, or the hypervisor took the processor. While a link stands still for a reason of its
own, processes are served in time. It prints ``watching`` once it runs.
"""

import contextlib
import os
import struct
import sys
import time

PERIOD_NS = 1_000_000
LATE_NS = 1_000_000
PRIORITY = -15  # as the link's probes
RECORD = struct.Struct("<qq")


def main(argv: list[str]) -> None:
    """Record until killed."""
    processor, path = int(argv[0]), argv[1]
    os.sched_setaffinity(0, {processor})
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    print("watching", flush=True)
    with open(path, "ab", buffering=0) as file:  # noqa: PTH123 - quick to start without pathlib
        last_ns = time.time_ns()
        while True:
            time.sleep(PERIOD_NS / 1e9)
            now_ns = time.time_ns()
            if now_ns - last_ns - PERIOD_NS > LATE_NS:
                file.write(RECORD.pack(last_ns, now_ns))
            last_ns = now_ns


if __name__ == "__main__":
    main(sys.argv[1:])
