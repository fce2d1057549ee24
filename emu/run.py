"""Run a scenario on an emulated network: the command ``python -m emu.run``."""

import os
import sys

if __name__ == "__main__":
    # `python -m` looks for modules in the current folder first, and this is started as root:
    # whoever may write there could have his json.py imported. So that folder goes before anything
    # else is imported, and the project's own is the last to be searched.
    if not sys.flags.safe_path:
        del sys.path[0]
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # noqa: PTH100, PTH120

from collections.abc import Sequence

from netcosim.entry import leave, leaving_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a scenario on an emulated network; return the exit code."""
    with leaving_at_once("emu.run"):
        from emu.cli import command
    return command.run(sys.argv[1:] if arguments is None else arguments)


def identify(arguments: Sequence[str]) -> int:
    """Say which rules an endpoint follows, from bursts made for it; return the exit code."""
    return main(["--scenario", "identify", *arguments])


if __name__ == "__main__":
    leave(main())
