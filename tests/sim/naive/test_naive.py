"""The naive simulator against cases worked out by hand."""

import numpy as np
import pytest

from tests.sim.naive.plans import (
    Op,
    at_server,
    at_worker,
    chain_plan,
    down,
    make_network,
    make_plan,
    make_sending,
    same_draws,
    up,
)
from tests.sim.naive.twin import simulate

FIFO = make_sending("fifo")


def ends(run, plan, worker=0, step=0):
    return {
        plan.names[row.operation]: row.end_ns
        for row in run.operations
        if (row.worker, row.step) == (worker, step)
    }


def spans(run, plan, worker=0, step=0):
    return {
        plan.names[row.operation]: (row.ready_ns, row.start_ns, row.end_ns)
        for row in run.operations
        if (row.worker, row.step) == (worker, step)
    }


def begins(run, worker):
    return [row.start_ns for row in run.steps if row.worker == worker]


# By hand. A link carries a byte a nanosecond where nothing else is said.


def test_one_worker_without_overlap():
    plan = chain_plan(down_bytes=[1000], worker_ns=500, up_bytes=[1000], update_ns=200)
    run = simulate(plan, make_network(), FIFO, same_draws(steps=2), None)
    assert run.steps == [(0, 0, 0.0, 2700.0), (0, 1, 2700.0, 5400.0)]
    assert run.operations[:4] == [
        (0, 0, 0, 0.0, 0.0, 1000.0),
        (0, 0, 1, 1000.0, 1000.0, 1500.0),
        (0, 0, 2, 1500.0, 1500.0, 2500.0),
        (0, 0, 3, 2500.0, 2500.0, 2700.0),
    ]


def test_a_factor_slows_the_worker_and_not_the_server():
    run = simulate(chain_plan(), make_network(), FIFO, same_draws(factor=[2.0]), None)
    assert run.steps == [(0, 0, 0.0, 1000 + 2 * 500 + 1000 + 200)]


def test_a_step_repeats_the_recorded_one_that_was_drawn():
    plan = chain_plan(worker_ns=[500, 700, 900], recorded=3)
    draws = same_draws(steps=3)
    draws.step[0] = [2, 0, 1]
    run = simulate(plan, make_network(), FIFO, draws, None)
    assert [row.end_ns - row.start_ns for row in run.steps] == [3100, 2700, 2900]


def test_two_workers_get_half_each():
    run = simulate(chain_plan(), make_network(workers=2), FIFO, same_draws(workers=2), None)
    # 2000 for the pulls, 500, 2000 for the pushes, 200 apart.
    assert run.steps == [(0, 0, 0.0, 4700.0), (1, 0, 0.0, 4700.0)]


def test_shares_change_when_one_joins_or_leaves():
    plan = chain_plan()
    draws = same_draws(workers=2, factor=[1.0, 2.0])
    run = simulate(plan, make_network(workers=2), FIFO, draws, None)
    # Pulls end at 2000. Pushes: alone from 2500 to 3000, halves to 4000, alone to 4500.
    assert ends(run, plan, worker=0)["push0"] == 4000
    assert ends(run, plan, worker=1)["push0"] == 4500


def test_every_server_has_a_link_of_its_own():
    plan = chain_plan(down_bytes=[1000, 600], up_bytes=[300], servers=2)
    network = make_network(servers=2, server_bps=[8_000_000_000, 4_000_000_000])
    run = simulate(plan, network, FIFO, same_draws(), None)
    assert spans(run, plan)["pull0"] == (0, 0, 1000)
    assert spans(run, plan)["pull1"] == (0, 0, 1200)


def test_up_and_down_do_not_share_a_link():
    plan = make_plan(
        [Op(name="pull", at=down(), size_bytes=1000), Op(name="push", at=up(), size_bytes=700)]
    )
    run = simulate(plan, make_network(), FIFO, same_draws(), None)
    assert ends(run, plan) == {"push": 700, "pull": 1000}


