"""Totals from a plan, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.training.plan import DOWN, SERVER, UP, WORKER, Channel, Processor, StepPlan
from sim.analytic import OneWorker, Phases, one_worker
from sim.plan import Network
from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    make_network,
    make_plan,
    up,
)

CHANNELS = (
    Channel(server=0, direction=DOWN, connection="data"),
    Channel(server=0, direction=DOWN, connection="extra"),
    Channel(server=1, direction=DOWN, connection="data"),
    Channel(server=1, direction=UP, connection="data"),
)
PROCESSORS = (
    Processor(node=WORKER, server=0, resource="gpu", capacity=2),
    Processor(node=WORKER, server=0, resource="cpu", capacity=1),
    Processor(node=SERVER, server=0, resource="cpu", capacity=1),
    Processor(node=SERVER, server=1, resource="cpu", capacity=4),
)
# place, bytes, durations of the two recorded steps
OPERATIONS = (
    (0, 100, (0, 0)),
    (1, 10, (0, 0)),
    (2, 7, (0, 0)),
    (0, 1, (0, 0)),
    (4, 0, (600, 1000)),
    (4, 0, (100, 300)),
    (5, 0, (50, 70)),
    (3, 40, (0, 0)),
    (6, 0, (20, 40)),
    (7, 0, (8, 16)),
)


def plan() -> StepPlan:
    count = len(OPERATIONS)
    return StepPlan(
        servers=2,
        names=tuple(f"op{i}" for i in range(count)),
        channels=CHANNELS,
        processors=PROCESSORS,
        place=np.array([o[0] for o in OPERATIONS]),
        size_bytes=np.array([o[1] for o in OPERATIONS]),
        priority=np.zeros(count, dtype=np.int64),
        duration_ns=np.array([o[2] for o in OPERATIONS], dtype=float).T,
        waits=np.array([0] + [1] * (count - 1)),
        after=np.arange(1, count),
        after_start=np.array([*range(count), count - 1]),
        sources=np.zeros((2, 1), dtype=np.int64),
        members=tuple((i,) for i in range(count)),
    )


def side_by_side(capacity: int) -> StepPlan:
    """Three computations of 100 at one processor, none of which waits for another; updates of 7."""
    ops = [Op(name=f"c{i}", at=at_worker(capacity), duration_ns=100.0) for i in range(3)]
    push = Op(name="push", at=up(), size_bytes=10, after=("c0", "c1", "c2"))
    updates = [
        Op(name=f"u{i}", at=at_server(capacity=capacity), duration_ns=7.0, after=("push",))
        for i in range(3)
    ]
    return make_plan([*ops, push, *updates])


@pytest.mark.parametrize(("capacity", "rounds"), [(1, 3), (2, 2), (3, 1)])
def test_what_is_computed_at_one_time_counts_once(capacity: int, rounds: int) -> None:
    found = one_worker(side_by_side(capacity), make_network(), 1)
    assert found.worker_ns == 100.0 * rounds
    assert found.server_ns == (7.0 * rounds,)


def test_two_processors_of_a_worker_that_work_at_one_time_count_once() -> None:
    ops = [
        Op(name="a", at=at_worker(1, "gpu"), duration_ns=50.0),
        Op(name="b", at=at_worker(1, "cpu"), duration_ns=80.0),
        Op(name="c", at=at_worker(1, "gpu"), duration_ns=10.0, after=("a", "b")),
    ]
    plan = make_plan([*ops, Op(name="up", at=up(), size_bytes=1, after=("c",))])
    assert one_worker(plan, make_network(), 1).worker_ns == 90.0


def network(*rates: int) -> Network:
    return Network(
        share="equal",
        server_bps=np.array(rates),
        worker_bps=np.array([10**9]),
        delay_ns=np.array([0]),
    )


def test_a_plan_is_added_up_by_server_and_direction():
    phases = Phases(down_ns=(1, 2), worker_ns=3, up_ns=(4, 5), server_ns=(6, 7))
    assert one_worker(plan(), network(10**9, 2 * 10**9), 32, 5000.0, phases) == OneWorker(
        down_bytes=(111, 7),
        up_bytes=(0, 40),
        worker_ns=1060,
        server_ns=(30, 12),
        rate_bps=(1e9, 2e9),
        batch=32,
        busiest_ns=500,
        one_worker_step_ns=5000,
        phases=phases,
    )


def test_times_on_the_ports_follow_their_rates():
    one = one_worker(plan(), network(10**9, 2 * 10**9), 32)
    assert one.down_ns == pytest.approx((888, 28))
    assert one.up_ns == pytest.approx((0, 160))
    assert one.serial_ns == pytest.approx(888 + 28 + 1060 + 160 + 30 + 12)
    assert one.parallel_ns == pytest.approx(888)
    assert one.ports_steps_per_s == pytest.approx(1e9 / 888)


def test_a_network_of_other_servers_is_refused():
    with pytest.raises(ScenarioError) as caught:
        one_worker(plan(), network(10**9), 32)
    assert str(caught.value) == "server_bps: 1: a rate for each of the plan's servers (2)"


GOOD = OneWorker(
    down_bytes=(5,), up_bytes=(5,), worker_ns=10, server_ns=(1,), rate_bps=(8,), batch=1
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"down_bytes": ()}, "down_bytes: 0: one value for each server"),
        ({"up_bytes": (1, 2)}, "up_bytes: 2: one value for each server (1 in down_bytes)"),
        ({"server_ns": (-1,)}, "server_ns: -1: finite, at least 0"),
        ({"rate_bps": (0,)}, "rate_bps: 0: finite, more than 0"),
        ({"worker_ns": float("nan")}, "worker_ns: nan: finite, at least 0"),
        ({"batch": 0}, "batch: 0: at least 1"),
        ({"busiest_ns": 0}, "busiest_ns: 0: more than 0, at most what the busiest node computes"),
        ({"busiest_ns": 12}, "busiest_ns: 12: more than 0"),
        ({"one_worker_step_ns": 0}, "one_worker_step_ns: 0: finite, more than 0"),
        (
            {"down_bytes": (0,), "up_bytes": (0,), "worker_ns": 0, "server_ns": (0,)},
            "one step: 0.0: finite, more than 0",
        ),
        (
            {"phases": Phases(down_ns=(1, 1), worker_ns=0, up_ns=(1, 1), server_ns=(0, 0))},
            "phases.down_ns: 2: one value for each server",
        ),
    ],
)
def test_bad_totals_are_named(change, message):
    with pytest.raises(ScenarioError) as caught:
        replace(GOOD, **change)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_phases_that_take_no_time_are_refused():
    with pytest.raises(ScenarioError, match="phases: 0: finite, more than 0"):
        Phases(down_ns=(0,), worker_ns=0, up_ns=(0,), server_ns=(0,))
