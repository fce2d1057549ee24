"""A training job over models of its connections, worked out by hand."""

from dataclasses import dataclass, replace

import pytest

from h2model.connection import Connection
from h2model.records import LinkModel, ReceiverModel, SenderModel
from h2model.training_job import (
    ASK_GRADIENTS,
    ASK_PULLS,
    GRADIENT,
    PULL,
    JobOverModels,
    Models,
    Way,
)
from netcosim.training.job import TrainingJob
from netcosim.training.plan import StepPlan
from tests.sim.engines import make_job
from tests.sim.naive.plans import chain_plan, same_draws

BYTE_A_NS = 8e9
HEADERS_BYTES = 30


@dataclass(slots=True)
class EqualCalls:
    """Calls of one size, whose answers have no HEADERS."""

    beside_bytes: int = 10

    def call_bytes(self, path: str) -> int:
        return HEADERS_BYTES

    def answer_bytes(self, size_bytes: int) -> int:
        return 0


SIZE = 100_000


def plan(tensors: int = 1) -> StepPlan:
    """Pull everything, compute 50 us, push everything, each update 10 us."""
    return chain_plan(
        down_bytes=[SIZE] * tensors, worker_ns=50_000, up_bytes=[SIZE] * tensors, update_ns=10_000
    )


def job(workers: int, tensors: int = 1, steps: int = 3) -> TrainingJob:
    return make_job(plan(tensors), same_draws(workers, steps), staleness=0)


def models(job: TrainingJob, link: LinkModel, **changes) -> Models:
    """Everybody's ways to the workers share a link, and so do those to the server."""
    kinds = (PULL, GRADIENT, ASK_GRADIENTS, ASK_PULLS)
    ways = [Way(kind, w, 0) for kind in kinds for w in range(job.workers)]

    def shares(busy):
        to_workers = [i for i in busy if ways[i].kind in (PULL, ASK_GRADIENTS)]
        counts = {True: len(to_workers), False: len(busy) - len(to_workers)}
        return {i: BYTE_A_NS / counts[i in to_workers] for i in busy}

    settings = {
        "connections": {
            way: Connection(SenderModel(discipline="fifo"), ReceiverModel(), link)
            for way in ways
            if way.kind in (PULL, GRADIENT)
        },
        "links": dict.fromkeys(ways, link),
        "shares": shares,
        "message_bytes": dict(enumerate(job.plan.size_bytes.tolist())),
        "calls": {way: EqualCalls() for way in ways if way.kind in (PULL, GRADIENT)},
        "whole_with_trailers": False,
        "writes_each": False,
    }
    return Models(**settings | changes)


LINK = LinkModel(rate_bps=BYTE_A_NS, past_bytes=10**6, segment_bytes=1448, bucket_bytes=0)


def wire_ns(size_bytes: int) -> float:
    """A byte a nanosecond, and a header for each frame of 16 KiB."""
    return size_bytes + 9 * -(-size_bytes // 16384)


def test_one_worker_takes_its_transfers_its_computing_and_the_update():
    run = JobOverModels(job(1), models(job(1), LINK))
    run.run()
    # The first request is 10 us of an update short: nothing is to be waited for.
    step_ns = 2 * wire_ns(SIZE) + 50_000
    assert run.delivered_ns[0, 0, 0] == pytest.approx(wire_ns(SIZE), abs=3_000)
    assert run.delivered_ns[0, 0, 2] == pytest.approx(step_ns, abs=6_000)
    assert run.delivered_ns[0, 1, 0] == pytest.approx(step_ns + 10_000 + wire_ns(SIZE), abs=9_000)
    assert run.requested_ns[0, 3] == pytest.approx(
        3 * step_ns + 2 * 10_000 - wire_ns(SIZE), abs=20_000
    )


def test_two_workers_share_the_link_and_go_on_together():
    run = JobOverModels(job(2), models(job(2), LINK))
    run.run()
    for worker in (0, 1):
        assert run.delivered_ns[worker, 0, 0] == pytest.approx(2 * wire_ns(SIZE), abs=6_000)
    assert run.handed_ns[0, 1, 0] == run.handed_ns[1, 1, 0]


def test_a_path_s_delay_is_taken_by_requests_and_data():
    far = replace(LINK, delay_ns=1_000_000, credit_latency_ns=1_000_000, past_bytes=10**7)
    run = JobOverModels(job(1), models(job(1), far))
    run.run()
    assert run.handed_ns[0, 0, 0] == pytest.approx(1_000_000, abs=3_000)
    # TCP begins with ten segments and doubles: seventy take three round trips more.
    assert run.delivered_ns[0, 0, 0] == pytest.approx(2_000_000 + 6_000_000, abs=200_000)
    # The second time its window is wide.
    assert run.delivered_ns[0, 1, 0] - run.handed_ns[0, 1, 0] == pytest.approx(
        1_000_000 + wire_ns(SIZE), abs=6_000
    )


def test_requests_leave_beside_gradients_that_are_not_sent_yet():
    free, asking_bytes = replace(job(1), staleness=None), 20_000
    calls = EqualCalls(beside_bytes=asking_bytes - HEADERS_BYTES)
    ways = (Way(PULL, 0, 0), Way(GRADIENT, 0, 0))
    run = JobOverModels(free, models(free, LINK, calls=dict.fromkeys(ways, calls)))
    run.run()
    # They share the link, as they are on another connection, and the gradient is there later.
    taken_ns = run.delivered_ns[0, 0, 2] - run.requested_ns[0, 1]
    assert taken_ns == pytest.approx(wire_ns(SIZE) + asking_bytes, abs=6_000)


def test_jobs_whose_gradients_are_pushed_are_refused():
    with pytest.raises(ValueError, match="must be a job whose gradients are pulled"):
        JobOverModels(replace(job(1), pushed=True), models(job(1), LINK))
