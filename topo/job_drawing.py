"""A training job drawn for a scenario's network: what both worlds run of a workload."""

from typing import Final

from netcosim.scenario import Scenario, WorkloadSpec
from netcosim.training.job import TrainingJob, draw_job
from netcosim.training.workload_plan import PlanMaker, Source, assignment_of
from netcosim.workload import Profile
from topo.catalogue import build_spec
from topo.spec import GOODPUT_SHARE
from topo.worker_links import host_link

_HORIZON: Final = 20.0
"""What goes on for ever is drawn for so many times the time of all steps, if nothing overlaps."""


def draw_for(
    scenario: Scenario, workload: WorkloadSpec, profile: Profile, workers: int
) -> TrainingJob:
    """Draw a workload's job for so many workers, with all that chance decides.

    Parameters
    ----------
    profile : of the workload, with costs of messages

    Raises
    ------
    ScenarioError
        What the scenario names does not exist, or a straggler makes no sense.
    """
    link_bps = round(scenario.cluster.link.rate * GOODPUT_SHARE)
    maker = PlanMaker(
        Source.of(scenario, workload, profile),
        assignment_of(scenario, workload, profile, link_bps),
    )
    plan = maker.outline.plan
    step_s = float(plan.size_bytes.sum()) * 8 * workers / link_bps
    step_ns = step_s * 1e9 + max(map(sum, profile.duration_ns))
    spec = build_spec(scenario.cluster.model_copy(update={"workers": workers}))
    return draw_job(
        scenario,
        maker,
        [host_link(spec, host.name).link.rate for host in spec.workers],
        [host_link(spec, host.name).link.rate for host in spec.servers],
        run=0,
        horizon_ns=_HORIZON * scenario.training.steps * step_ns,
        payload_share=GOODPUT_SHARE,
    )
