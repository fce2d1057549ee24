"""Description of a run's machine, and of the versions of its software."""

import functools
import hashlib
import os
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

EMULATION = ("netcosim", "grpcio", "h2", "mininet", "numpy", "scapy")
SIMULATION = ("netcosim", "numpy", "numba", "llvmlite")
"""The libraries that shape the results of emulation and of simulation."""


def describe_host() -> dict[str, Any]:
    """Kernel, processors, memory and Python; no host name."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _first(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memory": _first(Path("/proc/meminfo"), "MemTotal"),
        "python": platform.python_version(),
        "distribution": _distribution(),
    }


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:  # as in a container that has no such file
        return ""


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Versions of the project and of these libraries; `sources` is the hash of the project's."""
    found = {name: metadata.version(name) for name in libraries}
    return {**found, "sources": hash_sources()}


@functools.cache
def hash_sources() -> str:
    """SHA-256 of every file of the project's packages, with its data.

    The project's version says what it was before somebody changed it; this says whether.
    """
    packages = (metadata.distribution("netcosim").read_text("top_level.txt") or "").split()
    return hash_files(Path(__file__).parents[2], packages)


def hash_files(root: Path, folders: Sequence[str], without: Sequence[str] = ()) -> str:
    """SHA-256 of names and contents of all files in these folders of `root`, but bytecode.

    `without` are beginnings of the paths, from `root`, of those that are left out.
    """
    digest = hashlib.sha256()
    files = (file for folder in folders for file in _files_below(root / folder))
    for file in sorted(f for f in files if f.is_file() and f.suffix != ".pyc"):
        name = file.relative_to(root).as_posix()
        if name.startswith(tuple(without)):
            continue
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in a folder and in those in it, but for folders of bytecode, which come and go."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(place) / name for name in names)


def _first(path: Path, key: str) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
