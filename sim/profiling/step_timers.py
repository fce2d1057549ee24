"""Clocks that time a step: the processor's own, and events in a CUDA stream."""

import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Protocol


class Clock(Protocol):
    """Interface of a clock: marks are cheap to make, and become nanoseconds after the step."""

    def mark(self) -> Any: ...

    def read(self, marks: Sequence[Any]) -> list[int]:
        """Nanoseconds of marks since the first of them."""


class ProcessorClock:
    """Clock of the processor, for work that it does itself."""

    mark = staticmethod(time.perf_counter_ns)

    def read(self, marks: Sequence[Any]) -> list[int]:
        """Nanoseconds of marks since the first of them."""
        return [mark - marks[0] for mark in marks]


class CudaClock:
    """Clock of events in the accelerator's stream: work queued before an event is then done."""

    def __init__(self, torch: ModuleType) -> None:
        self._cuda = torch.cuda

    def mark(self) -> Any:
        """An event that the accelerator records when it gets there."""
        event = self._cuda.Event(enable_timing=True)
        event.record()
        return event

    def read(self, marks: Sequence[Any]) -> list[int]:
        """Nanoseconds of marks since the first of them, once all have happened."""
        self._cuda.synchronize()
        return [round(marks[0].elapsed_time(mark) * 1e6) for mark in marks]
