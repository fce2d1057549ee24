"""Console for results on standard output: as wide as they need where nobody looks at a screen."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text

from netcosim.formatting import one_line

_UNLIMITED: Final = 100_000
"""Columns of a pipe or a file: nothing is wrapped there, and nothing cut."""


def output(*, highlight: bool = True) -> Console:
    """Console of standard output; into a pipe or a file it neither wraps nor cuts.

    COLUMNS says how wide a terminal is, and nothing of a pipe.
    """
    width = None if _to_a_terminal() else _UNLIMITED
    return Console(highlight=highlight, width=width)


@contextmanager
def busy_with(what: str) -> Iterator[None]:
    """Show on a terminal what takes a while; nothing elsewhere, and nothing is left of it."""
    with Console(stderr=True).status(Text(one_line(what))):
        yield


def _to_a_terminal() -> bool:
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False
