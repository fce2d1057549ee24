"""Changes that a factor's value makes to a scenario, by dotted path."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from netcosim.errors import ScenarioError
from netcosim.formatting import quoted
from netcosim.nearest import unknown
from netcosim.scenario import Scenario
from ray_sweeps.sweep_file.ensembles import Ensemble, stragglers
from ray_sweeps.sweep_file.fields import Scalar
from ray_sweeps.sweep_file.names import SHORT_NAMES, WARMUP
from sim.settings.named_transports import choose_transports

Changes = Mapping[str, object]
Change = Callable[[Scalar, int], Changes]
"""From a value, and the number of a draw, to changes by dotted path; it can be pickled."""


@dataclass(frozen=True, slots=True)
class Plain:
    """The value, at one place."""

    place: str

    def __call__(self, value: Scalar, _draw: int = 0) -> Changes:
        """Changes that the value makes."""
        return {self.place: value}


@dataclass(frozen=True, slots=True)
class Workers:
    """One number of workers."""

    def __call__(self, value: Scalar, _draw: int = 0) -> Changes:
        """Changes that the value makes."""
        return {"training.workers": [value]}


@dataclass(frozen=True, slots=True)
class Rate:
    """One rate of all links that have none of their own."""

    def __call__(self, value: Scalar, _draw: int = 0) -> Changes:
        """Changes that the value makes."""
        return {"cluster.link.rate": value, "training.rates": None}


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps; of few ones at most half are warm-up, as with ``--steps``."""

    warmup: int

    def __call__(self, value: Scalar, _draw: int = 0) -> Changes:
        """Changes that the value makes."""
        if not isinstance(value, int) or self.warmup <= value // 2:
            return {"training.steps": value}
        return {"training.steps": value, WARMUP: value // 2}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One transport or workload by name, in place of all."""

    place: str
    tables: Mapping[Scalar, Mapping[str, Any]]

    def __call__(self, value: Scalar, _draw: int = 0) -> Changes:
        """Changes that the value makes."""
        return {self.place: [self.tables[value]]}


@dataclass(frozen=True, slots=True)
class Stragglers:
    """Straggler ensembles in place of the scenario's entries."""

    ensembles: Mapping[str, Ensemble]
    seed: int
    field: str

    def __call__(self, value: Scalar, draw: int = 0) -> Changes:
        """Changes that the value makes; `draw` numbers the draw of intensities."""
        entries = stragglers(str(value), self.ensembles, draw, self.seed, self.field)
        return {"straggler": entries}


def change_of(
    path: str,
    field: str,
    values: tuple[Scalar, ...] | None,
    base: Scenario,
    ensembles: Mapping[str, Ensemble],
    seed: int,
    has_warmup: bool,
) -> Change:
    """Changes of a scenario by the values of a factor.

    Parameters
    ----------
    path : a short name, or a dotted path
    field : where the factor stands in the file, for errors
    values : that it may have; None if that is not known
    base : scenario that is changed
    ensembles : of the sweep
    seed : of their draws
    has_warmup : whether the warm-up steps are set beside the steps

    Raises
    ------
    ScenarioError
        There is no transport, workload or straggler of such a name.
    """
    match path:
        case "workers":
            return Workers()
        case "rate":
            return Rate()
        case "steps" if not has_warmup:
            return Steps(base.training.warmup)
        case "transport" | "workload" | "straggler":
            names = _names(values, field)
            if path == "transport":
                return Chosen(path, {name: _transport(name, base, field) for name in names})
            if path == "workload":
                return Chosen(path, {name: _workload(name, base, field) for name in names})
            used = {name: e for name, e in ensembles.items() if any(name in n for n in names)}
            found = Stragglers(used, seed, field)
            for name in names:
                stragglers(name, ensembles, 0, seed, field)
            return found
    return Plain(SHORT_NAMES.get(path, path))


def _names(values: tuple[Scalar, ...] | None, field: str) -> list[str]:
    for value in values or (None,):
        if not isinstance(value, str):
            raise ScenarioError(f"{field}: {quoted(value)}: must be names")
    return [str(value) for value in values or ()]


def _transport(name: str, base: Scenario, field: str) -> dict[str, Any]:
    try:
        return choose_transports([name], base)[0]
    except ScenarioError as problem:
        raise ScenarioError(f"{field}{str(problem).removeprefix('--transport')}") from None


def _workload(name: str, base: Scenario, field: str) -> dict[str, Any]:
    own = {workload.name: workload for workload in base.workload}
    if name not in own:
        raise ScenarioError.at(field, name, unknown(name, own))
    found: dict[str, Any] = own[name].model_dump(mode="json", exclude_none=True)
    return found
