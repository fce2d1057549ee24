"""Disciplines against what theory and the literature say, with error bounds."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from h2model.connection import LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.disciplines import load
from h2model.grpc_write import TARGET
from h2model.machine import BLOCKED, Machine
from h2model.predict import predict

HEADER = 9
UNIT = 1000
"""One frame of this size stands for a unit of a figure."""


def units_served(discipline, arrivals, win=None, **options):
    """Chunks of service as 'A3 B2 ...': unit frames over a link that takes one unit a millisecond.

    `arrivals`: name -> (size in units, ready after so many units of time).
    """
    streams = {name: 2 * i + 1 for i, name in enumerate(arrivals)}
    schedule = predict(
        [
            StreamPlan(stream=streams[n], size_bytes=size * UNIT, ready_ns=at * 10**6)
            for n, (size, at) in arrivals.items()
        ],
        SenderModel(discipline=discipline, options=options, frame_bytes=UNIT),
        LinkModel(rate_bps=(UNIT + HEADER) * 8e3, past_bytes=0),
        None if win is None else ReceiverModel(window_bytes=win * UNIT, credit="rest_at_header"),
    )
    names = {stream: name for name, stream in streams.items()}
    return " ".join(f"{names[i.stream]}{i.size_bytes // UNIT}" for i in schedule.intervals)


class TestTwoVisit:
    """Li et al. (ICPE 2020), section 3.2.2: WIN = 3 and streams A to E, as in Fig. 12."""

    def test_a_common_start(self):
        sizes = {"A": (5, 0), "B": (2, 0), "C": (7, 0), "D": (3, 0), "E": (4, 0)}
        # First visits of at most WIN: B and D fit; then A, C and E run to completion.
        assert units_served("two_visit", sizes, win=3) == "A3 B2 C3 D3 E3 A2 C4 E1"

    def test_preemption_happens_once_however_much_remains(self):
        assert units_served("two_visit", {"A": (20, 0), "B": (4, 0)}, win=3) == "A3 B3 A17 B1"

    def test_a_stream_of_exactly_win_is_not_switched(self):
        assert units_served("two_visit", {"A": (3, 0), "B": (4, 0)}, win=3) == "A3 B4"

    def test_requeue_at_selection_goes_ahead_of_arrivals_during_the_visit(self):
        streams = {"A": (9, 0), "B": (2, 1)}
        assert units_served("two_visit", streams, win=3) == "A9 B2"

    def test_requeue_at_completion_goes_behind_them(self):
        streams = {"A": (9, 0), "B": (2, 1)}
        served = units_served("two_visit", streams, win=3, requeue_at_completion=1)
        assert served == "A3 B2 A6"

    def test_without_windows_whole_streams_go_one_after_the_other(self):
        """Section 3.3: flow control disabled."""
        streams = {"A": (5, 0), "B": (2, 0), "C": (7, 1)}
        assert units_served("two_visit", streams) == "A5 B2 C7"
        assert units_served("fifo", streams) == "A5 B2 C7"

    def test_credit_that_has_not_come_by_the_second_visit(self):
        """The stream leaves the list and goes on at the tail when its credit comes."""
        m = Machine("two_visit", initial_window=3, connection_window=100)
        for stream in (1, 3, 5):
            m.enqueue(stream, 5, 0)
        first = [m.next(10, 0) for _ in range(3)]
        assert first == [(1, 3), (3, 3), (5, 3)]
        assert m.next(10, 0) == (BLOCKED, 0)
        m.credit(3, 9, 0)
        m.credit(1, 9, 0)
        assert [m.next(10, 0), m.next(10, 0)] == [(3, 2), (1, 2)]


class TestProcessorSharing:
    @staticmethod
    def fluid_ends(plans, payload_bps):
        """Egalitarian sharing solved from event to event."""
        left = {}
        arrivals = sorted(plans, key=lambda p: p.ready_ns)
        now, ends = 0.0, {}
        while arrivals or left:
            if not left:
                now = max(now, arrivals[0].ready_ns)
            while arrivals and arrivals[0].ready_ns <= now:
                plan = arrivals.pop(0)
                left[plan.stream] = float(plan.size_bytes)
            each = payload_bps / 8e9 / len(left)
            step = min(left.values()) / each
            if arrivals:
                step = min(step, arrivals[0].ready_ns - now)
            now += step
            for stream in list(left):
                left[stream] -= each * step
                if left[stream] < 1e-6:
                    del left[stream]
                    ends[stream] = now
        return ends

    @settings(max_examples=60, deadline=None)
    @given(
        drawn=st.lists(
            st.tuples(st.integers(1, 60), st.integers(0, 30_000_000)), min_size=1, max_size=7
        ),
        common_start=st.booleans(),
    )
    def test_within_one_grain_a_stream_of_the_fluid(self, drawn, common_start):
        grain, rate = 4096, 100e6
        plans = [
            StreamPlan(stream=2 * i + 1, size_bytes=n * grain, ready_ns=0 if common_start else at)
            for i, (n, at) in enumerate(drawn)
        ]
        schedule = predict(
            plans,
            SenderModel(discipline="processor_sharing"),
            LinkModel(rate_bps=rate, past_bytes=0),
        )
        grain_ns = (grain + HEADER) * 8e9 / rate
        ends = self.fluid_ends(plans, rate * grain / (grain + HEADER))
        for stream, end in schedule.end_ns.items():
            assert abs(end - ends[stream]) <= (len(plans) + 1) * grain_ns

    def test_common_start_in_closed_form(self):
        """The k-th smallest of n ends when all have sent what it has: sum of min(size, own)."""
        sizes = [400_000, 100_000, 1_600_000, 50_000, 800_000]
        rate, grain = 100e6, 1000
        schedule = predict(
            [StreamPlan(stream=2 * i + 1, size_bytes=n) for i, n in enumerate(sizes)],
            SenderModel(discipline="processor_sharing", options={"grain": grain}),
            LinkModel(rate_bps=rate),
        )
        grain_ns = (grain + HEADER) * 8e9 / rate
        for i, own in enumerate(sizes):
            expected = sum(min(n, own) for n in sizes) / grain * grain_ns
            assert abs(schedule.end_ns[2 * i + 1] - expected) <= len(sizes) * grain_ns


class TestWindows:
    """A window below bandwidth times delay rules the throughput: W / (W/rate + the pause)."""

    LINK = LinkModel(
        rate_bps=100e6, delay_ns=2_000_000, credit_latency_ns=3_000_000, past_bytes=10**7
    )

    def sent(self, size, link=LINK, **receiver):
        """The schedule of a message of this size."""
        account = ReceiverModel(**receiver) if receiver else None
        plans = [StreamPlan(stream=1, size_bytes=size)]
        return predict(plans, SenderModel(discipline="fifo"), link, account)

    @settings(max_examples=50, deadline=None)
    @given(window=st.integers(1000, 400_000), rounds=st.integers(1, 20))
    def test_fixed_credit_in_closed_form(self, window, rounds):
        link = self.LINK
        schedule = self.sent(window * rounds, window_bytes=window, credit="fixed")
        frames = -(-window // 16384)
        burst_ns = (window + frames * HEADER) * 8e9 / link.rate_bps
        pause_ns = link.delay_ns + link.credit_latency_ns
        expected = rounds * burst_ns + (rounds - 1) * pause_ns + link.delay_ns
        assert abs(schedule.end_ns[1] - expected) <= 1
        assert len(schedule.stalls) == rounds - 1
        assert all(abs(end - start - pause_ns) <= 1 for start, end in schedule.stalls)

    def test_half_credit_fills_the_link_once_half_a_window_covers_the_pause(self):
        link = self.LINK
        pause_bytes = link.rate_bps / 8e9 * (link.delay_ns + link.credit_latency_ns)
        window = round(2 * pause_bytes) + 4 * 16384
        ample = self.sent(3_000_000, window_bytes=window, credit="half")
        none = self.sent(3_000_000, replace(link, credit_latency_ns=0))
        assert ample.stalls == ()
        # A window that is no multiple of a frame cuts some frames in two.
        headers_ns = 2 * (3_000_000 // 16384) * HEADER * 8e9 / link.rate_bps
        assert 0 <= ample.end_ns[1] - none.end_ns[1] <= headers_ns
        scarce = self.sent(3_000_000, window_bytes=round(pause_bytes), credit="half")
        assert scarce.stalls != ()
        assert scarce.end_ns[1] > 1.2 * none.end_ns[1]

    def test_an_acknowledgement_window_rules_in_the_same_way(self):
        """`past_bytes` without room for a round trip: one frame each way there and back."""
        frame_ns = (16384 + HEADER) * 8e9 / 100e6
        link = LinkModel(rate_bps=100e6, delay_ns=2_000_000, past_bytes=16384 + HEADER)
        schedule = self.sent(10 * 16384, link)
        expected = 10 * frame_ns + 9 * 2 * 2_000_000 + 2_000_000
        assert abs(schedule.end_ns[1] - expected) <= 1


class TestWriteCycleTarget:
    """C-core's write_size_policy: 128 KiB at first, times 1.5 after two fast writes, a third ..."""

    @staticmethod
    def machine(initial_window=2**40, **options):
        return Machine(
            "write_cycle", options=options, initial_window=initial_window, connection_window=2**40
        )

    def targets(self, rate_bps, size=400_000_000, **options):
        """The target after every write of an endless stream whose bytes leave at `rate_bps`."""
        m = self.machine(**options)
        m.enqueue(1, size, 0)
        now, seen = 0.0, [m.state.shared[TARGET]]
        for _ in range(100_000):
            stream, piece = m.next(16384, round(now))
            if stream == BLOCKED:
                break
            now += (piece + HEADER) * 8e9 / rate_bps
            m.sent(stream, piece, round(now))
            if m.state.shared[TARGET] != seen[-1]:
                seen.append(m.state.shared[TARGET])
        return seen

    def test_settles_at_one_and_a_half_megabytes_at_100_mbit(self):
        grown = [131072, 196608, 294912, 442368, 663552, 995328, 1492992]
        assert self.targets(100e6, size=40_000_000) == grown
        assert 995328 * 8 / 100e6 < 0.1 < 1492992 * 8 / 100e6

    def test_grows_up_to_16_mib(self):
        seen = self.targets(100e9)
        assert seen[-1] == 16 * 2**20
        assert all(b == min(a * 3 // 2, 16 * 2**20) for a, b in pairwise(seen))

    def test_slow_writes_divide_by_three_down_to_32_kib(self):
        assert self.targets(1e6, size=3_000_000) == [131072, 43690]
        assert self.targets(0.1e6, size=3_000_000) == [131072, 43690, 32768]

    def test_a_small_write_is_no_evidence_and_ends_a_fast_streak(self):
        m = self.machine()

        def write(stream, size):
            m.enqueue(stream, size, 0)
            while not m.done(stream):
                m.sent(*m.next(2**20, 0), 0)

        full = 131072 - 8 * HEADER
        write(1, full)
        write(3, 50_000)
        write(5, full)
        assert m.state.shared[TARGET] == 131072
        write(7, full)
        assert m.state.shared[TARGET] == 196608

    @pytest.mark.parametrize(("wire_bytes", "target"), [(700, 1500), (699, 1000)])
    def test_evidence_begins_at_seven_tenths_headers_included(self, wire_bytes, target):
        m = self.machine(target=1000)
        for stream in (1, 3):
            m.enqueue(stream, wire_bytes - HEADER, 0)
            m.sent(*m.next(2**20, 0), 0)
        assert m.state.shared[TARGET] == target

    def test_a_write_that_a_cancel_ended_is_no_evidence(self):
        m = self.machine(target=1000, target_min=100)
        later = 2 * 10**9
        for stream in (1, 5, 9):
            m.enqueue(stream, 900, 0)
            m.sent(*m.next(100, 0), 0)
            m.cancel(stream, 0)
            m.enqueue(stream + 2, 50, later)
            m.sent(*m.next(100, later), later)
        assert m.state.shared[TARGET] == 1000

    def test_a_write_holds_the_target_with_its_frame_headers(self):
        m = self.machine()
        m.enqueue(1, 10**6, 0)
        m.enqueue(3, 10**6, 0)
        stream, size = m.next(2**30, 0)
        frames = -(-size // load("write_cycle").OPTIONS["frame"])
        assert stream == 1
        assert 131072 <= size + frames * HEADER <= 131072 + HEADER

    def test_a_stream_without_credit_keeps_its_place_if_credit_comes_before_its_turn(self):
        """It goes to the tail like every unfinished one, and stalls only when it is the head."""
        m = self.machine(initial_window=600, target=1000, frame=1000)
        for stream in (1, 3, 5):
            m.enqueue(stream, 900, 0)
        first, second = m.next(2000, 0), m.next(2000, 0)
        assert (first, second) == ((1, 600), (3, 391))
        m.credit(5, 2000, 0)
        m.credit(1, 2000, 0)
        m.credit(3, 2000, 0)
        m.sent(*first, 0)
        assert m.next(2000, 0) == (BLOCKED, 0), "the write is not yet with the kernel"
        m.sent(*second, 0)
        order = []
        while (decided := m.next(2000, 0))[0] != BLOCKED:
            order.append(decided[0])
            m.sent(*decided, 0)
        assert order == [5, 1, 3, 1]

    @pytest.mark.parametrize(("finish_first", "order"), [(0, [1, 3, 1, 3]), (1, [1, 1, 3, 3])])
    def test_finish_first_gives_whole_streams(self, finish_first, order):
        m = self.machine(target=1000, finish_first=finish_first)
        m.enqueue(1, 1900, 0)
        m.enqueue(3, 1900, 0)
        served = []
        while (decided := m.next(2000, 0))[0] != BLOCKED:
            served.append(decided[0])
            m.sent(*decided, 0)
        assert served[:4] == order
