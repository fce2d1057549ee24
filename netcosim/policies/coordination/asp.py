"""Asynchronous: every worker goes on at once, with its batch as it was."""

from collections.abc import Mapping, Sequence
from typing import Final

from netcosim.policies.coordinator.observed import (
    Begin,
    Coordinator,
    Ended,
    Limits,
    UseOf,
)
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import MakePredictor


class Asynchronous:
    """Coordinator that lets every worker go on."""

    def begin(self, batches: list[int], limits: Sequence[Limits] = ()) -> list[Begin]:
        """Begin all."""
        return [Begin(worker, batch) for worker, batch in enumerate(batches)]

    def ended(self, ended: Ended, use: UseOf) -> list[Begin]:
        """Let the worker go on."""
        return [Begin(ended.worker, ended.batch)]

    def counts(self, worker: int) -> bool:
        """Every step counts."""
        return True


OPTIONS: Final[Options] = {}


def make(workers: int, options: Mapping[str, float], predictor: MakePredictor) -> Coordinator:
    """Make the coordinator of so many workers."""
    return Asynchronous()
