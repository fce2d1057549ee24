"""Model of a sweep file, as far as it does not hang on the scenario."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from netcosim.scenario.fields import Name, Record, Whole
from ray_sweeps.sweep_file.distributions import Choices
from ray_sweeps.sweep_file.ensembles import Ensemble
from ray_sweeps.sweep_file.fields import MOST_VALUES, End, filled, line
from ray_sweeps.sweep_file.sampling import Method
from ray_sweeps.sweep_file.sweep import Price

MOST_DRAWN = 1_000_000
"""Most points of a draw."""

MOST_REPLICATIONS = 1000
"""Most runs of a point."""


def _scenario(value: Any) -> Any:
    if isinstance(value, dict) or (isinstance(value, str) and value and value.isprintable()):
        return value
    raise ValueError("must be a built-in scenario's name, a path, or a table")


def _conditions(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    raise ValueError('must be a list of conditions, such as ["workers <= 8"]')


def _names(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(dict.fromkeys(value))
    raise ValueError('must be a list of names of factors, such as ["rate"]')


class Draw(Record):
    """Points that are drawn: so many positions, each with a value of each factor."""

    method: Method = "latin-hypercube"
    count: Annotated[Whole, Field(ge=1, le=MOST_DRAWN)]
    factors: Annotated[dict[str, Any], BeforeValidator(filled)]


class SweepFile(Record):
    """The tables of a sweep file; `reading` looks into what is left open here."""

    name: Name
    description: Annotated[str, AfterValidator(line)] = ""
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 1
    scenario: Annotated[Any, BeforeValidator(_scenario)] = "default"
    replications: Annotated[Whole, Field(ge=1, le=MOST_REPLICATIONS)] | None = None
    where: Annotated[tuple[str, ...], BeforeValidator(_conditions)] = ()
    given: Annotated[tuple[str, ...], BeforeValidator(_names)] = ()
    fixed: dict[str, Any] = {}
    factors: dict[str, Any] = {}
    zip: tuple[dict[str, Any], ...] = ()
    draw: tuple[Draw, ...] = ()
    stragglers: dict[Name, Ensemble] = {}
    prices: tuple[Price, ...] = ()


class Listed(Record):
    """A factor with a list of values."""

    values: Choices


class Range(Record):
    """A factor with a range of numbers or quantities; in files its first end is ``from``."""

    first: Annotated[End, Field(alias="from")]
    to: End
    step: End | None = None
    count: Annotated[Whole, Field(ge=2, le=MOST_VALUES)] | None = None
    scale: Literal["linear", "log"] = "linear"
