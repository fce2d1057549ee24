"""Simple recurrent network over the last two speeds."""

from collections.abc import Mapping
from typing import Final

from netcosim.policies.coordinator.network import NetworkPredictor, recurrent
from netcosim.policies.coordinator.option import Options
from netcosim.policies.coordinator.predictor import Predictor

OPTIONS: Final[Options] = {}


def make(options: Mapping[str, float], seed: int) -> Predictor:
    """Make the predictor of a worker.

    Raises
    ------
    EnvironmentRefusedError
        PyTorch is not installed.
    """
    return NetworkPredictor(recurrent("RNN"), sees_use=False, seed=seed)
