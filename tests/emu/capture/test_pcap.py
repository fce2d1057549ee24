"""Capture files of every kind, whole and cut."""

import gzip
import struct

import pytest

from emu.capture import analyse_capture
from emu.capture.pcap import read_records
from emu.capture.segments import read_segments
from netcosim.errors import CaptureError

from . import talks, wire


@pytest.fixture(scope="module")
def truth():
    return talks.burst([3000, 40000], quantum=5000)


@pytest.fixture(scope="module")
def packets(truth):
    talk = wire.Talk().handshake()
    for who, data in truth.messages:
        talk.say(who, data)
    return talk.close().packets


def served(report):
    (connection,) = report.connections
    spans = connection.to_client.intervals
    return list(zip(spans.stream.tolist(), spans.size_bytes.tolist(), strict=True))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [True, False])
def test_byte_orders_and_resolutions(tmp_path, packets, truth, order, nano):
    path = wire.write(tmp_path / "a.pcap", packets, order=order, nano=nano)
    report = analyse_capture(path)
    assert report.problems == ()
    assert served(report) == truth.order()
    assert report.connections[0].first_ns == packets[0].time_ns // 1000 * 1000


@pytest.mark.parametrize("link", [0, 1, 12, 101, 108, 113, 276])
@pytest.mark.parametrize("version", [4, 6])
def test_link_types(tmp_path, packets, truth, link, version):
    path = wire.write(tmp_path / "a.pcap", packets, link=link, version=version)
    report = analyse_capture(path)
    assert report.problems == ()
    assert served(report) == truth.order()
    address = {4: "10.0.0.1", 6: "fd00::a00:1"}[version]
    assert report.connections[0].client == (address, 40000)


@pytest.mark.parametrize("vlans", [1, 2])
def test_vlan_tags(tmp_path, packets, truth, vlans):
    report = analyse_capture(wire.write(tmp_path / "a.pcap", packets, vlans=vlans))
    assert served(report) == truth.order()


@pytest.mark.parametrize("version", [4, 6])
@pytest.mark.parametrize("outer", [(4,), (6,), (4, 6)])
def test_ip_within_ip_is_read_inside(tmp_path, packets, truth, version, outer):
    report = analyse_capture(wire.write(tmp_path / "a", packets, version=version, outer=outer))
    assert report.problems == ()
    assert served(report) == truth.order()


def test_what_there_is_in_place_of_tcp_is_named(tmp_path):
    udp = bytes(12) + b"\x08\x00" + b"\x45" + bytes(8) + b"\x11" + bytes(30)
    arp = bytes(12) + b"\x08\x06" + bytes(46)
    rows = (struct.pack("<4I", 10**9, 0, len(d), len(d)) + d for d in (udp, udp, arp))
    (tmp_path / "a").write_bytes(wire.pcap_bytes([]) + b"".join(rows))
    report = analyse_capture(tmp_path / "a")
    assert report.problems == ("3 packets, none of TCP: 2 of UDP, 1 of no IP that is read",)


def test_gzip_reads_the_same(tmp_path, packets, truth):
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(wire.pcap_bytes(packets)))
    report = analyse_capture(path)
    assert report.problems == ()
    assert served(report) == truth.order()


def test_gzip_cut_off_uses_what_is_there(tmp_path, packets):
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(wire.pcap_bytes(packets), 0)[:20000])
    report = analyse_capture(path)
    assert report.truncated
    assert "gzip file is cut off" in report.problems[0]
    assert 0 < report.packets < len(packets)
    path.write_bytes(b"\x1f\x8b\x08" + bytes(50))
    with pytest.raises(CaptureError, match="too short"):
        analyse_capture(path)


def test_gzip_of_two_parts_reads_as_one(tmp_path, packets, truth):
    whole = wire.pcap_bytes(packets)
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(whole[:9999]) + gzip.compress(whole[9999:]))
    assert served(analyse_capture(path)) == truth.order()


def test_pcapng_reads_the_same(tmp_path, packets, truth):
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcapng_bytes(packets))
    report = analyse_capture(path)
    assert report.problems == ()
    assert served(report) == truth.order()
    assert report.connections[0].first_ns == packets[0].time_ns
    path.write_bytes(pcapng_bytes(packets)[:-30])
    cut = analyse_capture(path)
    assert cut.truncated
    assert any("pcapng file is cut off" in problem for problem in cut.problems)
    assert cut.packets == len(packets) - 1


NANO, MICRO, BINARY = 9, 6, 0x80 | 30


@pytest.mark.parametrize("second", [NANO, MICRO, BINARY])
def test_sections_of_a_pcapng_file_have_clocks_of_their_own(tmp_path, packets, truth, second):
    """Byte orders, too; the second one's interface names a time from which its clock counts."""
    half = len(packets) // 2
    path = tmp_path / "a.pcapng"
    path.write_bytes(
        pcapng_bytes(packets[:half], resolution=MICRO, order=">")
        + pcapng_bytes(packets[half:], resolution=second, zero_s=10**9)
    )
    report = analyse_capture(path)
    assert report.problems == ()
    assert report.packets == len(packets)
    assert served(report) == truth.order()
    apart_ns = [
        abs(a - p.time_ns) for a, p in zip(read_records(path).time_ns, packets, strict=True)
    ]
    assert max(apart_ns) < 1000


