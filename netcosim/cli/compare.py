"""``python -m netcosim.cli.compare A B``: what changed between two results folders."""

import argparse
import io
import sys
from collections.abc import Sequence
from typing import Final

from rich.console import Console

from netcosim.cli.comparison_table import print_comparison
from netcosim.cli.ending import run_main
from netcosim.cli.options import Parser, given_path
from netcosim.failure import CrashSite
from netcosim.results.folder import ResultsFolder
from netcosim.results.json_files import to_json
from netcosim.scoring.differences.folders import compare_folders
from netcosim.scoring.differences.records import Comparison

PROG: Final = "netcosim.cli.compare"
DIFFERENT: Final = 1

_EXIT_CODES: Final = """\
exit codes:
  0 nothing differs beyond its interval   1 something does   2 wrong options, or nothing in common
  6 a folder can't be read   70 a bug   130 interrupted   141 nobody reads the output
"""
_UNWRAPPED: Final = 1_000_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two results folders; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: Sequence[str], _: CrashSite) -> int:
    parser = Parser(
        prog=PROG,
        description="What changed between two runs, by how much, and whether chance explains it.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("a", metavar="A", type=given_path, help="a results folder")
    parser.add_argument("b", metavar="B", type=given_path, help="another; differences are B less A")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    found = parser.parse_args(arguments)
    with ResultsFolder.open(found.a) as a, ResultsFolder.open(found.b) as b:
        comparison = compare_folders(a, b)
    if found.json:
        sys.stdout.write(to_json(comparison))
    else:
        _print(comparison)
    return DIFFERENT if comparison.differs else 0


def _print(comparison: Comparison) -> None:
    """Print for the terminal; into a pipe plain text, one line a row, however long."""
    if sys.stdout.isatty():
        print_comparison(comparison, Console())
        return
    text = io.StringIO()
    print_comparison(comparison, Console(file=text, width=_UNWRAPPED, color_system=None))
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


if __name__ == "__main__":
    sys.exit(main())
