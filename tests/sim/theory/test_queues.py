"""Queues with a known answer, simulated: within four standard errors over independent runs.

Each run has random numbers of its own, so that runs are independent and the error of their mean
is their standard deviation by the root of their number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from netcosim.training.plan import UP, WORKER, Channel, Draws, Processor, StepPlan
from sim.analytic.mva import Solution, Station, solve
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.kernels.arrays import RECEIVING, SENDING
from tests.sim.engines import ran
from tests.sim.naive.plans import Op, at_worker, down, make_network, make_plan, make_sending, up

FIFO = make_sending("fifo")
Kind = type[FastEngine] | type[Engine]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mean:
    """A mean over runs, with its standard error."""

    value: float
    error: float

    @classmethod
    def over(cls, values: Sequence[float]) -> "Mean":
        error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
        return cls(value=float(np.mean(values)), error=error)

    def assert_is(self, expected: float, *, within: float) -> None:
        """Equal but for chance; and measured well enough to be worth it (a share of the mean)."""
        assert 4 * self.error <= within * expected
        assert abs(self.value - expected) <= 4 * self.error


# Closed: workers compute, which delays them, and share a port equally: processor sharing. Such a
# network has a product form whatever the distributions (Baskett, Chandy, Muntz and Palacios, 1975).


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Of one run: steps a nanosecond, mean time of a step that is not computed, workers there."""

    throughput: float
    elsewhere_ns: float
    customers: float


def watch(kind: Kind, plan: StepPlan, draws: Draws, span_ns: float) -> Seen:
    """Leave out the first tenth; look at all steps that end in the rest.

    All begin together, so the tenth has to be long against a step.
    """
    workers = len(draws.step)
    engine = kind(plan, make_network(workers=workers), FIFO, draws)
    begin_ns = 0.1 * span_ns
    engine.run(begin_ns)
    before = engine.spent_ns.copy()
    engine.run(span_ns)
    steps = engine.steps()
    assert steps.step.max() < draws.step.shape[1] - 1, "a worker ran out of steps"
    counted = (steps.end_ns > begin_ns) & (steps.end_ns <= span_ns)
    took = (steps.end_ns - steps.start_ns)[counted]
    thought = plan.duration_ns.sum(axis=1)[draws.step[steps.worker, steps.step][counted]]
    moved = (engine.spent_ns - before)[
        :, [RECEIVING, SENDING]
    ].sum()  # a worker only receives, or only sends
    return Seen(
        throughput=counted.sum() / (span_ns - begin_ns),
        elsewhere_ns=float((took - thought).mean()),
        customers=moved / (span_ns - begin_ns),
    )


def expected(plan: StepPlan, workers: int) -> Solution:
    down_ns = float(plan.size_bytes[plan.place == 0].sum())
    up_ns = float(plan.size_bytes[plan.place == 1].sum()) if len(plan.channels) > 1 else 0.0
    think = float(plan.duration_ns.sum(axis=1).mean())
    stations = [
        Station(name="down", kind="queueing", demand=down_ns),
        Station(name="up", kind="queueing", demand=up_ns),
        Station(name="compute", kind="delay", demand=think),
    ]
    return solve(stations, workers)


def exponential(rng: np.random.Generator, mean: float, count: int) -> list[float]:
    """Recorded times; their mean is exact, so that chance is in their order alone."""
    drawn = rng.exponential(1.0, count)
    return list(drawn * (mean / drawn.mean()))


def repairman(rng: np.random.Generator) -> StepPlan:
    """Think, then fetch the same size: deterministic service."""
    pull = Op(name="pull", at=down(), size_bytes=1000)
    times = exponential(rng, 4000.0, 4000)
    compute = Op(name="think", at=at_worker(), duration_ns=times, after=("pull",))
    return make_plan([pull, compute], recorded=4000)


def two_ports(rng: np.random.Generator) -> StepPlan:
    """Fetch, think, send: two stations and two delays, of which one is none."""
    pull = Op(name="pull", at=down(), size_bytes=1000)
    times = exponential(rng, 3000.0, 4000)
    compute = Op(name="think", at=at_worker(), duration_ns=times, after=("pull",))
    push = Op(name="push", at=up(), size_bytes=700, after=("think",))
    return make_plan([pull, compute, push], recorded=4000)


