"""Plans, fused operations and shapes against their naive twins: every array, on random DAGs."""

from dataclasses import fields
from random import Random
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from netcosim.training.plan import StepPlan
from netcosim.training.prepare import Assignment, fuse, make_plan
from netcosim.training.prepare.build import tensors_of
from netcosim.training.prepare.graph import decisive, graph_of
from netcosim.training.prepare.machines import AS_RECORDED, Machines
from netcosim.training.prepare.overlap import overlapping
from netcosim.workload import Compute, Operation, Parsing, Profile, Resource, Step, Transfer
from netcosim.workload.catalogue import load_profile, profile_names
from sim.fast.shape import fast_shape
from sim.fast.step_roles import NotOfThisShapeError
from sim.plan import Sending
from tests.sim.fast.shaped import branching_plan, shaped_plan
from tests.sim.naive import plans
from tests.sim.naive.plans import Op, at_server, at_worker, down, make_network, make_sending, up
from tests.sim.naive.prepare import build as naive_build
from tests.sim.naive.prepare import fuse as naive_fuse
from tests.sim.naive.prepare import shape as naive_shape

RANDOM = st.randoms(use_true_random=False)
SENDINGS = [
    make_sending("fifo"),
    make_sending("two_visit", window_bytes=30_000),
    make_sending("round_robin", window_bytes=5003),
]


def assert_same_plans(one: StepPlan, twin: StepPlan) -> None:
    for field in fields(StepPlan):
        assert_same(getattr(one, field.name), getattr(twin, field.name), field.name)


def assert_same(one: Any, twin: Any, name: str) -> None:
    if isinstance(twin, np.ndarray):
        assert (one.dtype, one.shape) == (twin.dtype, twin.shape), name
        assert one.flags.c_contiguous, name
        np.testing.assert_array_equal(one, twin, name)
    else:
        assert one == twin, name


def assert_same_shapes(plan: StepPlan, sending: Sending) -> bool:
    """True if the plan is of the fast path's shape; if not, the reasons are the same."""
    try:
        twin = naive_shape.fast_shape(plan, make_network(), sending)
    except NotOfThisShapeError as problem:
        with pytest.raises(NotOfThisShapeError) as refused:
            fast_shape(plan, make_network(), sending)
        assert str(refused.value) == str(problem)
        return False
    one = fast_shape(plan, make_network(), sending)
    for name in one._fields:
        assert_same(getattr(one, name), getattr(twin, name), name)
    return True


def random_dag(random: Random) -> StepPlan:
    """Chains that branch and join, on few or many places, with edges that others imply."""
    places = [at_worker(), at_worker(3, "threads"), at_server(), down(), up()]
    weights = [random.choice([1, 3, 12]), *(random.choice([0, 0, 1, 3]) for _ in places[1:])]
    along, joins = random.random(), random.random()
    ops: list[Op] = []
    for i in range(random.randrange(1, 26)):
        before = {i - 1} if i and random.random() < along else set()
        if i and random.random() < joins:
            before |= {random.randrange(i) for _ in range(random.randrange(5))}
        at = random.choices(places, weights)[0]
        work = [random.random() * 1e6, random.random() * 1e6]
        after = tuple(f"op{j}" for j in sorted(before))
        if at in places[3:]:
            size = random.randrange(1, 10**6)
            ops.append(Op(name=f"op{i}", at=at, size_bytes=size, after=after))
        else:
            ops.append(Op(name=f"op{i}", at=at, duration_ns=work, after=after))
    return plans.make_plan(ops, recorded=2)


@pytest.mark.oracle
@given(random=RANDOM)
@settings(max_examples=200, deadline=None)
def test_fused_operations_are_the_twins(random: Random) -> None:
    plan = random_dag(random)
    assert_same_plans(fuse(plan), naive_fuse.fuse(plan))


@given(random=RANDOM)
@settings(max_examples=100, deadline=None)
def test_decisive_operations_come_before_or_after_all_others(random: Random) -> None:
    plan = random_dag(random)
    graph = graph_of(plan)
    before, behind = naive_fuse.relatives(plan)
    members = [op for op in graph.order if random.random() < 0.5]
    found = decisive(graph, members)
    for op, alone in zip(members, found, strict=True):
        compared = before[op] | behind[op] | 1 << op
        assert alone == all(compared >> other & 1 for other in members)


@given(seed=st.integers(0, 2**32), sending=st.sampled_from(SENDINGS), branches=st.booleans())
@settings(max_examples=60, deadline=None)
def test_shapes_are_the_twins(seed: int, sending: Sending, branches: bool) -> None:
    rng = np.random.default_rng(seed)
    kind, servers = branching_plan if branches else shaped_plan, int(rng.integers(1, 4))
    plan = kind(rng, tensors=int(rng.integers(servers, 10)), servers=servers)
    assert assert_same_shapes(fuse(plan), sending)


