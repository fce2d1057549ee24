"""Connections whose beginning was not captured: frames are found, or nothing is invented."""

import random

import pytest

from emu.capture import Cause, analyse_capture

from . import talks, wire
from .test_frames import frame
from .test_reassembly import packets_of
from .test_windows import MS, Scene, data, update

QUIET = 10**12


def talk(client=("10.0.0.1", 61000)):
    """A burst of three; the sides can be guessed by their ports if no header tells."""
    how = {"window": 2**31 - 1, "connection_window": 2**31 - 1}
    return packets_of(talks.burst((90_000, 40_000, 70_000), **how), client=client)


@pytest.mark.parametrize("cut", [12, 30, 57, 90])
def test_what_comes_after_the_cut_is_what_was_sent(tmp_path, cut):
    """Every visit read from the middle is the end of the whole capture's list of visits."""
    packets = talk()
    whole = analyse_capture(wire.write(tmp_path / "whole", packets), gap_ns=QUIET)
    part = analyse_capture(wire.write(tmp_path / "part", packets[cut:]), gap_ns=QUIET, search=True)
    (connection,) = part.connections
    assert not connection.complete
    assert any("captured from its middle" in p for p in connection.problems)
    visits = connection.to_client.intervals
    known = whole.connections[0].to_client.intervals
    count = visits.stream.size
    assert count > 1
    assert visits.stream.tolist() == known.stream[-count:].tolist()
    # The first visit may have lost its beginning, the others are whole.
    assert visits.size_bytes[1:].tolist() == known.size_bytes[-count + 1 :].tolist()
    assert visits.size_bytes[0] <= known.size_bytes[-count]
    assert connection.to_client.credit.time_ns.size == 0
    assert not connection.to_client.credit_known
    assert all(stream.path is None for stream in connection.streams)


def test_headers_tell_the_sides_better_than_ports(tmp_path):
    """Whoever says `:status` is the server, whatever its port."""
    truth = talks.burst((90_000, 40_000), window=2**31 - 1, connection_window=2**31 - 1)
    packets = packets_of(truth, client=wire.CLIENT, server=wire.SERVER)
    (first,) = [i for i, p in enumerate(packets) if p.payload[9:10] == b"\x88"][:1]
    path = wire.write(tmp_path / "a", packets[first:])
    (connection,) = analyse_capture(path, search=True).connections
    assert connection.server == wire.SERVER
    assert connection.to_client.frames.stream.size > 1


def upload(kind, size=40_000):
    """Two calls, of which the first has begun; indexed header fields hide whose blocks they are."""
    request, answer = (b"\xc1", b"\xbf") if kind == "indexed" else (b"\x83\x86", b"\x88\xbf")
    body = frame(0, 0, 7, bytes(16_000)) * 2
    talk = wire.Talk().handshake()
    talk.say("server", body + frame(0, 0, 5, b"abc") + frame(1, 5, 5, b"\xc2"))  # trailers
    talk.say("client", frame(1, 5, 9, request) + frame(6, 1, 0, bytes(8)) * 4)
    talk.say("server", frame(1, 4, 9, answer) + frame(0, 1, 9, bytes(size)))
    talk.say("server", frame(0, 0, 7, bytes(16_000)))
    return talk.packets[3:]


@pytest.mark.parametrize("kind", ["indexed", "static"])
def test_the_client_is_who_asks_for_streams_whatever_the_ports(tmp_path, kind):
    """Trailers of a call that had begun before come first, and the client has the lower port."""
    report = analyse_capture(wire.write(tmp_path / "a", upload(kind)), search=True)
    (connection,) = report.connections
    assert (connection.client, connection.server) == (wire.CLIENT, wire.SERVER)
    assert {s.stream: s.server.data_bytes for s in connection.streams} == {5: 3, 7: 48000, 9: 40000}


def test_who_the_client_is_is_called_a_guess_without_headers(tmp_path):
    talk = wire.Talk().handshake().say("server", frame(0, 0, 7, bytes(16_000)) * 5)
    report = analyse_capture(wire.write(tmp_path / "a", talk.packets[3:]), search=True)
    assert any("no HEADERS show which side is the client" in each for each in report.problems)


@pytest.mark.parametrize("size", [600_000, 3_000_000])
def test_frames_of_any_size_are_found(tmp_path, size):
    """The capture begins within one; four headers in a row are megabytes."""
    talk = wire.Talk(("10.0.0.1", 61000)).handshake()
    for number in range(6):
        talk.say("server", frame(0, 0, 1 + 2 * (number % 2), b"x" * size))
    path = wire.write(tmp_path / "a", talk.packets[100:], snap=1500)
    (connection,) = analyse_capture(path, search=True).connections
    assert connection.to_client.frames.size_bytes.tolist() == [size] * 5
    assert connection.to_client.frames.stream.tolist() == [3, 1, 3, 1, 3]


def test_it_is_not_done_unasked(tmp_path):
    report = analyse_capture(wire.write(tmp_path / "a", talk()[30:]))
    assert report.connections[0].streams == ()


@pytest.mark.parametrize("seed", range(20))
def test_noise_holds_no_frames(tmp_path, seed):
    rng = random.Random(seed)
    noise = wire.Talk().handshake()
    noise.say("client", rng.randbytes(40_000)).say("server", rng.randbytes(200_000))
    report = analyse_capture(wire.write(tmp_path / "a", noise.packets[3:]), search=True)
    assert report.connections[0].streams == ()
    assert not report.connections[0].complete


def test_zeros_hold_no_frames(tmp_path):
    zeros = wire.Talk().handshake().say("client", bytes(9000)).say("server", bytes(90_000))
    report = analyse_capture(wire.write(tmp_path / "a", zeros.packets[3:]), search=True)
    assert report.connections[0].streams == ()


def test_tls_from_the_middle_is_called_tls(tmp_path):
    tls = wire.Talk().handshake()
    tls.say("client", b"\x17\x03\x03\x01\x00" + bytes(256)).say(
        "server", b"\x17\x03\x03\x40\x00" + bytes(16384)
    )
    report = analyse_capture(wire.write(tmp_path / "a", tls.packets[3:]), search=True)
    assert any("TLS" in problem for problem in report.problems)


def test_without_windows_no_idle_time_is_called_a_stall(tmp_path):
    scene = Scene(1, window=30_000)
    scene.down(data(1, 15_000)).down(data(1, 15_000)).wait(30 * MS)
    scene.up(update(1, 1000)).down(data(1, 500)).down(data(1, 400)).down(data(1, 100, end=True))
    packets = scene.talk.packets
    whole = analyse_capture(wire.write(tmp_path / "whole", packets))
    assert [gap.cause for gap in whole.connections[0].to_client.gaps] == [Cause.STREAM_CREDIT]
    part = analyse_capture(wire.write(tmp_path / "part", packets[4:]), search=True)
    assert [gap.cause for gap in part.connections[0].to_client.gaps] == [Cause.UNEXPLAINED]


def test_the_usual_gap_follows_the_connections_own_pace(tmp_path):
    """At a packet a millisecond, ten milliseconds are no gap; fifty are."""
    scene = Scene(1, window=2**31 - 1)
    for pause_ms in (0, 10, 50):
        scene.wait(pause_ms * MS)
        for _ in range(30):
            scene.wait(1 * MS).down(data(1, 1000))
    scene.down(data(1, 1, end=True))
    path = wire.write(tmp_path / "a", scene.talk.packets)
    for gap_ns, gaps in ((2 * MS, 2), (None, 1)):
        report = analyse_capture(path, gap_ns=gap_ns)
        assert len(report.connections[0].to_client.gaps) == gaps
