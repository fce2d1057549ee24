"""Joined gradients and servers' cores against theory: processor limits, lock step, backups."""

import numpy as np
import pytest

from netcosim.training.plan import Draws, StepPlan
from netcosim.training.synchronisation import Join
from tests.sim.engines import ran
from tests.sim.naive.plans import Op, at_server, at_worker, down, make_plan, same_draws, up

EXACT = 1e-12


def job(
    *, update_ns: float = 200.0, parse_ns: float = 0.0, cores: int = 1, recorded: int = 1,
    worker_ns: object = 500.0,
) -> StepPlan:  # fmt: skip
    """Pull, compute, push, parse at the server, update once for all."""
    at = at_server(0, cores, "cores", shared=True)
    return make_plan(
        [
            Op(name="pull", at=down(), size_bytes=1000),
            Op(name="compute", at=at_worker(), duration_ns=worker_ns, after=("pull",)),  # type: ignore[arg-type]
            Op(name="push", at=up(), size_bytes=1000, after=("compute",)),
            Op(name="parse", at=at, duration_ns=parse_ns, after=("push",)),
            Op(name="update", at=at, duration_ns=update_ns, after=("parse",)),
        ],
        once={"update": ["pull"]},
        recorded=recorded,
    )


@pytest.mark.parametrize("by", ["step", "tensor"])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_identical_workers_in_lock_step_make_one_update_a_step(by: str, workers: int) -> None:
    """A step is W pulls, a computation, W pushes, W parsings and one update."""
    join = Join(by=by, first=workers)
    steps = ran(job(parse_ns=50.0), workers=workers, steps=6, join=join).steps()
    cycle_ns = workers * 1000 + 500 + workers * 1000 + workers * 50 + 200
    # All pushes end together: the server parses them one after the other, and updates once.
    last = np.array([steps.end_ns[steps.step == t].max() for t in range(6)])
    assert last == pytest.approx(cycle_ns * np.arange(1, 7) - 200, rel=EXACT)
    assert (steps.weight == 1).all()


@pytest.mark.parametrize(("cores", "workers"), [(1, 12), (2, 12), (3, 7)])
def test_no_more_updates_than_the_servers_cores_can_make(cores: int, workers: int) -> None:
    """Asynchronous, the server far slower than all else: its cores are never idle."""
    at = at_server(0, cores, "cores", shared=True)
    plan = make_plan(
        [
            Op(name="pull", at=down(), size_bytes=10),
            Op(name="push", at=up(), size_bytes=10, after=("pull",)),
            Op(name="update", at=at, duration_ns=5000.0, after=("push",)),
        ]
    )
    ended = np.sort(ran(plan, workers=workers, steps=200).steps().end_ns)
    rate = (len(ended) - workers) / (ended[-1] - ended[workers - 1])
    assert rate == pytest.approx(cores / 5000.0, rel=1e-3)


def test_a_servers_queue_is_that_of_a_closed_network() -> None:
    """Machine repair: W workers think an exponential time, one server, exponential service.

    The utilisation of the server is known in closed form (M/M/1//W, Erlang's loss turned round).
    """
    rng = np.random.default_rng(7)
    workers, steps, recorded = 4, 3000, 4000
    think, serve = rng.exponential(3000.0, recorded), rng.exponential(1000.0, recorded)
    at = at_server(0, 1, "cores", shared=True)
    plan = make_plan(
        [
            Op(name="think", at=at_worker(), duration_ns=list(think)),
            Op(name="serve", at=at, duration_ns=list(serve), after=("think",)),
        ],
        recorded=recorded,
    )
    rates = []
    for seed in range(6):
        draws = Draws(
            step=np.random.default_rng(seed).integers(0, recorded, (workers, steps)),
            factor=np.ones((workers, 1)),
        )
        found = ran(plan, draws, stop_at_last=True, compiled=True).steps()
        rates.append(len(found.end_ns) / found.end_ns.max())
    service = serve.mean()
    weights = [1.0]  # of 0, 1, ... workers at the server
    for at_server_now in range(workers):
        weights.append(weights[-1] * (workers - at_server_now) * service / think.mean())
    expected = (1 - weights[0] / sum(weights)) / service
    error = np.std(rates, ddof=1) / np.sqrt(len(rates))
    assert abs(np.mean(rates) - expected) < 4 * error + 0.005 * expected


def test_backups_hide_as_many_stragglers_as_there_are_and_no_more() -> None:
    """Four of six count: two that are ten times as slow cost nothing, a third costs nine."""

    def cycle_ns(slow: int) -> float:
        factor = [10.0] * slow + [1.0] * (6 - slow)
        draws = same_draws(workers=6, steps=12, factor=factor)
        plan = job(update_ns=0.0, worker_ns=100_000.0)
        steps = ran(plan, draws, join=Join(by="step", first=4)).steps()
        fast = steps.worker == 5
        return float((steps.end_ns[fast][-1] - steps.end_ns[fast][3]) / (fast.sum() - 4))

    none, two, three = cycle_ns(0), cycle_ns(2), cycle_ns(3)
    assert two < 1.02 * none
    assert three > 7 * none
