"""Every baseline by hand, at its limits, and in its order with the others."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcosim.errors import ScenarioError
from netcosim.training.plan import Processor, StepPlan
from sim.analytic import OneWorker, Phases, load, names, one_worker, predict
from sim.analytic.baselines import cynthia
from sim.plan import Network
from tests.sim.naive.plans import Op, at_server, at_worker, down, make_network, make_plan, up

SECOND = 1_000_000_000


@st.composite
def jobs(draw: st.DrawFn, servers: int | None = None) -> OneWorker:
    count = servers or draw(st.integers(1, 3))
    worker_ns = draw(st.integers(1, 2 * SECOND))

    def per_server(least: int, most: int) -> tuple[float, ...]:
        return tuple(draw(st.lists(st.integers(least, most), min_size=count, max_size=count)))

    server_ns = per_server(0, SECOND)
    node_ns = max(worker_ns, *server_ns)
    return OneWorker(
        down_bytes=per_server(0, 10**8),
        up_bytes=per_server(0, 10**8),
        worker_ns=worker_ns,
        server_ns=server_ns,
        rate_bps=per_server(10**6, 10**10),
        batch=draw(st.integers(1, 512)),
        busiest_ns=draw(st.none() | st.floats(node_ns / 8, node_ns)),
        phases=Phases(
            down_ns=per_server(0, SECOND),
            worker_ns=draw(st.integers(1, SECOND)),
            up_ns=per_server(0, SECOND),
            server_ns=server_ns,
        ),
    )


MS = 1_000_000
# 1 Gbit/s moves 125,000 bytes a millisecond: 40 ms down, 20 ms up.
JOB = OneWorker(
    down_bytes=(5_000_000,),
    up_bytes=(2_500_000,),
    worker_ns=100 * MS,
    server_ns=(10 * MS,),
    rate_bps=(10**9,),
    batch=64,
    # Nothing of 30 ms of forward beyond the downlink, an uplink as long as backward.
    phases=Phases(down_ns=(40 * MS,), worker_ns=0, up_ns=(70 * MS,), server_ns=(10 * MS,)),
)
workers = st.integers(1, 60)
CLOSE = 1 + 1e-9


def test_the_folder_is_the_registry():
    known = "cynthia cynthia_half lin lin_phases no_overlap perfect_overlap"
    assert names() == tuple(known.split())
    assert load("lin")(JOB, 3) == predict("lin", JOB, 3)
    with pytest.raises(ScenarioError, match='baseline: "none": unknown; allowed: cynthia, '):
        load("none")


@pytest.mark.parametrize("name", names())
def test_no_worker_is_refused(name):
    with pytest.raises(ScenarioError, match="workers: 0: at least 1"):
        predict(name, JOB, 0)


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        # 40 + 100 + 20 + 10 ms; the downlink carries 25 steps a second.
        ("no_overlap", 1, 1000 / 170),
        ("no_overlap", 4, 4000 / 170),
        ("no_overlap", 5, 25),
        ("perfect_overlap", 1, 10),
        ("perfect_overlap", 2, 20),
        ("perfect_overlap", 3, 25),
        ("lin", 1, 1000 / 170),
        # Two workers: 40 (1 + 40/170) + 20 (1 + 20/170) + 110 ms.
        ("lin", 2, 2000 / (170 + (1600 + 400) / 170)),
        # Tc 30 ms, U1 60/160: saturates between two and three workers.
        ("cynthia", 1, 1000 / 160),
        ("cynthia", 2, 2000 / 160),
        ("cynthia", 4, 4000 / (100 * 1.5 + 60)),
        # Tc 15 ms, U1 30/130.
        ("cynthia_half", 1, 1000 / 130),
        ("cynthia_half", 4, 4000 / 130),
        ("cynthia_half", 5, 5000 / (100 * 15 / 13 + 30)),
        # Down 40, up 70, server 10.
        ("lin_phases", 1, 1000 / 120),
        ("lin_phases", 2, 2000 / (120 + (1600 + 4900) / 120)),
    ],
)
def test_by_hand(name, count, expected):
    assert predict(name, JOB, count) == pytest.approx(expected)


def test_cynthia_takes_the_step_that_was_measured():
    measured = replace(JOB, one_worker_step_ns=120 * MS)
    assert cynthia.utilisation(measured, 30 * MS) == pytest.approx(0.5)
    assert predict("cynthia", measured, 3) == pytest.approx(3000 / (100 * 1.5 + 60))


def test_a_utilisation_is_at_most_one():
    overlapped = replace(JOB, worker_ns=10 * MS, one_worker_step_ns=40 * MS)
    assert cynthia.utilisation(overlapped, 30 * MS) == 1
    assert predict("cynthia", overlapped, 1) == pytest.approx(1000 / 70)


def test_halved_cynthia_may_promise_more_than_the_ports_carry():
    even = replace(JOB, up_bytes=JOB.down_bytes)
    assert predict("cynthia_half", even, 100) > predict("perfect_overlap", even, 100)


def test_cynthia_never_saturates_where_nothing_is_computed():
    idle = replace(JOB, worker_ns=0)
    assert predict("cynthia", idle, 1000) == pytest.approx(1000 * predict("cynthia", idle, 1))
    only_server = replace(idle, down_bytes=(0,), up_bytes=(0,))
    assert predict("cynthia", only_server, 1) == float("inf")


def test_phases_need_to_be_known_and_of_one_server():
    unknown = replace(JOB, phases=None)
    with pytest.raises(ScenarioError, match='phases: "unknown": lin_phases needs them'):
        predict("lin_phases", unknown, 2)
    two = replace(
        unknown, down_bytes=(1, 1), up_bytes=(1, 1), server_ns=(0, 0), rate_bps=(10**9, 10**9)
    )
    with pytest.raises(ScenarioError, match="servers: 2: lin_phases is for one server"):
        predict("lin_phases", two, 2)


def test_with_two_servers_each_port_is_its_own():
    two = OneWorker(
        down_bytes=(5_000_000, 1_250_000),
        up_bytes=(5_000_000, 1_250_000),
        worker_ns=100 * MS,
        server_ns=(10 * MS, 4 * MS),
        rate_bps=(10**9, 5 * 10**8),
        batch=1,
    )
    # 40 and 20 ms in each direction.
    assert predict("no_overlap", two, 1) == pytest.approx(1000 / 234)
    assert predict("perfect_overlap", two, 1) == pytest.approx(10)
    assert predict("perfect_overlap", two, 9) == pytest.approx(25)
    assert predict("cynthia", two, 1) == pytest.approx(1000 / 180)
    waiting = 2 * (1600 + 400) / 234
    assert predict("lin", two, 2) == pytest.approx(2000 / (234 + waiting))


def test_overlapping_computations_need_the_time_of_the_busiest_processor():
    wide = replace(JOB, busiest_ns=50 * MS)
    assert predict("perfect_overlap", wide, 1) == pytest.approx(20)
    assert predict("no_overlap", wide, 1) == predict("no_overlap", JOB, 1)


@given(jobs(), workers)
def test_the_bounds_are_ordered(job, count):
    lin, sequential, most = (
        predict(name, job, count) for name in ("lin", "no_overlap", "perfect_overlap")
    )
    assert lin <= sequential * CLOSE
    assert sequential <= most * CLOSE


@given(jobs(), workers)
def test_lin_is_not_slower_than_steps_in_lockstep(job, count):
    ports = sum((*job.down_ns, *job.up_ns))
    delays = job.worker_ns + sum(job.server_ns)
    assert predict("lin", job, count) * CLOSE >= count * 1e9 / (count * ports + delays)


@given(jobs(servers=1), workers, st.sampled_from(names()))
def test_another_worker_never_lowers_throughput(job, count, name):
    assert predict(name, job, count + 1) * CLOSE >= predict(name, job, count)


@given(jobs())
def test_one_worker_alone_is_sequential_for_lin(job):
    assert predict("lin", job, 1) == pytest.approx(1e9 / job.serial_ns)
    assert predict("no_overlap", job, 1) == pytest.approx(1e9 / job.serial_ns)


@given(jobs(servers=1))
def test_one_worker_alone_is_sequential_for_cynthia_but_for_the_server(job):
    without = replace(job, server_ns=(0,), busiest_ns=None)
    assert predict("cynthia", job, 1) == pytest.approx(predict("no_overlap", without, 1))


@given(jobs(), workers, st.none() | st.floats(1e6, 1e10))
def test_halving_never_slows_cynthia(job, count, measured):
    job = replace(job, one_worker_step_ns=measured)
    assert predict("cynthia_half", job, count) * CLOSE >= predict("cynthia", job, count)


def test_many_workers_fill_the_busiest_port():
    assert predict("lin", JOB, 400) == pytest.approx(25, rel=1e-9)
    # Cynthia's limit is 1 / (Tp U1), whatever the ports carry.
    assert predict("cynthia", JOB, 10**9) == pytest.approx(1000 / (100 * 60 / 160))


@given(jobs(servers=1), workers, st.integers(2, 100), st.sampled_from(names()))
def test_throughput_scales_with_the_unit_of_time(job, count, factor, name):
    slower = replace(
        job,
        worker_ns=job.worker_ns * factor,
        phases=Phases(
            down_ns=tuple(t * factor for t in job.phases.down_ns),
            worker_ns=job.phases.worker_ns * factor,
            up_ns=tuple(t * factor for t in job.phases.up_ns),
            server_ns=tuple(t * factor for t in job.phases.server_ns),
        ),
        server_ns=tuple(t * factor for t in job.server_ns),
        rate_bps=tuple(r / factor for r in job.rate_bps),
        busiest_ns=None if job.busiest_ns is None else job.busiest_ns * factor,
    )
    assert predict(name, slower, count) * factor == pytest.approx(predict(name, job, count))


def plan() -> StepPlan:
    """One operation after the other: bytes of transfers, durations of the two recorded steps."""
    gpu, cpu = at_worker(2, "gpu"), at_worker(1, "cpu")
    found: list[Op] = []
    for at, amount in (
        *((down(0), 100), (down(0, "extra"), 10), (down(1), 7), (down(0), 1)),
        *((gpu, (600, 1000)), (gpu, (100, 300)), (cpu, (50, 70)), (up(1), 40)),
        *((at_server(0), (20, 40)), (at_server(1, 4), (8, 16))),
    ):
        what = "duration_ns" if isinstance(at, Processor) else "size_bytes"
        after = (found[-1].name,) if found else ()
        found.append(Op(name=f"op{len(found)}", at=at, after=after, **{what: amount}))
    return make_plan(found, servers=2, recorded=2)


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
    return make_network(servers=len(rates), server_bps=rates)


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
