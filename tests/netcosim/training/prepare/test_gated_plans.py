"""From a profile to a plan with gates: slices, blocks, senders, expected times."""

import numpy as np
import pytest

from netcosim.training.plan import SENDING, UP, StepPlan
from netcosim.training.prepare import Assignment, fuse, make_plan
from netcosim.training.prepare.alone import ends_alone_ns
from netcosim.training.prepare.build import tensors_of
from netcosim.training.prepare.machines import Machines
from netcosim.training.prepare.release_blocks import in_blocks
from netcosim.training.prepare.slices import sliced
from netcosim.workload import Profile
from netcosim.workload.catalogue import load_profile
from tests.netcosim.training.prepare.test_joined_plans import assignment, two_layers
from tests.sim.naive.plans import BYTE_A_NS, make_network, make_sending, same_draws
from tests.sim.naive.random_plans import random_plan
from tests.sim.naive.twin import simulate

GATED = Machines(gated=True)


def assigned(profile: Profile, servers: int = 2) -> Assignment:
    names = list(tensors_of(profile))
    return assignment({name: i % servers for i, name in enumerate(names)}, servers)


def planned(profile: Profile, machines: Machines = GATED) -> StepPlan:
    durations = np.array(profile.duration_ns, dtype=np.float64)
    rng = np.random.default_rng(0)
    return make_plan(profile, durations, assigned(profile), rng, machines)


def test_slices_are_pushed_updated_and_pulled_by_themselves() -> None:
    """1000 bytes in slices of 400: 400, 400 and 200."""
    cut = sliced(two_layers(), 400)
    after = {op.name: op.after for op in cut.profile.step.operations}
    assert after["a/update#2"] == ("a/push#2",)
    assert after["a/push#2"] == ("a/backward",)
    assert after["a/forward"] == ("a/pull#1", "a/pull#2", "a/pull#3")
    assert after["b/forward"] == ("a/forward", "b/pull#1", "b/pull#2", "b/pull#3")
    sizes = {op.name: op.size_bytes for op in cut.profile.step.transfers}
    assert [sizes[f"b/push#{k}"] for k in (1, 2, 3)] == [400, 400, 200]
    assert cut.tensor_of == {f"{t}#{k}": t for t in "ab" for k in (1, 2, 3)}


def test_slices_take_as_long_as_the_whole() -> None:
    profile = two_layers()
    cut = sliced(profile, 400)
    whole = np.array(profile.duration_ns, dtype=np.float64)
    parts = cut.durations(whole)
    names = [op.name.partition("#")[0] for op in cut.profile.step.computes]
    for column, op in enumerate(profile.step.computes):
        mine = [i for i, name in enumerate(names) if name == op.name]
        np.testing.assert_allclose(parts[:, mine].sum(axis=1), whole[:, column], rtol=1e-12)
    update = [i for i, name in enumerate(names) if name == "a/update"]
    np.testing.assert_allclose(parts[:, update[0]], 2 * parts[:, update[2]], rtol=1e-12)


@pytest.mark.parametrize("partition_bytes", [1_000_000, 4_000_000])
def test_no_slice_of_a_real_network_is_larger_and_none_is_lost(partition_bytes: int) -> None:
    profile = load_profile("resnet50")
    cut = sliced(profile, partition_bytes)
    for source in ("server", "worker"):
        before, after = (
            [op.size_bytes for op in p.step.transfers if op.source == source]
            for p in (profile, cut.profile)
        )
        assert sum(after) == sum(before)
        assert max(after) <= partition_bytes < max(before)


