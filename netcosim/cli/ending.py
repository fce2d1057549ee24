"""Signal handling of commands: SIGTERM and SIGHUP as Ctrl-C, a quiet end on closed output."""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Final

from netcosim.failure import CrashSite, guarded

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CTRL_C: Final = {signal.SIGINT: "Ctrl-C"}
# A terminal that closes or a service manager may send several signals at once.
_SAME_INTERRUPTION_S: Final = 0.5


def run_main(main: Callable[[CrashSite], int], prog: str) -> int:
    """Run a command; return its exit code, whatever happens in it.

    While it runs, SIGTERM and SIGHUP raise KeyboardInterrupt as Ctrl-C does; see `interruption`.
    Several within half a second count as one. A signal that the program was started to ignore
    stays ignored (nohup). Rich ends a program with exit code 1 when nobody reads its output; here
    that is as with any other output. For the main thread.
    """

    def told(site: CrashSite) -> int:
        try:
            return main(site)
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):
                raise end.__context__ from None
            raise

    with _interruptible():
        return guarded(told, prog)


@dataclass(slots=True)
class Late:
    """The interruption that came while results were being written, if one did."""

    interruption: KeyboardInterrupt | None = None


@contextmanager
def finishing(before: BaseException | None = None) -> Iterator[Late]:
    """Hold an interruption back while results are being written; a second one is raised.

    `before` is what ended the work: if it was an interruption, the next one is the second. For the
    main thread, below `run_main`.
    """
    late = Late()
    if isinstance(before, KeyboardInterrupt):
        yield late
        return
    first_s = 0.0

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal first_s
        if number == signal.SIGHUP:
            _leave_dead_streams()
        if late.interruption is None:
            first_s = time.monotonic()
            late.interruption = _named(number)
        elif time.monotonic() - first_s >= _SAME_INTERRUPTION_S:
            raise _named(number)

    with _handled_by(hold):
        yield late


def interruption(problem: KeyboardInterrupt) -> str:
    """Cause of an interruption, for a person: ``Ctrl-C``, ``SIGTERM`` or ``SIGHUP``."""
    return str(problem) or _CTRL_C[signal.SIGINT]


@contextmanager
def _interruptible() -> Iterator[None]:
    last = float("-inf")

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last
        if number == signal.SIGHUP:
            _leave_dead_streams()
        before, last = last, time.monotonic()
        if last - before >= _SAME_INTERRUPTION_S:
            raise _named(number)

    with _handled_by(interrupt):
        yield


@contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Give the signals that end a program to `handler`; those that are ignored stay so."""
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    taken = [number for number, before in handlers.items() if before is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, handlers[number])


def _named(number: int) -> KeyboardInterrupt:
    name = signal.Signals(number)
    return KeyboardInterrupt(_CTRL_C.get(name, name.name))


def _leave_dead_streams() -> None:
    """Redirect output to /dev/null if its terminal is gone, so that the work left is done."""
    for stream in (1, 2):
        poll = select.poll()
        poll.register(stream, 0)
        if any(seen & (select.POLLHUP | select.POLLERR) for _, seen in poll.poll(0)):
            with contextlib.suppress(OSError):
                nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
                os.dup2(nowhere, stream)
                os.close(nowhere)
