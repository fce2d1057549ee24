"""Runs of scenarios by the virtual clock, and what their summaries say of each burst."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.common.children import ENDS_WITH_US
from bench.common.record import RESULTS
from emu.guest.kernel import VARIABLE, Kernel
from netcosim.errors import NetworkError, UntrustedResultError
from netcosim.scenario import build_scenario, dump_scenario

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = RESULTS / ".virtual"
_COMMAND: Final = (sys.executable, "-P", "-m", "emu.run")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A finished run: its folder, the machine's seconds, its exit code, its last line."""

    folder: Path
    seconds: float
    code: int
    said: str

    @property
    def summary(self) -> Json:
        """Its summary; without cells where it wrote none."""
        path = self.folder / "summary.json"
        found: Json = json.loads(path.read_text()) if path.exists() else {"cells": []}
        return found

    def ended(self) -> "Ran":
        """Itself if it came to its end, be its figures trusted or not.

        Raises
        ------
        NetworkError
            Names its folder, its exit code and its last line.
        """
        if self.code not in (0, UntrustedResultError.exit_code):
            raise NetworkError(f"{self.folder}: exit code {self.code}: {self.said}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """Errors of the right model in one burst, as shares of its bytes and its length."""

    cell: str
    transport: str
    first: bool
    exact: bool
    order: float
    time: float


def run(scenario: Mapping[str, Any], name: str) -> Ran:
    """Run a scenario by the virtual clock into a folder of this name."""
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    path, out = folder / "scenario.toml", folder / "out"
    made = build_scenario({"name": name, **scenario, "clock": "virtual"}, name)
    path.write_text(dump_scenario(made), encoding="utf-8")
    begin = time.monotonic()
    done = subprocess.run(
        [*ENDS_WITH_US, *_COMMAND, "--scenario", str(path), "--out", str(out)],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    said = done.stderr.strip().rpartition("\n")[2]
    seconds = time.monotonic() - begin
    return Ran(folder=out, seconds=seconds, code=done.returncode, said=said)


def bursts(summary: Json, right: Mapping[str, str]) -> Iterator[Burst]:
    """Bursts of a summary's cells, by the model that is right for each transport."""
    for cell in summary["cells"]:
        model = right[cell["transport"]]
        for each in cell["models"]:
            if (each["model"], each["level"]) == (model, "PREDICT"):
                for burst in each["by_burst"]:
                    yield Burst(
                        cell=cell["cell"],
                        transport=cell["transport"],
                        first=burst["first"],
                        exact=burst["order_equal"],
                        order=burst["order_max"],
                        time=burst["time_max"],
                    )


@contextlib.contextmanager
def taking(kernel: Kernel) -> Iterator[None]:
    """Have runs take this kernel, until the end of the block."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(kernel.path.parent)
    try:
        yield
    finally:
        del os.environ[VARIABLE]
        if before is not None:
            os.environ[VARIABLE] = before


def name_of(kernel: Kernel) -> str:
    """A kernel's release and the first characters of its hash."""
    return f"{kernel.release.partition('-')[0]} ({kernel.hash[:8]})"
