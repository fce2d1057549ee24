"""Exponential moving average of the speeds so far."""

from collections.abc import Mapping
from typing import Final

from netcosim.policies.coordinator.observed import Use
from netcosim.policies.coordinator.option import Option, Options
from netcosim.policies.coordinator.predictor import Predictor

NEWEST: Final = 0.2
"""Weight of the newest speed (Chen et al., SoCC 2020, Table 3)."""

LEAST: Final = 1e-6
"""With a weight of 0 the first speed would stay."""


class MovingAverage:
    """Predictor by an exponential moving average.

    Parameters
    ----------
    newest : weight of the newest speed, above 0 and up to 1
    """

    def __init__(self, newest: float = NEWEST) -> None:
        self._newest = newest
        self._mean: float | None = None

    def observe(self, speed: float) -> None:
        """Mix it in; the first one counts alone."""
        before = speed if self._mean is None else self._mean
        self._mean = before + self._newest * (speed - before)

    def predict(self, use: Use) -> float:
        """The mean."""
        return self._mean or 0.0


OPTIONS: Final[Options] = {"newest": Option(NEWEST, LEAST, 1.0, whole=False)}


def make(options: Mapping[str, float], seed: int) -> Predictor:
    """Make the predictor of a worker."""
    return MovingAverage(options["newest"])
