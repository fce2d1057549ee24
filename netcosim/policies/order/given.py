"""Tensors by the priorities that the scenario gives, higher first; the others after them as listed.

This is how an order that was worked out elsewhere comes in, such as ByteScheduler's (Peng et al.,
SOSP 2019). Ties stay as listed.
"""

import numpy as np

from netcosim.policies.order_input import OrderInput
from netcosim.policies.receive_order import behind


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    given = tensors.given
    first = [i for i, priority in enumerate(given) if priority is not None]
    first.sort(key=lambda i: -(given[i] or 0))
    return behind(first, len(tensors.sizes_bytes))
