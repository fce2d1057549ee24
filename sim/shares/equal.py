"""Equal share: every connection with a chunk gets 1/n of its server's port.

Source: Li et al. (ICPE 2020), section 3.1. Workers' ports are not looked at.
"""

from sim.kernels.arrays import Net, Run, Step

CLOCKED = 1
USES_WORKER_PORTS = False
MAY_OVERFILL = True


def rates(step: Step, net: Net, run: Run, direction: int) -> None:
    """Do nothing: the link's virtual clock takes the place of rates."""
