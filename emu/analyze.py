"""Analyse the HTTP/2 connections of a capture file: the command ``python -m emu.analyze FILE``.

Reads any HTTP/2 cleartext capture and says which streams were served when, under which credit,
and which discipline and credit rule explain it. Needs no root.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netcosim.cli import CrashSite, Parser, output, run_main
from netcosim.cli.options import given_path
from netcosim.errors import CaptureError, ScenarioError, StorageError, UntrustedResultError
from netcosim.extras import require

PROG: Final = "emu.analyze"

_EXIT_CODES: Final = """\
exit codes:
  0 done   1 done, but part of the capture could not be read   2 option   6 storage
  7 no HTTP/2 in it, or no capture   70 a bug   130 interrupted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Parsed options of the command line."""

    file: Path
    ports: tuple[int, ...] | None
    json: Path | None
    streams: int
    turns: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Analyse a capture file; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda site: _main(given, site), PROG)


def _main(arguments: Sequence[str], _: CrashSite) -> int:
    parser = _parser()
    options = _options(parser, arguments)
    if options is None:
        from emu.identify.analysis_record import Analysis
        from netcosim.results.json_files import schema_json

        sys.stdout.write(schema_json(Analysis))
        return 0
    return _analyse(options)


def _analyse(options: Options) -> int:
    require("emu")
    from emu.capture import analyse_capture
    from emu.identify.analysis_record import analysis_record
    from emu.identify.page import print_analysis
    from netcosim.results.json_files import to_json
    from netcosim.user_files import write_text

    report = analyse_capture(options.file, ports=options.ports, gap_ns=None, search=True)
    if not any(connection.streams for connection in report.connections):
        raise CaptureError(f"{options.file}: {_why_nothing(report.problems, options)}")
    analysis = analysis_record(report, str(options.file))
    unwritten = None
    if options.json is not None:
        try:
            write_text(options.json, to_json(analysis))
        except OSError as problem:  # told after what is printed, which is not lost
            unwritten = f"{options.json}: can't be written: {problem.strerror}"
    console = output(highlight=False)
    print_analysis(analysis, console, most_streams=options.streams, most_turns=options.turns)
    if unwritten is not None:
        raise StorageError(unwritten)
    if report.problems:
        more = f" (and {len(report.problems) - 1} more)" if len(report.problems) > 1 else ""
        raise UntrustedResultError(f"{options.file}: {report.problems[0]}{more}")
    return 0


def _why_nothing(problems: Sequence[str], options: Options) -> str:
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        return f"no HTTP/2 stream can be read: {problems[0]}{more}"
    where = "" if options.ports is None else f" on port {', '.join(map(str, options.ports))}"
    return f"no HTTP/2 stream in it{where}"


def _parser() -> Parser:
    parser = Parser(
        prog=PROG,
        description="Say what happened on the HTTP/2 connections of a capture file.",
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", nargs="?", help="pcap or pcapng, plain or gzip")
    parser.add_argument(
        "--port", metavar="N", type=int, action="append", help="only TCP from or to this port"
    )
    parser.add_argument(
        "--json", metavar="FILE", type=given_path, help="write all of it as JSON too"
    )
    parser.add_argument("--schema", action="store_true", help="print the JSON's schema, then stop")
    parser.add_argument("--streams", metavar="N", type=int, default=40, help="rows of each table")
    parser.add_argument("--turns", metavar="N", type=int, default=40, help="turns to list")
    return parser


def _options(parser: Parser, arguments: Sequence[str]) -> Options | None:
    """The options; None if only the schema is wanted."""
    found = parser.parse_args(arguments)
    if found.schema:
        return None
    if found.file is None:
        raise ScenarioError("FILE: is required (see --help)")
    for name in ("streams", "turns"):
        if getattr(found, name) < 0:
            raise ScenarioError.at(f"--{name}", getattr(found, name), "must be >= 0")
    for port in found.port or ():
        if not 0 < port < 1 << 16:
            raise ScenarioError.at("--port", port, "must be 1 to 65535")
    return Options(
        file=Path(found.file),
        ports=tuple(found.port) if found.port else None,
        json=found.json,
        streams=found.streams,
        turns=found.turns,
    )


if __name__ == "__main__":
    sys.exit(main())
