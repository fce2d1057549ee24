"""HTTP/2 in the byte stream: what is read, and what ends the reading."""

import struct

import pytest

from emu.capture import analyse_capture

from . import talks, wire

SETTINGS = b"\0\0\0\4\0\0\0\0\0"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    length = struct.pack("!I", len(payload))[1:]
    return length + struct.pack("!BBI", kind, flags, stream) + payload


HEADERS = frame(1, 4, 1, b"\x88")


def analyse(tmp_path, server=b"", client=None, *, sizes=(1448,), close=True):
    """Capture of a client with one request, and a server that says these bytes."""
    talk = wire.Talk().handshake()
    if client is None:
        client = talks.burst([]).messages[0][1] + frame(1, 5, 1, b"\x84\x86\x83") * 1
    talk.say("client", client).say("server", server, sizes)
    if close:
        talk.close()
    return analyse_capture(wire.write(tmp_path / "a.pcap", talk.packets))


def server_problems(report):
    (connection,) = report.connections
    return [p.removeprefix("to client: ") for p in connection.problems if p.startswith("to client")]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (frame(0, 0, 0, b"xyz"), "DATA on stream 0"),
        (frame(0, 0, 3, b"xyz"), "DATA on stream 3 without HEADERS"),
        (frame(0, 1, 1, b"") + frame(0, 0, 1, b"x"), "DATA on stream 1 after its end"),
        (frame(0, 1, 1) + HEADERS, "HEADERS on stream 1 after its end"),
        (frame(6, 0, 0, b"short"), "PING of 5 bytes"),
        (frame(6, 0, 1, bytes(8)), "PING on stream 1"),
        (frame(8, 0, 1, bytes(5)), "WINDOW_UPDATE of 5 bytes"),
        (frame(3, 0, 1, bytes(5)), "RST_STREAM of 5 bytes"),
        (frame(4, 0, 0, bytes(7)), "SETTINGS of 7 bytes"),
        (frame(4, 1, 0, bytes(6)), "SETTINGS of 6 bytes"),
        (frame(7, 0, 0, bytes(7)), "GOAWAY of 7 bytes"),
        (frame(9, 4, 1), "CONTINUATION without a header block"),
        (frame(1, 0, 5) + frame(0, 0, 1, b"x"), "a header block of stream 5 is not continued"),
        (frame(1, 0, 5) + frame(9, 0, 7), "a header block of stream 5 is not continued"),
        (frame(0, 8, 1, b"\x05abc"), "more padding than payload"),
        (frame(0, 8, 1), "more padding than payload"),
        (frame(0, 0, 1, bytes(16385)), "a frame of 16385 bytes, the peer allows 16384"),
    ],
)
def test_a_broken_rule_ends_the_walk(tmp_path, data, problem):
    good = SETTINGS + HEADERS + frame(0, 0, 1, b"good")
    report = analyse(tmp_path, good + data + frame(0, 0, 1, bytes(100)))
    (found,) = server_problems(report)
    assert found.startswith("broken at byte ")
    assert problem in found
    assert report.connections[0].streams[0].server.data_bytes == 4
    assert not report.connections[0].complete


def test_a_frame_cut_off_counts_as_far_as_it_was_seen(tmp_path):
    data = SETTINGS + HEADERS + frame(0, 1, 1, bytes(5000))
    report = analyse(tmp_path, data[:-2000], close=False)
    assert server_problems(report) == ["ends in a frame at byte 19: 3000 of 5000 bytes"]
    half = report.connections[0].streams[0].server
    assert (half.data_bytes, half.ended_ns) == (3000, None)


def test_a_frame_header_cut_off_is_reported(tmp_path):
    report = analyse(tmp_path, SETTINGS + HEADERS + b"\0\0\5", close=False)
    assert server_problems(report) == ["ends in the header of a frame at byte 19"]


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        (b"\x16\x03\x01\x02\x00\x01" + bytes(200), "TLS: can't be read"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1, not HTTP/2 with prior knowledge"),
        (b"SSH-2.0-OpenSSH\r\n" + bytes(20), "not HTTP/2: starts with 5353482d322e302d"),
    ],
)
def test_other_protocols_are_named(tmp_path, client, problem):
    report = analyse(tmp_path, client=client)
    assert report.connections[0].problems == (f"to server: {problem}",)
    assert report.connections[0].streams == ()


