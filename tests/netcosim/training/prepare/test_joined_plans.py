"""From a profile to a plan whose updates are done once for all, and whose steps overlap."""

import json
from typing import Any

import numpy as np
import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import MessageCostSpec
from netcosim.training.plan import NONE, SERVER, WORKER, StepPlan
from netcosim.training.prepare import Assignment, fuse, make_plan
from netcosim.training.prepare.machines import Machines
from netcosim.training.prepare.message_costs import with_message_costs
from netcosim.training.prepare.overlap import overlapping
from netcosim.workload import Profile, parse_profile
from netcosim.workload.catalogue import load_profile

JOINED = Machines(joined=True)


def two_layers(**changes: Any) -> Profile:
    """Two layers, each with a tensor; the loss between forward and backward."""

    def compute(name: str, *after: str, resource: str = "gpu", **more: Any) -> dict[str, Any]:
        return {"kind": "compute", "name": name, "resource": resource, "after": after, **more}

    def transfer(name: str, source: str, tensor: str, *after: str) -> dict[str, Any]:
        return {
            "kind": "transfer",
            "name": name,
            "source": source,
            "destination": "worker" if source == "server" else "server",
            "tensor": tensor,
            "size_bytes": 1000,
            "after": after,
        }

    operations = [
        transfer("a/pull", "server", "a"),
        transfer("b/pull", "server", "b"),
        compute("a/forward", "a/pull"),
        compute("b/forward", "a/forward", "b/pull"),
        compute("loss", "b/forward"),
        compute("b/backward", "loss"),
        compute("a/backward", "b/backward"),
        transfer("b/push", "worker", "b", "b/backward"),
        transfer("a/push", "worker", "a", "a/backward"),
        compute("b/update", "b/push", resource="ps", tensor="b"),
        compute("a/update", "a/push", resource="ps", tensor="a"),
    ]
    data = {
        "format": "netcosim-profile",
        "version": 1,
        "name": "two layers",
        "provenance": "made up",
        "batch": 1,
        "samples": "measured",
        "step": {
            "resources": [{"name": "gpu", "node": "worker"}, {"name": "ps", "node": "server"}],
            "operations": operations,
        },
        "duration_ns": [[first + i for i in range(7)] for first in (1, 11, 21)],
    }
    return parse_profile(json.dumps(data | changes), "two.json")


def assignment(server_of, servers=2, **more) -> Assignment:
    """Tensors at these servers, sent as listed, without priorities, unless told."""
    usual = {"arrange": as_listed, "each_step_anew": False, "priority": {}}
    return Assignment(servers=servers, server_of=server_of, **usual | more)


def as_listed(sizes, rng, step) -> list[int]:
    return list(range(len(sizes)))


def planned(profile: Profile, machines: Machines = JOINED, durations_ns: Any = None) -> StepPlan:
    backwards = assignment({"a": 0, "b": 1}, arrange=lambda *given: as_listed(*given)[::-1])
    durations = np.array(profile.duration_ns, dtype=np.float64)
    return make_plan(
        profile,
        durations if durations_ns is None else durations_ns,
        backwards,
        np.random.default_rng(0),
        machines,
    )


def named(plan: StepPlan, chosen: Any) -> list[str]:
    return [plan.names[i] for i in chosen]


def processor_of(plan: StepPlan, name: str) -> Any:
    return plan.processors[plan.place[plan.names.index(name)] - len(plan.channels)]


def waits_of(plan: StepPlan, name: str) -> int:
    return int(plan.waits[plan.names.index(name)])


def test_updates_are_done_once_and_each_pull_knows_its_own() -> None:
    plan = planned(two_layers())
    assert plan.once is not None
    assert plan.pulled_after is not None
    assert named(plan, np.flatnonzero(plan.once)) == ["b/update", "a/update"]
    pulls = np.flatnonzero(plan.pulled_after != NONE)
    assert dict(zip(named(plan, pulls), named(plan, plan.pulled_after[pulls]), strict=True)) == {
        "a/pull": "a/update",
        "b/pull": "b/update",
    }
    assert processor_of(plan, "a/update").shared
    assert (processor_of(plan, "a/update").server, processor_of(plan, "b/update").server) == (0, 1)
    assert not processor_of(plan, "loss").shared


def test_without_a_join_nothing_is_shared() -> None:
    plan = planned(two_layers(), Machines())
    assert plan.once is None
    assert not any(processor.shared for processor in plan.processors)


def test_each_workers_messages_are_parsed_apart_from_the_update() -> None:
    rule = {"destination": "server", "resource": "ps", "alpha_ns_per_byte": 1.0, "beta_ns": 10.0}
    plan = planned(two_layers(parsing=[rule]))
    assert "a/push/parse" in plan.names
    assert not processor_of(plan, "a/push/parse").shared
    assert waits_of(plan, "a/update") == 1
    cores = planned(two_layers(parsing=[rule]), Machines(joined=True, server_cores=4))
    assert processor_of(cores, "a/push/parse") is processor_of(cores, "a/update")
    assert processor_of(cores, "a/update").capacity == 4
    # Other workers' messages may be parsed in between, so these two are not fused.
    assert {"a/push/parse", "a/update"} <= set(fuse(cores).names)


