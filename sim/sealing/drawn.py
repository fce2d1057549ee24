"""Check of a training job's summary against its scenario and the job that this draws."""

from collections.abc import Sequence

from netcosim.errors import StorageError
from netcosim.results.training.job_summary import JobSeries
from netcosim.scenario import Scenario, WorkloadSpec
from netcosim.training.job_file import dump_job, hash_of
from netcosim.training.prepare.message_costs import profile_of
from topo.job_drawing import draw_for


def check_drawn(scenario: Scenario, series: Sequence[JobSeries], source: str) -> None:
    """Refuse cells that a scenario does not have, and what is said of them but not drawn by it.

    Parameters
    ----------
    source : names the summary in errors

    Raises
    ------
    StorageError
        As told above.
    """
    workloads = {w.name: w for w in scenario.workload if w.profile is not None}
    transports = {transport.name for transport in scenario.transport}
    drawn: dict[str, dict[str, object]] = {}
    for each in series:
        workload, _, transport = each.cell.partition("/")
        if workload not in workloads or transport not in transports:
            raise StorageError(f"{source}: {each.cell}: is no training job of its scenario")
        if workload not in drawn:
            drawn[workload] = _facts(scenario, workloads[workload])
        if each.messages is not None and scenario.clock != "real":
            allowed = "is for records by the machine's clock"
            raise StorageError(f"{source}: {each.cell}: messages: {allowed}")
        for field, wanted in drawn[workload].items():
            if (found := getattr(each, field)) != wanted:
                allowed = f"must be {wanted}, by its scenario"
                raise StorageError(f"{source}: {each.cell}: {field}: {found}: {allowed}")


def _facts(scenario: Scenario, workload: WorkloadSpec) -> dict[str, object]:
    """Fields of a series that follow from the scenario, by name."""
    training, cluster = scenario.training, scenario.cluster
    profile = profile_of(workload, training)
    most = max(training.workers or (cluster.workers,))
    return {
        "profile": profile.name,
        "batch": training.batch or profile.batch,
        "servers": cluster.servers,
        "rate_bps": cluster.link.rate,
        "synchronisation": scenario.waiting_rule,
        "job_sha256": hash_of(dump_job(draw_for(scenario, workload, profile, most))),
    }
