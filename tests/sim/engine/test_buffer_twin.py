"""Chunks that a kernel's buffer has taken: the engine against the naive twin."""

from dataclasses import replace

import numpy as np
import pytest

from h2model import disciplines
from netcosim.training.plan import DOWN, StepPlan
from tests.sim.engine.test_engine_twin import (
    Job,
    assert_equal_bits,
    assert_same,
    engine_of,
    random_job,
)
from tests.sim.engines import make_engine, ran
from tests.sim.naive.plans import Op, at_worker, down, make_plan, make_sending
from tests.sim.naive.twin import simulate


def buffered(seed: int, discipline: str, *, ties: bool = False) -> Job:
    share = ["equal", "max_min"][seed % 2]
    plan, network, sending, draws, staleness = random_job(seed, discipline, share, ties=ties)
    rng = np.random.default_rng(seed)
    small, sizes = [1000, 2000], [1, 3000, 10_000] if ties else [1, 9_001, 40_009, 10**6]
    sending = replace(
        sending,
        chunk_bytes=int(rng.choice(small if ties else [1500, 4801])),
        buffer_bytes=int(rng.choice(sizes)),
        writes_each=bool(rng.integers(2)),
    )
    return plan, network, sending, draws, staleness


@pytest.mark.oracle
@pytest.mark.parametrize("discipline", disciplines.names())
def test_the_text_agrees_with_the_twin(discipline):
    for seed in range(10):
        for ties in (False, True):
            job = buffered(seed, discipline, ties=ties)
            if ties:
                job = (job[0], replace(job[1], both_busy=1.0), *job[2:])
            engine = engine_of(job)
            engine.run()
            assert_same(engine, simulate(*job))


@pytest.mark.oracle
def test_compiled_and_interpreted_text_agree_to_the_last_bit():
    for seed in range(0, 20, 2):
        job = buffered(seed, "write_cycle")
        assert_equal_bits(*(engine_of(job, compiled=how) for how in (True, False)))


def late_plan() -> StepPlan:
    """A stream of 100 chunks, and one that is more urgent behind half of it."""
    return make_plan(
        [
            Op(name="long", at=down(), size_bytes=100_000),
            Op(name="wait", at=at_worker(), duration_ns=50_000.0),
            Op(name="urgent", at=down(), size_bytes=1_000, after=("wait",), priority=9),
        ]
    )


@pytest.mark.parametrize("buffer_bytes", [0, 1_000, 7_000, 30_000, 10**6])
def test_what_is_urgent_waits_for_all_that_the_kernel_has(buffer_bytes):
    """A byte takes a nanosecond; at 50 us a chunk ends, and the buffer has all it can have."""
    sending = replace(make_sending("priority", chunk_bytes=1_000), buffer_bytes=buffer_bytes)
    rows = ran(late_plan(), sending=sending, keep_operations=True).operations()
    assert late_plan().channels[0].direction == DOWN
    (urgent,) = np.flatnonzero(rows.operation == 2)
    # What has just left makes room for the chunk of the urgent one, or for one before it.
    ahead = min(max(buffer_bytes - 1_000, 0), 50_000)
    assert rows.start_ns[urgent] in (50_000 + ahead, 50_000 + ahead + 1_000)
    assert rows.end_ns.max() == 101_000


def test_a_stream_that_ends_early_takes_its_chunks_out_of_the_buffer():
    for compiled_seed in range(6):
        sending = replace(make_sending("fifo", chunk_bytes=1_000), buffer_bytes=20_000)
        engine = make_engine(late_plan(), sending=sending, keep_operations=True)
        at = 10_500.0 + 997 * compiled_seed
        engine.run(at)
        assert engine.end_early(0, 0)
        engine.run()
        rows = engine.operations()
        (urgent,) = np.flatnonzero(rows.operation == 2)
        assert rows.start_ns[urgent] == 50_000
        assert rows.end_ns.max() == 51_000


@pytest.mark.parametrize(("writes_each", "urgent_ends_ns"), [(False, 10_000), (True, 13_000)])
def test_who_writes_each_message_has_begun_the_first_when_the_urgent_one_comes(
    writes_each, urgent_ends_ns
):
    """Both are ready at once: three chunks of the first fit in the kernel before the second."""
    ops = [
        Op(name="long", at=down(), size_bytes=50_000, priority=0),
        Op(name="urgent", at=down(), size_bytes=10_000, priority=1),
    ]
    sending = replace(
        make_sending("priority", chunk_bytes=1_000), buffer_bytes=3_000, writes_each=writes_each
    )
    rows = ran(make_plan(ops), sending=sending, keep_operations=True).operations()
    assert rows.end_ns[rows.operation == 1] == urgent_ends_ns
