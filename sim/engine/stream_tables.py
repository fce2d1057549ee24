"""Tables of streams that disciplines choose from, empty."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from h2model import disciplines
from h2model.state import CONNECTION_CREDIT, CURRENT, HEAD, NONE, SHARED_SIZE, TAIL, State
from sim.kernels.arrays import Ints
from sim.plan import Sending


def zeros(kind: type) -> Callable[..., NDArray[Any]]:
    """Function that makes arrays of zeros of this type from their shape."""
    return lambda *shape: np.zeros(shape, dtype=kind)


def gathered_streams(sending: Sending, streams: int) -> int:
    """Most entries of one write of a connection with so many streams; 1 without writes."""
    gathers = disciplines.traits(sending.discipline).gathers
    return 2 * streams + 8 if gathers else 1


def make_streams(slots: int, option: Ints, gathered: int = 1) -> State:
    """Build the disciplines' tables; `shared` and writes are kept per connection elsewhere."""

    def filled(value: int) -> Ints:
        return np.full(slots, value, dtype=np.int64)

    parts = {name: filled(0) for name in State._fields}
    parts |= {"before": filled(NONE), "after": filled(NONE), "option": option}
    parts |= {name: np.zeros(gathered, dtype=np.int64) for name in ("plan_slot", "plan_bytes")}
    parts["shared"] = np.zeros(1, dtype=np.int64)
    return State(**cast("dict[str, list[int]]", parts))


def make_shared(flows: int, connection_window: int) -> Ints:
    """(flows, SHARED_SIZE) state that each connection's discipline has of its own."""
    shared = np.zeros((flows, SHARED_SIZE), dtype=np.int64)
    shared[:, [HEAD, TAIL, CURRENT]] = NONE
    shared[:, CONNECTION_CREDIT] = connection_window
    return shared