def exponential_sizes(rng: np.random.Generator) -> StepPlan:
    """Ten visits a step, each after a time of its own; sizes are the deciles of an exponential."""
    sizes = [round(-1000 * math.log(1 - (k + 0.5) / 10)) for k in rng.permutation(10)]
    operations: list[Op] = []
    for visit, size in enumerate(sizes):
        after = (f"pull{visit - 1}",) if visit else ()
        times = exponential(rng, 4000.0, 1000)
        operations += [
            Op(name=f"think{visit}", at=at_worker(), duration_ns=times, after=after),
            Op(name=f"pull{visit}", at=down(), size_bytes=size, after=(f"think{visit}",)),
        ]
    return make_plan(operations, recorded=1000)


@pytest.mark.parametrize("workers", [1, 3, 8, 16])
@pytest.mark.parametrize(
    ("kind", "make", "span_ns"),
    [
        (FastEngine, repairman, 6e7),
        (Engine, repairman, 3e7),
        (FastEngine, two_ports, 6e7),
        (Engine, exponential_sizes, 6e7),
    ],
    ids=["fast", "generic", "two ports", "exponential sizes"],
)
def test_mean_values_are_those_of_mean_value_analysis(kind, make, span_ns, workers):
    seen, plan = [], make(np.random.default_rng(0))
    for seed in range(12):
        rng = np.random.default_rng([seed, workers])
        count = round(3 * span_ns / plan.duration_ns.sum(axis=1).mean())
        draws = rng.integers(0, plan.steps, (workers, count))
        job = Draws(step=draws, factor=np.ones(draws.shape))
        seen.append(watch(kind, plan, job, span_ns))
    solution = expected(plan, workers)
    at_ports = solution.residence[0] + solution.residence[1]
    throughput = Mean.over([s.throughput for s in seen])
    throughput.assert_is(solution.throughput, within=0.02)
    customers = Mean.over([s.customers for s in seen])
    customers.assert_is(solution.customers[0] + solution.customers[1], within=0.02)
    elsewhere = Mean.over([s.elsewhere_ns for s in seen])
    if workers == 1:
        assert elsewhere.value == pytest.approx(at_ports, rel=1e-9)  # nobody is in the way
        return
    elsewhere.assert_is(at_ports, within=0.02)


@pytest.mark.oracle
def test_many_who_come_rarely_are_a_poisson_stream():
    """M/G/1 with processor sharing: mean time there is S / (1 - rho), whatever the sizes."""
    workers, size, rho = 1500, 1000, 0.7
    think = workers * size / rho
    seen = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        pull = Op(name="pull", at=down(), size_bytes=size)
        times = exponential(rng, think, 4000)
        compute = Op(name="think", at=at_worker(), duration_ns=times, after=("pull",))
        plan = make_plan([pull, compute], recorded=4000)
        chosen = rng.integers(0, 4000, (workers, 250))
        job = Draws(step=chosen, factor=np.ones(chosen.shape))
        seen.append(watch(FastEngine, plan, job, 120 * think).elsewhere_ns)
    found = Mean.over(seen)
    assert 4 * found.error < 0.05 * found.value
    limit = size / (1 - rho)
    finite = expected(plan, workers).residence[0]
    assert finite == pytest.approx(limit, rel=0.01)
    assert abs(found.value - finite) <= 4 * found.error
    assert abs(found.value - limit) <= 4 * found.error + abs(finite - limit)


# Open: within one step a chain of exponential computations, and behind each a push. To the
# worker's connection, first in, first out, that is a Poisson stream: M/G/1.


