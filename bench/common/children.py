"""Programs that a benchmark starts: none outlives it."""

from typing import Final

ENDS_WITH_US: Final = ("setpriv", "--pdeathsig", "KILL", "--")
"""Prefix of a command that is to be killed with the benchmark."""
