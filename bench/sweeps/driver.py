"""Cost of a driver: its own processor time for each point, its memory by the number of points.

``python -m bench.sweeps.driver POINTS FOLDER``: sweeps so many points that compute nothing on a Ray
of its own; prints JSON. Each number of points is a process of its own, as memory is not given back.
"""

import json
import resource
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class _Quiet:
    """A listener that tells nobody."""

    def say(self, message: str) -> None:
        """Do nothing."""

    def progressed(self, state: Any) -> None:
        """Do nothing."""


def main(arguments: Sequence[str]) -> None:
    """Sweep, and print what it cost."""
    points, path = int(arguments[0]), Path(arguments[1])
    from bench.sweeps.trivial import Trivial
    from netcosim.results.storage.directory import make_path
    from ray_sweeps.runner.drive import State, drive
    from ray_sweeps.runner.local_ray import local_ray
    from ray_sweeps.runner.on_ray import OnRay
    from ray_sweeps.runner.work import Work
    from ray_sweeps.store.dataset import Dataset

    folder, _ = make_path(path, None)
    trivial = Trivial()
    with local_ray(folder, 2, print):
        state = State(work=Work(numbers=points, runs=1), processors=2)
        executor = OnRay(trivial)
        warm = State(work=Work(numbers=100, runs=1), processors=2)
        drive(warm, executor, Dataset(folder, trivial.schema()), _Quiet())
        before, begun = _processor_s(), time.perf_counter()
        drive(state, executor, Dataset(folder, trivial.schema()), _Quiet())
        took, used = time.perf_counter() - begun, _processor_s() - before
    print(
        json.dumps(
            {
                "points": points,
                "made": state.made,
                "seconds": took,
                "driver_processor_s": used,
                "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


def _processor_s() -> float:
    """Processor time of this process, its threads included."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main(sys.argv[1:])
