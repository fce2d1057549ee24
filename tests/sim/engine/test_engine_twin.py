"""The engine against the naive twin: whole traces, over networks, disciplines, shares and modes."""

from dataclasses import fields, replace

import numpy as np
import pytest

from h2model import disciplines
from netcosim.training.plan import Draws, StepPlan
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.plan import Network, Sending
from tests.sim.naive.random_plans import random_draws, random_network, random_plan, random_sending
from tests.sim.naive.records import Run
from tests.sim.naive.twin import simulate

RELATIVE = 1e-9


def assert_same(engine: Engine, twin: Run) -> None:
    """Every operation of every step: the same times; the same steps."""
    found, expected = engine.operations(), twin.operations
    assert len(found.worker) == len(expected)
    rows = np.stack([found.worker, found.step, found.operation], axis=1)
    times = np.stack([found.ready_ns, found.start_ns, found.end_ns], axis=1)
    by_name = np.lexsort(rows.T[::-1])
    listed = sorted(tuple(row) for row in expected)
    np.testing.assert_array_equal(rows[by_name], [row[:3] for row in listed])
    np.testing.assert_allclose(times[by_name], [row[3:] for row in listed], rtol=RELATIVE)
    steps = engine.steps()
    ends = {(w, s): (a, b) for w, s, a, b in twin.steps}
    for w, s, a, b in zip(steps.worker, steps.step, steps.start_ns, steps.end_ns, strict=True):
        assert (a, b) == pytest.approx(ends.pop((w, s)), rel=RELATIVE)
    assert not ends


Job = tuple[StepPlan, Network, Sending, Draws, int | None]


def assert_equal_bits(compiled: Engine, plain: Engine) -> None:
    """Both leave the same, to the last bit."""
    for engine in (compiled, plain):
        engine.run()
    for table in ("operations", "steps"):
        one, other = (getattr(engine, table)() for engine in (compiled, plain))
        for field in fields(one):
            ours, theirs = (getattr(each, field.name) for each in (one, other))
            np.testing.assert_array_equal(ours, theirs, f"{table}: {field.name}")
    np.testing.assert_array_equal(compiled.spent_ns, plain.spent_ns)


def random_job(seed: int, discipline: str, share: str, *, ties: bool = False) -> Job:
    rng = np.random.default_rng(seed)
    servers = 2 if share == "two_servers" else int(rng.integers(1, 4))
    workers = int(rng.integers(1, 5))
    plan = random_plan(rng, operations=int(rng.integers(4, 24)), servers=servers, ties=ties)
    network = random_network(rng, servers=servers, workers=workers, share=share, ties=ties)
    sending = random_sending(rng, discipline=discipline, ties=ties)
    draws = random_draws(rng, plan, workers=workers, steps=4, ties=ties)
    staleness = [None, 0, 1, 2][int(rng.integers(0, 4))]
    return plan, network, sending, draws, staleness


def engine_of(job: Job, *, compiled: bool = False) -> Engine:
    """The generic engine on this job, all operations kept."""
    plan, network, sending, draws, staleness = job
    control = Control(staleness=staleness, keep_operations=True)
    return Engine(plan, network, sending, draws, control, compiled=compiled)


@pytest.mark.oracle
@pytest.mark.parametrize("share", ["equal", "two_servers", "max_min"])
@pytest.mark.parametrize("discipline", disciplines.names())
def test_the_text_agrees_with_the_twin(discipline: str, share: str) -> None:
    for seed in range(8):
        job = random_job(seed, discipline, share)
        engine = engine_of(job)
        engine.run()
        assert_same(engine, simulate(*job))


@pytest.mark.oracle
@pytest.mark.parametrize("share", ["equal", "two_servers", "max_min"])
def test_what_a_port_carries_at_once_after_a_rest(share: str) -> None:
    """Of several that begin at one instant any may have it, so each link has one connection."""
    found = 0
    for seed in range(900, 1200):
        discipline = disciplines.names()[seed % len(disciplines.names())]
        plan, network, *rest = random_job(seed, discipline, share)
        ways = [(channel.server, channel.direction) for channel in plan.channels]
        if len(network.worker_bps) > 1 or len(ways) > len(set(ways)) or found == 12:
            continue
        found += 1
        bucket_bytes = [300, 3_000, 40_000, 10**8][seed % 4]
        job = (plan, replace(network, bucket_bytes=bucket_bytes), *rest)
        engine = engine_of(job)
        engine.run()
        twin = simulate(*job)
        assert_same(engine, twin)
        if plan.size_bytes.any():
            assert twin.operations != simulate(plan, network, *rest).operations
    assert found == 12


@pytest.mark.oracle
def test_the_order_of_what_happens_at_one_time_is_the_twins() -> None:
    """With fixed arithmetic: equal shares of ports that always have their whole rate."""
    for seed in range(120):
        discipline = disciplines.names()[seed % len(disciplines.names())]
        plan, network, *rest = random_job(seed, discipline, "equal", ties=True)
        job = (plan, replace(network, both_busy=1.0), *rest)
        engine = engine_of(job)
        engine.run()
        assert_same(engine, simulate(*job))


@pytest.mark.parametrize(
    ("discipline", "share"), [("two_visit", "equal"), ("write_cycle", "max_min")]
)
def test_compiled_and_interpreted_text_agree_to_the_last_bit(discipline: str, share: str) -> None:
    for seed in range(8):
        job = random_job(seed, discipline, share)
        assert_equal_bits(*(engine_of(job, compiled=how) for how in (True, False)))
