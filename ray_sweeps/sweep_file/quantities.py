"""Quantities as text with a unit: what kind they are of, their sizes, and text of a size."""

from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Final, Literal

from netcosim.units import (
    DURATION,
    RATE,
    SIZE,
    parse_duration_ns,
    parse_rate_bps,
    parse_size_bytes,
)

QuantityKind = Literal["rate", "size", "duration"]

_PARSERS: Final[Mapping[QuantityKind, Callable[[str], int]]] = MappingProxyType(
    {"rate": parse_rate_bps, "size": parse_size_bytes, "duration": parse_duration_ns}
)
UNITS: Final[Mapping[str, int]] = MappingProxyType({**RATE, **SIZE, **DURATION})
"""Every unit, with its size in bits per second, bytes or nanoseconds."""

_EXACT: Final = Context(prec=60)


@lru_cache(maxsize=65536)
def measured(text: str) -> tuple[QuantityKind, int] | None:
    """Kind and size of a quantity in bits per second, bytes or nanoseconds; None if it is none."""
    for kind, parse in _PARSERS.items():
        try:
            return kind, parse(text)
        except ValueError:
            continue
    return None


def unit_of(text: str) -> str:
    """The unit that a quantity is given in, as `UNITS` names it."""
    letters = text.strip().lstrip("+-0123456789.eE ").strip()
    if letters in UNITS:
        return letters
    return letters.lower().removesuffix("/s").removesuffix("ps")


def quantity_text(size: int, unit: str) -> str:
    """Text of a size in this unit, which is read back to the same size."""
    number = _EXACT.divide(Decimal(size), Decimal(UNITS[unit]))
    return f"{number.normalize(_EXACT):f}{unit}"