def test_what_is_left_out_of_a_pcapng_file_is_told(tmp_path, packets):
    """Packets of another link type, of an interface that is not there, and without a time."""
    other = pcapng_bytes(packets[:2], link=101) + pcapng_bytes(packets[:3])[28 + 32 :]
    simple = block(3, struct.pack("<I", 4) + b"abcd")
    no_interface = pcapng_bytes([])[:28] + pcapng_bytes(packets[:1])[28 + 32 :]
    path = tmp_path / "a.pcapng"
    path.write_bytes(pcapng_bytes(packets) + other + simple + no_interface)
    report = analyse_capture(path)
    assert report.packets == len(packets)
    assert report.problems == (
        f"7 of {len(packets) + 7} pcapng packet blocks are left out:"
        " 5 of another link type, 1 without a time, 1 damaged",
    )


def block(kind, body, order="<"):
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def pcapng_bytes(packets, *, resolution=NANO, order="<", zero_s=0, link=1) -> bytes:
    """A section with one interface."""
    ticks = 1 << (resolution & 0x7F) if resolution & 0x80 else 10**resolution
    options = struct.pack(order + "HHBxxx", 9, 1, resolution)
    if zero_s:
        options += struct.pack(order + "HHq", 14, 8, zero_s)
    out = [
        block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1), order),
        block(1, struct.pack(order + "HHI", link, 0, 0) + options + bytes(4), order),
    ]
    for packet in packets:
        data = wire.frame_of(packet, link)
        time = (packet.time_ns - zero_s * 10**9) * ticks // 10**9
        words = (0, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
        out.append(block(6, struct.pack(order + "5I", *words) + data, order))
    return b"".join(out)


def test_cut_in_a_record_uses_the_rest(tmp_path, packets):
    whole = wire.pcap_bytes(packets)
    for size in (len(whole) - 1, len(whole) - 61, len(whole) - 70):
        (tmp_path / "a.pcap").write_bytes(whole[:size])
        records = read_records(tmp_path / "a.pcap")
        assert records.truncated
        assert records.at.size in (len(packets) - 1, len(packets) - 2)
        assert "cut off in" in records.problems[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes: too short"),
        (b"\xa1\xb2\xc3\xd4", "too short"),
        (b"GIF89a" + bytes(30), "not a capture file: starts with 47494638"),
        (b"\x0a\x0d\x0d\x0a" + bytes(30), "not a readable pcapng file"),
        (wire.pcap_bytes([], link=147), "link type 147 is not read"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path, content, message):
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    with pytest.raises(CaptureError, match=message):
        analyse_capture(path)


def test_a_missing_file_is_refused_in_one_line(tmp_path):
    with pytest.raises(CaptureError, match=r"none\.pcap: can't be read: No such file"):
        analyse_capture(tmp_path / "none.pcap")


def test_an_empty_capture_has_no_connections(tmp_path):
    report = analyse_capture(wire.write(tmp_path / "a.pcap", []))
    assert (report.connections, report.problems, report.packets) == ((), (), 0)


def test_a_length_limit_is_a_loss(tmp_path, packets):
    report = analyse_capture(wire.write(tmp_path / "a.pcap", packets, snap=200))
    assert not report.connections[0].complete
    assert any("cut off by the capture's length limit" in problem for problem in report.problems)


def test_other_traffic_is_left_alone(tmp_path, packets, truth):
    udp = bytes(12) + b"\x08\x00" + b"\x45" + bytes(8) + b"\x11" + bytes(30)
    arp = bytes(12) + b"\x08\x06" + bytes(46)
    extra = b"".join(
        struct.pack("<4I", 10**9, 0, len(data), len(data)) + data
        for data in (udp, arp, b"\x00" * 20)
    )
    path = tmp_path / "a.pcap"
    path.write_bytes(wire.pcap_bytes(packets) + extra)
    report = analyse_capture(path)
    assert served(report) == truth.order()
    assert report.packets == len(packets) + 3


def test_fragments_are_reported(tmp_path, packets):
    whole = bytearray(wire.pcap_bytes(packets[:1]))
    whole[24 + 16 + 14 + 6] |= 0x20  # more fragments
    (tmp_path / "a.pcap").write_bytes(whole)
    report = analyse_capture(tmp_path / "a.pcap")
    assert report.problems == ("1 IP fragments are not put together",)


def test_segments_have_the_columns_written(tmp_path, packets):
    segments, problems = read_segments(read_records(wire.write(tmp_path / "a.pcap", packets)))
    assert problems == ()
    assert segments.raw_sequence.tolist() == [p.seq for p in packets]
    assert segments.acknowledged.tolist() == [p.ack for p in packets]
    assert segments.flags.tolist() == [p.flags for p in packets]
    assert segments.length.tolist() == [len(p.payload) for p in packets]
    assert segments.time_ns.tolist() == [p.time_ns for p in packets]
    names = [segments.endpoints[i] for i in segments.source.tolist()]
    assert names == [p.source for p in packets]


def test_ports_choose(tmp_path, packets):
    path = wire.write(tmp_path / "a.pcap", packets)
    assert len(analyse_capture(path, ports=[50051]).connections) == 1
    assert analyse_capture(path, ports=[80]).connections == ()


def test_ipv4_and_ipv6_in_one_file(tmp_path, packets, truth):
    four = wire.pcap_bytes(packets)
    six = wire.pcap_bytes(packets, version=6)[24:]
    (tmp_path / "a.pcap").write_bytes(four + six)
    report = analyse_capture(tmp_path / "a.pcap")
    assert [c.client[0] for c in report.connections] == ["10.0.0.1", "fd00::a00:1"]
    assert [c.streams[1].server.data_bytes for c in report.connections] == [40000, 40000]
    assert report.problems == ()
