"""Folders of results that a command makes: new or empty, claimed, taken back if it is refused."""

from pathlib import Path
from typing import Self

from netcosim.errors import StorageError
from netcosim.results.storage.directory import Created, Directory, make_path
from netcosim.results.storage.ownership import Owner
from netcosim.units import format_size


class ClaimedFolder(Directory):
    """A folder that a command writes its results into. Close it, or use a ``with`` statement."""

    _created: Created | None = None

    @classmethod
    def claim(
        cls,
        path: Path,
        owner: Owner | None,
        first: str,
        *,
        needed_bytes: int = 0,
        else_do: str = "",
    ) -> Self:
        """Make a folder, or take an empty one, by making `first` in it.

        Parameters
        ----------
        first : name of a folder in it: of two commands that find it empty, one can make that
        needed_bytes : that are going to be written
        else_do : ends the message on a folder that is not empty

        Raises
        ------
        StorageError
            It can't be written, is a link, exists and is not empty, or its disk has too little
            space; it is left as it was.
        """
        made, created = make_path(path, owner)
        folder = cls.over(made)
        folder._created = created
        try:
            if folder.names():
                must = f"must be a new or an empty folder{else_do}"
                raise StorageError(f"{path}: is not empty: {must}")
            folder.check_space(needed_bytes)
            folder.make(first, exclusive=True).close()
        except BaseException:  # what is in it is not ours
            created.take_back()
            folder.close()
            raise
        return folder

    def check_space(self, needed_bytes: int) -> None:
        """Refuse a run that would fill the disk, before it begins.

        Raises
        ------
        StorageError
            Fewer than `needed_bytes` are free.
        """
        free = self.free_bytes()
        if free < needed_bytes:
            raise StorageError(
                f"{self.path}: {_roughly(free)} free: the run needs {_roughly(needed_bytes)}"
            )

    def withdraw(self) -> None:
        """Remove all that was written since `claim`, for a run that is refused; closes the folder.

        Raises
        ------
        StorageError
            Something can't be removed.
        """
        try:
            self.clear()
            if self._created is not None:
                self._created.take_back()
        finally:
            self.close()

    def close(self) -> None:
        """Close the descriptors; a second call does nothing."""
        if self._created is not None:
            self._created.close()
        super().close()


def _roughly(size_bytes: int) -> str:
    """Whole megabytes, so that a free space of odd bytes stays readable."""
    return format_size(size_bytes) if size_bytes < 10**6 else f"{size_bytes // 10**6}MB"
