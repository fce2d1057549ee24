"""Bounds by which a cell's scores decide."""

from typing import Final

DISCRIMINATING: Final = 0.05
"""Least distance of two models' predicted positions that makes a cell evidence."""

FITS: Final = 0.05
"""A model whose mean order error in the median burst is larger does not fit."""

MARGIN: Final = 0.01
"""Excess of its mean order error from which on a rival is excluded in a burst, with `FACTOR`.

Models whose predictions differ by less are alike."""

FACTOR: Final = 2.0
"""Ratio of mean order errors from which on a rival is excluded in a burst, with `MARGIN`."""

FIRST_MARGIN: Final = 0.001
"""First bursts that are farther off by less are like the later ones."""

MOST_CUT: Final = 0.5
"""Largest share of the bursts' time that may be cut out as pauses: what is left of more is no run.

Half: the links' own time is then still the larger part of what was measured."""

GRADE_A: Final = 0.005
GRADE_B: Final = 0.05
"""Largest share of a burst's time that a link loses at grades A and B."""
