"""Clock of a benchmark whose runs can be by either: its option, and the names of what it leaves."""

import argparse
from typing import Final

from netcosim.scenario import CLOCKS

REAL: Final = "real"


def add_clock_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--clock``; a benchmark's scenarios then say the clock."""
    parser.add_argument(
        "--clock",
        choices=CLOCKS,
        default=REAL,
        help="of its runs: the machine's own (real), or a guest's virtual one",
    )


def by_clock(name: str, clock: str) -> str:
    """Name of what is left by this clock: that of the real clock is the benchmark's own."""
    return name if clock == REAL else f"{name}-{clock}"
