"""The smallest tensor first; ties as listed."""

import numpy as np

from netcosim.policies.order_input import OrderInput


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    sizes = tensors.sizes_bytes
    return sorted(range(len(sizes)), key=sizes.__getitem__)
