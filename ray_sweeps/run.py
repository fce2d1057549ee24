"""The command ``python -m ray_sweeps.run``."""

import sys
from collections.abc import Sequence

from netcosim.entry import leave, leaving_at_once
from ray_sweeps.threads import start_again_if_threaded, start_no_threads


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate a whole space of scenarios; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    start_no_threads()
    with leaving_at_once("ray_sweeps.run"):
        from ray_sweeps.cli import command
    return command.run(given)


def start(arguments: Sequence[str]) -> int:
    """Simulate a whole space of scenarios, on all processors or a cluster; return the exit code."""
    start_again_if_threaded("ray_sweeps.run", arguments)
    return main(arguments)


if __name__ == "__main__":
    leave(main())