def test_streams_of_a_connection_go_one_after_another_in_the_gates_order():
    plan = make_plan(
        [Op(name=name, at=down(), size_bytes=100) for name in "abc"], sources=[["c", "a", "b"]]
    )
    run = simulate(plan, make_network(), FIFO, same_draws(), None)
    assert ends(run, plan) == {"c": 100, "a": 200, "b": 300}
    assert spans(run, plan)["b"] == (0, 200, 300)


def test_all_sources_are_handed_over_before_the_first_chunk_is_chosen():
    plan = make_plan([Op(name=f"p{k}", at=down(), size_bytes=100, priority=k) for k in range(3)])
    run = simulate(plan, make_network(), make_sending("priority"), same_draws(), None)
    assert ends(run, plan) == {"p2": 100, "p1": 200, "p0": 300}


def test_dependents_are_handed_over_before_the_next_chunk_is_chosen():
    plan = make_plan(
        [
            Op(name="first", at=down(), size_bytes=100),
            Op(name="later", at=down(), size_bytes=100),
            Op(name="urgent", at=down(), size_bytes=100, after=("first",), priority=1),
        ]
    )
    run = simulate(plan, make_network(), make_sending("priority"), same_draws(), None)
    assert ends(run, plan) == {"first": 100, "urgent": 200, "later": 300}


def test_two_visits_with_a_window_smaller_than_a_stream():
    sizes = {"a": 1000, "b": 300, "c": 1000}
    plan = make_plan([Op(name=name, at=down(), size_bytes=size) for name, size in sizes.items()])
    sending = make_sending("two_visit", window_bytes=400)
    run = simulate(plan, make_network(), sending, same_draws(), None)
    # a 400, b 300, c 400; then the rest of a, 400 and 200, and of c.
    assert [(c.operation, c.end_ns) for c in run.chunks] == [
        (0, 400),
        (1, 700),
        (2, 1100),
        (0, 1500),
        (0, 1700),
        (2, 2100),
        (2, 2300),
    ]
    assert spans(run, plan)["a"] == (0, 0, 1700)


def a_stream_and_one_that_comes_meanwhile():
    return make_plan(
        [
            Op(name="long", at=down(), size_bytes=1000),
            Op(name="wait", at=at_worker(), duration_ns=100),
            Op(name="late", at=down(), size_bytes=200, after=("wait",), priority=1),
        ]
    )


def test_no_chunk_is_larger_than_told_and_the_urgent_go_first_after_it():
    plan = a_stream_and_one_that_comes_meanwhile()
    sending = make_sending("priority", chunk_bytes=300)
    run = simulate(plan, make_network(), sending, same_draws(), None)
    assert [(plan.names[c.operation], c.end_ns) for c in run.chunks] == [
        ("long", 300),
        ("late", 500),
        ("long", 800),
        ("long", 1100),
        ("long", 1200),
    ]


@pytest.mark.parametrize(("requeue_at_completion", "late_ends_ns"), [(0, 1200), (1, 600)])
def test_a_first_visit_of_several_chunks(requeue_at_completion, late_ends_ns):
    # 400 bytes in chunks of 200; the late one comes during the first chunk.
    plan = a_stream_and_one_that_comes_meanwhile()
    sending = make_sending(
        "two_visit", window_bytes=400, chunk_bytes=200, requeue_at_completion=requeue_at_completion
    )
    run = simulate(plan, make_network(), sending, same_draws(), None)
    assert ends(run, plan)["late"] == late_ends_ns


def test_fifo_goes_on_with_the_first_stream_as_its_credit_returns_at_once():
    plan = make_plan([Op(name=name, at=down(), size_bytes=1000) for name in "ab"])
    run = simulate(plan, make_network(), make_sending(window_bytes=400), same_draws(), None)
    assert [(c.operation, c.end_ns) for c in run.chunks] == [
        (0, 400),
        (0, 800),
        (0, 1000),
        (1, 1400),
        (1, 1800),
        (1, 2000),
    ]


