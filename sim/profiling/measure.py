"""Measure training steps one after the other, some of them unwatched for comparison."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from netcosim.errors import ScenarioError
from sim.profiling.attribute import Attributed, attribute
from sim.profiling.records import Recorder, StepRecord, Structure

_PLAIN_EVERY: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Measured steps after the warm-up, each as it was.

    `plain_ns` are times of steps in between that nothing watched.
    """

    structure: Structure
    about: str
    warmup: int
    records: tuple[StepRecord, ...]
    steps: tuple[Attributed, ...]
    plain_ns: tuple[int, ...]

    @property
    def step_ns(self) -> float:
        """Median of the steps' times."""
        return statistics.median(step.step_ns for step in self.records)

    @property
    def plain_step_ns(self) -> float:
        """Median of the times of steps that nothing watched."""
        return statistics.median(self.plain_ns)


def measure(
    recorder: Recorder, steps: int, warmup: int, done: Callable[[int], None] = lambda _: None
) -> Measured:
    """Warm up, then record steps; `done` is called with their number after each.

    Raises
    ------
    ScenarioError
        The model has no layers or trains nothing, or a step runs other layers than the first.
    """
    for _ in range(warmup):
        recorder.record()
    recorder.plain()
    records: list[StepRecord] = []
    plain: list[int] = []
    for number in range(steps):
        if number % _PLAIN_EVERY == 0:
            plain.append(recorder.plain())
        records.append(recorder.record())
        done(number + 1)
    structure = recorder.structure()
    _check(structure)
    layers = len(structure.layers)
    return Measured(
        structure=structure,
        about=recorder.about(),
        warmup=warmup,
        records=tuple(records),
        steps=tuple(attribute(record, layers) for record in records),
        plain_ns=tuple(plain),
    )


def _check(structure: Structure) -> None:
    if not structure.layers:
        raise ScenarioError("the model calls no modules; must be made of at least one layer")
    if not structure.tensors:
        raise ScenarioError("no parameter of the model gets a gradient; must train at least one")
