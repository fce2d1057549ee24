"""Interface of predictors."""

from typing import Protocol

from netcosim.policies.coordination.observed import Use


class Predictor(Protocol):
    """A predictor of one worker's speed."""

    def observe(self, speed: float) -> None:
        """Take the speed of a step that has ended, in examples/s."""

    def predict(self, use: Use) -> float:
        """Speed of the next step, where the machine's use is this now."""
