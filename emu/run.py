"""The door, ``python -m emu.run``: Ctrl-C is one line from the first moment on.

The libraries take about a second to load. Ctrl-C in the midst of that would be a traceback out of
whatever was being imported; nothing has begun yet, so the program just ends.
"""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scenario on a real network; return the exit code."""
    with _leaving_at_once():
        from emu import command
    return command.run(sys.argv[1:] if arguments is None else arguments)


@contextmanager
def _leaving_at_once() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _leave)
    yield
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"emu.run: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
