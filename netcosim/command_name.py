"""The name under which a command was started: ``sim.run``, or ``netcosim sim``."""

import os
from typing import Final

VARIABLE: Final = "NETCOSIM_COMMAND"
"""Environment variable with the name: an isolated run, which starts anew, has it too."""


def command_name(prog: str) -> str:
    """Name for usage and messages; `prog` is that of ``python -m``."""
    return os.environ.get(VARIABLE) or prog
