"""Distance between two orders of service, and its parts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emu.capture.arrays import Ints, ints
from emu.identify.discipline_replay import Run

GRID = 400
MOST_OCTAVES = 4.0

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Distance between two orders of service of the same bytes.

    Attributes
    ----------
    order_error : where streams end, in bytes that the connection had carried by then, over all its
        bytes; mean over the streams
    misplaced : share of the bytes that went to another stream by then, mean over the burst
    turns : how different the turns are, in octaves: of the number of visits that did not finish
        their stream, and of the sizes of these visits (mean over deciles)
    """

    order_error: float
    misplaced: float
    turns: float

    @property
    def score(self) -> float:
        """One figure to rank by; an octave counts as two per cent of the bytes."""
        return self.misplaced + 0.02 * self.turns


class Reference:
    """Reference order of service, with which others are compared."""

    def __init__(self, runs: Sequence[Run], numbers: Sequence[int], upto_bytes: int) -> None:
        """Keep the first `upto_bytes` of an order; `numbers` are all streams there can be."""
        self._numbers = sorted(numbers)
        self._upto = upto_bytes
        self._grid = np.linspace(0, upto_bytes, GRID + 1)
        self._curves = _curves(runs, self._numbers, self._grid, upto_bytes)
        self._ends = _ends(runs, self._numbers, upto_bytes)
        self._unfinished = unfinished(runs)

    def distance(self, runs: Sequence[Run]) -> Distance:
        """Return the distance of another order from this one."""
        theirs = _curves(runs, self._numbers, self._grid, self._upto)
        misplaced = np.abs(self._curves - theirs).sum(axis=0).mean() / 2 / self._upto
        moved = np.abs(self._ends - _ends(runs, self._numbers, self._upto))
        return Distance(
            order_error=float(moved.mean()) / self._upto,
            misplaced=float(misplaced),
            turns=_turn_octaves(self._unfinished, unfinished(runs)),
        )


def distance(one: Sequence[Run], other: Sequence[Run], upto_bytes: int) -> Distance:
    """Compare two orders of service over their first `upto_bytes`."""
    numbers = {stream for stream, _ in (*one, *other)}
    return Reference(one, sorted(numbers), upto_bytes).distance(other)


def _curves(runs: Sequence[Run], numbers: Sequence[int], grid: _Floats, upto_bytes: int) -> _Floats:
    """Bytes of each stream (rows) that were served up to each position (columns)."""
    streams, sizes = ints(list(runs)).reshape(-1, 2).T
    ends = np.cumsum(sizes)
    order = np.argsort(streams, kind="stable")
    row = np.searchsorted(numbers, streams[order])
    size, end = sizes[order], ends[order]
    served = np.cumsum(size)
    served -= np.concatenate([[0], served])[np.searchsorted(row, row)]
    # All streams on one axis, each on a stretch of its own that begins at zero and ends flat.
    stretch = upto_bytes + max(0, int(ends[-1] if ends.size else 0) - upto_bytes) + 10
    every = np.arange(len(numbers))
    totals = np.bincount(row, weights=size, minlength=every.size)
    place = np.concatenate(
        [
            every * stretch - 1,
            row * stretch + end - size,
            row * stretch + end,
            every * stretch + stretch - 2,
        ]
    )
    level = np.concatenate([np.zeros(every.size), served - size, served, totals])
    along = np.argsort(place, kind="stable")
    points = (every[:, None] * stretch + grid[None, :]).ravel()
    curves: _Floats = np.interp(points, place[along], level[along])
    return curves.reshape(every.size, grid.size)


def _ends(runs: Sequence[Run], numbers: Sequence[int], upto_bytes: int) -> _Floats:
    """The position of each stream's last byte; that of a stream without any is the end."""
    last: dict[int, int] = {}
    at = 0
    for stream, size in runs:
        at = min(at + size, upto_bytes)
        last[stream] = at
    return np.array([last.get(stream, upto_bytes) for stream in numbers], dtype=np.float64)


def unfinished(runs: Sequence[Run]) -> Ints:
    """Sizes of the visits after which their stream came again."""
    last = {stream: place for place, (stream, _) in enumerate(runs)}
    return ints([size for place, (stream, size) in enumerate(runs) if last[stream] != place])


def _turn_octaves(one: Ints, other: Ints) -> float:
    count = abs(float(np.log2((one.size + 1) / (other.size + 1))))
    sizes = 0.0
    if one.size and other.size:
        deciles = np.linspace(0.1, 0.9, 9)
        quantiles = [np.log2(np.quantile(each, deciles)) for each in (one, other)]
        sizes = float(np.abs(quantiles[0] - quantiles[1]).mean())
    return min(MOST_OCTAVES, count) + min(MOST_OCTAVES, sizes)
