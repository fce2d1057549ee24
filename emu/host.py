"""What machine and which versions a run happened on."""

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

LIBRARIES = ("netcosim", "grpcio", "h2", "mininet", "numpy", "scapy")


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


def versions() -> dict[str, str]:
    """Versions of the project and of the libraries that shape a result."""
    return {name: metadata.version(name) for name in LIBRARIES}


def _first(path: Path, key: str) -> str:
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
