"""Scenarios by their names: files, or those that a package brings."""

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path

from netcosim.errors import ScenarioError
from netcosim.nearest import question
from netcosim.scenario.model import Scenario
from netcosim.scenario.toml import parse_scenario, read_scenario


def builtin_scenarios(folder: Traversable) -> dict[str, Traversable]:
    """The scenario files of a package's folder, by name."""
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {f.name.removesuffix(".toml"): f for f in files if f.name.endswith(".toml")}


def named_scenario(name: str, builtin: Mapping[str, Traversable], field: str) -> Scenario:
    """Read a scenario: what has a slash or ends in ``.toml`` is a file, anything else built in.

    Raises
    ------
    ScenarioError
        No such file or name, or it is not a valid scenario; `field` is where the name stands.
    """
    if "/" in name or name.endswith(".toml"):
        return read_scenario(Path(name))
    if name not in builtin:
        allowed = f"must be a file or one of: {', '.join(builtin)}{question(name, builtin)}"
        raise ScenarioError.at(field, name, allowed)
    return parse_scenario(builtin[name].read_text("utf-8"), name)
