"""Writes the archive that a kernel unpacks as its first root: cpio's "newc" format.

Source: the kernel's Documentation/driver-api/early-userspace/buffer-format.rst.
"""

import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A file or folder of root's, with its place relative to the root."""

    place: str
    mode: int
    content: bytes = b""


def folder(place: str) -> Entry:
    return Entry(place=place, mode=stat.S_IFDIR | 0o755)


def program(place: str, content: bytes) -> Entry:
    return Entry(place=place, mode=stat.S_IFREG | 0o755, content=content)


def archive(entries: Iterable[Entry]) -> bytes:
    """Write the entries; the folders they lie in are added before them."""
    placed: dict[str, Entry] = {}
    for entry in entries:
        for parent in reversed(PurePosixPath(entry.place).parents[:-1]):
            placed.setdefault(str(parent), folder(str(parent)))
        placed[entry.place] = entry
    end = Entry(place="TRAILER!!!", mode=0)
    return b"".join(_record(i, entry) for i, entry in enumerate([*placed.values(), end], 1))


def _record(number: int, entry: Entry) -> bytes:
    name = entry.place.encode() + b"\0"
    owner, links, time, device, checksum = 0, 1, 0, 0, 0
    fields = (
        *(number, entry.mode, owner, owner, links, time, len(entry.content)),
        *(device, device, device, device, len(name), checksum),
    )
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    return _padded(header + name) + _padded(entry.content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)
