"""Parsing and formatting of quantities with units.

Rates are bits per second, sizes bytes, durations nanoseconds, all integers.
A number without its unit is refused: nobody can tell 100 bit/s from 100 Mbit/s.
"""

import re
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, Underflow
from types import MappingProxyType
from typing import Final

from netcosim.unit_guesses import Guess, Kind, guesses

Factors = MappingProxyType[str, int]

RATE: Final[Factors] = MappingProxyType(
    {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9, "tbit": 10**12}
)
SIZE: Final[Factors] = MappingProxyType(
    {
        "B": 1,
        "kB": 10**3,
        "MB": 10**6,
        "GB": 10**9,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
    }
)
DURATION: Final[Factors] = MappingProxyType({"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9})

_EXPECTED: Final[Mapping[Kind, str]] = MappingProxyType(
    {
        "rate": "a rate such as 100mbit or 1gbit",
        "size": "a size such as 64KiB or 20MB",
        "duration": "a duration such as 5ms or 250us",
    }
)
_QUANTITY = re.compile(r"\s*([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z/]*)\s*", re.ASCII)
_LARGEST = 2**63 - 1
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation, Overflow, Underflow])
"""Refuses what it can't compute exactly, instead of rounding."""


def parse_rate_bps(text: str) -> int:
    """Read a rate such as ``100mbit`` or ``2.5 Gbit/s``, in bits per second.

    Raises
    ------
    ValueError
        Not a number with a unit, negative, or not a whole number of bits.
    """
    return _parse(text, RATE, "rate", fold=True, suffixes=("/s", "ps"))


def parse_size_bytes(text: str) -> int:
    """Read a size such as ``64KiB`` or ``20MB``, in bytes.

    Case matters: ``MB`` is 10**6 bytes, ``MiB`` 2**20; ``mb`` is refused.

    Raises
    ------
    ValueError
        Not a number with a unit, negative, or not a whole number of bytes.
    """
    return _parse(text, SIZE, "size")


def parse_duration_ns(text: str) -> int:
    """Read a duration such as ``5ms``, in nanoseconds.

    Raises
    ------
    ValueError
        Not a number with a unit, negative, or not a whole number of nanoseconds.
    """
    return _parse(text, DURATION, "duration")


def format_rate(rate_bps: int) -> str:
    """Text that `parse_rate_bps` reads back to the same rate."""
    return _format(rate_bps, RATE)


def format_size(size_bytes: int) -> str:
    """Text that `parse_size_bytes` reads back to the same size."""
    return _format(size_bytes, SIZE)


def format_duration(duration_ns: int) -> str:
    """Text that `parse_duration_ns` reads back to the same duration."""
    return _format(duration_ns, DURATION)


def _parse(
    text: str, factors: Factors, kind: Kind, *, fold: bool = False, suffixes: tuple[str, ...] = ()
) -> int:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"must be {_EXPECTED[kind]}{_meant(text, factors, kind)}")
    number, given = match.groups()
    unit = given.lower() if fold else given
    for suffix in suffixes:
        unit = unit.removesuffix(suffix)
    if not unit:
        raise ValueError(f"has no unit; must be {_EXPECTED[kind]}")
    if unit not in factors:
        meant = _meant(text, factors, kind)
        raise ValueError(f"unknown unit {given!r}; allowed: {', '.join(factors)}{meant}")
    try:
        value = _EXACT.multiply(_EXACT.create_decimal(number), Decimal(factors[unit]))
    except ArithmeticError:
        raise ValueError("is too large or has too many digits") from None
    return _whole(value)


def _meant(text: str, factors: Factors, kind: Kind) -> str:
    """Such as ``; did you mean 1gbit?``; empty if that can't be told."""
    found = [_told(guess, factors) for guess in guesses(text, kind)]
    told = list(dict.fromkeys(quantity for quantity in found if quantity))
    return f"; did you mean {' or '.join(told)}?" if told else ""


def _told(guess: Guess, factors: Factors) -> str:
    """A guess as text that can be read, and what its unit was taken for; empty if there is none."""
    try:
        value = _whole(guess.value)
    except (ArithmeticError, ValueError):
        return ""
    text = f"{guess.number}{guess.unit}" if guess.unit in factors else _format(value, factors)
    return f"{text} ({guess.remark})" if guess.remark else text


def _whole(value: Decimal) -> int:
    if value < 0:
        raise ValueError("must be >= 0")
    if value > _LARGEST:
        raise ValueError("is too large")
    if value != value.to_integral_value():
        raise ValueError("must come to a whole number of the smallest unit")
    return int(value)


def _format(value: int, factors: Factors) -> str:
    """Use the largest unit that divides the value, so that nothing is rounded."""
    best = max((f, u) for u, f in factors.items() if value % f == 0 and (f <= value or f == 1))
    return f"{value // best[0]}{best[1]}"
