"""Properties of any run of the naive simulator."""

from itertools import pairwise

import numpy as np
import pytest

from h2model.disciplines import names
from netcosim.training.plan import DOWN, WORKER
from tests.sim.naive import twin
from tests.sim.naive.disciplines import machine_scheduler
from tests.sim.naive.plans import make_network
from tests.sim.naive.random_plans import random_draws, random_network, random_plan, random_sending
from tests.sim.naive.twin import simulate

CASES = [(seed, ties) for seed in range(24) for ties in (False, True)]
SHARES = ["equal", "max_min", "two_servers"]


def random_case(seed, ties, staleness=None):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, ties=ties)
    network = random_network(rng, share=SHARES[seed % 3], ties=ties)
    sending = random_sending(rng, discipline=names()[seed // 3 % len(names())], ties=ties)
    draws = random_draws(rng, plan, ties=ties)
    return plan, network, sending, draws, staleness


def union(intervals):
    """The union of intervals, as few as possible."""
    joined = []
    for start, end in sorted(intervals):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(end, joined[-1][1])
        else:
            joined.append([start, end])
    return joined


def assert_covered(start, end, cover):
    if end > start:
        assert any(a <= start and end <= b for a, b in cover)


@pytest.mark.parametrize(("seed", "ties"), CASES)
def test_everything_ends_once_and_after_what_it_waits_for(seed, ties):
    plan, network, sending, draws, staleness = random_case(seed, ties)
    run = simulate(plan, network, sending, draws, staleness)
    workers, steps = draws.step.shape
    assert len(run.steps) == workers * steps
    rows = {(r.worker, r.step, r.operation): r for r in run.operations}
    assert len(rows) == len(run.operations) == workers * steps * plan.operations
    order = [r.end_ns for r in run.operations]
    assert order == sorted(order)
    for worker, step, start_ns, end_ns in run.steps:
        own = [rows[worker, step, i] for i in range(plan.operations)]
        assert end_ns == max(r.end_ns for r in own)
        for i, row in enumerate(own):
            assert start_ns <= row.ready_ns <= row.start_ns <= row.end_ns
            for dependent in plan.after[plan.after_start[i] : plan.after_start[i + 1]]:
                assert row.end_ns <= own[dependent].ready_ns


@pytest.mark.parametrize(("seed", "ties"), CASES)
def test_bytes_are_conserved_and_a_connection_sends_one_chunk_at_a_time(seed, ties):
    plan, network, sending, draws, staleness = random_case(seed, ties)
    run = simulate(plan, network, sending, draws, staleness)
    sent = {}
    for chunk in run.chunks:
        key = chunk.worker, chunk.step, chunk.operation
        sent.setdefault(key, []).append(chunk)
        assert plan.place[chunk.operation] == chunk.channel
    for row in run.operations:
        if plan.place[row.operation] < len(plan.channels):
            chunks = sent[row.worker, row.step, row.operation]
            assert sum(c.size_bytes for c in chunks) == plan.size_bytes[row.operation]
            assert row.start_ns == chunks[0].start_ns
            assert row.end_ns == chunks[-1].end_ns + network.delay_ns[row.worker]
    for worker in range(len(draws.step)):
        for channel in range(len(plan.channels)):
            own = [c for c in run.chunks if (c.worker, c.channel) == (worker, channel)]
            assert all(a.end_ns <= b.start_ns for a, b in pairwise(own))


@pytest.mark.parametrize(("seed", "ties"), CASES)
def test_no_connection_and_no_processor_rests_while_there_is_work(seed, ties):
    plan, network, sending, draws, staleness = random_case(seed, ties)
    run = simulate(plan, network, sending, draws, staleness)
    for row in run.operations:
        place = plan.place[row.operation]
        if place < len(plan.channels):
            own = [
                (c.start_ns, c.end_ns)
                for c in run.chunks
                if (c.worker, c.channel) == (row.worker, place)
            ]
            assert_covered(row.ready_ns, row.start_ns, union(own))
        else:
            capacity = plan.processors[place - len(plan.channels)].capacity
            others = [
                (r.start_ns, r.end_ns)
                for r in run.operations
                if r.worker == row.worker and plan.place[r.operation] == place and r is not row
            ]
            moments = {row.ready_ns, *(end for _, end in others), row.start_ns}
            for t in moments:
                running = sum(start <= t < end for start, end in others)
                assert running <= capacity
                if row.ready_ns <= t < row.start_ns:
                    assert running == capacity


@pytest.mark.parametrize(("seed", "ties"), [case for case in CASES if case[0] % 3 == 0])
def test_an_equally_shared_link_carries_its_rate_whenever_someone_sends(seed, ties):
    plan, network, sending, draws, staleness = random_case(seed, ties)
    full = make_network(servers=2, workers=3, server_bps=network.server_bps)
    run = simulate(plan, full, sending, draws, staleness)
    for server, rate_bps in enumerate(full.server_bps):
        for direction in (0, 1):
            on_link = [
                chunk
                for chunk in run.chunks
                if plan.channels[chunk.channel].server == server
                and plan.channels[chunk.channel].direction == direction
            ]
            busy_ns = sum(b - a for a, b in union((c.start_ns, c.end_ns) for c in on_link))
            size_bytes = sum(c.size_bytes for c in on_link)
            assert busy_ns == pytest.approx(size_bytes * 8e9 / rate_bps, rel=1e-9)


@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize(("seed", "ties"), CASES[:12])
def test_nobody_leads_by_more_and_nobody_waits_for_nothing(seed, ties, staleness):
    plan, network, sending, draws, _ = random_case(seed, ties)
    run = simulate(plan, network, sending, draws, staleness)
    workers, steps = draws.step.shape
    end = {(r.worker, r.step): r.end_ns for r in run.steps}
    start = {(r.worker, r.step): r.start_ns for r in run.steps}
    for worker in range(workers):
        for step in range(1, steps):
            slowest = max(
                (end[w, step - staleness - 1] for w in range(workers) if step > staleness),
                default=0.0,
            )
            assert start[worker, step] == max(end[worker, step - 1], slowest)


@pytest.mark.parametrize(("seed", "ties"), CASES)
def test_computations_take_what_was_drawn(seed, ties):
    plan, network, sending, draws, staleness = random_case(seed, ties)
    run = simulate(plan, network, sending, draws, staleness)
    for row in run.operations:
        p = plan.place[row.operation] - len(plan.channels)
        if p >= 0:
            duration_ns = plan.duration_ns[draws.step[row.worker, row.step], row.operation]
            if plan.processors[p].node == WORKER:
                duration_ns = duration_ns * draws.factor[row.worker, row.step]
            assert row.end_ns == row.start_ns + duration_ns


@pytest.mark.parametrize("seed", range(6))
def test_shares_agree_where_they_mean_the_same(seed):
    rng = np.random.default_rng(seed)
    plan = random_plan(rng, servers=1, operations=10)
    draws = random_draws(rng, plan)
    sending = random_sending(rng)
    runs = [
        simulate(
            plan,
            make_network(share=share, workers=3, worker_bps=10**13, server_bps=3_000_000_019),
            sending,
            draws,
            None,
        )
        for share in SHARES
    ]
    for run in runs[1:]:
        assert [r[:3] for r in run.operations] == [r[:3] for r in runs[0].operations]
        assert [r.end_ns for r in run.operations] == pytest.approx(
            [r.end_ns for r in runs[0].operations], rel=1e-9
        )


@pytest.mark.parametrize(("seed", "ties"), CASES)
def test_the_state_machines_give_the_same_run_as_their_twins(seed, ties, monkeypatch):
    case = random_case(seed, ties, staleness=1)
    by_twins = simulate(*case)
    monkeypatch.setattr(twin, "twin_scheduler", machine_scheduler)
    assert simulate(*case) == by_twins


def test_random_plans_have_all_that_a_plan_can_have():
    plans = [random_plan(np.random.default_rng(seed)) for seed in range(20)]
    assert all(p.waits.sum() == len(p.after) == p.after_start[-1] for p in plans)
    assert any(len({c.connection for c in p.channels}) > 1 for p in plans)
    assert any(c.direction == DOWN and c.server == 1 for p in plans for c in p.channels)
    assert any(r.capacity > 1 for p in plans for r in p.processors)
    assert any((p.sources[0] != p.sources[1]).any() for p in plans)
