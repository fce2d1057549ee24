"""Surroundings that a run must leave as they were: interfaces, kernel settings, cgroups, mounts."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.emu.run.world import World

_COUNTS = frozenset({"net/netfilter/nf_conntrack_count"})
_SETTINGS = Path("/proc/sys")
_CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The machine around a run, as far as a run could change it."""

    interfaces: frozenset[str]
    settings: dict[str, str]
    mounts: tuple[str, ...]
    cgroups: frozenset[Path] = field(compare=False)

    @classmethod
    def of(cls, world: World) -> "Surroundings":
        return cls(
            interfaces=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
            settings=_settings(),
            mounts=tuple(world.mounts()),
            cgroups=_cgroups(),
        )

    def assert_unchanged(self, world: World) -> None:
        """All is as it was, but for cgroups that others made: nobody is in one that a run left."""
        assert Surroundings.of(world) == self
        deadline = time.monotonic() + 600
        while empty := {path for path in _cgroups() - self.cgroups if not _has_processes(path)}:
            assert time.monotonic() < deadline, empty
            time.sleep(0.1)


def _cgroups() -> frozenset[Path]:
    return frozenset(path for path in _CGROUPS.glob("**/") if path.is_dir())


def _has_processes(cgroup: Path) -> bool:
    """True if somebody is in it or below it; also if it is gone by now."""
    try:
        return any((path / "cgroup.procs").read_text() for path in cgroup.glob("**/"))
    except OSError:
        return True


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
