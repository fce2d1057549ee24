"""The command ``netcosim``: starts any other command by its name.

Commands register as entry points of one group; they are loaded by name when they are asked for, so
nothing here imports what lies above it, and other distributions may add their own.
"""

import ast
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final, cast

from netcosim.cli.completion import completed_words
from netcosim.cli.options import Parser
from netcosim.command_name import VARIABLE
from netcosim.errors import ScenarioError
from netcosim.extras import DISTRIBUTION, require
from netcosim.failure import CrashSite, guarded
from netcosim.nearest import unknown

PROG: Final = "netcosim"
GROUP: Final = "netcosim.commands"

Main = Callable[[Sequence[str]], int]


def main(arguments: Sequence[str] | None = None) -> int:
    """Start the command that the first argument names; return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda site: _main(given, site), PROG)


def commands() -> dict[str, metadata.EntryPoint]:
    """Registered commands by name, sorted."""
    found = {entry.name: entry for entry in metadata.entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def about(entry: metadata.EntryPoint) -> str:
    """First clause of the docstring of a command's function, read without importing it."""
    try:
        spec = importlib.util.find_spec(entry.module)
    except ImportError:
        return ""
    if spec is None or spec.origin is None:
        return ""
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == entry.attr:
            first = (ast.get_docstring(node) or "").split("\n")[0]
            return first.split(";")[0].rstrip(".")
    return ""


def _main(given: Sequence[str], _: CrashSite) -> int:
    known = commands()
    words = completed_words()
    if words and words[0] in known:
        os.environ["_ARGCOMPLETE"] = "2"  # the command's own parser completes what is behind it
        return _load(known[words[0]])([])
    if given and not given[0].startswith("-"):
        name, *rest = given
        if name not in known:
            raise ScenarioError.at("COMMAND", name, unknown(name, list(known)))
        return _start(known[name], rest)
    _parser(known).parse_args(given)
    raise ScenarioError("COMMAND: is required (see --help)")


def _start(entry: metadata.EntryPoint, arguments: Sequence[str]) -> int:
    """Start a command, if the packages are there that it needs."""
    os.environ[VARIABLE] = f"{PROG} {entry.name}"
    for extra in entry.extras:
        require(extra, DISTRIBUTION if entry.dist is None else entry.dist.name)
    return _load(entry)(arguments)


def _load(entry: metadata.EntryPoint) -> Main:
    return cast("Main", entry.load())


def _parser(known: Mapping[str, metadata.EntryPoint]) -> Parser:
    width = max(map(len, known), default=0)
    lines = [f"  {name:{width}}  {about(entry)}" for name, entry in known.items()]
    parser = Parser(
        prog=PROG,
        usage=f"{PROG} COMMAND [ARGUMENT ...]",
        description="How training on parameter servers over gRPC and HTTP/2 scales.",
        epilog="\n".join(["commands:", *lines, "", f"{PROG} COMMAND --help tells the rest"]),
        allow_abbrev=False,
    )
    parser.add_argument("command", metavar="COMMAND", nargs="?", choices=list(known))
    return parser


if __name__ == "__main__":
    sys.exit(main())
