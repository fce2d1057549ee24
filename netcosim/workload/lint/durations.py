"""Lint rules for recorded durations and their jitter."""

from collections.abc import Iterator

from netcosim.workload.lint.finding import Finding, error
from netcosim.workload.lint.linted import Linted


def samples(seen: Linted) -> Iterator[Finding]:
    """Measured steps are as they were; one row of medians is varied."""
    steps = len(seen.profile.duration_ns)
    if not steps:
        yield error("duration_ns: no steps; must be at least one")
    if seen.profile.samples == "measured" and seen.profile.jitter is not None:
        yield error('jitter: must not be given for samples "measured": they vary as they did')
    if seen.profile.samples == "medians":
        if steps > 1:
            yield error(f'duration_ns: {steps} rows; must be one for samples "medians"')
        if seen.profile.jitter is None:
            yield error('jitter: is required for samples "medians"; "deterministic" is one')


def rows(seen: Linted) -> Iterator[Finding]:
    """Each step has a duration for each computation, none negative, and they come to something."""
    computes = seen.computes
    for step, row in enumerate(seen.profile.duration_ns):
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


def jitter(seen: Linted) -> Iterator[Finding]:
    """Measured factors belong to the model that draws from them."""
    given = seen.profile.jitter
    if given is None:
        return
    if given.model == "empirical":
        if not any(given.factors):
            yield error('jitter.factors: must have one > 0 for model "empirical"')
    elif given.factors:
        yield error(f'jitter.factors: only for model "empirical", not "{given.model}"')
