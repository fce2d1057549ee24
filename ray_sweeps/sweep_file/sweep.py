"""A sweep as read: the base scenario, and what varies in which way."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from netcosim.scenario import Scenario
from netcosim.scenario.fields import Record
from ray_sweeps.sweep_file.distributions import Distribution
from ray_sweeps.sweep_file.ensembles import Ensemble
from ray_sweeps.sweep_file.fields import Finite, Kind, Scalar, line
from ray_sweeps.sweep_file.sampling import Method


@dataclass(frozen=True, slots=True, kw_only=True)
class Varied:
    """A factor as the file has it.

    Attributes
    ----------
    name : of the factor
    path : of the value in a scenario, a short one such as ``workers`` or a dotted one
    field : where the factor stands in the file, for errors
    kind : of its values
    values : all of them, or those that are chosen from; None if they are drawn otherwise
    distribution : that they are drawn from
    when : condition without which it does not vary
    """

    name: str
    path: str
    field: str
    kind: Kind
    values: tuple[Scalar, ...] | None
    distribution: Distribution | None = None
    when: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Factors that vary together: one factor alone, or those of a zip or a draw.

    Attributes
    ----------
    field : where it stands in the file, for errors
    factors : all with so many values, or all drawn
    length : how many levels it has
    method : of drawing; None if nothing is drawn
    """

    field: str
    factors: tuple[Varied, ...]
    length: int
    method: Method | None = None


class Price(Record):
    """Prices of machines: of a worker and of a server, in `unit`."""

    name: Annotated[str, Field(min_length=1, max_length=60), AfterValidator(line)]
    worker: Annotated[Finite, Field(ge=0)]
    server: Annotated[Finite, Field(ge=0)]
    unit: Annotated[str, AfterValidator(line)] = ""

    @model_validator(mode="after")
    def _costs(self) -> "Price":
        if not self.worker and not self.server:
            raise ValueError("'worker' and 'server' can't both be 0")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A validated sweep file.

    Attributes
    ----------
    name, description : of the sweep
    seed : of all that is drawn for its points
    replications : runs of each point
    prices : of machines; there may be none
    base : scenario that factors change; ``[fixed]`` is applied, the paths in it are absolute
    fixed : places that ``[fixed]`` sets, by short name or dotted path
    groups : what varies, in the file's order
    where : conditions that every point fulfils
    given : factors that whoever reads the results does not choose
    ensembles : of stragglers, by name
    file : where it was read
    folder : that paths in it count from
    text : of the file
    """

    name: str
    description: str
    seed: int
    replications: int
    prices: tuple[Price, ...]
    base: Scenario
    fixed: tuple[str, ...]
    groups: tuple[Group, ...]
    where: tuple[str, ...]
    given: tuple[str, ...]
    ensembles: Mapping[str, Ensemble]
    file: Path
    folder: Path
    text: str
