"""The load generator of `bench noise`, around a part of a test."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_ROOT = Path(__file__).parent.parent


@contextmanager
def loaded(share: float, seed: int = 0) -> Iterator[None]:
    """Take the processors away for this share of the time; nothing for a share of 0."""
    if not share:
        yield
        return
    argv = [sys.executable, "-m", "bench.noise.load", str(share), str(seed)]
    with subprocess.Popen(argv, cwd=_ROOT) as load:  # its processes end with it
        try:
            yield
            assert load.poll() is None, "the load ended before its time"
        finally:
            load.kill()
