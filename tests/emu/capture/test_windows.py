"""Credit, stalls and gaps, on conversations whose every time is known."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.capture import Cause, analyse_capture, gaps_between

from . import naive, talks, wire
from .test_frames import frame

MS = 1_000_000
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def settings_frame(**values):
    numbers = {"window": 4, "frame": 5}
    payload = b"".join(struct.pack("!HI", numbers[k], v) for k, v in values.items())
    return frame(4, 0, 0, payload)


def update(stream, amount):
    return frame(8, 0, stream, struct.pack("!I", amount))


def data(stream, size, *, end=False):
    return frame(0, int(end), stream, bytes(size))


class Scene:
    """A client that asked for streams 1, 3, ... and a server that answered with HEADERS."""

    def __init__(self, streams=2, *, round_trip_ns=1 * MS, **options):
        self.talk = wire.Talk().handshake(round_trip_ns)
        requests = b"".join(frame(1, 5, 2 * n + 1, b"\x84") for n in range(streams))
        self.up(PREFACE + settings_frame(**options) + requests).wait(round_trip_ns)
        self.down(
            frame(4, 0, 0) + b"".join(frame(1, 4, 2 * n + 1, b"\x88") for n in range(streams))
        )

    @property
    def now(self):
        return self.talk.now

    def up(self, content):
        self.talk.say("client", content, (1 << 16,))
        return self

    def down(self, content):
        self.talk.say("server", content, (1400,))
        return self

    def wait(self, ns):
        self.talk.pause(ns)
        return self

    def read(self, tmp_path, **how):
        path = wire.write(tmp_path / "a.pcap", self.talk.close().packets)
        report = analyse_capture(path, **how)
        self.problems = report.problems
        return report.connections[0]


def gaps_of(connection):
    return [(g.start_ns, g.end_ns, str(g.cause), g.streams) for g in connection.to_client.gaps]


def test_idle_without_stream_credit_is_a_stall(tmp_path):
    scene = Scene(window=10_000).down(data(1, 10_000) + data(3, 10_000))
    begin = scene.now
    scene.wait(30 * MS).up(update(1, 20_000)).wait(1 * MS).down(data(1, 5_000, end=True))
    resumed = scene.now - 3 * 1000
    scene.up(update(3, 1)).wait(1 * MS).down(data(3, 1, end=True))
    connection = scene.read(tmp_path)
    assert scene.problems == ()
    assert gaps_of(connection) == [(begin, resumed, "stream credit", (1, 3))]
    assert connection.to_client.stalls == connection.to_client.gaps
    # Both used up their credit; stream 3 ended with the one byte more that it was given.
    assert [s.server.credit_stops for s in connection.streams] == [1, 1]
    assert [s.server.visits for s in connection.streams] == [2, 2]


def test_idle_without_connection_credit_is_a_stall(tmp_path):
    scene = Scene(window=200_000)
    scene.down(data(1, 16_384) + data(1, 16_384) + data(3, 16_384) + data(3, 16_383))
    begin = scene.now
    scene.wait(10 * MS).up(update(0, 50_000)).wait(1 * MS).down(data(1, 9, end=True) + data(3, 8))
    connection = scene.read(tmp_path)
    (gap,) = connection.to_client.gaps
    assert (gap.start_ns, gap.cause, gap.streams) == (begin, Cause.CONNECTION_CREDIT, (1, 3))
    assert [s.server.credit_stops for s in connection.streams] == [0, 0]
    assert connection.to_client.credit.connection_left[-1] == 50_000 - 17


def test_idle_with_credit_is_unexplained(tmp_path):
    scene = Scene().down(data(1, 5_000))
    begin = scene.now
    scene.wait(10 * MS).down(data(1, 5_000, end=True))
    connection = scene.read(tmp_path)
    assert gaps_of(connection) == [(begin, begin + 10 * MS + 1000, "unexplained", (1,))]
    assert connection.to_client.unexplained_gaps == connection.to_client.gaps
    assert connection.to_client.stalls == ()
    assert len(gaps_between(connection.to_client.gaps, begin + 1, begin + 2)) == 1
    assert gaps_between(connection.to_client.gaps, 0, begin) == ()


def test_idle_with_nothing_to_send_is_no_gap(tmp_path):
    scene = Scene(1).down(data(1, 5_000, end=True)).wait(50 * MS)
    scene.up(frame(1, 5, 3, b"\x84")).wait(50 * MS).down(frame(1, 4, 3, b"\x88") + data(3, 9))
    connection = scene.read(tmp_path)
    assert connection.to_client.gaps == ()
    assert [s.server.visits for s in connection.streams] == [1, 1]


def test_idle_from_the_answers_headers_on_is_a_gap(tmp_path):
    """Nothing to send at first; then HEADERS, and the data 9 ms later."""
    scene = Scene(1).down(data(1, 5_000, end=True)).wait(50 * MS)
    scene.up(frame(1, 5, 3, b"\x84")).down(frame(1, 4, 3, b"\x88"))
    begin = scene.now
    scene.wait(9 * MS).down(data(3, 9))
    assert gaps_of(scene.read(tmp_path)) == [(begin, begin + 9 * MS + 1000, "unexplained", (3,))]


def test_one_stream_with_credit_makes_it_unexplained(tmp_path):
    scene = Scene(window=10_000).down(data(1, 10_000) + data(3, 9_999)).wait(10 * MS)
    scene.up(update(1, 1)).down(data(3, 1, end=True) + data(1, 1, end=True))
    (gap,) = scene.read(tmp_path).to_client.gaps
    assert gap.cause is Cause.UNEXPLAINED


def test_idle_in_the_middle_of_a_frame_is_unexplained(tmp_path):
    """The frame's credit was taken when it began, so missing credit is no excuse."""
    scene = Scene(1, window=10_000)
    body = data(1, 10_000, end=True)
    scene.down(body[:5_000]).wait(10 * MS).down(body[5_000:])
    (gap,) = scene.read(tmp_path).to_client.gaps
    assert gap.cause is Cause.UNEXPLAINED


