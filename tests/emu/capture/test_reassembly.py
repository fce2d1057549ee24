"""Segments in any order, repeated, overlapping, lost: against the naive twin."""

import functools
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.capture import analyse_capture
from emu.capture.connections import split_connections
from emu.capture.pcap import read_records
from emu.capture.reassembly import Reader, assemble
from emu.capture.segments import read_segments

from . import naive, talks, wire

QUIET = 10**15  # no gap is longer


@functools.cache
def conversation(kind=0):
    """Packets of a burst, and what the endpoints said."""
    if kind == 0:
        truth = talks.burst([9000, 300, 20000, 1], quantum=4000)
    elif kind == 1:
        truth = talks.burst([7000, 12000], quantum=3000, pad=9, window=5000)
    else:
        truth = talks.burst([40000] * 3, quantum=16000, frame=20000, long_paths=900)
    return truth


def packets_of(truth, sizes=(1448,), isn=(1000, 9000), **how):
    talk = wire.Talk(isn=isn, **how).handshake()
    for who, data in truth.messages:
        talk.say(who, data, sizes)
        talk.acknowledge("client")
    return talk.close().packets


def disturb(packets, rng, amount):
    """Reorder within a few places, repeat, and send overlapping cuts of what was sent."""
    body = packets[3:-3]
    keyed = [
        (index + rng.uniform(0, rng.choice((0, 0, 0, amount))), p) for index, p in enumerate(body)
    ]
    for index, packet in enumerate(body):
        if rng.random() < 0.1:
            keyed.append((index + rng.uniform(-amount, amount), packet))
        if rng.random() < 0.1 and len(packet.payload) > 1:
            start = rng.randrange(len(packet.payload))
            end = rng.randrange(start, len(packet.payload)) + 1
            part = replace(
                packet, seq=(packet.seq + start) % 2**32, payload=packet.payload[start:end]
            )
            keyed.append((index + rng.uniform(-amount, amount), part))
    body = [packet for _, packet in sorted(keyed, key=lambda pair: pair[0])]
    return wire.retimed(packets[:3] + body + packets[-3:])


def rows(direction):
    spans = direction.intervals
    columns = (spans.stream, spans.start_ns, spans.end_ns, spans.size_bytes)
    return list(zip(*(c.tolist() for c in columns), strict=True))


def chunk_bytes(direction):
    c = direction.chunks
    found = []
    for stream, size, delivered, arrived in zip(
        c.stream.tolist(),
        c.size_bytes.tolist(),
        c.time_ns.tolist(),
        c.arrived_ns.tolist(),
        strict=True,
    ):
        found += [(stream, delivered, arrived)] * size
    return found


@pytest.mark.oracle
@settings(max_examples=60, deadline=None)
@given(
    kind=st.integers(0, 2),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=5).filter(lambda s: sum(s) > 60),
    isn=st.tuples(*[st.sampled_from([0, 1000, 2**31 - 3, 2**32 - 1, 2**32 - 5000])] * 2),
    seed=st.integers(0, 2**32),
    amount=st.sampled_from([0, 2, 30]),
)
def test_any_order_equals_the_twin_and_the_endpoints(
    tmp_path_factory, kind, sizes, isn, seed, amount
):
    rng = random.Random(seed)
    truth = conversation(kind)
    packets = disturb(packets_of(truth, tuple(sizes), isn), rng, amount)
    path = wire.write(tmp_path_factory.mktemp("c") / "a.pcap", packets)
    report = analyse_capture(path, gap_ns=QUIET)
    # Where credit and data changed places too, it looks as if more was sent than granted.
    assert [p for p in report.problems if not (amount and "more than was granted" in p)] == []
    (connection,) = report.connections
    side = naive.reassemble(packets, wire.SERVER)
    assert side.lost is False
    # The endpoints: bytes, order, paths.
    assert [(s, n) for s, _, _, n in rows(connection.to_client)] == truth.order()
    assert {s.stream: s.server.data_bytes for s in connection.streams} == truth.sizes()
    assert {s.stream: s.path for s in connection.streams} == truth.paths
    # The twin: every byte's times, intervals with and without gaps.
    assert chunk_bytes(connection.to_client) == naive.data_bytes(side, client=False)
    assert rows(connection.to_client) == naive.intervals(side, client=False, gap_ns=QUIET)
    split = analyse_capture(path, gap_ns=2500).connections[0].to_client
    assert rows(split) == naive.intervals(side, client=False, gap_ns=2500)


