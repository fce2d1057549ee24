"""``python -m netcosim.report FOLDER``: draw the report of a results folder again."""

import os
import sys
from pathlib import Path

from netcosim.errors import ScenarioError
from netcosim.failure import CrashSite, guarded
from netcosim.formatting import escaped
from netcosim.report.write import draw_report
from netcosim.results.folder import ResultsFolder
from netcosim.results.storage.ownership import calling_user

PROG = "netcosim.report"


def main(site: CrashSite) -> int:
    """Write the report of the folder given on the command line."""
    arguments = sys.argv[1:]
    if arguments in (["-h"], ["--help"]):
        sys.stdout.write(f"usage: {PROG} FOLDER\n\nwrite report.html of a results folder anew\n")
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
    sys.exit(guarded(main, PROG))
