"""NARX: a network of the last two speeds and of processor and memory use, now and before."""

from collections.abc import Mapping
from typing import Any, Final

from netcosim.policies.coordinator.network import BACK, HIDDEN, NetworkPredictor
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
    return NetworkPredictor(_build, sees_use=True, seed=seed)


def _build(torch: Any) -> Any:
    inputs = BACK + 2 * (BACK + 1)
    return torch.nn.Sequential(
        torch.nn.Linear(inputs, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 1)
    )
