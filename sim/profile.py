"""The command ``python -m sim.profile``."""

import sys
from collections.abc import Sequence

from netcosim.entry import leave, leaving_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure a model's training steps; return the exit code."""
    with leaving_at_once("sim.profile"):
        from sim.profiling.command import run
    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    leave(main())
