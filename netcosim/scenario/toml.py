"""Scenario files: TOML to a validated scenario and back."""

import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from pydantic import ValidationError

from netcosim.errors import ScenarioError
from netcosim.scenario.model import Scenario


def read_scenario(path: Path) -> Scenario:
    """Read and validate a scenario file.

    Raises
    ------
    ScenarioError
        One line that names the file, the field, its value and what is allowed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "is not UTF-8 text"
        raise ScenarioError(f"{path}: can't be read: {reason}") from None
    return parse_scenario(text, source=str(path))


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    """Validate the text of a scenario; `source` names it in errors."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{source}: not TOML: {problem}") from None
    return build_scenario(data, source)


def build_scenario(data: dict[str, Any], source: str = "scenario") -> Scenario:
    """Validate a scenario given as plain data, quantities as text with units."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as problem:
        raise ScenarioError(f"{source}: {_one_line(problem)}") from None


def dump_scenario(scenario: Scenario) -> str:
    """TOML that `parse_scenario` reads back to an equal scenario."""
    return tomli_w.dumps(scenario.model_dump(mode="json", exclude_none=True))


def _one_line(problem: ValidationError) -> str:
    errors = problem.errors(include_url=False)
    first = errors[0]
    where = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"]).lstrip(".")
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "unknown key"
    elif first["type"] == "missing":
        message = "is required"
    value = first["input"]
    shown = "" if first["type"] == "missing" or isinstance(value, dict | list | tuple) else (
        f'"{value}": ' if isinstance(value, str) else f"{value}: "
    )
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return f"{where or 'scenario'}: {shown}{_brief(message)}{more}".replace("\n", " ")


def _brief(message: str) -> str:
    return message.replace("Input should be greater than or equal to", "must be >=").replace(
        "Input should be", "must be"
    )
