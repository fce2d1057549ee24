"""Profile under the linter's eyes: what several rules need to know of its step, found once."""

from collections.abc import Mapping
from functools import cached_property

from netcosim.workload.model import Compute, Profile, Role, Transfer
from netcosim.workload.topological_order import dependents, some_order


class Linted:
    """A profile with views of its operations, each made when a rule first asks for it."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.operations = profile.step.operations

    @cached_property
    def computes(self) -> tuple[Compute, ...]:
        """The computations, in order."""
        return self.profile.step.computes

    @cached_property
    def transfers(self) -> tuple[Transfer, ...]:
        """The transfers, in order."""
        return self.profile.step.transfers

    @cached_property
    def node(self) -> Mapping[str, Role]:
        """Node of each resource, by its name."""
        return {resource.name: resource.node for resource in self.profile.step.resources}

    @cached_property
    def earlier(self) -> dict[str, tuple[str, ...]]:
        """Names of the operations that each operation waits for, by its name."""
        return {op.name: op.after for op in self.operations}

    @cached_property
    def later(self) -> dict[str, list[str]]:
        """Operations that wait for each one, by name."""
        return dependents(self.earlier)

    @cached_property
    def order(self) -> list[str]:
        """Operations behind all that they wait for, but for cycles and what is behind them."""
        return some_order(self.earlier, self.later)
