"""The door, ``python -m emu.run``."""

import sys
from collections.abc import Sequence

from netcosim.door import leaving_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scenario on a real network; return the exit code."""
    with leaving_at_once("emu.run"):
        from emu import command
    return command.run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
