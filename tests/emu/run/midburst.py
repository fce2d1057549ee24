"""Finding the moment in which a run of the scenario ``slow`` is in the midst of a large burst."""

from pathlib import Path

from emu.plan import FIRST_PORT
from tests.emu.run.running import Run, wait_for

MORE_THAN_SMALL = 500_000


def processes(run: Run, word: str) -> list[int]:
    """Members with this word in their command line that are in their host already.

    Those that carry the run have it, too, and so has whoever is about to enter a host.
    """
    others = ("emu.run", "emu/run.py", "mnexec")
    return sorted(
        pid
        for pid, line in run.members().items()
        if word in line and not any(other in line for other in others)
    )


def wait_for_large_burst(run: Run) -> list[int]:
    """Both endpoints, when more has passed them than the small cell ever sends."""
    first: dict[int, int] = {}

    def look() -> list[int]:
        # The receiver's calibration before the cells has a port of its own.
        ends = processes(run, f'"port": {FIRST_PORT}')
        for pid in ends:
            first.setdefault(pid, _received(pid))
        moved = [_received(pid) - first[pid] > MORE_THAN_SMALL for pid in ends]
        return ends if len(ends) == 2 and any(moved) else []

    return wait_for("a large burst", look)


def _received(pid: int) -> int:
    """Bytes that arrived at the interfaces of a process's host."""
    try:
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
    except OSError:
        return 0
    return sum(int(line.split(":")[1].split()[0]) for line in lines)