def test_round_robin_takes_turns():
    plan = make_plan([Op(name=name, at=down(), size_bytes=250) for name in "ab"])
    sending = make_sending("round_robin", quantum=100)
    run = simulate(plan, make_network(), sending, same_draws(), None)
    assert ends(run, plan) == {"a": 450, "b": 500}


def test_a_connection_that_goes_on_keeps_its_clock():
    # The k-th chunk's target is a product, not a sum of rounded parts.
    sizes = [12_347, 1, 998_877, 31]
    rate_bps = 9_414_000_011
    plan = make_plan([Op(name=f"p{k}", at=down(), size_bytes=s) for k, s in enumerate(sizes)])
    run = simulate(plan, make_network(server_bps=rate_bps), FIFO, same_draws(), None)
    sent = np.cumsum(sizes)
    assert [row.end_ns for row in run.operations] == [
        int(n) * (8_000_000_000 / rate_bps) for n in sent
    ]


# Synchronisation.


def compute_only(staleness, steps, factors):
    plan = make_plan([Op(name="compute", at=at_worker(), duration_ns=100)])
    draws = same_draws(workers=len(factors), steps=steps, factor=factors)
    return simulate(plan, make_network(workers=len(factors)), FIFO, draws, staleness)


def test_asynchronous_workers_do_not_wait():
    run = compute_only(None, 3, [1, 3])
    assert begins(run, 0) == [0, 100, 200]
    assert begins(run, 1) == [0, 300, 600]


def test_bsp_is_a_barrier():
    run = compute_only(0, 3, [1, 3, 2])
    for worker in range(3):
        assert begins(run, worker) == [0, 300, 600]


def test_ssp_bounds_the_lead():
    run = compute_only(1, 4, [1, 3])
    assert begins(run, 0) == [0, 100, 300, 600]
    assert begins(run, 1) == [0, 300, 600, 900]


def test_who_has_no_step_left_holds_nobody_up():
    run = compute_only(0, 1, [1, 3])
    assert run.steps == [(0, 0, 0, 100), (1, 0, 0, 300)]


# Processors.


def test_a_processor_with_two_places_serves_first_in_first_out():
    durations = {"a": 100, "b": 300, "c": 100, "d": 50}
    plan = make_plan([Op(name=n, at=at_worker(2), duration_ns=d) for n, d in durations.items()])
    run = simulate(plan, make_network(), FIFO, same_draws(), None)
    assert spans(run, plan) == {
        "a": (0, 0, 100),
        "c": (0, 100, 200),
        "d": (0, 200, 250),
        "b": (0, 0, 300),
    }


def test_a_servers_resource_is_there_once_for_every_worker():
    plan = make_plan([Op(name="update", at=at_server(), duration_ns=100)])
    run = simulate(plan, make_network(workers=3), FIFO, same_draws(workers=3), None)
    assert [row.end_ns for row in run.steps] == [100, 100, 100]


# Delay.


def test_a_delay_holds_up_requests_and_what_arrives():
    plan = chain_plan()
    run = simulate(plan, make_network(delay_ns=50), FIFO, same_draws(), None)
    assert spans(run, plan) == {
        "pull0": (50, 50, 1100),
        "compute": (1100, 1100, 1600),
        "push0": (1600, 1600, 2650),
        "update0": (2650, 2650, 2850),
    }


def test_a_delay_does_not_hold_up_what_the_worker_sends_nor_the_next_stream():
    plan = make_plan(
        [
            Op(name="push", at=up(), size_bytes=100),
            Op(name="pull0", at=down(), size_bytes=100),
            Op(name="pull1", at=down(), size_bytes=100),
        ]
    )
    sending = make_sending(window_bytes=60)
    run = simulate(plan, make_network(delay_ns=1000), sending, same_draws(), None)
    assert spans(run, plan) == {
        "push": (0, 0, 1100),
        "pull0": (1000, 1000, 2100),
        "pull1": (1000, 1100, 2200),
    }


