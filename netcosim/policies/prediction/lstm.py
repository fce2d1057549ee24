"""LSTM over the last two speeds."""

from collections.abc import Mapping
from typing import Any, Final

from netcosim.policies.coordinator.network import BACK, HIDDEN, NetworkPredictor
from netcosim.policies.coordinator.predictor import Predictor

OPTIONS: Final[Mapping[str, float]] = {}


def make(options: Mapping[str, float], seed: int) -> Predictor:
    """Make the predictor of a worker.

    Raises
    ------
    EnvironmentRefusedError
        PyTorch is not installed.
    """
    return NetworkPredictor(_build, sees_use=False, seed=seed)


def _build(torch: Any) -> Any:
    class Recurrent(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.LSTM(1, HIDDEN, batch_first=True)
            self.last = torch.nn.Linear(HIDDEN, 1)

        def forward(self, speeds: Any) -> Any:
            states, _ = self.layer(speeds.reshape(-1, BACK, 1))
            return self.last(states[:, -1])

    return Recurrent()
