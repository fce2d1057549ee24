"""Guesses at what a quantity with a wrong unit or number was meant to be.

For messages alone: a wrong quantity is refused, whatever it is taken for. `Gbps` and `Gb/s` are
bits, `GB/s` is bytes; of a size ``64K`` nobody can tell 64,000 from 65,536, so both are named.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal

from netcosim.nearest import nearest

Kind = Literal["rate", "size", "duration"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """A number and a unit, in units of the smallest one: `value` is ``number * factor``.

    `remark` says what the unit was taken for, where that may surprise; empty otherwise.
    """

    number: str
    unit: str
    factor: Decimal
    remark: str = ""

    @property
    def value(self) -> Decimal:
        """The quantity in bits per second, bytes or nanoseconds."""
        return Decimal(self.number) * self.factor


_TEXT: Final = re.compile(
    r"([-+]?[\d.,_' ]*\d[\d.,_' ]*?(?:[eE][+-]?\d+)?)([^\d\s,.][^\d]*)", re.ASCII
)
_PREFIXES: Final = MappingProxyType({"": 0, "k": 1, "m": 2, "g": 3, "t": 4})
_SCALED: Final = re.compile(
    r"(?P<prefix>kilo|mega|giga|tera|[kmgt])?(?P<binary>i)?(?P<what>bits?|bytes?|be?)?"
    r"(?P<per>ps|/s|/sec|/second|persec|persecond)?",
    re.IGNORECASE | re.ASCII,
)
_DURATIONS: Final = MappingProxyType(
    {
        "ns": ("ns", "nsec", "nsecs", "nanosecond", "nanoseconds"),
        "us": ("us", "usec", "usecs", "microsecond", "microseconds", "mus"),
        "ms": ("ms", "msec", "msecs", "millisecond", "milliseconds", "m"),
        "s": ("s", "sec", "secs", "second", "seconds"),
    }
)
_LONGER: Final = MappingProxyType(
    {
        60: ("m", "min", "mins", "minute", "minutes"),
        3600: ("h", "hr", "hrs", "hour", "hours"),
    }
)
_NS: Final = MappingProxyType({"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9})


def guesses(text: str, kind: Kind) -> list[Guess]:
    """What a quantity that can't be read was likely meant to be, the most likely first."""
    match = _TEXT.fullmatch(" ".join(text.split()).replace("\u00b5", "u").replace("\u03bc", "u"))
    if match is None:
        return []
    unit = match[2].replace(" ", "").rstrip(".")
    find = {"rate": _rates, "size": _sizes, "duration": _durations}[kind]
    return [
        Guess(number=number, unit=name, factor=factor, remark=remark)
        for number in _numbers(match[1].strip())
        for name, factor, remark in find(unit)
    ]


def _numbers(text: str) -> list[str]:
    """Readings of a number with commas, spaces or ``_`` in it, or with nothing around its point."""
    plain = re.sub(r"[_' ]", "", text)
    if re.fullmatch(r"[-+]?\d{1,3}(,\d{3}){2,}(\.\d+)?|[-+]?[1-9]\d{0,2},\d{3}\.\d+", plain):
        found = [plain.replace(",", "")]
    elif re.fullmatch(r"[-+]?[1-9]\d{0,2},\d{3}", plain):  # thousands, or three decimals
        found = [plain.replace(",", ""), plain.replace(",", ".")]
    else:
        found = [plain.replace(",", ".")]
    found = [re.sub(r"^([-+]?)\.", r"\g<1>0.", number) for number in found]
    found = [re.sub(r"\.(?=$|[eE])", "", number) for number in found]
    return [n for n in found if re.fullmatch(r"[-+]?\d+(\.\d+)?([eE][-+]?\d{1,3})?", n)]


def _rates(unit: str) -> Iterator[tuple[str, Decimal, str]]:
    match = _SCALED.fullmatch(unit)
    if match is None or not (match["prefix"] or match["what"]):
        meant = nearest(unit, ("bit", "kbit", "mbit", "gbit", "tbit"))
        if meant is not None:
            yield meant, Decimal(1000 ** _PREFIXES[meant.removesuffix("bit")]), ""
        return
    factor, prefix = _factor(match), _prefix(match)
    if _is_bytes(match["what"]):
        yield "", 8 * factor, "a byte is 8 bits"
    elif match["binary"]:
        yield "", factor, f"{prefix.upper()}i is {factor}"
    else:
        yield f"{prefix}bit", factor, ""


def _sizes(unit: str) -> Iterator[tuple[str, Decimal, str]]:
    match = _SCALED.fullmatch(unit)
    if match is None or match["per"] or not (match["prefix"] or match["what"]):
        return
    factor, prefix = _factor(match), _prefix(match)
    what = (match["what"] or "").lower()
    if what.startswith("bit"):
        yield "", factor / 8, "a byte is 8 bits"
    elif match["binary"] or prefix == "":
        yield f"{prefix.upper()}iB" if prefix else "B", factor, ""
    else:
        yield "kB" if prefix == "k" else f"{prefix.upper()}B", factor, ""
        if unit not in ("kB", "MB", "GB", "TB") and not what.startswith("byte"):
            yield f"{prefix.upper()}iB", Decimal(1024 ** _PREFIXES[prefix]), ""


def _durations(unit: str) -> Iterator[tuple[str, Decimal, str]]:
    plain = unit.lower()
    short = [name for name, names in _DURATIONS.items() if plain in names]
    long = [seconds for seconds, names in _LONGER.items() if plain in names]
    yield from ((name, Decimal(_NS[name]), "") for name in short)
    yield from (("", Decimal(seconds * 10**9), f"{_LONGER[seconds][-1]}") for seconds in long)
    if not short and not long and (meant := nearest(plain, _NS)) is not None:
        yield meant, Decimal(_NS[meant]), ""


def _prefix(match: re.Match[str]) -> str:
    return (match["prefix"] or "")[:1].lower()


def _factor(match: re.Match[str]) -> Decimal:
    return Decimal((1024 if match["binary"] else 1000) ** _PREFIXES[_prefix(match)])


def _is_bytes(what: str | None) -> bool:
    return what is not None and (what == "B" or what.lower().startswith("byte"))
