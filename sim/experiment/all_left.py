"""Check for runs that all workers leave for good."""

from netcosim.training.stragglers import Conditions


def all_gone_ns(under: Conditions) -> int | None:
    """Time at which the last worker leaves for good, ns; None: some worker stays."""
    here = set(range(len(under.worker_bps))) - set(under.absent)
    time_ns = 0
    for change in under.presence:
        (here.add if change.joins else here.discard)(change.worker)
        time_ns = change.time_ns
    return None if here else time_ns
