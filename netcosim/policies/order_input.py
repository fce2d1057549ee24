"""What an order of release is told of a workload."""

from collections.abc import Sequence
from dataclasses import dataclass

from netcosim.step_graph import StepGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderInput:
    """Tensors of a workload.

    Attributes
    ----------
    sizes_bytes : (tensors,) as listed
    given : (tensors,) the scenario's priorities, for the order of that name; empty: none
    step : the worker's step; None where there is none (a burst), or the order needs none
    """

    sizes_bytes: Sequence[int]
    given: Sequence[int | None] = ()
    step: StepGraph | None = None

    @property
    def known_step(self) -> StepGraph:
        """The step, for orders that say `NEEDS_STEP`.

        Raises
        ------
        ValueError
            There is none.
        """
        if self.step is None:
            raise ValueError("this order needs a worker's step")
        return self.step
