"""Standard streams of a command that can't be written: a closed pipe, a full disk, none at all.

Progress and messages go to standard error; where they can't be written the work goes on without
them. What a command was asked for goes to standard output; where that can't be written the command
ends, in one line or, if nobody reads any more, in silence.
"""

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast

from netcosim.errors import StorageError

_STANDARD: Final = range(3)
_ESCAPED: Final = "backslashreplace"


@contextmanager
def standard_streams() -> Iterator[None]:
    """Give `sys.stdout` and `sys.stderr` the manners above; one that is closed leads nowhere.

    Writing to standard output raises `BrokenPipeError` where nobody reads it, and `StorageError`
    where it can't be written for another reason. Characters that its encoding lacks are escaped.
    """
    _fill_closed()
    before = sys.stdout, sys.stderr
    sys.stdout = cast("TextIO", _Needed(_escaping(before[0], 1)))
    sys.stderr = cast("TextIO", _Dropped(_escaping(before[1], 2)))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = (now or open_nowhere() for now in before)


def flush_or_drop() -> None:
    """Flush standard output; what can't be written is dropped, so that no later flush fails."""
    with contextlib.suppress(BrokenPipeError, StorageError):
        sys.stdout.flush()


def open_nowhere() -> TextIO:
    """A stream that drops all text."""
    return open(os.devnull, "w", encoding="utf-8", errors=_ESCAPED)  # noqa: PTH123


def _fill_closed() -> None:
    """Put /dev/null where a standard descriptor is closed: the next file would get its number."""
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)


def _escaping(stream: TextIO | None, number: int) -> TextIO:
    """The stream, or one that leads nowhere for one that was closed before Python started."""
    if stream is None:
        return open_nowhere()
    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors=_ESCAPED)
    return stream


class _Stream:
    """A text stream; a subclass says what a failure to write means."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text as the stream does."""
        try:
            return self._stream.write(text)
        except OSError as problem:
            self._failed(problem)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush as the stream does."""
        try:
            self._stream.flush()
        except OSError as problem:
            self._failed(problem)

    def _failed(self, problem: OSError) -> None:
        """Lead the rest nowhere, for the interpreter flushes once more when it ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Dropped(_Stream):
    """A stream whose text may be lost."""


class _Needed(_Stream):
    """A stream whose text was asked for."""

    def _failed(self, problem: OSError) -> None:
        super()._failed(problem)
        if isinstance(problem, BrokenPipeError):
            raise problem
        reason = problem.strerror or type(problem).__name__
        raise StorageError(f"standard output: can't be written: {reason}") from None
