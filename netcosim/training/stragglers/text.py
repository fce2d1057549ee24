"""Stragglers in words."""

from netcosim.scenario import StragglerSpec


def straggler_text(spec: StragglerSpec) -> str:
    """Short description of a straggler entry."""
    if isinstance(spec.workers, tuple):
        who = "worker " + ", ".join(map(str, spec.workers))
    elif spec.count is not None:
        who = "worker 0" if spec.count == 1 else f"the first {spec.count} workers"
    else:
        who = "all workers" if spec.share is None else f"a share {spec.share:g} of the workers"
    options = ", ".join(f"{key} {value}" for key, value in spec.options.items())
    return f"{who}: {spec.kind} {options}".rstrip()
