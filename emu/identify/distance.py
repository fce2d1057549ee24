"""How far two orders of service are apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emu.capture.arrays import Ints, ints
from emu.identify.replay import Run

GRID = 400
MOST_OCTAVES = 4.0

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distance:
    """Between two orders of service of the same bytes.

    Attributes
    ----------
    misplaced : share of the bytes that went to another stream by then, mean over the burst
    turns : how different the turns are, in octaves: of the number of visits that did not finish
        their stream, and of the sizes of these visits (mean over deciles)
    """

    misplaced: float
    turns: float

    @property
    def score(self) -> float:
        """One figure to rank by; an octave counts as two per cent of the bytes."""
        return self.misplaced + 0.02 * self.turns


def distance(one: Sequence[Run], other: Sequence[Run], upto_bytes: int) -> Distance:
    """Compare two orders of service over their first `upto_bytes`."""
    grid = np.linspace(0, upto_bytes, GRID + 1)
    numbers = sorted({stream for stream, _ in (*one, *other)})
    ours, theirs = (_curves(runs, numbers, grid) for runs in (one, other))
    misplaced = np.abs(ours - theirs).sum(axis=0).mean() / 2 / upto_bytes
    return Distance(
        misplaced=float(misplaced), turns=_turn_octaves(unfinished(one), unfinished(other))
    )


def _curves(runs: Sequence[Run], numbers: Sequence[int], grid: _Floats) -> _Floats:
    """Bytes of each stream (rows) that were served up to each position (columns)."""
    row = {number: index for index, number in enumerate(numbers)}
    streams, sizes = ints(list(runs)).reshape(-1, 2).T
    ends = np.cumsum(sizes)
    curves = np.zeros((len(numbers), grid.size))
    for number in numbers:
        mine = np.flatnonzero(streams == number)
        if not mine.size:
            continue
        # Flat outside the stream's visits, one byte a byte inside.
        place = np.stack([ends[mine] - sizes[mine], ends[mine]], axis=1).ravel()
        level = np.cumsum(np.stack([np.zeros_like(mine), sizes[mine]], axis=1).ravel())
        curves[row[number]] = np.interp(grid, place, level, left=0)
    return curves


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
