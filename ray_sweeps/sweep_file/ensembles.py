"""Straggler ensembles: entries under a name, with intensities that may be drawn."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError

from netcosim.errors import ScenarioError
from netcosim.nearest import unknown
from netcosim.scenario import MOST_WORKERS, StragglerSpec
from netcosim.scenario.fields import Record, Whole
from netcosim.scenario.toml import validation_message
from netcosim.training.stragglers import check_stragglers, named, named_stragglers
from ray_sweeps.sweep_file.distributions import Distribution
from ray_sweeps.sweep_file.fields import filled
from ray_sweeps.sweep_file.sampling import generator

NOBODY: Final = "none"
"""Name of the ensemble without an entry."""

MOST_DRAWS: Final = 10_000


class Ensemble(Record):
    """Entries of stragglers; an option may be a distribution, which `draws` points draw from."""

    entries: Annotated[tuple[dict[str, Any], ...], BeforeValidator(filled)]
    draws: Annotated[Whole, Field(ge=1, le=MOST_DRAWS)] = 1


def check_ensemble(name: str, ensemble: Ensemble, seed: int) -> None:
    """Refuse an ensemble with a name that is taken, or entries that no scenario may have.

    Raises
    ------
    ScenarioError
        One line that names field, value and what is allowed.
    """
    field = f"stragglers.{name}"
    if name == NOBODY or name in named_stragglers():
        raise ScenarioError(f"{field}: is the name of a built-in one; choose another")
    if "+" in name:
        raise ScenarioError(f"{field}: a name must be without +, which combines names")
    if ensemble.draws > 1 and not any(map(_distributions, ensemble.entries)):
        raise ScenarioError(f"{field}.draws: {ensemble.draws}: no option is a distribution")
    specs = []
    for i, entry in enumerate(drawn_entries(name, ensemble, 0, seed)):
        try:
            specs.append(StragglerSpec.model_validate(entry))
        except ValidationError as problem:
            within = f"{field}.entries[{i}]"
            said = validation_message(problem, StragglerSpec, {}, within=within)
            raise ScenarioError(said) from None
    try:
        check_stragglers(specs, MOST_WORKERS)
    except ScenarioError as problem:
        said = str(problem).replace("straggler[", f"{field}.entries[", 1)
        where = "" if said.startswith(field) else f"{field}: "
        raise ScenarioError(f"{where}{said}") from None


def draws_of(text: str, ensembles: Mapping[str, Ensemble]) -> int:
    """Number of points that differ by what these ensembles, combined with +, draw."""
    return max((ensembles[name].draws for name in _names(text) if name in ensembles), default=1)


def stragglers(
    text: str, ensembles: Mapping[str, Ensemble], draw: int, seed: int, field: str
) -> list[dict[str, Any]]:
    """Entries of ensembles, the sweep's and built-in ones, combined with +.

    Parameters
    ----------
    draw : number of the draw; an ensemble with fewer begins again
    field : where the text stands in the file, for errors

    Raises
    ------
    ScenarioError
        There is none of a name.
    """
    found: list[dict[str, Any]] = []
    for name in _names(text):
        if name in ensembles:
            own = ensembles[name]
            found += drawn_entries(name, own, draw % own.draws, seed)
        elif name in named_stragglers():
            found += [s.model_dump(mode="json", exclude_none=True) for s in named([name])]
        else:
            known = [NOBODY, *ensembles, *named_stragglers()]
            raise ScenarioError.at(field, name, unknown(name, known))
    return found


def _names(text: str) -> list[str]:
    return [] if text == NOBODY else [name.strip() for name in text.split("+")]


def drawn_entries(name: str, ensemble: Ensemble, draw: int, seed: int) -> list[dict[str, Any]]:
    """Entries of an ensemble as a scenario has them, with the intensities of this draw."""
    rng = generator(seed, name, draw)
    field = f"stragglers.{name}.entries"
    return [_drawn(e, rng, f"{field}[{i}]") for i, e in enumerate(ensemble.entries)]


def _drawn(entry: Mapping[str, Any], rng: np.random.Generator, field: str) -> dict[str, Any]:
    options = entry.get("options", {})
    if not isinstance(options, dict):
        return dict(entry)
    found = {}
    for key, value in options.items():
        found[key] = value
        if isinstance(value, dict):
            found[key] = _distribution(value, f"{field}.options.{key}").value(rng.random())
    return {**entry, "options": found}


def _distributions(entry: Mapping[str, Any]) -> Iterable[Any]:
    options = entry.get("options", {})
    values = options.values() if isinstance(options, dict) else ()
    return [value for value in values if isinstance(value, dict)]


def _distribution(value: Mapping[str, Any], field: str) -> Distribution:
    try:
        return Distribution.model_validate(value)
    except ValidationError as problem:
        raise ScenarioError(validation_message(problem, Distribution, {}, within=field)) from None
