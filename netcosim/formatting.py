"""Text for people: shares in per cent, short sizes, single lines, values in messages."""

from typing import Final

MOST_LINE_BYTES: Final = 4000
"""Most bytes of a line that a command says; a name in it may have been of any length."""

_LEFT_OUT: Final = b" ... "
_LONGEST_VALUE: Final = 80


def percent(fraction: float) -> str:
    """A fraction as per cent with two or three digits, such as ``0.12 %`` or ``9.8 %``."""
    value = 100 * fraction
    if value == 0:
        return "0 %"
    if value < 0.01:
        return "<0.01 %"
    digits = 2 if value < 1 else 1 if value < 10 and value != round(value) else 0
    return f"{value:.{digits}f} %"


def short_size(size_bytes: int) -> str:
    """A size in a few characters: ``16 MB``, ``1.5 MB``, ``640 B``."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes} B"


def short_time(seconds: float) -> str:
    """A time in a few characters: ``40 s``, ``12 min``, ``3.4 h``, ``2.5 days``, ``11 years``."""
    for unit, factor in (("years", 31_557_600), ("days", 86_400), ("h", 3600)):
        if seconds >= factor * (1.5 if unit != "h" else 1):
            count = seconds / factor
            return f"{count:.1f} {unit}" if count < 10 else f"{count:,.0f} {unit}"
    if seconds >= 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds:.0f} s" if seconds >= 1 else "under 1 s"


def short_rate(rate_bps: float) -> str:
    """A rate in a few characters: ``1 Gbit/s``, ``2.5 Gbit/s``, ``100 Mbit/s``."""
    for unit, factor in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if rate_bps >= factor:
            return f"{rate_bps / factor:.4g} {unit}"
    return f"{rate_bps:.4g} bit/s"


def one_line(text: str) -> str:
    """Text on one line that can't steer a terminal; spaces are joined, odd characters escaped."""
    return escaped(" ".join(text.split()))


def escaped(text: str) -> str:
    """Text that can't steer a terminal, odd characters escaped; spaces stay as they are."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def printable(text: str) -> str:
    """Text on one line that can't steer a terminal, character by character."""
    return "".join(c if c.isprintable() else " " for c in text)


def shortened(text: str, most_bytes: int = MOST_LINE_BYTES) -> str:
    """A text of at most so many bytes as UTF-8: of a longer one its beginning and its end."""
    data = text.encode(errors="backslashreplace")
    if len(data) <= most_bytes:
        return text
    room = most_bytes - len(_LEFT_OUT)
    end = room // 4
    parts = (data[: room - end].decode(errors="ignore"), data[-end:].decode(errors="ignore"))
    return _LEFT_OUT.decode().join(parts)


def quoted(value: object) -> str:
    """A value as it stands in a message: text in quotes, cut off where it is long."""
    text = str(value)
    text = text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."
    return f'"{text}"' if isinstance(value, str) else text


def shown(value: object) -> str:
    """A value as `quoted` gives it; a number of more than 80 digits, which may be any, is named."""
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_VALUE:
        return "a number of many digits"
    return quoted(value)


def shorter(complaint: str) -> str:
    """A complaint of pydantic in fewer words."""
    for long, short in (
        ("Input should be", "must be"),
        ("String should have", "must have"),
        ("greater than or equal to", ">="),
        ("less than or equal to", "<="),
        ("greater than", ">"),
        ("less than", "<"),
    ):
        complaint = complaint.replace(long, short)
    return complaint
