"""Changes to a scenario by dotted path, as options, notebooks and sweeps give them."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from netcosim.errors import ScenarioError
from netcosim.scenario.model import Scenario
from netcosim.scenario.toml import build_scenario


def with_values(
    scenario: Scenario, values: Mapping[str, object], source: str = "changes"
) -> Scenario:
    """Return the scenario with other values in these places, validated like a file.

    Parameters
    ----------
    scenario : to start from
    values : by dotted path, as a scenario file would hold them, quantities as text with units:
        ``cluster.link.rate``, ``training.workers``, ``transport.grpc.window`` (a table of a list
        by its name), ``straggler.0.count`` (or by its place). None takes a value away.
    source : names the changes in errors

    Raises
    ------
    ScenarioError
        There is no such place, or no scenario may have such a value.
    """
    data = changed_data(scenario, values, source)
    return build_scenario(data, source) if values else scenario


def changed_data(
    scenario: Scenario, values: Mapping[str, object], source: str = "changes"
) -> dict[str, Any]:
    """The scenario with other values as plain data, not validated; arguments as `with_values`.

    Raises
    ------
    ScenarioError
        There is no such place.
    """
    if not isinstance(values, Mapping) or not all(isinstance(path, str) for path in values):
        raise ScenarioError(f"{source}: must be a mapping from dotted paths to values")
    data: dict[str, Any] = scenario.model_dump(mode="json", exclude_none=True)
    for path, value in values.items():
        *tables, key = path.split(".")
        table: Any = data
        for depth, part in enumerate(tables):
            table = _entry(table, part, ".".join(tables[: depth + 1]), source)
        _put(table, key, deepcopy(value), path, source)  # a later path may lead into it
    return data


def _entry(table: Any, part: str, path: str, source: str) -> Any:
    """The table within a table, made if it is not there; or one of a list by name or place."""
    if isinstance(table, list):
        return table[_place(table, part, path, source)]
    found = table.setdefault(part, {}) if isinstance(table, dict) else None
    if not isinstance(found, dict | list):
        raise ScenarioError(f"{source}: {path}: is no table")
    return found


def _put(table: Any, key: str, value: object, path: str, source: str) -> None:
    if isinstance(table, list):
        table[_place(table, key, path, source)] = value
    elif value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _place(entries: list[Any], part: str, path: str, source: str) -> int:
    """Place of a list's entry, given by its name or by its place."""
    names = [entry.get("name") for entry in entries if isinstance(entry, dict)]
    if part in names:
        return names.index(part)
    if part.isascii() and part.isdecimal() and len(part) < 6 and int(part) < len(entries):
        return int(part)
    known = [name for name in names if name] or [str(i) for i in range(len(entries))]
    allowed = f"must be one of: {', '.join(known)}" if known else "the list is empty"
    raise ScenarioError(f"{source}: {ScenarioError.at(path, part, allowed)}")
