"""The process in which Ray lives: what it raises, how it ends, and whom it outlives."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from ray.exceptions import LocalRayletDiedError

from netcosim.errors import EnvironmentRefusedError, NetcosimError, ScenarioError
from ray_sweeps.runner.head import HeadGoneError, RayGoneError
from ray_sweeps.runner.ray_messages import Say
from ray_sweeps.runner.ray_process import ray_process
from tests.inside import ROOT
from tests.ray_sweeps.made import Made
from tests.ray_sweeps.runner.ray_child import ray_child

GONE = "127.0.0.1:1"
"""An address at which nobody listens."""


@dataclass(frozen=True)
class Failing:
    """A place to which no process can connect."""

    problem: Exception

    @contextmanager
    def connected(self, say: Say) -> Iterator[None]:
        say("told before")
        raise self.problem
        yield


@dataclass(frozen=True)
class Ending:
    """A place that ends the process which connects to it: by a signal, or an exit code."""

    signal: int = 0
    code: int = 0

    @contextmanager
    def connected(self, say: Say) -> Iterator[None]:
        if self.signal:
            os.kill(os.getpid(), self.signal)
        os._exit(self.code)
        yield


class Hanging:
    """A place that never lets go of a process."""

    @contextmanager
    def connected(self, say: Say) -> Iterator[None]:
        say("hangs")
        time.sleep(600)
        yield


@pytest.mark.parametrize(
    "problem", [ScenarioError("a: b"), EnvironmentRefusedError("c"), HeadGoneError("d")]
)
def test_an_expected_failure_is_raised_here_as_it_is(problem: NetcosimError) -> None:
    heard: list[str] = []
    with (
        pytest.raises(type(problem), match=f"^{problem}$"),
        ray_process(Failing(problem), Made(), heard.append),
    ):
        pass
    assert heard == ["told before"]


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (LocalRayletDiedError(), "LocalRayletDiedError: The task's local raylet died"),
        (Exception("The node timed out. Look into r.out."), "Exception: The node timed out"),
    ],
)
def test_what_ray_raises_by_itself_means_that_it_is_gone(problem: Exception, said: str) -> None:
    with (
        pytest.raises(RayGoneError, match=f"^Ray ended by itself: {said}$"),
        ray_process(Failing(problem), Made(), print),
    ):
        pass


def test_a_bug_is_raised_here_with_its_traceback() -> None:
    with (
        pytest.raises(RuntimeError) as raised,
        ray_process(Failing(ZeroDivisionError("by nothing")), Made(), print),
    ):
        pass
    assert str(raised.value) == "ZeroDivisionError: by nothing"
    (note,) = raised.value.__notes__
    assert "in connected" in note


@pytest.mark.parametrize(
    ("place", "address", "said"),
    [
        (Ending(signal=signal.SIGSEGV), None, "Ray ended by itself (signal 11)"),
        (Ending(code=1), None, "Ray ended by itself (exit code 1)"),
        (Ending(code=1), "auto", "Ray ended by itself (exit code 1)"),
        (Ending(code=1), GONE, f"the Ray head at {GONE} is gone: Connection refused"),
        (Hanging(), GONE, f"the Ray head at {GONE} is gone: Connection refused"),
    ],
)
def test_how_it_ended_is_told(place: Ending | Hanging, address: str | None, said: str) -> None:
    with (
        pytest.raises(EnvironmentRefusedError) as raised,
        ray_process(place, Made(), lambda line: None, address),
    ):
        pass
    assert str(raised.value) == said


DRIVER = """
from tests.ray_sweeps.made import Made
from tests.ray_sweeps.runner.test_ray_process import Hanging
from ray_sweeps.runner.ray_process import ray_process

with ray_process(Hanging(), Made(), lambda line: print(line, flush=True)):
    pass
"""


def test_it_does_not_outlive_a_driver_that_is_killed() -> None:
    """Not even if it hangs in Ray, and sees no pipe."""
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with driver:
        assert driver.stdout is not None and driver.stdout.readline() == "hangs\n"
        child = Path(f"/proc/{ray_child(driver.pid)}")
        driver.kill()
        driver.wait()
    deadline_s = time.monotonic() + 600
    while child.exists() and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not child.exists()
