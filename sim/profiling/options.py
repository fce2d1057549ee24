"""Command-line options of ``sim.profile``."""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from netcosim.cli import Parser
from netcosim.cli.options import given_path
from netcosim.errors import ScenarioError
from netcosim.workload.model import MOST

DESCRIPTION: Final = "Measure the training steps of a model of PyTorch, layer by layer."
OPTIMIZERS: Final = ("sgd", "momentum", "adam")

_EPILOG: Final = """\
exit codes:
  0 done   2 option, or the model   3 PyTorch is missing   6 storage   70 a bug   130 interrupted
"""
_MOST_STEPS: Final = 100_000
_MOST_BATCH: Final = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Options of a measurement; a batch of None is the example's."""

    where: str | None
    torchvision: str | None
    batch: int | None
    shape: tuple[int, ...] | None
    steps: int
    warmup: int
    threads: int
    optimizer: str
    branches: bool
    parsing: tuple[float, float] | None
    name: str | None
    out: Path


def read_asked(prog: str, arguments: Sequence[str]) -> Asked:
    """Parse the command line.

    Raises
    ------
    ScenarioError
        An unknown option, or a bad value.
    """
    found = _parser(prog).parse_args(arguments)
    if (found.model is None) == (found.torchvision is None):
        raise ScenarioError("give one of MODULE:FUNCTION and --torchvision NAME (see --help)")
    _bounded("--batch", found.batch, 1, _MOST_BATCH)
    _bounded("--steps", found.steps, 1, _MOST_STEPS)
    _bounded("--warmup", found.warmup, 1, _MOST_STEPS)
    _bounded("--threads", found.threads, 1, 1024)
    return Asked(
        where=found.model,
        torchvision=found.torchvision,
        batch=found.batch,
        shape=None if found.input is None else _shape(found.input),
        steps=found.steps,
        warmup=found.warmup,
        threads=found.threads,
        optimizer=found.optimizer,
        branches=found.branches,
        parsing=None if found.parsing is None else _parsing(found.parsing),
        name=None if found.name is None else _name(found.name),
        out=found.out,
    )


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog=prog,
        description=DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("model", metavar="MODULE:FUNCTION", nargs="?", help="returns a model; it is called")
    add("--torchvision", metavar="NAME", help="a network of torchvision instead, such as resnet50")
    add(
        "--batch", metavar="N", type=int, help="examples of a step (default: the example's, else 8)"
    )
    add("--input", metavar="SHAPE", help="of one example, such as 3,224,224, if none is returned")
    add("--steps", metavar="N", type=int, default=20, help="that are kept (default: 20)")
    add("--warmup", metavar="N", type=int, default=3, help="steps before them (default: 3)")
    add("--threads", metavar="N", type=int, default=1, help="of the CPU (default: 1)")
    add("--optimizer", choices=OPTIMIZERS, default="sgd", help="(default: sgd)")
    add("--branches", action="store_true", help="layers wait for what they read, not for the last")
    add("--parsing", metavar="ALPHA,BETA", help="of a message at its receiver, in ns/byte and ns")
    add("--name", metavar="NAME", help="of the profile (default: the function's, the network's)")
    add("--out", metavar="FILE", type=given_path, default=Path("profile.json"), help="is replaced")
    return parser


def _bounded(option: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise ScenarioError.at(option, value, f"must be from {least} to {most}")


def _shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9][0-9]{0,5}([,x][1-9][0-9]{0,5}){0,7}", text):
        allowed = "must be up to 8 sizes from 1 to 999999, such as 3,224,224"
        raise ScenarioError.at("--input", text, allowed)
    return tuple(int(size) for size in re.split("[,x]", text))


def _parsing(text: str) -> tuple[float, float]:
    allowed = f"must be two numbers from 0 to {MOST}, such as 0.4,20000"
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ScenarioError.at("--parsing", text, allowed) from None
    if len(values) != 2 or not all(math.isfinite(v) and 0 <= v <= MOST for v in values):
        raise ScenarioError.at("--parsing", text, allowed)
    return values[0], values[1]


def _name(text: str) -> str:
    if not text.isprintable() or not 1 <= len(text) <= 100:
        raise ScenarioError.at("--name", text, "must be printable and of 1 to 100 characters")
    return text
