"""Workers' shares of time, in jobs where they are plain."""

import numpy as np
import pytest

from sim.kernels.arrays import COMPUTING, MODES, RECEIVING, SENDING, WAITING
from tests.sim.engines import ran
from tests.sim.naive.plans import Op, at_worker, down, make_plan, same_draws, up


def spent(*operations: Op, workers: int = 1, staleness: int | None = None) -> dict[int, float]:
    """Time by mode of the first worker in three steps, at a byte a nanosecond."""
    draws = same_draws(workers, 3, factor=np.arange(1, workers + 1))
    engine = ran(make_plan(operations), draws, staleness=staleness)
    found = {mode: float(engine.spent_ns[0, mode]) for mode in range(MODES)}
    return {mode: ns for mode, ns in found.items() if ns}


@pytest.mark.parametrize(("at", "mode"), [(down(), RECEIVING), (up(), SENDING)])
def test_a_connection_that_a_step_ends_on_and_the_next_begins_with(at: object, mode: int) -> None:
    assert spent(Op(name="only", at=at, size_bytes=1000)) == {mode: 3000.0}  # type: ignore[arg-type]


def test_a_step_that_begins_with_computing_behind_one_that_ended_with_sending() -> None:
    compute = Op(name="compute", at=at_worker(), duration_ns=500.0)
    push = Op(name="push", at=up(), size_bytes=1000, after=("compute",))
    assert spent(compute, push) == {COMPUTING: 1500.0, SENDING: 3000.0}


def test_who_waits_for_the_slowest_does_nothing_else() -> None:
    """The second worker computes for twice as long; both pull at half the rate."""
    pull = Op(name="pull", at=down(), size_bytes=1000)
    compute = Op(name="compute", at=at_worker(), duration_ns=500.0, after=("pull",))
    assert spent(pull, compute, workers=2, staleness=0) == {
        RECEIVING: 6000.0,
        COMPUTING: 1500.0,
        WAITING: 1000.0,
    }
