"""Tables whose numbers are never cut: in a narrow terminal columns are left out, and named."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

_NARROWEST: Final = 10
"""Columns of text are folded down to this many characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a printed table.

    Attributes
    ----------
    heading, cells : one text for each row; they may have several lines
    rank : columns of the highest rank are left out first, of several the last one; those of rank
        0 never are
    justify : left or right
    folds : whether its text may be folded, which a number's may not
    """

    heading: str
    cells: Sequence[str | Text]
    rank: int = 0
    justify: Literal["left", "right"] = "right"
    folds: bool = False

    @property
    def name(self) -> str:
        """Its heading in one line."""
        return " ".join(self.heading.split())


def print_columns(
    columns: Sequence[Column],
    console: Console,
    *,
    styles: Sequence[str] | None = None,
    gap: int = 1,
) -> None:
    """Print as many of the columns as have room side by side, and name those left out.

    Parameters
    ----------
    columns
        All of the same number of cells; one at least has rank 0.
    console
        Where to; its width is what the columns must fit into, those of rank 0 apart.
    styles
        One for each row; None: all are plain.
    gap
        Spaces between two columns.
    """
    shown = list(columns)
    while (place := _least_wanted(shown)) is not None and _width(shown, gap) > console.width:
        del shown[place]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, gap, 0, 0))
    for one in shown:
        table.add_column(
            Text(one.heading),
            justify=one.justify,
            no_wrap=not one.folds,
            overflow="fold",
            min_width=min(_NARROWEST, _wide(one)) if one.folds else _wide(one),
        )
    for row in range(len(shown[0].cells)):
        style = "" if styles is None else styles[row]
        table.add_row(*(one.cells[row] for one in shown), style=style)
    _print_whole(table, console, _width(shown, gap))
    left_out = [one.name for one in columns if one not in shown]
    if left_out:
        console.print(Text(f"No room for: {', '.join(left_out)}."))


def _least_wanted(columns: Sequence[Column]) -> int | None:
    """Place of the column that is left out next; None: all must stay."""
    place = max(range(len(columns)), key=lambda i: (columns[i].rank, i))
    return place if columns[place].rank else None


def _width(columns: Sequence[Column], gap: int) -> int:
    """Characters that the columns need at least, side by side."""
    least = [min(_NARROWEST, _wide(one)) if one.folds else _wide(one) for one in columns]
    return sum(least) + len(columns) * (gap + 1)  # the box has a character beside each column


def _wide(column: Column) -> int:
    """Characters of the column's longest line."""
    texts = [str(cell) for cell in (column.heading, *column.cells)]
    return max((Text(line).cell_len for text in texts for line in text.split("\n")), default=0)


def _print_whole(table: Table, console: Console, least: int) -> None:
    """Print a table, in a console that is too narrow for it over its edge."""
    before = console.width
    console.width = max(before, least)
    try:
        console.print(table, crop=False)
    finally:
        console.width = before
