"""Compile the engines for a discipline and a share, and cache the machine code.

numba's own cache looks only at the file of the function that it keeps: after a change in a
discipline it would go on with the old one. Here the cache's folder is named by a hash of all the
source that can be compiled, of numba and of the processor, so a change finds an empty one. The same
hash names the engine in results.
"""

import errno
import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module, metadata
from pathlib import Path
from types import FunctionType
from typing import Any, Final, cast

from h2model import disciplines
from netcosim.errors import StorageError
from netcosim.policies import load_schedule
from sim.kernels import bound, loop
from sim.kernels.copies import bind_copy

KERNEL_PACKAGES: Final = (
    "h2model",
    "h2model.disciplines",
    "netcosim.policies.gate",
    "netcosim.policies.schedule",
    "sim.kernels",
    "sim.engine",
    "sim.shares",
    "sim.fast",
)
_FOLDER: Final = "NETCOSIM_KERNELS"


@functools.cache
def compile_engine(
    discipline: str, share: str, *, extended: bool = False, schedule: str | None = None
) -> Callable[..., int]:
    """Compile `sim.kernels.loop.advance` for a discipline and a share.

    Only an `extended` engine joins gradients and shares processors among workers, only one with a
    `schedule` has gates.

    Raises
    ------
    ValueError
        There is no such discipline.
    """
    name = f"{discipline}_{share}" + ("_extended" if extended else "")
    name += "" if schedule is None else f"_{schedule}"
    bound_to = binding(discipline, share, extended=extended, schedule=schedule)
    return compile_kernel(loop.advance, name, *bound_to, at_once=extended)


@functools.cache
def interpret(
    function: Callable[..., Any],
    discipline: str,
    share: str,
    *,
    asked: bool = False,
    extended: bool = False,
    schedule: str | None = None,
) -> Callable[..., Any]:
    """Bind a function of an engine as for compiling it, but as plain Python.

    For what happens so rarely that compiling it would take longer, and for tests.
    """
    replaced, constants = binding(
        discipline, share, asked=asked, extended=extended, schedule=schedule
    )
    return bind_copy(cast("FunctionType", function), replaced, constants, {}, lambda _, copy: copy)


def binding(
    discipline: str,
    share: str,
    *,
    asked: bool = False,
    extended: bool = False,
    schedule: str | None = None,
) -> tuple[dict[object, object], dict[str, int]]:
    """Replacements for the functions and constants of `sim.kernels.bound`.

    `asked` is true if the fast path asks the discipline for every chunk, `extended` if the generic
    engine may join gradients and share processors among workers. With a `schedule`
    connections have gates.
    """
    rule = disciplines.load(discipline)
    strategy = import_module(f"sim.shares.{share}")  # by name, as shares import kernels
    replaced: dict[object, object] = {
        getattr(bound, name): getattr(rule, name)
        for name in ("start", "enqueued", "credited", "select", "sent", "cancelled")
    }
    replaced[bound.rates] = strategy.rates
    gates = load_schedule(schedule or "fifo")
    for name in ("start", "enqueued", "select", "ended"):
        replaced[getattr(bound, f"gate_{name}")] = getattr(gates, name)
    constants = {
        "CLOCKED": strategy.CLOCKED,
        "ASKED": int(asked),
        "EXTENDED": int(extended),
        "GATED": int(schedule is not None),
    }
    return replaced, constants


def compile_kernel(
    function: Callable[..., Any],
    name: str,
    replaced: dict[object, object],
    constants: dict[str, int],
    *,
    at_once: bool = False,
) -> Callable[..., Any]:
    """Compile a function with all that it calls; cache its machine code under this name.

    With `at_once` all of it is optimised in one go, see `sim.kernels.linked`. That takes a third of
    the time for the extended engines, whose code is as fast; the others' is slower by a seventh.
    """
    import numba

    from sim.kernels import linked
    from sim.kernels.borrowed import borrowed
    from sim.kernels.kept import keep

    replaced = {**replaced, bound.borrow: borrowed}
    folder = kernel_folder()
    numba.config.CACHE_DIR = str(folder or "")
    source = cast("FunctionType", function)

    # Without the error model numba asks before each division whether it is one by zero.
    options: dict[str, Any] = {"_nrt": False, "nogil": True, "error_model": "numpy"}

    parts = linked.options_of(source, replaced) if at_once else {}

    def compiled(function: FunctionType, copy: FunctionType) -> Callable[..., Any]:
        # Code that is loaded from the cache is linked by name: no two kernels may share one.
        copy.__qualname__ = f"{function.__qualname__}_{name}"
        if function is not source:
            more = parts.get(function, {"forceinline": True})
            return cast("Callable[..., Any]", numba.njit(copy, **more, **options))
        kernel = numba.njit(copy, **options)
        return cast("Callable[..., Any]", kernel) if folder is None else keep(kernel)

    return bind_copy(source, replaced, constants, {}, compiled)


def kernel_folder() -> Path | None:
    """Cache folder of kernels compiled from this source, by this numba, for this processor.

    None if the user's cache can't be written, or the disk that the environment names is full:
    kernels are compiled for this run alone then.

    Raises
    ------
    StorageError
        The folder that the environment names can't be written.
    """
    given = os.environ.get(_FOLDER)
    name = f"kernels-{engine_hash()}"
    try:
        return _writable((Path(given) if given else _user_cache() / "netcosim") / name)
    except (OSError, RuntimeError) as problem:  # RuntimeError: there is no home
        full = isinstance(problem, OSError) and problem.errno in (errno.ENOSPC, errno.EDQUOT)
        if given and not full:
            raise StorageError(
                f"{_FOLDER}: {given}: can't be written: {_reason(problem)}"
            ) from None
        return None


def kernels_are_kept() -> bool:
    """True if kernels compiled now are still there at the next start, unless the disk fills up."""
    return kernel_folder() is not None


def _reason(problem: Exception) -> str:
    return (problem.strerror if isinstance(problem, OSError) else None) or str(problem)


def _writable(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()
    return folder


def _user_cache() -> Path:
    """Cache folder of the calling user: what root compiled is not in a user's way."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


@functools.cache
def engine_hash() -> str:
    """Hash of the kernels' source, numba, llvmlite, Python and processor: 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for file in kernel_files():
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    for version in (metadata.version("numba"), metadata.version("llvmlite"), sys.version):
        digest.update(version.encode() + b"\0")
    digest.update(_processor().encode())
    return digest.hexdigest()[:16]


def kernel_files() -> list[Path]:
    """Source files of all that is compiled, and of the compiling, in a fixed order."""
    found: list[Path] = []
    for package in KERNEL_PACKAGES:
        folder = Path(cast("str", import_module(package).__file__)).parent
        found += sorted(folder.glob("*.py"))
    return found


def _processor() -> str:
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"
