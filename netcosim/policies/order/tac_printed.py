"""TAC as its algorithm is printed, the contrary of what is derived; to be compared with.

Source: Hashemi, Jyothi and Campbell, *TicTac* (MLSys 2019), Algorithm 3: A is before B where
min(P_A, M_B) < min(P_B, M_A), and where both are equal by ascending M+. All else is as in `tac`.
It is here to be compared with; see docs/background/tictac.md.
"""

import numpy as np

from netcosim.policies.order_input import OrderInput
from netcosim.policies.receive_order import Receive, in_order_of

NEEDS_STEP = True
NEEDS_RATE = True


def before(a: Receive, b: Receive) -> bool:
    """True if a is to be received before b."""
    one, other = min(a.load, b.own), min(b.load, a.own)
    return one < other if one != other else a.impending < b.impending


def arrange(tensors: OrderInput, rng: np.random.Generator) -> list[int]:
    """Return the tensors' indices in their order of release."""
    step = tensors.known_step
    time = [float(round(each)) for each in step.duration_ns]
    return in_order_of(step, time, len(tensors.sizes_bytes), before)
