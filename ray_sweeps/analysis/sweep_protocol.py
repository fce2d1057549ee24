"""Protocol of a sweep, as far as the analysis needs it beside the dataset."""

from collections.abc import Sequence
from typing import Protocol


class PriceList(Protocol):
    """Prices of machines: a configuration costs workers * worker + servers * server."""

    @property
    def name(self) -> str: ...
    @property
    def worker(self) -> float: ...
    @property
    def server(self) -> float: ...
    @property
    def unit(self) -> str: ...


class FactorValues(Protocol):
    """A factor: its path in a scenario, its values in the file's order or None if drawn."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> str: ...
    @property
    def values(self) -> Sequence[object] | None: ...


class FactorGroup(Protocol):
    """Factors that vary together."""

    @property
    def factors(self) -> Sequence[FactorValues]: ...


class SweepDescription(Protocol):
    """A sweep's name, description, price lists, what it varies, and what of it is no choice."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def prices(self) -> Sequence[PriceList]: ...
    @property
    def given(self) -> Sequence[str]: ...
    @property
    def groups(self) -> Sequence[FactorGroup]: ...


def factors_of(sweep: SweepDescription) -> tuple[FactorValues, ...]:
    """All factors that the sweep names, in its order."""
    return tuple(factor for group in sweep.groups for factor in group.factors)
