"""Command-line options that every command takes, with the same names and meanings."""

import argparse
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Never

import netcosim
from netcosim.cli.completion import complete
from netcosim.cli.console import busy_with
from netcosim.command_name import command_name
from netcosim.errors import ScenarioError
from netcosim.nearest import question
from netcosim.scenario import Scenario, build_scenario, named_scenario

_EXIT_CODES = """\
exit codes:
  0 done   1 done, but not to be trusted   2 scenario or option   3 this machine
  4 network   5 endpoint   6 storage   7 capture   70 a bug   130 interrupted
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Parsed values of the shared options; None where the scenario decides."""

    scenario: str | None
    out: Path | None
    list_names: bool
    plan: bool
    seed: int | None
    repetitions: int | None


class Parser(argparse.ArgumentParser):
    """Argument parser with `--version` and completion; errors are one line, as of scenarios.

    `prog` stands for the name under which the command was started (`netcosim.command_name`). Texts
    are shown as they are laid out.
    """

    def __init__(self, *, prog: str, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(prog=command_name(prog), **settings)
        version = f"netcosim {netcosim.__version__}"
        self.add_argument(
            "--version", action="version", version=version, help="print the version, then stop"
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does; a shell that asks for completions gets them instead."""
        complete(self)
        return super().parse_args(args, namespace)

    def parse_known_args(  # type: ignore[override]  # argparse has overloads for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse; of an option that there is not, say which one was likely meant.

        Raises
        ------
        ScenarioError
            An option or a value that is not allowed.
        """
        found, left = super().parse_known_args(args, namespace)
        option = next((text.partition("=")[0] for text in left if text.startswith("--")), None)
        if option is not None:
            meant = question(option, self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(left)}{meant}")
        return found, left

    def error(self, message: str) -> Never:
        """Raise instead of printing the usage.

        Raises
        ------
        ScenarioError
            Always.
        """
        raise ScenarioError(f"{message} (see --help)")


def make_parser(prog: str, description: str) -> Parser:
    """A parser with the shared options; a command adds its own."""
    parser = Parser(
        prog=prog,
        description=description,
        epilog=_EXIT_CODES,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--scenario", metavar="FILE_OR_NAME", help="a scenario file, or a built-in one by name"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=given_path,
        help="a new or empty folder for the results (default: results/<scenario>-<UTC time>)",
    )
    parser.add_argument(
        "--list", action="store_true", dest="list_names", help="list what can be named, then stop"
    )
    parser.add_argument(
        "--plan", action="store_true", help="say what would be done, touch nothing, then stop"
    )
    parser.add_argument("--seed", metavar="N", type=int, help="instead of the scenario's")
    parser.add_argument("--repetitions", metavar="N", type=int, help="bursts or runs of each cell")
    return parser


def read_options(parser: Parser, arguments: Sequence[str]) -> Options:
    """Parse the shared options; for a parser without options of its own.

    Raises
    ------
    ScenarioError
        An unknown option or a bad value.
    """
    found = parser.parse_args(arguments)
    return Options(
        scenario=found.scenario,
        out=found.out,
        list_names=found.list_names,
        plan=found.plan,
        seed=found.seed,
        repetitions=found.repetitions,
    )


def choose_scenario(options: Options, builtin: Mapping[str, Traversable], default: str) -> Scenario:
    """Read the scenario that the options name, and apply their seed and repetitions.

    Raises
    ------
    ScenarioError
        No such file or name, or it is not a valid scenario.
    """
    name = default if options.scenario is None else options.scenario
    with busy_with(f"reading {name}"):
        return adjust(named_scenario(name, builtin, "--scenario"), options)


def is_given(value: object) -> bool:
    """True for the value of an option that was given; a 0 is one."""
    return value is not None and value is not False and value != []


def refuse_beside(
    found: argparse.Namespace, parser: argparse.ArgumentParser, kept: Collection[str], allowed: str
) -> None:
    """Refuse all options that were given but these, by their names in `found`.

    Parameters
    ----------
    allowed : what the refusal says of them

    Raises
    ------
    ScenarioError
        Names the first of them.
    """
    for action in parser._actions:
        given = getattr(found, action.dest, None)
        if action.dest not in kept and is_given(given):
            raise ScenarioError.at(action.option_strings[-1], str(given), allowed)


def given_path(text: str) -> Path:
    """A path from the command line; an empty one would be the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return Path(text)


def adjust(scenario: Scenario, options: Options) -> Scenario:
    """The scenario with the seed and repetitions of the command line, validated like a file.

    Raises
    ------
    ScenarioError
        A value that no scenario may have.
    """
    given = {"seed": options.seed, "repetitions": options.repetitions}
    changes = {key: value for key, value in given.items() if value is not None}
    data = scenario.model_dump(mode="json", exclude_none=True)
    return build_scenario({**data, **changes}, "command line") if changes else scenario