@pytest.mark.parametrize("announced", ["AAQAAYag", "", "AAM", "AAQAAYagA"])
@pytest.mark.parametrize("before", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"])
def test_a_connection_that_was_upgraded_is_read(tmp_path, announced, before):
    """The request is stream 1; what it announces (100,000 bytes) counts before any SETTINGS."""
    asked = (
        b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"http2-settings: " + announced.encode() + b"\r\n\r\n"
    )
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n"
    body = b"".join(frame(0, int(n == 3), 1, bytes(16000)) for n in range(4))
    talk = wire.Talk().handshake()
    if before:
        talk.say("client", b"POST /b HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").say(
            "server", before
        )
    talk.say("client", asked).say("server", switched + SETTINGS + HEADERS + body)
    talk.say("client", PREFACE + frame(4, 0, 0, struct.pack("!HI", 4, 70_000)))
    report = analyse_capture(wire.write(tmp_path / "a", talk.close().packets))
    assert report.problems == ()
    (connection,) = report.connections
    (stream,) = connection.streams
    assert (stream.stream, stream.server.data_bytes) == (1, 64_000)
    window = 100_000 if announced == "AAQAAYag" else 65_535
    assert connection.to_client.credit.stream_left[-1] == window - 64_000
    granted = connection.to_server.grants.amount.tolist()
    assert granted == [*([window - 65_535] if window > 65_535 else []), 70_000 - window]


def test_a_request_for_an_upgrade_that_was_not_granted_is_http_1(tmp_path):
    asked = b"GET /a HTTP/1.1\r\nUpgrade: h2c\r\n\r\n"
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + bytes(100)
    report = analyse(tmp_path, server=answer, client=asked)
    assert report.connections[0].streams == ()
    assert "to server: HTTP/1, not HTTP/2 with prior knowledge" in report.problems[0]


def test_unknown_frame_types_are_passed_over(tmp_path):
    report = analyse(
        tmp_path, SETTINGS + HEADERS + frame(200, 3, 0, bytes(9)) + frame(0, 1, 1, b"x")
    )
    assert report.problems == ()
    assert report.connections[0].streams[0].server.data_bytes == 1


def test_padding_is_no_data_but_counts_for_flow_control(tmp_path):
    data = SETTINGS + HEADERS + frame(0, 9, 1, b"\x07" + bytes(20) + bytes(7))
    report = analyse(tmp_path, data, sizes=(5,))
    half = report.connections[0].streams[0].server
    assert (half.data_bytes, half.flow_bytes) == (20, 28)
    assert report.connections[0].to_client.credit.connection_left[-1] == 65535 - 28


def test_long_paths_over_continuation_frames_with_padding_and_priority(tmp_path):
    import hpack

    encoder = hpack.Encoder()
    fields = [(":method", "GET"), (":path", "/one/" + "y" * 40000), (":scheme", "http")]
    block = encoder.encode(fields, huffman=False)
    first = b"\x04" + bytes(5) + block[:9000] + bytes(4)  # pad length, priority, pad
    client = talks.burst([]).messages[0][1] + frame(1, 0x29, 1, first)
    client += frame(9, 0, 1, block[9000:25000]) + frame(9, 4, 1, block[25000:])
    client += frame(1, 5, 3, encoder.encode([(":path", "/two")]))
    report = analyse(tmp_path, SETTINGS, client)
    assert report.problems == ()
    assert [s.path for s in report.connections[0].streams] == [fields[1][1], "/two"]


def test_paths_stop_where_headers_can_not_be_decoded(tmp_path):
    client = talks.burst([]).messages[0][1]
    client += frame(1, 5, 1, b"\xff\xff\xff\xff\xff\x7f") + frame(1, 5, 3, b"\x84")
    report = analyse(tmp_path, SETTINGS, client)
    assert [s.path for s in report.connections[0].streams] == [None, None]
    assert "headers of stream 1 can't be decoded" in report.problems[0]


def test_control_frames(tmp_path):
    import h2.errors

    pair = talks.Pair()
    pair.ask(1, "/a")
    pair.head(1)
    pair.server.ping(b"12345678")
    pair.flush()
    pair.client.ping(b"87654321")
    pair.flush()
    pair.server.reset_stream(1, h2.errors.ErrorCodes.CANCEL)
    pair.server.close_connection()
    pair.flush()
    talk = wire.Talk().handshake()
    for who, data in pair.truth.messages:
        talk.say(who, data)
    report = analyse_capture(wire.write(tmp_path / "a.pcap", talk.close().packets))
    (connection,) = report.connections
    assert report.problems == ()
    for direction in (connection.to_client, connection.to_server):
        assert (direction.pings_ns.size, direction.ping_acks_ns.size) == (1, 1)
    assert connection.streams[0].server.reset_code == 8
    assert connection.streams[0].client.reset_code is None
    assert {(s.number, s.value) for s in connection.to_server.settings} >= {(4, 65535), (5, 16384)}


def test_who_goes_beyond_all_credit_may_also_send_larger_frames(tmp_path):
    """As gRPC did with its flow control disabled; a single large frame is still a broken rule."""
    large = frame(0, 0, 1, bytes(1 << 20))
    report = analyse(tmp_path, SETTINGS + HEADERS + large + frame(0, 1, 1, bytes(100)))
    assert server_problems(report) == []
    half = report.connections[0].streams[0].server
    assert (half.data_bytes, half.ended_ns is not None) == ((1 << 20) + 100, True)
    # Where a capture ends in the midst of a later frame, what came before is read alike.
    cut = analyse(tmp_path, SETTINGS + HEADERS + large + frame(0, 1, 1, bytes(1 << 20))[:5000])
    at = len(SETTINGS + HEADERS + large)
    assert server_problems(cut) == [f"ends in a frame at byte {at}: 4991 of 1048576 bytes"]
    assert cut.connections[0].streams[0].server.data_bytes == (1 << 20) + 4991
