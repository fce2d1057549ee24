"""The naive simulator's joins and shared processors against cases worked out by hand.

A link carries a byte a nanosecond; pulls and pushes are of 1000 bytes.
"""

import pytest

from netcosim.training.plan import Processor
from netcosim.training.synchronisation import Join
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)
from tests.sim.naive.records import Run
from tests.sim.naive.twin import simulate

FIFO = make_sending("fifo")
JOB = 2


def tensors_plan(
    *, servers: int = 1, tensors: int = 2, worker_ns: float | list[list[float]] = 500.0
):
    """Each tensor pulled, used by itself, pushed and updated; the update takes 200.

    `worker_ns`: of all tensors in one recorded step, or of each tensor in each step.
    """
    times = worker_ns if isinstance(worker_ns, list) else [[worker_ns]] * tensors
    operations = []
    for t in range(tensors):
        at = t % servers
        operations += [
            Op(name=f"pull{t}", at=down(at), size_bytes=1000),
            Op(name=f"use{t}", at=at_worker(tensors), duration_ns=times[t], after=(f"pull{t}",)),
            Op(name=f"push{t}", at=up(at), size_bytes=1000, after=(f"use{t}",)),
            Op(name=f"update{t}", at=ps(at), duration_ns=200, after=(f"push{t}",)),
        ]
    once = {f"update{t}": [f"pull{t}"] for t in range(tensors)}
    return make_plan(operations, servers=servers, recorded=len(times[0]), once=once)


def ps(server: int = 0, cores: int = 1) -> Processor:
    """Cores of a server that all workers share."""
    return at_server(server, cores, shared=True)


def when(run: Run, plan, worker: int, step: int) -> dict[str, tuple[float, float]]:
    """Begin and end of each operation of a worker's step."""
    return {
        plan.names[row.operation]: (row.start_ns, row.end_ns)
        for row in run.operations
        if (row.worker, row.step) == (worker, step)
    }


def steps_of(run: Run, worker: int) -> list[tuple[int, float, float, float]]:
    return [
        (s.step, s.start_ns, s.end_ns, run.weights[worker, s.step])
        for s in run.steps
        if s.worker == worker
    ]


def weights(run: Run) -> list[tuple[int, float]]:
    """Workers in the order in which their steps ended, each with its weight."""
    return [(s.worker, run.weights[s.worker, s.step]) for s in run.steps]


def test_an_update_is_made_once_for_both_and_the_next_pulls_wait_for_it() -> None:
    plan = tensors_plan(tensors=1)
    draws = same_draws(workers=2, steps=2, factor=[1.0, 3.0])
    run = simulate(
        plan, make_network(workers=2), FIFO, draws, None, join=Join(by="tensor", first=2)
    )
    # Pulls end at 2000; gradients at 2500 and 3500, pushed by 3500 and 4500; the update by 4700.
    assert when(run, plan, 0, 0)["push0"] == (2500, 3500)
    assert when(run, plan, 1, 0)["push0"] == (3500, 4500)
    assert when(run, plan, JOB, 0) == {"update0": (4500, 4700)}
    assert steps_of(run, 0)[:1] == [(0, 0, 3500, 1)]
    # The first begins its step at once; its pull has to wait for the update.
    assert when(run, plan, 0, 1)["pull0"] == (4700, 6700)
    assert steps_of(run, 0)[1][1] == 3500
    assert [row.operation for row in run.operations if row.worker == JOB] == [3, 3]


def test_by_step_nobody_begins_before_all_updates_are_made() -> None:
    plan = tensors_plan(tensors=2, servers=2)
    draws = same_draws(workers=2, steps=2, factor=[1.0, 3.0])
    network = make_network(workers=2, servers=2)
    run = simulate(plan, network, FIFO, draws, None, join=Join(by="step", first=2))
    assert when(run, plan, JOB, 0) == {"update0": (4500, 4700), "update1": (4500, 4700)}
    assert [start for _, start, _, _ in steps_of(run, 0)] == [0, 4700]
    assert [start for _, start, _, _ in steps_of(run, 1)] == [0, 4700]


