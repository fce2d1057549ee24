"""How fast a worker computes over time: a piecewise-constant speed, as work done by each moment."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedTrace:
    """Breakpoints, at least two, the first at time 0; behind the last one the speed stays.

    Attributes
    ----------
    time_ns : (breakpoints,) increasing
    work_ns : (breakpoints,) what would be done by then, in ns at speed 1; increasing
    """

    time_ns: Floats
    work_ns: Floats
