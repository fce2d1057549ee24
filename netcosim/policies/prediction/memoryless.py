"""Memoryless: the next step is as fast as the last one."""

from netcosim.policies.coordination.observed import Use


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
