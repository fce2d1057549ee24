"""Parts of a session that both worlds need: phases with their times, command, why it ended."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from netcosim.cli.ending import interruption


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
    return " ".join(str(failure).split()) or type(failure).__name__
