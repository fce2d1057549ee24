"""A linear program in fractions, small and slow: the textbook tableau with Bland's rule."""

from collections.abc import Sequence
from fractions import Fraction


def maximum(
    goal: Sequence[Fraction], rows: Sequence[Sequence[Fraction]], limits: Sequence[Fraction]
) -> Fraction:
    """The largest ``goal @ x`` of all x >= 0 with ``rows @ x <= limits``; limits are >= 0."""
    assert all(limit >= 0 for limit in limits)
    count = len(rows)
    table = [
        [*row, *(Fraction(int(i == k)) for k in range(count)), limit]
        for i, (row, limit) in enumerate(zip(rows, limits, strict=True))
    ]
    gain = [*goal, *[Fraction(0)] * (count + 1)]
    basis = [len(goal) + i for i in range(count)]
    while (column := next((j for j, g in enumerate(gain[:-1]) if g > 0), None)) is not None:
        ratios = [
            (row[-1] / row[column], basis[i], i) for i, row in enumerate(table) if row[column] > 0
        ]
        assert ratios, "unbounded"
        pivot = min(ratios)[2]
        _pivot(table, gain, pivot, column)
        basis[pivot] = column
    return -gain[-1]


def _pivot(table: list[list[Fraction]], gain: list[Fraction], pivot: int, column: int) -> None:
    scale = table[pivot][column]
    table[pivot] = [value / scale for value in table[pivot]]
    for row in [*(r for i, r in enumerate(table) if i != pivot), gain]:
        factor = row[column]
        if factor:
            row[:] = [a - factor * b for a, b in zip(row, table[pivot], strict=True)]