def test_a_stall_ends_a_round_trip_after_the_credit(tmp_path):
    """Credit left the receiver; the sender answers at once, or much later."""
    for late, causes in ((0, ["stream credit"]), (20 * MS, ["stream credit", "unexplained"])):
        scene = Scene(1, window=10_000, round_trip_ns=8 * MS).down(data(1, 10_000))
        begin = scene.now
        scene.wait(10 * MS).up(update(1, 5_000))
        granted = scene.now
        scene.wait(8 * MS + late).down(data(1, 50, end=True))
        connection = scene.read(tmp_path)
        found = gaps_of(connection)
        assert [cause for _, _, cause, _ in found] == causes
        assert found[0][0] == begin
        assert connection.to_client.round_trip_ns == 8 * MS
        if late:
            assert found[0][1] == found[1][0] == granted + 8 * MS
            assert found[1][1] == scene.now - 3000


def test_settings_move_all_windows(tmp_path):
    scene = Scene(window=10_000).down(data(1, 4_000))
    scene.up(settings_frame(window=15_000)).down(data(3, 15_000)).up(settings_frame(window=9_000))
    credit = scene.read(tmp_path).to_client.credit
    left = [
        (s, n) for s, n in zip(credit.stream.tolist(), credit.stream_left.tolist(), strict=True)
    ]
    assert left == [
        (1, 10_000), (3, 10_000), (1, 6_000), (1, 11_000), (3, 15_000), (3, 0), (1, 5_000),
        (3, -6_000),
    ]  # fmt: skip
    assert scene.problems == ()


def test_more_than_was_granted_is_reported(tmp_path):
    scene = Scene(window=10_000).down(data(1, 10_001))
    scene.read(tmp_path)
    assert scene.problems[0].endswith("to client: stream 1 sent 1 bytes more than was granted")


def test_larger_frames_need_leave(tmp_path):
    scene = Scene(window=60_000, frame=50_000).down(data(1, 50_000))
    connection = scene.read(tmp_path)
    assert scene.problems == ()
    assert connection.streams[0].server.data_bytes == 50_000
    assert connection.to_client.frames.size_bytes.tolist() == [50_000]


@pytest.mark.parametrize(("lag_ns", "stops"), [(0, 0), (50 * MS, 1)])
def test_a_stop_may_be_older_than_the_credit_that_came_meanwhile(tmp_path, lag_ns, stops):
    """Credit left while bytes of the exhausted stream were still on their way."""
    scene = Scene(window=10_000).up(update(1, 5_000)).wait(20 * MS)
    scene.down(data(1, 10_000) + data(3, 10, end=True)).wait(1000).down(data(1, 5_000, end=True))
    connection = scene.read(tmp_path, lag_ns=lag_ns)
    assert connection.streams[0].server.credit_stops == stops


