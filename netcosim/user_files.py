"""Reading of files that a user names: regular ones only, and not more of them than fits their kind.

A pipe would block, a device may give bytes without end, and a file may grow while it is read.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Final

# A pipe that took a file's place since it was looked at must not make the reader wait.
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_GROWTH_BYTES: Final = 1 << 16
_KINDS: Final = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileKind:
    """A kind of file: its name with its article, the most bytes that one may have."""

    name: str
    most_bytes: int


SCENARIO: Final = FileKind(name="a scenario", most_bytes=8 << 20)
SWEEP: Final = FileKind(name="a sweep", most_bytes=8 << 20)
PROFILE: Final = FileKind(name="a profile", most_bytes=256 << 20)
SPEED_TRACE: Final = FileKind(name="a speed trace", most_bytes=128 << 20)
RECORD: Final = FileKind(name="a record", most_bytes=256 << 20)
TABLE: Final = FileKind(name="a table", most_bytes=4 << 30)


@dataclass(frozen=True, kw_only=True)
class FileContent:
    """Content of a file, to be read where the file itself is not."""

    data: bytes

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the bytes."""
        return hashlib.sha256(self.data).hexdigest()


_SUPPLIED: dict[str, FileContent] = {}


@contextmanager
def supplied(files: Mapping[str, FileContent]) -> Iterator[None]:
    """Let `read_text` find these contents at these paths, in all threads of this process."""
    before = dict(_SUPPLIED)
    _SUPPLIED.update(files)
    try:
        yield
    finally:
        _SUPPLIED.clear()
        _SUPPLIED.update(before)


def state_of(path: Path) -> tuple[int | str, ...]:
    """State of a file, another one once it is written anew; empty where there is none."""
    given = _SUPPLIED.get(str(path))
    if given is not None:
        return (given.digest,)
    try:
        found = path.stat()
    except (OSError, ValueError):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def read_content(path: Path, kind: FileKind) -> FileContent:
    """All bytes of a regular file of a kind.

    Raises
    ------
    OSError
        It can't be read, or has more bytes than its kind may have.
    """
    given = _SUPPLIED.get(str(path))
    if given is not None:
        return given
    with open_regular(path) as file:
        return FileContent(data=read_all(file, kind))


def open_regular(path: Path | str, folder: int | None = None, flags: int = 0) -> IO[bytes]:
    """Open a regular file for reading.

    Parameters
    ----------
    path : the file, or its name below `folder`
    folder : descriptor of an open folder
    flags : of the system call, beside those for reading

    Raises
    ------
    OSError
        It can't be opened, or is something else; `strerror` says what.
    """
    try:
        _check(os.stat(path, dir_fd=folder, follow_symlinks=not flags & os.O_NOFOLLOW).st_mode)
    except ValueError:
        raise OSError(errno.EINVAL, "not a file name") from None
    file = os.fdopen(os.open(path, _READ | flags, dir_fd=folder), "rb")
    try:
        _check(os.fstat(file.fileno()).st_mode)
    except OSError:
        file.close()
        raise
    return file


def read_all(file: IO[bytes], kind: FileKind) -> bytes:
    """Read an open file of a kind to its end.

    Raises
    ------
    OSError
        It has more bytes than its kind may have, or can't be read.
    """
    size = os.fstat(file.fileno()).st_size
    chunks, found = list[bytes](), size
    if size <= kind.most_bytes:
        # All memory that is asked for is taken before a byte is read: so never for the bound.
        wanted, found = max(size, _GROWTH_BYTES), 0
        while chunk := file.read(min(wanted, kind.most_bytes + 1 - found)):
            chunks.append(chunk)
            found += len(chunk)
            wanted = _GROWTH_BYTES
    if found > kind.most_bytes:
        size_text = f"{found} bytes or more" if found > size else f"{found} bytes"
        raise OSError(errno.EFBIG, f"{size_text}: {kind.name} may have {kind.most_bytes}")
    return b"".join(chunks)


def read_text(path: Path, kind: FileKind) -> str:
    """The text of a regular file, its line ends as one character.

    Raises
    ------
    OSError
        It can't be read, or is no such text; `strerror` says why.
    """
    try:
        text = read_content(path, kind).data.decode("utf-8")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "is not UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file that a user names, also one such as /dev/stdout; a pipe must have a reader.

    Raises
    ------
    OSError
        It can't be written.
    """
    descriptor = os.open(path, _WRITE, 0o644)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


def _check(mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "is a symbolic link")
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "something else")
        raise OSError(errno.EINVAL, f"is {kind}: must be a regular file")
