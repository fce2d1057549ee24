"""The door, ``python -m sim.run``."""

import sys
from collections.abc import Sequence

from netcosim.door import leaving_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate a scenario; return the exit code."""
    with leaving_at_once("sim.run"):
        from sim import command
    return command.run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