@given(random=RANDOM)
@settings(max_examples=60, deadline=None)
def test_plans_of_other_shapes_are_refused_for_the_twins_reason(random: Random) -> None:
    assert_same_shapes(random_dag(random), SENDINGS[0])


def random_profile(random: Random) -> Profile:
    """Transfers and computations in any order; parsing with and without an operation for it."""
    resources = (
        Resource(name="worker", node="worker"),
        Resource(name="threads", node="worker", capacity=2),
        Resource(name="ps", node="server"),
    )
    parsing = [
        Parsing(destination="worker", resource="worker", alpha_ns_per_byte=0.37, beta_ns=11.1),
        Parsing(destination="server", resource="ps", alpha_ns_per_byte=0.17, beta_ns=0.0),
    ]
    ops: list[Operation] = []
    for i in range(random.randrange(2, 24)):
        after = tuple({ops[random.randrange(i)].name for _ in range(random.randrange(4)) if i})
        tensor = f"t{random.randrange(5)}"
        if i == 0 or random.random() < 0.6:
            resource = random.choice(resources).name
            ops.append(Compute(name=f"op{i}", resource=resource, after=after))
            continue
        source, destination = random.choice([("server", "worker"), ("worker", "server")])
        transfer = Transfer.model_validate(
            {
                "name": f"op{i}",
                "source": source,
                "destination": destination,
                "connection": random.choice(["data", "more"]),
                "tensor": tensor,
                "size_bytes": random.randrange(1, 10**6),
                "after": after,
            }
        )
        ops.append(transfer)
    return Profile(
        name="random",
        provenance="",
        batch=1,
        samples="measured",
        parsing=tuple(p for p in parsing if random.random() < 0.6),
        step=Step(resources=resources, operations=tuple(ops)),
        duration_ns=(),
    )


def assert_same_preparation(profile, servers, drawn, recorded, machines=AS_RECORDED) -> StepPlan:
    names = list(tensors_of(profile))
    assignment = Assignment(
        servers=servers,
        server_of={name: i % servers for i, name in enumerate(names)},
        arrange=lambda sizes, rng, step: (
            rng.permutation(len(sizes)).tolist() if drawn else list(range(len(sizes)))[::-1]
        ),
        each_step_anew=drawn,
        priority=dict.fromkeys(names[::2], 3),
    )
    shape = recorded, len(profile.step.computes)
    durations = np.random.default_rng(1).exponential(1e6, shape)
    one, twin = (
        make(profile, durations, assignment, np.random.default_rng(7), machines)
        for make in (make_plan, naive_build.make_plan)
    )
    assert_same_plans(one, twin)
    return one


@given(random=RANDOM, servers=st.integers(1, 3), drawn=st.booleans())
@settings(max_examples=80, deadline=None)
def test_plans_of_profiles_are_the_twins(random: Random, servers: int, drawn: bool) -> None:
    assert_same_preparation(random_profile(random), servers, drawn, 3)


@pytest.mark.parametrize(("servers", "drawn"), [(1, False), (2, True)])
@pytest.mark.parametrize("name", profile_names())
def test_built_in_profiles_are_prepared_as_by_the_twins(name, servers, drawn) -> None:
    """With so many operations, sums show the order in which they are taken."""
    plan = assert_same_preparation(load_profile(name), servers, drawn, 4)
    fused = fuse(plan)
    assert_same_plans(fused, naive_fuse.fuse(plan))
    for sending in SENDINGS:
        assert assert_same_shapes(fused, sending)


@given(
    random=RANDOM,
    servers=st.integers(1, 3),
    drawn=st.booleans(),
    cores=st.tuples(*(st.sampled_from([None, 1, 4]) for _ in range(2))),
)
@settings(max_examples=40, deadline=None)
def test_plans_on_cores_are_the_twins(random, servers, drawn, cores) -> None:
    machines = Machines(server_cores=cores[0], worker_cores=cores[1])
    assert_same_preparation(random_profile(random), servers, drawn, 3, machines)


@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize(("servers", "drawn"), [(1, False), (2, True)])
@pytest.mark.parametrize("name", profile_names())
def test_joined_plans_are_the_twins(name: str, servers: int, drawn: bool, overlap: bool) -> None:
    profile = load_profile(name)
    if overlap:
        profile = overlapping(profile).profile
    for cores in (None, 2):
        machines = Machines(joined=True, server_cores=cores)
        plan = assert_same_preparation(profile, servers, drawn, 4, machines)
        assert plan.once is not None
        assert plan.once.any()
        assert_same_plans(fuse(plan), naive_fuse.fuse(plan))
