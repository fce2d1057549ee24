"""Paths in a sweep file, which count from its folder, made absolute."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

_FILES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        "transport": ("sender_script", "receiver_script"),
        "workload": ("profile",),
        "straggler": ("file",),
    }
)
"""Keys whose values are files, by the table of a scenario that they are in."""


def with_absolute_paths(data: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """A sweep file's content with the paths in it absolute; what is wrong stays as it is."""
    found = dict(data)
    scenario = data.get("scenario")
    if isinstance(scenario, str) and is_path(scenario):
        found["scenario"] = _absolute(scenario, folder)
    elif isinstance(scenario, dict):
        found["scenario"] = {key: _inside(each, key, "", folder) for key, each in scenario.items()}
    for table in ("fixed", "factors"):
        if table in data:
            found[table] = _entries(data[table], folder)
    if isinstance(data.get("zip"), list):
        found["zip"] = [_entries(zipped, folder) for zipped in data["zip"]]
    if isinstance(data.get("draw"), list):
        found["draw"] = [_draw(draw, folder) for draw in data["draw"]]
    if "stragglers" in data:
        found["stragglers"] = _inside(data["stragglers"], "straggler", "", folder)
    return found


def is_path(text: str) -> bool:
    """True if a scenario or a profile is named by its path, not as a built-in one."""
    return any(c in text for c in "./")


def _draw(draw: Any, folder: Path) -> Any:
    if not isinstance(draw, dict) or "factors" not in draw:
        return draw
    return {**draw, "factors": _entries(draw["factors"], folder)}


def _entries(table: Any, folder: Path) -> Any:
    """Factors' entries: the values of a path that leads to a file's key."""
    if not isinstance(table, dict):
        return table
    found = {}
    for name, entry in table.items():
        path = entry.get("path", name) if isinstance(entry, dict) else name
        first, *_, last = str(path).split(".") * 2
        if isinstance(entry, dict) and "values" in entry:
            found[name] = {**entry, "values": _inside(entry["values"], first, last, folder)}
        else:
            found[name] = _inside(entry, first, last, folder)
    return found


def _inside(value: Any, table: str, key: str, folder: Path) -> Any:
    """A value under a key of a scenario's table, with the paths in it absolute."""
    if isinstance(value, dict):
        return {inner: _inside(each, table, inner, folder) for inner, each in value.items()}
    if isinstance(value, list):
        return [_inside(each, table, key, folder) for each in value]
    named = isinstance(value, str) and key in _FILES.get(table, ())
    return _absolute(value, folder) if named and (key != "profile" or is_path(value)) else value


def _absolute(path: str, folder: Path) -> str:
    return str((folder / path).resolve()) if path and path.isprintable() else path
