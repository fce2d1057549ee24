"""The command ``python -m sim.run``."""

import os
import sys
from collections.abc import Sequence
from typing import Never

from netcosim.entry import leave, leaving_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulate a scenario; return the exit code."""
    with leaving_at_once("sim.run"):
        from sim.cli import command
    return command.run(sys.argv[1:] if arguments is None else arguments)


def start(arguments: Sequence[str]) -> Never:
    """Simulate how training scales, from one worker's profile; end the program."""
    end(main(arguments))


def end(code: int) -> Never:
    """End the program; on a failure, without waiting for runs in other threads."""
    if code == 0:
        leave(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    end(main())
