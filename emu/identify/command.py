"""Identification as a part of `emu.run`: its options and steps; heavy imports are deferred."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from emu.identify.subject import SCENARIO, Subject
from netcosim.cli import Parser, output
from netcosim.cli.options import given_path

if TYPE_CHECKING:
    from netcosim.results.folder import ResultsFolder
    from netcosim.results.streams.identification import Identification


def add_subject_options(parser: Parser) -> None:
    """Add the options that name the subject of the identification."""
    group = parser.add_argument_group(f"with --scenario {SCENARIO}: whose rules to identify")
    group.add_argument("--release", metavar="X.Y.Z", help="a release of grpcio, not the newest")
    group.add_argument("--endpoint", metavar="PATH", type=given_path, help="an endpoint script")
    group.add_argument("--discipline", metavar="NAME", help="our own sender, by this rule")
    group.add_argument("--credit", metavar="NAME", help="our own receiver, by this rule")


def read_subject(parser: Parser, arguments: Sequence[str]) -> Subject | None:
    """Return the subject that the options name; None if they name none.

    Raises
    ------
    ScenarioError
        They name several.
    """
    found = parser.parse_args(arguments)
    return Subject.asked(
        release=found.release,
        endpoint=found.endpoint,
        discipline=found.discipline,
        credit=found.credit,
    )


def identify_run(folder: ResultsFolder) -> Identification:
    """Identify the subject of the run in this folder."""
    from emu.identify.from_results import identify

    return identify(folder)


def show_identification(found: Identification) -> None:
    """Print the evidence and the statement."""
    from emu.identify.page import print_identification

    print_identification(found, output(highlight=False))
