"""Handling of Ctrl-C while a command is still loading, or ending: one line, no traceback.

The libraries take about a second to load. Ctrl-C in the midst of that would be a traceback out of
whatever was being imported; nothing has begun yet, so the program just ends. And when a command has
said how it ended, another Ctrl-C would be a traceback out of the interpreter.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Never


@contextmanager
def leaving_at_once(prog: str) -> Iterator[None]:
    """End the program with one line at Ctrl-C, unless it was started to ignore it."""

    def leave(number: int, frame: FrameType | None) -> None:
        with suppress(OSError):
            os.write(2, f"{prog}: interrupted\n".encode())
        os._exit(128 + number)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, leave)
    yield
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)


def leave(code: int) -> Never:
    """End the program; no signal that asks for it changes anything any more."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)