@pytest.mark.oracle
@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    losses=st.integers(1, 4),
    amount=st.sampled_from([0, 5]),
    size=st.sampled_from([536, 1448]),
)
def test_lost_bytes_are_always_reported(tmp_path_factory, seed, losses, amount, size):
    rng = random.Random(seed)
    truth = conversation(0)
    packets = packets_of(truth, (size,))
    carrying = [i for i, p in enumerate(packets) if p.payload]
    gone = set(rng.sample(carrying, losses))
    kept = disturb([p for i, p in enumerate(packets) if i not in gone], rng, amount)
    report = analyse_capture(
        wire.write(tmp_path_factory.mktemp("c") / "a.pcap", kept), gap_ns=QUIET
    )
    (connection,) = report.connections
    assert not connection.complete
    for direction, source in (
        (connection.to_server, wire.CLIENT),
        (connection.to_client, wire.SERVER),
    ):
        side = naive.reassemble(kept, source)
        assert bool(direction.tcp.holes) is side.lost
        assert direction.tcp.bytes_in_order == len(side.data)
        lost = sum(len(packets[i].payload) for i in gone if packets[i].source == source)
        assert sum(end - start for start, end in direction.tcp.holes) == lost
    # What is read lies before the first hole, and is a beginning of the truth.
    side = naive.reassemble(kept, wire.SERVER)
    assert chunk_bytes(connection.to_client) == naive.data_bytes(side, client=False)
    complete = truth.sizes()
    assert all(s.server.data_bytes <= complete[s.stream] for s in connection.streams)


def test_a_lost_tail_is_known_by_the_acknowledgement(tmp_path):
    talk = wire.Talk().handshake()
    for who, data in conversation(0).messages:
        talk.say(who, data)
    last = max(i for i, p in enumerate(talk.packets) if p.source == wire.SERVER and p.payload)
    size = len(talk.packets.pop(last).payload)
    talk.acknowledge("client")
    report = analyse_capture(wire.write(tmp_path / "a.pcap", talk.packets))
    (hole,) = report.connections[0].to_client.tcp.holes
    assert hole[1] - hole[0] == size
    assert f"{size} bytes in 1 holes were not captured" in report.problems[0]


def direction(tmp_path, packets):
    records = read_records(wire.write(tmp_path / "a.pcap", packets))
    segments, _ = read_segments(records)
    (conversation,) = split_connections(records.data, segments)
    return records, conversation


def test_counts_of_repeated_and_late_segments(tmp_path):
    talk = wire.Talk().handshake().say("server", b"abcdefghij", (2,))
    head, body = talk.packets[:3], talk.packets[3:]
    a, b, c, d, e = body
    records, both = direction(tmp_path, wire.retimed([*head, a, c, b, b, c, e, d, a]))
    stream = assemble(records.data, both.to_client, both.to_server)
    assert Reader(records.data, stream).read(0, 99) == b"abcdefghij"
    assert (stream.segments, stream.retransmitted_segments, stream.retransmitted_bytes) == (8, 3, 6)
    assert stream.reordered_segments == 2
    assert stream.holes == ()
    # c came before b: it was available with b.
    assert stream.arrived.tolist() == [3, 5, 4, 9, 8]
    assert stream.available.tolist() == [3, 5, 5, 9, 9]


def test_repeated_bytes_that_differ_are_reported(tmp_path):
    talk = wire.Talk().handshake().say("server", b"abcdefghij", (2,))
    forged = replace(talk.packets[4], payload=b"XY")
    records, both = direction(tmp_path, wire.retimed([*talk.packets, forged]))
    stream = assemble(records.data, both.to_client, both.to_server)
    assert stream.conflicting_segments == 1
    assert Reader(records.data, stream).read(0, 99) == b"abcdefghij"


def numbered(packets):
    """The packets as a sender numbers them that gives each another identification."""
    return [replace(p, identity=1 + n % 65535) for n, p in enumerate(packets)]


