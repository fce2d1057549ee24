"""Processor time that a run lost: steal by a hypervisor, throttling by a cgroup."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

_STEAL = 7
_ACCOUNTED = 8
"""Columns of /proc/stat that make up all time; guest time is within user time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorShare:
    """Processor time lost between two readings: stolen share of all, throttled nanoseconds."""

    steal: float
    throttled_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessorClock:
    """One reading of the kernel's counters: ticks of all processors, nanoseconds of throttling."""

    total: int
    steal: int
    throttled_ns: int

    @classmethod
    def read(cls, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> Self:
        """Read the kernel's counters."""
        first = (proc / "stat").read_text(encoding="ascii").splitlines()[0]
        ticks = [int(word) for word in first.split()[1:]]
        return cls(
            total=sum(ticks[:_ACCOUNTED]),
            steal=ticks[_STEAL],
            throttled_ns=_throttled_ns(proc, cgroups),
        )

    def since(self, earlier: "ProcessorClock") -> ProcessorShare:
        """Return the processor time lost since an earlier reading."""
        total = self.total - earlier.total
        return ProcessorShare(
            steal=(self.steal - earlier.steal) / total if total > 0 else 0.0,
            throttled_ns=self.throttled_ns - earlier.throttled_ns,
        )


def _throttled_ns(proc: Path, cgroups: Path) -> int:
    """Throttling of the cgroup this process is in; 0 where nothing is accounted.

    Where a container shows its own cgroup as the top one, the path is not to be found below it.
    """
    for line in (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            top, key, unit = cgroups, "throttled_usec", 1000
        elif "cpu" in controllers.split(","):
            top, key, unit = cgroups / "cpu", "throttled_time", 1
        else:
            continue
        for folder in (top / path.lstrip("/"), top):
            found = _field(folder / "cpu.stat", key)
            if found is not None:
                return found * unit
    return 0


def _field(path: Path, key: str) -> int | None:
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    values = dict(line.split() for line in lines)
    return int(values[key]) if key in values else None
