"""Lint rules for recorded durations and their jitter."""

from collections.abc import Iterator

from netcosim.workload.lint.finding import Finding, error
from netcosim.workload.model import Profile


def samples(profile: Profile) -> Iterator[Finding]:
    """Measured steps are as they were; one row of medians is varied."""
    steps = len(profile.duration_ns)
    if not steps:
        yield error("duration_ns: no steps; must be at least one")
    if profile.samples == "measured" and profile.jitter is not None:
        yield error('jitter: must not be given for samples "measured": they vary as they did')
    if profile.samples == "medians":
        if steps > 1:
            yield error(f'duration_ns: {steps} rows; must be one for samples "medians"')
        if profile.jitter is None:
            yield error('jitter: is required for samples "medians"; "deterministic" is one')


def rows(profile: Profile) -> Iterator[Finding]:
    """Each step has a duration for each computation, none negative, and they come to something."""
    computes = profile.step.computes
    for step, row in enumerate(profile.duration_ns):
        if len(row) < len(computes):
            missing = len(computes) - len(row)
            more = f" and for {missing - 1} more" if missing > 1 else ""
            yield error(f"duration_ns: none for it{more}", computes[len(row)].name, step)
        elif len(row) > len(computes):
            message = f"duration_ns: {len(row)} values; must be {len(computes)}, one a computation"
            yield error(message, step=step)
        for op, value in zip(computes, row, strict=False):
            if value < 0:
                yield error(f"duration_ns: {value}: must be >= 0", op.name, step)
        if computes and not any(row):
            yield error("duration_ns: all are 0: nothing was computed", step=step)


def jitter(profile: Profile) -> Iterator[Finding]:
    """Measured factors belong to the model that draws from them."""
    if profile.jitter is None:
        return
    if profile.jitter.model == "empirical":
        if not any(profile.jitter.factors):
            yield error('jitter.factors: must have one > 0 for model "empirical"')
    elif profile.jitter.factors:
        yield error(f'jitter.factors: only for model "empirical", not "{profile.jitter.model}"')
