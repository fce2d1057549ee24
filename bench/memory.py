"""`./dev bench memory`: peak memory of the default main job and of the default simulation.

Told twice: the largest process of a run, which the kernel counts, and all of its processes
together, each page once however many share it (PSS), looked at five times a second.
"""

import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from bench.common.children import ENDS_WITH_US
from bench.common.record import Figure, at_most, record

RUNS: Final = {
    "default main job": ("emu.run",),
    "default simulation": ("sim.run", "--yes"),
}
MOST_MB: Final = 1000.0
_LOOK_S: Final = 0.2


def main() -> int:
    """Measure each run, print the table, write the figures."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="netcosim-bench-") as folder:
        for number, (name, (module, *options)) in enumerate(RUNS.items()):
            print(f"{name} ...", flush=True)
            out = str(Path(folder) / str(number))
            figures += _measured(name, [sys.executable, "-P", "-m", module, *options, "--out", out])
    return record("memory", figures)


def _measured(name: str, command: list[str]) -> list[Figure]:
    """Run a command to its end; the children of this process are the run's and no others."""
    together = 0
    with subprocess.Popen([*ENDS_WITH_US, *command], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            together = max(together, sum(map(_pss_bytes, _family(process.pid))))
            time.sleep(_LOOK_S)
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    note = f"exit code {process.returncode}"
    return [
        at_most(f"{name}, all processes together", together / 1e6, "MB", MOST_MB, note),
        at_most(f"{name} and those before, largest process", largest / 1e6, "MB", MOST_MB),
    ]


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for each in found:  # grows meanwhile
        for path in Path(f"/proc/{each}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, path.read_text(encoding="ascii").split())
    return found


def _pss_bytes(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    sys.exit(main())
