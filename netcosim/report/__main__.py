"""``python -m netcosim.report FOLDER``: draw the report of a results folder again."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import netcosim
from netcosim.command_name import command_name
from netcosim.errors import ScenarioError
from netcosim.failure import CrashSite, guarded
from netcosim.formatting import escaped
from netcosim.report.write import draw_report
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.ownership import calling_user

PROG = "netcosim.report"


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw the report of a results folder again; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda site: _main(given, site), PROG)


def _main(arguments: list[str], site: CrashSite) -> int:
    if arguments in (["-h"], ["--help"]):
        name = command_name(PROG)
        sys.stdout.write(f"usage: {name} FOLDER\n\nwrite report.html of a results folder anew\n")
        return 0
    if arguments == ["--version"]:
        sys.stdout.write(f"netcosim {netcosim.__version__}\n")
        return 0
    if len(arguments) != 1:
        raise ScenarioError("give one results folder: FOLDER")
    owner = calling_user(os.environ, os.geteuid())
    with ResultsFolder.open(Path(arguments[0]), owner) as folder:
        site.keep(folder)
        page = draw_report(folder)
    sys.stdout.write(f"{escaped(str(page))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
