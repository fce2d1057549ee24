"""Memoryless: the next step is as fast as the last one."""

from collections.abc import Mapping
from typing import Final

from netcosim.policies.coordinator.observed import Use
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import Predictor


class Memoryless:
    """Predictor that repeats the last speed."""

    def __init__(self) -> None:
        self._last = 0.0

    def observe(self, speed: float) -> None:
        """Keep it."""
        self._last = speed

    def predict(self, use: Use) -> float:
        """The last speed."""
        return self._last


OPTIONS: Final[Options] = {}


def make(options: Mapping[str, float], seed: int) -> Predictor:
    """Make the predictor of a worker."""
    return Memoryless()
