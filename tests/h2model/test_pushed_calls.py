"""Pushed calls: unread until accepted, read in turn where there is one thread; worked by hand."""

import pytest

from h2model.connection import Connection, LinkModel, ReceiverModel, SenderModel, StreamPlan
from h2model.events import ACCEPT, CALL, READ, WHOLE
from h2model.overhead import Acceptance, Linear, Overhead
from h2model.pushed_calls import Calls, Reader
from h2model.receiver import account_of

WINDOW = 65_536
MESSAGE = 200_000
RATE_BPS = 100e6
FRAME = 16_384
NS_PER_BYTE = 8e9 / RATE_BPS
MS = 1_000_000
READING = Overhead(
    first=Linear(alpha_ns_per_byte=1.0, beta_ns=300_000.0),
    later=Linear(alpha_ns_per_byte=0.5, beta_ns=100_000.0),
    stretch=2.0,
)


def receiver(**more):
    return ReceiverModel(
        window_bytes=WINDOW,
        connection_window_bytes=WINDOW,
        credit="grpc_progress",
        grpc=True,
        listens=True,
        **more,
    )


def wire_ns(size):
    frames = -(-size // FRAME)
    return (size + 9 * frames) * NS_PER_BYTE


def pushed(count=1, **more):
    sender = SenderModel(discipline="two_visit", options={"write": 1 << 20}, polled=True)
    link = LinkModel(rate_bps=RATE_BPS, past_bytes=1 << 20)
    connection = Connection(sender, receiver(**more), link)
    return connection.burst(
        [StreamPlan(stream=2 * i + 1, size_bytes=MESSAGE) for i in range(count)]
    )


@pytest.mark.parametrize("first_ns", [10 * MS, 25 * MS])
def test_an_unread_call_gets_its_initial_window_and_nothing_more(first_ns):
    """Its rest leaves when it is accepted, if by then the window is used up."""
    schedule = pushed(acceptance=Acceptance(first_ns=first_ns, later_ns=0))
    assert schedule.stalls == ((round(wire_ns(WINDOW)), first_ns),)
    assert schedule.end_ns[1] == pytest.approx(first_ns + wire_ns(MESSAGE - WINDOW), abs=2)


def test_a_call_that_is_read_while_the_window_lasts_is_not_held_up():
    schedule = pushed(acceptance=Acceptance(first_ns=MS, later_ns=0))
    assert schedule.stalls == ()
    assert schedule.end_ns[1] == pytest.approx(wire_ns(MESSAGE), abs=300)


def test_calls_are_accepted_side_by_side():
    """The second is read before its window is used up, and overtakes the first."""
    both = pushed(2, acceptance=Acceptance(first_ns=10 * MS, later_ns=2 * MS))
    assert both.order == (1, 3, 1)
    assert both.end_ns[3] == pytest.approx(wire_ns(WINDOW) + wire_ns(MESSAGE), abs=2)


def test_one_reader_leaves_the_second_call_unread_until_the_first_is_answered():
    """Both windows are out; what is left of the second waits for the first one's reply."""
    one = pushed(2, one_reader=True, overhead=READING)
    answered_ns = one.end_ns[1] + READING.first.ns(MESSAGE)
    assert one.stalls
    assert one.stalls[-1][1] == pytest.approx(answered_ns, abs=2)
    assert one.end_ns[3] > answered_ns


class TestReader:
    def test_only_a_bursts_first_call_finds_it_asleep(self):
        reader = Reader(receiver(acceptance=Acceptance(first_ns=7, later_ns=3)))
        for _ in range(2):
            reader.begin()
            assert [reader.called(stream) for stream in (1, 3, 5)] == [7, 3, 3]

    def test_one_reader_takes_calls_in_the_order_of_their_coming(self):
        reader = Reader(receiver(one_reader=True, acceptance=Acceptance(first_ns=7, later_ns=3)))
        reader.begin()
        assert [reader.called(stream) for stream in (5, 1, 3)] == [7, None, None]
        assert [reader.read(), reader.read(), reader.read()] == [1, 3, None]
        assert reader.called(7) == 3

    def test_a_message_is_read_when_it_is_there_and_accepted(self):
        reader = Reader(receiver())
        reader.begin()
        assert reader.accepted(1) is False
        assert reader.whole(1) is True
        assert reader.whole(3) is False
        assert reader.accepted(3) is True

    def test_reading_takes_what_was_calibrated(self):
        reader = Reader(receiver(overhead=READING))
        reader.begin()
        assert reader.takes_ns(1000, busy=False) == 301_000
        assert reader.takes_ns(1000, busy=True) == 602_000
        reader.begin()
        assert reader.takes_ns(1000, busy=False) == 100_500
        assert Reader(receiver()).takes_ns(1000, busy=False) is None


class TestCalls:
    """Calls at a receiver whose processors take no time, by the events that they bring about."""

    def test_those_of_one_instant_are_answered_one_by_one_before_the_next_is_accepted(self):
        told = self.told([(CALL, 3), (WHOLE, 1), (WHOLE, 3), (CALL, 5)], known=(1,))
        assert [kind for _, kind, _ in told] == [ACCEPT, READ, READ, ACCEPT]
        assert [stream for _, _, stream in told] == [3, 1, 3, 5]
        assert told[2][0] - told[1][0] == pytest.approx(1_030)
        assert told[3][0] > told[2][0]

    def test_without_an_answer_to_give_the_next_is_accepted_at_once(self):
        told = self.told([(CALL, 1), (CALL, 3)])
        assert [kind for _, kind, _ in told] == [ACCEPT, ACCEPT]
        assert told[1][0] < 1

    @staticmethod
    def told(events, known=()):
        """Acceptances and answers that these events of time zero bring about: time, kind, call."""
        line, told, current = [], [], []
        made = receiver(acceptance=Acceptance(first_ns=0, later_ns=0))
        reader = Reader(made)
        streams = (1, 3, 5)
        account = account_of(made, punctual=True)
        account.begin(streams)
        calls = Calls(
            account,
            reader,
            at=lambda time_ns, kind, stream=0, value=0: line.append((time_ns, kind, stream)),
            tell=lambda updates, now: told.append((now, *current)),
            messages=dict.fromkeys(streams, 100),
            least_ns=None,
            busy=lambda: True,
        )
        for stream in known:
            reader.called(stream)
            reader.accepted(stream)
        for kind, stream in events:
            calls.apply(0.0, kind, stream)
        while line:
            line.sort(key=lambda event: event[0])
            time_ns, *current[:] = line.pop(0)
            calls.apply(time_ns, *current)
        return told
