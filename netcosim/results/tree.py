"""A folder with one level of folders below it, and files by names like ``pictures/a.png``."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Self

from netcosim.results.directory import Directory

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@-]*")


class Tree:
    """Reads and writes whole files. Close it, or use a ``with`` statement."""

    def __init__(self, folder: Directory) -> None:
        self.folder = folder

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
        """Let go of the folder; a second call does nothing."""
        self.folder.close()

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Write a file such as ``pictures/a.png``; it appears when the block ends well.

        Raises
        ------
        StorageError
            The file system refuses.
        """
        folder, last = self._below(name, create=True)
        try:
            with folder.writing(last) as file:
                yield file
        finally:
            if folder is not self.folder:
                folder.close()

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file.

        Raises
        ------
        StorageError
            The file system refuses.
        """
        with self.writing(name) as file:
            file.write(content)

    def read(self, name: str) -> bytes:
        """Read a whole file.

        Raises
        ------
        StorageError
            It is not there or can't be read.
        """
        folder, last = self._below(name, create=False)
        try:
            return folder.read(last)
        finally:
            if folder is not self.folder:
                folder.close()

    def has(self, name: str) -> bool:
        """Whether there is a file of this name at the top of the folder."""
        return name in self.folder.names()

    def _below(self, name: str, *, create: bool) -> tuple[Directory, str]:
        *above, last = name.split("/")
        if len(above) > 1 or not all(_NAME.fullmatch(part) for part in (*above, last)):
            raise ValueError(f"{name!r} is not a name within the results folder")
        if not above:
            return self.folder, last
        if create:
            return self.folder.make(above[0]), last
        return self.folder.enter(above[0]), last
