"""Findings of the linter: an error or a warning about a profile."""

from dataclasses import dataclass
from typing import Literal

from netcosim.formatting import printable, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An error or a warning about a profile.

    Attributes
    ----------
    severity : with an "error" nothing runs; a "warning" is for people
    message : what is wrong, with its value and what is allowed
    operation : name of the operation; None: it is about the whole profile
    step : number of the recorded step, from 0, where it is about one
    """

    severity: Literal["error", "warning"]
    message: str
    operation: str | None = None
    step: int | None = None

    def __str__(self) -> str:
        """One line, without severity and source."""
        where = "" if self.operation is None else f"operation {shown(self.operation)}: "
        when = "" if self.step is None else f"step {self.step}: "
        return printable(f"{where}{when}{self.message}")


def error(message: str, operation: str | None = None, step: int | None = None) -> Finding:
    """Make a finding with which nothing runs."""
    return Finding(severity="error", message=message, operation=operation, step=step)


def warning(message: str, operation: str | None = None, step: int | None = None) -> Finding:
    """Make a finding that only warns."""
    return Finding(severity="warning", message=message, operation=operation, step=step)
