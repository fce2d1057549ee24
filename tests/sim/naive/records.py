"""Record of a run of the naive twin: what ended, in order."""

from dataclasses import dataclass, field
from typing import NamedTuple


class StepRow(NamedTuple):
    """A step that has ended."""

    worker: int
    step: int
    start_ns: float
    end_ns: float


class OperationRow(NamedTuple):
    """An operation that has ended; `ready_ns` is when it was handed over."""

    worker: int
    step: int
    operation: int
    ready_ns: float
    start_ns: float
    end_ns: float


class ChunkRow(NamedTuple):
    """A chunk that has left its link."""

    worker: int
    channel: int
    step: int
    operation: int
    size_bytes: int
    start_ns: float
    end_ns: float


@dataclass
class Run:
    """Record of a run, each list in the order in which things ended.

    `weights` are, by worker and step, the part of the updates that counted the step's gradients.
    """

    steps: list[StepRow] = field(default_factory=list)
    operations: list[OperationRow] = field(default_factory=list)
    chunks: list[ChunkRow] = field(default_factory=list)
    weights: dict[tuple[int, int], float] = field(default_factory=dict)
