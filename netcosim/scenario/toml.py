"""Scenario files: TOML to a validated scenario and back."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomli_w
from pydantic import ValidationError

from netcosim.errors import ScenarioError
from netcosim.formatting import printable, quoted, shortened, shorter
from netcosim.nearest import question, unknown
from netcosim.scenario.coordination import CoordinationSpec, CurveSpec
from netcosim.scenario.fields import Record
from netcosim.scenario.model import (
    ClusterSpec,
    LinkSpec,
    PolicySpec,
    Scenario,
    TcpSpec,
    TensorSpec,
    TransportSpec,
    WorkloadSpec,
)
from netcosim.scenario.training import MessageCostSpec, StragglerSpec, TrainingSpec
from netcosim.user_files import SCENARIO, read_text

_LONGEST_KEY: Final = 200
_DEEP_KEY: Final = re.compile(r"""(?<!["'\w-])(?:["'\w-]++\s*+\.\s*+){100}""")


def read_scenario(path: Path) -> Scenario:
    """Read and validate a scenario file.

    Raises
    ------
    ScenarioError
        One line that names the file, the field, its value and what is allowed.
    """
    try:
        text = read_text(path, SCENARIO)
    except OSError as problem:
        raise ScenarioError(f"{path}: can't be read: {problem.strerror}") from None
    return _with_paths_from(parse_scenario(text, source=str(path)), path.absolute().parent)


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    """Validate the text of a scenario; `source` names it in errors."""
    return build_scenario(parse_toml(text, source), source)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Parse a file of this project that people write; `source` names it in errors.

    Raises
    ------
    ScenarioError
        It is not TOML, or nested too deeply.
    """
    if _DEEP_KEY.search(text):  # the parser takes the square of its length
        raise ScenarioError(f"{source}: not TOML: nested too deeply")
    if text.startswith("\ufeff"):
        raise ScenarioError(f"{source}: not TOML: begins with a byte order mark, which must go")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise ScenarioError(f"{source}: not TOML: {problem}") from None
    except ValueError:  # Python's own bound on reading whole numbers
        raise ScenarioError(f"{source}: not TOML: a number of thousands of digits") from None
    except RecursionError:
        raise ScenarioError(f"{source}: not TOML: nested too deeply") from None


def build_scenario(data: dict[str, Any], source: str = "scenario") -> Scenario:
    """Validate a scenario given as plain data, quantities as text with units."""
    try:
        return Scenario.model_validate(data)
    except ValidationError as problem:
        raise ScenarioError(f"{source}: {validation_message(problem, Scenario, _TABLES)}") from None


def dump_scenario(scenario: Scenario) -> str:
    """TOML that `parse_scenario` reads back to an equal scenario."""
    data = scenario.model_dump(mode="json", exclude_none=True)
    for field in ("training", "straggler"):  # most scenarios are for the emulator
        if getattr(scenario, field) == Scenario.model_fields[field].default:
            del data[field]
    return tomli_w.dumps(data)


def _with_paths_from(scenario: Scenario, folder: Path) -> Scenario:
    """The scenario with the paths of its files made absolute: a copy of it lies elsewhere."""

    def absolute(path: str) -> str:
        return str((folder / path).resolve())

    transports = []
    for transport in scenario.transport:
        given = {
            field: absolute(path)
            for field in ("sender_script", "receiver_script")
            if (path := getattr(transport, field)) is not None
        }
        transports.append(transport.model_copy(update=given) if given else transport)
    workloads = [
        w.model_copy(update={"profile": absolute(w.profile)})
        if w.profile is not None and w.profile_is_file
        else w
        for w in scenario.workload
    ]
    stragglers = [
        s.model_copy(update={"options": {**s.options, "file": absolute(path)}})
        if isinstance(path := s.options.get("file"), str)
        else s
        for s in scenario.straggler
    ]
    found = {
        "transport": tuple(transports),
        "workload": tuple(workloads),
        "straggler": tuple(stragglers),
    }
    return scenario.model_copy(update=found)


def validation_message(
    problem: ValidationError,
    model: type[Record],
    tables: Mapping[str, type[Record]],
    *,
    within: str = "",
) -> str:
    """One-line message on an invalid record: the field, its value and what is allowed.

    Parameters
    ----------
    problem : what pydantic says
    model : the record
    tables : the records within it, by the key that they stand under
    within : where the record itself stands
    """
    errors = problem.errors(include_url=False)
    # A misspelt key is also a missing one; what the person wrote says more.
    first = next((e for e in errors if e["type"] == "extra_forbidden"), errors[0])
    place = "".join(
        f"[{p}]" if isinstance(p, int) else f".{shortened(p, _LONGEST_KEY)}" for p in first["loc"]
    )
    where = (within + place).lstrip(".")
    kind = first["type"]
    if kind == "extra_forbidden":
        keys = list(_keys(first["loc"], model, tables))
        message = unknown(str(first["loc"][-1]), keys, "unknown key")
    elif kind == "literal_error" and isinstance(first["input"], str):
        names = re.findall("'([^']*)'", first["ctx"]["expected"])
        message = shorter(first["msg"]) + question(first["input"], names)
    else:
        message = _MESSAGES.get(kind) or shorter(first["msg"].removeprefix("Value error, "))
    value = "" if kind == "missing" else _shown(first["input"])
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return printable(f"{where or 'scenario'}: {value}{message}{more}")


_MESSAGES = {
    "missing": "is required",
    "string_pattern_mismatch": "must begin with a letter or digit, then letters, digits, _ . + -",
    "dict_type": "must be a table",
    "tuple_type": "must be a list; of tables, write [[...]]",
}

_TABLES: dict[str, type[Record]] = {
    "cluster": ClusterSpec,
    "link": LinkSpec,
    "links": LinkSpec,
    "tcp": TcpSpec,
    "policy": PolicySpec,
    "training": TrainingSpec,
    "server_messages": MessageCostSpec,
    "worker_messages": MessageCostSpec,
    "sent_messages": MessageCostSpec,
    "coordination": CoordinationSpec,
    "curve": CurveSpec,
    "straggler": StragglerSpec,
    "workload": WorkloadSpec,
    "tensors": TensorSpec,
    "transport": TransportSpec,
}


def _keys(
    where: Sequence[int | str], model: type[Record], tables: Mapping[str, type[Record]]
) -> Iterable[str]:
    """Keys allowed in the table that this key stands in."""
    found = [tables[part] for part in where[:-1] if isinstance(part, str) and part in tables]
    return (found[-1] if found else model).model_fields


def _shown(value: object) -> str:
    return "" if isinstance(value, dict | list | tuple) else f"{quoted(value)}: "
