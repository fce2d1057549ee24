"""Which kernels a simulation needs, whether they are kept, and compiling them side by side."""

import functools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import parse_scenario
from sim.compiling import Kernel, builds, kernels_of
from sim.compiling.builds import compile_missing, compile_together, expected_seconds
from sim.experiment.cell import TrainingCell, training_cells
from sim.experiment.phases import phases
from sim.experiment.point import without_stragglers
from sim.experiment.run import simulate
from sim.experiment.trace import trace
from sim.fast.engine import interpret_fast
from sim.kernels.compiled import interpret
from sim.kernels.loop import advance
from sim.precompile import main as precompile
from tests.sim.cli.started import FAST

LEAVES = 'kind = "leave"\ncount = 1\noptions = { at = "1s", back = "2s" }\n'
GRPC = FAST.replace('discipline = "fifo"', 'discipline = "write_cycle"')
MAX_MIN = FAST.replace("[training]", '[training]\nshare = "max_min"')
JOINED = FAST.replace("[training]", '[training]\nsynchronisation = "join"')
CORES = FAST.replace("[training]", "[training]\nserver_cores = 2")
LEAVING = f"{FAST}\n[[straggler]]\n{LEAVES}"


def only_cell(text: str) -> TrainingCell:
    [cell] = training_cells(parse_scenario(text, "job"))
    return cell


class Told(list[str]):
    """A listener that keeps what it is told."""

    def say(self, message: str) -> None:
        self.append(message)


@pytest.mark.parametrize(
    "name",
    [
        "fast",
        "fast/write_cycle",
        "write_cycle/max_min",
        "fifo/equal/extended",
        "fifo/equal/p3",
        "fifo/equal/extended/p3",
    ],
)
def test_a_kernel_has_a_name_that_leads_back_to_it(name):
    assert str(Kernel.named(name)) == name


@pytest.mark.parametrize(
    "name", ["", "fasst", "fast/", "fast/equal", "fifo", "fifo/", "x/equal", "fifo/equal/x"]
)
def test_a_name_of_none_is_refused_with_what_is_allowed(name, capsys):
    with pytest.raises(
        ScenarioError, match=r"must be fast, fast/DISCIPLINE or DISCIPLINE/SHARE, this"
    ):
        Kernel.named(name)
    assert precompile(["fast", name]) == 2
    assert capsys.readouterr().err.startswith("sim.precompile: kernel: ")


@pytest.mark.parametrize("text", [FAST, GRPC, MAX_MIN, JOINED, CORES, LEAVING])
def test_the_runs_of_a_cell_use_the_kernels_that_are_named(text, monkeypatch):
    """What the engines ask for is what is said before; here they are not compiled."""
    asked: list[Kernel] = []

    def spy(bound: Callable[..., Any]) -> Callable[..., Any]:
        def asking(*what: str, **more: bool) -> Any:
            asked.append(Kernel(*what, **more))
            return bound(*what, **more)

        return asking

    generic = spy(functools.partial(interpret, advance))
    monkeypatch.setattr("sim.engine.engine.compile_engine", generic)
    monkeypatch.setattr("sim.fast.engine.compile_fast", spy(interpret_fast))
    small = text.replace("steps = 20", "steps = 2").replace("warmup = 5", "warmup = 0")
    cell = only_cell(small.replace("alexnet", "alexnet_b4").replace("trace_steps = 3", ""))
    for workers in (1, 2):
        simulate(cell, workers, 0)
    phases(without_stragglers(cell))
    alone = set(asked)
    assert set(kernels_of(cell, (1, 2), traced=False)) >= alone
    trace(cell, 1, 0, 1)
    assert set(kernels_of(cell, (1, 2), traced=True)) >= set(asked)
    extra = {Kernel(None)} if text == LEAVING else set()  # of one worker without stragglers
    assert set(kernels_of(cell, (1, 2), traced=True)) == set(asked) | extra


def test_time_is_that_of_the_processors_or_of_the_longest():
    assert expected_seconds([], 2) == 0
    assert expected_seconds([20.0] * 4, 2) == 40
    assert expected_seconds([20.0, 30.0], 2) == 30
    assert expected_seconds([20.0, 30.0], 1) == 50


def test_what_cant_be_compiled_is_told_and_left_to_the_run():
    told = Told()
    compile_together([Kernel("nosuch")], told, 2)
    assert told[0] == "compiling 1 kernel, once: about 25 s"
    assert told[1].startswith("fast/nosuch could not be compiled ahead: ")
    assert told[2:] == ["compiled 1 of 1 kernel"]


def test_an_interruption_ends_what_is_being_compiled(monkeypatch):
    started: list[subprocess.Popen[bytes]] = []
    start = builds._start

    def interrupted(kernel: Kernel) -> Any:
        if started:
            raise KeyboardInterrupt
        build = start(kernel)
        started.append(build.process)
        return build

    monkeypatch.setattr(builds, "_start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compile_together([Kernel("fifo"), Kernel(None)], Told(), 2)
    assert [process.poll() for process in started] == [-9]


@pytest.mark.oracle
def test_a_kernel_is_kept_once_it_was_compiled_whatever_its_age(tmp_path: Path):
    """In processes of their own, with a cache of their own."""
    asks = "from sim.compiling import Kernel; print(Kernel.named('fast').is_kept())"
    environ = {"NETCOSIM_KERNELS": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def python(*arguments: str) -> str:
        command = [sys.executable, "-P", *arguments]
        return subprocess.run(
            command, env=environ, capture_output=True, text=True, check=True
        ).stdout

    assert python("-c", asks) == "False\n"
    said = python("-m", "sim.precompile", "fast").splitlines()
    assert said == ["compiling 1 kernel, once: about 25 s", "compiled 1 of 1 kernel"]
    assert python("-c", asks) == "True\n"
    (index,), (code,) = tmp_path.rglob("*.nbi"), tmp_path.rglob("*.nbc")
    for file in (index, code):
        os.utime(file, (1, 1))  # older than its source, as after a checkout
    assert python("-m", "sim.precompile", "fast") == ""
    python("-m", "sim.compiling.one", "fast")
    assert code.stat().st_mtime == 1  # which was right: numba has found it
    content = code.read_bytes()
    code.unlink()
    assert python("-c", asks) == "False\n"
    code.write_bytes(content)
    assert python("-c", asks) == "True\n"
    index.write_bytes(b"")
    assert python("-c", asks) == "False\n"


def test_nothing_is_said_of_what_is_kept(monkeypatch):
    monkeypatch.setattr(Kernel, "is_kept", lambda _: True)
    told = Told()
    compile_missing([Kernel(None), Kernel("fifo", "equal")], told)
    assert told == []
