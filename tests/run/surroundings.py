"""What a run must leave as it was: interfaces, kernel settings, cgroups, mounts, bystanders."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.run.world import World

_COUNTS = frozenset({"net/netfilter/nf_conntrack_count"})
_SETTINGS = Path("/proc/sys")
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The machine around a run, as far as a run could change it."""

    interfaces: frozenset[str]
    settings: dict[str, str]
    cgroups: frozenset[str]
    mounts: tuple[str, ...]

    @classmethod
    def of(cls, world: World) -> "Surroundings":
        return cls(
            interfaces=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
            settings=_settings(),
            cgroups=frozenset(str(path) for path in _CGROUPS.glob("**/") if path.is_dir()),
            mounts=tuple(world.mounts()),
        )


def _settings() -> dict[str, str]:
    found = {}
    for path in (_SETTINGS / "net").rglob("*"):
        name = str(path.relative_to(_SETTINGS))
        if name in _COUNTS:
            continue
        try:
            found[name] = path.read_text()
        except OSError:  # a folder, or one that can only be written
            continue
    return found


@contextmanager
def bystanders() -> Iterator[list["subprocess.Popen[bytes]"]]:
    """Processes of others that a kill by name would hit."""
    names = ("mininet:s0", "ping", "tcpdump", "python -m emu.run", "iperf3")
    others = [
        subprocess.Popen(["bash", "-c", 'exec -a "$1" sleep 1000', "bash", name]) for name in names
    ]
    time.sleep(0.05)
    try:
        yield others
    finally:
        for other in others:
            other.kill()
            other.wait()
