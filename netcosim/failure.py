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
from netcosim.errors import NetcosimError, StorageError
from netcosim.formatting import one_line
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.ownership import calling_user

INTERRUPTED: Final = 130
NOBODY_READS: Final = 141
"""Exit code that a shell reports of a command whose output was closed (128 + SIGPIPE)."""

TRACEBACK: Final = "traceback.txt"


@dataclass(slots=True)
class CrashSite:
    """Place for a traceback; a command sets `folder` once it has a results folder.

    Before that it is a file in `spare`, by default the folder for temporary files.
    """

    folder: Path | None = None
    spare: Path | None = None


def guarded(main: Callable[[CrashSite], int], prog: str) -> int:
    """Run a command; return its exit code, whatever happens in it."""
    site = CrashSite()
    try:
        code = main(site)
        sys.stdout.flush()
    except NetcosimError as problem:
        return _end(prog, str(problem), problem.exit_code)
    except KeyboardInterrupt:
        return _end(prog, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The interpreter flushes once more when it ends; let it flush into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOBODY_READS
    except Exception as problem:  # noqa: BLE001  # the last line of defence
        where = _keep_traceback(problem, prog, site)
        what = f"{type(problem).__name__}: {problem}"
        return _end(prog, f"this is a bug: {what} (see {where})", NetcosimError.exit_code)
    return code


def _end(prog: str, message: str, code: int) -> int:
    sys.stderr.write(f"{command_name(prog)}: {one_line(message)}\n")
    return code


def _keep_traceback(problem: Exception, prog: str, site: CrashSite) -> Path:
    text = "".join(traceback.format_exception(problem))
    owner = calling_user(os.environ, os.geteuid())
    if site.folder is not None:
        try:
            with ResultsFolder.open(site.folder, owner) as results:
                results.write(TRACEBACK, text.encode(errors="replace"))
            return site.folder / TRACEBACK
        except StorageError:
            pass  # a temporary file still may do
    descriptor, name = tempfile.mkstemp(f"-{TRACEBACK}", f"{prog}-", site.spare)
    with os.fdopen(descriptor, "w", errors="replace") as file:
        file.write(text)
        if owner is not None:
            os.fchown(file.fileno(), owner.uid, owner.gid)
    return Path(name)
