"""The command as a person starts it, and as the tests call it where nothing is to be compiled."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from netcosim.results.folder import ResultsFolder
from netcosim.results.training.summary import TrainingSummary
from sim.cli import command
from sim.fast.engine import interpret_fast
from sim.kernels.compiled import interpret
from sim.kernels.loop import advance

ROOT = Path(__file__).resolve().parents[3]
NO_POWERS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
"""In front of a command: root's files are its own, but permissions hold for it as for anyone."""

FROM_SOURCE = (
    *("env", f"PYTHONPATH={ROOT}", "PYTHONDONTWRITEBYTECODE=1", "COLUMNS=200"),
    *(sys.executable, "-m", "sim.run"),
)

NO_MORE_RUNS = ("--no-recommendation",)
"""Its runs need kernels that nothing else here does."""

COMPUTED = (
    *("summary.json", "points.csv", "points.parquet", "steps.parquet", "operations.parquet"),
    *("trace.parquet", "perfetto.json"),
)

# For the fast path, and traced on the generic engine's kernel of FIFO.
FAST = """\
name = "fast"
repetitions = 2

[cluster]
topology = "star"
servers = 1

[cluster.link]
rate = "1gbit"

[training]
trace_steps = 3
workers = [1, 2]
steps = 20
warmup = 5

[[workload]]
name = "alexnet"
profile = "alexnet"

[[transport]]
name = "whole"
sender = "h2"
receiver = "h2"
discipline = "fifo"
flow_control = false
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    code: int
    out: str
    err: str


def start(
    *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> "subprocess.Popen[str]":
    """Begin ``python -m sim.run``; nothing is written beside the sources."""
    return subprocess.Popen(
        [*prefix, *FROM_SOURCE, *arguments, *NO_MORE_RUNS],
        cwd=cwd,
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: "subprocess.Popen[str]", words: str) -> None:
    """Read what it says, up to the line that has these words."""
    while words not in (line := process.stderr.readline()):
        assert line, "it ended"


def run(
    *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None, prefix: Sequence[str] = ()
) -> Done:
    process = start(*arguments, cwd=cwd, environ=environ, prefix=prefix)
    out, err = process.communicate(timeout=600)
    assert "Traceback" not in out + err
    return Done(code=process.returncode, out=out, err=err)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """The command in this process, without the seconds that starting and drawing take.

    `interpreted` is for jobs with few operations, whose engines would take longer to compile.
    """

    capsys: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch

    def run(
        self,
        *arguments: str,
        interpreted: bool = False,
        recommending: bool = False,
        draw: Callable[[ResultsFolder], Path] = lambda folder: folder.path / "none",
    ) -> Done:
        more = () if recommending else NO_MORE_RUNS
        with self.patch.context() as patch:
            patch.setenv("COLUMNS", "200")
            patch.setattr("netcosim.report.write.draw_report", draw)
            if interpreted:
                bound = functools.partial(interpret, advance)
                patch.setattr("sim.engine.engine.compile_engine", bound)
                patch.setattr("sim.fast.engine.compile_fast", interpret_fast)
                patch.setattr("sim.compiling.builds.compile_together", lambda *_: None)
            self.capsys.readouterr()
            code = command.run((*arguments, *more))
        said = self.capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        assert "this is a bug" not in said.err, said.err
        return Done(code=code, out=said.out, err=said.err)

    def do(self, *arguments: str, **how: Any) -> Done:
        """Run it to a good end."""
        done = self.run(*arguments, **how)
        assert done.code == 0, done.err
        return done


def summary_of(folder: Path | str = "out") -> TrainingSummary | None:
    with ResultsFolder.open(Path(folder)) as opened:
        return opened.read_training_summary()


def assert_refused(done: Done, message: str, code: int = 2) -> None:
    """One line, and nothing else."""
    assert done.code == code
    assert done.out == ""
    assert len(done.err.splitlines()) == 1
    assert done.err.startswith("sim.run: ")
    assert message in done.err
