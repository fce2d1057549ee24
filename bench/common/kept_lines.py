"""Files of JSON lines, one for each thing that a benchmark has finished; a kill cuts the last."""

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Line = dict[str, Any]


def read_lines(path: Path) -> list[Line]:
    """All whole lines, the oldest first; one that was cut short is none."""
    found: list[Line] = []
    if path.exists():
        whole, _, _ = path.read_text(encoding="utf-8", errors="replace").rpartition("\n")
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
    return found


def add_line(path: Path, line: Mapping[str, Any]) -> None:
    """Append a line in the place of a cut one; it is on the disk when this returns."""
    path.parent.mkdir(exist_ok=True)
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.seek(file.read().rfind(b"\n") + 1)
        file.truncate()
        file.write(_encoded(line))
        file.flush()
        os.fsync(file.fileno())


def replace_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Have a file hold these lines and no others; a kill leaves the old or the new ones."""
    written = path.with_name(f".{path.name}.new")
    with written.open("wb") as file:
        file.write(b"".join(map(_encoded, lines)))
        file.flush()
        os.fsync(file.fileno())
    written.replace(path)


def _encoded(line: Mapping[str, Any]) -> bytes:
    return json.dumps(line, separators=(",", ":")).encode() + b"\n"
