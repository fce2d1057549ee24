"""Load generator: takes the processors away at random, as a busy hypervisor does.

``python -m bench.noise.load SHARE [SEED]`` occupies each processor for SHARE of the time, 5 to 50
ms at a time, at real-time priority, until it is killed or its parent ends. Half of a processor's
lost time is lost on all of them together. Real-time tasks as a whole may take 95 % of a processor
(``sched_rt_runtime_us``), so SHARE stays well below.
"""

import ctypes
import itertools
import math
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from typing import Final

LEAST_S: Final = 0.005
MOST_S: Final = 0.050
PRIORITY: Final = 50
MOST_SHARE: Final = 0.5

_PR_SET_PDEATHSIG: Final = 1


def main(arguments: list[str]) -> None:
    """Start one process a processor, then wait to be killed."""
    _end_with(os.getppid())
    share = float(arguments[0])
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    if not 0 < share <= MOST_SHARE:
        sys.exit(f"load: {share:g}: must be above 0 and at most {MOST_SHARE:g}")
    begin, mine = time.monotonic() + 0.1, os.getpid()
    for processor in sorted(os.sched_getaffinity(0)):
        if os.fork() == 0:
            _end_with(mine)
            occupy(processor, share, seed, begin)
    signal.pause()


def occupy(processor: int, share: float, seed: int, begin: float) -> None:
    """Take this processor, for ever; `begin` is of CLOCK_MONOTONIC, in seconds."""
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    for start, end in schedule(share, seed, processor):
        time.sleep(max(0.0, begin + start - time.monotonic()))
        while time.monotonic() < begin + end:
            pass


def schedule(share: float, seed: int, processor: int) -> Iterator[tuple[float, float]]:
    """Times at which a processor is taken, as (start, end) in seconds, by start; some overlap.

    Those of all processors together and its own are drawn apart, and cover `share` with what they
    have in common counted once.
    """
    each = 1 - math.sqrt(1 - share)
    return merged(pauses(each, f"{seed} all"), pauses(each, f"{seed} {processor}"))


def pauses(share: float, seed: str) -> Iterator[tuple[float, float]]:
    """Endless (start, end) in seconds that cover `share` of all time."""
    draw = random.Random(seed)
    mean_s = (LEAST_S + MOST_S) / 2
    now = 0.0
    while True:
        now += draw.expovariate(share / (mean_s * (1 - share)))
        length = draw.uniform(LEAST_S, MOST_S)
        yield now, now + length
        now += length


def merged(
    one: Iterator[tuple[float, float]], other: Iterator[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Both streams of pauses in the order of their starts."""
    heads = [next(one), next(other)]
    sources = (one, other)
    for _ in itertools.count():
        first = 0 if heads[0] <= heads[1] else 1
        yield heads[first]
        heads[first] = next(sources[first])


def _end_with(parent: int) -> None:
    """End when this parent does, or now if it has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
