"""Takes one processor for a while, from a process of its own, and tells when it had it.

``taker.py PROCESSOR PRIORITY LENGTH_MS COUNT EVERY_MS``: COUNT times for LENGTH_MS, at this
real-time priority, 0 for an ordinary process. Prints a line of JSON: for each time the spans in
which it ran, broken where it did not for more than 0.2 ms, in nanoseconds of CLOCK_REALTIME.
"""

import json
import os
import sys
import time

BROKEN_NS = 200_000


def main(arguments: list[str]) -> None:
    processor, priority, length_ms, count, every_ms = map(int, arguments)
    os.sched_setaffinity(0, {processor})
    if priority:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    found = []
    for _ in range(count):
        time.sleep(every_ms / 1000)
        found.append(spin(length_ms * 1_000_000))
    print(json.dumps(found))


def spin(length_ns: int) -> list[tuple[int, int]]:
    spans = []
    begin = last = time.time_ns()
    end = begin + length_ns
    while (now := time.time_ns()) < end:
        if now - last > BROKEN_NS:
            spans.append((begin, last))
            begin = now
        last = now
    spans.append((begin, last))
    return spans


main(sys.argv[1:])