def test_fusing_keeps_who_waits_for_which_update() -> None:
    plan = planned(two_layers())
    fused = fuse(plan)
    assert fused.operations < plan.operations
    assert fused.once is not None
    assert fused.pulled_after is not None
    assert named(fused, np.flatnonzero(fused.once)) == ["b/update", "a/update"]
    pulls = np.flatnonzero(fused.pulled_after != NONE)
    assert named(fused, fused.pulled_after[pulls]) == ["a/update", "b/update"]


def test_cores_stand_for_all_of_a_machines_resources() -> None:
    plan = planned(two_layers(), Machines(server_cores=3, worker_cores=2))
    update, loss = processor_of(plan, "a/update"), processor_of(plan, "loss")
    assert (update.node, update.capacity, update.shared) == (SERVER, 3, True)
    assert (loss.node, loss.capacity, loss.shared) == (WORKER, 2, False)


def test_a_given_cost_of_messages_replaces_the_recorded_one() -> None:
    rule = {"destination": "server", "resource": "ps", "alpha_ns_per_byte": 1.0, "beta_ns": 10.0}
    cost = MessageCostSpec.model_validate({"message": "500ns", "ns_per_byte": 0.25})
    plan = planned(with_message_costs(two_layers(parsing=[rule]), cost, None), Machines())
    update = plan.duration_ns[:, plan.names.index("a/update")]
    assert list(update) == [7 + 750, 17 + 750, 27 + 750]
    both = planned(with_message_costs(two_layers(), None, cost), Machines())
    assert list(both.duration_ns[:, both.names.index("a/forward")]) == [751, 761, 771]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"a/update": ()}, "nothing"),
        ({"a/push": ("b/backward",), "b/push": ()}, "b/push does not wait for the pull"),
        ({"a/update": ("a/push", "b/update")}, "a/update waits for another computation"),
    ],
)
def test_what_can_not_be_joined_is_refused_in_a_line(change, said) -> None:
    profile = two_layers()
    operations = tuple(
        op.model_copy(update={"after": change.get(op.name, op.after)})
        for op in profile.step.operations
    )
    step = profile.step.model_copy(update={"operations": operations})
    changed = profile.model_copy(update={"step": step})
    if said == "nothing":
        without = tuple(op for op in operations if "update" not in op.name)
        changed = profile.model_copy(
            update={"step": step.model_copy(update={"operations": without})}
        )
        said = "no computation at a server waits for gradients"
    with pytest.raises(ScenarioError, match=said) as refused:
        planned(changed)
    assert str(refused.value).startswith('training.synchronisation: "join": ')
    assert "\n" not in str(refused.value)


# Steps that overlap.


def test_a_step_behind_the_loss_pulls_what_it_has_updated() -> None:
    found = overlapping(two_layers())
    after = {op.name: op.after for op in found.profile.step.operations}
    assert after == {
        "loss": (),
        "b/backward": ("loss",),
        "a/backward": ("b/backward",),
        "b/push": ("b/backward",),
        "a/push": ("a/backward",),
        "b/update": ("b/push",),
        "a/update": ("a/push",),
        "a/pull": ("a/update",),
        "b/pull": ("b/update",),
        "a/forward": ("a/pull",),
        "b/forward": ("a/forward", "b/pull"),
    }


def test_consecutive_rows_pair() -> None:
    """Up to the loss a row's durations are those of the next recorded step."""
    profile = two_layers()
    paired = overlapping(profile).paired(np.array(profile.duration_ns, dtype=np.float64))
    # The loss itself could be on either side: it is alone there. Here it is behind.
    assert paired.tolist() == [[11, 12, 3, 4, 5, 6, 7], [21, 22, 13, 14, 15, 16, 17]]


def test_one_recorded_step_does_not_overlap() -> None:
    profile = two_layers(duration_ns=[[1, 2, 3, 4, 5, 6, 7]])
    with pytest.raises(ScenarioError, match="one recorded step"):
        overlapping(profile).paired(np.array(profile.duration_ns, dtype=np.float64))


@pytest.mark.parametrize("name", ["alexnet", "resnet50", "vgg11", "googlenet"])
def test_built_in_profiles_can_be_joined_and_overlap(name: str) -> None:
    profile = load_profile(name)
    found = overlapping(profile)
    assert 0 < found.forward.sum() < len(found.forward)
    names = {tensor for op in profile.step.transfers if (tensor := op.tensor)}
    spread = assignment({tensor: i % 2 for i, tensor in enumerate(sorted(names))})
    for each in (profile, found.profile):
        durations = np.array(profile.duration_ns, dtype=np.float64)
        plan = make_plan(each, durations, spread, np.random.default_rng(0), JOINED)
        assert plan.once is not None
        assert plan.once.sum() > 0
