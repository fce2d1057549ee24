"""Writing and reading of summaries and run records as JSON, equal text for equal content."""

import json
import math
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from netcosim.errors import StorageError

DIGITS: Final = 9
"""Significant digits of a number: enough for any figure here, and equal across processors."""

Model = TypeVar("Model", bound=BaseModel)


def to_json(record: BaseModel) -> str:
    """Sorted, indented JSON; numbers are rounded to `DIGITS`.

    Raises
    ------
    ValueError
        A number is not finite.
    """
    return dump_json(record.model_dump(mode="json"))


def dump_json(data: Any) -> str:
    """Sorted, indented JSON of plain data, with a newline at its end."""
    return json.dumps(_rounded(data), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def as_stored(data: Any) -> Any:
    """Plain data as it comes back from `dump_json`: numbers rounded to `DIGITS`."""
    return json.loads(dump_json(data))


def from_json(kind: type[Model], text: bytes, source: str) -> Model:
    """Read what `to_json` wrote; `source` names it in errors.

    Raises
    ------
    StorageError
        Not JSON, or not a record of this kind and version.
    """
    try:
        return kind.model_validate_json(text)
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise StorageError(f"{source}: {where + ': ' if where else ''}{first['msg']}") from None


def format_of(text: bytes) -> str | None:
    """The `format` that stands in a record; None if there is none.

    Raises
    ------
    ValueError
        It is not JSON.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    found = data.get("format") if isinstance(data, dict) else None
    return found if isinstance(found, str) else None


def schema_json(kind: type[BaseModel]) -> str:
    """The JSON schema (draft 2020-12) of what `to_json` writes of this kind."""
    schema = kind.model_json_schema(mode="serialization")
    return dump_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def _rounded(data: Any) -> Any:
    if isinstance(data, dict):
        return {str(key): _rounded(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_rounded(value) for value in data]
    if isinstance(data, float):
        if not math.isfinite(data):
            raise ValueError(f"{data} can't be written as a number")
        return float(f"{data:.{DIGITS}g}")
    return data
