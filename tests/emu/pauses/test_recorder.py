"""Recorders of pauses, for real: they need the wall clock, for pauses of it are what they record.

The machine may take processors away besides; so what is asked is what holds then, too.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emu.pauses.pauses import PERIOD_NS, Pauses, recording
from emu.pauses.recorder import CONTENTION, LATE_NS, PAUSES, RECORD
from netcosim.errors import CaptureError
from netcosim.spans import Span, common, total_ns

pytestmark = pytest.mark.root
TAKER = Path(__file__).with_name("taker.py")
PROCESSORS = sorted(os.sched_getaffinity(0))
MS = 1_000_000


def take(processors, *, priority, length_ms, count, every_ms=7) -> dict[int, list[list[Span]]]:
    """Take these processors at once; by processor, for each time, when it was had."""
    arguments = [str(each) for each in (priority, length_ms, count, every_ms)]
    running = {
        p: subprocess.Popen(
            [sys.executable, "-I", "-S", str(TAKER), str(p), *arguments], stdout=subprocess.PIPE
        )
        for p in processors
    }
    told = {p: json.loads(process.communicate(timeout=600)[0]) for p, process in running.items()}
    return {p: [[(a, b) for a, b in spans] for spans in each] for p, each in told.items()}


def recorded(folder, do) -> tuple[Pauses, dict[int, list[list[Span]]]]:
    with recording(folder) as recorders:
        assert set(recorders.scheduling.values()) == {"fifo"}
        time.sleep(0.02)
        taken = do()
        time.sleep(0.02)  # what it sees last is written when it runs again
        return recorders.read(), taken


def test_a_processor_that_is_taken_away_is_recorded_from_begin_to_end(tmp_path: Path) -> None:
    processor = PROCESSORS[-1]
    pauses, taken = recorded(
        tmp_path, lambda: take([processor], priority=50, length_ms=20, count=15)
    )
    found = pauses.by_processor[processor]
    before, after = [], []
    for spans in taken[processor]:
        begin, end = spans[0][0], spans[-1][1]
        (span,) = [each for each in found if each[0] <= begin and end <= each[1]]
        before.append(begin - span[0])
        after.append(span[1] - end)
    # The machine may take it away right before or after as well, but not most of the time.
    assert statistics.median(before) <= PERIOD_NS + LATE_NS[PAUSES]
    assert statistics.median(after) <= PERIOD_NS


def test_contention_is_recorded_where_a_process_of_the_run_has_to_wait(tmp_path: Path) -> None:
    """It runs at their priority, so that others of a higher one keep it waiting as they do them."""
    processor = PROCESSORS[-1]
    with recording(tmp_path, CONTENTION) as recorders:
        assert set(recorders.scheduling.values()) == {"other"}
        taken = take([processor], priority=1, length_ms=20, count=15)
        time.sleep(0.2)
        found = recorders.read().by_processor[processor]
    for spans in taken[processor]:
        begin, end = spans[0][0], spans[-1][1]
        assert any(each[0] <= begin and end <= each[1] for each in found)


def test_what_is_taken_of_one_processor_is_not_written_to_another(tmp_path: Path) -> None:
    assert len(PROCESSORS) > 1, "needs two processors"
    one, other = PROCESSORS[:2]
    pauses, taken = recorded(tmp_path, lambda: take([one], priority=50, length_ms=20, count=15))
    spans = [(each[0][0], each[-1][1]) for each in taken[one]]
    mine = total_ns(common(pauses.by_processor[one], spans))
    others = total_ns(common(pauses.by_processor[other], spans))
    assert mine == total_ns(spans)
    assert others < mine
    assert total_ns(common(pauses.anywhere, spans)) == mine


@pytest.mark.emulation
@pytest.mark.alone
def test_what_ordinary_processes_do_is_no_pause(tmp_path: Path) -> None:
    """Wherever a pause was recorded, busy processes of that processor did not run either.

    Alone: real-time processes of other tests may use up what the kernel lets all of them have, and
    then it stops the recorder while ordinary ones run.
    """
    busy = [p for p in PROCESSORS for _ in range(3)]
    with recording(tmp_path) as recorders:
        running = [
            subprocess.Popen(
                [sys.executable, "-I", "-S", str(TAKER), str(p), "0", "1500", "1", "1"],
                stdout=subprocess.PIPE,
            )
            for p in busy
        ]
        told = [json.loads(process.communicate(timeout=600)[0])[0] for process in running]
        pauses = recorders.read()
    took_ns = dict.fromkeys(PROCESSORS, 0)
    for processor, spans in zip(busy, told, strict=True):
        ran = [(a, b) for a, b in spans]
        took_ns[processor] += total_ns(ran)
        for pause in pauses.by_processor[processor]:
            # A pause is told from the recorder's last run on, so up to a period too early.
            assert total_ns(common(ran, [pause])) <= PERIOD_NS + LATE_NS[PAUSES]
    # Of a loaded machine each gets little.
    assert min(took_ns.values()) > 10 * MS


def test_nothing_is_left_of_them(tmp_path: Path) -> None:
    with recording(tmp_path) as recorders:
        pids = recorder_pids()
        assert len(pids) == len(PROCESSORS)
        assert set(recorders.read().by_processor) == set(PROCESSORS)
    assert recorder_pids() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_recorder_that_dies_is_told_in_one_line(tmp_path: Path, number: signal.Signals) -> None:
    with recording(tmp_path) as recorders:
        recorders.read()
        victim = recorder_pids()[0]
        os.kill(victim, number)
        line = f"pause recorder of processor {PROCESSORS[0]}: killed by {number.name}"
        deadline = time.monotonic() + 600
        while Path(f"/proc/{victim}").exists() and zombie(victim) is False:
            assert time.monotonic() < deadline
        with pytest.raises(CaptureError, match=f"^{line}$"):
            recorders.read()
        assert set(recorders.so_far().by_processor) == set(PROCESSORS)  # what it wrote is there


def test_a_record_that_is_being_written_is_left_for_later(tmp_path: Path) -> None:
    with recording(tmp_path) as recorders:
        (tmp_path / f"pauses-{PROCESSORS[0]}").write_bytes(RECORD.pack(5, 9) + b"half a rec")
        assert recorders.read().by_processor[PROCESSORS[0]][0] == (5, 9)


def recorder_pids() -> list[int]:
    """Recorders that this process started, by their processors."""
    found = {}
    for path in Path("/proc").iterdir():
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if parent == os.getpid() and any(word.endswith(b"recorder.py") for word in words):
            found[int(words[words.index(b"-S") + 2])] = int(path.name)
    return [found[processor] for processor in sorted(found)]


def zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_pauses_between_two_times_and_anywhere() -> None:
    pauses = Pauses(by_processor={0: ((0, 10), (20, 30)), 3: ((8, 14), (40, 50))})
    assert pauses.anywhere == ((0, 14), (20, 30), (40, 50))
    assert pauses.between(5, 25).by_processor == {0: ((5, 10), (20, 25)), 3: ((8, 14),)}
