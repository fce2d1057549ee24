"""Reading of a sweep file: from its text to what varies, with the base scenario."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from netcosim.errors import ScenarioError
from netcosim.scenario import (
    Scenario,
    build_scenario,
    builtin_scenarios,
    named_scenario,
    read_scenario,
)
from netcosim.scenario.fields import Record
from netcosim.scenario.toml import parse_toml, validation_message
from netcosim.user_files import SWEEP, read_text
from ray_sweeps.sweep_file.ensembles import Ensemble, check_ensemble
from ray_sweeps.sweep_file.factors import read_drawn, read_factor
from ray_sweeps.sweep_file.fields import check_lists
from ray_sweeps.sweep_file.fixed import with_fixed
from ray_sweeps.sweep_file.model import Draw, SweepFile
from ray_sweeps.sweep_file.names import path_of
from ray_sweeps.sweep_file.paths import is_path, with_absolute_paths
from ray_sweeps.sweep_file.sweep import Group, Price, Sweep, Varied

_TABLES: Final[dict[str, type[Record]]] = {"prices": Price, "draw": Draw, "stragglers": Ensemble}
MOST_FACTORS: Final = 100
_DEEPEST: Final = 16


def read_sweep(path: Path, *, base: Scenario | None = None, folder: Path | None = None) -> Sweep:
    """Read and validate a sweep file.

    Parameters
    ----------
    path : of the file
    base : the scenario as it was resolved before, instead of the one that the file names
    folder : that paths in the file count from, where it is a copy

    Raises
    ------
    ScenarioError
        One line that names the file, the field, its value and what is allowed.
    """
    try:
        text = read_text(path, SWEEP)
    except OSError as problem:
        raise ScenarioError(f"{path}: can't be read: {problem.strerror}") from None
    return parse_sweep(text, path, base=base, folder=folder)


def parse_sweep(
    text: str, path: Path, *, base: Scenario | None = None, folder: Path | None = None
) -> Sweep:
    """Validate the text of a sweep; `path` names it in errors, the others are as of `read_sweep`.

    Raises
    ------
    ScenarioError
        As `read_sweep`.
    """
    try:
        check_lists(text)
    except ValueError as problem:
        raise ScenarioError(f"{path}: {problem}") from None
    data = parse_toml(text, str(path))
    try:
        return _sweep(data, path, text, base, (folder or path.parent).absolute())
    except ScenarioError as problem:
        said = str(problem)
        raise ScenarioError(said if said.startswith(str(path)) else f"{path}: {said}") from None


def _sweep(
    given: dict[str, Any], path: Path, text: str, resolved: Scenario | None, folder: Path
) -> Sweep:
    if _depth(given) > _DEEPEST:
        raise ScenarioError("nested too deeply")
    data = with_absolute_paths(given, folder)
    try:
        file = SweepFile.model_validate(data)
    except ValidationError as problem:
        raise ScenarioError(validation_message(problem, SweepFile, _TABLES)) from None
    for name, ensemble in file.stragglers.items():
        check_ensemble(name, ensemble, file.seed)
    base = resolved
    if base is None:
        base = with_fixed(_base(file.scenario), file.fixed, file.stragglers, file.seed)
    groups = tuple(_groups(file))
    _check_names(groups, file.fixed)
    _check_prices(file.prices)
    return Sweep(
        name=file.name,
        description=file.description,
        seed=file.seed,
        replications=file.replications or base.repetitions,
        prices=file.prices,
        base=base,
        fixed=tuple(path_of(name, None, f"fixed.{name}") for name in file.fixed),
        groups=groups,
        where=file.where,
        given=file.given,
        ensembles=file.stragglers,
        file=path,
        folder=folder,
        text=text,
    )


def _groups(file: SweepFile) -> Iterator[Group]:
    """Groups of factors that vary together, in the file's order."""
    for name, entry in file.factors.items():
        varied = read_factor(name, entry, f"factors.{name}", ("when",))
        yield Group(field=varied.field, factors=(varied,), length=_length(varied))
    for i, zipped in enumerate(file.zip):
        yield _zipped(zipped, f"zip[{i}]")
    for i, draw in enumerate(file.draw):
        field = f"draw[{i}]"
        entries = [(name, entry, f"{field}.factors.{name}") for name, entry in draw.factors.items()]
        drawn = tuple(read_drawn(*entry) for entry in entries)
        yield Group(field=field, factors=drawn, length=draw.count, method=draw.method)


def _zipped(table: dict[str, Any], field: str) -> Group:
    factors = tuple(read_factor(name, each, f"{field}.{name}") for name, each in table.items())
    lengths = {varied.name: _length(varied) for varied in factors}
    if not factors:
        raise ScenarioError(f"{field}: must have a factor")
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {count}" for name, count in lengths.items())
        raise ScenarioError(f"{field}: {shown} values; must be as many of each")
    return Group(field=field, factors=factors, length=_length(factors[0]))


def _length(varied: Varied) -> int:
    return len(varied.values or ())


def _check_names(groups: Iterable[Group], fixed: Iterable[str]) -> None:
    """Refuse a factor that there is already, and a place that is set or varied already."""
    names: dict[str, str] = {}
    places: dict[str, str] = {}
    for name in fixed:
        _set_once(path_of(name, None, f"fixed.{name}"), f"fixed.{name}", places)
    for count, varied in enumerate(each for group in groups for each in group.factors):
        if count == MOST_FACTORS:
            raise ScenarioError(f"{varied.field}: must be at most {MOST_FACTORS} factors")
        if varied.name in names:
            said = f"is the name of {names[varied.name]}, too; must differ"
            raise ScenarioError(f"{varied.field}: {said}")
        _set_once(varied.path, varied.field, places)
        names[varied.name] = varied.field


def _check_prices(prices: Sequence[Price]) -> None:
    names = [price.name for price in prices]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ScenarioError.at(f"prices[{i}].name", name, "names must differ")


def _set_once(path: str, field: str, places: dict[str, str]) -> None:
    if path in places:
        raise ScenarioError(f"{field}: {path} is set by {places[path]}, too; must be set once")
    places[path] = field


def _base(given: str | dict[str, Any]) -> Scenario:
    """The scenario that a sweep names or holds."""
    if isinstance(given, dict):
        return build_scenario(given, "scenario")
    if is_path(given):
        return read_scenario(Path(given))
    builtin = builtin_scenarios(resources.files("sim") / "scenarios")
    return named_scenario(given, builtin, "scenario")


def _depth(value: object) -> int:
    """Depth to which tables and lists are nested."""
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return depth
