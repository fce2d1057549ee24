"""First bursts on connections, which stand by themselves where a library's differ."""

from statistics import mean

from netcosim.results.streams.summary import Errors, ModelResult
from netcosim.scoring.bounds import FACTOR, FIRST_MARGIN


def first_differs(model: ModelResult) -> bool:
    """True if first bursts of connections are farther off than later ones, by margin and factor."""
    first, later = model.order_first, model.order_later
    if first is None or later is None:
        return False
    return first.mean >= later.mean + FIRST_MARGIN and first.mean >= FACTOR * later.mean


def counted(model: ModelResult, *, later: bool) -> Errors:
    """A model's order errors over the bursts that count, only later ones where first ones differ.

    `later` is by the model that was named, and the same for all that stand beside it.
    """
    return model.order_later if later and model.order_later else model.order


def counted_times(model: ModelResult, *, later: bool) -> tuple[float, float]:
    """Mean and largest time error over the bursts whose order errors `counted` has."""
    bursts = [burst for burst in model.by_burst if not burst.first]
    if not (later and bursts):
        return model.wire.mean, model.wire.max
    # All bursts of a cell have the same streams.
    return mean(burst.time_mean for burst in bursts), max(burst.time_max for burst in bursts)
