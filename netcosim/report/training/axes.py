"""Axes and labels that the pictures by number of workers share."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from netcosim.results.training.summary import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CROWDED: Final = 5
_DIGIT_IN: Final = 0.075
_GAP_IN: Final = 0.13

MANY: Final = 24
"""More points than this are drawn smaller."""


def workers_axis(axes: "Axes", points: Sequence[Point]) -> bool:
    """Scale and label the horizontal axis; True if it is logarithmic.

    It is where most numbers would crowd at the left otherwise.
    """
    from matplotlib.ticker import FixedLocator, NullLocator

    counts = sorted({p.workers for p in points})
    logarithmic = counts[len(counts) // 2] * _CROWDED < counts[-1]
    if logarithmic:
        axes.set_xscale("log", base=2)
        axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
    else:
        pad = max(0.3, 0.03 * (counts[-1] - counts[0]))
        axes.set_xlim(counts[0] - pad, counts[-1] + pad)
    shown = spaced(counts, labels_for(axes, counts[-1]), logarithmic=logarithmic)
    axes.xaxis.set_major_locator(FixedLocator([float(c) for c in shown]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.set_xlabel("workers")
    return logarithmic


def labels_for(axes: "Axes", largest: int) -> int:
    """Number of labels, as wide as this number, that have room beside each other."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width_in = axes.get_position().width * figure.get_figwidth()
    return max(2, int(width_in / (_DIGIT_IN * len(str(largest)) + _GAP_IN)))


def mark_size(points: Sequence[Point]) -> float:
    """Size of a curve's markers; small where there are many."""
    return 4.0 if len(points) <= MANY else 2.0


def spaced(counts: Sequence[int], most: int, *, logarithmic: bool) -> list[int]:
    """Counts to be labelled: about `most` at most, so that each has room; the last one always."""

    def place(count: int) -> float:
        return math.log2(count) if logarithmic else float(count)

    room = (place(counts[-1]) - place(counts[0])) / most
    kept: list[int] = []
    for count in reversed(counts):
        if not kept or place(kept[-1]) - place(count) > room:
            kept.append(count)
    return kept[::-1]


def apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in 0..1, at least `gap` apart, nearest to the wanted ones by least squares.

    Pool adjacent violators: whoever would be too near to its neighbour moves with it. If there is
    not room for all, the gap is smaller.
    """
    count = len(wanted)
    gap = min(gap, 1 / max(1, count - 1))
    order = sorted(range(count), key=lambda i: wanted[i])
    pools: list[tuple[float, int]] = []
    for rank, i in enumerate(order):
        total, members = wanted[i] - rank * gap, 1
        while pools and pools[-1][0] / pools[-1][1] > total / members:
            more, others = pools.pop()
            total, members = total + more, members + others
        pools.append((total, members))
    most = 1 - (count - 1) * gap
    flat = [
        min(max(total / members, 0.0), most) for total, members in pools for _ in range(members)
    ]
    placed = [0.0] * count
    for rank, i in enumerate(order):
        placed[i] = flat[rank] + rank * gap
    return placed


def label_right(axes: "Axes", labels: Sequence[tuple[float, str, str]]) -> None:
    """Text at the right of the axes: height from 0 to 1, text, colour; none hides another."""
    places = apart([height for height, _, _ in labels], 0.052)
    for place, (_, text, colour) in zip(places, labels, strict=True):
        axes.text(
            1.015,
            place,
            text,
            transform=axes.transAxes,
            color=colour,
            fontsize=7.5,
            va="center",
            ha="left",
        )


def height_of(axes: "Axes", value: float) -> float:
    """Height of a value in the axes, from 0 to 1 if it is visible."""
    display = axes.transData.transform((axes.get_xlim()[0], value))
    return float(axes.transAxes.inverted().transform(display)[1])


def time_unit(longest_ns: float) -> tuple[str, float]:
    """Unit that suits a time (s or ms), and its nanoseconds."""
    return ("s", 1e9) if longest_ns >= 2e9 else ("ms", 1e6)
