"""Files that would fill the memory, block or take for ever: bounded, and told in a line."""

import gzip
import io
import os
import struct

import pytest
from rich.console import Console

from emu.capture import analyse_capture, connections, gunzip, pcap, pcapng
from emu.capture.connections import split_connections, with_most_bytes
from emu.capture.pcap import read_records
from emu.capture.segments import read_segments
from emu.identify.analysis_record import analysis_record
from emu.identify.page import MOST_CONNECTIONS, print_analysis
from netcosim.errors import CaptureError

from . import wire

HEADER = wire.pcap_bytes([])


def test_what_unpacks_to_no_capture_is_not_unpacked_further(tmp_path):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(bytes(200_000_000), 1))
    with pytest.raises(CaptureError, match="not a capture file: starts with 00000000"):
        read_records(path)


def test_zeros_behind_a_capture_s_header_are_no_packets(tmp_path):
    path = tmp_path / "zeros.gz"
    path.write_bytes(gzip.compress(HEADER + bytes(1_000_000), 1))
    records = read_records(path)
    assert records.at.size == 0 and records.truncated
    assert records.problems == (
        "the record at byte 24 is of a packet of no bytes: the rest can't be read",
    )


def test_a_gzip_file_is_unpacked_up_to_a_bound(tmp_path):
    path = tmp_path / "large.gz"
    packet = struct.pack("<4I", 1, 0, 50, 50) + bytes(50)
    path.write_bytes(gzip.compress(HEADER + packet * 100_000, 1))
    with path.open("rb") as file:
        problems: list[str] = []
        plain = gunzip.gunzip(path, file, problems, pcap.CLASSIC_MAGICS, most_bytes=1_000_000)
        size = plain.seek(0, 2)
        plain.close()
    assert 1_000_000 <= size < 1_000_000 + (1 << 15) * 1100
    assert problems == [
        f"only the first {size} bytes that the gzip file unpacks to are read:"
        " unpack it (gzip -d) to have all"
    ]


def test_packets_beyond_a_bound_are_told():
    data = HEADER + 9 * (struct.pack("<4I", 1, 0, 2, 2) + b"ab")
    headers, cut = pcap._walk(data, "<", most=4)
    assert headers.tolist() == [24, 42, 60, 78]
    assert cut == "only the first 4 packets are read, up to byte 96 of 186"


def test_pcapng_blocks_beyond_a_bound_are_told(tmp_path):
    block = struct.pack("<3I", 9, 12, 12)
    head = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
    assert pcapng.read_blocks(tmp_path, head + 2 * block, most=3).problems == []
    assert pcapng.read_blocks(tmp_path, head + 3 * block, most=3).problems == [
        "only the first 3 pcapng blocks are read, up to byte 52 of 64"
    ]


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """Connections of 1 to 150 bytes, the larger ones first; one pair of ends is used twice."""
    packets = []
    for number in range(150):
        client = ("10.0.0.1", 40000 + max(number, 1))
        talk = wire.Talk(client, isn=(number, 7), start_ns=10**18 + number * 10**6).handshake()
        packets += talk.say("client", bytes(150 - number)).packets
    return wire.write(tmp_path_factory.mktemp("scan") / "a.pcap", packets)


def test_connections_are_told_apart_however_many(scan):
    records = read_records(scan)
    found = split_connections(records.data, read_segments(records)[0])
    assert [int(each.to_server.length.sum()) for each in found] == list(range(150, 0, -1))
    assert [each.client[1] for each in found[:3]] == [40001, 40001, 40002]


def test_the_connections_with_most_bytes_are_analysed(scan):
    records = read_records(scan)
    found = split_connections(records.data, read_segments(records)[0])
    kept, problem = with_most_bytes(found[::-1], most=5)
    assert [int(each.to_server.length.sum()) for each in kept] == [146, 147, 148, 149, 150]
    assert problem == ("150 TCP connections: the 5 with most bytes are read; --port chooses others")
    assert with_most_bytes(found, most=150) == (found, "")
    assert connections.MOST_CONNECTIONS > 150
    assert len(analyse_capture(scan).connections) == 150


def test_many_connections_are_not_all_printed(scan):
    analysis = analysis_record(analyse_capture(scan), "a.pcap")
    out = io.StringIO()
    print_analysis(analysis, Console(file=out, width=132), most_streams=4, most_turns=4)
    text = out.getvalue()
    assert text.count("connection 1") and f"connection {MOST_CONNECTIONS + 1}:" not in text
    assert "... 50 more connections; --json has them, --port chooses" in text


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_refused(tmp_path, kind):
    path = {"device": "/dev/zero", "folder": tmp_path, "pipe": tmp_path / "pipe"}[kind]
    os.mkfifo(tmp_path / "pipe")
    said = {"folder": "Is a directory"}.get(kind, f"is a {kind}: must be a regular file")
    with pytest.raises(CaptureError, match=f"can't be read: {said}"):
        read_records(type(tmp_path)(path))
