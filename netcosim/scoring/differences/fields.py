"""Fields that differ between two scenarios or two records of versions, by dotted name."""

from collections.abc import Iterator, Mapping
from typing import Any

from netcosim.scenario import Scenario
from netcosim.scoring.differences.records import FieldChange


def scenario_changes(a: Scenario, b: Scenario) -> tuple[FieldChange, ...]:
    """Fields of two scenarios that differ, quantities as text with units.

    The description is for people and changes nothing: it is left out.
    """
    before, after = (
        one.model_dump(mode="json", exclude_none=True, exclude={"description"}) for one in (a, b)
    )
    return field_changes(before, after)


def field_changes(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Leaves of two nested mappings that differ, in the order of A, then those of B alone.

    Tables in a list are told by their name where they have one (``transport[h2].window``), else by
    their place; a list of anything else is one value.
    """
    before, after = dict(_leaves(a)), dict(_leaves(b))
    return tuple(
        FieldChange(field=field, a=before.get(field), b=after.get(field))
        for field in dict.fromkeys([*before, *after])
        if before.get(field) != after.get(field)
    )


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{inner.get('name', place)}]")
    else:
        yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(_text(one) for one in value) or "none"
    return str(value)
