"""Captures that lack packets: behind a hole reading goes on, if asked to, and says so."""

import random

import pytest

from emu.capture import analyse_capture

from . import talks, wire
from .test_reassembly import packets_of

QUIET = 10**12
HOW = {"window": 2**31 - 1, "connection_window": 2**31 - 1}


@pytest.fixture
def packets():
    return packets_of(talks.burst((90_000, 140_000, 70_000), **HOW))


def visits(report):
    intervals = report.connections[0].to_client.intervals
    return list(zip(intervals.stream.tolist(), intervals.size_bytes.tolist(), strict=True))


def only_payload(packets):
    """Places of segments of the server that lie inside one DATA frame."""
    at, ends = 0, {0}
    server = b"".join(p.payload for p in packets if p.source == wire.SERVER)
    while at < len(server):
        at += 9 + int.from_bytes(server[at : at + 3])
        ends.add(at)
    found, at = [], 0
    for place, packet in enumerate(packets):
        if packet.source == wire.SERVER and packet.payload:
            size = len(packet.payload)
            # No header touches it: those are nine bytes from each end of a frame on.
            if not any(at - 9 < end < at + size for end in ends):
                found.append(place)
            at += size
    return found


def test_lost_payload_is_hopped_over(tmp_path, packets):
    """The frames tell how much it was; windows and paths stay known."""
    whole = analyse_capture(wire.write(tmp_path / "whole", packets), gap_ns=QUIET)
    places = only_payload(packets)
    assert len(places) > 20
    lost = set(places[3::7])
    kept = [p for place, p in enumerate(packets) if place not in lost]
    path = wire.write(tmp_path / "part", kept)
    part = analyse_capture(path, gap_ns=QUIET, search=True)
    assert visits(part) == visits(whole)
    (connection,) = part.connections
    assert not connection.complete
    assert connection.to_client.credit_known
    assert [s.path for s in connection.streams] == [s.path for s in whole.connections[0].streams]
    assert any("were not captured" in problem for problem in part.problems)
    strict = analyse_capture(path, gap_ns=QUIET)
    assert sum(size for _, size in visits(strict)) < sum(size for _, size in visits(whole)) / 2


@pytest.mark.parametrize("seed", range(12))
def test_behind_a_lost_header_frames_are_found_again(tmp_path, packets, seed):
    """A part of the bytes that were sent is read, in their order."""
    rng = random.Random(seed)
    whole = analyse_capture(wire.write(tmp_path / "whole", packets), gap_ns=QUIET)
    frames = whole.connections[0].to_client.frames
    sent = list(zip(frames.stream.tolist(), frames.size_bytes.tolist(), strict=True))
    data = [i for i, p in enumerate(packets) if p.source == wire.SERVER and len(p.payload) > 400]
    lost = set(rng.sample(data[10:], 8))
    kept = [p for place, p in enumerate(packets) if place not in lost]
    part = analyse_capture(wire.write(tmp_path / "part", kept), gap_ns=QUIET, search=True)
    (connection,) = part.connections
    found = connection.to_client.frames
    read = list(zip(found.stream.tolist(), found.size_bytes.tolist(), strict=True))
    assert not connection.complete
    position = 0
    for frame in read[:-1]:  # the last may be cut off by a hole at the end
        position = sent.index(frame, position) + 1  # ValueError: it was never sent, or not then
    assert len(read) > len(sent) / 2
    if len(read) < len(sent):
        assert not connection.to_client.credit_known


def test_packets_cut_short_are_read_as_far_as_headers_show(tmp_path, packets):
    """At 1000 of 1500 bytes two headers of three are there; what is read was sent."""
    whole = analyse_capture(wire.write(tmp_path / "whole", packets), gap_ns=QUIET)
    path = wire.write(tmp_path / "part", packets, snap=1000)
    part = analyse_capture(path, gap_ns=QUIET, search=True)
    assert any("cut off by the capture's length limit" in p for p in part.problems)
    read = sum(size for _, size in visits(part))
    assert 0 < read <= sum(size for _, size in visits(whole))
