"""Programs of the project: their own parsers say whether they take what the pages give them."""

import argparse
import io
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import emu.analyze
import emu.predict
import emu.run
import netcosim.cli.compare
import netcosim.cli.completion
import netcosim.cli.lint_profile
import netcosim.cli.main
import netcosim.cli.schema
import netcosim.report.__main__
import ray_sweeps.cli.command
import ray_sweeps.compare
import ray_sweeps.crosscheck
import sim.cli.epoch
import sim.precompile
import sim.profile
import sim.run
from tests.docs.pages import ROOT
from tests.docs.shell import Call, NotUnderstoodError, module_exists

MAINS: dict[str, Callable[[Sequence[str]], int]] = {
    "emu.analyze": emu.analyze.main,
    "emu.predict": emu.predict.run,
    "emu.run": emu.run.main,
    "netcosim.cli.compare": netcosim.cli.compare.main,
    "netcosim.cli.completion": netcosim.cli.completion.main,
    "netcosim.cli.lint_profile": netcosim.cli.lint_profile.main,
    "netcosim.cli.main": netcosim.cli.main.main,
    "netcosim.cli.schema": netcosim.cli.schema.main,
    "netcosim.report": netcosim.report.__main__.main,
    "ray_sweeps.compare": ray_sweeps.compare.main,
    "ray_sweeps.crosscheck": ray_sweeps.crosscheck.main,
    "ray_sweeps.run": ray_sweeps.cli.command.run,  # its main would leave this network
    "sim.cli.epoch": sim.cli.epoch.main,
    "sim.precompile": sim.precompile.main,
    "sim.profile": sim.profile.main,
    "sim.run": sim.run.main,
}
PLANNED = {"emu.run": "scenario ", "sim.run": "scenario ", "ray_sweeps.run": "sweep "}
"""Programs that say what they would do, and how that begins."""

ENDS_AT_ONCE = {"--help", "--list", "--version"}
NOT_PLANNED = {"--from", "--resume", "--sealed"}
"""Options that need what an earlier run has left."""

_STAND_INS = {
    "FILE": {"sim.run": "examples/scaling.toml", "emu.run": "examples/star.toml"},
    "./profile.json": {"sim.run": "netcosim/workload/data/alexnet.json"},
    ".toml": {
        "sim.run": "examples/scaling.toml",
        "emu.run": "examples/star.toml",
        "ray_sweeps.run": "examples/sweeps/transport.toml",
    },
}
"""What stands for words of a page, by program; `.toml` for scenarios without a folder."""

_BY_POSITION = {"bench.noise.load": 2, "netcosim.report": 1}
"""Programs that take this many arguments and no options, without a parser."""


class _ParsedError(BaseException):
    """Raised where a program has its options, in place of all that follows; nothing catches it."""


def check(call: Call) -> None:
    """See that a program takes its arguments: it plans, or goes as far as it has parsed them.

    Raises
    ------
    NotUnderstoodError
        There is no such program, or it refuses.
    """
    if call.program in PLANNED and not (ENDS_AT_ONCE | NOT_PLANNED) & set(call.arguments):
        planned(call)
    elif call.program in _BY_POSITION:
        if len(call.arguments) != _BY_POSITION[call.program]:
            raise NotUnderstoodError(f"{call.title}: takes {_BY_POSITION[call.program]} arguments")
    elif call.program in MAINS:
        _parse(call, lambda: MAINS[call.program](list(call.arguments)))
    else:
        _parse(call, _as_script(call))


def planned(call: Call) -> str:
    """What a world says that it would do.

    Raises
    ------
    NotUnderstoodError
        It refuses.
    """
    arguments = [_stand_in(call.program, word) for word in call.arguments]
    with _at_the_top():
        code, said, errors = heard(lambda: MAINS[call.program]([*arguments, "--plan"]))
    if code != 0 or not said.startswith(PLANNED[call.program]):
        raise NotUnderstoodError(f"{call.title}: {errors or said}")
    return said


def _stand_in(program: str, word: str) -> str:
    kind = ".toml" if re.fullmatch(r"[\w-]+\.toml", word) else word
    return _STAND_INS.get(kind, {}).get(program, word)


def heard(main: Callable[[], int]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a program."""
    said, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(errors):
        try:
            code = main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return code, said.getvalue(), errors.getvalue()


def _as_script(call: Call) -> Callable[[], int]:
    """A benchmark or a tool, started as Python starts it; it has to have a parser."""
    if call.program.endswith(".py"):
        return _started(call, ROOT / call.program)
    if not call.program.startswith("bench.") or not module_exists(call.program):
        raise NotUnderstoodError(f"{call.program}: no program of the project")
    place = ROOT / call.program.replace(".", "/")
    source = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    if "parse_args(" in source.read_text("utf-8"):
        return _started(call, source)
    if call.arguments:
        raise NotUnderstoodError(f"{call.title}: takes no arguments")
    return lambda: 0


def _started(call: Call, source: Path) -> Callable[[], int]:
    def main() -> int:
        before = sys.argv, sys.path[:]
        sys.argv = [str(source), *call.arguments]
        sys.path.insert(0, str(source.parent) if call.program.endswith(".py") else str(ROOT))
        try:
            runpy.run_path(str(source), run_name="__main__")
        finally:
            sys.argv, sys.path[:] = before
        raise AssertionError(f"{call.title}: it parsed nothing")

    return main


def _parse(call: Call, main: Callable[[], int]) -> None:
    """Start a program and stop it where it has parsed its options."""
    parse = argparse.ArgumentParser.parse_args

    def stopping(self: argparse.ArgumentParser, *given: object, **named: object) -> None:
        parse(self, *given, **named)
        raise _ParsedError

    argparse.ArgumentParser.parse_args = stopping
    try:
        code, _, errors = heard(main)
    except _ParsedError:
        return
    finally:
        argparse.ArgumentParser.parse_args = parse
    if code != 0:
        raise NotUnderstoodError(f"{call.title}: {errors}")


@contextmanager
def _at_the_top() -> Iterator[None]:
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        yield
    finally:
        os.chdir(before)