@pytest.mark.parametrize(
    ("version", "named"), [(4, True), (4, False), (6, False)], ids=["v4", "v4-unnamed", "v6"]
)
def test_a_packet_that_was_captured_at_two_interfaces_counts_once(tmp_path, version, named):
    """What was sent again counts as such, whether or not identifications tell packets apart."""
    packets = packets_of(conversation(0))
    again = next(p for p in packets[4:] if len(p.payload) == 1448)
    sent = [*packets[:-3], again, *packets[-3:]]
    once = wire.retimed(numbered(sent) if named else sent, 10_000)
    twice = [replace(p, time_ns=p.time_ns + 4000 * k, interface=k) for p in once for k in (3, 7)]
    reports = [
        analyse_capture(wire.write(tmp_path / "a.pcap", each, link=276, version=version))
        for each in (once, twice)
    ]
    for report in reports:
        assert report.problems == ()
        (connection,) = report.connections
        assert connection.to_client.tcp.retransmitted_segments == 1
        assert connection.to_server.tcp.retransmitted_segments == 0
    packets = [each.connections[0].to_client.packets for each in reports]
    assert packets[0].size_bytes.tolist() == packets[1].size_bytes.tolist()


def test_one_identification_for_all_packets_makes_no_copy_of_what_was_sent_again(tmp_path):
    packets = packets_of(conversation(0))
    again = next(p for p in packets[4:] if len(p.payload) == 1448)
    sent = [replace(p, identity=1) for p in (*packets[:-3], again, *packets[-3:])]
    report = analyse_capture(wire.write(tmp_path / "a.pcap", wire.retimed(sent)))
    assert report.connections[0].to_client.tcp.retransmitted_segments == 1


@pytest.mark.parametrize("seed", range(5))
def test_records_in_another_order_than_their_times_are_put_in_order(tmp_path, seed):
    """Microseconds leave many packets with one time: their numbers order those."""
    rng = random.Random(seed)
    packets = packets_of(conversation(0))
    packets = [replace(p, time_ns=10**18 + 700 * n) for n, p in enumerate(packets)]
    written = sorted(packets, key=lambda p: p.time_ns + rng.uniform(0, 2_000_000))
    found = []
    for order in (packets, written):
        report = analyse_capture(wire.write(tmp_path / "a", order, nano=False), gap_ns=QUIET)
        assert report.problems == ()
        (connection,) = report.connections
        assert connection.complete
        assert connection.to_client.tcp.reordered_segments == 0
        found.append(rows(connection.to_client))
    assert found[0] == found[1]


def test_a_clock_that_was_set_back_changes_no_order(tmp_path):
    """Times then say less than the places in the file."""
    truth = conversation(0)
    packets = packets_of(truth)
    half = len(packets) // 2
    back = [replace(p, time_ns=p.time_ns - 20_000_000 * (n > half)) for n, p in enumerate(packets)]
    report = analyse_capture(wire.write(tmp_path / "a", back), gap_ns=QUIET)
    assert "time stamps go backwards" in report.problems[0]
    (connection,) = report.connections
    assert connection.to_client.tcp.reordered_segments == 0
    assert [(s, n) for s, _, _, n in rows(connection.to_client)] == truth.order()


def test_the_byte_of_a_keep_alive_is_no_data(tmp_path):
    truth = conversation(0)
    packets = packets_of(truth)
    place = max(n for n, p in enumerate(packets) if p.source == wire.SERVER and p.payload)
    last = packets[place]
    probe = replace(last, seq=last.seq + len(last.payload) - 1, payload=b"\0")
    sent = wire.retimed([*packets[: place + 1], probe, probe, *packets[place + 1 :]])
    report = analyse_capture(wire.write(tmp_path / "a", sent), gap_ns=QUIET)
    assert report.problems == ()
    (connection,) = report.connections
    assert connection.complete
    assert connection.to_client.tcp.retransmitted_segments == 0
    assert [(s, n) for s, _, _, n in rows(connection.to_client)] == truth.order()


def test_sequence_numbers_may_wrap_more_than_once(tmp_path):
    """Offsets stay right behind 2**32, where a whole wrap of data can't be written to a file."""
    from emu.capture.arrays import ints
    from emu.capture.segment_map import WRAP, lay_out

    length = 2**20
    count = 3 * WRAP // length
    sequence = ints([i * length % WRAP for i in range(count)])
    full = ints([length] * count)
    layout = lay_out(sequence=sequence, length=full, at=full * 0, arrived=ints(range(count)))
    start, size, _, _ = layout.in_order()
    assert layout.reach == 3 * WRAP == int(size.sum())
    assert start.tolist() == [i * length for i in range(count)]


