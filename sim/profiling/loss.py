"""Default loss, for models that come without one."""

from types import ModuleType
from typing import Any

from netcosim.errors import ScenarioError
from sim.profiling.tensors import tensors_in


class SomeLoss:
    """Cross entropy with random classes, else the mean square; summed over the output's tensors.

    The second dimension is taken for the classes. What it means does not matter: no figure depends
    on the values, and the steps are too small to change the model.
    """

    def __init__(self, torch: ModuleType) -> None:
        self._torch = torch
        self._classes: dict[int, Any] = {}

    def __call__(self, output: Any) -> Any:
        """Scalar loss of a model's output.

        Raises
        ------
        ScenarioError
            The output has no tensor from which a gradient comes.
        """
        found = [t for t in tensors_in(self._torch, output) if t.requires_grad]
        if not found:
            text = "must hold a tensor that needs a gradient; else return a loss of your own"
            raise ScenarioError(f"the model's output: {type(output).__name__}: {text}")
        return sum(self._one(number, tensor) for number, tensor in enumerate(found))

    def _one(self, number: int, tensor: Any) -> Any:
        if tensor.dim() < 2 or not tensor.is_floating_point() or tensor.shape[1] < 2:
            return tensor.abs().square().mean()
        if number not in self._classes:
            shape = (tensor.shape[0], *tensor.shape[2:])
            self._classes[number] = self._torch.randint(
                tensor.shape[1], shape, device=tensor.device
            )
        return self._torch.nn.functional.cross_entropy(tensor, self._classes[number])
