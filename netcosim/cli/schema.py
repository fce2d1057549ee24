"""``netcosim schema scenario|profile``: JSON schemas of the files that people write."""

import sys
from collections.abc import Sequence
from importlib import resources
from typing import Final

from netcosim.cli.options import Parser
from netcosim.failure import CrashSite, guarded

PROG: Final = "netcosim.cli.schema"
KINDS: Final = ("profile", "scenario")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the JSON schema of scenarios or profiles; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda site: _main(given, site), PROG)


def _main(given: Sequence[str], _: CrashSite) -> int:
    parser = Parser(prog=PROG, description=__doc__, allow_abbrev=False)
    parser.add_argument("kind", metavar="KIND", choices=KINDS, help=", ".join(KINDS))
    kind = parser.parse_args(given).kind
    file = resources.files("netcosim") / "schemas" / f"{kind}.schema.json"
    sys.stdout.write(file.read_text("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
