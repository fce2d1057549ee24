"""Calls that ask for tensors: what they take of links, in closed form."""

import pytest

from sim.plan import Calls
from tests.sim.engines import make_engine, ran
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    down,
    make_network,
    make_plan,
    make_sending,
    up,
)

STEPS = 3
COMPUTE_NS, UPDATE_NS = 5000.0, 100.0
PULL_BYTES, PUSH_BYTES = 1000, 2000
CALLS = Calls(up_bytes=(300,), down_bytes=(200,))


def plan():
    """A parameter, what is computed with it, its gradient and its update; a byte takes a ns."""
    return make_plan(
        [
            Op(name="pull", at=down(), size_bytes=PULL_BYTES),
            Op(name="compute", at=at_worker(), duration_ns=COMPUTE_NS, after=("pull",)),
            Op(name="push", at=up(), size_bytes=PUSH_BYTES, after=("compute",)),
            Op(name="update", at=at_server(), duration_ns=UPDATE_NS, after=("push",)),
        ]
    )


def ends(calls, *, discipline="fifo", delay_ns=0, workers=1):
    """End of each operation, ns, by worker, step and name."""
    job = plan()
    engine = ran(
        job,
        workers=workers,
        steps=STEPS,
        network=make_network(workers=workers, delay_ns=delay_ns),
        sending=make_sending(discipline, chunk_bytes=10_000),
        keep_operations=True,
        in_parts=True,
        calls=calls,
    )
    found = engine.operations()
    keys = zip(found.worker, found.step, found.operation, found.end_ns, strict=True)
    return {(int(w), int(s), job.names[op]): float(end) for w, s, op, end in keys}


def test_the_first_parameters_share_their_port_with_the_calls_for_gradients():
    found = ends(CALLS)
    assert found[0, 0, "pull"] == 200 + PULL_BYTES
    assert found[0, 0, "push"] == 200 + PULL_BYTES + COMPUTE_NS + PUSH_BYTES + 300


def test_later_ones_do_not_where_calls_go_while_gradients_are_sent():
    with_calls, without = ends(CALLS), ends(None)
    for step in range(1, STEPS - 1):
        requests = 300 * step
        for name, later in (("pull", requests), ("compute", requests), ("push", requests + 300)):
            assert with_calls[0, step, name] - without[0, step, name] == 200 + later


@pytest.mark.parametrize("discipline", ["fifo", "priority", "round_robin"])
def test_requests_overtake_gradients(discipline):
    """The gradient shares its port with the request that is made when it is handed over."""
    with_calls = ends(CALLS, discipline=discipline)
    without = ends(None, discipline=discipline)
    assert with_calls[0, 0, "push"] - without[0, 0, "push"] == 200 + 300


def test_workers_share_the_port_for_calls_too():
    found = ends(CALLS, workers=2)
    assert found[0, 0, "pull"] == found[1, 0, "pull"] == 2 * (200 + PULL_BYTES)


def test_calls_leave_when_the_request_has_arrived():
    found = ends(CALLS, delay_ns=50_000)
    assert found[0, 0, "pull"] == 2 * 50_000 + 200 + PULL_BYTES


def test_calls_of_no_bytes_are_none():
    assert ends(Calls(up_bytes=(0,), down_bytes=(0,))) == ends(None)


def test_nothing_of_a_step_is_a_call():
    assert len(ends(CALLS, workers=2)) == 2 * STEPS * plan().operations


def test_they_are_refused_where_steps_are_not_in_parts():
    with pytest.raises(ValueError, match="calls"):
        make_engine(plan(), calls=CALLS)
