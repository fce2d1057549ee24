"""``python -m netcosim.cli.lint_profile FILE...``: what is wrong or odd in profiles."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from netcosim.cli.console import busy_with
from netcosim.cli.options import Parser, given_path
from netcosim.errors import ScenarioError
from netcosim.failure import CrashSite, guarded
from netcosim.formatting import one_line, shortened
from netcosim.workload.lint import lint
from netcosim.workload.profile_import import import_profile
from netcosim.workload.uncollected import uncollected

PROG: Final = "netcosim.cli.lint_profile"
MOST_SHOWN: Final = 50


def main(arguments: Sequence[str] | None = None) -> int:
    """Lint profiles; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda site: _main(given, site), PROG)


def _main(arguments: Sequence[str], _: CrashSite) -> int:
    parser = Parser(prog=PROG, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "files", metavar="FILE", nargs="+", type=given_path, help="a profile of any known format"
    )
    with uncollected():
        wrong = sum([_lint(path) for path in parser.parse_args(arguments).files])
    return ScenarioError.exit_code if wrong else 0


def _lint(path: Path) -> bool:
    """Print the findings about a file; True if one is an error."""
    try:
        with busy_with(f"reading {path}"):
            profile = import_profile(path)
    except ScenarioError as problem:
        sys.stdout.write(shortened(one_line(str(problem))) + "\n")
        return True
    with busy_with(f"looking at {path}"):
        findings = lint(profile)
    for finding in findings[:MOST_SHOWN]:
        sys.stdout.write(one_line(f"{path}: {finding.severity}: {finding}") + "\n")
    if len(findings) > MOST_SHOWN:
        sys.stdout.write(one_line(f"{path}: and {len(findings) - MOST_SHOWN} more") + "\n")
    if not findings:
        step = profile.step
        counts = f"{len(step.computes)} computations, {len(step.transfers)} transfers"
        sys.stdout.write(one_line(f"{path}: fine: {counts}") + "\n")
    return any(finding.severity == "error" for finding in findings)


if __name__ == "__main__":
    sys.exit(main())
