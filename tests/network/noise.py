"""Takes the processors away at random for 5 to 50 ms at real-time priority, as a busy machine does.

    python -m tests.network.noise SHARE SEED

until it is killed or its parent ends.
"""

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LEAST_S, MOST_S = 0.005, 0.050
_PR_SET_PDEATHSIG = 1


@contextmanager
def noise(share: float, seed: int) -> Iterator[None]:
    """Keep every processor busy for this share of the time, each at moments of its own."""
    argv = [sys.executable, str(Path(__file__)), str(share), str(seed)]
    with subprocess.Popen(argv, start_new_session=True) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def main(share: float, seed: int) -> None:
    for processor in sorted(os.sched_getaffinity(0)):
        if os.fork() == 0:
            _end_with_parent()
            _occupy(processor, share, random.Random(f"{seed} {processor}"))
    _end_with_parent()
    signal.pause()


def _occupy(processor: int, share: float, draw: random.Random) -> None:
    os.sched_setaffinity(0, {processor})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    mean_s = (LEAST_S + MOST_S) / 2
    while True:
        time.sleep(draw.expovariate(share / (mean_s * (1 - share))))
        end = time.monotonic() + draw.uniform(LEAST_S, MOST_S)
        while time.monotonic() < end:
            pass


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