def test_slices_stay_with_their_tensors_server_and_turn() -> None:
    profile = two_layers()
    cut = sliced(profile, 400)
    whole = assignment({"a": 1, "b": 0}, arrange=lambda *_: [1, 0], priority={"b": 7})
    found = cut.assignment(whole, list(tensors_of(profile).values()))
    slices = list(tensors_of(cut.profile))
    order = found.arrange([], np.random.default_rng(0), None)
    assert [slices[i] for i in order] == ["b#1", "b#2", "b#3", "a#1", "a#2", "a#3"]
    assert [found.server_of[name] for name in slices] == [1, 1, 1, 0, 0, 0]
    assert [found.priority[name] for name in slices] == [0, 0, 0, 7, 7, 7]


def test_small_tensors_are_not_cut() -> None:
    cut = sliced(two_layers(), 1000)
    assert cut.profile == two_layers()


def test_a_block_goes_when_its_last_gradient_is_computed() -> None:
    """Backward passes go from b to a: blocks of 1500 bytes are both, those of 500 are each."""
    after = {op.name: op.after for op in in_blocks(two_layers(), 1500).step.operations}
    assert set(after["b/push"]) == set(after["a/push"]) == {"a/backward", "b/backward"}
    assert in_blocks(two_layers(), 500) == two_layers()


def test_messages_wait_in_the_order_in_which_they_are_needed() -> None:
    plan = planned(load_profile("resnet50"))
    tensors = list(tensors_of(load_profile("resnet50")))
    for gate in plan.gates:
        assert plan.channels[gate.channel].direction == UP
        turns = [tensors.index(plan.names[op].removesuffix("/push")) for op in gate.operations]
        assert turns == sorted(turns)
        assert gate.generated_ns[0] == max(gate.generated_ns)
    assert sum(len(gate.operations) for gate in plan.gates) == len(tensors)


def test_a_message_waits_for_its_senders_work() -> None:
    plan = planned(two_layers(), Machines(gated=True, send_ns=5, send_ns_per_byte=0.5))
    (send, push) = (plan.names.index(name) for name in ("b/push/send", "b/push"))
    processor = plan.processors[plan.place[send] - len(plan.channels)]
    assert (processor.node, processor.capacity) == (SENDING, 1)
    assert plan.after[plan.after_start[send] : plan.after_start[send + 1]].tolist() == [push]
    assert plan.duration_ns[:, send].tolist() == [505.0] * 3
    assert {op for gate in plan.gates for op in gate.operations} == {
        plan.names.index(name) for name in ("a/push/send", "b/push/send")
    }


def test_expected_times_are_those_of_a_run_without_waiting_for_the_network() -> None:
    """Forward a 1, b 2, loss 3, backward b 4, a 5, in the mean of three rows 10 more each."""
    plan = planned(two_layers())
    expected = {
        plan.names[op]: ns
        for gate in plan.gates
        for op, ns in zip(gate.operations, gate.generated_ns, strict=True)
    }
    assert expected == {"b/push": 11 + 12 + 13 + 14, "a/push": 11 + 12 + 13 + 14 + 15}


def test_times_alone_are_the_naive_twins_where_the_network_takes_none() -> None:
    for seed in range(20):
        plan = random_plan(np.random.default_rng(seed), operations=12, recorded=1)
        plan.size_bytes[plan.size_bytes > 0] = 1
        run = simulate(
            plan,
            make_network(servers=2, server_bps=BYTE_A_NS * 10**6, worker_bps=BYTE_A_NS * 10**6),
            make_sending(),
            same_draws(),
            None,
        )
        alone = ends_alone_ns(plan, plan.duration_ns[0])
        for row in run.operations:
            assert alone[row.operation] == pytest.approx(row.end_ns, abs=1.0)


def test_nothing_that_a_gate_waits_for_is_fused_into_what_follows() -> None:
    plan = planned(load_profile("resnet50"), Machines(gated=True, send_ns=1000))
    fused = fuse(plan)
    assert fused.operations < plan.operations
    for before, after in zip(plan.gates, fused.gates, strict=True):
        for field in ("operations", "ended_by"):
            names = [
                [p.names[i] for i in getattr(g, field)] for p, g in ((plan, before), (fused, after))
            ]
            assert names[0] == names[1]
