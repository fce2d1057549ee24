"""ARIMA(2, 2, 1) of the speeds so far.

Its order is that of Chen et al. (SoCC 2020, Table 3). Its parameters are estimated anew every few
steps from the newest ones, and carried over the steps in between.
"""

import warnings
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from netcosim.errors import EnvironmentRefusedError
from netcosim.policies.coordinator.observed import Use
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import Predictor

ORDER: Final = (2, 2, 1)
LEAST: Final = 20
EVERY: Final = 20
NEWEST: Final = 100


class Arima:
    """Predictor by an ARIMA model; until there are enough steps it repeats the last speed.

    Raises
    ------
    EnvironmentRefusedError
        statsmodels is not installed.
    """

    def __init__(self) -> None:
        self._model = _load()
        self._speeds: list[float] = []
        self._fitted: Any = None

    def observe(self, speed: float) -> None:
        """Keep it; estimate every few steps."""
        self._speeds.append(speed)
        if len(self._speeds) < LEAST:
            return
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of starting values, and of estimates that don't settle
            if self._fitted is None or len(self._speeds) % EVERY == 0:
                newest = np.array(self._speeds[-NEWEST:])
                self._fitted = self._model(newest, order=ORDER).fit()
            else:
                self._fitted = self._fitted.append([speed], refit=False)

    def predict(self, use: Use) -> float:
        """One step ahead; never less than nothing."""
        if self._fitted is None:
            return self._speeds[-1] if self._speeds else 0.0
        return max(0.0, float(self._fitted.forecast(1)[0]))


def _load() -> Any:
    try:
        from statsmodels.tsa.arima.model import ARIMA
    except ImportError:
        allowed = "needs statsmodels: pip install statsmodels"
        raise EnvironmentRefusedError(f"coordination.predictor: {allowed}") from None
    return ARIMA


OPTIONS: Final[Options] = {}


def make(options: Mapping[str, float], seed: int) -> Predictor:
    """Make the predictor of a worker.

    Raises
    ------
    EnvironmentRefusedError
        statsmodels is not installed.
    """
    return Arima()
