"""Validation of JSON and plain data into records, with errors of one line."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from netcosim import user_files
from netcosim.errors import ScenarioError
from netcosim.formatting import printable, shorter, shown
from netcosim.nearest import unknown
from netcosim.user_files import PROFILE, FileKind

Record = TypeVar("Record", bound=BaseModel)
Where = Callable[[tuple[int | str, ...]], str]


def read_text(path: Path, kind: FileKind = PROFILE) -> str:
    """The text of a file of a kind.

    Raises
    ------
    ScenarioError
        It can't be read, is no regular file, is too large, or is not UTF-8.
    """
    try:
        return user_files.read_text(path, kind)
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    raise ScenarioError(printable(f"{path}: can't be read: {reason}"))


def parse_json(text: str, source: str) -> Any:
    """The value of strict JSON: no NaN, and no key twice in an object.

    Raises
    ------
    ScenarioError
        It is no strict JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except json.JSONDecodeError as problem:
        reason = f"{problem.msg} (line {problem.lineno} column {problem.colno})"
    except _NotStrictError as problem:
        reason = str(problem)
    except ValueError:  # Python's own bound on reading whole numbers
        reason = "a number of thousands of digits"
    except RecursionError:
        reason = "nested too deeply"
    raise ScenarioError(printable(f"{source}: not JSON: {reason}"))


def validated(
    model: type[Record], data: Any, source: str, where: Where, parts: Mapping[str, type[BaseModel]]
) -> Record:
    """The record that the data describes.

    `where` names a place of it for people; `parts` are the records under a key of it, or of a kind.

    Raises
    ------
    ScenarioError
        One line: the source, the place, the value and what is allowed.
    """
    try:
        return model.model_validate(data)
    except ValidationError as problem:
        errors = problem.errors(include_url=False)
    first = min(errors, key=_rank)
    message = _complaint(first)
    if first["type"] == "extra_forbidden":
        records = [parts[key] for key in first["loc"][:-1] if isinstance(key, str) and key in parts]
        message = unknown(str(first["loc"][-1]), (records or [model])[-1].model_fields, message)
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    raise ScenarioError(printable(f"{source}: {where(first['loc'])}{message}{more}"))


class _NotStrictError(Exception):
    """Text that Python reads as JSON, and others don't."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise _NotStrictError(f"the key {shown(twice)} stands twice in one object")
    return found


def _refuse_constant(name: str) -> Any:
    raise _NotStrictError(f"{name} is no number; durations and sizes must be finite")


def _rank(error: ErrorDetails) -> int:
    """Rank of an error: another version explains the rest, a misspelt key what is missing."""
    if error["loc"] in (("format",), ("version",)):
        return 0
    return 1 if error["type"] == "extra_forbidden" else 2


def _complaint(error: ErrorDetails) -> str:
    kind, value = error["type"], error["input"]
    message = _MESSAGES.get(kind) or _in_plain_words(error["msg"])
    if kind in ("missing", "extra_forbidden") or isinstance(value, dict | list | tuple):
        return message
    return f"{'null' if value is None else shown(value)}: {message}"


_MESSAGES: Final = {
    "missing": "is required",
    "extra_forbidden": "unknown key",
    "tuple_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "union_tag_not_found": 'needs "kind": "compute" or "transfer"',
    "union_tag_invalid": '"kind" must be "compute" or "transfer"',
    "string_pattern_mismatch": "must be printable text on one line",
    "string_unicode": "must be printable text on one line",
}


def _in_plain_words(complaint: str) -> str:
    for type_name, words in (
        ("a valid integer", "a whole number"),
        ("a valid number", "a number"),
        ("a valid string", "text"),
    ):
        complaint = complaint.replace(type_name, words)
    return shorter(complaint)
