"""Threads that libraries would start as soon as they are imported.

A process with threads gets no network of its own, unless it is root's.
"""

import os
import sys
from collections.abc import Sequence
from typing import Final

_WITHOUT: Final = {
    "OPENBLAS_NUM_THREADS": "1",  # numpy's; nothing here multiplies large matrices
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's
}


def start_no_threads() -> None:
    """Have numpy and pyarrow start none; to be called before they are imported."""
    for name, value in _WITHOUT.items():
        os.environ.setdefault(name, value)


def start_again_if_threaded(module: str, arguments: Sequence[str]) -> None:
    """Start the program again as a module, if it has threads and needs to have none."""
    threaded = len(os.listdir("/proc/self/task")) > 1  # noqa: PTH208 - their names alone
    if threaded and os.geteuid() != 0 and "_ARGCOMPLETE" not in os.environ:
        start_no_threads()
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-P", "-m", module, *arguments])  # noqa: S606
