"""Folders that root may safely write into although somebody else owns them.

Everything is reached through the descriptor of an open folder; the last part of a path is never
followed if it is a link. A file appears under its name at once and complete, or not at all.
"""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from netcosim.errors import StorageError
from netcosim.results.storage.file_names import split_name
from netcosim.results.storage.ownership import Owner
from netcosim.user_files import TABLE, FileKind, open_regular, read_all

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_HELD: Final = ".held.part"


@contextmanager
def storage_errors(path: Path, action: str = "can't be written") -> Iterator[None]:
    """Turn an `OSError` into a `StorageError` that names `path` and the system's reason."""
    try:
        yield
    except OSError as problem:
        raise StorageError(f"{path}: {action}: {_reason(problem)}") from None


def _reason(problem: OSError) -> str:
    if problem.errno == errno.ELOOP:
        return "is a symbolic link"
    return problem.strerror or str(problem)


class Directory:
    """An open folder; close it, or use it in a ``with`` statement."""

    def __init__(self, descriptor: int, path: Path, owner: Owner | None) -> None:
        self.path = path
        self._fd = descriptor
        self._owner = owner
        self._held: list[int] = []

    @classmethod
    def open(cls, path: Path, owner: Owner | None = None) -> Self:
        """Open an existing folder; links are followed up to the last part of the path.

        Raises
        ------
        StorageError
            There is none, it is a link or a file, or it can't be read.
        """
        with storage_errors(path, "can't be opened"):
            return cls(os.open(path, _FOLDER), path, owner)

    @classmethod
    def over(cls, folder: "Directory") -> Self:
        """Take over an open folder as one of this class, which closes it from now on."""
        taken = cls(folder._fd, folder.path, folder._owner)
        folder._fd = -1
        return taken

    def again(self) -> "Directory":
        """The same folder once more, closed apart from this one."""
        return Directory(os.dup(self._fd), self.path, self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the descriptor; a second call does nothing."""
        while self._held:
            self.give_back()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def names(self) -> list[str]:
        """The names in this folder, sorted."""
        with storage_errors(self.path, "can't be read"):
            return _names(self._fd)

    def free_bytes(self) -> int:
        """Bytes that may still be written to the file system."""
        with storage_errors(self.path, "can't be read"):
            system = os.fstatvfs(self._fd)
        return system.f_bavail * system.f_frsize

    def hold_back(self, size_bytes: int) -> None:
        """Hold back space of the file system, in a file without a name, where it has any.

        `give_back` gives the latest back; what is held ends with the process.
        """
        with suppress(OSError):
            self._discard(_HELD)
            held = os.open(_HELD, _NEW_FILE, 0o600, dir_fd=self._fd)
            self._held.append(held)
            self._discard(_HELD)
            try:
                os.posix_fallocate(held, 0, size_bytes)
            except OSError:
                os.ftruncate(held, 0)  # part of it would be missing elsewhere

    def give_back(self) -> None:
        """Give back the space that was held back latest, if any is."""
        if self._held:
            held = self._held.pop()
            with suppress(OSError):
                os.ftruncate(held, 0)  # another process may have it open, too
            os.close(held)

    def make(self, name: str, *, exclusive: bool = False) -> "Directory":
        """Open a folder below this one; create it, for the owner, if it is not there.

        With `exclusive`, one that is there already is an error.

        Raises
        ------
        StorageError
            It can't be created, or something else has its name.
        """
        path = self.path / name
        with storage_errors(path, "can't be created"):
            try:
                os.mkdir(name, 0o755, dir_fd=self._fd)
                new = True
            except FileExistsError:
                if exclusive:
                    raise
                new = False
            descriptor = os.open(name, _FOLDER, dir_fd=self._fd)
            if new:
                _give(descriptor, self._owner)
        return Directory(descriptor, path, self._owner)

    def enter(self, name: str) -> "Directory":
        """Open a folder below this one.

        Raises
        ------
        StorageError
            There is none, or something else has its name.
        """
        path = self.path / name
        with storage_errors(path, "can't be opened"):
            return Directory(os.open(name, _FOLDER, dir_fd=self._fd), path, self._owner)

    def has(self, name: str) -> bool:
        """True if there is something of this name in this folder."""
        return name in self.names()

    @contextmanager
    def writing(self, name: str, *, durable: bool = False) -> Iterator[IO[bytes]]:
        """Write a file that replaces `name` when the block ends without an error.

        A name such as ``pictures/a.png`` is of a file in a folder below this one, which is made
        if it is not there. If it is to be durable, it is on the disk when the block has ended: a
        machine that fails then still has it.

        Raises
        ------
        StorageError
            The file system refuses; nothing is left behind.
        """
        above, name = split_name(name)
        if above:
            with self.make(above) as folder, folder.writing(name, durable=durable) as file:
                yield file
            return
        partial = f".{name}.part"
        with storage_errors(self.path / name):
            try:
                self._discard(partial)
                with os.fdopen(os.open(partial, _NEW_FILE, 0o644, dir_fd=self._fd), "wb") as file:
                    _give(file.fileno(), self._owner)
                    yield file
                    if durable:
                        file.flush()
                        os.fsync(file.fileno())
                os.replace(partial, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
                if durable:
                    os.fsync(self._fd)
            except BaseException:
                self._discard(partial)
                raise

    def write(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write a whole file; names, and what durable is, as in `writing`.

        Raises
        ------
        StorageError
            The file system refuses.
        """
        with self.writing(name, durable=durable) as file:
            file.write(content)

    def read(self, name: str, kind: FileKind = TABLE) -> bytes:
        """The content of a regular file of a kind; names as in `writing`.

        Raises
        ------
        StorageError
            There is none, it is a link, it is too large, or it can't be read.
        """
        above, name = split_name(name)
        if above:
            with self.enter(above) as folder:
                return folder.read(name, kind)
        with (
            storage_errors(self.path / name, "can't be read"),
            open_regular(name, self._fd, os.O_NOFOLLOW) as file,
        ):
            return read_all(file, kind)

    def remove(self, name: str) -> None:
        """Remove a file, or the link itself; what is not there is no error."""
        with storage_errors(self.path / name, "can't be removed"):
            self._discard(name)

    def remove_folder(self, name: str) -> None:
        """Remove an empty folder below this one."""
        with storage_errors(self.path / name, "can't be removed"):
            os.rmdir(name, dir_fd=self._fd)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the folder for this process, until the block or the process ends.

        Raises
        ------
        StorageError
            Another process holds it.
        """
        with storage_errors(self.path, "can't be locked"):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise StorageError(f"{self.path}: is in use by another run") from None
        try:
            yield
        finally:
            if self._fd >= 0:  # else it was closed meanwhile, which ends the lock
                fcntl.flock(self._fd, fcntl.LOCK_UN)

    def remove_empty(self, name: str) -> None:
        """Remove a folder below this one if it is empty; else nothing happens."""
        with suppress(OSError):
            os.rmdir(name, dir_fd=self._fd)

    def clear(self) -> None:
        """Remove all that is in this folder; links are removed, not followed."""
        for name in self.names():
            with storage_errors(self.path / name, "can't be removed"):
                try:
                    self._discard(name)
                except IsADirectoryError:
                    with self.enter(name) as below:
                        below.clear()
                    os.rmdir(name, dir_fd=self._fd)

    def _discard(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._fd)


def _names(descriptor: int) -> list[str]:
    with os.scandir(descriptor) as entries:
        return sorted(entry.name for entry in entries)


def _give(descriptor: int, owner: Owner | None) -> None:
    """Give the owner what this process has just created; what is another's stays as it is.

    Between creation and opening, the folder's owner may have put something else in its place.
    """
    if owner is None:
        return
    found = os.fstat(descriptor)
    if found.st_uid == os.geteuid() and (stat.S_ISREG(found.st_mode) or not _names(descriptor)):
        os.fchown(descriptor, owner.uid, owner.gid)


class Created:
    """Folders created for a results folder, itself included: a refused run takes them back."""

    def __init__(self) -> None:
        self._below: list[tuple[Directory, str]] = []

    def add(self, above: Directory, name: str) -> None:
        """Take over an open folder in which one of this name was created."""
        self._below.append((above, name))

    def take_back(self) -> None:
        """Remove the folders that are empty."""
        for above, name in reversed(self._below):
            above.remove_empty(name)
        self.close()

    def close(self) -> None:
        """Close the folders that they were created in; a second call does nothing."""
        while self._below:
            self._below.pop()[0].close()


def make_path(path: Path, owner: Owner | None) -> tuple[Directory, Created]:
    """Open the folder `path`; create it and its missing parents, all for the owner.

    Raises
    ------
    StorageError
        It can't be created or opened, or is a link; then nothing was created.
    """
    missing = []
    existing = path
    while not os.path.lexists(existing):
        missing.append(existing.name)
        existing = existing.parent
    created = Created()
    if not missing:
        return Directory.open(path, owner), created
    # A parent that was there before may well be a link; one that we create may not.
    with storage_errors(existing, "can't be opened"):
        folder = Directory(os.open(existing, _FOLDER & ~os.O_NOFOLLOW), existing, owner)
    try:
        for name in reversed(missing):
            created.add(folder, name)
            folder = folder.make(name)
    except BaseException:
        created.take_back()
        raise
    return folder, created
