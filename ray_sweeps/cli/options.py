"""Options of ``ray_sweeps.run``."""

import argparse
from typing import Final

from netcosim.cli import Parser
from netcosim.cli.options import given_path
from netcosim.errors import ScenarioError
from ray_sweeps.runner.address import check_address
from ray_sweeps.sweep_file.model import MOST_REPLICATIONS

DESCRIPTION: Final = (
    "Simulate a whole space of scenarios, on all processors of this machine or of a Ray cluster."
)
_MOST_PROCESSORS: Final = 100_000
_EPILOG: Final = """\
exit codes:
  0 done   1 done, but some points failed   2 sweep or option   3 this machine, Ray
  6 storage   70 a bug   130 interrupted
"""


def sweep_parser(prog: str) -> Parser:
    """Parser of the options of a sweep."""
    parser = Parser(prog=prog, description=DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("sweep", metavar="SWEEP.toml", type=given_path, nargs="?", help="a sweep file")
    add(
        "--out",
        metavar="DIR",
        type=given_path,
        help="a new or empty folder for the results (default: results/<sweep>-<UTC time>)",
    )
    add(
        "--plan",
        action="store_true",
        help="say points, runs, time and disk, touch nothing, then stop",
    )
    add(
        "--resume",
        metavar="DIR",
        type=given_path,
        help="go on with a sweep: runs that were made are kept; a sweep file may have more values",
    )
    add("--replications", metavar="N", type=int, help="runs of each point; also more than before")
    add("--processors", metavar="N", type=int, help="of this machine (default: all)")
    add("--address", metavar="HOST:PORT", help="of a Ray cluster to join, or auto")
    add("--ship-code", action="store_true", help="send the project's sources to the cluster")
    add(
        "--serial",
        action="store_true",
        help="without Ray, one run after the other: the same results",
    )
    add("--no-report", action="store_true", help="draw no pictures, write no report.html")
    add("--yes", action="store_true", help="go on though it takes more than a day")
    return parser


def check_options(found: argparse.Namespace) -> None:
    """Refuse options that do not go together.

    Raises
    ------
    ScenarioError
        One line that names them.
    """
    if found.sweep is None and found.resume is None:
        raise ScenarioError("SWEEP.toml: is required, or --resume DIR (see --help)")
    if found.resume is not None and found.out is not None:
        raise ScenarioError("--out: has no meaning with --resume, which names the folder")
    if found.serial and found.address is not None:
        raise ScenarioError("--address: has no meaning with --serial")
    if found.ship_code and found.address is None:
        raise ScenarioError("--ship-code: has no meaning without --address")
    for name, most in (("replications", MOST_REPLICATIONS), ("processors", _MOST_PROCESSORS)):
        value = getattr(found, name)
        if value is not None and not 1 <= value <= most:
            raise ScenarioError.at(f"--{name}", value, f"must be 1 to {most}")
    if found.address is not None:
        check_address(found.address)
    if found.processors is not None and (found.serial or found.address is not None):
        raise ScenarioError("--processors: is of this machine's own Ray alone")
