"""`./dev bench door`: the first minutes of a newcomer, in bare Debians made for the occasion.

Each command runs in a fresh clone in a fresh root (`./dev bare`). `--help`, `--plan` and
`--version` are timed with all that they fetch; first runs have every package in the root's caches.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.common.record import Figure, at_most, record
from netcosim.cli import CrashSite, Parser, run_main
from netcosim.errors import EnvironmentRefusedError

PROG: Final = "bench.door"
ROOT: Final = Path(__file__).parents[2]
SUITES: Final = ("bookworm", "trixie")
FIRST_SIM_S: Final = 150.0
FIRST_RUN_S: Final = 300.0
SAYS_S: Final = 15.0
API_S: Final = 12.0
"""Processor time of 100 configurations of 200 steps each."""

_UNTRUSTED: Final = 1
# The shell measures: seconds of wall clock, in user's and in system's mode.
_TIMED: Final = 'TIMEFORMAT="door: %R %U %S"; time bash -c "$0"'
_TIME: Final = re.compile(r"^door: ([0-9.]+) ([0-9.]+) ([0-9.]+)$", re.MULTILINE)
_PIPX: Final = "pipx install /srv/netcosim && ~/.local/bin/netcosim sim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A command that ended: wall-clock time, processor time of it and all that it started."""

    seconds: float
    processor_s: float
    code: int

    @property
    def note(self) -> str:
        """Processor time and exit code, in words."""
        return f"{self.processor_s:.0f} s of processor time, exit code {self.code}"


def main(_: CrashSite) -> int:
    """Measure everything, print the table, write the figures."""
    parser = Parser(prog=PROG, description=__doc__.partition("\n")[0])
    parser.add_argument("suites", metavar="SUITE", nargs="*", help=f"of Debian: {SUITES}")
    suites = parser.parse_args().suites or SUITES
    figures = list(_said(_figures(suites)))
    return record("door", figures)


def _figures(suites: Sequence[str]) -> Iterator[Figure]:
    for suite in suites:
        for command in ("sim --version", "sim --help", "sim --plan", "run --plan"):
            done = inside(suite, f"./dev {command}")
            name = f"{suite}, on a machine with nothing: ./dev {command}"
            yield at_most(name, done.seconds, "s", SAYS_S, done.note)
        for command, most_s in (("sim", FIRST_SIM_S), ("run", FIRST_RUN_S)):
            done = inside(suite, f"./dev {command}", fetched=True)
            name = f"{suite}, downloads apart: first ./dev {command}"
            yield at_most(name, done.seconds, "s", most_s, done.note)
        inside(suite, "apt-get -q update && apt-get -qy install --no-install-recommends pipx")
        done = inside(suite, _PIPX, keep=True)
        name = f"{suite}: pipx install, then netcosim sim, downloads included"
        yield Figure(name=name, value=done.seconds, unit="s", note=done.note)
    yield from api_figures()


def api_figures() -> Iterator[Figure]:
    """Processor time of 100 configurations of 200 steps through `sim.simulate`, at most `API_S`.

    That of a whole process, its imports included; one before it has compiled the kernels.
    """
    _hundred()
    found = _hundred()
    name = f"sim.simulate: {found['configurations']:.0f} configurations of 200 steps"
    yield at_most(name, found["processor_s"], "s", API_S, "processor time, kernels compiled")


def _hundred() -> dict[str, float]:
    command = [sys.executable, "-m", "bench.door.api"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def inside(suite: str, command: str, *, fetched: bool = False, keep: bool = False) -> Timed:
    """Run a shell command at the top of a fresh clone in a bare Debian.

    Parameters
    ----------
    suite : of Debian
    command : for bash
    fetched : whether the packages are there before
    keep : in the root as the last command left it

    Raises
    ------
    EnvironmentRefusedError
        The command ended in another way than done; the message ends with its last line.
    """
    options = [f"--{name}" for name, on in (("fetched", fetched), ("keep", keep)) if on]
    done = subprocess.run(
        [str(ROOT / "dev"), "bare", suite, *options, "--", "bash", "-c", _TIMED, command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    found = _TIME.search(done.stdout)
    if found is None or done.returncode not in (0, _UNTRUSTED):
        said = _TIME.sub("", done.stdout).strip().splitlines()
        last = said[-1] if said else f"exit code {done.returncode}"
        raise EnvironmentRefusedError(f"{suite}: {command}: {last}")
    wall, user, system = map(float, found.groups())
    return Timed(seconds=wall, processor_s=user + system, code=done.returncode)


def _said(figures: Iterator[Figure]) -> Iterator[Figure]:
    """Pass figures on, and print a line of each as soon as it is there."""
    for figure in figures:
        print(f"{figure.name}: {figure.value:.4g} {figure.unit} ({figure.note})", flush=True)
        yield figure


if __name__ == "__main__":
    sys.exit(run_main(main, PROG))
