"""What machine and which versions a run happened on."""

import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

EMULATION = ("netcosim", "grpcio", "h2", "mininet", "numpy", "scapy")
SIMULATION = ("netcosim", "numpy", "numba", "llvmlite")
"""The libraries that shape what either world finds."""


def describe_host() -> dict[str, Any]:
    """Kernel, processors, memory and Python; no host name."""
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "processor": _first(Path("/proc/cpuinfo"), "model name"),
        "cores": os.cpu_count(),
        "memory": _first(Path("/proc/meminfo"), "MemTotal"),
        "python": platform.python_version(),
        "distribution": platform.freedesktop_os_release().get("PRETTY_NAME", ""),
    }


def versions(libraries: Sequence[str]) -> dict[str, str]:
    """Versions of the project and of these libraries."""
    return {name: metadata.version(name) for name in libraries}


def _first(path: Path, key: str) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
