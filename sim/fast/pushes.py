"""Pushes of the fast path: the time of hand-over, and the update after the end."""

from sim.fast.layout import Race, Shape
from sim.kernels.layout import NONE, Net


def handed_over(shape: Shape, net: Net, race: Race, worker: int, up: int) -> float:
    """Time at which a push of the worker's present step is handed over."""
    varied = net.factor.shape[1] > 1
    factor = net.factor[worker, race.done[worker] if varied else 0]
    return race.turn[worker] + shape.offset_ns[race.rec[worker], up] * factor


def together(shape: Shape, up: int, until: int) -> int:
    """First push before `until` that is not handed over at once with this one, else `until`."""
    first = up
    while up < until and shape.up_turn[up] == shape.up_turn[first]:
        up += 1
    return up


def update(shape: Shape, race: Race, worker: int, up: int, time: float) -> None:
    """Run the update of a push that has ended, after those before it on its processor."""
    q = shape.update[up]
    if q == NONE:
        return
    begin = max(race.free_at[worker, q], time)
    race.free_at[worker, q] = begin + shape.update_ns[race.rec[worker], up]
    race.last[worker] = max(race.last[worker], race.free_at[worker, q])
