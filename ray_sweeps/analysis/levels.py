"""Order and text of a factor's values."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from netcosim.formatting import short_rate, short_size
from netcosim.units import parse_duration_ns, parse_rate_bps, parse_size_bytes

Value = str | int | float | bool | None

NOT_VARIED: Final = "not varied"
"""Text of null: where a condition keeps the factor as the scenario has it."""

_KINDS: Final[tuple[tuple[Callable[[str], int], Callable[[float], str]], ...]] = (
    (parse_rate_bps, short_rate),
    (parse_size_bytes, lambda size: short_size(round(size))),
    (parse_duration_ns, lambda time_ns: f"{number_text(time_ns / 1e6, 3)} ms"),
)
"""Parsers of quantities as text, each with what makes a short text of one."""
_FIRST: Final = ("none", "off")
_NUMBERS: Final = re.compile(r"(\d+)", re.ASCII)


def ordered(values: Iterable[Value], wanted: Sequence[object] = ()) -> list[Value]:
    """Distinct values, null first, then in the order of `wanted`, then by size.

    Quantities as text, such as ``10gbit``, are ordered by their sizes; other text by the alphabet,
    after ``none``.
    """
    found = list(dict.fromkeys(values))
    known = {value: place for place, value in enumerate(wanted)}
    rest = sorted((v for v in found if v is not None and v not in known), key=_key(found))
    first = sorted((v for v in found if v is not None and v in known), key=lambda v: known[v])
    return [*([None] if None in found else []), *first, *rest]


def value_text(value: Value) -> str:
    """A value for a person."""
    if value is None:
        return NOT_VARIED
    if isinstance(value, bool):
        return "yes" if value else "no"
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(value: float, digits: int = 4) -> str:
    """A number with a few significant digits, without an exponent where it has a usual size."""
    short = f"{value:.{digits}g}"
    return f"{float(short):.12g}" if 1e-4 <= abs(value) < 1e9 else short


def short_number(value: float) -> str:
    """A number with three digits where there is little room: ``1.5``, ``640``, ``1.41G``."""
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= (factor if unit != "k" else 1e5):
            return f"{float(f'{value / factor:.3g}'):.12g}{unit}"
    return number_text(value, 3)


def quantities(
    values: Sequence[str | None],
) -> tuple[list[float | None], Callable[[float], str]] | None:
    """Sizes of quantities as text, and what makes a short text of one; None if any is another text.

    They are in bits a second, bytes or nanoseconds.
    """
    texts = [value for value in values if value is not None]
    for parse, text in _KINDS:
        if texts and _parses(parse, texts):
            return [None if value is None else float(parse(value)) for value in values], text
    return None


def _key(values: Sequence[Value]) -> Callable[[Value], tuple[int, float, list[str]]]:
    texts = [v for v in values if isinstance(v, str) and v not in _FIRST]
    parse = next((p for p, _ in _KINDS if texts and _parses(p, texts)), None)

    def key(value: Value) -> tuple[int, float, list[str]]:
        if not isinstance(value, str):
            return (0, float(value or 0), [])
        if value in _FIRST:
            return (1, 0.0, [value])
        size = 0.0 if parse is None else float(parse(value))
        # Numbers within names by their size: run-2 before run-10.
        parts = [part.zfill(20) if part.isdigit() else part for part in _NUMBERS.split(value)]
        return (2, size, [*parts, value])

    return key


def _parses(parse: Callable[[str], int], texts: Iterable[str]) -> bool:
    try:
        for text in texts:
            parse(text)
    except ValueError:
        return False
    return True
