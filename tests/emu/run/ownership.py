"""A caller of sudo, and whether everything below a folder is theirs."""

import time
from pathlib import Path

_UID, _GID = 12345, 23456
CALLER = {"SUDO_UID": str(_UID), "SUDO_GID": str(_GID)}


def assert_owned(root: Path) -> None:
    for path in [root, *root.rglob("*")]:
        if _owner(path) != (_UID, _GID):
            time.sleep(0.05)  # it may have been made a moment ago
            assert _owner(path) == (_UID, _GID), path


def _owner(path: Path) -> tuple[int, int]:
    try:
        found = path.lstat()
    except FileNotFoundError:  # renamed meanwhile
        return (_UID, _GID)
    return found.st_uid, found.st_gid