def stream(rng: np.random.Generator, sizes: Sequence[int], gap_ns: float, runs: int) -> StepPlan:
    count = len(sizes)
    duration = np.zeros((runs, 2 * count))
    duration[:, :count] = rng.exponential(gap_ns, (runs, count))
    after = [[c + 1, count + c] if c + 1 < count else [count + c] for c in range(count)]
    flat = [dependent for dependents in after for dependent in dependents]
    starts = np.cumsum([0, *map(len, after), *[0] * count])
    return StepPlan(
        servers=1,
        names=tuple(f"op{i}" for i in range(2 * count)),
        channels=(Channel(server=0, direction=UP, connection="data"),),
        processors=(Processor(node=WORKER, server=0, resource="worker", capacity=1),),
        place=np.array([1] * count + [0] * count),
        size_bytes=np.array([0] * count + list(sizes)),
        priority=np.zeros(2 * count, dtype=np.int64),
        duration_ns=duration,
        waits=np.array([0] + [1] * (2 * count - 1)),
        after=np.array(flat),
        after_start=starts,
        sources=np.zeros((runs, 1), dtype=np.int64),
        members=tuple((i,) for i in range(2 * count)),
    )


def waits_of(plan: StepPlan) -> np.ndarray:
    """(runs, pushes) how long each waited for the link; each step is a run of its own."""
    count = plan.operations // 2
    draws = Draws(step=np.arange(plan.steps)[None, :], factor=np.ones((1, plan.steps)))
    rows = ran(plan, draws, keep_operations=True, compiled=True).operations()
    waited = np.full((plan.steps, plan.operations), np.nan)
    waited[rows.step, rows.operation] = rows.start_ns - rows.ready_ns
    assert not np.isnan(waited).any()
    return waited[:, count:]


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.8])
def test_waits_for_a_link_with_equal_sizes_are_those_of_m_d_1(rho):
    """Pollaczek and Khinchine's mean, Takacs' second moment, and nobody waits 1 - rho of the time.

    The exact moments: L. Takacs, A single-server queue with Poisson input, Oper. Res. 10, 1962.
    """
    rng = np.random.default_rng(round(10 * rho))
    waited = waits_of(stream(rng, [1000] * 6000, 1000 / rho, 60))[:, 500:]
    mean = 1000 * rho / (2 * (1 - rho))
    second = 2 * mean**2 + 1000**2 * rho / (3 * (1 - rho))
    Mean.over(waited.mean(axis=1)).assert_is(mean, within=0.1)
    Mean.over((waited == 0).mean(axis=1)).assert_is(1 - rho, within=0.05)
    Mean.over((waited**2).mean(axis=1)).assert_is(second, within=0.3)


@pytest.mark.oracle
@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_waits_for_a_link_with_exponential_sizes_are_those_of_m_m_1(rho):
    """In every run the same sizes in another order, so that their moments are known exactly."""
    rng = np.random.default_rng(round(10 * rho))
    sizes = 1 + np.floor(rng.exponential(1000.0, 6000)).astype(np.int64)
    gap_ns = float(sizes.mean()) / rho
    means, free = [], []
    for _ in range(40):
        plan = stream(rng, rng.permutation(sizes).tolist(), gap_ns, 1)
        waited = waits_of(plan)[:, 500:]
        means.append(float(waited.mean()))
        free.append(float((waited == 0).mean()))
    mean = float((sizes.astype(float) ** 2).mean()) / gap_ns / (2 * (1 - rho))
    assert mean == pytest.approx(1000 * rho / (1 - rho), rel=0.1)
    Mean.over(means).assert_is(mean, within=0.12)
    Mean.over(free).assert_is(1 - rho, within=0.05)


def test_waits_are_those_of_lindleys_recursion():
    """The same stream without chance: w' = max(0, w + size - gap)."""
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 3000, 300).tolist()
    plan = stream(rng, sizes, 2000.0, 3)
    for run, waited in enumerate(waits_of(plan)):
        wait = 0.0
        for push, gap in enumerate(plan.duration_ns[run, 1:300]):
            assert waited[push] == pytest.approx(wait, abs=1e-5)
            wait = max(0.0, wait + sizes[push] - gap)
        assert waited[299] == pytest.approx(wait, abs=1e-5)
        assert waited.max() > 0


def test_the_stream_has_a_worker_who_is_alone():
    """Assumption of the tests above: no push is ever served by less than the whole link."""
    plan = stream(np.random.default_rng(2), [1000] * 50, 1500.0, 1)
    rows = ran(plan, keep_operations=True, compiled=True).operations()
    pushes = rows.operation >= 50
    np.testing.assert_allclose((rows.end_ns - rows.start_ns)[pushes], 1000.0, rtol=1e-9)
