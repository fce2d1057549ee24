"""A small capture against scapy's own full dissection of TCP sessions and HTTP/2 frames."""

import pytest
from scapy.contrib.http2 import H2Frame, H2Seq, H2WindowUpdateFrame
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap

from emu.capture import analyse_capture

from . import talks, wire


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    truth = talks.burst([5_000, 12_000, 300], quantum=4_000, window=6_000)
    talk = wire.Talk().handshake()
    for who, data in truth.messages:
        talk.say(who, data, (700,))
    return wire.write(tmp_path_factory.mktemp("scapy") / "a.pcap", talk.close().packets)


def dissected(path, port):
    """Frames sent from a port, by scapy: (type, stream, length, payload layer)."""
    packets = [p for p in rdpcap(str(path)) if TCP in p and p[TCP].sport == port]
    assert all(isinstance(p, Ether) and IP in p for p in packets)
    content = b""
    for packet in packets:
        length = packet[IP].len - 20 - packet[TCP].dataofs * 4
        content += bytes(packet[TCP].payload)[:length]
    content = content.removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    return [
        (f.type, f.stream_id, f.len, f) for f in H2Seq(content).frames if isinstance(f, H2Frame)
    ]


def test_data_frames_are_scapys(path):
    sent = analyse_capture(path).connections[0].to_client
    expected = [(s, n) for kind, s, n, _ in dissected(path, 50051) if kind == 0 and n]
    found = zip(sent.frames.stream.tolist(), sent.frames.size_bytes.tolist(), strict=True)
    assert [row for row in found if row[1]] == expected


def test_window_updates_and_settings_are_scapys(path):
    asked = analyse_capture(path).connections[0].to_server
    frames = dissected(path, 40000)
    updates = [(s, f[H2WindowUpdateFrame].win_size_incr) for kind, s, _, f in frames if kind == 8]
    grants = zip(asked.grants.stream.tolist(), asked.grants.amount.tolist(), strict=True)
    assert [row for row in grants if row[0] >= 0] == updates
    settings = [(s.id, s.value) for kind, _, n, f in frames if kind == 4 and n for s in f.settings]
    assert [(s.number, s.value) for s in asked.settings] == settings
