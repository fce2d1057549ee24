"""Plans that are kept for all that shares them: rates, numbers of workers, later simulations."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np

from sim.fast.arrays import Shape
from sim.fast.shape import fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Network, Sending, StepPlan

MOST_BYTES: Final = 256_000_000
"""Most bytes of plans that are kept; the one used last is kept in any case."""


@dataclass(slots=True, kw_only=True)
class Prepared:
    """The plans of one run: as recorded, and fused; and the fused one arranged for the fast path.

    `shapes` holds the arranged plan, or why there can't be one, by the settings that it hangs on.
    """

    plan: StepPlan
    fused: StepPlan
    shapes: dict[Hashable, tuple[Shape | None, str]] = field(default_factory=dict)

    def shape(self, network: Network, sending: Sending) -> tuple[Shape | None, str]:
        """The plan arranged for the fast path, or None and why the fast path can't do it."""
        delayed = bool(network.delay_ns.any())
        key = (sending, network.share, network.both_busy, delayed)
        if key not in self.shapes:
            try:
                self.shapes[key] = fast_shape(self.fused, network, sending), ""
            except NotOfThisShapeError as problem:
                self.shapes[key] = None, str(problem)
        return self.shapes[key]

    @property
    def size_bytes(self) -> int:
        """Bytes of all arrays."""
        shapes = [shape for shape, _ in self.shapes.values() if shape is not None]
        return sum(
            array.nbytes
            for record in (self.plan, self.fused)
            for array in (getattr(record, f.name) for f in fields(record))
            if isinstance(array, np.ndarray)
        ) + sum(array.nbytes for shape in shapes for array in shape)


class Plans:
    """Plans by what they are made of; beyond `most_bytes` the least recently used ones are dropped.

    May be used by several threads; two that miss the same plan both make it.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._kept: OrderedDict[Hashable, Prepared] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Prepared]) -> Prepared:
        """The plans of this key, made if they are not there."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            found = self._kept.setdefault(key, made)
            self._kept.move_to_end(key)
            size_bytes = sum(each.size_bytes for each in self._kept.values())
            while size_bytes > self._most_bytes and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                size_bytes -= dropped.size_bytes
        return found

    def __len__(self) -> int:
        return len(self._kept)
