"""The parallel map: order, failures, and nothing left of it whoever is killed."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from netcosim import parallel_map
from netcosim.parallel_map import side_by_side
from tests.inside import ROOT

SEMAPHORES = "/dev/shm/"
PROGRAM = """\
from netcosim.parallel_map import side_by_side
from tests.netcosim.test_parallel_map import slowly

if __name__ == "__main__":
    for number in side_by_side(slowly, range(50)):
        print(number, flush=True)
"""
LOADS_LONG = """\
import multiprocessing, pathlib, time
from tests.netcosim.test_parallel_map import slowly

if multiprocessing.current_process().name != "MainProcess":
    pathlib.Path(__file__).with_name("loading").touch()
    time.sleep(2)
"""


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel_map, "usable_processors", lambda: 2)


def slowly(number: int) -> int:
    time.sleep(0.05 if number % 2 else 0.1)  # the second is done before the first
    return number


def refuse_three(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def die_in_others(item: tuple[int, int]) -> int:
    """Answer in the process that asks alone."""
    asking, number = item
    if os.getpid() != asking:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def not_to_be_sent(_: int) -> object:
    return lambda: None


def large(number: int) -> bytes:
    return bytes([number]) * 1_000_000


def test_results_come_in_the_order_of_the_items() -> None:
    assert list(side_by_side(slowly, range(9))) == list(range(9))
    assert list(side_by_side(slowly, [])) == []
    assert not multiprocessing.active_children()


def test_results_larger_than_a_pipe_holds() -> None:
    answers = side_by_side(large, range(6))
    first = next(answers)
    time.sleep(0.3)  # the others wait to be asked for theirs
    assert [first, *answers] == [large(number) for number in range(6)]


def test_what_the_work_raises_is_raised_here() -> None:
    answers = side_by_side(refuse_three, range(6))
    assert [next(answers) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(answers)
    assert not multiprocessing.active_children()


def test_a_result_that_cannot_be_sent_is_a_failure() -> None:
    with pytest.raises(TypeError, match="a result can't be sent"):
        list(side_by_side(not_to_be_sent, range(3)))


def test_an_interruption_while_processes_load_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LOADS_LONG)
    (tmp_path / "program.py").write_text(
        PROGRAM.replace("tests.netcosim.test_parallel_map", "late")
    )
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "program.py")],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    while not (tmp_path / "loading").exists() and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=600)
    assert said.count(b"Traceback") == 1, said.decode()
    assert process.returncode == -signal.SIGINT


def test_what_kills_its_process_is_done_here() -> None:
    items = [(os.getpid(), number) for number in range(5)]
    assert list(side_by_side(die_in_others, items)) == list(range(5))


def test_items_without_an_end_are_taken_as_they_are_asked_for() -> None:
    answers = side_by_side(slowly, itertools.count())
    assert [next(answers) for _ in range(5)] == list(range(5))
    answers.close()


def test_who_asks_no_more_leaves_no_process() -> None:
    answers = side_by_side(slowly, range(100))
    next(answers)
    answers.close()
    assert not multiprocessing.active_children()


def test_no_semaphore_has_a_name_that_a_kill_9_would_leave(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"0\n"
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) >= 2
        maps = [Path(f"/proc/{pid}/maps").read_text() for pid in (process.pid, *children)]
        os.killpg(process.pid, signal.SIGKILL)
    assert [line for text in maps for line in text.splitlines() if SEMAPHORES in line] == []