def test_pulls_are_asked_for_all_at_once():
    plan = make_plan([Op(name=f"p{k}", at=down(), size_bytes=100, priority=k) for k in range(3)])
    sending = make_sending("priority")
    run = simulate(plan, make_network(delay_ns=10), sending, same_draws(), None)
    assert ends(run, plan) == {"p2": 120, "p1": 220, "p0": 320}


def test_every_worker_has_its_own_delay():
    network = make_network(workers=2, delay_ns=[0, 400])
    plan = make_plan([Op(name="pull", at=down(), size_bytes=1000)])
    run = simulate(plan, network, FIFO, same_draws(workers=2), None)
    # Worker 0: 400 alone, 600 by halves to 1600; worker 1: 600 by then, 400 alone, then travels.
    assert run.steps == [(0, 0, 0, 1600), (1, 0, 0, 2400)]


def test_a_run_stops_when_told():
    plan = chain_plan()
    run = simulate(plan, make_network(), FIFO, same_draws(steps=9), None, stop_after_ns=2700)
    assert [row.end_ns for row in run.operations] == [1000, 1500, 2500, 2700]


# Order of events at one time.


def test_workers_are_served_by_number_at_one_time():
    run = simulate(chain_plan(), make_network(workers=3), FIFO, same_draws(workers=3), None)
    by_operation = [row.operation * 10 + row.worker for row in run.operations]
    assert by_operation == [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]


def test_kinds_of_events_at_one_time():
    plan = make_plan(
        [
            Op(name="update", at=at_server(), duration_ns=100),
            Op(name="push", at=up(), size_bytes=100),
            Op(name="compute", at=at_worker(), duration_ns=100),
            Op(name="pull1", at=down(1), size_bytes=100),
            Op(name="pull0", at=down(0), size_bytes=100),
        ],
        servers=2,
    )
    run = simulate(plan, make_network(servers=2), FIFO, same_draws(), None)
    order = [plan.names[row.operation] for row in run.operations]
    assert order == ["pull0", "pull1", "compute", "push", "update"]


def names_in_order(run, plan):
    return [(row.worker, plan.names[row.operation]) for row in run.operations]


def test_processors_are_served_by_number_and_places_in_order_of_start_at_one_time():
    plan = make_plan(
        [
            Op(name="second", at=at_worker(2, "b"), duration_ns=100),
            Op(name="third", at=at_worker(2, "b"), duration_ns=100),
            Op(name="first", at=at_worker(1, "a"), duration_ns=100),
        ]
    )
    run = simulate(plan, make_network(), FIFO, same_draws(), None)
    assert names_in_order(run, plan) == [(0, "first"), (0, "second"), (0, "third")]


def test_arrivals_at_one_time_go_by_worker_then_by_connection():
    plan = make_plan(
        [Op(name="up1", at=up(1), size_bytes=100), Op(name="up0", at=up(0), size_bytes=100)],
        servers=2,
    )
    network = make_network(servers=2, workers=2, delay_ns=[70, 70])
    run = simulate(plan, network, FIFO, same_draws(workers=2), None)
    assert {row.end_ns for row in run.operations} == {270}
    assert names_in_order(run, plan) == [(0, "up0"), (0, "up1"), (1, "up0"), (1, "up1")]


def test_the_gates_order_is_that_of_the_recorded_step():
    plan = make_plan(
        [Op(name=name, at=down(), size_bytes=100) for name in "ab"],
        recorded=2,
        sources=[["a", "b"], ["b", "a"]],
    )
    draws = same_draws(steps=2)
    draws.step[0] = [1, 0]
    run = simulate(plan, make_network(), FIFO, draws, None)
    assert names_in_order(run, plan) == [(0, "b"), (0, "a"), (0, "a"), (0, "b")]
