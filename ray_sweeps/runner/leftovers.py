"""Record of what a sweep's own Ray has on this machine, so that the next start can remove it.

After a kill -9 of the driver most of these processes end by themselves; agents and the temporary
folder stay. A watcher removes them (`ray_sweeps.runner.watcher`), and if that is killed, too, the
next start in the sweep's folder.
"""

import ctypes
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from netcosim.errors import StorageError
from netcosim.results.json_files import from_json, to_json
from netcosim.results.storage.directory import Directory

RECORD: Final = "ray.json"
PREFIX: Final = "netcosim-ray-"

_SET_CHILD_SUBREAPER: Final = 36
_END_S: Final = 5.0


class Started(BaseModel):
    """Processes that were started, each by its number and its start in ticks since boot."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal["netcosim-ray-processes"] = "netcosim-ray-processes"
    version: Literal[1] = 1
    boot: str
    folder: str
    processes: tuple[tuple[int, int], ...]


def adopt_orphans() -> None:
    """Become the parent of all below this process whose own parent ends, so that `record` has them.

    Ray's agents outlive the process that has started them.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1)


def record(results: Directory, folder: Path) -> None:
    """Record the temporary folder of a Ray, and the processes that this one has started."""
    found = Started(boot=_boot(), folder=str(folder), processes=tuple(_descendants(os.getpid())))
    results.write(RECORD, to_json(found).encode())


def remove_leftovers(results: Directory) -> None:
    """End the processes and remove the folder that a results folder's record names.

    A process is ended only if it is the one that was recorded, and works in that folder; a folder
    is removed only if it is this user's and a sweep has made it.
    """
    if not results.has(RECORD):
        return
    with suppress(StorageError):
        _remove(from_json(Started, results.read(RECORD), RECORD))
    results.remove(RECORD)


def _remove(found: Started) -> None:
    folder = Path(found.folder)
    if folder.parent != Path(tempfile.gettempdir()) or not folder.name.startswith(PREFIX):
        return
    if found.boot == _boot():
        killed = [each for each in found.processes if _is_killed(*each, folder)]
        deadline_s = time.monotonic() + _END_S
        while any(_runs(*each) for each in killed) and time.monotonic() < deadline_s:
            time.sleep(0.01)
    with suppress(OSError):
        if folder.lstat().st_uid == os.geteuid() and not folder.is_symlink():
            shutil.rmtree(folder, ignore_errors=True)


def _is_killed(process: int, start: int, folder: Path) -> bool:
    """Kill a process if it is the one that was started then, and works in a folder."""
    if process == os.getpid() or not _runs(process, start) or not _works_in(process, folder):
        return False
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)
        return True
    return False


def _descendants(parent: int) -> list[tuple[int, int]]:
    """Processes below this one, with their starts."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                children.setdefault(int(_fields(int(path.name))[1]), []).append(int(path.name))
    found, left = list[tuple[int, int]](), [parent]
    while left:
        below = children.get(left.pop(), [])
        left += below
        found += [(process, start) for process in below if (start := _start(process))]
    return sorted(found)


def _fields(process: int) -> list[str]:
    """Fields of a process's state, from its third on."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def _start(process: int) -> int:
    """When a process was started, in ticks since boot; 0 if there is none."""
    try:
        return int(_fields(process)[19])
    except (OSError, IndexError, ValueError):
        return 0


def _runs(process: int, start: int) -> bool:
    """True if a process that was started then has not ended."""
    try:
        fields = _fields(process)
    except (OSError, IndexError):
        return False
    return int(fields[19]) == start and fields[0] not in "ZX"


def _works_in(process: int, folder: Path) -> bool:
    """True if a process has an open file in a folder; its command line it may have rewritten."""
    with suppress(OSError):
        for file in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                if file.readlink().is_relative_to(folder):
                    return True
    return False


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
