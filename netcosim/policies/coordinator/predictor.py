"""Interface of predictors."""

from collections.abc import Callable
from typing import Protocol

from netcosim.policies.coordinator.observed import Use


class Predictor(Protocol):
    """A predictor of one worker's speed."""

    def observe(self, speed: float) -> None:
        """Take the speed of a step that has ended, in examples/s."""

    def predict(self, use: Use) -> float:
        """Speed of the next step, where the machine's use is this now."""


MakePredictor = Callable[[int], Predictor]
"""Makes the predictor of a worker of this number."""
