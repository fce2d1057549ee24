"""Cost of a message at its receiver, given instead of recorded."""

from typing import Literal

from netcosim.scenario import MessageCostSpec, TrainingSpec, WorkloadSpec
from netcosim.scenario.profile import load_workload
from netcosim.workload import Parsing, Profile, Resource

_ADDED: dict[Literal["server", "worker"], str] = {"server": "ps", "worker": "worker"}


def profile_of(workload: WorkloadSpec, training: TrainingSpec) -> Profile:
    """A workload's profile as its jobs have it: with the batch and the costs that were asked for.

    Raises
    ------
    ScenarioError
        There is no such profile, or it can't be scaled as asked.
    """
    return with_message_costs(
        load_workload(workload, training.batch), training.server_messages, training.worker_messages
    )


def with_message_costs(
    profile: Profile, server: MessageCostSpec | None, worker: MessageCostSpec | None
) -> Profile:
    """A profile whose messages cost this at servers and workers; None leaves what was recorded.

    A message is read on the first resource of its receiver; a profile without any gets one.
    """
    if server is not None:
        profile = _with_cost(profile, "server", server)
    if worker is not None:
        profile = _with_cost(profile, "worker", worker)
    return profile


def _with_cost(
    profile: Profile, node: Literal["server", "worker"], cost: MessageCostSpec
) -> Profile:
    step = profile.step
    found = next((r for r in step.resources if r.node == node), None)
    if found is None:
        found = Resource(name=_ADDED[node], node=node)
        step = step.model_copy(update={"resources": (*step.resources, found)})
    rule = Parsing(
        destination=node,
        resource=found.name,
        alpha_ns_per_byte=float(cost.ns_per_byte),
        beta_ns=float(cost.message),
    )
    others = tuple(each for each in profile.parsing if each.destination != node)
    return profile.model_copy(update={"parsing": (*others, rule), "step": step})
