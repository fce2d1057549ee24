"""Cache of machine code that a damaged file or a full disk can't break a run with.

numba's own reads what it finds and writes where it can: a file that was cut ends the program, and
where the cache's folder can't be written it turns to one beside the sources. Here each file ends
with a digest of what is before it; what does not agree with its digest is removed and compiled
again, and what can't be kept is compiled for this run alone. Either is said in a line.
"""

import contextlib
import fcntl
import hashlib
import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    UserProvidedCacheLocator,
)

from netcosim.formatting import one_line
from netcosim.user_files import FileKind, open_regular, read_all

_LOG: Final = logging.getLogger("netcosim.kernels")
_FILE: Final = FileKind(name="a compiled kernel", most_bytes=1 << 30)
_ROOT: Final = Path(__file__).absolute().parents[2]
_DIGEST: Final = hashlib.sha256
_DIGEST_BYTES: Final = _DIGEST().digest_size


def keep(kernel: Any) -> Callable[..., Any]:
    """Give a function that numba compiles a cache in the folder ``numba.config.CACHE_DIR``."""
    try:
        kernel._cache = _Kept(kernel.py_func)
    except (OSError, RuntimeError) as problem:  # RuntimeError: the folder can't be written
        _say(f"kernel cache: can't be used: {problem}: compiled for this run alone")
    found: Callable[..., Any] = kernel
    return found


class _DamageError(Exception):
    """A file of the cache is not what was written."""


class _Files(IndexDataCacheFile):  # type: ignore[misc]
    """The index and the data of one kernel, each file with a digest at its end.

    A pickle says itself where it ends, so that numba reads such a file as its own.
    """

    def remove(self) -> None:
        """Remove all that is kept of the kernel."""
        index = Path(self._index_path)
        for path in (index, *index.parent.glob(f"{index.stem}.*.nbc")):
            with contextlib.suppress(OSError):
                path.unlink()

    def _load_index(self) -> Any:
        _check(Path(self._index_path))
        return super()._load_index()

    def _load_data(self, name: str) -> Any:
        _check(Path(self._data_path(name)))
        return super()._load_data(name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[IO[bytes]]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + _DIGEST(content.getvalue()).digest())


class _Locator(UserProvidedCacheLocator):  # type: ignore[misc]
    """A folder for each package of this project, wherever the project lies.

    numba's own hangs on the sources' path: sources that are sent to a machine of a cluster have a
    new one each time, and would be compiled again.
    """

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        path = Path(py_file).absolute()
        if path.is_relative_to(_ROOT):
            return "_".join(path.parent.relative_to(_ROOT).parts)
        return str(super().get_suitable_cache_subpath(py_file))


class _Place(CompileResultCacheImpl):  # type: ignore[misc]
    """The folder that is asked for, and no other."""

    _locator_classes = (_Locator,)


class _Kept(FunctionCache):  # type: ignore[misc]
    """numba's cache of a function, none of whose failures is the caller's."""

    _impl_class = _Place

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )
        self._lock = Path(self._cache_path) / f"{self._impl.filename_base}.lock"
        self._compiling: IO[bytes] | None = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled kernel; None if there is none, or it is damaged.

        While one process compiles it, the others that ask for it wait for what it will keep.
        """
        found = self._loaded(sig, target_context)
        if found is None and self._compiling is None:
            self._compiling = _hold(self._lock)
            found = self._loaded(sig, target_context)
            if found is not None:
                self._let_go()
        return found

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as problem:  # noqa: BLE001 - a pickle that is damaged may raise any
            _say(f"kernel cache: {problem or type(problem).__name__}: compiled again")
            self._cache_file.remove()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, if that is possible."""
        try:
            super().save_overload(sig, data)
        except (OSError, _DamageError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            _say(f"kernel cache: {self._cache_path}: can't be written: {reason}: not kept")
            self._cache_file.remove()
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._compiling is not None:
            self._compiling.close()
            self._compiling = None


def _hold(path: Path) -> IO[bytes] | None:
    """Hold a file's lock, which ends with the process at the latest; None where that can't be."""
    try:
        file = path.open("ab")
        fcntl.flock(file, fcntl.LOCK_EX)
    except OSError:  # a file system without locks, or a full one: each process compiles
        return None
    return file


def _check(path: Path) -> None:
    """Hold a file against its digest; none is no damage."""
    try:
        with open_regular(path) as file:
            content = read_all(file, _FILE)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise _DamageError(f"{path}: can't be read: {problem.strerror}") from None
    if _DIGEST(content[:-_DIGEST_BYTES]).digest() != content[-_DIGEST_BYTES:]:
        raise _DamageError(f"{path}: is damaged")


def _say(line: str) -> None:
    _LOG.warning("%s", one_line(line))
