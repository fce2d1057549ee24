"""Values of a range: evenly spread, linearly or by their logarithm, both ends among them."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Literal

Scale = Literal["linear", "log"]


def spread(first: float, last: float, count: int, scale: Scale) -> tuple[int | float, ...]:
    """So many numbers from `first` to `last`, ascending; whole ones if both ends are.

    Whole numbers that would coincide when they are rounded move up, or down at the upper end.

    Raises
    ------
    ValueError
        There are not so many different numbers between the ends.
    """
    if isinstance(first, int) and isinstance(last, int):
        return _whole(first, last, count, scale)
    found = [_between(first, last, Fraction(k, count - 1), scale) for k in range(count)]
    found[0], found[-1] = float(first), float(last)
    if any(later <= earlier for earlier, later in pairwise(found)):
        raise ValueError(f"are too close together for {count} values")
    return tuple(found)


def stepped(first: float, last: float, step: float, most: int) -> tuple[int | float, ...]:
    """The numbers from `first` to at most `last` in steps of this size, not more than `most`.

    Raises
    ------
    ValueError
        There are more.
    """
    begin, width = Fraction(str(first)), Fraction(str(step))
    count = int((Fraction(str(last)) - begin) // width) + 1
    if count > most:
        raise ValueError(f"comes to {count} values; must come to at most {most}")
    found = [begin + k * width for k in range(count)]
    if isinstance(first, int) and isinstance(step, int):
        return tuple(int(value) for value in found)
    return tuple(float(value) for value in found)


def _whole(first: int, last: int, count: int, scale: Scale) -> tuple[int, ...]:
    if count > last - first + 1:
        raise ValueError(f"has only {last - first + 1} whole numbers; must have {count}")
    if scale == "linear":  # half a unit is rounded up
        gaps = count - 1
        return tuple(first + (2 * k * (last - first) + gaps) // (2 * gaps) for k in range(count))
    near = [round(_between(first, last, Fraction(k, count - 1), "log")) for k in range(count)]
    near[0], near[-1] = first, last
    return _apart(near)


def _apart(near: Sequence[int]) -> tuple[int, ...]:
    """The same numbers, each moved by as little as makes them ascend; the ends stay."""
    found = list(near)
    for k in range(1, len(found)):
        found[k] = max(found[k], found[k - 1] + 1)
    found[-1] = near[-1]
    for k in range(len(found) - 2, -1, -1):
        found[k] = min(found[k], found[k + 1] - 1)
    return tuple(found)


def _between(first: float, last: float, part: Fraction, scale: Scale) -> float:
    """A number this part of the way from one to the other."""
    if scale == "log":
        return float(f"{first * (last / first) ** float(part):.12g}")
    begin, end = Fraction(str(first)), Fraction(str(last))
    return float(begin + (end - begin) * part)