@pytest.mark.parametrize(("second", "stops"), [(6_000, 1), (6_001, 0)])
def test_a_visit_may_have_been_framed_before_the_credit_that_came_in_its_midst(
    tmp_path, second, stops
):
    """The receiver grants at the first frame; the sender's visit was decided on by then."""
    scene = Scene(window=10_000).down(data(1, 4_000)).up(update(1, 50_000)).wait(300 * MS)
    scene.down(data(1, second) + data(3, 10, end=True)).wait(1000).down(data(1, 5_000, end=True))
    connection = scene.read(tmp_path, lag_ns=0)
    assert connection.streams[0].server.credit_stops == stops


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60_000), min_size=1, max_size=4),
    quantum=st.integers(500, 30_000),
    window=st.integers(1_000, 100_000),
    pad=st.sampled_from([None, 0, 30]),
)
def test_credit_is_that_of_the_naive_twin(tmp_path_factory, sizes, quantum, window, pad):
    truth = talks.burst(sizes, quantum=quantum, window=window, pad=pad)
    talk = wire.Talk().handshake()
    for who, content in truth.messages:
        talk.say(who, content)
    packets = talk.close().packets
    report = analyse_capture(wire.write(tmp_path_factory.mktemp("c") / "a.pcap", packets))
    assert report.problems == ()
    assert (report.connections[0].to_client.credit.connection_left >= 0).all()
    assert (report.connections[0].to_client.credit.stream_left >= 0).all()
    up = naive.frames(naive.reassemble(packets, wire.CLIENT).data, client=True)
    down = naive.frames(naive.reassemble(packets, wire.SERVER).data, client=False)
    given = sum(int.from_bytes(f[5]) for f in up if f[1] == 8 and f[3] == 0)
    taken = sum(f[4] for f in down if f[1] == 0)
    assert report.connections[0].to_client.credit.connection_left[-1] == 65_535 + given - taken


def test_microseconds_of_disorder_between_processors_are_no_problem(tmp_path):
    from dataclasses import replace

    scene = Scene(window=10_000).down(data(1, 10_000) + data(3, 10_000))
    packets = scene.talk.close().packets
    late = [replace(p, time_ns=p.time_ns - 1500 * (i % 3 == 2)) for i, p in enumerate(packets)]
    report = analyse_capture(wire.write(tmp_path / "a.pcap", late))
    assert report.problems == ()
    spans = report.connections[0].to_client.intervals
    assert (spans.end_ns >= spans.start_ns).all()
    stepped = [replace(p, time_ns=p.time_ns - 10**9 * (i == 9)) for i, p in enumerate(packets)]
    report = analyse_capture(wire.write(tmp_path / "b.pcap", stepped))
    assert "time stamps go backwards by up to 99999" in report.problems[0]


def test_a_stream_opened_later_never_had_the_older_window(tmp_path):
    """65,535 was every stream's window once, but not this one's."""
    scene = Scene(1, window=1 << 20)
    scene.up(update(0, 1 << 20)).wait(30 * MS)
    for size in (16384, 16384, 16384, 16383):
        scene.down(data(1, size))
    scene.down(data(1, 100, end=True))
    connection = scene.read(tmp_path)
    assert connection.streams[0].server.credit_stops == 0


@pytest.mark.oracle
def test_many_moves_of_many_windows_cost_no_more_than_their_frames(tmp_path):
    """A frame of 2,730 settings moves the windows once; and the last value counts."""
    rows = b"".join(struct.pack("!HI", 4, 50_000 + n) for n in range(2730))
    scene = Scene(40, window=50_000)
    for _ in range(20):
        scene.up(frame(4, 0, 0, rows))
    scene.wait(1 * MS)
    scene.down(data(1, 10_000, end=True))
    connection = scene.read(tmp_path)
    moves = connection.to_server.grants.amount[connection.to_server.grants.stream == -1]
    assert moves.tolist() == [50_000 - 65_535, 2729, *[0] * 19]
    assert connection.to_client.credit.stream_left[-1] == 52_729 - 10_000
