"""`./dev bench virtual`: what runs in virtual time reach: equality, errors, shares, speed, kernels.

`--only PART` measures one part, `--quick` next to nothing of each; both leave the recorded results.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Protocol

from bench.common.record import Figure, at_most, record
from bench.virtual.cost import cost_figures
from bench.virtual.equality import equality_figures
from bench.virtual.grpc_cells import grpc_figures
from bench.virtual.h2_grid import h2_figures
from bench.virtual.kernels import kernel_figures
from bench.virtual.releases import release_figures
from bench.virtual.running import ROOT, Json, name_of, run, taking
from bench.virtual.scaling import scaling_figures
from bench.virtual.sharing import sharing_figures
from emu.guest.kernel import Kernel
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.errors import NetcosimError
from netcosim.scenario.toml import parse_toml

PROG: Final = "bench.virtual"
RUNS: Final = 20


class Part(Protocol):
    """A part of the benchmark: its figures, and its rows, which it adds."""

    def __call__(self, rows: list[Json], /, *, quick: bool) -> Iterator[Figure]:
        """Measure."""


def main(site: CrashSite) -> int:
    """Measure, print the table, write the figures."""
    parser = Parser(prog=PROG, description="What runs in virtual time reach.")
    parser.add_argument("--only", choices=PARTS, action="append", help="one part")
    parser.add_argument("--quick", action="store_true", help="see that it works")
    options = parser.parse_args()
    kernel, before = Kernel.find(), _load()
    rows: list[Json] = []
    figures: list[Figure] = []
    failure: BaseException | None = None
    try:
        for figure in _figures(options.only or PARTS, rows, quick=options.quick):
            figures.append(figure)
            print(f"{figure.name}: {figure.value:.6g} {figure.unit} {figure.note}", flush=True)
    except (NetcosimError, KeyboardInterrupt) as problem:  # hours of figures are kept
        failure = problem
    notes = [
        f"kernel {kernel.release} ({kernel.source}), {'seccomp' if kernel.seccomp else 'ptrace'}",
        f"load average of a minute: {before} before, {_load()} after",
    ]
    whole = not options.only and not options.quick and failure is None
    code = record("virtual" if whole else ".virtual-part", figures, notes, rows)
    if failure is not None:
        raise failure
    return code


def _figures(parts: Iterable[str], rows: list[Json], *, quick: bool) -> Iterator[Figure]:
    for name, part in PARTS.items():
        if name in parts:
            yield from part(rows, quick=quick)


def _equal(_: list[Json], *, quick: bool) -> Iterator[Figure]:
    return equality_figures(2 if quick else RUNS)


def _default(_: list[Json], *, quick: bool) -> Iterator[Figure]:
    text = (ROOT / "emu" / "scenarios" / "default.toml").read_text(encoding="utf-8")
    for kernel in Kernel.every()[:1] if quick else Kernel.every():
        mode, most = ("seccomp", 300) if kernel.seccomp else ("ptrace", 600)
        with taking(kernel):
            ran = run(parse_toml(text, "default"), f"default-{kernel.hash[:8]}").ended()
        name = f"the default scenario, wall time, {name_of(kernel)}, {mode}"
        yield at_most(name, ran.seconds, "s", most)


PARTS: Final[Mapping[str, Part]] = {
    "default": _default,
    "equal": _equal,
    "cost": cost_figures,
    "h2": h2_figures,
    "grpc": grpc_figures,
    "sharing": sharing_figures,
    "kernels": kernel_figures,
    "releases": release_figures,
    "scale": scaling_figures,
}


def _load() -> str:
    return Path("/proc/loadavg").read_text(encoding="ascii").split()[0]


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit(f"{PROG}: needs root")
    sys.exit(run_main(main, PROG))
