"""Speed of a worker over time: piecewise constant, given as the work done by each breakpoint."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTrace:
    """Speed as breakpoints: at least two, the first at time 0; after the last the speed stays.

    Attributes
    ----------
    time_ns : (breakpoints,) increasing
    work_ns : (breakpoints,) what would be done by then, in ns at speed 1; increasing
    """

    time_ns: Floats
    work_ns: Floats
