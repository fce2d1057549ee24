"""The fast path against the generic engine, which the naive twin holds."""

from dataclasses import replace

import numpy as np
import pytest

from h2model.disciplines import Traits
from netcosim.training.plan import Draws, StepPlan
from netcosim.training.prepare import fuse
from netcosim.training.synchronisation import Join
from sim.engine.base import Steps
from sim.engine.control import Control
from sim.engine.engine import Engine
from sim.fast.engine import FastEngine
from sim.fast.shape import asks_discipline, fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Network, Sending
from tests.sim.fast.shaped import branching_plan, shaped_operations, shaped_plan
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
from tests.sim.naive.random_plans import random_draws

pytestmark = pytest.mark.oracle

RELATIVE = 1e-9


def sorted_ends(steps: Steps) -> np.ndarray:
    rows = np.lexsort((steps.step, steps.worker))
    return np.stack([steps.worker, steps.step, steps.start_ns, steps.end_ns], axis=1)[rows]


def sendings() -> list[Sending]:
    return [
        make_sending("fifo"),
        make_sending("fifo", window_bytes=9000),
        make_sending("two_visit", window_bytes=30_000),
        make_sending("two_visit", window_bytes=3000, requeue_at_completion=1),
        make_sending("two_visit"),
    ]


def asked_sendings() -> list[Sending]:
    """Those whose discipline is asked for every chunk."""
    pace = {"fast_ns": 60_000, "slow_ns": 200_000, "target_min": 4000}
    return [
        make_sending("round_robin", quantum=7001),
        make_sending("round_robin", window_bytes=5003, connection_window_bytes=20_011),
        make_sending("priority", chunk_bytes=4801),
        make_sending("processor_sharing", grain=3001, window_bytes=9973),
        make_sending("fifo", connection_window_bytes=9973, window_bytes=30_011),
        make_sending("fifo", chunk_bytes=4801),
        make_sending("two_visit", window_bytes=9973, connection_window_bytes=20_011),
        make_sending("two_visit", window_bytes=9973, write=5000),
        make_sending("two_visit", window_bytes=9973, write=5000, write_max=40_000),
        make_sending("write_cycle", target=9000, window_bytes=15_013, **pace),
        make_sending("write_cycle", target=9000, finish_first=1, head=50, tail=20, **pace),
        make_sending(
            "write_cycle", target=9000, window_bytes=4801, connection_window_bytes=7001, **pace
        ),
    ]


def network_and_draws(rng: np.random.Generator, plan: StepPlan) -> tuple[Network, Draws]:
    """Some workers, at servers of some rates, and six steps of each."""
    workers = int(rng.integers(1, 6))
    rates = [int(r) for r in rng.integers(1e9, 3e10, plan.servers)]
    network = make_network(servers=plan.servers, workers=workers, server_bps=rates)
    return network, random_draws(rng, plan, workers=workers, steps=6)


def assert_same(
    plan: StepPlan,
    network: Network,
    sending: Sending,
    draws: Draws,
    seed: int,
    join: Join | None = None,
) -> None:
    """All steps and times of both engines, over synchronisations and warm-ups.

    Compiled where set-up has compiled them; that this changes no bit, others show.
    """
    staleness = None if join is not None else [None, 0, 1][seed % 3]
    control = Control(staleness=staleness, join=join, count_from=seed % 2)
    job = (plan, network, sending, draws, control)
    fast = FastEngine(*job, compiled=not asks_discipline(sending))
    generic = Engine(*job)
    fast.run()
    generic.run()
    assert len(fast.steps().worker) == draws.step.size
    np.testing.assert_allclose(
        sorted_ends(fast.steps()), sorted_ends(generic.steps()), rtol=RELATIVE
    )
    np.testing.assert_array_equal(fast.steps().weight, generic.steps().weight)
    np.testing.assert_allclose(
        fast.spent_ns, generic.spent_ns, rtol=1e-6, atol=RELATIVE * generic.now_ns
    )


@pytest.mark.parametrize("servers", [1, 3])
@pytest.mark.parametrize("sending", [*sendings(), *asked_sendings()], ids=str)
@pytest.mark.parametrize("kind", [shaped_plan, branching_plan])
def test_steps_and_times_are_those_of_the_generic_engine(kind, sending, servers):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        plan = kind(rng, tensors=int(rng.integers(servers, 12)), servers=servers)
        network, draws = network_and_draws(rng, plan)
        assert_same(plan, network, sending, draws, seed)


