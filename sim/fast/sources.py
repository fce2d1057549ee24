"""The sources of events: their leaves in the tournament, which knows the earliest event of all.

They stand class by class, in the order in which simultaneous events are processed; see
`sim.fast.arrays`.
"""

from sim.fast.arrays import HAND_OVERS, JOIN_END, STEP_ENDS, UPLINKS, FastRun, K, Shape
from sim.kernels.tree import put


def schedule(run: FastRun, leaf: int, time: float) -> None:
    """Set the time of a source's next event; infinite if there is none."""
    put(run.key, run.tree, 0, len(run.key), leaf, time)


def link_leaf(shape: Shape, link: int) -> int:
    """Index of the end of a link's busy period, whichever ends first."""
    servers = shape.sizes[K]
    return link if link < servers else shape.first_leaf[UPLINKS] + link - servers


def hand_over_leaf(shape: Shape, worker: int, server: int) -> int:
    """Index of a worker's next hand-over to an idle connection with a server."""
    return shape.first_leaf[HAND_OVERS] + worker * shape.sizes[K] + server


def step_leaf(shape: Shape, worker: int) -> int:
    """Index of the end of a worker's step."""
    return shape.first_leaf[STEP_ENDS] + worker


def join_leaf(shape: Shape) -> int:
    """Index of the end of a step's last update, where servers join gradients."""
    return shape.first_leaf[JOIN_END]