def test_by_tensor_each_server_counts_for_itself() -> None:
    """Two servers, one of two workers is enough: each server takes another worker's gradient."""
    network = make_network(workers=2, servers=2)
    by_tensor, by_step = Join(by="tensor", first=1), Join(by="step", first=1)
    plan = tensors_plan(servers=2, worker_ns=[[500], [9000]])
    draws = same_draws(workers=2, steps=1, factor=[1.0, 0.5])
    # Worker 1 is faster at both, and its first gradient is before the other's.
    run = simulate(plan, network, FIFO, draws, None, join=by_tensor)
    assert weights(run) == [(1, 1.0), (0, 0.0)]
    # Now each is faster at one: what is slow for one is fast for the other.
    plan = tensors_plan(servers=2, worker_ns=[[500, 9000], [9000, 500]])
    draws = same_draws(workers=2, steps=1)
    draws.step[1] = 1
    apart = simulate(plan, network, FIFO, draws, None, join=by_tensor)
    # Both end at one time: the last gradient of worker 1 on the link of the lower server.
    assert weights(apart) == [(1, 0.5), (0, 0.5)]
    whole = simulate(plan, network, FIFO, draws, None, join=by_step)
    assert weights(whole) == [(1, 1.0), (0, 0.0)]


def test_a_late_worker_finishes_sending_and_begins_the_newest_step() -> None:
    plan = tensors_plan(tensors=1)
    draws = same_draws(workers=2, steps=6, factor=[1.0, 20.0])
    run = simulate(
        plan, make_network(workers=2), FIFO, draws, None, join=Join(by="tensor", first=1)
    )
    fast, late = steps_of(run, 0), steps_of(run, 1)
    assert [step for step, *_ in fast] == [0, 1, 2, 3, 4, 5]
    assert all(weight == 1 for *_, weight in fast)
    # Pulled by 2000, computed by 12000, pushed by 13000 at the latest.
    assert late[0][3] == 0
    assert 13000 <= late[0][2] <= 14000
    ended = sum(end + 200 <= late[0][2] for _, _, end, _ in fast)
    assert late[1][0] == ended > 1


@pytest.mark.parametrize(("cores", "end_ns"), [(1, 600.0), (2, 400.0), (3, 200.0)])
def test_workers_share_a_servers_cores(cores: int, end_ns: float) -> None:
    """Three updates of 200 that are ready at one time, each worker's own."""
    plan = make_plan(
        [
            Op(name="wait", at=at_worker(), duration_ns=100),
            Op(name="update", at=ps(0, cores), duration_ns=200, after=("wait",)),
        ]
    )
    run = simulate(plan, make_network(workers=3), FIFO, same_draws(workers=3), None)
    assert max(s.end_ns for s in run.steps) == 100 + end_ns


def test_overlapping_steps_push_and_pull_at_once() -> None:
    """Rotated: gradient, push, join, update, pull, use; the next step's gradients are behind."""
    operations = []
    for t in range(2):
        operations += [
            Op(name=f"gradient{t}", at=at_worker(1), duration_ns=500),
            Op(name=f"push{t}", at=up(), size_bytes=1000, after=(f"gradient{t}",)),
            Op(name=f"update{t}", at=ps(), duration_ns=200, after=(f"push{t}",)),
            Op(name=f"pull{t}", at=down(), size_bytes=1000, after=(f"update{t}",)),
            Op(name=f"use{t}", at=at_worker(1), duration_ns=300, after=(f"pull{t}",)),
        ]
    plan = make_plan(operations, once={"update0": [], "update1": []})
    run = simulate(
        plan, make_network(), FIFO, same_draws(steps=2), None, join=Join(by="tensor", first=1)
    )
    found = when(run, plan, 0, 0)
    assert found["push0"] == (500, 1500)
    assert found["pull0"] == (1700, 2700)
    assert found["push1"] == (1500, 2500)  # while tensor 0 is pulled
    assert found["pull1"] == (2700, 3700)
    assert steps_of(run, 0)[0][2] == 4000
    whole = simulate(
        plan, make_network(), FIFO, same_draws(steps=2), None, join=Join(by="step", first=1)
    )
    found = when(whole, plan, 0, 0)
    assert found["pull0"] == (2900, 3900)  # both updates are made one after the other, by 2900
    assert found["pull1"] == (3900, 4900)
