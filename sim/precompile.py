"""``python -m sim.precompile``: compile the kernels that scenarios commonly need."""

import sys
from collections.abc import Sequence
from typing import Final, cast

from h2model import disciplines
from h2model.parameters import Parameters, followed, parameters
from netcosim.cli import Parser, run_main
from sim.compiling import Kernel, compile_missing
from sim.compiling.printed import Printed
from sim.fast.engine import NOT_ASKED
from sim.kernels.compiled import kernels_are_kept

PROG: Final = "sim.precompile"


def usual() -> tuple[Kernel, ...]:
    """Kernels that set-up compiles: fast paths, all disciplines on equal, gRPC's on max_min."""
    newest = cast("Parameters", parameters("grpc")).sends("default").discipline
    asked = [Kernel(name) for name in reversed(followed()) if name != NOT_ASKED]
    generic = [Kernel(name, "equal") for name in disciplines.names()]
    return (*asked, Kernel(None), *generic, Kernel(newest, "max_min"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile what is missing; return the exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return run_main(lambda _: _main(given), PROG)


def _main(arguments: Sequence[str]) -> int:
    parser = Parser(prog=PROG, description=__doc__, allow_abbrev=False)
    parser.add_argument(
        "kernel", nargs="*", help="such as fast, fast/write_cycle, write_cycle/equal"
    )
    named = [Kernel.named(name) for name in parser.parse_args(arguments).kernel]
    if kernels_are_kept():
        compile_missing(named or usual(), Printed())
    else:
        Printed().say("the cache folder can't be written: nothing is compiled ahead")
    return 0


if __name__ == "__main__":
    sys.exit(main())
