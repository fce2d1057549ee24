"""Piecewise-constant speeds over time, and their conversion to work done."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.training.plan import Floats
from netcosim.training.speed import SpeedTrace

_REST_NS: Final = 1e9
"""The engine's traces end with a breakpoint; where it lies makes no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speeds:
    """A speed from each time on; the first time is 0, and the last speed stays.

    Attributes
    ----------
    time_ns : (changes,) increasing
    speed : (changes,) above 0; 1 is as recorded
    """

    time_ns: Floats
    speed: Floats

    def at(self, time_ns: Floats) -> Floats:
        """The speeds at these times."""
        return self.speed[np.searchsorted(self.time_ns, time_ns, side="right") - 1]

    def times(self, other: "Speeds") -> "Speeds":
        """Product of the two speeds at every time."""
        time_ns = np.union1d(self.time_ns, other.time_ns)
        return Speeds(time_ns=time_ns, speed=self.at(time_ns) * other.at(time_ns))

    def trace(self) -> SpeedTrace:
        """Convert to the engine's form: the work that is done by each breakpoint.

        Raises
        ------
        ScenarioError
            The work of the slowest piece is lost among that of the others.
        """
        time_ns = np.append(self.time_ns, self.time_ns[-1] + _REST_NS)
        done = np.cumsum(np.diff(time_ns) * self.speed)
        work_ns = np.concatenate([[0.0], done])
        if not (np.diff(work_ns) > 0).all():
            shown = f"{self.speed.min():g} to {self.speed.max():g}"
            raise ScenarioError.at(
                "straggler: speeds", shown, "differ by more than numbers can be added up exactly"
            )
        return SpeedTrace(time_ns=time_ns, work_ns=work_ns)
