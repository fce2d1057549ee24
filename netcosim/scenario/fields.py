"""Pydantic fields that are text with a unit in a file and an integer in the program."""

import re
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StringConstraints,
)

from netcosim.units import (
    format_duration,
    format_rate,
    format_size,
    parse_duration_ns,
    parse_rate_bps,
    parse_size_bytes,
)


def _quantity(parse: Callable[[str], int], example: str) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if isinstance(value, str):
            return parse(value)
        # An int is accepted only from the program itself, already in base units.
        if isinstance(value, BaseUnits):
            return int(value)
        raise ValueError(f'must be text with a unit, such as "{example}"')

    return read


class BaseUnits(int):
    """A number from the program itself, already in base units: bits/s, bytes or nanoseconds."""


def _between(least: int, most: int, form: Callable[[int], str]) -> AfterValidator:
    """Refuse a quantity that is out of bounds; the error has both with their units."""

    def check(value: int) -> int:
        if least <= value <= most:
            return value
        raise ValueError(f"must be {form(least)} to {form(most)}")

    return AfterValidator(check)


def rates(least_bps: int, most_bps: int) -> AfterValidator:
    """Bounds of a rate, for a field's annotation."""
    return _between(least_bps, most_bps, format_rate)


def sizes(least_bytes: int, most_bytes: int) -> AfterValidator:
    """Bounds of a size, for a field's annotation."""
    return _between(least_bytes, most_bytes, format_size)


def durations(least_ns: int, most_ns: int) -> AfterValidator:
    """Bounds of a duration, for a field's annotation."""
    return _between(least_ns, most_ns, format_duration)


MOST_RATE_BPS = 100 * 10**12
MOST_SIZE_BYTES = 2**40
MOST_DURATION_NS = 30 * 86_400 * 10**9
"""Bounds that several records share; the longest duration is thirty days."""

RateBps = Annotated[
    int,
    BeforeValidator(_quantity(parse_rate_bps, "100mbit"), json_schema_input_type=str),
    PlainSerializer(format_rate),
]
SizeBytes = Annotated[
    int,
    BeforeValidator(_quantity(parse_size_bytes, "64KiB"), json_schema_input_type=str),
    PlainSerializer(format_size),
]
DurationNs = Annotated[
    int,
    BeforeValidator(_quantity(parse_duration_ns, "5ms"), json_schema_input_type=str),
    PlainSerializer(format_duration),
]
# TOML has types: true is no number, "7" and 7.0 are no whole numbers.
Whole = Annotated[int, Field(strict=True)]
Fraction = Annotated[float, Field(strict=True)]
Flag = Annotated[bool, Field(strict=True)]


def _option(value: Any) -> Any:
    if isinstance(value, int | str):
        return value
    raise ValueError("must be a whole number, true, false or text")


OptionValue = Annotated[int | bool | str, BeforeValidator(_option)]


def _release(value: str) -> str:
    if re.fullmatch(r"[0-9]{1,4}(\.[0-9]{1,4}){1,2}((rc|\.post)[0-9]{1,3})?", value):
        return value
    number = re.search(r"[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4})?", value)
    meant = f"; did you mean {number[0]}?" if number else ", or left out for the newest"
    raise ValueError(f"must be a release such as 1.59.5{meant}")


def _text(value: str) -> str:
    if value and len(value) <= 200 and value.isprintable():
        return value
    raise ValueError("must be a tensor's name")


def _path(value: str) -> str:
    if value and value.isprintable():
        return value
    raise ValueError("must be a file's path")


Release = Annotated[str, AfterValidator(_release)]
FilePath = Annotated[str, AfterValidator(_path)]
TensorName = Annotated[str, AfterValidator(_text)]
"""Name of any tensor, also one from a profile."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$", max_length=60)]


class Record(BaseModel):
    """Base of records: frozen, complete when built, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=False)
