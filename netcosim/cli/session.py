"""Parts of a session that both worlds need: phases with their times, command, why it ended."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from netcosim.cli.ending import interruption
from netcosim.errors import NetcosimError
from netcosim.failure import NO_MEMORY, add_later, later_lines
from netcosim.formatting import shortened


@contextmanager
def timed_phase(phases_s: dict[str, float], name: str) -> Iterator[None]:
    """Add the seconds that the context takes to those of the phase."""
    begin = time.monotonic()
    try:
        yield
    finally:
        phases_s[name] = phases_s.get(name, 0.0) + time.monotonic() - begin


def as_recorded(arguments: Sequence[str]) -> tuple[str, ...]:
    """A command line as a record keeps it: what is not UTF-8, as names of files may be, escaped."""
    return tuple(each.encode(errors="backslashreplace").decode() for each in arguments)


def failure_line(failure: BaseException) -> str:
    """Reason of an early end, in one line."""
    if isinstance(failure, KeyboardInterrupt):
        return f"interrupted by {interruption(failure)}"
    if isinstance(failure, MemoryError):
        return NO_MEMORY
    return shortened(" ".join(str(failure).split())) or type(failure).__name__


def failure_lines(failure: BaseException) -> tuple[str, ...]:
    """Reasons of an early end: what decides how the command ends, and what failed after it."""
    return failure_line(failure), *later_lines(failure)


def first_of(first: BaseException | None, second: BaseException) -> BaseException:
    """The failure that decides how a command ends: the first, after which the second is told."""
    if first is None:
        return second
    for line in failure_lines(second):
        if line not in failure_lines(first):
            add_later(first, line)
    return first


@contextmanager
def deciding(first: BaseException | None) -> Iterator[None]:
    """Raise `first`, if there is one, where the block fails: it decides how the command ends.

    A second interruption passes: it is for what the first one waits for.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt) as second:
        if first is None or isinstance(second, KeyboardInterrupt):
            raise
        raise first_of(first, second) from None


def noted(failure: NetcosimError, before: BaseException) -> NetcosimError:
    """A failure in other words than `before`, after which the same is told."""
    for line in later_lines(before):
        add_later(failure, line)
    return failure
