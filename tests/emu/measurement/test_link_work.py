"""Lost time of a link, by its frames: known cases, and a twin that counts tick by tick."""

import itertools
import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.capture.report import Packets
from emu.measurement.link_work import LinkWork
from emu.measurement.validity import BOUNDS
from netcosim.spans import Spans, total_ns, united

RATE_BPS = 100_000_000
FRAME_BYTES = 1250
FRAME_NS = 100_000
"""Time of a frame on the link."""
BUCKET_BYTES = 15_000
BUCKET_NS = 1_200_000
MS = 1_000_000


def work_of(times, sizes=None, *, rate_bps=RATE_BPS, bucket_bytes=BUCKET_BYTES) -> LinkWork:
    each = [FRAME_BYTES] * len(times) if sizes is None else sizes
    packets = Packets(time_ns=np.array(times, dtype=np.int64), size_bytes=np.array(each))
    return LinkWork.of([packets], rate_bps, bucket_bytes)


def shaped(wanted: Sequence[int], cost_ns: int = FRAME_NS, bucket_ns: int = BUCKET_NS) -> list[int]:
    """Times at which frames that a sender has from then on leave a link; its bucket is full before.

    As the kernel's own: a frame leaves while there are tokens, and may overdraw.
    """
    found: list[int] = []
    tokens, last = bucket_ns, wanted[0]
    free = wanted[0]
    for since in wanted:
        now = max(since, free)
        tokens = min(bucket_ns, tokens + now - last)
        if tokens < 0:
            now, tokens = now - tokens, 0
        tokens -= cost_ns
        found.append(now)
        last, free = now, now + 1
    return found


def late(times: Sequence[int], pauses: Spans) -> list[int]:
    """Stamps of a receiver whose processor was away in these times."""
    return [next((end for start, end in pauses if start <= time < end), time) for time in times]


BUSY = shaped([0] * 2000)  # about 200 ms at the full rate


class TestKnownCases:
    def test_a_link_that_is_always_busy_loses_nothing(self) -> None:
        assert work_of(BUSY).lost == ()

    @pytest.mark.parametrize("gap_ms", [2, 5, 40])
    def test_a_gap_loses_what_the_bucket_does_not_make_good(self, gap_ms: int) -> None:
        times = shaped([0] * 1000 + [BUSY[999] + gap_ms * MS] * 1000)
        (span,) = work_of(times).lost
        assert span[1] == times[1000]
        assert span[1] - span[0] == pytest.approx(gap_ms * MS - BUCKET_NS, abs=FRAME_NS)

    def test_a_gap_that_the_bucket_makes_good_loses_nothing(self) -> None:
        times = shaped([0] * 1000 + [BUSY[999] + MS] * 1000)
        assert times[-1] == pytest.approx(BUSY[-1], abs=FRAME_NS)
        assert work_of(times).lost == ()

    def test_frames_that_are_only_stamped_late_lose_nothing(self) -> None:
        times = late(BUSY, ((40 * MS, 90 * MS), (120 * MS, 121 * MS)))
        assert total_ns(work_of(times).lost) <= FRAME_NS

    def test_of_a_gap_that_is_half_delay_half_is_lost(self) -> None:
        """The sender paused for 20 ms, and just then the receiver was away for 10 ms longer."""
        times = shaped([0] * 1000 + [BUSY[999] + 20 * MS] * 1000)
        stamped = late(times, ((times[1000], times[1000] + 10 * MS),))
        assert total_ns(work_of(stamped).lost) == pytest.approx(20 * MS - BUCKET_NS, abs=FRAME_NS)

    def test_a_slow_link_loses_a_little_all_the_time(self) -> None:
        times = shaped([0] * 20_000, cost_ns=round(FRAME_NS / 0.95))
        work = work_of(times)
        assert total_ns(work.lost) == pytest.approx(0.05 * times[-1] - BUCKET_NS, rel=0.01)
        assert max(end - start for start, end in work.lost) < FRAME_NS
        assert work.seen_bps == pytest.approx(0.95 * RATE_BPS, rel=0.002)

    def test_the_first_frame_finds_the_bucket_full(self) -> None:
        """Losses before it are not the burst's."""
        assert work_of([10**18]).lost == ()
        assert work_of([10**18, 10**18 + MS]).lost == ((10**18 + FRAME_NS, 10**18 + MS),)

    def test_without_frames_nothing_is_known(self) -> None:
        work = work_of([])
        assert (work.lost, work.seen_bps, work.between(0, 10**18)) == ((), None, 0)


class TestRateSeen:
    """The rate of frames back to back, which the machine's pauses must not change."""

    @pytest.mark.parametrize("share", [1.0, 0.95])
    @pytest.mark.parametrize("load", [0.0, 0.1, 0.2, 0.4])
    @pytest.mark.parametrize("side", ["sender", "receiver", "both"])
    def test_whoever_is_paused_the_rate_stays(self, share: float, load: float, side: str) -> None:
        """A link at its rate is never taken for a slow one, nor one at 95 % for a whole one."""
        draw = random.Random(f"{share} {load} {side}")
        pauses = random_pauses(load, draw, 5000 * MS)
        times = paused_sender(8_000, round(FRAME_NS / share), pauses if side != "receiver" else ())
        if side != "sender":
            times = sorted(late(times, pauses))
        seen = work_of(times).seen_bps
        assert seen is not None
        assert (seen >= BOUNDS.link_share * RATE_BPS) is (share == 1.0), seen / RATE_BPS

    @pytest.mark.parametrize("share", [1.0, 0.95])
    @pytest.mark.parametrize("load", [0.1, 0.2])
    def test_on_a_slow_link_too_where_pauses_are_near(self, share: float, load: float) -> None:
        """10 Mbit/s: a bucket of three frames, and a pause for every few dozen."""
        for seed in range(20):
            pauses = random_pauses(load, random.Random(f"{share} {load} {seed}"), 5000 * MS)
            times = paused_sender(1_000, round(MS / share), pauses)
            stamped = sorted(late(times, pauses))
            seen = work_of(stamped, rate_bps=10_000_000, bucket_bytes=3_750).seen_bps
            assert seen is not None
            assert (seen >= BOUNDS.link_share * 10_000_000) is (share == 1.0), seen / 1e7

    def test_of_few_frames_it_does_not_speak(self) -> None:
        assert work_of(BUSY[:336]).seen_bps is None
        assert work_of(BUSY[:337]).seen_bps is not None


