"""Profile files: JSON to a profile and back."""

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from netcosim.formatting import shortened, shown
from netcosim.workload.checked import Where, parse_json, read_text, validated
from netcosim.workload.model import Compute, Jitter, Parsing, Profile, Resource, Step, Transfer

_LONGEST_KEY: Final = 200
_PARTS: Final[dict[str, type[BaseModel]]] = {
    "jitter": Jitter,
    "parsing": Parsing,
    "step": Step,
    "resources": Resource,
    "compute": Compute,
    "transfer": Transfer,
}


def read_profile(path: Path) -> Profile:
    """Read a profile file; `netcosim.workload.lint` says whether it makes sense.

    Raises
    ------
    ScenarioError
        One line that names the file, the operation or step, the value and what is allowed.
    """
    return parse_profile(read_text(path), str(path))


def parse_profile(text: str, source: str = "profile") -> Profile:
    """Read the text of a profile; `source` names it in errors.

    Raises
    ------
    ScenarioError
        As `read_profile`.
    """
    data = parse_json(text, source)
    return validated(Profile, data, source, _places(data), _PARTS)


def dump_profile(profile: Profile) -> str:
    """JSON that `parse_profile` reads back to an equal profile.

    An operation a line, a step's durations a line; what has its default value is left out.
    """
    head = profile.model_dump(mode="json", exclude_defaults=True, exclude={"step", "duration_ns"})
    lines = [
        f"{_json(key)}: {_json(value)}"
        for key, value in {"format": profile.format, "version": profile.version, **head}.items()
    ]
    resources = [r.model_dump(mode="json", exclude_defaults=True) for r in profile.step.resources]
    step = (
        f'"step": {{"resources": {_json(resources)}, "operations": '
        + _list([_json(_operation(op)) for op in profile.step.operations])
        + "}"
    )
    rows = '"duration_ns": ' + _list([_json(row) for row in profile.duration_ns])
    return "{\n" + ",\n".join([*lines, step, rows]) + "\n}\n"


def _operation(operation: Compute | Transfer) -> dict[str, Any]:
    return {"kind": operation.kind, **operation.model_dump(mode="json", exclude_defaults=True)}


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def _list(lines: list[str]) -> str:
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


def _places(data: Any) -> Where:
    """Naming of places in a profile file, for errors: operations by name, steps by number."""
    operations = _at(_at(data, "step"), "operations")

    def where(place: tuple[int | str, ...]) -> str:
        match place:
            case ("duration_ns", int(step)):
                return f"duration_ns: step {step}: "
            case ("duration_ns", int(step), int(column)):
                return f"duration_ns: step {step}: {_column(operations, column)}: "
            case ("step", "operations", int(index), *rest):
                fields = [p for p in rest if p not in ("compute", "transfer")]
                return f"{_called(_at(operations, index), index)}: " + _joined(fields)
            case _:
                return _joined(place)

    return where


def _joined(place: list[int | str] | tuple[int | str, ...]) -> str:
    keys = (f"[{p}]" if isinstance(p, int) else f".{shortened(p, _LONGEST_KEY)}" for p in place)
    text = "".join(keys)
    return f"{text.lstrip('.')}: " if text else ""


def _column(operations: Any, column: int) -> str:
    known = operations if isinstance(operations, list) else []
    computes = [op for op in known if _at(op, "kind") == "compute"]
    return _called(_at(computes, column), column)


def _called(operation: Any, index: int) -> str:
    name = _at(operation, "name")
    return f"operation {shown(name)}" if isinstance(name, str) else f"operation number {index}"


def _at(data: Any, key: int | str) -> Any:
    """Value under a key or an index of any data; None where there is none."""
    if isinstance(data, dict):
        return data.get(key)
    if isinstance(data, list) and isinstance(key, int) and key < len(data):
        return data[key]
    return None
