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
from netcosim.formatting import one_line
from netcosim.output import flush_or_drop, standard_streams
from netcosim.results.storage.directory import Directory
from netcosim.results.storage.ownership import calling_user

INTERRUPTED: Final = 130
NOBODY_READS: Final = 141
"""Exit code that a shell reports of a command whose output was closed (128 + SIGPIPE)."""

TRACEBACK: Final = "traceback.txt"
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
        code = _written(main, site)
    except NetcosimError as problem:
        return _end(prog, str(problem), problem.exit_code)
    except KeyboardInterrupt:
        return _end(prog, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        return NOBODY_READS
    except MemoryError:
        return _end(
            prog, "this machine has not enough memory for it", EnvironmentRefusedError.exit_code
        )
    except Exception as problem:  # noqa: BLE001  # the last line of defence
        what = f"{type(problem).__name__}: {problem}"
        return _end(prog, f"this is a bug: {what} ({_kept(problem, prog, site)})", _BUG)
    return code


def _written(main: Callable[[CrashSite], int], site: CrashSite) -> int:
    """Run a command, and write all of its output: a failure to do so is one of the command."""
    try:
        code = main(site)
    except SystemExit:  # as --help ends
        sys.stdout.flush()
        raise
    sys.stdout.flush()
    return code


def _end(prog: str, message: str, code: int) -> int:
    sys.stderr.write(f"{command_name(prog)}: {one_line(message)}\n")
    return code


def _kept(problem: Exception, prog: str, site: CrashSite) -> str:
    """Where the traceback is, or why it is nowhere."""
    try:
        return f"see {site.write(''.join(traceback.format_exception(problem)), prog)}"
    except OSError as full:
        return f"its traceback can't be written: {full.strerror}"