def random_pauses(load: float, draw: random.Random, until_ns: int) -> Spans:
    """Spans of 5 to 50 ms that take this share of the time."""
    found: list[tuple[int, int]] = []
    now = 0
    while load and now < until_ns:
        now += round(draw.expovariate(load / (27.5 * MS * (1 - load))))
        length = draw.randint(5 * MS, 50 * MS)
        found.append((now, now + length))
        now += length
    return tuple(found)


def paused_sender(frames: int, cost_ns: int, pauses: Spans, queue: int = 50) -> list[int]:
    """Times at which frames leave a link whose sender keeps some queued, and is paused so."""
    found: list[int] = []
    tokens, last = float(BUCKET_NS), 0
    for place in range(frames):
        since = found[place - queue] if place >= queue else 0
        since = next((end for start, end in pauses if start <= since < end), since)
        now = max(since, found[-1] + 1 if found else 0)
        tokens = min(BUCKET_NS, tokens + now - last)
        if tokens < 0:
            now, tokens = now + math.ceil(-tokens), 0
        tokens -= cost_ns
        found.append(now)
        last = now
    return found


def twin(times: Sequence[int], costs: Sequence[int], bucket: int) -> list[int]:
    """The lost ticks of a bucket that is filled tick by tick, in order.

    Frames take ticks; one that comes though the bucket is overdrawn proves that a tick which
    seemed lost was not.
    """
    tokens, lost, frames = bucket, [], dict[int, list[int]]()
    for time, cost in zip(times, costs, strict=True):
        frames.setdefault(time, []).append(cost)
    for tick in range(times[0], times[-1] + 1):
        if tick > times[0]:
            if tokens >= bucket:
                lost.append(tick - 1)
            else:
                tokens += 1
        for cost in frames.get(tick, []):
            tokens -= cost
            while tokens < -cost:
                tokens += 1
                if lost:
                    lost.pop()
    return lost


FRAMES = st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4)), min_size=1, max_size=40)


@given(FRAMES, st.integers(1, 12))
def test_losses_are_those_of_a_twin_that_counts_tick_by_tick(frames, bucket) -> None:
    times = list(itertools.accumulate(step for step, _ in frames))
    costs = [cost for _, cost in frames]
    # A byte a tick: 8 Gbit/s.
    work = work_of(times, costs, rate_bps=8 * 10**9, bucket_bytes=bucket)
    ticks = [tick for start, end in work.lost for tick in range(start, end)]
    assert ticks == twin(times, costs, bucket)


@given(FRAMES, st.integers(1, 12))
def test_what_is_lost_and_what_was_carried_fit_into_the_time(frames, bucket) -> None:
    times = list(itertools.accumulate(step for step, _ in frames))
    costs = [cost for _, cost in frames]
    work = work_of(times, costs, rate_bps=8 * 10**9, bucket_bytes=bucket)
    assert list(itertools.chain(*work.lost)) == sorted(itertools.chain(*work.lost))
    assert all(times[0] <= start < end <= times[-1] for start, end in work.lost)
    # Whatever was lost, there was no time to carry more than the frames.
    assert total_ns(work.lost) <= max(0, times[-1] - times[0] + bucket - sum(costs) + max(costs))


@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 60)), max_size=5), st.integers(0, 4 * MS)
)
def test_late_stamps_of_a_busy_link_prove_no_loss(delays, shift) -> None:
    pauses = united((a * MS, (a + length) * MS) for a, length in delays)
    stamped = sorted(late([time + shift for time in BUSY], pauses))
    end = max((end for _, end in pauses), default=0)
    if end < BUSY[-1]:  # else the last frames' own delay can't be told from a loss
        assert total_ns(work_of(stamped).lost) <= 2 * FRAME_NS


@given(st.lists(st.integers(0, 300), min_size=1, max_size=30), st.integers(-5, 305))
def test_work_between_two_times_counts_the_frames_that_came(times: list[int], start: int) -> None:
    work = work_of(sorted(times))
    for end in (start - 1, start, start + 7, 300):
        came = sum(start < time <= end for time in times)
        assert work.between(start, end) == pytest.approx(came * FRAME_NS)


def test_frames_of_several_captures_are_put_in_order() -> None:
    halves = [
        Packets(time_ns=np.array(BUSY[i::2]), size_bytes=np.full(len(BUSY[i::2]), FRAME_BYTES))
        for i in (0, 1)
    ]
    whole = work_of(BUSY)
    assert LinkWork.of(halves, RATE_BPS, BUCKET_BYTES) == whole
