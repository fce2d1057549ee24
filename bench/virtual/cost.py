"""Processor time of runs in virtual time, by megabyte and by who takes it."""

import os
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.common.record import Figure
from bench.virtual.running import Json, run

SIZES_MB: Final = (2, 8)
REPETITIONS: Final = 3
TRANSPORTS: Final[dict[str, Json]] = {
    "h2": {
        **{"sender": "h2", "receiver": "h2", "discipline": "two_visit", "window": "1MiB"},
        "credit": "half",
    },
    "grpc": {"sender": "grpc", "receiver": "grpc"},
}
_LOOK_S: Final = 0.05
_PROGRAMS, _KERNEL, _RUN = "the guests' programs", "the guests' kernels", "the run itself"


@dataclass(slots=True)
class Taken:
    """Processor time of this process's descendants, as last seen of each."""

    by_process: dict[tuple[int, int], tuple[str, float, float]] = field(default_factory=dict)

    def look(self) -> None:
        """Read what each descendant has taken so far."""
        parents: dict[int, int] = {}
        found: dict[int, tuple[tuple[int, int], str, float, float]] = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                text = path.read_text(errors="replace")
                pid, name = int(path.parent.name), text.partition("(")[2].rpartition(")")[0]
                values = text.rpartition(")")[2].split()
                parents[pid] = int(values[1])
                key = pid, int(values[19])
                found[pid] = key, name, float(values[11]), float(values[12])
        for pid, (key, name, user, system) in found.items():
            if _descends(pid, parents):
                self.by_process[key] = name, user, system

    def seconds(self) -> dict[str, tuple[float, float]]:
        """Seconds in programs and in the machine's kernel, by who took them."""
        ticks = os.sysconf("SC_CLK_TCK")
        sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for name, user, system in self.by_process.values():
            who = _PROGRAMS if name == "uml-userspace" else _KERNEL if name == "linux" else _RUN
            sums[who][0] += user / ticks
            sums[who][1] += system / ticks
        return {who: (user, system) for who, (user, system) in sums.items()}


def cost_figures(rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    """Processor seconds of a run, and of a megabyte more, with shares of who takes them."""
    for name, transport in TRANSPORTS.items():
        totals = []
        for size_mb in SIZES_MB[:1] if quick else SIZES_MB:
            with _watched() as taken:
                run(_scenario(name, transport, size_mb), f"cost-{name}-{size_mb}").ended()
            seconds = taken.seconds()
            totals.append(sum(map(sum, seconds.values())))
            rows.append(
                {"part": "cost", "transport": name, "burst_mb": size_mb, "seconds": seconds}
            )
            told = ", ".join(
                f"{who} {user:.1f} + {system:.1f}" for who, (user, system) in seconds.items()
            )
            yield Figure(
                name=f"{name}, {REPETITIONS} bursts of {size_mb} MB: processor time",
                value=totals[-1],
                unit="s",
                note=f"in programs + in the machine's kernel: {told}",
            )
        if len(totals) > 1:
            more_mb = REPETITIONS * (SIZES_MB[1] - SIZES_MB[0])
            slope = (totals[1] - totals[0]) / more_mb
            yield Figure(
                name=f"{name}: processor time of a megabyte",
                value=slope,
                unit="s",
                note=f"and {totals[0] - slope * REPETITIONS * SIZES_MB[0]:.1f} s whatever the size",
            )


@contextmanager
def _watched() -> Iterator[Taken]:
    taken, over = Taken(), threading.Event()

    def watch() -> None:
        while not over.wait(_LOOK_S):
            taken.look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield taken
    finally:
        over.set()
        watcher.join()


def _descends(pid: int, parents: dict[int, int]) -> bool:
    while pid > 1:
        pid = parents.get(pid, 0)
        if pid == os.getpid():
            return True
    return False


def _scenario(name: str, transport: Json, size_mb: int) -> Json:
    return {
        "repetitions": REPETITIONS,
        "cluster": {"topology": "pair", "link": {"rate": "100mbit"}},
        "workload": [{"name": "mixed8", "set": "mixed8", "total": f"{size_mb}MB"}],
        "transport": [{"name": name, **transport}],
    }
