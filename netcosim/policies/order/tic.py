"""TIC of TicTac: pulls by how few of them together let something begin; no times.

Source: Hashemi, Jyothi and Campbell, *TicTac* (MLSys 2019), Algorithm 2: ascending M+, where every
receive takes a time of 1 and everything else 0. Ties stay as listed, and M+ is infinite where no
operation waits for this receive and another. Tensors that are not pulled come behind, as listed.
"""

import numpy as np

from netcosim.policies.order_input import OrderInput
from netcosim.policies.receive_order import by_impending
from netcosim.step_graph import first_pulls

NEEDS_STEP = True


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    step = tensors.known_step
    time = [0.0] * len(step)
    for op in first_pulls(step):
        time[op] = 1.0
    return by_impending(step, time, len(tensors.sizes_bytes))
