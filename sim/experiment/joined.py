"""Workers' parts in the updates of runs whose gradients servers join."""

from collections.abc import Sequence

import numpy as np

from netcosim.results.training.summary import Joined
from netcosim.training.plan import Floats, Ints


def joined_of(worker: Sequence[Ints], weight: Sequence[Floats], workers: int) -> Joined | None:
    """Weights of the workers over all runs (Chen et al., SoCC 2020, Eq. 7, of equal batches).

    None if no update counted anything.

    Parameters
    ----------
    worker, weight : by run, (steps,) who ended each step, and which part of the updates counted it
    workers : how many take part
    """
    who, parts = np.concatenate(worker), np.concatenate(weight)
    total = float(parts.sum())
    if total <= 0.0:
        return None
    weights = np.bincount(who, weights=parts, minlength=workers) / total
    return Joined(
        weights=tuple(weights.tolist()),
        ignored=float((parts == 0.0).mean()),
        partly=float(((parts > 0.0) & (parts < 1.0)).mean()),
    )