@pytest.mark.parametrize(
    "sending",
    [*sendings(), make_sending("two_visit", window_bytes=400), *asked_sendings()],
    ids=str,
)
def test_what_happens_at_one_time_happens_in_the_generic_engines_order(sending):
    """Bytes a nanosecond, and whole thousands of both."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        plan = branching_plan(rng, tensors=8, ties=True)
        draws = random_draws(rng, plan, workers=2, steps=4, ties=True)
        assert_same(plan, make_network(workers=2), sending, draws, seed)


def test_what_a_connection_learns_from_lone_pushes_counts_later():
    """A write's target grows with each fast write, and says how the last pushes take turns."""
    chain = [Op(name="c0", at=at_worker(), duration_ns=1000.0, after=("pull",))]
    rest = []
    for i in range(1, 8):
        before, pushes = (f"c{i - 1}",), ("a", "b", "c") if i == 7 else ("a",)
        chain.append(Op(name=f"c{i}", at=at_worker(), duration_ns=50_000.0, after=before))
        for name in pushes:
            push = Op(name=f"push{i}{name}", at=up(), size_bytes=30_000, after=(f"c{i}",))
            work = {"a": 9000.0, "b": 50_000.0, "c": 70_000.0}[name]
            update = Op(
                name=f"update{i}{name}", at=at_server(), duration_ns=work, after=(push.name,)
            )
            rest += [push, update]
    plan = make_plan([Op(name="pull", at=down(), size_bytes=9), *chain, *rest])
    draws = same_draws(steps=2)
    sending = make_sending("write_cycle", target=9000, target_min=4000, fast_ns=60_000)
    assert_same(plan, make_network(), sending, draws, 0)
    still = make_sending("write_cycle", target=9000, target_max=9000, fast_ns=60_000)
    ends = []
    for one in (sending, still):
        engine = FastEngine(plan, make_network(), one, draws, compiled=False)
        engine.run()
        ends.append(engine.now_ns)
    assert ends[0] != ends[1]


def test_each_recorded_step_may_have_its_own_order_of_pulls():
    rng = np.random.default_rng(5)
    plan = shaped_plan(rng, tensors=9)
    shuffled = replace(plan, sources=rng.permuted(plan.sources, axis=1))
    assert len(np.unique(shuffled.sources, axis=0)) > 1
    draws = random_draws(rng, plan, workers=3, steps=6)
    job = (make_network(workers=3), make_sending("fifo"), draws)
    fast, generic = (kind(shuffled, *job, compiled=False) for kind in (FastEngine, Engine))
    fast.run()
    generic.run()
    np.testing.assert_allclose(
        sorted_ends(fast.steps()), sorted_ends(generic.steps()), rtol=RELATIVE
    )


def test_a_log_that_is_too_short_grows_and_changes_nothing(monkeypatch):
    rng = np.random.default_rng(11)
    plan = shaped_plan(rng, tensors=12)
    draws = random_draws(rng, plan, workers=8, steps=8)
    job = (make_network(workers=8), make_sending("fifo"), draws)
    roomy = FastEngine(plan, *job, compiled=False)
    roomy.run()
    monkeypatch.setattr("sim.fast.build._LOG", 8)
    tight = FastEngine(plan, *job, compiled=False)
    tight.run()
    assert tight._run.log_t.shape[1] > 8
    np.testing.assert_array_equal(sorted_ends(tight.steps()), sorted_ends(roomy.steps()))


def test_compiled_is_what_the_text_says():
    rng = np.random.default_rng(3)
    plan = shaped_plan(rng, tensors=12, servers=2)
    draws = random_draws(rng, plan, workers=5, steps=8)
    network = make_network(servers=2, workers=5)
    job = (network, make_sending("two_visit", window_bytes=20_000), draws)
    compiled, plain = (FastEngine(plan, *job, compiled=how) for how in (True, False))
    compiled.run()
    plain.run()
    np.testing.assert_array_equal(sorted_ends(compiled.steps()), sorted_ends(plain.steps()))
    np.testing.assert_array_equal(compiled.spent_ns, plain.spent_ns)


def test_a_run_in_pieces_is_the_uninterrupted_run():
    rng = np.random.default_rng(4)
    plan = shaped_plan(rng, tensors=8)
    job = (make_network(workers=3), make_sending("fifo"), random_draws(rng, plan, steps=6))
    whole = FastEngine(plan, *job, compiled=False)
    whole.run()
    pieces = FastEngine(plan, *job, compiled=False)
    for until in np.linspace(0, whole.now_ns, 37):
        pieces.run(float(until))
        assert pieces.now_ns <= until
    pieces.run()
    np.testing.assert_array_equal(sorted_ends(pieces.steps()), sorted_ends(whole.steps()))
    np.testing.assert_array_equal(pieces.spent_ns, whole.spent_ns)


