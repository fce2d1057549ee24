"""Reader of files with a machine's speed over time: JSON or CSV, the same columns."""

import csv
import io
import math
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from netcosim.errors import ScenarioError
from netcosim.formatting import printable
from netcosim.nearest import unknown
from netcosim.training.plan import Floats
from netcosim.training.stragglers.effect import Use
from netcosim.training.stragglers.speeds import Speeds
from netcosim.user_files import SPEED_TRACE, state_of
from netcosim.workload.checked import parse_json, read_text

_MOST_ROWS: Final = 1_000_000
_LARGEST: Final = float(2**53)

# Column: whether every file has it, the least and the largest value, and how to say so.
_COLUMNS: Final[dict[str, tuple[bool, float, float, str]]] = {
    "time_ns": (True, 0.0, _LARGEST, "a time in ns, 0 to 2^53"),
    "speed": (True, 1e-6, 1e6, "a speed, 1e-6 to 1e6"),
    "cpu": (False, 0.0, 1.0, "a part of the processors, 0 to 1"),
    "memory_bytes": (False, 0.0, _LARGEST, "bytes, 0 to 2^53"),
}


def read_trace(path: Path) -> tuple[Speeds, Use | None]:
    """Read a machine's speed over time, and its use, if the file has a column of it.

    Raises
    ------
    ScenarioError
        One line: the file, the row, the column, the value and what is allowed.
    """
    return _read(path, state_of(path))


@lru_cache(maxsize=32)
def _read(path: Path, _state: tuple[int | str, ...]) -> tuple[Speeds, Use | None]:
    """The trace in a file of this state: read once, as every run under it asks for it."""
    text = read_text(path, SPEED_TRACE)
    try:
        columns = _json(text, str(path)) if text.lstrip().startswith("{") else _csv(text)
        _check_names(columns)
        arrays = {name: _array(name, values) for name, values in columns.items()}
        _check_times(arrays["time_ns"])
    except _FormatError as problem:
        raise ScenarioError(printable(f"{path}: {problem}")) from None
    speeds = Speeds(time_ns=arrays["time_ns"], speed=arrays["speed"])
    if len(arrays) == 2:
        return speeds, None
    memory_bytes = arrays.get("memory_bytes")
    return speeds, Use(time_ns=speeds.time_ns, cpu=arrays.get("cpu"), memory_bytes=memory_bytes)


class _FormatError(Exception):
    """Format error in a trace file; the message says what is wrong."""


def _json(text: str, source: str) -> dict[str, list[Any]]:
    columns = parse_json(text, source)
    for name, values in columns.items():
        if not isinstance(values, list):
            raise _FormatError(f"{name}: must be a list of numbers")
    return dict(columns)


def _csv(text: str) -> dict[str, list[Any]]:
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as problem:
        raise _FormatError(f"not CSV: {problem}") from None
    rows = [row for row in rows if row]
    if not rows:
        raise _FormatError("is empty; the first line names the columns")
    names = [name.strip() for name in rows[0]]
    if len(set(names)) != len(names):
        raise _FormatError("names a column twice")
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(names):
            raise _FormatError(f"row {number}: has {len(row)} values; must have {len(names)}")
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(names)}


def _check_names(columns: dict[str, list[Any]]) -> None:
    allowed = f"allowed: {', '.join(_COLUMNS)}"
    for name in columns:
        if name not in _COLUMNS:
            raise _FormatError(f'column "{name[:80]}": {unknown(name, _COLUMNS)}')
    for name, (needed, *_) in _COLUMNS.items():
        if needed and name not in columns:
            raise _FormatError(f"column {name}: is missing; {allowed}")
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1 or not 1 <= lengths.pop() <= _MOST_ROWS:
        raise _FormatError(f"columns must be of one length, 1 to {_MOST_ROWS}")


def _array(name: str, values: list[Any]) -> Floats:
    _, least, largest, what = _COLUMNS[name]
    found = np.empty(len(values))
    for row, value in enumerate(values):
        number = _number(value)
        if not least <= number <= largest:  # false for nan
            raise _FormatError(f'row {row + 1}: {name}: "{str(value)[:80]}": must be {what}')
        found[row] = number
    return found


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return math.nan
    try:
        return float(value)
    except (ValueError, OverflowError):
        return math.nan


def _check_times(time_ns: Floats) -> None:
    if time_ns[0] != 0:
        raise _FormatError(f"row 1: time_ns: {time_ns[0]:.0f}: must be 0")
    late = np.flatnonzero(np.diff(time_ns) <= 0)
    if len(late):
        row = int(late[0]) + 2
        said = f"row {row}: time_ns: {time_ns[row - 1]:.0f}: must be later than the row before"
        raise _FormatError(said)
