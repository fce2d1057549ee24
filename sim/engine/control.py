"""Control of a run: synchronisation, stop conditions, and what is kept."""

from dataclasses import dataclass
from typing import Final

from netcosim.training.synchronisation import Join


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """Settings of a run beside its job, for both engines.

    Attributes
    ----------
    staleness : how many steps a worker may be ahead of the slowest; None: any
    join : how gradients are joined; None: every worker's gradients are updates of their own
    keep_operations, keep_chunks : whether to keep a row for each operation, and for each chunk; of
        the generic engine alone
    keep_workers : of how many workers these rows are kept, from the first; None: of all
    stop_at_steps : whether `run` returns whenever a worker has ended a step; nobody begins a step
        then unless `begin` says so
    stop_at_last : whether `run` returns whenever a worker has ended its last step
    in_parts : whether each node goes on by its own state, as in real jobs: a worker requests its
        next step when its last gradient is handed over, each server answers by what it has got
        (`sim.kernels.parts`; `spent_ns` has no waiting then); else a worker's next step begins
        when all of its last one has ended
    count_from : times in `spent_ns` count from each worker's step of this number
    """

    staleness: int | None = None
    join: Join | None = None
    keep_operations: bool = False
    keep_chunks: bool = False
    keep_workers: int | None = None
    stop_at_steps: bool = False
    stop_at_last: bool = False
    in_parts: bool = False
    count_from: int = 0


DEFAULT: Final = Control()
"""No worker waits for another, and only steps are kept."""
