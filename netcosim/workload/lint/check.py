"""Runs all lint rules over one profile."""

from collections.abc import Callable, Iterator
from typing import Final

from netcosim.errors import ScenarioError
from netcosim.workload.lint import durations, operations, tensors
from netcosim.workload.lint.finding import Finding
from netcosim.workload.lint.linted import Linted
from netcosim.workload.model import Profile
from netcosim.workload.uncollected import uncollected

_RULES: Final[tuple[Callable[[Linted], Iterator[Finding]], ...]] = (
    operations.names,
    operations.resources,
    operations.transfers,
    operations.dependencies,
    operations.loose_ends,
    operations.data_loading,
    operations.parsing,
    tensors.updates,
    tensors.moved_tensors,
    tensors.slices,
    durations.samples,
    durations.rows,
    durations.jitter,
)


def lint(profile: Profile) -> tuple[Finding, ...]:
    """Findings of all rules: errors first, then warnings, each in the order of the rules."""
    seen = Linted(profile)
    with uncollected():
        found = [finding for rule in _RULES for finding in rule(seen)]
    return tuple(sorted(found, key=lambda finding: finding.severity))


def check(profile: Profile, source: str) -> None:
    """Refuse a profile that can't be simulated.

    Raises
    ------
    ScenarioError
        The first error, and how many more there are.
    """
    errors = [finding for finding in lint(profile) if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ScenarioError(f"{source}: {errors[0]}{more}")
