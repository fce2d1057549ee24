"""Predictors that are small networks, trained on what a worker has done so far.

How they are trained is not in Chen et al. (SoCC 2020); what is chosen here is the same for all:
scaled by the mean, one hidden layer, Adam on the newest steps, anew every few steps from where it
was. Until there are enough steps the last speed is the prediction.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from netcosim.errors import EnvironmentRefusedError
from netcosim.policies.coordinator.observed import Use

BACK: Final = 2
"""Steps that are looked back at (section 5.4)."""
HIDDEN: Final = 8
LEAST: Final = 20
EVERY: Final = 10
EPOCHS: Final = 30
NEWEST: Final = 200
RATE: Final = 0.02

_SEEDED: Final = Lock()

Build = Callable[[Any], Any]
"""From the library to a module whose input is (rows, inputs), and its output (rows, 1)."""


class NetworkPredictor:
    """Predictor by a network of the last speeds and, if it is to see them, of the machine's use.

    Parameters
    ----------
    build : makes the network
    sees_use : whether processor and memory use of now and of the last steps are inputs, too
    seed : of its first weights

    Raises
    ------
    EnvironmentRefusedError
        PyTorch is not installed.
    """

    def __init__(self, build: Build, *, sees_use: bool, seed: int) -> None:
        self._torch = _load()
        # The generator is the library's only one, and runs are simulated in threads.
        with _SEEDED:
            self._torch.manual_seed(seed)
            self._network = build(self._torch)
        self._optimizer = self._torch.optim.Adam(self._network.parameters(), lr=RATE)
        self._sees_use = sees_use
        self._speeds: list[float] = []
        self._uses: list[tuple[float, float]] = []

    def observe(self, speed: float) -> None:
        """Keep it; train every few steps."""
        self._speeds.append(speed)
        if len(self._speeds) >= LEAST and len(self._speeds) % EVERY == 0:
            self._train()

    def predict(self, use: Use) -> float:
        """Output of the network, at least 0."""
        self._uses.append((use.processor or 0.0, use.memory or 0.0))
        if len(self._speeds) < LEAST:
            return self._speeds[-1] if self._speeds else 0.0
        inputs = self._torch.tensor(self._inputs(len(self._speeds))[np.newaxis])
        with self._torch.no_grad():
            part = float(self._network(inputs)[0, 0])
        return max(0.0, part * self._scale)

    @property
    def _scale(self) -> float:
        return float(np.mean(self._speeds[-NEWEST:])) or 1.0

    def _inputs(self, step: int) -> NDArray[np.float32]:
        """Inputs for the speed of a step: those before it, and the use that was seen for it."""
        speeds = np.array(self._speeds[step - BACK : step], dtype=np.float32) / self._scale
        if not self._sees_use:
            return speeds
        # The use of step k was asked for when step k - 1 had ended: it is the one before last.
        uses = np.array(self._uses[step - BACK - 1 : step], dtype=np.float32)
        found: NDArray[np.float32] = np.concatenate([speeds, uses.ravel()])
        return found

    def _train(self) -> None:
        steps = range(max(BACK + 1, len(self._speeds) - NEWEST), len(self._speeds))
        inputs = self._torch.tensor(np.stack([self._inputs(step) for step in steps]))
        speeds = np.array([[self._speeds[step]] for step in steps], dtype=np.float32)
        wanted = self._torch.tensor(speeds / np.float32(self._scale))
        for _ in range(EPOCHS):
            self._optimizer.zero_grad()
            loss = ((self._network(inputs) - wanted) ** 2).mean()
            loss.backward()
            self._optimizer.step()


def _load() -> Any:
    try:
        import torch
    except ImportError:
        allowed = "needs PyTorch: pip install torch"
        raise EnvironmentRefusedError(f"coordination.predictor: {allowed}") from None
    return torch


def recurrent(layer: str) -> Build:
    """Builder of one recurrent layer of PyTorch's, by its name, over the last speeds."""

    def build(torch: Any) -> Any:
        class Recurrent(torch.nn.Module):  # type: ignore[misc]  # PyTorch is untyped here
            def __init__(self) -> None:
                super().__init__()
                self.layer = getattr(torch.nn, layer)(1, HIDDEN, batch_first=True)
                self.last = torch.nn.Linear(HIDDEN, 1)

            def forward(self, speeds: Any) -> Any:
                states, _ = self.layer(speeds.reshape(-1, BACK, 1))
                return self.last(states[:, -1])

        return Recurrent()

    return build