@pytest.mark.parametrize("skip", [1, 2, 3])
def test_a_handshake_that_was_missed(tmp_path, skip):
    """Without a SYN the preface still tells where HTTP/2 starts."""
    truth = conversation(0)
    packets = packets_of(truth)[skip:]
    report = analyse_capture(wire.write(tmp_path / "a.pcap", packets), gap_ns=QUIET)
    (connection,) = report.connections
    assert (connection.client, connection.server) == (wire.CLIENT, wire.SERVER)
    assert [(s, n) for s, _, _, n in rows(connection.to_client)] == truth.order()
    assert any("start of the connection was not captured" in p for p in connection.problems) is (
        skip >= 1
    )


@pytest.mark.parametrize("ports", [None, [50051]])
def test_a_capture_from_the_middle_is_not_guessed_at(tmp_path, ports):
    packets = packets_of(conversation(0))[8:]
    report = analyse_capture(wire.write(tmp_path / "a.pcap", packets), ports=ports)
    (connection,) = report.connections
    assert connection.streams == ()
    assert not connection.complete
    assert any("captured from its middle" in p for p in connection.problems)


def test_several_connections_at_once(tmp_path):
    packets = []
    for number in range(4):
        talk = packets_of(
            conversation(number % 3),
            client=("10.0.0.1", 40000 + number),
            start_ns=10**18 + 17 * number,
        )
        packets += talk
    random.Random(3).shuffle(packets)
    packets.sort(key=lambda p: p.time_ns)
    report = analyse_capture(wire.write(tmp_path / "a.pcap", packets), gap_ns=QUIET)
    assert report.problems == ()
    assert [c.client[1] for c in report.connections] == [40000, 40001, 40002, 40003]
    for number, connection in enumerate(report.connections):
        order = [(s, n) for s, _, _, n in rows(connection.to_client)]
        assert order == conversation(number % 3).order()


def test_a_port_used_again_is_another_connection(tmp_path):
    first = packets_of(conversation(0))
    second = packets_of(conversation(1), isn=(77, 88), start_ns=first[-1].time_ns + 1000)
    report = analyse_capture(wire.write(tmp_path / "a.pcap", first + second), gap_ns=QUIET)
    assert report.problems == ()
    assert [len(c.streams) for c in report.connections] == [4, 2]
    # The older one's start was missed: its rest and the newer one are still two.
    report = analyse_capture(wire.write(tmp_path / "b.pcap", first[9:] + second), gap_ns=QUIET)
    assert [len(c.streams) for c in report.connections] == [0, 2]


def test_a_syn_sent_twice_is_one_connection(tmp_path):
    packets = packets_of(conversation(0))
    again = wire.retimed([packets[0], *packets])
    report = analyse_capture(wire.write(tmp_path / "a.pcap", again), gap_ns=QUIET)
    assert report.problems == ()
    assert len(report.connections) == 1


@pytest.mark.oracle
@settings(max_examples=250, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    flips=st.integers(0, 40),
    cut=st.floats(0, 1),
    kind=st.sampled_from(["pcap", "gz", "pcapng"]),
)
def test_mangled_files_never_crash_or_invent_bytes(tmp_path_factory, seed, flips, cut, kind):
    rng = random.Random(seed)
    import gzip

    from netcosim.errors import CaptureError

    from .test_pcap import pcapng_bytes

    packets = packets_of(conversation(1))
    whole = pcapng_bytes(packets) if kind == "pcapng" else wire.pcap_bytes(packets)
    if kind == "gz":
        whole = gzip.compress(whole, 1)
    data = bytearray(whole[: max(1, int(len(whole) * (1 if cut < 0.5 else cut)))])
    for _ in range(flips):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path = tmp_path_factory.mktemp("c") / "a"
    path.write_bytes(data)
    try:
        report = analyse_capture(path)
    except CaptureError as problem:
        assert "\n" not in str(problem)
        return
    total = sum(
        s.client.data_bytes + s.server.data_bytes for c in report.connections for s in c.streams
    )
    assert 0 <= total <= report.size_bytes
    assert all("\n" not in problem for problem in report.problems)
