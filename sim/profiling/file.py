"""Write the profile's file as a whole or not at all."""

import os
import tempfile
from pathlib import Path

from netcosim.errors import ScenarioError, StorageError


def check_place(path: Path) -> None:
    """Refuse a place where no file can be written, before anything is measured.

    Raises
    ------
    ScenarioError
        It is a folder, or in none.
    StorageError
        It may not be written.
    """
    if path.is_dir():
        raise ScenarioError.at("--out", str(path), "is a folder; must be a file")
    if not path.parent.is_dir():
        raise ScenarioError.at("--out", str(path), "is in no folder that exists")
    if not os.access(path.parent, os.W_OK):
        raise StorageError(f"{path.parent}: may not be written")


def write_whole(path: Path, text: str) -> None:
    """Replace the file's content by the text, atomically.

    Raises
    ------
    StorageError
        It can't be written.
    """
    try:
        descriptor, partial = tempfile.mkstemp(".partial", f".{path.name}-", path.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            Path(partial).chmod(0o644)
            Path(partial).replace(path)
        finally:
            Path(partial).unlink(missing_ok=True)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
        raise StorageError(f"{path}: can't be written: {reason}") from None
