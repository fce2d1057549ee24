"""The load generator: its schedule by the numbers, and what it really takes."""

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench.noise.load import schedule
from emu.pauses.pauses import recording
from netcosim.spans import Spans, common, total_ns, united, without

pytestmark = [pytest.mark.root, pytest.mark.soak]
ROOT = Path(__file__).parents[2]
PROCESSORS = sorted(os.sched_getaffinity(0))


def planned(share: float, seed: int, processor: int, until_s: float) -> Spans:
    """Times at which a processor is to be taken, in nanoseconds after the generator's begin."""
    spans = itertools.takewhile(lambda s: s[0] < until_s, schedule(share, seed, processor))
    return united((round(a * 1e9), round(b * 1e9)) for a, b in spans)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2, 0.5])
def test_each_processor_is_taken_for_its_share_and_half_of_it_together(share: float) -> None:
    """Over 2,000 s; a mean of so many pauses is within 5 % of what it is to be."""
    length_s = 2000
    one, other = (planned(share, 1, processor, length_s) for processor in (0, 1))
    for spans in (one, other):
        assert total_ns(spans) / 1e9 / length_s == pytest.approx(share, rel=0.05)
    both = total_ns(common(one, other)) / 1e9 / length_s
    # By chance they meet as well: what is taken of each apart is independent.
    apart = 1 - (1 - share) ** 0.5
    assert both == pytest.approx(apart + (1 - apart) * apart**2, rel=0.07)


def test_what_it_takes_is_taken_from_everybody_else(tmp_path: Path) -> None:
    """It needs the wall clock, for that is what it is about: a recorder sees its schedule."""
    seed, share, length_s = 5, 0.3, 3.0
    code = "import sys; from bench.noise.load import occupy; occupy(*map(eval, sys.argv[1:]))"
    with recording(tmp_path) as recorders:
        begin = time.monotonic() + 1
        offset_ns = time.time_ns() - time.monotonic_ns()
        taking = [
            subprocess.Popen(
                [sys.executable, "-c", code, *map(str, (p, share, seed, begin))], cwd=ROOT
            )
            for p in PROCESSORS
        ]
        try:
            time.sleep(begin + length_s - time.monotonic())
            used_s = [run_time_s(each.pid) for each in taking]
        finally:
            for each in taking:
                each.kill()
                each.wait(10)
        time.sleep(0.05)
        pauses = recorders.read()
    start_ns = round(begin * 1e9) + offset_ns
    for processor, used in zip(PROCESSORS, used_s, strict=True):
        spans = common(planned(share, seed, processor, length_s), ((0, round(length_s * 1e9)),))
        wanted: Spans = tuple((start_ns + a, start_ns + b) for a, b in spans)
        missed = without(wanted, pauses.by_processor[processor])
        assert total_ns(missed) < 0.02 * total_ns(wanted), missed
        # Others' real-time processes may share its time; it takes no more than it is to.
        assert used < total_ns(wanted) / 1e9 + 0.5  # starting Python takes some


def run_time_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
