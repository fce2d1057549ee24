"""TAC of TicTac: pulls so that computing overlaps with those that follow, by times.

Source: Hashemi, Jyothi and Campbell, *TicTac* (MLSys 2019), Algorithm 3 with the comparator that
its Eq. 6 derives: A is before B where min(P_B, M_A) < min(P_A, M_B), and where both are equal by
ascending M+. The comparator is not transitive, so the scan for the first one is part of the
definition: see `netcosim.policies.receive_order.in_order_of`. Times count in whole nanoseconds.
"""

import numpy as np

from netcosim.policies.order_input import OrderInput
from netcosim.policies.receive_order import Receive, in_order_of

NEEDS_STEP = True
NEEDS_RATE = True


def before(a: Receive, b: Receive) -> bool:
    """True if a is to be received before b."""
    one, other = min(b.load, a.own), min(a.load, b.own)
    return one < other if one != other else a.impending < b.impending


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    step = tensors.known_step
    time = [float(round(each)) for each in step.duration_ns]
    return in_order_of(step, time, len(tensors.sizes_bytes), before)