class TestShape:
    """A plan of another shape is refused, with the reason."""

    @staticmethod
    def refused(operations: list[Op], because: str, servers: int = 1) -> None:
        plan = make_plan(operations, servers=servers, recorded=3)
        with pytest.raises(NotOfThisShapeError, match=because):
            fast_shape(plan, make_network(), make_sending("fifo"))

    @staticmethod
    def operations() -> list[Op]:
        return shaped_operations(np.random.default_rng(1), 4, 1)

    def test_the_operations_themselves_are_of_the_shape(self):
        plan = make_plan(self.operations(), recorded=3)
        assert fast_shape(plan, make_network(), make_sending("fifo")).sizes[2] > 0

    def test_a_pull_that_waits(self):
        late = Op(name="late", at=down(), size_bytes=9, after=("compute0",))
        last = [op for op in self.operations() if op.name.startswith("compute")][-1]
        user = Op(name="user", at=at_worker(), duration_ns=1.0, after=("late", last.name))
        self.refused([*self.operations(), late, user], "late, a pull, waits")

    def test_a_pull_that_nothing_needs(self):
        extra = Op(name="extra", at=down(), size_bytes=9)
        self.refused([*self.operations(), extra], "no computation that all pulls")

    def test_a_branch_that_nothing_waits_for(self):
        branch = Op(name="branch", at=at_worker(), duration_ns=1.0, after=("compute0",))
        self.refused([*self.operations(), branch], "no computation that all pulls")

    def test_a_push_before_everything_is_pulled(self):
        early = Op(name="early", at=up(), size_bytes=9, after=("compute0",))
        self.refused([*self.operations(), early], "early, a push")

    def test_something_behind_an_update(self):
        more = next(op for op in self.operations() if op.name.startswith("update"))
        extra = Op(name="extra", at=at_server(), duration_ns=1.0, after=(more.name,))
        self.refused([*self.operations(), extra], "is not an update|follows no push")

    def test_an_update_of_two_pushes(self):
        pushes = [op.name for op in self.operations() if op.name.startswith("push")]
        ops = [op for op in self.operations() if not op.name.startswith("update")]
        both = Op(name="both", at=at_server(), duration_ns=1.0, after=tuple(pushes))
        self.refused([*ops, both], "both is not an update of one push")

    def test_several_places_at_a_server(self):
        ops = [op for op in self.operations() if not op.name.startswith("update")]
        push = next(op.name for op in ops if op.name.startswith("push"))
        update = Op(name="update", at=at_server(0, 2), duration_ns=1.0, after=(push,))
        self.refused([*ops, update], "several places")

    def test_two_connections_one_way(self):
        second = Op(name="second", at=down(0, "second"), size_bytes=9)
        self.refused([second, *self.operations()], "several connections")

    def test_a_discipline_that_may_rest(self, monkeypatch):
        monkeypatch.setattr("h2model.disciplines.fifo.TRAITS", Traits())
        plan = make_plan(self.operations(), recorded=3)
        with pytest.raises(NotOfThisShapeError, match="fifo is not work-conserving"):
            fast_shape(plan, make_network(), make_sending("fifo"))

    @pytest.mark.parametrize(
        ("network", "sending", "because"),
        [
            (make_network(share="max_min"), make_sending("fifo"), "share"),
            (make_network(both_busy=0.9), make_sending("fifo"), "other direction"),
            (make_network(delay_ns=5), make_sending("fifo"), "delays"),
        ],
    )
    def test_settings(self, network, sending, because):
        plan = make_plan(self.operations(), recorded=3)
        with pytest.raises(NotOfThisShapeError, match=because):
            fast_shape(plan, network, sending)  # type: ignore[arg-type]


@pytest.mark.parametrize("servers", [1, 2])
def test_fusing_operations_changes_no_step(servers):
    """Compute runs that only sum up; anything else would show in some step's end."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        plan = shaped_plan(rng, tensors=int(rng.integers(servers, 9)), servers=servers)
        smaller = fuse(plan)
        network = make_network(servers=servers, workers=3)
        draws = random_draws(rng, plan, workers=3, steps=4)
        ends = []
        for one in (plan, smaller):
            engine = Engine(
                one, network, make_sending("two_visit", window_bytes=9000), draws, compiled=False
            )
            engine.run()
            ends.append(sorted_ends(engine.steps()))
        np.testing.assert_allclose(ends[0], ends[1], rtol=RELATIVE)
        assert smaller.operations < plan.operations
        assert sorted(m for run in smaller.members for m in run) == list(range(plan.operations))
