"""Error handling of commands: one line and an exit code, never a traceback."""

import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netcosim.command_name import command_name
from netcosim.errors import EnvironmentRefusedError, NetcosimError, StorageError
from netcosim.formatting import one_line, shortened
from netcosim.output import flush_or_drop, standard_streams
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.ownership import calling_user

INTERRUPTED: Final = 130
NOBODY_READS: Final = 141
"""Exit code that a shell reports of a command whose output was closed (128 + SIGPIPE)."""

TRACEBACK: Final = "traceback.txt"
NO_MEMORY: Final = "this machine has not enough memory for it"
_THEN: Final = "then: "
_BUG: Final = NetcosimError.exit_code


@dataclass(slots=True)
class CrashSite:
    """Place for a traceback: the results folder once a command has one, see `keep`.

    Before that it is a file in `spare`, by default the folder for temporary files.
    """

    spare: Path | None = None
    _results: Directory | None = None

    def keep(self, results: Directory) -> None:
        """Put a traceback into this folder, also after the command has closed it."""
        self._results = results.again()

    def write(self, text: str, prog: str) -> Path:
        """Write a traceback; return the path of its file.

        Raises
        ------
        OSError
            It can be written nowhere.
        """
        if self._results is not None:
            try:
                self._results.write(TRACEBACK, text.encode(errors="replace"))
                return self._results.path / TRACEBACK
            except StorageError:
                pass  # a temporary file still may do
        owner = calling_user(os.environ, os.geteuid())
        descriptor, name = tempfile.mkstemp(f"-{TRACEBACK}", f"{prog}-", self.spare)
        with os.fdopen(descriptor, "w", errors="replace") as file:
            file.write(text)
            if owner is not None:
                os.fchown(file.fileno(), owner.uid, owner.gid)
        return Path(name)


def guarded(main: Callable[[CrashSite], int], prog: str) -> int:
    """Run a command; return its exit code, whatever happens in it."""
    with standard_streams():
        try:
            return _ended(main, prog)
        finally:
            flush_or_drop()


def _ended(main: Callable[[CrashSite], int], prog: str) -> int:
    site = CrashSite()
    try:
        return _written(main, site)
    except BrokenPipeError:
        return NOBODY_READS
    except (Exception, KeyboardInterrupt) as problem:  # noqa: BLE001  # the last line of defence
        code, line = _told(problem, prog, site)
        for each in (line, *(f"{_THEN}{later}" for later in later_lines(problem))):
            sys.stderr.write(shortened(f"{command_name(prog)}: {one_line(each)}") + "\n")
        return code


def add_later(failure: BaseException, line: str) -> None:
    """Keep what failed after the failure that decides how a command ends, to be told after it."""
    failure.add_note(f"{_THEN}{line}")


def later_lines(failure: BaseException) -> tuple[str, ...]:
    """What failed after the failure that decides how a command ends, a line each."""
    notes = getattr(failure, "__notes__", ())
    return tuple(note.removeprefix(_THEN) for note in notes if note.startswith(_THEN))


def _told(problem: BaseException, prog: str, site: CrashSite) -> tuple[int, str]:
    """Exit code and line of what ended a command."""
    if isinstance(problem, NetcosimError):
        return problem.exit_code, str(problem)
    if isinstance(problem, KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(problem, MemoryError):
        return EnvironmentRefusedError.exit_code, NO_MEMORY
    what = f"{type(problem).__name__}: {problem}"
    return _BUG, f"this is a bug: {what} ({_kept(problem, prog, site)})"


def _written(main: Callable[[CrashSite], int], site: CrashSite) -> int:
    """Run a command, and write all of its output: a failure to do so is one of the command."""
    try:
        code = main(site)
    except SystemExit:  # as --help ends
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def _kept(problem: BaseException, prog: str, site: CrashSite) -> str:
    """Where the traceback is, or why it is nowhere."""
    try:
        return f"see {site.write(''.join(traceback.format_exception(problem)), prog)}"
    except OSError as full:
        return f"its traceback can't be written: {full.strerror}"
