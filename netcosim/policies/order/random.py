"""Tensors in a random order, drawn from the scenario's seed."""

import numpy as np

from netcosim.policies.order_input import OrderInput

DRAWN = True


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    return [int(i) for i in rng.permutation(len(tensors.sizes_bytes))]
